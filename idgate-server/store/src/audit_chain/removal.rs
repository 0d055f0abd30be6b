//! Signed statements that the oldest entries of a chain were removed. They give the number of
//! entries and the hash of the last one, so that the rest can be verified from there.

use idgate_core::UnixMillis;
use serde::{Deserialize, Serialize};

use super::checkpoint::unhex;
use super::{AuditKeys, Hash, hex};

const PREFIX: &[u8] = b"idgate-audit-removal-v1\n";

/// The signed content. The members are in the order of RFC 8785, as in an entry.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Removal {
    /// The client whose chain it is.
    pub client_id: String,
    /// How many entries were removed, all removals added up.
    pub count: u64,
    /// The hash of the last removed entry, in lower-case hex.
    pub last_hash: String,
    /// The number of the last removed entry.
    pub last_seq: u64,
    /// When the entries were removed: RFC 3339, UTC.
    pub time: String,
}

/// A removal with its signature.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // as in Removal
pub struct SignedRemoval {
    pub client_id: String,
    pub count: u64,
    pub last_hash: String,
    pub last_seq: u64,
    /// The instance's public key, in lower-case hex.
    pub public_key: String,
    /// Ed25519 over `idgate-audit-removal-v1`, a line feed, and the other members.
    pub signature: String,
    pub time: String,
}

impl Removal {
    /// The removal of all entries of a chain up to this one.
    pub fn new(client_id: &str, last_seq: u64, last: &Hash, now: UnixMillis) -> Self {
        Self {
            client_id: client_id.to_owned(),
            // Entries are numbered consecutively from 1.
            count: last_seq,
            last_hash: hex(last),
            last_seq,
            time: now.to_string(),
        }
    }

    /// Signs the statement.
    pub fn sign(self, keys: &AuditKeys) -> SignedRemoval {
        let signature = hex(&keys.sign(&self.signed_text()));
        let public_key = hex(keys.public_key());
        let Self { client_id, count, last_hash, last_seq, time } = self;
        SignedRemoval { client_id, count, last_hash, last_seq, public_key, signature, time }
    }

    fn signed_text(&self) -> Vec<u8> {
        let mut text = PREFIX.to_vec();
        // Strings and integers always serialize.
        let _ = serde_json::to_writer(&mut text, self);
        text
    }
}

impl SignedRemoval {
    /// Number and hash of the last removed entry, if this instance removed it from this chain.
    pub fn end(&self, keys: &AuditKeys, client_id: &str) -> Option<(u64, Hash)> {
        let text = self.removal().signed_text();
        let is_ours = self.client_id == client_id
            && keys.is_signed(&text, &self.public_key, &unhex(&self.signature)?);
        let hash = unhex(&self.last_hash)?.try_into().ok()?;
        is_ours.then_some((self.last_seq, hash))
    }

    /// The same statement, signed by the current key. `None`: the current key signed it already.
    pub fn anew(&self, keys: &AuditKeys) -> Option<Self> {
        (self.public_key != hex(keys.public_key())).then(|| self.removal().sign(keys))
    }

    fn removal(&self) -> Removal {
        Removal {
            client_id: self.client_id.clone(),
            count: self.count,
            last_hash: self.last_hash.clone(),
            last_seq: self.last_seq,
            time: self.time.clone(),
        }
    }

    /// One line of JSON.
    pub fn to_line(&self) -> String {
        // Strings and integers always serialize.
        serde_json::to_string(self).unwrap_or_default()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::seal::InstanceKey;

    #[test]
    fn a_removal_is_valid_for_one_chain_and_instance_only() {
        let keys = || AuditKeys::new(&InstanceKey::generate().unwrap()).unwrap();
        let ours = keys();
        let signed = Removal::new("cli_1", 7, &[9; 32], UnixMillis(0)).sign(&ours);
        assert_eq!(signed.end(&ours, "cli_1"), Some((7, [9; 32])));
        assert_eq!(signed.end(&ours, "cli_2"), None);
        assert_eq!(signed.end(&keys(), "cli_1"), None);
        let changes: [fn(&mut SignedRemoval); 5] = [
            |r| r.count += 1,
            |r| r.last_seq += 1,
            |r| r.last_hash = hex(&[8; 32]),
            |r| r.time = UnixMillis(1).to_string(),
            |r| r.signature = hex(&[8; 64]),
        ];
        for change in changes {
            let mut changed = signed.clone();
            change(&mut changed);
            assert_eq!(changed.end(&ours, "cli_1"), None, "{changed:?}");
        }
        assert_eq!(serde_json::from_str::<SignedRemoval>(&signed.to_line()).unwrap(), signed);
    }
}
