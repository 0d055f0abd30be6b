//! The JWE (RFC 7516, RFC 7518 4.6, decisions 6): every failure up to the tag has the same code.

use idgate_testkit::codec::{base64url, from_base64url};
use idgate_testkit::jwe::{Enc, Encryption};
use idgate_testkit::keys::{Curve, SigningKey};
use serde_json::{Value, json};

use crate::jar_tamper::{JarRow, JarScenario};

pub(super) fn rows() -> Vec<JarRow> {
    [good(), header(), epk(), party_info(), parts()].concat()
}

fn failed(title: &'static str, change: fn(&mut JarScenario)) -> JarRow {
    JarRow::transport(title, "decryption_failed", change)
}

fn good() -> Vec<JarRow> {
    vec![
        JarRow::verified("encrypted with A128GCM", |s| s.enc = Enc::A128Gcm),
        JarRow::verified("encrypted with A256GCM", |s| s.enc = Enc::A256Gcm),
        JarRow::verified("encrypted with A128CBC-HS256", |s| s.enc = Enc::A128CbcHs256),
        JarRow::verified("no kid: the session has one key", |s| {
            sealing(s, |e| drop(e.header.remove("kid")));
        }),
        JarRow::verified("no apu and no apv", |s| {
            sealing(s, |e| {
                e.header.remove("apu");
                e.header.remove("apv");
                (e.apu, e.apv) = (Vec::new(), Vec::new());
            });
        }),
        JarRow::verified("apv of another request, which only Annex B would read", |s| {
            sealing(s, |e| *e = e.clone().with_party_info(b"apu", b"another nonce"));
        }),
        JarRow::verified("typ and cty in the header", |s| {
            sealing(s, |e| {
                e.set("typ", "JWT");
                e.set("cty", "json");
            });
        }),
    ]
}

fn header() -> Vec<JarRow> {
    vec![
        failed("alg ECDH-ES+A128KW", |s| sealing(s, |e| e.set("alg", "ECDH-ES+A128KW"))),
        failed("alg dir", |s| sealing(s, |e| e.set("alg", "dir"))),
        failed("alg none", |s| sealing(s, |e| e.set("alg", "none"))),
        failed("alg missing", |s| sealing(s, |e| drop(e.header.remove("alg")))),
        failed("enc that was not offered", |s| sealing(s, |e| e.set("enc", "A192GCM"))),
        failed("enc in other letters", |s| sealing(s, |e| e.set("enc", "a256gcm"))),
        failed("enc missing", |s| sealing(s, |e| drop(e.header.remove("enc")))),
        failed("enc other than the one used", |s| {
            sealing(s, |e| {
                let other = if e.enc == Enc::A256Gcm { Enc::A128CbcHs256 } else { Enc::A256Gcm };
                e.set("enc", other.name());
            });
        }),
        failed("zip", |s| sealing(s, |e| e.set("zip", "DEF"))),
        failed("crit", |s| sealing(s, |e| e.set("crit", json!(["exp"])))),
        failed("crit without a name", |s| sealing(s, |e| e.set("crit", json!([])))),
        failed("password parameters", |s| sealing(s, |e| e.set("p2c", 1_000_000))),
        failed("kid of another key", |s| sealing(s, |e| e.set("kid", "another"))),
        failed("kid empty", |s| sealing(s, |e| e.set("kid", ""))),
        failed("kid a number", |s| sealing(s, |e| e.set("kid", 1))),
        failed("a header with a repeated member", |s| {
            sealing(s, |e| {
                let text = Value::from(e.header.clone()).to_string();
                e.header_text = Some(text.replacen('{', r#"{"alg":"ECDH-ES","#, 1));
            });
        }),
        failed("a header that is an array", |s| {
            sealing(s, |e| e.header_text = Some("[]".into()));
        }),
        failed("a header that is not JSON", |s| {
            sealing(s, |e| e.header_text = Some("alg=ECDH-ES".into()));
        }),
        failed("a header of 10 000 characters", |s| sealing(s, |e| e.set("x", "x".repeat(10_000)))),
        failed("a header changed after sealing", |s| {
            parts_of(s, |parts| {
                let mut json = from_base64url(&parts[0]).unwrap_or_default();
                json.insert(1, b' ');
                parts[0] = base64url(&json);
            });
        }),
    ]
}

fn epk() -> Vec<JarRow> {
    vec![
        failed("encrypted to another key", |s| {
            sealing(s, |e| {
                e.recipient = SigningKey::from_seed(Curve::P256, "another").public_sec1();
            });
        }),
        failed("epk missing", |s| sealing(s, |e| drop(e.header.remove("epk")))),
        failed("epk of another sender", |s| {
            sealing(s, |e| {
                e.set("epk", SigningKey::from_seed(Curve::P256, "another").public_jwk());
            });
        }),
        failed("epk not on the curve", |s| {
            sealing(s, |e| {
                if let Some(epk) = e.header.get_mut("epk") {
                    epk["y"] = epk["x"].clone();
                }
            });
        }),
        failed("epk the point at zero", |s| {
            sealing(s, |e| {
                let zero = base64url(&[0; 32]);
                e.set("epk", json!({"kty": "EC", "crv": "P-256", "x": zero, "y": zero}));
            });
        }),
        failed("epk on P-384", |s| {
            sealing(s, |e| {
                e.set("epk", SigningKey::from_seed(Curve::P384, "p384").public_jwk());
            });
        }),
        failed("epk with its private member", |s| {
            sealing(s, |e| e.set("epk", e.ephemeral.private_jwk()));
        }),
        failed("epk with a short coordinate", |s| {
            sealing(s, |e| {
                if let Some(epk) = e.header.get_mut("epk") {
                    epk["x"] = base64url(&[1; 31]).into();
                }
            });
        }),
    ]
}

fn party_info() -> Vec<JarRow> {
    vec![
        failed("apu other than the one used", |s| sealing(s, |e| e.set("apu", "YQ"))),
        failed("apv other than the one used", |s| sealing(s, |e| e.set("apv", "YQ"))),
        failed("apu with padding", |s| sealing(s, |e| e.set("apu", "YQ=="))),
        failed("apu a number", |s| sealing(s, |e| e.set("apu", 1))),
    ]
}

fn parts() -> Vec<JarRow> {
    vec![
        failed("an encrypted key", |s| parts_of(s, |parts| parts[1] = "AAAA".into())),
        failed("IV changed", |s| parts_of(s, |parts| flip(&mut parts[2]))),
        failed("IV a byte short", |s| parts_of(s, |parts| cut(&mut parts[2]))),
        failed("IV empty", |s| parts_of(s, |parts| parts[2].clear())),
        failed("ciphertext changed", |s| parts_of(s, |parts| flip(&mut parts[3]))),
        failed("ciphertext a byte short", |s| parts_of(s, |parts| cut(&mut parts[3]))),
        failed("ciphertext empty", |s| parts_of(s, |parts| parts[3].clear())),
        failed("ciphertext with padding", |s| parts_of(s, |parts| parts[3].push('='))),
        failed("tag changed", |s| parts_of(s, |parts| flip(&mut parts[4]))),
        failed("tag of 12 bytes", |s| parts_of(s, |parts| parts[4].truncate(16))),
        failed("tag empty", |s| parts_of(s, |parts| parts[4].clear())),
        failed("four parts", |s| text_of(s, |jwe| *jwe = jwe.replacen("..", ".", 1))),
        failed("six parts", |s| text_of(s, |jwe| jwe.push_str(".AA"))),
        failed("a signed token instead", |s| text_of(s, |jwe| *jwe = "e30.e30.AAAA".into())),
        failed("the JSON serialization", |s| {
            text_of(s, |jwe| *jwe = json!({"protected": "e30", "ciphertext": "AA"}).to_string());
        }),
        failed("one space behind", |s| text_of(s, |jwe| jwe.push(' '))),
        failed("no token at all", |s| text_of(s, |jwe| *jwe = "response".into())),
    ]
}

fn flip(part: &mut String) {
    let mut bytes = from_base64url(part).unwrap_or_default();
    bytes.iter_mut().take(1).for_each(|byte| *byte ^= 1);
    *part = base64url(&bytes);
}

fn cut(part: &mut String) {
    let mut bytes = from_base64url(part).unwrap_or_default();
    bytes.pop();
    *part = base64url(&bytes);
}

fn sealing(scenario: &mut JarScenario, change: fn(&mut Encryption)) {
    scenario.hooks.encryption = change;
}

fn parts_of(scenario: &mut JarScenario, change: fn(&mut [String; 5])) {
    scenario.hooks.parts = change;
}

fn text_of(scenario: &mut JarScenario, change: fn(&mut String)) {
    scenario.hooks.jwe = change;
}
