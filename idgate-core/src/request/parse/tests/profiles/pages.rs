//! `dc_api`: the pages that may pass a request to their browser.

use super::*;

fn for_pages(dc_api: Value) -> Value {
    let mut body = pair(json!({"dc_api": dc_api}), json!({}));
    body["profile"] = "1.0".into();
    body
}

#[test]
fn dc_api_is_known_only_with_browser_requests_and_a_newer_profile() {
    let body = for_pages(json!({"origins": ["https://shop.example"]}));
    refused_by(&SpokenProfiles::new(ALL), &body, "unknown_field", "dc_api");
    let mut without = body.clone();
    without.as_object_mut().unwrap().remove("profile");
    let draft_alone = SpokenProfiles::default().with_dc_api();
    refused_by(&draft_alone, &without, "invalid_request", "dc_api");

    let profiles = SpokenProfiles::new(ALL).with_dc_api();
    let request = parse_with(&body, &trust(), &profiles).unwrap();
    assert_eq!(request.dc_api.unwrap().origins, ["https://shop.example"]);
    assert_eq!(parse_with(&pair(json!({}), json!({})), &trust(), &profiles).unwrap().dc_api, None);
    let mut legacy = legacy(json!({"dc_api": {"origins": ["https://shop.example"]}}));
    assert!(parse_with(&legacy, &trust(), &profiles).unwrap().dc_api.is_some());
    legacy["profile"] = "draft".into();
    let said = refused_by(&profiles, &legacy, "invalid_request", "dc_api");
    assert!(said.contains("needs profile 1.0 or haip; add one to profiles"), "{said}");
}

#[test]
fn pages_have_one_to_five_distinct_origins_as_browsers_write_them() {
    let profiles = SpokenProfiles::new(ALL).with_dc_api();
    let six: Vec<_> = (0..6).map(|n| format!("https://{n}.example")).collect();
    for (dc_api, code, path) in [
        (json!("https://shop.example"), "invalid_request", "dc_api"),
        (json!({}), "invalid_request", "dc_api.origins"),
        (json!({"origins": ["https://shop.example"], "more": 1}), "unknown_field", "dc_api.more"),
        (json!({"origins": "https://shop.example"}), "invalid_request", "dc_api.origins"),
        (json!({"origins": []}), "invalid_request", "dc_api.origins"),
        (json!({"origins": six}), "invalid_request", "dc_api.origins"),
        (json!({"origins": [1]}), "invalid_request", "dc_api.origins[0]"),
        (json!({"origins": ["https://shop.example/"]}), "invalid_request", "dc_api.origins[0]"),
        (json!({"origins": ["http://shop.example"]}), "invalid_request", "dc_api.origins[0]"),
        (
            json!({"origins": ["https://shop.example", "https://shop.example"]}),
            "invalid_request",
            "dc_api.origins[1]",
        ),
    ] {
        refused_by(&profiles, &for_pages(dc_api), code, path);
    }
    let five = json!({"origins": six[..5]});
    let app = format!("android:apk-key-hash:{}", "A".repeat(43));
    // reason: an origin is a text, and nothing listens there
    for good in [five, json!({"origins": [app, "http://localhost:3000"]})] {
        assert!(parse_with(&for_pages(good), &trust(), &profiles).is_ok());
    }
}

fn with_retry(uri: &Value) -> Value {
    pair(json!({"retry_uri": uri}), json!({}))
}

#[test]
fn retry_uri_is_known_only_if_there_are_pages() {
    let body = with_retry(&json!("https://shop.example/again"));
    refused_by(&SpokenProfiles::new(ALL), &body, "unknown_field", "retry_uri");
    let off = SpokenProfiles::new(ALL).with_page_fields(PageFields::Off);
    let said = refused_by(&off, &body, "invalid_request", "retry_uri");
    assert!(
        said.ends_with("is for a page, and there is none; leave it out, or enable pages"),
        "{said}"
    );
    // In both forms and every profile, even if only `draft` is enabled.
    for spoken in [SpokenProfiles::new(ALL), SpokenProfiles::default()] {
        let spoken = spoken.with_page_fields(PageFields::On);
        for body in [&body, &legacy(json!({"retry_uri": "https://shop.example/again"}))] {
            let request = parse_with(body, &trust(), &spoken).unwrap();
            assert_eq!(request.retry_uri(), Some("https://shop.example/again"));
            assert!(!request.has_newer_fields);
        }
        assert_eq!(
            parse_with(&pair(json!({}), json!({})), &trust(), &spoken).unwrap().retry_uri(),
            None
        );
    }
}

#[test]
fn retry_uri_is_https_or_an_application_and_http_only_in_development() {
    let [on, with_http] = [PageFields::On, PageFields::OnWithHttp]
        .map(|fields| SpokenProfiles::new(ALL).with_page_fields(fields));
    for bad in [
        json!(1),
        json!(null),
        json!(""),
        json!("/again"),
        json!("javascript:alert(1)"),
        json!("data:text/html,x"),
        json!("vbscript:x"),
        json!("blob:https://shop.example/x"),
        json!("Intent://shop#Intent;end"),
        json!("ws://shop.example"),
        json!("ftp://shop.example"),
        json!("view-source:https://shop.example"),
        json!("ms-settings:about"),
        json!("https://"),
        json!(format!("https://shop.example/{}", "x".repeat(2000))),
    ] {
        for spoken in [&on, &with_http] {
            refused_by(spoken, &with_retry(&bad), "invalid_request", "retry_uri");
        }
    }
    for http in ["http://shop.example/again", "HTTP://shop.example/again"] {
        let said = refused_by(&on, &with_retry(&json!(http)), "invalid_request", "retry_uri");
        assert!(said.contains("must be https, or a URI of an application"), "{said}");
        assert!(parse_with(&with_retry(&json!(http)), &trust(), &with_http).is_ok());
    }
    for good in ["https://shop.example/again?a=b#c", "shop.example:/again"] {
        assert!(parse_with(&with_retry(&json!(good)), &trust(), &on).is_ok(), "{good}");
    }
}

fn with_purpose(purpose: &Value) -> Value {
    pair(json!({"purpose": purpose}), json!({}))
}

#[test]
fn a_purpose_is_known_only_if_there_are_pages() {
    let body = with_purpose(&json!({"en": "To open an account"}));
    refused_by(&SpokenProfiles::new(ALL), &body, "unknown_field", "purpose");
    let off = SpokenProfiles::new(ALL).with_page_fields(PageFields::Off);
    let said = refused_by(&off, &body, "invalid_request", "purpose");
    assert!(said.contains("is for a page, and there is none"), "{said}");
    for spoken in [SpokenProfiles::new(ALL), SpokenProfiles::default()] {
        let spoken = spoken.with_page_fields(PageFields::On);
        let purpose = json!({"en": "To open an account"});
        for body in [&body, &legacy(json!({"purpose": purpose}))] {
            let request = parse_with(body, &trust(), &spoken).unwrap();
            assert_eq!(request.purpose("en"), Some(("en", "To open an account")));
            assert!(!request.has_newer_fields);
        }
        let request = parse_with(&pair(json!({}), json!({})), &trust(), &spoken).unwrap();
        assert_eq!(request.purpose("en"), None);
    }
}

#[test]
fn a_purpose_has_english_text_and_other_page_languages() {
    let on = SpokenProfiles::new(ALL).with_page_fields(PageFields::On);
    let (long, longest) = ("ä".repeat(301), "ä".repeat(300));
    for (purpose, code, path) in [
        (json!("To open an account"), "invalid_request", "purpose"),
        (json!(null), "invalid_request", "purpose"),
        (json!([]), "invalid_request", "purpose"),
        (json!({}), "invalid_request", "purpose.en"),
        (json!({"de": "Kontoeröffnung"}), "invalid_request", "purpose.en"),
        (json!({"en": "a", "sv": "b"}), "unknown_field", "purpose.sv"),
        (json!({"en": "a", "EN": "b"}), "unknown_field", "purpose.EN"),
        (json!({"en": 1}), "invalid_request", "purpose.en"),
        (json!({"en": " "}), "invalid_request", "purpose.en"),
        (json!({"en": "a\nb"}), "invalid_request", "purpose.en"),
        (json!({"en": "a", "de": long}), "invalid_request", "purpose.de"),
    ] {
        refused_by(&on, &with_purpose(&purpose), code, path);
    }
    let every = json!({"en": "a", "de": longest, "fr": "c", "es": "d", "it": "e", "nl": "f", "pl": "g", "pt": "h"});
    let request = parse_with(&with_purpose(&every), &trust(), &on).unwrap();
    assert_eq!(request.purpose("de"), Some(("de", &*longest)));
    assert_eq!(request.purpose("pt"), Some(("pt", "h")));
    let request = parse_with(&with_purpose(&json!({"en": " a "})), &trust(), &on).unwrap();
    assert_eq!(request.purpose("de"), Some(("en", "a")));
}

fn with_handover(handover: &Value, more: Value) -> Value {
    let mut body = pair(json!({"handover": handover}), json!({}));
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

#[test]
fn handover_is_known_only_if_there_are_pages() {
    let back = json!({"profile": "haip", "redirect_uri": "https://shop.example/back"});
    for handover in [true, false] {
        let body = with_handover(&handover.into(), back.clone());
        refused_by(&SpokenProfiles::new(ALL), &body, "unknown_field", "handover");
        let off = SpokenProfiles::new(ALL).with_page_fields(PageFields::Off);
        let said = refused_by(&off, &body, "invalid_request", "handover");
        assert!(
            said.ends_with("is for a page, and there is none; leave it out, or enable pages"),
            "{said}"
        );
        let on = SpokenProfiles::new(ALL).with_page_fields(PageFields::On);
        assert_eq!(parse_with(&body, &trust(), &on).unwrap().handover(), handover);
    }
}

#[test]
fn handover_is_for_answers_on_the_same_device() {
    let on = SpokenProfiles::new(ALL).with_page_fields(PageFields::On);
    let redirect_uri = "https://shop.example/back";
    for more in [
        json!({"profile": "1.0", "redirect_uri": redirect_uri}),
        json!({"profile": "1.0", "redirect_uri": redirect_uri, "same_device": false}),
        json!({"profile": "haip", "redirect_uri": redirect_uri, "same_device": false}),
        json!({"profile": "1.0"}),
    ] {
        let said = refused_by(
            &on,
            &with_handover(&true.into(), more.clone()),
            "invalid_request",
            "handover",
        );
        assert!(said.contains("is for answers on the same device"), "{said}");
        let request = parse_with(&with_handover(&false.into(), more), &trust(), &on).unwrap();
        assert!(!request.handover());
    }
    for more in [
        json!({"profile": "haip", "redirect_uri": redirect_uri}),
        json!({"profiles": ["1.0", "haip"], "redirect_uri": redirect_uri}),
        json!({"profile": "1.0", "redirect_uri": redirect_uri, "same_device": true}),
    ] {
        assert!(parse_with(&with_handover(&true.into(), more), &trust(), &on).unwrap().handover());
    }
}

#[test]
fn handover_needs_a_redirect_uri() {
    let on = SpokenProfiles::new(ALL).with_page_fields(PageFields::On);
    for (more, path) in [
        (json!({"profile": "haip"}), "redirect_uri"),
        (json!({"profile": "1.0", "same_device": true}), "same_device"),
    ] {
        let said = refused_by(&on, &with_handover(&true.into(), more), "invalid_request", path);
        assert!(said.contains("redirect_uri"), "{said}");
    }
}

#[test]
fn handover_is_a_boolean() {
    let on = SpokenProfiles::new(ALL).with_page_fields(PageFields::On);
    let back = json!({"profile": "haip", "redirect_uri": "https://shop.example/back"});
    for bad in [json!(null), json!("true"), json!(1), json!({})] {
        let body = with_handover(&bad, back.clone());
        let said = refused_by(&on, &body, "invalid_request", "handover");
        assert!(said.contains("must be a boolean"), "{said}");
    }
}
