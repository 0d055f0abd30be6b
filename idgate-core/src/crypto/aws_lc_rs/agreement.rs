//! ECDH and HMAC from AWS-LC.

use ::aws_lc_rs::agreement::{
    self, ECDH_P256, ECDH_P384, ECDH_P521, PrivateKey, UnparsedPublicKey,
};
use ::aws_lc_rs::hmac;

use crate::crypto::agreement::{EcdhPrivateKey, KeyAgreement, SharedSecret};
use crate::crypto::key::{Curve, InvalidKey, PublicKey};

#[derive(Debug)]
pub(super) struct Agreement;

impl KeyAgreement for Agreement {
    fn ecdh(
        &self,
        private: &EcdhPrivateKey,
        public: &PublicKey,
    ) -> Result<SharedSecret, InvalidKey> {
        if private.curve() != public.curve() {
            return Err(InvalidKey);
        }
        let public = UnparsedPublicKey::new(algorithm(private.curve()), public.sec1());
        agreement::agree(&parse(private)?, public, InvalidKey, SharedSecret::new)
    }

    fn public_key(&self, private: &EcdhPrivateKey) -> Result<PublicKey, InvalidKey> {
        let public = parse(private)?.compute_public_key().map_err(|_| InvalidKey)?;
        PublicKey::from_sec1(private.curve(), public.as_ref())
    }

    fn hmac_sha256(&self, key: &[u8], data: &[u8]) -> [u8; 32] {
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), data);
        // HMAC-SHA256 has 32 bytes; any other length would match no MAC except by chance.
        tag.as_ref().first_chunk().copied().unwrap_or_default()
    }
}

fn algorithm(curve: Curve) -> &'static agreement::Algorithm {
    match curve {
        Curve::P256 => &ECDH_P256,
        Curve::P384 => &ECDH_P384,
        Curve::P521 => &ECDH_P521,
    }
}

fn parse(private: &EcdhPrivateKey) -> Result<PrivateKey, InvalidKey> {
    PrivateKey::from_private_key(algorithm(private.curve()), private.expose_scalar())
        .map_err(|_| InvalidKey)
}
