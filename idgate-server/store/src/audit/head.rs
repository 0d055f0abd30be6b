//! The head of a chain, and the number of entries in all chains. Both carry a MAC, so only the
//! instance can move them. Each store decides how to keep them.

use idgate_core::UnixMillis;

use super::super::types::StoreError;
use super::altered;
use crate::audit_chain::{AuditEvent, AuditKeys, Checkpoint, Hash, entry_hash, genesis};

/// Where a chain ends.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Head {
    pub(crate) client_id: String,
    /// 0: no entry yet.
    pub(crate) seq: u64,
    pub(crate) entry_hash: Hash,
    /// 0: no checkpoint yet.
    pub(crate) checkpoint_seq: u64,
    pub(crate) checkpoint_hash: Hash,
    /// When the first entry after the last checkpoint was added.
    pub(crate) open_since: Option<UnixMillis>,
}

/// An entry that was added to a chain, to be stored under the head's number.
#[derive(Clone, Debug)]
pub(crate) struct Added {
    pub(crate) seq: u64,
    pub(crate) fields: String,
    pub(crate) prev_hash: Hash,
    pub(crate) entry_hash: Hash,
}

/// A head as it is stored, and whether its MAC is the instance's.
pub(crate) type Found = (Head, bool);

impl Head {
    /// The head of a client without entries.
    pub(crate) fn before_the_first(client_id: &str) -> Self {
        Self {
            client_id: client_id.to_owned(),
            seq: 0,
            entry_hash: genesis(client_id),
            checkpoint_seq: 0,
            checkpoint_hash: Checkpoint::genesis(client_id),
            open_since: None,
        }
    }

    /// Pairs the head with whether `mac`, which is stored with it, is the instance's.
    pub(crate) fn checked(self, keys: &AuditKeys, mac: &[u8]) -> Found {
        let genuine = keys.is_mac(&self.message(), mac);
        (self, genuine)
    }

    /// The head to append to.
    ///
    /// # Errors
    /// The head of `client_id` has a MAC that the instance did not write.
    pub(crate) fn genuine(found: Option<Found>, client_id: &str) -> Result<Self, StoreError> {
        match found {
            None => Ok(Self::before_the_first(client_id)),
            Some((head, true)) => Ok(head),
            Some((_, false)) => Err(StoreError::Failed(altered(client_id))),
        }
    }

    /// The MAC to store with the head.
    pub(crate) fn mac(&self, keys: &AuditKeys) -> Vec<u8> {
        keys.mac(&self.message())
    }

    /// Adds an entry; the head itself is stored later.
    pub(crate) fn add(&mut self, event: AuditEvent) -> Added {
        let (now, seq, prev_hash) =
            (event.occurred_at(), self.seq.saturating_add(1), self.entry_hash);
        let fields = event.into_entry(&self.client_id, seq).canonical();
        let hash = entry_hash(&prev_hash, &fields);
        (self.seq, self.entry_hash) = (seq, hash);
        self.open_since = self.open_since.or(Some(now));
        Added { seq, fields, prev_hash, entry_hash: hash }
    }

    /// Signs the current end of the chain. Returns the checkpoint of entry `seq` as one line of
    /// JSON.
    pub(crate) fn sign(&mut self, keys: &AuditKeys, now: UnixMillis) -> String {
        let previous = &self.checkpoint_hash;
        let checkpoint =
            Checkpoint::new(&self.client_id, self.seq, &self.entry_hash, previous, now);
        let hash = checkpoint.hash();
        (self.checkpoint_seq, self.checkpoint_hash, self.open_since) = (self.seq, hash, None);
        checkpoint.sign(keys).to_line()
    }

    /// The bytes under the MAC. All members after the client have a fixed length, so two different
    /// heads never give the same bytes.
    fn message(&self) -> Vec<u8> {
        let open_since = self.open_since.map_or(-1, |at| i64::try_from(at.0).unwrap_or(i64::MAX));
        [
            b"head\n",
            self.client_id.as_bytes(),
            b"\n",
            &self.seq.to_be_bytes(),
            &self.entry_hash,
            &self.checkpoint_seq.to_be_bytes(),
            &self.checkpoint_hash,
            &open_since.to_be_bytes(),
        ]
        .concat()
    }
}

/// The bytes under the MAC of the number of all entries.
pub(crate) fn total_message(entries: u64) -> Vec<u8> {
    [&b"total\n"[..], &entries.to_be_bytes()].concat()
}

/// PostgreSQL spreads the number of all entries over this many rows, chosen by the chain's name. A
/// single row would be a lock that every transaction waits for.
pub(crate) const SLICES: i64 = 64;

/// The bytes of one of these rows that the MAC covers.
pub(crate) fn slice_message(slice: i64, entries: u64) -> Vec<u8> {
    [&b"total\n"[..], &slice.to_be_bytes(), b"\n", &entries.to_be_bytes()].concat()
}
