//! Random changes to a good encrypted answer, for some seconds: never a panic, never an opened JWE
//! but the one that was sealed.

use std::time::Instant;

use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::crypto::{ContentEncryption, Curve, EcdhPrivateKey, rustcrypto};
use idgate_core::jose::JweRecipient;
use idgate_testkit::codec::from_base64url;
use idgate_testkit::jwe::{Enc, Encryption};
use idgate_testkit::keys::{Curve as KitCurve, SigningKey};

use crate::mutation::{Dice, budget};

const PLAINTEXT: &[u8] = br#"{"vp_token":"a~b","presentation_submission":{},"state":"s"}"#;

#[test]
fn no_mutated_jwe_is_opened() {
    let recipient = SigningKey::from_seed(KitCurve::P256, "recipient");
    let scalar = recipient.private_jwk()["d"].as_str().and_then(from_base64url).unwrap();
    let key = EcdhPrivateKey::from_scalar(Curve::P256, &scalar).unwrap();
    let ours = JweRecipient { key: &key, kid: "k", enc: &ContentEncryption::ALL };
    let ephemeral = SigningKey::from_seed(KitCurve::P256, "ephemeral");
    let sealed = Enc::ALL.map(|enc| {
        let encryption = Encryption::new(&recipient.public_sec1(), "k", enc, &ephemeral);
        encryption.with_party_info(b"apu", b"apv").encrypt(PLAINTEXT).unwrap().join(".")
    });
    for text in &sealed {
        assert_eq!(*ours.open(&PROVIDER, text).unwrap().payload, PLAINTEXT);
    }
    let (mut dice, start, mut tried) = (Dice(0x1e3), Instant::now(), 0u64);
    while start.elapsed() < budget() {
        for text in &sealed {
            let Ok(changed) = String::from_utf8(dice.mutate(text.as_bytes())) else { continue };
            tried += 1;
            let provider = if tried % 8 == 0 { rustcrypto::PROVIDER } else { PROVIDER };
            let opened = ours.open(&provider, &changed).is_ok();
            assert!(changed == *text || !opened, "seed {tried}: {changed}");
        }
    }
    assert!(tried > 1000);
}
