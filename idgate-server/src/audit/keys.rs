//! The keys of the audit log, both derived from the instance key: what has only the database can
//! forge neither a head nor a checkpoint.

use std::fmt;

use aws_lc_rs::hmac;
use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};

use crate::seal::{InstanceKey, Unsealable};

/// MACs heads and signs checkpoints.
pub struct AuditKeys {
    mac: hmac::Key,
    signer: Ed25519KeyPair,
}

impl AuditKeys {
    /// The keys of the instance.
    ///
    /// # Errors
    /// The cryptographic library failed.
    pub fn new(key: &InstanceKey) -> Result<Self, Unsealable> {
        let mac = hmac::Key::new(hmac::HMAC_SHA256, &*key.derive("idgate audit head v1")?);
        let seed = key.derive("idgate audit checkpoint v1")?;
        let signer = Ed25519KeyPair::from_seed_unchecked(&*seed).map_err(|_| Unsealable)?;
        Ok(Self { mac, signer })
    }

    /// Authenticates `message`.
    pub fn mac(&self, message: &[u8]) -> Vec<u8> {
        hmac::sign(&self.mac, message).as_ref().to_vec()
    }

    /// Whether `mac` is that of `message`; in constant time.
    pub fn is_mac(&self, message: &[u8], mac: &[u8]) -> bool {
        hmac::verify(&self.mac, message, mac).is_ok()
    }

    /// The Ed25519 signature of `message` (RFC 8032).
    pub fn sign(&self, message: &[u8]) -> Vec<u8> {
        self.signer.sign(message).as_ref().to_vec()
    }

    /// What others verify checkpoints with.
    pub fn public_key(&self) -> &[u8] {
        self.signer.public_key().as_ref()
    }
}

impl fmt::Debug for AuditKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AuditKeys(***)")
    }
}
