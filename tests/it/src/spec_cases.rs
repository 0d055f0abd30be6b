//! The cases of sd-jwt-python: issued, presented and verified, each must give the claims that it
//! names. The data is read from `IDGATE_VECTORS`, or from next to the repository.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::fs;
use std::path::{Path, PathBuf};

use idgate_testkit::keys::Curve;
use idgate_testkit::request::AuthorizationRequest;
use idgate_testkit::samples;
use idgate_testkit::spec_cases::SpecCase;
use idgate_testkit::wallet::{Answer, KbJwt, present};
use serde_json::{Value, json};

use crate::tamper::scenario::{NOW_MS, Trust};
use crate::tamper::{Expected, Gateway, InProcess, Outcome};

/// Its header has `kid: 42`, but a `kid` is a string (RFC 7515 4.1.4).
const NUMERIC_KID: &str = "header_mod";

/// Every part of a requested claim is withheld, so the rest of it is not an answer.
const NONE_DISCLOSED: [&str; 2] = ["array_none_disclosed", "array_recursive_sd"];

#[test]
fn every_sd_jwt_python_case_gives_its_claims() {
    let Some(directories) = case_directories() else {
        eprintln!("skipped: no sd-jwt/sd-jwt-python under IDGATE_VECTORS");
        return;
    };
    let mut count = 0;
    for directory in directories {
        let Ok(text) = fs::read_to_string(directory.join("specification.yml")) else { continue };
        let name = directory.file_name().unwrap().to_string_lossy().into_owned();
        let case = SpecCase::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        check(&name, &case);
        count += 1;
    }
    assert!(count >= 17, "only {count} cases");
}

fn check(name: &str, case: &SpecCase) {
    let expected = case.expect_verified_user_claims.clone().unwrap_or_default();
    let outcome = verify(case, &expected);
    let refused_as = match name {
        NUMERIC_KID => Some("malformed_presentation"),
        name if NONE_DISCLOSED.contains(&name) => Some("claim_missing"),
        _ => None,
    };
    if let Some(reason) = refused_as {
        assert_eq!(outcome.mismatch(Expected::Refused(reason)), None, "{name}");
        return;
    }
    assert_eq!(outcome.mismatch(Expected::Verified), None, "{name}");
    assert_eq!(outcome.claims.unwrap_or_default()["pid"], expected, "{name}");
}

/// Requests every expected claim and presents the case, always with key binding: the gateway
/// accepts no credential without it.
fn verify(case: &SpecCase, expected: &Value) -> Outcome {
    let (issuer, holder) = (samples::issuer_key(Curve::P256), samples::holder_key(Curve::P256));
    let trust = Trust {
        issuer_id: samples::ISSUER.into(),
        vct: vec![samples::VCT.into()],
        keys: vec![issuer.public_jwk()],
        sd_jwt_roots: Vec::new(),
        revocation: "if_published",
    };
    let names: Vec<&String> = expected.as_object().unwrap().keys().collect();
    let request = json!({ "credentials": [{
        "id": "pid", "format": "vc+sd-jwt", "issuer_id": samples::ISSUER, "claims": names,
    }]});
    let mut gateway = InProcess::default();
    let uri = gateway.open(&trust, &request, NOW_MS);
    let credential = case
        .credential()
        .plain("iss", samples::ISSUER)
        .plain("vct", samples::VCT)
        .holder(&holder)
        .issue(&issuer);
    let request = AuthorizationRequest::parse(&uri).unwrap();
    let presentation = case.present(&credential);
    let kb_jwt = KbJwt::new(&holder, &presentation, &request, NOW_MS).sign();
    let answer = Answer::new(&request, vec![present(&presentation, Some(&kb_jwt))]);
    let error = gateway.post(&answer.form_body(), NOW_MS);
    let (status, reason, claims) = gateway.read(NOW_MS);
    Outcome { error, status, reason, claims }
}

fn case_directories() -> Option<Vec<PathBuf>> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/vectors");
    let root = std::env::var_os("IDGATE_VECTORS").map_or(beside, PathBuf::from);
    let cases = fs::read_dir(root.join("sd-jwt/sd-jwt-python/testcases")).ok()?;
    Some(cases.filter_map(|entry| Some(entry.ok()?.path())).collect())
}
