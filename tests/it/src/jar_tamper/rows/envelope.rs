//! The envelope of the JWE and its content (OpenID4VP 8.3, decisions 6).

use serde_json::{Map, Value, json};

use crate::jar_tamper::{JarRow, JarScenario};
use crate::tamper::Expected;

pub(super) fn rows() -> Vec<JarRow> {
    [states(), parameters(), plaintexts(), errors(), proofs()].concat()
}

fn invalid(title: &'static str, change: fn(&mut JarScenario)) -> JarRow {
    JarRow::transport(title, "invalid_response", change)
}

fn states() -> Vec<JarRow> {
    let mismatch = |title, change| JarRow::transport(title, "state_mismatch", change);
    vec![
        JarRow::verified("the right state outside too", |s| {
            around(s, |p, inside| put(p, "state", inside.get("state").cloned()));
        }),
        mismatch("another state outside", |s| {
            around(s, |p, _| put(p, "state", Some("s".repeat(43).into())));
        }),
        mismatch("another state inside", |s| {
            inside(s, |p| put(p, "state", Some("s".repeat(43).into())));
        }),
        mismatch("another state inside, the right one outside", |s| {
            inside(s, |p| put(p, "state", Some("s".repeat(43).into())));
            around(s, |p, inside| put(p, "state", inside.get("state").cloned()));
        }),
        invalid("no state inside", |s| inside(s, |p| drop(p.remove("state")))),
        invalid("state only outside", |s| {
            inside(s, |p| drop(p.remove("state")));
            around(s, |p, _| put(p, "state", Some("s".repeat(43).into())));
        }),
        invalid("an empty state outside", |s| {
            around(s, |p, _| put(p, "state", Some("".into())));
        }),
    ]
}

fn parameters() -> Vec<JarRow> {
    vec![
        invalid("the answer unencrypted", |s| around(s, |p, inside| *p = inside.clone())),
        invalid("an unencrypted answer together with the encrypted one", |s| {
            around(s, |p, inside| p.extend(inside.clone()));
        }),
        invalid("error together with response", |s| {
            around(s, |p, _| put(p, "error", Some("access_denied".into())));
        }),
        invalid("response empty", |s| around(s, |p, _| put(p, "response", Some("".into())))),
        invalid("response missing", |s| around(s, |p, _| drop(p.remove("response")))),
        invalid("response twice", |s| {
            s.hooks.body = |body| body.bytes.extend(b"&response=a.b.c.d.e");
        }),
        invalid("response an object in JSON", |s| {
            s.made.as_json = true;
            around(s, |p, _| put(p, "response", Some(json!({"ciphertext": "AA"}))));
        }),
        invalid("media type application/jwt", |s| {
            s.hooks.body = |body| body.content_type = "application/jwt".into();
        }),
        JarRow::verified("the envelope as JSON", |s| s.made.as_json = true),
        JarRow::verified("an unknown parameter together with response", |s| {
            around(s, |p, _| put(p, "extra", Some("1".into())));
        }),
        JarRow::transport("a body over 1 MiB", "payload_too_large", |s| {
            s.hooks.body = |body| {
                body.bytes.extend(b"&extra=");
                body.bytes.resize(1024 * 1024 + 1, b'a');
            };
        }),
    ]
}

fn plaintexts() -> Vec<JarRow> {
    vec![
        invalid("a plaintext that is a form", |s| {
            s.hooks.plaintext = |bytes| *bytes = b"vp_token=a&state=s".to_vec();
        }),
        invalid("a plaintext that is an array", |s| {
            s.hooks.plaintext = |bytes| *bytes = b"[]".to_vec();
        }),
        invalid("an empty plaintext", |s| s.hooks.plaintext = Vec::clear),
        invalid("a plaintext that is not UTF-8", |s| {
            s.hooks.plaintext = |bytes| bytes.insert(1, 0xff);
        }),
        invalid("a plaintext with a repeated member", |s| {
            s.hooks.plaintext = |bytes| {
                let text = String::from_utf8_lossy(bytes).replacen('{', r#"{"state":"s","#, 1);
                *bytes = text.into_bytes();
            };
        }),
        invalid("a plaintext with something behind it", |s| {
            s.hooks.plaintext = |bytes| bytes.extend(b"{}");
        }),
        invalid("vp_token missing inside", |s| inside(s, |p| drop(p.remove("vp_token")))),
        invalid("vp_token a number inside", |s| inside(s, |p| put(p, "vp_token", Some(1.into())))),
        invalid("presentation_submission missing inside", |s| {
            inside(s, |p| drop(p.remove("presentation_submission")));
        }),
        invalid("another response inside", |s| {
            inside(s, |p| put(p, "response", Some("a.b.c.d.e".into())));
        }),
        invalid("error together with vp_token inside", |s| {
            inside(s, |p| put(p, "error", Some("access_denied".into())));
        }),
        JarRow::verified("claims of a signed response inside", |s| {
            inside(s, |p| {
                put(p, "iss", Some("https://self-issued.me/v2".into()));
                put(p, "aud", Some("somebody".into()));
                put(p, "exp", Some(1.into()));
            });
        }),
        JarRow::verified("presentation_submission as text inside", |s| {
            inside(s, |p| {
                let text = p.get("presentation_submission").map(Value::to_string);
                put(p, "presentation_submission", text.map(Value::from));
            });
        }),
    ]
}

fn errors() -> Vec<JarRow> {
    fn error_for(parameters: &mut Map<String, Value>) {
        parameters.remove("vp_token");
        parameters.remove("presentation_submission");
        put(parameters, "error", Some("access_denied".into()));
    }
    let noted = |title, change| JarRow::new(title, Expected::ErrorNoted, change);
    vec![
        noted("the wallet's error encrypted", |s| inside(s, error_for)),
        noted("the wallet's error unencrypted", |s| {
            around(s, |p, inside| {
                *p = inside.clone();
                error_for(p);
            });
        }),
        JarRow::transport("an unencrypted error with another state", "state_mismatch", |s| {
            around(s, |p, inside| {
                *p = inside.clone();
                error_for(p);
                put(p, "state", Some("s".repeat(43).into()));
            });
        }),
        JarRow::transport("an encrypted error with another state", "state_mismatch", |s| {
            inside(s, |p| {
                error_for(p);
                put(p, "state", Some("s".repeat(43).into()));
            });
        }),
    ]
}

/// Encryption proves nothing about the holder.
fn proofs() -> Vec<JarRow> {
    vec![
        JarRow::refused("a proof for another nonce", "nonce_mismatch", |s| {
            s.made.hooks.kb_jwt = |kb_jwt| kb_jwt.set("nonce", "n".repeat(43));
        }),
        JarRow::refused("a proof for the response URI", "audience_mismatch", |s| {
            s.made.hooks.kb_jwt = |kb_jwt| {
                kb_jwt.set("aud", "redirect_uri:https://gateway.example/v1/oid4vp/response/ses_1");
            };
        }),
        JarRow::refused("a proof for the DID with a prefix", "audience_mismatch", |s| {
            s.made.hooks.kb_jwt = |kb_jwt| {
                let did = kb_jwt.claims.get("aud").and_then(Value::as_str).unwrap_or_default();
                kb_jwt.set("aud", format!("decentralized_identifier:{did}"));
            };
        }),
        JarRow::refused("no proof at all", "holder_binding_missing", |s| s.made.prove = false),
        JarRow::refused("a changed token", "malformed_presentation", |s| {
            s.made.hooks.token = |token| token.insert(0, '.');
        }),
    ]
}

fn inside(scenario: &mut JarScenario, change: fn(&mut Map<String, Value>)) {
    scenario.hooks.payload = change;
}

fn around(scenario: &mut JarScenario, change: fn(&mut Map<String, Value>, &Map<String, Value>)) {
    scenario.hooks.parameters = change;
}

fn put(parameters: &mut Map<String, Value>, name: &str, value: Option<Value>) {
    parameters.insert(name.into(), value.unwrap_or_default());
}
