//! Keys agreed with a wallet: ECDH with a private key of the session, HMAC and HKDF.

use alloc::boxed::Box;
use core::fmt;

use zeroize::Zeroizing;

use crate::crypto::key::{Curve, InvalidKey, PublicKey};
use crate::crypto::provider::CryptoProvider;

/// A private key for ECDH, wiped when dropped. Whether it is a scalar of its curve is checked when
/// it is used.
#[derive(Clone)]
pub struct EcdhPrivateKey {
    curve: Curve,
    // Behind a pointer: sessions are moved often, and every move would leave the old bytes behind.
    scalar: Zeroizing<Box<[u8]>>,
}

impl EcdhPrivateKey {
    /// Creates a key from the scalar, big-endian, of the curve's full length.
    ///
    /// # Errors
    /// The scalar has a wrong length.
    pub fn from_scalar(curve: Curve, scalar: &[u8]) -> Result<Self, InvalidKey> {
        if scalar.len() != curve.coordinate_len() {
            return Err(InvalidKey);
        }
        Ok(Self { curve, scalar: Zeroizing::new(scalar.into()) })
    }

    /// The curve.
    pub fn curve(&self) -> Curve {
        self.curve
    }

    /// The scalar, big-endian, of the curve's full length; for providers.
    pub fn expose_scalar(&self) -> &[u8] {
        &self.scalar
    }
}

impl fmt::Debug for EcdhPrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EcdhPrivateKey({})", self.curve.name())
    }
}

/// The shared secret of an ECDH: the x coordinate, of the curve's full length (SEC 1 3.3.1).
pub struct SharedSecret {
    bytes: Zeroizing<[u8; 66]>,
    len: usize,
}

impl SharedSecret {
    /// Creates a secret from a provider's output.
    ///
    /// # Errors
    /// The output is longer than a coordinate of any curve.
    pub fn new(x: &[u8]) -> Result<Self, InvalidKey> {
        let mut bytes = Zeroizing::new([0; 66]);
        bytes.get_mut(..x.len()).ok_or(InvalidKey)?.copy_from_slice(x);
        Ok(Self { bytes, len: x.len() })
    }

    /// The secret.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }
}

impl fmt::Debug for SharedSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedSecret")
    }
}

/// Key agreement, and message authentication with the agreed keys.
pub trait KeyAgreement: fmt::Debug + Send + Sync {
    /// ECDH (SEC 1 3.3.1).
    ///
    /// # Errors
    /// The keys are on different curves, `public` is not on its curve, or `private` is not a scalar
    /// of it.
    fn ecdh(
        &self,
        private: &EcdhPrivateKey,
        public: &PublicKey,
    ) -> Result<SharedSecret, InvalidKey>;

    /// Returns the public half of `private` (SEC 1 3.2.1).
    ///
    /// # Errors
    /// `private` is not a scalar of its curve.
    fn public_key(&self, private: &EcdhPrivateKey) -> Result<PublicKey, InvalidKey>;

    /// HMAC with SHA-256 (RFC 2104).
    fn hmac_sha256(&self, key: &[u8], data: &[u8]) -> [u8; 32];
}

impl CryptoProvider {
    /// Derives one key of 32 bytes with HKDF and SHA-256 (RFC 5869 2).
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn hkdf_sha256(
        &self,
        secret: &[u8],
        salt: &[u8],
        info: &[u8],
    ) -> Zeroizing<[u8; 32]> {
        let pseudorandom = Zeroizing::new(self.agreement.hmac_sha256(salt, secret));
        let block = [info, &[1]].concat();
        Zeroizing::new(self.agreement.hmac_sha256(&*pseudorandom, &block))
    }
}
