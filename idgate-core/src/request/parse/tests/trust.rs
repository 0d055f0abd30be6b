//! The requirements of a request on the trust store, and the limits for long requests.

use idgate_testkit::keys::Curve;
use idgate_testkit::x509::Identity;

use super::*;
use crate::crypto::tests::PROVIDER;
use crate::ids::IssuerId;
use crate::request::fixtures::NOW;
use crate::trust::anchors::RootOrigin;
use crate::trust::{PinnedSigner, TrustAnchor};

#[test]
fn an_issuer_without_entry_is_unknown() {
    refused(&legacy(json!({"issuer_id": "nobody"})), "unknown_issuer", "issuer_id");
    refused(&legacy(json!({"issuer_id": ""})), "unknown_issuer", "issuer_id");
    let body = sd_jwt(json!({"issuer_id": "nobody"}));
    refused(&body, "unknown_issuer", "credentials[0].issuer_id");
    let empty = PresentationRequest::parse(
        sd_jwt(json!({})).to_string().as_bytes(),
        &TrustSnapshot::default(),
        false,
    );
    assert_eq!(empty.unwrap_err().code, ErrorCode::UnknownIssuer);
}

#[test]
fn an_issuer_that_cannot_serve_the_mode_is_unknown() {
    let body = sd_jwt(json!({"issuer_id": "test-only"}));
    refused(&body, "unknown_issuer", "credentials[0].issuer_id");
    assert!(parse(&body.to_string(), false).is_ok());
    refused(&sd_jwt(json!({"issuer_id": "no-keys"})), "unknown_issuer", "credentials[0].issuer_id");
}

#[test]
fn an_mdoc_needs_an_issuer_which_is_checked_last() {
    let issuer = "credentials[0].issuer_id";
    refused(&mdoc(json!({})), "unknown_issuer", issuer);
    refused(&mdoc(json!({"doc_type": "eu.europa.ec.eudi.pid.1"})), "unknown_issuer", issuer);
    refused(&mdoc(json!({"doc_type": "x", "namespace": "y"})), "unknown_issuer", issuer);
    refused(&legacy(json!({"format": "mso_mdoc"})), "unknown_issuer", "issuer_id");
    invalid(&mdoc(json!({"doc_type": "x"})), "credentials[0].namespace");
    for (name, bad) in
        [("namespace", "a'b"), ("namespace", ""), ("doc_type", "a\\b"), ("doc_type", "a\n")]
    {
        invalid(&mdoc(json!({name: bad})), &format!("credentials[0].{name}"));
    }
}

#[test]
fn a_doc_type_outside_the_accepted_ones_is_refused() {
    let documents = |changes: Value| mdoc(changed(json!({"issuer_id": "documents"}), changes));
    invalid(&documents(json!({"doc_type": "org.iso.18013.5.1.mDL"})), "credentials[0].doc_type");
    invalid(&documents(json!({})), "credentials[0].doc_type");
    let known = documents(json!({"doc_type": "org.example.doc"}));
    refused(&known, "unknown_issuer", "credentials[0].issuer_id");
}

#[test]
fn two_credentials_of_one_doc_type_cannot_be_expressed() {
    let mdoc = json!({"format": "mso_mdoc", "issuer_id": "two", "claims": ["a"]});
    invalid(&json!({"credentials": [mdoc, mdoc]}), "credentials[1].doc_type");
}

#[test]
fn an_sd_jwt_id_equal_to_a_doc_type_cannot_be_expressed() {
    let mdoc = json!({"format": "mso_mdoc", "issuer_id": "two", "claims": ["a"]});
    let mut body = sd_jwt(json!({"id": "org.iso.18013.5.1.mDL"}));
    body["credentials"].as_array_mut().unwrap().push(mdoc);
    invalid(&body, "credentials[0].id");
}

#[test]
fn the_legacy_form_needs_default_claims() {
    invalid(&legacy(json!({"issuer_id": "two"})), "issuer_id");
}

/// The fixtures' trust with a root of the sample IACA in `issuer`, for tests only or for both
/// modes.
fn trust_with_root(issuer: &str, test_only: bool) -> TrustSnapshot {
    let der = Identity::iaca(Curve::P256, NOW.0).der;
    let root = TrustAnchor::from_der(&PROVIDER, &der, RootOrigin::RootFile);
    let root = root.unwrap();
    let mut entries: Vec<_> = trust().entries().cloned().collect();
    let entry = entries.iter_mut().find(|entry| entry.issuer_id.as_str() == issuer).unwrap();
    entry.roots = vec![if test_only { root.for_test_only() } else { root }];
    entry.default_claims = vec!["family_name".into()];
    TrustSnapshot::new(8, entries)
}

#[test]
fn an_mdoc_needs_a_root_for_the_mode() {
    let body = mdoc(json!({"issuer_id": "no-keys"})).to_string();
    let parse = |trust: &TrustSnapshot, live| {
        PresentationRequest::parse(body.as_bytes(), trust, live).map_err(|error| error.code)
    };
    assert!(parse(&trust_with_root("no-keys", false), true).is_ok());
    let for_tests = trust_with_root("no-keys", true);
    assert!(parse(&for_tests, false).is_ok());
    assert_eq!(parse(&for_tests, true).unwrap_err(), ErrorCode::UnknownIssuer);
    let mut elsewhere = trust_with_root("no-keys", false).entries().cloned().collect::<Vec<_>>();
    elsewhere.iter_mut().for_each(|entry| entry.countries = vec!["DE".into()]);
    let elsewhere = TrustSnapshot::new(9, elsewhere);
    assert_eq!(parse(&elsewhere, true).unwrap_err(), ErrorCode::UnknownIssuer);
}

#[test]
fn an_alg_that_no_key_of_the_issuer_has_is_refused() {
    for (issuer, alg, served) in [
        ("https://one.example", "ES256", true),
        ("https://one.example", "ES384", true),
        ("https://one.example", "ES512", false),
        ("two", "ES256", true),
        ("two", "ES384", false),
    ] {
        let body = sd_jwt(json!({"issuer_id": issuer, "alg": alg}));
        if served {
            assert!(parse(&body.to_string(), true).is_ok(), "{issuer} {alg}");
        } else {
            invalid(&body, "credentials[0].alg");
        }
    }
}

/// The keys of pinned signers are known; those of signers below a root are not.
#[test]
fn an_alg_that_no_pinned_signer_has_is_refused() {
    let iaca = Identity::iaca(Curve::P256, NOW.0);
    let signer = PinnedSigner::from_der(&PROVIDER, &iaca.der).unwrap();
    let with = |root: bool, alg: &str| {
        let trust = trust_with_root("no-keys", false);
        let mut entry = trust.entry(&IssuerId::new("no-keys")).unwrap().clone();
        entry.pinned_signers.push(signer.clone());
        if !root {
            entry.roots.clear();
        }
        let body = mdoc(json!({"issuer_id": "no-keys", "alg": alg})).to_string();
        let trust = TrustSnapshot::new(9, [entry]);
        PresentationRequest::parse(body.as_bytes(), &trust, true).map_err(|error| error.path)
    };
    assert!(with(false, "ES256").is_ok());
    assert_eq!(with(false, "ES384").unwrap_err(), "credentials[0].alg");
    assert!(with(true, "ES384").is_ok());
}

#[test]
fn reserved_names_are_never_claims() {
    for name in ["_sd", "_sd_alg", "..."] {
        invalid(&sd_jwt(json!({"claims": ["given_name", name]})), "credentials[0].claims[1]");
        let paths = json!({"subject_claim_paths": ["given_name", format!("address.{name}")]});
        invalid(&sd_jwt(paths), "credentials[0].subject_claim_paths[1]");
        let mut entries: Vec<_> = trust().entries().cloned().collect();
        entries.iter_mut().for_each(|entry| entry.default_claims = vec![name.into()]);
        let body = json!({"issuer_id": "two"}).to_string();
        let trust = TrustSnapshot::new(9, entries);
        let error = PresentationRequest::parse(body.as_bytes(), &trust, true).unwrap_err();
        assert_eq!((error.code, &*error.path), (ErrorCode::InvalidRequest, "issuer_id"), "{name}");
    }
}

#[test]
fn the_legacy_format_follows_the_entrys_material() {
    let format = |issuer: &str| {
        let body = json!({"issuer_id": issuer}).to_string();
        let trust = trust_with_root(issuer, false);
        let request = PresentationRequest::parse(body.as_bytes(), &trust, true).unwrap();
        request.credentials[0].format
    };
    assert_eq!(format("no-keys"), CredentialFormat::Mdoc);
    assert_eq!(format("two"), CredentialFormat::SdJwtVc, "both");
    assert_eq!(format("test-only"), CredentialFormat::Mdoc, "its key is for tests");
}

#[test]
fn long_arrays_names_paths_and_groups_are_limited() {
    let of = |path: &str| format!("credentials[0].{path}");
    let enumeration = json!({"claim_filters": {"a": {"enum": vec![0; 1001]}}});
    invalid(&sd_jwt(enumeration), &of("claim_filters.a.enum"));
    invalid(&sd_jwt(json!({"claims": ["a".repeat(256)]})), &of("claims[0]"));
    let paths: Vec<_> = (0..11).map(|n| format!("claim_{n}")).collect();
    invalid(&sd_jwt(json!({"subject_claim_paths": paths})), &of("subject_claim_paths"));
    let mut body = sd_jwt(json!({}));
    body["same_subject_groups"] = json!(vec![["x", "y"]; 51]);
    invalid(&body, "same_subject_groups");
}
