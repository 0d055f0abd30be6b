//! Key binding: the key binding JWT and `cnf` (RFC 9901 4.3, 7.3).

use idgate_testkit::codec::{base64url, from_base64url};
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::wallet::KbJwt;
use serde_json::{Value, json};

use super::signatures;
use crate::tamper::{Row, Scenario};

pub(super) fn rows() -> Vec<Row> {
    [nonce(), aud(), times(), sd_hash(), header(), signature(), presence(), cnf(), cnf_jwk()]
        .concat()
}

fn nonce() -> Vec<Row> {
    let row = |title, change| Row::refused(title, "nonce_mismatch", change);
    vec![
        row("KB nonce of another session", |s| kb(s, |kb| kb.set("nonce", "n".repeat(43)))),
        row("KB nonce missing", |s| kb(s, |kb| remove(kb, "nonce"))),
        row("KB nonce empty", |s| kb(s, |kb| kb.set("nonce", ""))),
        row("KB nonce null", |s| kb(s, |kb| kb.set("nonce", Value::Null))),
        row("KB nonce a number", |s| kb(s, |kb| kb.set("nonce", 1))),
        row("KB nonce a prefix", |s| kb(s, |kb| edit(kb, "nonce", cut))),
        row("KB nonce with a suffix", |s| kb(s, |kb| edit(kb, "nonce", |nonce| nonce.push('A')))),
        row("KB nonce in an array", |s| kb(s, |kb| in_array(kb, "nonce"))),
    ]
}

fn aud() -> Vec<Row> {
    let row = |title, change| Row::refused(title, "audience_mismatch", change);
    vec![
        row("KB aud missing", |s| kb(s, |kb| remove(kb, "aud"))),
        row("KB aud of another verifier", |s| {
            kb(s, |kb| kb.set("aud", "redirect_uri:https://evil.example/r"));
        }),
        row("KB aud an array with the right value", |s| kb(s, |kb| in_array(kb, "aud"))),
        row("KB aud without its prefix", |s| {
            kb(s, |kb| edit(kb, "aud", |aud| *aud = aud.replace("redirect_uri:", "")));
        }),
        row("KB aud cut short", |s| kb(s, |kb| edit(kb, "aud", cut))),
        row("KB aud with a slash appended", |s| kb(s, |kb| edit(kb, "aud", |aud| aud.push('/')))),
        row("KB aud in capitals", |s| {
            kb(s, |kb| edit(kb, "aud", |aud| aud.make_ascii_uppercase()));
        }),
        row("KB aud empty", |s| kb(s, |kb| kb.set("aud", ""))),
        row("KB aud null", |s| kb(s, |kb| kb.set("aud", Value::Null))),
        row("KB aud a number", |s| kb(s, |kb| kb.set("aud", 1))),
    ]
}

fn times() -> Vec<Row> {
    let stale = |title, change| Row::refused(title, "kb_jwt_stale", change);
    vec![
        stale("KB iat missing", |s| kb(s, |kb| remove(kb, "iat"))),
        stale("KB iat a string", |s| kb(s, |kb| in_text(kb, "iat"))),
        stale("KB iat null", |s| kb(s, |kb| kb.set("iat", Value::Null))),
        stale("KB iat zero", |s| kb(s, |kb| kb.set("iat", 0))),
        stale("KB iat beyond all dates", |s| kb(s, |kb| kb.set("iat", 1e30))),
        stale("KB iat negative", |s| kb(s, |kb| kb.set("iat", -1))),
        stale("KB iat 61 s before the session", |s| kb(s, |kb| shift(kb, "iat", -66))),
        Row::verified("KB iat 60 s before the session", |s| kb(s, |kb| shift(kb, "iat", -65)))
            .in_virtual_time(),
        stale("KB iat 61 s ahead", |s| kb(s, |kb| shift(kb, "iat", 61))).in_virtual_time(),
        stale("KB iat an hour ahead", |s| kb(s, |kb| shift(kb, "iat", 3600))),
        Row::verified("KB iat 60 s ahead", |s| kb(s, |kb| shift(kb, "iat", 60))).in_virtual_time(),
        Row::verified("KB iat with a fraction", |s| {
            kb(s, |kb| kb.set("iat", time(kb, "iat") as f64 - 0.5));
        }),
        stale("KB exp over", |s| kb(s, |kb| kb.set("exp", time(kb, "iat") - 66))),
        stale("KB exp over for 60 s", |s| kb(s, |kb| kb.set("exp", time(kb, "iat") - 60))),
        stale("KB exp null", |s| kb(s, |kb| kb.set("exp", Value::Null))),
        stale("KB exp a string", |s| kb(s, |kb| kb.set("exp", "tomorrow"))),
        Row::verified("KB exp ahead", |s| kb(s, |kb| kb.set("exp", time(kb, "iat") + 300))),
        stale("KB nbf ahead", |s| kb(s, |kb| kb.set("nbf", time(kb, "iat") + 3600))),
        stale("KB nbf 61 s ahead", |s| kb(s, |kb| kb.set("nbf", time(kb, "iat") + 61)))
            .in_virtual_time(),
        Row::verified("KB nbf now", |s| kb(s, |kb| kb.set("nbf", time(kb, "iat")))),
        stale("KB nbf a string", |s| kb(s, |kb| kb.set("nbf", "yesterday"))),
    ]
}

fn sd_hash() -> Vec<Row> {
    let row = |title, change| Row::refused(title, "sd_hash_mismatch", change);
    vec![
        row("sd_hash missing", |s| kb(s, |kb| remove(kb, "sd_hash"))),
        row("sd_hash of nothing", |s| {
            kb(s, |kb| kb.set("sd_hash", "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"));
        }),
        row("sd_hash empty", |s| kb(s, |kb| kb.set("sd_hash", ""))),
        row("sd_hash a word", |s| kb(s, |kb| kb.set("sd_hash", "x"))),
        row("sd_hash in an array", |s| {
            s.hooks.kb_jwt_of = |kb, shown| kb.set("sd_hash", json!([shown.sd_hash()]));
        }),
        row("sd_hash null", |s| kb(s, |kb| kb.set("sd_hash", Value::Null))),
        row("sd_hash a number", |s| kb(s, |kb| kb.set("sd_hash", 1))),
        row("sd_hash with padding", |s| kb(s, |kb| edit(kb, "sd_hash", |hash| hash.push('=')))),
        row("sd_hash without the disclosures", |s| {
            s.hooks.kb_jwt_of =
                |kb, shown| kb.set("sd_hash", shown.hash.digest(&format!("{}~", shown.jwt)));
        }),
        row("sd_hash without the last tilde", |s| {
            s.hooks.kb_jwt_of = |kb, shown| {
                kb.set("sd_hash", shown.hash.digest(shown.sd_jwt().trim_end_matches('~')));
            };
        }),
        row("sd_hash by another algorithm", |s| {
            s.hooks.kb_jwt_of = |kb, shown| {
                kb.set("sd_hash", idgate_testkit::codec::HashAlg::Sha512.digest(&shown.sd_jwt()));
            };
        }),
        row("a disclosure withheld after the proof was made", |s| {
            s.disclose.push("birthdate".into());
            s.hooks.token = |token| {
                let stays = |part: &&str| {
                    let decoded = from_base64url(part).unwrap_or_default();
                    !String::from_utf8_lossy(&decoded).contains("birthdate")
                };
                *token = token.split('~').filter(stays).collect::<Vec<_>>().join("~");
            };
        }),
    ]
}

fn header() -> Vec<Row> {
    let invalid = |title, change| Row::refused(title, "holder_binding_invalid", change);
    let alg = |title, change| Row::refused(title, "algorithm_not_allowed", change);
    vec![
        invalid("KB typ missing", |s| kb(s, |kb| drop(kb.header.remove("typ")))),
        invalid("KB typ JWT", |s| kb(s, |kb| set_header(kb, "typ", "JWT"))),
        invalid("KB typ of a credential", |s| kb(s, |kb| set_header(kb, "typ", "dc+sd-jwt"))),
        invalid("KB typ empty", |s| kb(s, |kb| set_header(kb, "typ", ""))),
        invalid("KB typ a number", |s| kb(s, |kb| drop(kb.header.insert("typ".into(), 1.into())))),
        alg("KB alg EdDSA", |s| kb(s, |kb| set_header(kb, "alg", "EdDSA"))),
        alg("KB alg none", |s| kb(s, |kb| set_header(kb, "alg", "none"))),
        alg("KB alg HS256", |s| kb(s, |kb| set_header(kb, "alg", "HS256"))),
        alg("KB alg of another curve", |s| {
            kb(s, |kb| set_header(kb, "alg", signatures::other_alg(&kb.key)));
        }),
        alg("KB alg in lower case", |s| {
            kb(s, |kb| set_header(kb, "alg", &kb.key.alg().to_lowercase()));
        }),
        invalid("KB header with the signer's own jwk", |s| {
            s.holder_key = signatures::stranger(&s.holder_key);
            kb(s, |kb| drop(kb.header.insert("jwk".into(), kb.key.public_jwk())));
        }),
    ]
}

fn signature() -> Vec<Row> {
    let row = |title, change| Row::refused(title, "holder_binding_invalid", change);
    vec![
        row("KB signature with one bit flipped", |s| s.hooks.kb_text = signatures::flip),
        row("KB signature of zeros", |s| s.hooks.kb_text = signatures::zero),
        row("KB signature in DER", |s| s.hooks.kb_text = signatures::to_der),
        row("KB signature cut short", |s| s.hooks.kb_text = signatures::truncate),
        row("KB-JWT signed with another key", |s| {
            s.holder_key = signatures::stranger(&s.holder_key);
        }),
        row("KB-JWT signed with the issuer's key", |s| s.holder_key = s.issuer_key.clone()),
    ]
}

fn presence() -> Vec<Row> {
    let malformed = |title, change| Row::refused(title, "malformed_presentation", change);
    vec![
        Row::refused("KB-JWT absent", "holder_binding_missing", |s| s.prove = false),
        Row::refused("neither KB-JWT nor cnf", "holder_binding_missing", |s| {
            s.prove = false;
            s.attest(|c| c.without("cnf"));
        }),
        malformed("KB-JWT and the last tilde absent", |s| {
            s.prove = false;
            s.hooks.token = cut;
        }),
        malformed("KB-JWT of two parts", |s| {
            s.hooks.kb_text = |text| *text = text.rsplitn(2, '.').last().unwrap_or_default().into();
        }),
        malformed("KB-JWT of four parts", |s| s.hooks.kb_text = |text| text.push_str(".AA")),
        malformed("KB-JWT with a dot after it", |s| s.hooks.kb_text = |text| text.push('.')),
        malformed("KB-JWT with padding", |s| s.hooks.kb_text = |text| text.push('=')),
        malformed("a word after the KB-JWT", |s| s.hooks.kb_text = |text| text.push_str("~x")),
        malformed("a claim of the KB-JWT twice", |s| {
            kb(s, |kb| {
                let text = Value::from(kb.claims.clone()).to_string();
                kb.claims_text = Some(text.replacen('{', r#"{"nonce":"x","#, 1));
            });
        }),
        malformed("a disclosure after the KB-JWT", |s| {
            s.hooks.kb_text = |text| text.push_str("~WyJzIiwiYSIsMV0~");
        }),
    ]
}

fn cnf() -> Vec<Row> {
    let invalid = |title, change| Row::refused(title, "holder_binding_invalid", change);
    vec![
        Row::refused("cnf missing", "holder_binding_missing", |s| s.attest(|c| c.without("cnf"))),
        invalid("cnf names another key", |s| {
            let other = signatures::stranger(&s.holder_key);
            s.attest(|c| c.holder(&other));
        }),
        invalid("cnf with the private key", |s| {
            let jwk = s.holder_key.private_jwk();
            s.attest(|c| c.plain("cnf", json!({ "jwk": jwk })));
        }),
        invalid("cnf with a point off the curve", |s| {
            let mut jwk = s.holder_key.public_jwk();
            if let Some(jwk) = jwk.as_object_mut() {
                let x = jwk.get("x").cloned().unwrap_or_default();
                jwk.insert("y".into(), x);
            }
            s.attest(|c| c.plain("cnf", json!({ "jwk": jwk })));
        }),
        invalid("cnf with a kid and no key", |s| {
            s.attest(|c| c.plain("cnf", json!({ "kid": "holder" })));
        }),
        invalid("cnf with the coordinates of another curve", |s| {
            let curve = if s.holder_key.curve() == Curve::P384 { Curve::P256 } else { Curve::P384 };
            let mut jwk = SigningKey::from_seed(curve, "other").public_jwk();
            if let Some(jwk) = jwk.as_object_mut() {
                jwk.insert("crv".into(), s.holder_key.curve().name().into());
            }
            s.attest(|c| c.plain("cnf", json!({ "jwk": jwk })));
        }),
    ]
}

/// The key in `cnf`, member by member.
fn cnf_jwk() -> Vec<Row> {
    let invalid = |title, change| Row::refused(title, "holder_binding_invalid", change);
    vec![
        invalid("cnf empty", |s| s.attest(|c| c.plain("cnf", json!({})))),
        invalid("cnf as text", |s| s.attest(|c| c.plain("cnf", "x"))),
        invalid("cnf with a key as text", |s| s.attest(|c| c.plain("cnf", json!({ "jwk": "x" })))),
        invalid("cnf with an empty private part", |s| holder_jwk(s, "d", "".into())),
        invalid("cnf with a key of RSA", |s| holder_jwk(s, "kty", "RSA".into())),
        invalid("cnf with another curve's name", |s| {
            let curve = if s.holder_key.curve() == Curve::P384 { Curve::P256 } else { Curve::P384 };
            holder_jwk(s, "crv", curve.name().into());
        }),
        invalid("cnf with a curve of blockchains", |s| holder_jwk(s, "crv", "secp256k1".into())),
        invalid("cnf with a coordinate cut short", |s| coordinate(s, |x| x.truncate(x.len() - 1))),
        invalid("cnf with a coordinate too long", |s| coordinate(s, |x| x.push(1))),
        invalid("cnf with a coordinate of zeros", |s| coordinate(s, |x| x.fill(0))),
        invalid("cnf with a coordinate as a number", |s| holder_jwk(s, "y", 1.into())),
        invalid("cnf with a coordinate null", |s| holder_jwk(s, "y", Value::Null)),
        Row::verified("cnf with key_ops verify", |s| holder_jwk(s, "key_ops", json!(["verify"]))),
        Row::verified("cnf with key_ops sign and verify", |s| {
            holder_jwk(s, "key_ops", json!(["sign", "verify"]));
        }),
        Row::verified("cnf with use sig", |s| holder_jwk(s, "use", "sig".into())),
        Row::verified("cnf with a kid null", |s| holder_jwk(s, "kid", Value::Null)),
        Row::verified("cnf with the key's alg", |s| {
            let alg = s.holder_key.alg().into();
            holder_jwk(s, "alg", alg);
        }),
        Row::verified("cnf with ext", |s| holder_jwk(s, "ext", true.into())),
    ]
}

fn holder_jwk(scenario: &mut Scenario, member: &str, value: Value) {
    let mut jwk = scenario.holder_key.public_jwk();
    if let Some(members) = jwk.as_object_mut() {
        members.insert(member.into(), value);
    }
    scenario.attest(|c| c.plain("cnf", json!({ "jwk": jwk })));
}

fn coordinate(scenario: &mut Scenario, change: fn(&mut Vec<u8>)) {
    let jwk = scenario.holder_key.public_jwk();
    let x = jwk.get("x").and_then(Value::as_str).unwrap_or_default();
    let mut x = from_base64url(x).unwrap_or_default();
    change(&mut x);
    holder_jwk(scenario, "x", base64url(&x).into());
}

/// Changes the key binding JWT before it is signed.
fn kb(scenario: &mut Scenario, change: fn(&mut KbJwt)) {
    scenario.hooks.kb_jwt = change;
}

fn remove(kb: &mut KbJwt, claim: &str) {
    kb.claims.remove(claim);
}

fn edit(kb: &mut KbJwt, claim: &str, change: fn(&mut String)) {
    if let Some(Value::String(text)) = kb.claims.get_mut(claim) {
        change(text);
    }
}

fn cut(text: &mut String) {
    text.truncate(text.len().saturating_sub(1));
}

fn in_array(kb: &mut KbJwt, claim: &str) {
    kb.set(claim, vec![kb.claims.get(claim).cloned().unwrap_or_default()]);
}

fn in_text(kb: &mut KbJwt, claim: &str) {
    kb.set(claim, time(kb, claim).to_string());
}

fn shift(kb: &mut KbJwt, claim: &str, seconds: i64) {
    kb.set(claim, time(kb, claim) + seconds);
}

fn time(kb: &KbJwt, claim: &str) -> i64 {
    kb.claims.get(claim).and_then(Value::as_i64).unwrap_or_default()
}

fn set_header(kb: &mut KbJwt, parameter: &str, value: &str) {
    kb.header.insert(parameter.into(), value.into());
}
