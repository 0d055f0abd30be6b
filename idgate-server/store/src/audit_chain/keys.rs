//! The keys of the audit log, both derived from the instance key. With the database alone, an
//! attacker can forge neither a head nor a checkpoint.

use std::fmt;

use aws_lc_rs::hmac;
use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use zeroize::Zeroizing;

use super::hex;
use crate::seal::{InstanceKey, Unsealable, Uses};

type Seed = Zeroizing<[u8; 32]>;

/// MACs heads and signs checkpoints. Signatures and MACs by a key that is kept for opening only
/// still count as the instance's own.
pub struct AuditKeys {
    mac: hmac::Key,
    signer: Ed25519KeyPair,
    other_macs: Vec<hmac::Key>,
    other_signers: Vec<Ed25519KeyPair>,
    uses: Uses,
}

const HEAD: &str = "idgate audit head v1";
const CHECKPOINT: &str = "idgate audit checkpoint v1";

impl AuditKeys {
    /// The keys of the instance.
    ///
    /// # Errors
    /// The cryptographic library failed.
    pub fn new(key: &InstanceKey) -> Result<Self, Unsealable> {
        let mac = |derived: &Seed| hmac::Key::new(hmac::HMAC_SHA256, &**derived);
        let signer =
            |seed: &Seed| Ed25519KeyPair::from_seed_unchecked(&**seed).map_err(|_| Unsealable);
        Ok(Self {
            mac: mac(&key.derive(HEAD)?),
            signer: signer(&key.derive(CHECKPOINT)?)?,
            other_macs: key.derive_others(HEAD)?.iter().map(mac).collect(),
            other_signers: key
                .derive_others(CHECKPOINT)?
                .iter()
                .map(signer)
                .collect::<Result<_, _>>()?,
            uses: Uses::default(),
        })
    }

    /// How often these keys authenticated something.
    pub const fn uses(&self) -> &Uses {
        &self.uses
    }

    /// Authenticates `message`.
    pub fn mac(&self, message: &[u8]) -> Vec<u8> {
        self.uses.add();
        hmac::sign(&self.mac, message).as_ref().to_vec()
    }

    /// Whether `mac` is that of `message`. The comparison takes constant time for each key.
    pub fn is_mac(&self, message: &[u8], mac: &[u8]) -> bool {
        let mut keys = std::iter::once(&self.mac).chain(&self.other_macs);
        keys.any(|key| hmac::verify(key, message, mac).is_ok())
    }

    /// The Ed25519 signature of `message` (RFC 8032).
    pub fn sign(&self, message: &[u8]) -> Vec<u8> {
        self.uses.add();
        self.signer.sign(message).as_ref().to_vec()
    }

    /// The key that others verify checkpoints with.
    pub fn public_key(&self) -> &[u8] {
        self.signer.public_key().as_ref()
    }

    /// The public halves of all keys, with the one that signs first.
    pub fn public_keys(&self) -> impl Iterator<Item = &[u8]> {
        let all = std::iter::once(&self.signer).chain(&self.other_signers);
        all.map(|signer| signer.public_key().as_ref())
    }

    /// Whether `text` was signed by the key `public_key` (in hex), and that key is one of these.
    pub(super) fn is_signed(&self, text: &[u8], public_key: &str, signature: &[u8]) -> bool {
        let signer = self.public_keys().find(|key| hex(key) == public_key);
        signer.is_some_and(|key| {
            UnparsedPublicKey::new(&ED25519, key).verify(text, signature).is_ok()
        })
    }
}

impl fmt::Debug for AuditKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AuditKeys(***)")
    }
}
