//! `dc_api`: one refusal per rule of OpenID4VP A.2.

use super::*;
use crate::request::{Profile, SpokenProfiles};

fn parsed(value: &Value) -> Result<PresentationRequest, RequestError> {
    let profiles = SpokenProfiles::new([Profile::V1_0, Profile::Draft]).with_dc_api();
    let body = legacy(json!({ "dc_api": value })).to_string();
    PresentationRequest::parse_for(body.as_bytes(), &trust(), true, &profiles)
}

#[track_caller]
fn refused(value: &Value, path: &str, rule: &str) {
    let error = parsed(value).expect_err(&value.to_string());
    assert_eq!((error.code.as_str(), &*error.path), ("invalid_request", path), "{value}: {error}");
    assert!(error.rule.contains(rule), "{value}: {error}");
}

#[test]
fn origins_are_kept_as_listed() {
    let app = format!("android:apk-key-hash:{}", "A".repeat(43));
    let listed = [
        "https://shop.example",
        "https://shop.example:8443",
        "https://xn--bcher-kva.example",
        // reason: an origin is a text, and nothing listens there
        "http://localhost:3000",
        &app,
    ];
    let pages = parsed(&json!({ "origins": listed })).unwrap().dc_api.unwrap();
    assert_eq!(pages.origins, listed);
}

#[test]
fn an_origin_is_written_as_browsers_write_it() {
    for other in [
        "https://shop.example/",
        "https://Shop.example",
        "https://shop.example:443",
        "https://b\u{fc}cher.example",
    ] {
        refused(&json!({ "origins": [other] }), "dc_api.origins[0]", "as browsers do");
    }
}

#[test]
fn text_that_is_not_an_origin_is_refused() {
    for (bad, rule) in [
        ("https://shop.example/buy", "no path"),
        ("http://shop.example", "must be https"),
        ("http://shop.localhost", "must be https"),
        ("origin:https://shop.example", "must be https"),
        ("android:apk-key-hash:AAAA", "SHA-256"),
        ("null", "absolute"),
    ] {
        let listed = json!({ "origins": ["https://shop.example", bad] });
        refused(&listed, "dc_api.origins[1]", rule);
    }
}

#[test]
fn one_to_five_origins_each_once() {
    let many = |count: u32| -> Value {
        let origins: Vec<_> = (0..count).map(|n| format!("https://shop{n}.example")).collect();
        json!({ "origins": origins })
    };
    assert!(parsed(&many(1)).is_ok() && parsed(&many(5)).is_ok());
    for count in [0, 6] {
        refused(&many(count), "dc_api.origins", "1 to 5");
    }
    let twice = json!({ "origins": ["https://shop.example", "https://shop.example"] });
    refused(&twice, "dc_api.origins[1]", "repeat");
}

#[test]
fn iso_mdoc_is_a_boolean_and_on_by_default() {
    let with = |iso_mdoc: Value| json!({"origins": ["https://shop.example"], "iso_mdoc": iso_mdoc});
    let chosen = |value: &Value| parsed(value).unwrap().dc_api.unwrap().iso_mdoc;
    assert!(chosen(&json!({ "origins": ["https://shop.example"] })));
    assert!(chosen(&with(true.into())) && !chosen(&with(false.into())));
    for bad in [Value::Null, 1.into(), "true".into(), json!([])] {
        refused(&with(bad), "dc_api.iso_mdoc", "must be a boolean");
    }
    let unknown = json!({"origins": ["https://shop.example"], "iso_mdocs": true});
    assert_eq!(parsed(&unknown).unwrap_err().code.as_str(), "unknown_field");
}
