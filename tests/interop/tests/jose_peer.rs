//! josekit encrypts and idgate decrypts; the sample wallet encrypts and josekit decrypts. idgate
//! itself encrypts nothing, so there are no other directions.

use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::crypto::{ContentEncryption, Curve, DecryptionFailed, EcdhPrivateKey};
use idgate_core::jose::{JweRecipient, OpenedJwe};
use idgate_testkit::codec::from_base64url;
use idgate_testkit::jwe::{Enc, Encryption};
use idgate_testkit::keys::{Curve as KitCurve, SigningKey};
use josekit::jwe::{ECDH_ES, JweHeader, deserialize_compact, serialize_compact};
use josekit::jwk::Jwk;
use serde_json::Value;

const PAYLOAD: &[u8] = br#"{"vp_token":"a~b","state":"s"}"#;

fn recipient() -> SigningKey {
    SigningKey::from_seed(KitCurve::P256, "recipient").with_kid("k")
}

fn jwk(value: &Value) -> Jwk {
    Jwk::from_bytes(value.to_string()).expect("a JWK")
}

fn open(text: &str) -> Result<OpenedJwe, DecryptionFailed> {
    let jwk = recipient().private_jwk();
    let scalar = from_base64url(jwk["d"].as_str().expect("d")).expect("base64url");
    let key = EcdhPrivateKey::from_scalar(Curve::P256, &scalar).expect("a scalar");
    JweRecipient { key: &key, kid: "k", enc: &ContentEncryption::ALL }.open(&PROVIDER, text)
}

fn of_the_peer(enc: &str, change: impl FnOnce(&mut JweHeader)) -> String {
    let mut header = JweHeader::new();
    header.set_content_encryption(enc);
    change(&mut header);
    let encrypter = ECDH_ES.encrypter_from_jwk(&jwk(&recipient().public_jwk())).expect("a key");
    serialize_compact(PAYLOAD, &header, &encrypter).expect("a JWE")
}

#[test]
fn idgate_decrypts_answers_of_the_peer() {
    for enc in ContentEncryption::ALL.map(ContentEncryption::name) {
        let opened = open(&of_the_peer(enc, |_| {})).expect(enc);
        assert_eq!(*opened.payload, PAYLOAD);
        assert!(opened.apu.is_none() && opened.apv.is_none());
        let opened = open(&of_the_peer(enc, |header| {
            header.set_agreement_partyuinfo(b"the wallet's nonce");
            header.set_agreement_partyvinfo(b"the request's nonce");
        }));
        let opened = opened.expect(enc);
        assert_eq!(opened.apu.as_deref(), Some(&b"the wallet's nonce"[..]));
        assert_eq!(opened.apv.as_deref(), Some(&b"the request's nonce"[..]));
    }
}

#[test]
fn an_algorithm_that_was_not_offered_is_refused_although_the_peer_supports_it() {
    for enc in ["A192GCM", "A192CBC-HS384", "A256CBC-HS512"] {
        assert!(open(&of_the_peer(enc, |_| {})).is_err(), "{enc}");
    }
    assert!(open(&of_the_peer("A256GCM", |header| header.set_compression("DEF"))).is_err());
}

#[test]
fn the_peer_decrypts_answers_of_the_sample_wallet() {
    let ephemeral = SigningKey::from_seed(KitCurve::P256, "ephemeral");
    let decrypter = ECDH_ES.decrypter_from_jwk(&jwk(&recipient().private_jwk())).expect("a key");
    for enc in Enc::ALL {
        let name = enc.name();
        let encryption = Encryption::new(&recipient().public_sec1(), "k", enc, &ephemeral);
        let encryption = encryption.with_party_info(b"apu", b"apv");
        let text = encryption.encrypt(PAYLOAD).expect("on P-256").join(".");
        let (payload, header) = deserialize_compact(&text, &decrypter).expect(name);
        assert_eq!(payload, PAYLOAD);
        assert_eq!(header.agreement_partyuinfo().as_deref(), Some(&b"apu"[..]));
        assert_eq!(*open(&text).expect(name).payload, PAYLOAD);
    }
}
