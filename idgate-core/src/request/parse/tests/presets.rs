//! `eu_age` in `credentials`: the credential that it is short for, and one refusal per rule.

use super::*;
use crate::request::{Presets, Profile};

fn preset(changes: Value) -> Value {
    let base = json!({"preset": "eu_age", "issuer_id": "two", "age": 18});
    changed(base, changes)
}

/// Before trust is consulted.
fn parse_by(body: &Value, profiles: &[Profile]) -> Result<PresentationRequest, RequestError> {
    let (body, profiles) = (body.to_string(), SpokenProfiles::new(profiles.iter().copied()));
    let mut tape = Tape::default();
    let mut written = Written::read(root_of(&mut tape, body.as_bytes())?, &profiles)?;
    let drafts = core::mem::take(&mut written.drafts);
    written.complete(drafts.into_iter().map(|draft| draft.request).collect())
}

fn taken(body: &Value) -> PresentationRequest {
    parse_by(body, &[Profile::Draft, Profile::V1_0]).unwrap()
}

#[track_caller]
fn refused_at(element: Value, path: &str, says: &str) {
    let body = json!({"credentials": [element]});
    let error = parse_by(&body, &[Profile::V1_0]).expect_err(&body.to_string());
    assert_eq!((error.code, &*error.path), (ErrorCode::InvalidRequest, path), "{body}: {error}");
    assert!(error.to_string().contains(says), "{error}");
}

#[test]
fn an_age_becomes_an_mdoc_whose_claim_must_be_true() {
    for (age, claim) in [(18, "age_over_18"), (1, "age_over_01"), (99, "age_over_99")] {
        let request = taken(&json!({"credentials": [preset(json!({"age": age, "id": "adult"}))]}));
        let [asked] = &request.credentials[..] else { panic!("{request:?}") };
        assert_eq!((asked.id(), asked.format), ("adult", CredentialFormat::Mdoc));
        assert_eq!(asked.doc_type().unwrap().as_str(), "eu.europa.ec.av.1");
        assert_eq!(asked.namespace.as_ref().unwrap().as_str(), "eu.europa.ec.av.1");
        assert_eq!(asked.claims(), [claim]);
        let written: Value =
            serde_json::from_str(&request.expanded_credentials().unwrap()).unwrap();
        let expected = json!([{
            "id": "adult", "format": "mso_mdoc", "issuer_id": "two",
            "doc_type": "eu.europa.ec.av.1", "namespace": "eu.europa.ec.av.1",
            "claims": [claim], "claim_filters": { claim: { "const": true } },
        }]);
        assert_eq!(written, expected);
        // Written out it is the same request, but no longer one for the age app.
        let longhand = taken(&json!({"profile": "1.0", "credentials": expected}));
        assert_eq!(longhand.presets, Presets::Unused);
        assert_eq!(longhand.expanded_credentials(), None);
        let filter =
            |request: &PresentationRequest| request.credentials[0].claim_filters[0].1.for_wallet();
        assert_eq!(filter(&longhand), filter(&request));
    }
}

#[test]
fn a_session_with_only_ages_and_no_profile_is_for_the_age_app() {
    let alone = taken(&json!({"credentials": [preset(json!({}))]}));
    assert_eq!((alone.presets, &alone.profiles[..]), (Presets::AgeApp, &[Profile::V1_0][..]));
    let named = taken(&json!({"profile": "1.0", "credentials": [preset(json!({}))]}));
    assert_eq!(named.presets, Presets::Used);
    let other = json!({"format": "mso_mdoc", "issuer_id": "two", "claims": ["a"],
        "doc_type": "d", "namespace": "n"});
    let mixed = taken(&json!({"profile": "1.0", "credentials": [preset(json!({})), other]}));
    assert_eq!(mixed.presets, Presets::Used);
}

#[test]
fn a_preset_in_a_profile_other_than_1_0_is_refused_by_name() {
    let other = sd_jwt(json!({}))["credentials"][0].clone();
    for body in [
        json!({"profile": "draft", "credentials": [preset(json!({}))]}),
        json!({"profiles": ["1.0", "draft"], "credentials": [preset(json!({}))]}),
        json!({"credentials": [preset(json!({})), other]}),
        json!({"profile": "haip", "redirect_uri": "https://a.example", "credentials": [preset(json!({}))]}),
    ] {
        let error = parse_by(&body, &[Profile::Draft, Profile::V1_0, Profile::Haip]).unwrap_err();
        assert_eq!(
            (error.code, &*error.path),
            (ErrorCode::InvalidRequest, "credentials[0].preset")
        );
    }
}

/// Its request is not signed.
#[test]
fn an_age_needs_no_certificate_of_the_verifier() {
    let body = json!({"credentials": [preset(json!({}))]}).to_string();
    let spoken = SpokenProfiles::new([Profile::V1_0]).with_expired(Profile::V1_0);
    let mut tape = Tape::default();
    let root = root_of(&mut tape, body.as_bytes()).unwrap();
    assert!(Written::read(root, &spoken).is_ok());
}

#[test]
fn an_age_without_the_profile_1_0_is_unsupported() {
    for enabled in [Profile::Draft, Profile::Haip] {
        let body = json!({"credentials": [preset(json!({}))]});
        let error = parse_by(&body, &[enabled]).unwrap_err();
        assert_eq!((error.code, &*error.path), (ErrorCode::UnsupportedProfile, "profile"));
        assert!(error.to_string().contains("1.0"), "{error}");
    }
}

#[test]
fn an_age_is_an_integer_from_1_to_99() {
    for age in
        [json!(0), json!(100), json!(17.5), json!(-18), json!("18"), json!(true), json!(null)]
    {
        refused_at(preset(json!({"age": age})), "credentials[0].age", "must be");
    }
    let without = json!({"preset": "eu_age", "issuer_id": "two"});
    refused_at(without, "credentials[0].age", "required");
}

#[test]
fn a_preset_is_a_known_one_and_has_an_issuer() {
    for name in [json!("eu_pid"), json!(""), json!("EU_AGE"), json!(1), json!(null)] {
        refused_at(preset(json!({"preset": name})), "credentials[0].preset", "must be");
    }
    let without = json!({"preset": "eu_age", "age": 18});
    refused_at(without, "credentials[0].issuer_id", "required");
}

#[test]
fn a_preset_has_no_other_members() {
    for (name, value) in [
        ("format", json!("mso_mdoc")),
        ("claims", json!(["age_over_18"])),
        ("doc_type", json!("eu.europa.ec.av.1")),
        ("claim_filters", json!({})),
        ("alg", json!("ES256")),
        ("x", json!(1)),
    ] {
        let body = json!({"credentials": [preset(json!({name: value}))]});
        let error = parse_by(&body, &[Profile::V1_0]).unwrap_err();
        let path = format!("credentials[0].{name}");
        assert_eq!((error.code, error.path), (ErrorCode::UnknownField, path));
    }
    // A credential that is written out has no age either.
    let error = parse_by(&sd_jwt(json!({"age": 18})), &[Profile::V1_0]).unwrap_err();
    assert_eq!((error.code, &*error.path), (ErrorCode::UnknownField, "credentials[0].age"));
}

#[test]
fn a_request_that_is_built_has_the_same_preset() {
    let built =
        crate::request::Request::of([crate::request::Credential::eu_age("adult", "two", 18)]);
    built.check().unwrap();
    let written: Value = serde_json::from_str(&built.to_json()).unwrap();
    assert_eq!(written, json!({"credentials": [preset(json!({"id": "adult"}))]}));
    let refused = crate::request::Request::of([crate::request::Credential::eu_age("a", "two", 0)]);
    assert_eq!(refused.check().unwrap_err().path, "credentials[0].age");
}
