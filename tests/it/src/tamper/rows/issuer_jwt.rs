//! The issuer-signed JWT: signature, header, encoding (RFC 7515, RFC 9901 7.1).

use idgate_testkit::issuer::Unsigned;
use serde_json::{Value, json};

use super::signatures;
use crate::tamper::{Row, Scenario};

pub(super) fn rows() -> Vec<Row> {
    [signature(), alg(), header(), kid(), encoding()].concat()
}

fn signature() -> Vec<Row> {
    let row = |title, change| Row::refused(title, "issuer_signature_invalid", change);
    vec![
        row("issuer signature with one bit flipped", |s| s.hooks.issuer_jwt = signatures::flip),
        row("issuer signature of zeros", |s| s.hooks.issuer_jwt = signatures::zero),
        row("issuer signature in DER", |s| s.hooks.issuer_jwt = signatures::to_der),
        row("issuer signature cut short", |s| s.hooks.issuer_jwt = signatures::truncate),
        row("credential signed with an untrusted key under the trusted kid", |s| {
            let kid = s.issuer_key.kid().unwrap_or_default().to_owned();
            s.issuer_key = signatures::stranger(&s.issuer_key).with_kid(kid);
        }),
        row("credential signed with the key that its header brings", |s| {
            let kid = s.issuer_key.kid().unwrap_or_default().to_owned();
            s.issuer_key = signatures::stranger(&s.issuer_key).with_kid(kid);
            let jwk = s.issuer_key.public_jwk();
            s.attest(|c| c.header("jwk", jwk));
        }),
        row("credential signed by its holder", |s| {
            let kid = s.issuer_key.kid().unwrap_or_default().to_owned();
            s.issuer_key = s.holder_key.clone().with_kid(kid);
        }),
        row("payload changed after it was signed", |s| {
            s.hooks.issuer_jwt = |jwt| {
                let mut parts: Vec<&str> = jwt.split('.').collect();
                let payload = idgate_testkit::codec::base64url(b"{}");
                if let Some(part) = parts.get_mut(1) {
                    *part = &payload;
                }
                *jwt = parts.join(".");
            };
        }),
    ]
}

fn alg() -> Vec<Row> {
    let row = |title, change| Row::refused(title, "algorithm_not_allowed", change);
    vec![
        row("issuer alg none", |s| s.attest(|c| c.header("alg", "none"))),
        row("issuer alg HS256", |s| s.attest(|c| c.header("alg", "HS256"))),
        row("issuer alg ES256K", |s| s.attest(|c| c.header("alg", "ES256K"))),
        row("issuer alg of another curve", |s| {
            let alg = signatures::other_alg(&s.issuer_key);
            s.attest(|c| c.header("alg", alg));
        }),
        row("issuer alg in lower case", |s| {
            let alg = s.issuer_key.alg().to_lowercase();
            s.attest(|c| c.header("alg", alg));
        }),
    ]
}

fn header() -> Vec<Row> {
    let malformed = |title, change| Row::refused(title, "malformed_presentation", change);
    vec![
        malformed("issuer typ missing", |s| {
            s.hooks.unsigned = |unsigned| drop(unsigned.header.remove("typ"));
        }),
        malformed("issuer typ JWT", |s| s.attest(|c| c.header("typ", "JWT"))),
        malformed("issuer typ kb+jwt", |s| s.attest(|c| c.header("typ", "kb+jwt"))),
        malformed("issuer typ a number", |s| s.attest(|c| c.header("typ", 1))),
        Row::verified("issuer typ vc+sd-jwt", |s| s.attest(|c| c.header("typ", "vc+sd-jwt"))),
        Row::verified("issuer typ with application/ and capitals", |s| {
            s.attest(|c| c.header("typ", "application/DC+SD-JWT"));
        }),
        malformed("issuer header with crit", |s| {
            s.attest(|c| c.header("crit", json!(["exp"])).header("exp", 1));
        }),
        malformed("issuer alg missing", |s| {
            s.hooks.unsigned =
                |unsigned| unsigned.header_text = Some(r#"{"typ":"dc+sd-jwt"}"#.into());
        }),
        malformed("issuer header with a repeated member", |s| {
            s.hooks.unsigned = |unsigned| {
                unsigned.header_text =
                    Some(r#"{"typ":"dc+sd-jwt","alg":"ES256","alg":"none"}"#.into());
            };
        }),
        malformed("issuer header an array", |s| {
            s.hooks.unsigned = |unsigned| unsigned.header_text = Some("[]".into());
        }),
    ]
}

fn kid() -> Vec<Row> {
    vec![
        Row::verified("kid absent", |s| {
            s.issuer_key = without_kid(s);
        }),
        Row::refused(
            "credential signed with another trusted key than kid names",
            "issuer_signature_invalid",
            |s| {
                let second = signatures::stranger(&s.issuer_key).with_kid("second");
                s.trust.keys.push(second.public_jwk());
                s.attest(|c| c.header("kid", "second"));
            },
        ),
        Row::verified("kid selects the second trusted key", |s| {
            let second = signatures::stranger(&s.issuer_key).with_kid("second");
            s.trust.keys.push(second.public_jwk());
            s.issuer_key = second;
        }),
        Row::verified("kid absent and two keys of the curve trusted", |s| {
            let second = signatures::stranger(&s.issuer_key).with_kid("second");
            s.trust.keys.insert(0, second.public_jwk());
            s.issuer_key = without_kid(s);
        }),
    ]
}

fn encoding() -> Vec<Row> {
    let malformed = |title, change| Row::refused(title, "malformed_presentation", change);
    vec![
        malformed("payload with a repeated member", |s| {
            s.hooks.unsigned = |unsigned| {
                let text = Value::from(unsigned.payload.clone()).to_string();
                let text = text.replacen('{', r#"{"vct":"urn:eudi:pid:1","#, 1);
                unsigned.payload_text = Some(text);
            };
        }),
        malformed("payload an array", |s| s.hooks.unsigned = |u| payload_text(u, "[]")),
        malformed("payload not JSON", |s| s.hooks.unsigned = |u| payload_text(u, "{")),
        malformed("payload with something after the object", |s| {
            s.hooks.unsigned = |unsigned| {
                let text = Value::from(unsigned.payload.clone()).to_string();
                unsigned.payload_text = Some(text + "{}");
            };
        }),
        Row::refused("payload nested 40 deep", "limit_exceeded", |s| {
            s.attest(|c| c.plain("deep", (0..40).fold(json!(1), |inner, _| json!([inner]))));
        }),
        malformed("issuer JWT with padding", |s| s.hooks.issuer_jwt = |jwt| jwt.push('=')),
        malformed("issuer JWT with four parts", |s| s.hooks.issuer_jwt = |jwt| jwt.push_str(".AA")),
        malformed("presentation with a line feed at its end", |s| {
            s.hooks.token = |token| token.push('\n');
        }),
        malformed("presentation with a space before it", |s| {
            s.hooks.token = |token| token.insert(0, ' ');
        }),
        malformed("presentation a plain word", |s| s.hooks.token = |token| *token = "word".into()),
    ]
}

fn payload_text(unsigned: &mut Unsigned, text: &str) {
    unsigned.payload_text = Some(text.into());
}

fn without_kid(scenario: &Scenario) -> idgate_testkit::keys::SigningKey {
    idgate_testkit::samples::issuer_key(scenario.issuer_key.curve()).without_kid()
}
