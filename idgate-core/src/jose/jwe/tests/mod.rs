//! One refusal per rule, with every provider in the build. The sample wallet makes the tokens, and
//! shares no code with this crate.

use alloc::format;
use alloc::string::String;

use idgate_testkit::jwe::{Enc, Encryption};
use idgate_testkit::keys::{Curve as KitCurve, SigningKey};
use serde_json::{Value as Json, json};

use super::*;
use crate::crypto::Curve;
use crate::crypto::tests::PROVIDERS;

const KID: &str = "the session's key";
const PLAINTEXT: &[u8] = br#"{"state":"s"}"#;

fn session_key() -> SigningKey {
    SigningKey::from_seed(KitCurve::P256, "session")
}

fn private(key: &SigningKey) -> EcdhPrivateKey {
    let jwk = key.private_jwk();
    let scalar = base64url::decode(jwk["d"].as_str().unwrap()).unwrap();
    EcdhPrivateKey::from_scalar(Curve::P256, &scalar).unwrap()
}

fn good(enc: Enc) -> Encryption {
    let ephemeral = SigningKey::from_seed(KitCurve::P256, "ephemeral");
    Encryption::new(&session_key().public_sec1(), KID, enc, &ephemeral)
}

fn open(provider: &CryptoProvider, text: &str) -> Result<OpenedJwe, DecryptionFailed> {
    let key = private(&session_key());
    JweRecipient { key: &key, kid: KID, enc: &ContentEncryption::ALL }.open(provider, text)
}

#[track_caller]
fn refused(text: &str) {
    for provider in PROVIDERS {
        assert!(open(provider, text).is_err(), "{}: {text}", provider.name);
    }
}

#[track_caller]
fn refused_with(change: impl Fn(&mut Encryption)) {
    for enc in Enc::ALL {
        let mut encryption = good(enc);
        change(&mut encryption);
        refused(&encryption.encrypt(PLAINTEXT).unwrap().join("."));
    }
}

/// A header in which a member has another value.
#[track_caller]
fn refused_header(member: &str, value: &Json) {
    refused_with(|encryption| encryption.set(member, value.clone()));
}

#[test]
fn every_offered_enc_is_opened_by_every_provider() {
    for (provider, enc) in PROVIDERS.iter().flat_map(|p| Enc::ALL.map(|enc| (p, enc))) {
        let text = good(enc).encrypt(PLAINTEXT).unwrap().join(".");
        let opened = open(provider, &text).unwrap();
        assert_eq!(*opened.payload, PLAINTEXT, "{} {enc:?}", provider.name);
        assert_eq!((opened.apu, opened.apv), (None, None));
        let encryption = good(enc).with_party_info(b"wallet's nonce", b"");
        let opened = open(provider, &encryption.encrypt(b"").unwrap().join(".")).unwrap();
        assert_eq!(&**opened.payload, b"");
        assert_eq!(
            (opened.apu.as_deref(), opened.apv.as_deref()),
            (Some(&b"wallet's nonce"[..]), Some(&b""[..]))
        );
    }
}

/// OpenID4VP 1.0 8.3; the data is in `IDGATE_VECTORS`, or next to the repository.
#[test]
fn the_encrypted_response_of_the_specification() {
    let root = std::env::var("IDGATE_VECTORS")
        .unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/vectors").into());
    let path = format!("{root}/spec/openid4vp/1.0-final/encrypted_response.json");
    let Ok(text) = std::fs::read_to_string(path) else {
        std::eprintln!("skipped: no spec/openid4vp under IDGATE_VECTORS");
        return;
    };
    let example: Json = serde_json::from_str(&text).unwrap();
    let scalar = base64url::decode(example["private_jwk"]["d"].as_str().unwrap()).unwrap();
    let key = EcdhPrivateKey::from_scalar(Curve::P256, &scalar).unwrap();
    let recipient = JweRecipient { key: &key, kid: "ac", enc: &ContentEncryption::ALL };
    for provider in PROVIDERS {
        let opened = recipient.open(provider, example["response"].as_str().unwrap()).unwrap();
        let payload: Json = serde_json::from_slice(&opened.payload).unwrap();
        assert!(payload["vp_token"].is_object(), "{payload}");
    }
}

#[test]
fn a_missing_kid_means_the_only_key_and_another_one_is_refused() {
    for provider in PROVIDERS {
        let mut encryption = good(Enc::A128Gcm);
        encryption.header.remove("kid");
        let text = encryption.encrypt(PLAINTEXT).unwrap().join(".");
        assert!(open(provider, &text).is_ok());
    }
    for kid in [json!(""), json!("another"), json!("THE SESSION'S KEY"), json!(null), json!([KID])]
    {
        refused_header("kid", &kid);
    }
}

#[test]
fn alg_must_be_ecdh_es() {
    for alg in ["ECDH-ES+A128KW", "ecdh-es", "dir", "RSA-OAEP", "none", "PBES2-HS256+A128KW", ""] {
        refused_header("alg", &json!(alg));
    }
    refused_header("alg", &json!(["ECDH-ES"]));
    refused_with(|encryption| drop(encryption.header.remove("alg")));
}

#[test]
fn enc_is_one_that_was_offered() {
    for enc in ["A192GCM", "A192CBC-HS384", "A256CBC-HS512", "a128gcm", "C20P", ""] {
        refused_header("enc", &json!(enc));
    }
    refused_header("enc", &json!(null));
    refused_with(|encryption| drop(encryption.header.remove("enc")));
    let key = private(&session_key());
    let recipient = JweRecipient { key: &key, kid: KID, enc: &[ContentEncryption::A256Gcm] };
    for provider in PROVIDERS {
        for (enc, is_offered) in [(Enc::A256Gcm, true), (Enc::A128Gcm, false)] {
            let text = good(enc).encrypt(PLAINTEXT).unwrap().join(".");
            assert_eq!(recipient.open(provider, &text).is_ok(), is_offered);
        }
    }
}

#[test]
fn an_enc_other_than_the_one_used_is_refused() {
    for (used, named) in [
        (Enc::A128Gcm, Enc::A256Gcm),
        (Enc::A256Gcm, Enc::A128Gcm),
        (Enc::A256Gcm, Enc::A128CbcHs256),
        (Enc::A128CbcHs256, Enc::A256Gcm),
    ] {
        let mut encryption = good(used);
        encryption.set("enc", named.name());
        refused(&encryption.encrypt(PLAINTEXT).unwrap().join("."));
    }
}

#[test]
fn required_extensions_in_the_header_are_refused() {
    for (member, value) in [
        ("zip", json!("DEF")),
        ("zip", json!(null)),
        ("crit", json!(["exp"])),
        ("crit", json!([])),
        ("p2s", json!("c2FsdA")),
        ("p2c", json!(4096)),
    ] {
        refused_header(member, &value);
    }
    refused_with(|encryption| {
        let text = Json::from(encryption.header.clone()).to_string();
        encryption.header_text = Some(text.replacen('{', r#"{"z\u0069p":"DEF","#, 1));
    });
}

#[test]
fn members_without_meaning_here_are_ignored() {
    for (member, value) in
        [("typ", json!("JWT")), ("cty", json!(1)), ("jku", json!("https://a")), ("x", json!({}))]
    {
        let mut encryption = good(Enc::A256Gcm);
        encryption.set(member, value);
        let text = encryption.encrypt(PLAINTEXT).unwrap().join(".");
        assert!(PROVIDERS.iter().all(|provider| open(provider, &text).is_ok()), "{member}");
    }
}

#[test]
fn epk_is_a_public_key_on_our_curve() {
    let epk = good(Enc::A128Gcm).header["epk"].clone();
    let with = |member: &str, value: Json| {
        let mut epk = epk.clone();
        epk[member] = value;
        epk
    };
    let y = epk["y"].as_str().unwrap();
    let first = if y.starts_with('A') { "B" } else { "A" };
    let off_curve = format!("{first}{}", &y[1..]);
    let p384 = SigningKey::from_seed(KitCurve::P384, "ephemeral").public_jwk();
    for bad in [
        with("y", json!(off_curve)),
        with("y", json!(base64url::encode(&[0; 32]))),
        with("x", json!(base64url::encode(&[0xff; 32]))),
        with("y", json!(&y[..40])),
        with("x", json!(null)),
        with("d", json!(base64url::encode(&[1; 32]))),
        with("k", json!("AA")),
        with("kty", json!("OKP")),
        with("crv", json!("P-384")),
        with("crv", json!("X25519")),
        p384,
        json!({}),
        json!(null),
        json!("epk"),
    ] {
        refused_header("epk", &bad);
    }
    refused_with(|encryption| drop(encryption.header.remove("epk")));
}

#[test]
fn party_information_is_part_of_the_key_and_strict() {
    refused_with(|encryption| encryption.set("apu", "d2FsbGV0"));
    refused_with(|encryption| encryption.set("apv", "d2FsbGV0"));
    for bad in [json!("A"), json!("d2FsbGV0="), json!("d2 FsbGV0"), json!(1), json!(null)] {
        refused_header("apu", &bad);
        refused_header("apv", &bad);
    }
    refused_with(|encryption| {
        encryption.set("apu", base64url::encode(b"a"));
        encryption.apu = b"b".to_vec();
    });
}

#[test]
fn each_part_is_authenticated_and_strict() {
    for enc in Enc::ALL {
        let parts = good(enc).encrypt(PLAINTEXT).unwrap();
        for at in [0, 2, 3, 4] {
            let mut bytes = base64url::decode(&parts[at]).unwrap();
            let (first, last) = (0, bytes.len() - 1);
            for index in [first, last] {
                bytes[index] ^= 1;
                refused(&replaced(&parts, at, &base64url::encode(&bytes)));
                bytes[index] ^= 1;
            }
            refused(&replaced(&parts, at, &base64url::encode(&bytes[1..])));
            bytes.push(0);
            refused(&replaced(&parts, at, &base64url::encode(&bytes)));
            refused(&replaced(&parts, at, ""));
            refused(&replaced(&parts, at, &format!("{}=", parts[at])));
            refused(&replaced(&parts, at, &format!(" {}", parts[at])));
        }
        refused(&replaced(&parts, 1, "AAAAAAAAAAAAAAAAAAAAAA"));
    }
}

fn replaced(parts: &[String; 5], at: usize, part: &str) -> String {
    let mut parts = parts.clone();
    parts[at] = part.into();
    parts.join(".")
}

#[test]
fn a_reencoded_header_does_not_authenticate() {
    let parts = good(Enc::A256Gcm).encrypt(PLAINTEXT).unwrap();
    let json = base64url::decode(&parts[0]).unwrap();
    let spaced = [b" ", json.as_slice()].concat();
    refused(&replaced(&parts, 0, &base64url::encode(&spaced)));
}

#[test]
fn another_number_of_parts_is_refused() {
    let parts = good(Enc::A128Gcm).encrypt(PLAINTEXT).unwrap();
    let text = parts.join(".");
    let four = parts[1..].join(".");
    for bad in
        ["", ".", "....", "e30....", &four, &format!("{text}."), &format!(".{text}"), &parts[0]]
    {
        refused(bad);
    }
    refused(&format!(r#"{{"protected":"{}","ciphertext":"{}"}}"#, parts[0], parts[3]));
    refused(&".".repeat(1 << 20));
}

#[test]
fn a_header_that_is_not_a_json_object_or_too_long_is_refused() {
    for header in ["", "[]", "null", "{", "\u{feff}{}", r#"{"alg":"ECDH-ES","alg":"ECDH-ES"}"#] {
        refused_with(|encryption| encryption.header_text = Some(header.into()));
    }
    refused_with(|encryption| encryption.set("x", "x".repeat(MAX_JWE_HEADER_CHARS)));
}

#[test]
fn a_jwe_for_another_key_is_refused() {
    let another = SigningKey::from_seed(KitCurve::P256, "another session");
    refused_with(|encryption| encryption.recipient = another.public_sec1());
    for provider in PROVIDERS {
        let text = good(Enc::A256Gcm).encrypt(PLAINTEXT).unwrap().join(".");
        let key = private(&another);
        let recipient = JweRecipient { key: &key, kid: KID, enc: &ContentEncryption::ALL };
        assert!(recipient.open(provider, &text).is_err());
    }
}

#[test]
fn debug_texts_have_no_plaintext() {
    let text = good(Enc::A128Gcm).encrypt(b"Erika").unwrap().join(".");
    let opened = open(&PROVIDERS[0], &text).unwrap();
    assert_eq!(format!("{opened:?}"), "OpenedJwe(5 bytes)");
}
