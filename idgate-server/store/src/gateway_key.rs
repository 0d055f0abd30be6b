//! The gateway's own keys. One key signs; earlier keys continue to sign for sessions that were
//! created with them. Separate keys sign under certificates.

mod certified;
mod registration;
mod request;

use std::fmt;
use std::sync::Arc;

use aws_lc_rs::error::Unspecified;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _, UnparsedPublicKey,
};
use idgate_core::UnixMillis;
use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::crypto::{Curve, PublicKey};
use idgate_core::shell::base64url;
use zeroize::Zeroizing;

pub use self::certified::{Certificates, CertifiedKey, RENEW_BEFORE_MS, REPLACED_SIGNS_MS};
pub use self::registration::{Registration, UNNAMED_USE, Whose};
pub use self::request::certification_request;

/// Length of one coordinate on P-256.
const COORDINATE: usize = 32;

/// A P-256 key that signs for the gateway (ES256).
pub struct GatewayKey {
    pair: EcdsaKeyPair,
    public: PublicKey,
    id: String,
}

/// A public key as published in the discovery documents.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PublishedKey {
    /// The part after `#` in its `kid`: its RFC 7638 thumbprint.
    pub id: String,
    /// The key.
    pub public: PublicKey,
}

/// A key that signs for no new sessions.
#[derive(Clone, Debug)]
pub struct RetiredKey {
    /// The key.
    pub key: PublishedKey,
    /// Signs for the sessions that were created with this key. `None`: those sessions have ended.
    pub signer: Option<Arc<GatewayKey>>,
    /// When the last of these sessions ends.
    pub published_until: UnixMillis,
}

/// The keys of a gateway in one snapshot.
#[derive(Debug)]
pub struct GatewayKeys {
    /// Grows with every rotation, and when a retired key is erased.
    pub number: u64,
    /// Signs for new sessions.
    pub active: Arc<GatewayKey>,
    /// Earlier keys, newest first.
    pub retired: Vec<RetiredKey>,
}

impl GatewayKey {
    /// A new key and its PKCS #8 form, to be sealed.
    ///
    /// # Errors
    /// The random number generator failed.
    pub fn generate() -> Result<(Self, Zeroizing<Vec<u8>>), KeyUnusable> {
        let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING)?;
        let document = pair.to_pkcs8v1()?;
        let pkcs8 = Zeroizing::new(document.as_ref().to_vec());
        Ok((Self::of(pair)?, pkcs8))
    }

    /// Parses the bytes of [`GatewayKey::generate`].
    ///
    /// # Errors
    /// The bytes are not such a key.
    pub fn from_pkcs8(pkcs8: &[u8]) -> Result<Self, KeyUnusable> {
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8);
        Self::of(pair.map_err(|_| KeyUnusable)?)
    }

    /// The part after `#` in its `kid`.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Its public half.
    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    /// The signature in JWS form: R and S, 32 bytes each (RFC 7518 3.4).
    ///
    /// # Errors
    /// The random number generator failed.
    pub fn sign(&self, message: &[u8]) -> Result<Vec<u8>, KeyUnusable> {
        Ok(self.pair.sign(&SystemRandom::new(), message)?.as_ref().to_vec())
    }

    fn of(pair: EcdsaKeyPair) -> Result<Self, KeyUnusable> {
        let public = public_key(pair.public_key().as_ref())?;
        let id = base64url::encode(&public.thumbprint(&PROVIDER));
        Ok(Self { pair, public, id })
    }
}

impl fmt::Debug for GatewayKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GatewayKey({})", self.id)
    }
}

impl PublishedKey {
    /// A published key from its id and its SEC 1 point.
    ///
    /// # Errors
    /// The point is not a P-256 key.
    pub fn new(id: String, sec1: &[u8]) -> Result<Self, KeyUnusable> {
        Ok(Self { id, public: public_key(sec1)? })
    }

    /// Whether `signature` over `message` is this key's.
    pub fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        let alg = &aws_lc_rs::signature::ECDSA_P256_SHA256_FIXED;
        UnparsedPublicKey::new(alg, self.public.sec1()).verify(message, signature).is_ok()
    }
}

impl GatewayKeys {
    /// The published keys at `now`: the key that signs, then the keys whose sessions may still be
    /// open.
    pub fn published(&self, now: UnixMillis) -> Vec<PublishedKey> {
        let live = self.retired.iter().filter(|retired| retired.published_until > now);
        let active = PublishedKey { id: self.active.id.clone(), public: self.active.public };
        std::iter::once(active).chain(live.map(|retired| retired.key.clone())).collect()
    }

    /// The key with that id, even if it is no longer published.
    pub fn find(&self, id: &str) -> Option<PublishedKey> {
        self.published(UnixMillis(0)).into_iter().find(|key| key.id == id)
    }
}

/// The bytes are not a gateway key, or the random number generator failed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct KeyUnusable;

impl fmt::Display for KeyUnusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the gateway's signing key cannot be made or used")
    }
}

impl std::error::Error for KeyUnusable {}

impl From<Unspecified> for KeyUnusable {
    fn from(_: Unspecified) -> Self {
        Self
    }
}

fn public_key(sec1: &[u8]) -> Result<PublicKey, KeyUnusable> {
    let (format, coordinates) = sec1.split_first().ok_or(KeyUnusable)?;
    let (x, y) = coordinates.split_at_checked(COORDINATE).ok_or(KeyUnusable)?;
    if *format != 4 {
        return Err(KeyUnusable);
    }
    PublicKey::from_coordinates(Curve::P256, x, y).map_err(|_| KeyUnusable)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_key_is_the_same_key() {
        let (key, pkcs8) = GatewayKey::generate().unwrap();
        let again = GatewayKey::from_pkcs8(&pkcs8).unwrap();
        assert_eq!((again.id(), again.public()), (key.id(), key.public()));
        let published = PublishedKey::new(key.id().into(), key.public().sec1()).unwrap();
        let signature = again.sign(b"message").unwrap();
        assert_eq!(signature.len(), 64);
        assert!(published.verifies(b"message", &signature));
        assert!(!published.verifies(b"massage", &signature));
        assert_eq!(format!("{key:?}"), format!("GatewayKey({})", key.id()));
    }

    #[test]
    fn other_bytes_are_not_a_key() {
        let (key, pkcs8) = GatewayKey::generate().unwrap();
        assert!(GatewayKey::from_pkcs8(&pkcs8[1..]).is_err());
        assert!(GatewayKey::from_pkcs8(b"").is_err());
        let sec1 = key.public().sec1();
        let compressed = [&[2], &sec1[1..33]].concat();
        for bad in [&[][..], &sec1[..64], &compressed, &[sec1, &[0]].concat()] {
            assert!(PublishedKey::new("id".into(), bad).is_err());
        }
    }

    #[test]
    fn a_retired_key_is_published_until_its_time_and_can_always_be_found() {
        let key = || Arc::new(GatewayKey::generate().unwrap().0);
        let (active, old) = (key(), key());
        let id = old.id().to_owned();
        let retired = RetiredKey {
            key: PublishedKey { id: id.clone(), public: *old.public() },
            signer: None,
            published_until: UnixMillis(1000),
        };
        let keys = GatewayKeys { number: 2, active: active.clone(), retired: vec![retired] };
        let ids = |now| keys.published(UnixMillis(now)).into_iter().map(|key| key.id);
        assert!(ids(999).eq([active.id().to_owned(), id.clone()]));
        assert!(ids(1000).eq([active.id().to_owned()]));
        assert_eq!(keys.find(&id).unwrap().public, *old.public());
        assert!(keys.find("unknown").is_none());
    }
}
