//! A request's choice for a status list that cannot be fetched.

use super::*;
use crate::request::profile::Profile;
use crate::trust::{OnUnknownRevocation, RevocationPolicy, TrustEntry};

/// The trust of the fixtures, whose entry `two` has this policy.
fn trust_with(policy: RevocationPolicy, on_unknown: OnUnknownRevocation) -> TrustSnapshot {
    let mut entries: Vec<TrustEntry> = trust().entries().cloned().collect();
    for entry in entries.iter_mut().filter(|entry| entry.issuer_id.as_str() == "two") {
        (entry.revocation, entry.on_unknown_revocation) = (policy, on_unknown);
    }
    TrustSnapshot::new(8, entries)
}

fn asked(
    trust: &TrustSnapshot,
    body: &Value,
) -> Result<Option<UnknownRevocation>, (ErrorCode, String, String)> {
    let spoken = SpokenProfiles::new([Profile::V1_0, Profile::Draft]);
    let made = PresentationRequest::parse_for(body.to_string().as_bytes(), trust, true, &spoken);
    made.map(|request| request.on_unknown_revocation)
        .map_err(|error| (error.code, error.path.clone(), error.to_string()))
}

fn with(choice: Value) -> Value {
    changed(sd_jwt(json!({})), json!({"on_unknown_revocation": choice}))
}

#[test]
fn a_request_may_always_refuse_an_unknown_status() {
    use OnUnknownRevocation::{Accept, Refuse, Tenant};
    for on_unknown in [Refuse, Accept, Tenant] {
        for policy in [RevocationPolicy::IfPublished, RevocationPolicy::Required] {
            let trust = trust_with(policy, on_unknown);
            assert_eq!(asked(&trust, &with(json!("refuse"))), Ok(Some(UnknownRevocation::Refuse)));
            assert_eq!(asked(&trust, &sd_jwt(json!({}))), Ok(None));
        }
    }
}

#[test]
fn a_request_accepts_an_unknown_status_only_if_the_entry_allows_it() {
    use OnUnknownRevocation::{Refuse, Tenant};
    let (published, required) = (RevocationPolicy::IfPublished, RevocationPolicy::Required);
    let accept = with(json!("accept"));
    assert_eq!(asked(&trust_with(published, Tenant), &accept), Ok(Some(UnknownRevocation::Accept)));
    for trust in [trust_with(published, Refuse), trust_with(required, Tenant)] {
        let (code, path, text) = asked(&trust, &accept).unwrap_err();
        assert_eq!((code, &*path), (ErrorCode::InvalidRequest, "on_unknown_revocation"));
        assert!(text.contains("the issuer two does not let a request accept"), "{text}");
    }
}

#[test]
fn every_entry_of_a_request_must_allow_the_choice() {
    let trust = trust_with(RevocationPolicy::IfPublished, OnUnknownRevocation::Tenant);
    let mut body = pair(json!({"on_unknown_revocation": "accept"}), json!({}));
    assert_eq!(asked(&trust, &body), Ok(Some(UnknownRevocation::Accept)));
    body["credentials"][1]["issuer_id"] = json!("https://one.example");
    let (_, path, text) = asked(&trust, &body).unwrap_err();
    assert_eq!(path, "on_unknown_revocation");
    assert!(text.contains("https://one.example"), "{text}");
}

#[test]
fn only_refuse_and_accept_are_valid() {
    let trust = trust_with(RevocationPolicy::IfPublished, OnUnknownRevocation::Tenant);
    for other in [json!("tenant"), json!("Accept"), json!(""), json!(true), json!(null), json!(1)] {
        let (code, path, _) = asked(&trust, &with(other)).unwrap_err();
        assert_eq!((code, &*path), (ErrorCode::InvalidRequest, "on_unknown_revocation"));
    }
}

#[test]
fn the_legacy_form_has_the_same_choice_in_every_profile() {
    let body = legacy(json!({"on_unknown_revocation": "refuse"}));
    let request = PresentationRequest::parse(body.to_string().as_bytes(), &trust(), true).unwrap();
    assert_eq!(request.on_unknown_revocation, Some(UnknownRevocation::Refuse));
    assert!(!request.has_newer_fields);
    invalid(&legacy(json!({"on_unknown_revocation": "accept"})), "on_unknown_revocation");
}
