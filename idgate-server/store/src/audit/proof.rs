//! The checks before an entry is signed again, removed, or shown as intact. They are the same for
//! both stores.

use std::collections::BTreeMap;

use idgate_core::UnixMillis;

use super::super::types::{ListedEntry, StoreError};
use super::{Head, altered};
use crate::audit_chain::{
    AuditEntry, AuditKeys, ChainWalk, Checkpoint, Hash, Removal, SignedCheckpoint, SignedRemoval,
    StoredEntry, hex,
};

/// An entry as it was read. A column of the wrong type counts as empty, so its hash will not match.
#[derive(Clone, Debug, Default)]
pub(crate) struct EntryRow {
    /// Below 1, or a number that another entry has: the instance did not write it.
    pub(crate) seq: i64,
    pub(crate) fields: String,
    pub(crate) prev_hash: Vec<u8>,
    pub(crate) entry_hash: Vec<u8>,
}

impl EntryRow {
    /// The entry in the form that a walk takes.
    pub(crate) fn stored(&self) -> StoredEntry<'_> {
        StoredEntry {
            seq: u64::try_from(self.seq).unwrap_or(0),
            fields: &self.fields,
            prev_hash: &self.prev_hash,
            entry_hash: &self.entry_hash,
        }
    }

    /// `predecessor`: its number and hash.
    fn listed(&self, client_id: &str, predecessor: Option<(u64, &[u8])>) -> ListedEntry {
        ListedEntry {
            entry: serde_json::from_str(&self.fields).ok(),
            prev_hash: hex(&self.prev_hash),
            entry_hash: hex(&self.entry_hash),
            chain_intact: self.stored().is_intact(client_id, predecessor),
        }
    }
}

/// Builds a list of at most `limit` entries from `rows`, newest first. `rows` may have one more
/// entry, the predecessor of the last. `removed`: the end of the removed part of the chain.
pub(crate) fn list(
    client_id: &str,
    rows: &[EntryRow],
    removed: Option<&(u64, Hash)>,
    limit: usize,
) -> Vec<ListedEntry> {
    let removed = removed.map(|(seq, hash)| (*seq, &hash[..])).filter(|_| rows.len() <= limit);
    let predecessors = rows.iter().skip(1).map(Some).chain(std::iter::once(None));
    let listed = rows.iter().zip(predecessors).map(|(row, before)| {
        let before = before.map(|row| (row.stored().seq, &*row.entry_hash));
        row.listed(client_id, before.or(removed))
    });
    listed.take(limit).collect()
}

/// The end of a chain's removed part, from a removal record. `None`: this instance did not sign the
/// record.
pub(crate) fn end_of(keys: &AuditKeys, client_id: &str, record: &str) -> Option<(u64, Hash)> {
    serde_json::from_str::<SignedRemoval>(record).ok()?.end(keys, client_id)
}

/// Parses a checkpoint if the instance signed it for this chain, and it follows the checkpoint with
/// the hash `previous`.
pub(crate) fn genuine(
    text: &str,
    keys: &AuditKeys,
    client_id: &str,
    previous: &Hash,
) -> Option<SignedCheckpoint> {
    let signed = serde_json::from_str::<SignedCheckpoint>(text).ok()?;
    let is_next = signed.client_id == client_id
        && signed.previous_checkpoint_hash == hex(previous)
        && signed.is_signed_by(keys);
    is_next.then_some(signed)
}

/// The stored values that a head refers to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Footing {
    /// The hash of the head's entry.
    pub(crate) at_head: Option<Vec<u8>>,
    /// The hash of the entry of its last checkpoint.
    pub(crate) at_checkpoint: Option<Vec<u8>>,
    /// The last checkpoint.
    pub(crate) checkpoint: Option<String>,
    /// The removal record. Callers check its signature.
    pub(crate) removal: Option<String>,
}

impl Footing {
    /// Whether the last checkpoint of a chain, its entry and the head's entry are stored unchanged.
    /// An altered entry that was signed once must not be signed again.
    pub(crate) fn bears(&self, head: &Head) -> bool {
        if head.seq > 0 && !self.has(&self.at_head, head.seq, &hex(&head.entry_hash)) {
            return false;
        }
        if head.checkpoint_seq == 0 {
            return true;
        }
        let last = self.checkpoint.as_deref();
        let last = last.and_then(|text| serde_json::from_str::<SignedCheckpoint>(text).ok());
        last.is_some_and(|last| {
            last.checkpoint().hash() == head.checkpoint_hash
                && self.has(&self.at_checkpoint, head.checkpoint_seq, &last.head_hash)
        })
    }

    /// Whether the entry is stored with this hash, or was removed because of its age.
    fn has(&self, stored: &Option<Vec<u8>>, seq: u64, hash: &str) -> bool {
        match stored {
            Some(stored) => hex(stored) == hash,
            None => {
                let record = self.removal.as_deref();
                let record = record.and_then(|it| serde_json::from_str::<SignedRemoval>(it).ok());
                record.is_some_and(|record| record.last_seq >= seq)
            }
        }
    }
}

/// The entries at the beginning of a chain that are past their retention.
#[derive(Debug)]
pub(crate) struct Old<'c> {
    walk: ChainWalk<'c>,
    /// The last entry that was removed earlier.
    pub(crate) begin: u64,
    hashes: BTreeMap<u64, Hash>,
}

impl<'c> Old<'c> {
    /// Takes the entries older than `before` from `rows`, which begin with the first entry of the
    /// chain. `record`: the removal record.
    ///
    /// # Errors
    /// The chain was altered.
    pub(crate) fn of(
        keys: &AuditKeys,
        client_id: &'c str,
        record: Option<&str>,
        rows: &[EntryRow],
        before: UnixMillis,
    ) -> Result<Self, StoreError> {
        let altered = || StoreError::Failed(altered(client_id));
        let mut walk = match record {
            Some(record) => {
                let (seq, hash) = end_of(keys, client_id, record).ok_or_else(altered)?;
                ChainWalk::after(client_id, seq, hash)
            }
            None => ChainWalk::new(client_id),
        };
        // These are UTC times of equal length, so they sort as text.
        let before = before.to_string();
        let (begin, mut hashes) = (walk.seq(), BTreeMap::new());
        for row in rows {
            let entry = serde_json::from_str::<AuditEntry>(&row.fields).ok();
            if entry.is_some_and(|entry| entry.occurred_at >= before) {
                break;
            }
            walk.step(&row.stored()).map_err(|_| altered())?;
            hashes.insert(walk.seq(), *walk.hash());
        }
        Ok(Self { walk, begin, hashes })
    }

    /// The number of entries.
    pub(crate) fn len(&self) -> usize {
        self.hashes.len()
    }

    /// The number of the last entry.
    pub(crate) fn end(&self) -> u64 {
        self.walk.seq()
    }

    /// Whether the next entry, or the head, matches the last of these entries. `next` is the
    /// `prev_hash` of the entry after it, if there is one.
    pub(crate) fn is_followed(&self, head: &Head, next: Option<&[u8]>) -> bool {
        match next {
            Some(previous) => previous == self.walk.hash(),
            None => (head.seq, &head.entry_hash) == (self.walk.seq(), self.walk.hash()),
        }
    }

    /// Whether these entries match the checkpoints that cover them, and no checkpoint is missing:
    /// each names its predecessor, and the head names the last. `earlier`: the last checkpoint up
    /// to `begin`. `later`: the checkpoints after that, at least up to the first one past the end.
    pub(crate) fn is_confirmed(
        &self,
        keys: &AuditKeys,
        head: &Head,
        earlier: Option<&str>,
        later: &[String],
    ) -> bool {
        let client_id = &*head.client_id;
        let earlier = earlier.map(serde_json::from_str::<SignedCheckpoint>);
        let (mut last, mut previous) = match earlier {
            None => (0, Checkpoint::genesis(client_id)),
            Some(Ok(earlier)) => (earlier.seq, earlier.checkpoint().hash()),
            Some(Err(_)) => return false,
        };
        for text in later {
            let Some(signed) = genuine(text, keys, client_id, &previous) else { return false };
            if signed.seq > self.end() {
                return true;
            }
            if self.hashes.get(&signed.seq).is_none_or(|hash| hex(hash) != signed.head_hash) {
                return false;
            }
            (last, previous) = (signed.seq, signed.checkpoint().hash());
        }
        (head.checkpoint_seq, head.checkpoint_hash) == (last, previous)
    }

    /// The signed record that all these entries were removed at `now`, as one line of JSON.
    pub(crate) fn record(&self, keys: &AuditKeys, now: UnixMillis) -> String {
        let (client_id, hash) = (self.walk.client_id(), self.walk.hash());
        Removal::new(client_id, self.end(), hash, now).sign(keys).to_line()
    }
}
