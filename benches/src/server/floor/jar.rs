//! The additional work of the jar profile: signing a Request Object and decrypting an answer. Keys and
//! answer are the same for every flow, which does not change its cost.

use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use idgate_testkit::codec::from_base64url;
use idgate_testkit::jwe::{Enc, Encryption};
use idgate_testkit::keys::{Curve, SigningKey};

use super::super::flow::PRESENTATION_BYTES;
use super::Failure;
use crate::floor_jar;

pub(in super::super) struct Jar {
    signer: EcdsaKeyPair,
    recipient: Vec<u8>,
    answer: String,
}

impl Jar {
    pub(in super::super) fn new() -> Result<Self, Failure> {
        let recipient = SigningKey::from_seed(Curve::P256, "floor recipient");
        let ephemeral = SigningKey::from_seed(Curve::P256, "floor ephemeral");
        let encryption = Encryption::new(&recipient.public_sec1(), "kid", Enc::A256Gcm, &ephemeral)
            .with_party_info(b"the wallet's nonce", b"the request's nonce");
        let parts = encryption.encrypt(&[b'x'; PRESENTATION_BYTES]).ok_or("nothing encrypted")?;
        let jwk = recipient.private_jwk();
        let scalar = jwk.get("d").and_then(|d| d.as_str()).and_then(from_base64url);
        Ok(Self {
            signer: EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING)?,
            recipient: scalar.ok_or("a key without a scalar")?,
            answer: parts.join("."),
        })
    }

    pub(in super::super) fn request_object(&self) -> String {
        floor_jar::request_object(&self.signer)
    }

    pub(in super::super) fn open(&self) -> Result<(), Failure> {
        match floor_jar::open(&self.answer, &self.recipient).len() {
            PRESENTATION_BYTES => Ok(()),
            _ => Err("it opens to something else".into()),
        }
    }
}
