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
        row("issuer signature with an r of zeros", |s| s.hooks.issuer_jwt = signatures::zero_r),
        row("issuer signature with a byte after it", |s| s.hooks.issuer_jwt = signatures::extend),
        row("issuer signature eight bytes longer", |s| s.hooks.issuer_jwt = signatures::lengthen),
        row("issuer signature of 16 KiB", |s| {
            s.hooks.issuer_jwt = |jwt| {
                let signed = jwt.rfind('.').map_or(0, |dot| dot + 1);
                jwt.truncate(signed);
                jwt.push_str(&"A".repeat(21_830));
            };
        }),
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
        row("credential signed with the key behind its jku", |s| {
            s.issuer_key = signatures::stranger(&s.issuer_key);
            s.attest(|c| c.header("jku", JKU));
        }),
        row("credential signed with the key behind its x5u", |s| {
            s.issuer_key = signatures::stranger(&s.issuer_key);
            s.attest(|c| c.header("x5u", JKU));
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
        row("issuer alg None", |s| s.attest(|c| c.header("alg", "None"))),
        row("issuer alg NONE", |s| s.attest(|c| c.header("alg", "NONE"))),
        row("issuer alg empty", |s| s.attest(|c| c.header("alg", ""))),
        row("issuer alg RS256", |s| s.attest(|c| c.header("alg", "RS256"))),
        row("issuer alg PS256", |s| s.attest(|c| c.header("alg", "PS256"))),
        row("issuer alg EdDSA", |s| s.attest(|c| c.header("alg", "EdDSA"))),
        row("issuer alg of the third curve", |s| {
            let alg = signatures::third_alg(&s.issuer_key);
            s.attest(|c| c.header("alg", alg));
        }),
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
        malformed("issuer typ of another SD-JWT", |s| {
            s.attest(|c| c.header("typ", "example+sd-jwt"));
        }),
        malformed("issuer typ empty", |s| s.attest(|c| c.header("typ", ""))),
        malformed("issuer typ with a space after it", |s| {
            s.attest(|c| c.header("typ", "dc+sd-jwt "));
        }),
        malformed("issuer typ with application/ twice", |s| {
            s.attest(|c| c.header("typ", "application/application/dc+sd-jwt"));
        }),
        Row::verified("issuer typ in capitals", |s| s.attest(|c| c.header("typ", "DC+SD-JWT"))),
        Row::verified("issuer typ application/vc+sd-jwt", |s| {
            s.attest(|c| c.header("typ", "application/vc+sd-jwt"));
        }),
        Row::verified("issuer typ Application/dc+sd-jwt", |s| {
            s.attest(|c| c.header("typ", "Application/dc+sd-jwt"));
        }),
        Row::verified("issuer typ vc+sd-jwt", |s| s.attest(|c| c.header("typ", "vc+sd-jwt"))),
        Row::verified("issuer typ with application/ and capitals", |s| {
            s.attest(|c| c.header("typ", "application/DC+SD-JWT"));
        }),
        malformed("issuer header with crit", |s| {
            s.attest(|c| c.header("crit", json!(["exp"])).header("exp", 1));
        }),
        malformed("issuer header with a crit of b64", |s| {
            s.attest(|c| c.header("crit", json!(["b64"])));
        }),
        malformed("issuer header with an empty crit", |s| {
            s.attest(|c| c.header("crit", json!([])));
        }),
        malformed("issuer header with a crit as text", |s| s.attest(|c| c.header("crit", "x"))),
        Row::verified("issuer header with the jwk of another key", |s| {
            let jwk = signatures::stranger(&s.issuer_key).public_jwk();
            s.attest(|c| c.header("jwk", jwk));
        }),
        Row::verified("issuer header with a jku", |s| s.attest(|c| c.header("jku", JKU))),
        Row::verified("issuer header with an x5u", |s| s.attest(|c| c.header("x5u", JKU))),
        malformed("issuer alg a number", |s| s.attest(|c| c.header("alg", 256))),
        malformed("issuer alg null", |s| s.attest(|c| c.header("alg", Value::Null))),
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
        Row::verified("unknown kid, and two keys trusted", |s| {
            let second = signatures::stranger(&s.issuer_key).with_kid("second");
            s.trust.keys.insert(0, second.public_jwk());
            s.attest(|c| c.header("kid", "unheard of"));
        }),
        Row::verified("kid of SQL", |s| s.attest(|c| c.header("kid", "'; --"))),
        Row::verified("kid of a path", |s| s.attest(|c| c.header("kid", "../../etc/passwd"))),
        Row::verified("kid of a zero byte", |s| s.attest(|c| c.header("kid", "\0"))),
        Row::verified("kid of 64 KiB", |s| s.attest(|c| c.header("kid", "k".repeat(65_536)))),
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
        malformed("payload with a number beyond all numbers", |s| {
            s.hooks.unsigned = |unsigned| {
                let text = Value::from(unsigned.payload.clone()).to_string();
                unsigned.payload_text = Some(text.replacen('{', r#"{"big":1e400,"#, 1));
            };
        }),
        Row::refused("payload nested 40 deep", "limit_exceeded", |s| {
            s.attest(|c| c.plain("deep", (0..40).fold(json!(1), |inner, _| json!([inner]))));
        }),
        malformed("issuer JWT with padding", |s| s.hooks.issuer_jwt = |jwt| jwt.push('=')),
        malformed("issuer JWT with four parts", |s| s.hooks.issuer_jwt = |jwt| jwt.push_str(".AA")),
        malformed("presentation without tildes", |s| {
            s.hooks.token = |token| *token = token.replace('~', "");
        }),
        malformed("presentation with two tildes for one", |s| {
            s.hooks.token = |token| *token = token.replacen('~', "~~", 1);
        }),
        malformed("presentation with a tilde before it", |s| {
            s.hooks.token = |token| token.insert(0, '~');
        }),
        malformed("presentation of one tilde", |s| s.hooks.token = |token| *token = "~".into()),
        malformed("presentation of two tildes", |s| s.hooks.token = |token| *token = "~~".into()),
        malformed("issuer JWT without its first dot", |s| {
            s.hooks.token = |token| *token = token.replacen('.', "", 1);
        }),
        malformed("issuer JWT with two dots for one", |s| {
            s.hooks.token = |token| *token = token.replacen('.', "..", 1);
        }),
        malformed("issuer JWT with a dot before it", |s| {
            s.hooks.token = |token| token.insert(0, '.');
        }),
        malformed("presentation with a space after it", |s| {
            s.hooks.token = |token| token.push(' ');
        }),
        malformed("presentation with a line feed at its end", |s| {
            s.hooks.token = |token| token.push('\n');
        }),
        malformed("presentation with a space before it", |s| {
            s.hooks.token = |token| token.insert(0, ' ');
        }),
        malformed("presentation a plain word", |s| s.hooks.token = |token| *token = "word".into()),
    ]
}

const JKU: &str = "https://forger.example/jwks.json";

fn payload_text(unsigned: &mut Unsigned, text: &str) {
    unsigned.payload_text = Some(text.into());
}

fn without_kid(scenario: &Scenario) -> idgate_testkit::keys::SigningKey {
    idgate_testkit::samples::issuer_key(scenario.issuer_key.curve()).without_kid()
}
