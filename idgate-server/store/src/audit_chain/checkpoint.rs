//! Signed statements that a chain had a certain head. Kept outside the data directory, they reveal
//! that a chain was truncated or rewritten, even by an attacker who has a full copy of an older
//! data directory.

use idgate_core::UnixMillis;
use serde::{Deserialize, Serialize};

use super::{AuditKeys, Hash, hex, sha256};

/// Prefix of everything that is signed.
const PREFIX: &[u8] = b"idgate-audit-checkpoint-v1\n";

/// The signed content: `idgate-audit-checkpoint-v1\n` and this as RFC 8785 JSON. The members are
/// declared in that order.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// The client whose chain this is.
    pub client_id: String,
    /// The hash of the chain's last entry, in hex.
    pub head_hash: String,
    /// The hash of the chain's previous checkpoint, in hex.
    pub previous_checkpoint_hash: String,
    /// The number of the chain's last entry.
    pub seq: u64,
    /// When it was signed: RFC 3339, UTC.
    pub time: String,
}

impl Checkpoint {
    /// The statement that the chain of `client_id` ends with entry `seq` and `head`.
    pub fn new(client_id: &str, seq: u64, head: &Hash, previous: &Hash, now: UnixMillis) -> Self {
        Self {
            client_id: client_id.to_owned(),
            head_hash: hex(head),
            previous_checkpoint_hash: hex(previous),
            seq,
            time: now.to_string(),
        }
    }

    /// The value that the first checkpoint of a chain names as its predecessor.
    pub fn genesis(client_id: &str) -> Hash {
        sha256(&[PREFIX, client_id.as_bytes()])
    }

    /// The hash that the next checkpoint names.
    pub fn hash(&self) -> Hash {
        sha256(&[&self.signed_text()])
    }

    /// Signs this checkpoint.
    pub fn sign(self, keys: &AuditKeys) -> SignedCheckpoint {
        let signature = hex(&keys.sign(&self.signed_text()));
        let public_key = hex(keys.public_key());
        let Self { client_id, head_hash, previous_checkpoint_hash, seq, time } = self;
        SignedCheckpoint {
            client_id,
            head_hash,
            previous_checkpoint_hash,
            public_key,
            seq,
            signature,
            time,
        }
    }

    fn signed_text(&self) -> Vec<u8> {
        let mut text = PREFIX.to_vec();
        // Strings and integers always serialize.
        let _ = serde_json::to_writer(&mut text, self);
        text
    }
}

/// A checkpoint with its signature, the form in exports and checkpoint files.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // as in Checkpoint
pub struct SignedCheckpoint {
    pub client_id: String,
    pub head_hash: String,
    pub previous_checkpoint_hash: String,
    /// The Ed25519 key that verifies `signature`, in hex.
    pub public_key: String,
    pub seq: u64,
    /// The Ed25519 signature, in hex.
    pub signature: String,
    pub time: String,
}

impl SignedCheckpoint {
    /// The statement without its signature.
    pub fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            client_id: self.client_id.clone(),
            head_hash: self.head_hash.clone(),
            previous_checkpoint_hash: self.previous_checkpoint_hash.clone(),
            seq: self.seq,
            time: self.time.clone(),
        }
    }

    /// Whether the instance with these keys signed it.
    pub fn is_signed_by(&self, keys: &AuditKeys) -> bool {
        let text = self.checkpoint().signed_text();
        let signature = unhex(&self.signature);
        signature.is_some_and(|it| keys.is_signed(&text, &self.public_key, &it))
    }

    /// The same statement, signed by the current key. `None`: the current key signed it already.
    pub fn anew(&self, keys: &AuditKeys) -> Option<Self> {
        (self.public_key != hex(keys.public_key())).then(|| self.checkpoint().sign(keys))
    }

    /// One line of JSON.
    pub fn to_line(&self) -> String {
        // Strings and integers always serialize.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Decodes lower-case hex.
pub(super) fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |c: &u8| match c {
        b'0'..=b'9' => Some(c - b'0'),
        b'a'..=b'f' => Some(c - b'a' + 10),
        _ => None,
    };
    let byte = |pair: &[u8]| match pair {
        [high, low] => Some(digit(high)? << 4 | digit(low)?),
        _ => None,
    };
    text.as_bytes().chunks(2).map(byte).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::seal::InstanceKey;

    fn keys() -> AuditKeys {
        AuditKeys::new(&InstanceKey::generate().unwrap()).unwrap()
    }

    fn checkpoint() -> Checkpoint {
        let genesis = Checkpoint::genesis("cli_1");
        Checkpoint::new("cli_1", 1000, &[7; 32], &genesis, UnixMillis(1_790_000_000_000))
    }

    #[test]
    fn a_signature_is_valid_for_one_statement_and_instance_only() {
        let keys = keys();
        let signed = checkpoint().sign(&keys);
        assert!(signed.is_signed_by(&keys));
        assert!(!signed.is_signed_by(&self::keys()));
        let changes: [fn(&mut SignedCheckpoint); 7] = [
            |c| c.client_id.push('x'),
            |c| c.head_hash = hex(&[8; 32]),
            |c| c.previous_checkpoint_hash = hex(&[8; 32]),
            |c| c.public_key = hex(&[8; 32]),
            |c| c.seq += 1,
            |c| c.signature = hex(&[8; 64]),
            |c| c.time = UnixMillis(0).to_string(),
        ];
        for change in changes {
            let mut changed = signed.clone();
            change(&mut changed);
            assert!(!changed.is_signed_by(&keys), "{changed:?}");
        }
    }

    #[test]
    fn a_checkpoint_line_parses_back() {
        let signed = checkpoint().sign(&keys());
        assert!(!signed.to_line().contains('\n'));
        assert_eq!(serde_json::from_str::<SignedCheckpoint>(&signed.to_line()).unwrap(), signed);
    }

    #[test]
    fn only_lower_case_hex_is_hex() {
        assert_eq!(unhex("00ff"), Some(vec![0, 255]));
        for bad in ["0", "FF", "zz", "é"] {
            assert_eq!(unhex(bad), None, "{bad}");
        }
    }
}
