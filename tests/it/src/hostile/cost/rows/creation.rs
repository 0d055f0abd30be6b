//! A tenant's creation request with the fields of the newer profiles. Tenants are authenticated,
//! but many of them share a gateway.

use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::limits::MAX_CREATE_BYTES;
use idgate_core::shell::{Jwk, SpokenProfiles, TrustEntry, TrustSnapshot, TrustedKey};
use idgate_core::{IssuerId, Mode, Profile, Trust, Verifier};
use idgate_testkit::keys::Curve;
use idgate_testkit::samples;
use serde_json::{Value, json};
use std::sync::Arc;

use crate::hostile::cost::encoded::{JSON, wrapped};
use crate::hostile::cost::{Generator, Row};

/// Leaves room for the envelope.
const FULL: usize = MAX_CREATE_BYTES - 1024;

fn trust() -> TrustSnapshot {
    let jwk = samples::issuer_key(Curve::P256).public_jwk().to_string();
    let mut issuer = TrustEntry::new(IssuerId::new(samples::ISSUER));
    issuer.keys.push(TrustedKey::new(Jwk::parse(jwk.as_bytes()).unwrap().key));
    issuer.vct.push(samples::VCT.into());
    TrustSnapshot::new(1, [issuer])
}

fn pid(more: &Value) -> Value {
    let mut pid = json!({"id": "pid", "format": "vc+sd-jwt", "issuer_id": samples::ISSUER,
        "claims": ["given_name"]});
    pid.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    pid
}

/// A body with this member and one credential.
fn with(name: &str, value: &Value) -> Vec<u8> {
    json!({"credentials": [pid(&json!({}))], name: value}).to_string().into_bytes()
}

fn within(name: &str, value: &Value) -> Vec<u8> {
    json!({"credentials": [pid(&json!({name: value}))]}).to_string().into_bytes()
}

/// A payment with a good many positions.
fn good(size: usize) -> Vec<u8> {
    let position = json!({"id": "pid", "format": "vc+sd-jwt", "path": "$[0]"});
    let positions = vec![position; size.saturating_sub(300) / 48];
    let payment = json!({"type": "payment", "credential_ids": ["pid"], "positions": positions});
    with("transaction_data", &json!([payment]))
}

fn takes(verifier: &Verifier, body: &[u8]) -> bool {
    let profiles = SpokenProfiles::new([Profile::V1_0]);
    verifier.resolve(body, Mode::Live, &profiles).is_ok()
}

pub(super) fn body() -> Row {
    let builder = Verifier::builder(Trust::of_snapshot(PROVIDER, Arc::new(trust())))
        .profiles([idgate_core::Profile::Draft])
        .unsigned("https://gateway.example");
    let verifier = builder.build().unwrap();
    assert!(takes(&verifier, &good(FULL)));
    let of = |make: fn(usize) -> Vec<u8>| -> Generator { Box::new(make) };
    let mut worst = vec![
        (
            "ten equal transaction data",
            of(|size| {
                let text = "a".repeat(size / 10 - 60);
                let one = json!({"type": "a", "credential_ids": ["pid"], "text": text});
                with("transaction_data", &json!(vec![one; 10]))
            }),
        ),
        (
            "transaction data that differ at the end",
            of(|size| {
                let text = "a".repeat(size / 10 - 70);
                let one =
                    |at| json!({"type": "a", "credential_ids": ["pid"], "text": text, "to": at});
                with("transaction_data", &(0..10).map(one).collect())
            }),
        ),
        (
            "transaction data of escaped text",
            of(|size| {
                let text = "\u{1}".repeat((size - 60) / 6);
                let one = json!({"type": "a", "credential_ids": ["pid"], "text": text});
                with("transaction_data", &json!([one]))
            }),
        ),
        (
            "one id again and again",
            of(|size| {
                let ids = vec!["pid"; size / 6];
                with("credential_sets", &json!([{"options": [ids]}]))
            }),
        ),
        (
            "many options",
            of(|size| with("credential_sets", &json!([{"options": vec![["pid"]; size / 8]}]))),
        ),
        (
            "a long path",
            of(|size| within("claim_paths", &json!({"given_name": vec!["a"; size / 4]}))),
        ),
        (
            "a path of nulls",
            of(|size| within("claim_paths", &json!({"given_name": vec![Value::Null; size / 5]}))),
        ),
        ("many profiles", of(|size| with("profiles", &json!(vec!["1.0"; size / 6])))),
    ];
    worst.extend(wrapped(JSON, |size, fill| {
        let head = format!(
            "{{\"credentials\":[{}],\"transaction_data\":[{{\"type\":\"a\",\"credential_ids\":\
             [\"pid\"],\"data\":",
            pid(&json!({}))
        );
        [head.as_bytes(), &fill(size.saturating_sub(head.len())), b"}]}"].concat()
    }));
    Row {
        name: "creation body",
        full: FULL,
        read: Box::new(move |body| {
            takes(&verifier, body);
        }),
        valid: Box::new(good),
        worst,
    }
}
