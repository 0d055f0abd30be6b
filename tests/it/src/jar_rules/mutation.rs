//! A fixed number of random changes to a good encrypted answer: none of them causes a panic, and
//! only the original JWE decrypts.

use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::crypto::{ContentEncryption, Curve, EcdhPrivateKey, rustcrypto};
use idgate_core::jose::JweRecipient;
use idgate_testkit::codec::from_base64url;
use idgate_testkit::jwe::{Enc, Encryption};
use idgate_testkit::keys::{Curve as KitCurve, SigningKey};

use crate::mutation::Mutations;

const PLAINTEXT: &[u8] = br#"{"vp_token":"a~b","presentation_submission":{},"state":"s"}"#;
/// Changed JWEs for each content encryption.
const TRIES: usize = 20_000;

#[test]
fn no_mutated_jwe_decrypts() {
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
    let mut mutations = Mutations::new(TRIES);
    let mut changed = 0;
    for n in 0..mutations.tries {
        let provider = if n % 8 == 0 { rustcrypto::PROVIDER } else { PROVIDER };
        for text in &sealed {
            let Ok(other) = String::from_utf8(mutations.mutate(text.as_bytes())) else { continue };
            changed += usize::from(other != *text);
            let opened = ours.open(&provider, &other).is_ok();
            assert!(other == *text || !opened, "{other}");
        }
    }
    assert!(changed > mutations.tries, "{changed} of {}", mutations.tries);
}
