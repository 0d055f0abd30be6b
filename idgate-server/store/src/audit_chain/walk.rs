//! Walks along a chain and checks that each entry follows the one before it.

use super::{AuditEntry, Hash, entry_hash, genesis};

/// An entry as it is stored.
#[derive(Clone, Copy, Debug)]
pub struct StoredEntry<'a> {
    /// Its place in the chain.
    pub seq: u64,
    /// Its canonical JSON.
    pub fields: &'a str,
    /// The hash of its predecessor.
    pub prev_hash: &'a [u8],
    /// Its own hash.
    pub entry_hash: &'a [u8],
}

/// The kinds of damage to a chain.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Damage {
    /// The entry's own hash does not match its content.
    HashMismatch,
    /// The entry names a predecessor other than the one stored.
    LinkBroken,
    /// Entries are missing before it, or it has a number that no entry should have.
    Gap,
    /// The chain ends before its head.
    TailCut,
    /// The instance did not write the head, or it is not that of the last entry.
    HeadMismatch,
    /// A checkpoint states something else, or this instance did not sign it.
    CheckpointMismatch,
    /// A client has no chain. Every client has one from its first key on.
    ChainMissing,
    /// The chains together do not have the stored number of entries.
    TotalMismatch,
    /// This instance did not sign the record of the removed beginning.
    RemovalMismatch,
}

impl Damage {
    /// The name in reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::HashMismatch => "hash_mismatch",
            Self::LinkBroken => "link_broken",
            Self::Gap => "gap",
            Self::TailCut => "tail_cut",
            Self::HeadMismatch => "head_mismatch",
            Self::CheckpointMismatch => "checkpoint_mismatch",
            Self::ChainMissing => "chain_missing",
            Self::TotalMismatch => "total_mismatch",
            Self::RemovalMismatch => "removal_mismatch",
        }
    }
}

/// The damage, and where it was found.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Breach {
    /// The client whose chain it is. `None`: the damage is about all chains.
    pub client_id: Option<String>,
    /// The first altered entry.
    pub seq: u64,
    /// The kind of damage.
    pub damage: Damage,
}

/// A walk along one chain from its beginning.
#[derive(Debug)]
pub struct ChainWalk<'a> {
    client_id: &'a str,
    seq: u64,
    hash: Hash,
}

impl<'a> ChainWalk<'a> {
    /// Starts before the first entry.
    pub fn new(client_id: &'a str) -> Self {
        Self { client_id, seq: 0, hash: genesis(client_id) }
    }

    /// Starts after entry `seq` and trusts its hash: the entry was removed, or is not checked.
    pub fn after(client_id: &'a str, seq: u64, hash: Hash) -> Self {
        Self { client_id, seq, hash }
    }

    /// The client whose chain it is.
    pub fn client_id(&self) -> &'a str {
        self.client_id
    }

    /// The number of the last entry passed. 0: none.
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// The hash of the last entry passed.
    pub fn hash(&self) -> &Hash {
        &self.hash
    }

    /// Passes the next entry.
    ///
    /// # Errors
    /// The entry does not follow. The walk stays where it is.
    pub fn step(&mut self, entry: &StoredEntry<'_>) -> Result<(), Damage> {
        let seq = self.seq.saturating_add(1);
        if entry.seq != seq {
            return Err(Damage::Gap);
        }
        if entry.prev_hash != self.hash {
            return Err(Damage::LinkBroken);
        }
        let hash = recompute(self.client_id, entry, &self.hash).ok_or(Damage::HashMismatch)?;
        (self.seq, self.hash) = (seq, hash);
        Ok(())
    }
}

impl StoredEntry<'_> {
    /// Whether the entry's own hash is right and its `prev_hash` is that of `predecessor` (`seq`,
    /// hash).
    pub fn is_intact(&self, client_id: &str, predecessor: Option<(u64, &[u8])>) -> bool {
        let follows = match predecessor {
            Some((seq, hash)) => seq.checked_add(1) == Some(self.seq) && hash == self.prev_hash,
            None => self.seq == 1 && genesis(client_id) == self.prev_hash,
        };
        let prev = self.prev_hash.try_into().ok();
        follows && prev.is_some_and(|prev| recompute(client_id, self, prev).is_some())
    }
}

/// The hash of an entry that follows `prev`, if it equals the stored one and the fields name this
/// client and number.
fn recompute(client_id: &str, entry: &StoredEntry<'_>, prev: &Hash) -> Option<Hash> {
    let hash = entry_hash(prev, entry.fields);
    let fields: AuditEntry = serde_json::from_str(entry.fields).ok()?;
    let own = fields.client_id == client_id && fields.seq == entry.seq;
    (own && entry.entry_hash == hash).then_some(hash)
}
