//! `client_metadata` (5.1, 8.3, B.2.2, B.3.4, H5).

use std::collections::BTreeSet;

use serde_json::Value;

use super::findings::Findings;
use super::parameters::members_of;
use super::query::Format;
use super::request::{Expected, Request};
use crate::jwe::Enc;
use crate::request_object::{ResponseKey, point_of};

const ENCS: &str = "encrypted_response_enc_values_supported";
const MEMBERS: [&str; 3] = ["jwks", ENCS, "vp_formats_supported"];
/// The private members of keys (RFC 7518 6).
const PRIVATE: [&str; 7] = ["d", "p", "q", "dp", "dq", "qi", "k"];
const JOSE: [&str; 3] = ["ES256", "ES384", "ES512"];
/// The older and the newer number of each curve (RFC 9864). A wallet compares the bare numbers.
const COSE: [[i64; 2]; 3] = [[-7, -9], [-35, -51], [-36, -52]];

/// The first key and the first `enc`, the choice of a conformance suite.
pub(super) fn encryption(request: &Request) -> Option<(ResponseKey, Enc)> {
    let metadata = request.parameters.get("client_metadata")?;
    let jwk = metadata.pointer("/jwks/keys/0")?;
    let point = point_of(jwk)?;
    let kid = jwk["kid"].as_str().unwrap_or_default().to_owned();
    // Without the list, A128GCM (8.3).
    let first = metadata[ENCS].get(0).and_then(Value::as_str).unwrap_or("A128GCM");
    let enc = Enc::ALL.into_iter().find(|enc| enc.name() == first)?;
    Some((ResponseKey { jwk: jwk.clone(), kid, point }, enc))
}

pub(super) fn check(request: &Request, expected: &Expected, findings: &mut Findings) {
    let metadata = request.parameters.get("client_metadata").unwrap_or(&Value::Null);
    findings.must("client_metadata", metadata.is_object(), "not an object");
    for name in members_of(metadata) {
        findings.should("client_metadata_members", MEMBERS.contains(&name), name);
    }
    check_formats(&metadata["vp_formats_supported"], expected, findings);
    if expected.encrypted {
        check_keys(&metadata["jwks"], findings);
        check_encs(metadata, expected, findings);
    } else {
        // A known wallet refuses the list there, and an unused key has no purpose.
        findings.must("jwks_without_encryption", metadata.get("jwks").is_none(), "there");
        findings.must("enc_without_encryption", metadata.get(ENCS).is_none(), &metadata[ENCS]);
    }
}

fn check_formats(formats: &Value, expected: &Expected, findings: &mut Findings) {
    for format in &expected.formats {
        let there = formats.get(format.name()).is_some();
        findings.must("vp_formats_supported", there, format.name());
    }
    for name in members_of(formats) {
        let asked = expected.formats.iter().any(|format| format.name() == name);
        findings.should("vp_formats_asked", asked, name);
    }
    if let Some(sd_jwt) = formats.get(Format::SdJwtVc.name()) {
        let own = ["sd-jwt_alg_values", "kb-jwt_alg_values"];
        check_algorithms(sd_jwt, own, findings, |values| {
            values.iter().all(|value| JOSE.iter().any(|alg| value == alg))
        });
    }
    if let Some(mdoc) = formats.get(Format::Mdoc.name()) {
        let own = ["issuerauth_alg_values", "deviceauth_alg_values"];
        check_algorithms(mdoc, own, findings, |values| {
            let has = |number: &i64| values.iter().any(|value| value == number);
            let known = |value: &Value| COSE.iter().flatten().any(|number| value == number);
            values.iter().all(known) && COSE.iter().all(|[old, new]| has(old) == has(new))
        });
    }
}

fn check_algorithms(
    format: &Value,
    own: [&str; 2],
    findings: &mut Findings,
    known: impl Fn(&[Value]) -> bool,
) {
    for name in members_of(format) {
        findings.should("vp_formats_members", own.contains(&name), name);
        let values = format[name].as_array().cloned().unwrap_or_default();
        findings.must("vp_formats_algorithms", !values.is_empty() && known(&values), &format[name]);
    }
}

fn check_keys(jwks: &Value, findings: &mut Findings) {
    let keys = jwks["keys"].as_array().cloned().unwrap_or_default();
    findings.must("jwks", !keys.is_empty(), "no key to encrypt to");
    let mut kids = BTreeSet::new();
    for jwk in &keys {
        let kid = jwk["kid"].as_str().unwrap_or_default().trim();
        findings.must("jwks_kid", !kid.is_empty(), "missing or blank");
        findings.must("jwks_kid_unique", kids.insert(kid), kid);
        let private = members_of(jwk).find(|name| PRIVATE.contains(name));
        findings.must("jwks_private", private.is_none(), private.unwrap_or_default());
        findings.must("jwks_alg", jwk["alg"] == "ECDH-ES", &jwk["alg"]);
        findings.must(
            "jwks_use",
            [&"enc".into(), &Value::Null].contains(&&jwk["use"]),
            &jwk["use"],
        );
        let on_p256 = jwk["kty"] == "EC" && jwk["crv"] == "P-256";
        let point = point_of(jwk).filter(|_| on_p256);
        let on_curve = |point: Vec<u8>| p256::PublicKey::from_sec1_bytes(&point).is_ok();
        findings.must("jwks_curve", point.is_some_and(on_curve), &jwk["crv"]);
    }
}

fn check_encs(metadata: &Value, expected: &Expected, findings: &mut Findings) {
    let values = metadata[ENCS].as_array().cloned().unwrap_or_default();
    let usable = values.iter().all(|value| Enc::ALL.iter().any(|enc| value == enc.name()));
    findings.must("enc_values", usable && !values.is_empty(), &metadata[ENCS]);
    if expected.haip {
        let has = |name: &str| values.iter().any(|value| value == name);
        findings.must("enc_values_haip", has("A128GCM") && has("A256GCM"), &metadata[ENCS]);
    }
}
