//! A private key on P-256 that signs Request Objects in software.

use core::fmt;

use p256::SecretKey;
use p256::ecdsa::signature::Signer as _;
use p256::ecdsa::{Signature, SigningKey};
use p256::pkcs8::DecodePrivateKey as _;
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use crate::crypto::key::{Curve, InvalidKey, PublicKey};
use crate::crypto::signer::KeyFileError;
use crate::entropy::{Entropy, EntropyUnavailable};
use crate::limits::MAX_KEY_DRAWS;

/// A private ES256 key, wiped when dropped.
#[derive(Clone)]
pub struct Es256Key {
    signing: SigningKey,
    public: PublicKey,
}

impl Es256Key {
    /// Generates a key.
    ///
    /// # Errors
    /// There is no entropy, or it gives no scalar.
    pub fn generate(entropy: &mut dyn Entropy) -> Result<Self, EntropyUnavailable> {
        let mut scalar = Zeroizing::new([0; 32]);
        for _ in 0..MAX_KEY_DRAWS {
            entropy.fill(&mut *scalar)?;
            if let Ok(key) = Self::from_scalar(&*scalar) {
                return Ok(key);
            }
        }
        Err(EntropyUnavailable::new())
    }

    /// Creates a key from the scalar, big-endian, 32 bytes.
    ///
    /// # Errors
    /// The bytes are not a scalar of P-256.
    pub fn from_scalar(scalar: &[u8]) -> Result<Self, InvalidKey> {
        // `from_slice` would accept a shorter scalar as one with leading zeros.
        let scalar: &[u8; 32] = scalar.try_into().map_err(|_| InvalidKey)?;
        let signing = SigningKey::from_slice(scalar).map_err(|_| InvalidKey)?;
        let point = signing.verifying_key().to_sec1_point(false);
        let public = PublicKey::from_sec1(Curve::P256, point.as_bytes())?;
        Ok(Self { signing, public })
    }

    /// Reads a PEM file: `PRIVATE KEY` (PKCS #8, RFC 5208) or `EC PRIVATE KEY` (SEC 1 C.4).
    ///
    /// # Errors
    /// The file does not contain exactly one private key on P-256, or it is encrypted.
    pub fn from_pem(pem: &[u8]) -> Result<Self, KeyFileError> {
        let text = core::str::from_utf8(pem).map_err(|_| KeyFileError("is not PEM"))?;
        if text.contains("ENCRYPTED") {
            return Err(KeyFileError("is encrypted; decrypt it first"));
        }
        // Some tools write the parameters of the curve before the key.
        let key = match text.find("-----BEGIN EC PRIVATE KEY-----").and_then(|at| text.get(at..)) {
            Some(text) => SecretKey::from_sec1_pem(text).map_err(|_| ()),
            None => SecretKey::from_pkcs8_pem(text).map_err(|_| ()),
        };
        let key = key.map_err(|()| KeyFileError("is not a P-256 private key in PEM"))?;
        let scalar = Zeroizing::new(<[u8; 32]>::from(key.to_bytes()));
        Self::from_scalar(&*scalar).map_err(|_| KeyFileError("is not a P-256 key"))
    }

    /// The scalar, big-endian, for an embedder that stores the key. Keep it sealed.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn expose_scalar(&self) -> Zeroizing<[u8; 32]> {
        Zeroizing::new(self.signing.to_bytes().into())
    }

    /// The public half.
    pub fn public_key(&self) -> &PublicKey {
        &self.public
    }

    /// The SHA-256 thumbprint of the public half (RFC 7638 3).
    pub(crate) fn thumbprint(&self) -> [u8; 32] {
        sha256_of_public(self.public.to_jwk_json(None).as_bytes())
    }

    /// Returns the raw signature r‖s of `message` (RFC 7518 3.4). The secret number of each
    /// signature derives from key and message (RFC 6979), so no randomness is needed.
    pub fn sign(&self, message: &[u8]) -> [u8; 64] {
        let signature: Signature = self.signing.sign(message);
        signature.to_bytes().into()
    }
}

/// Hashes public bytes into the name of a signer, which needs its name before there is a provider.
pub(crate) fn sha256_of_public(data: &[u8]) -> [u8; 32] {
    Sha256::digest(data).into()
}

/// Omits the key.
impl fmt::Debug for Es256Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Es256Key")
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::request::fixtures::CountingEntropy;

    /// The order of the group (SP 800-186 3.2.1.3).
    const ORDER: [u8; 32] = [
        0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xbc,
        0xe6, 0xfa, 0xad, 0xa7, 0x17, 0x9e, 0x84, 0xf3, 0xb9, 0xca, 0xc2, 0xfc, 0x63, 0x25, 0x51,
    ];

    /// RFC 6979 A.2.5, SHA-256, message "sample".
    #[test]
    fn signs_as_rfc_6979_does() {
        let hex = |text: &str| -> Vec<u8> {
            let digit = |at| u8::from_str_radix(text.get(at..at + 2).unwrap(), 16).unwrap();
            (0..text.len()).step_by(2).map(digit).collect()
        };
        let key = hex("c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721");
        let key = Es256Key::from_scalar(&key).unwrap();
        let x = hex("60fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e60f29fb6");
        assert_eq!(key.public_key().coordinates().0, x);
        let expected = hex("efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716\
             f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8");
        assert_eq!(key.sign(b"sample").as_slice(), expected);
    }

    #[test]
    fn a_key_is_a_scalar_between_zero_and_the_order() {
        for bad in [&[0; 32][..], &ORDER, &[0xff; 32], &[1; 31], &[1; 33], &[]] {
            assert!(Es256Key::from_scalar(bad).is_err());
        }
        let mut below = ORDER;
        below[31] -= 1;
        assert!(Es256Key::from_scalar(&below).is_ok());
    }

    #[test]
    fn the_key_is_the_bytes_of_the_entropy() {
        let key = Es256Key::generate(&mut CountingEntropy::default()).unwrap();
        assert_eq!(*key.expose_scalar(), [1; 32]);
        assert_eq!(format!("{key:?}"), "Es256Key");
    }

    #[test]
    fn a_source_of_only_zeros_fails() {
        struct Zeros(u8);
        impl Entropy for Zeros {
            fn fill(&mut self, out: &mut [u8]) -> Result<(), EntropyUnavailable> {
                self.0 += 1;
                out.fill(0);
                Ok(())
            }
        }
        let mut zeros = Zeros(0);
        assert!(Es256Key::generate(&mut zeros).is_err());
        assert_eq!(zeros.0, 4);
    }
}
