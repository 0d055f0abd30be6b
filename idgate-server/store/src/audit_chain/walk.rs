//! Walking along a chain: does every entry follow the one before it?

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

/// What is wrong with a chain.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Damage {
    /// The entry's own hash does not recompute.
    HashMismatch,
    /// It names another predecessor than the one it has.
    LinkBroken,
    /// Entries are missing before it, or it stands where none belongs.
    Gap,
    /// The chain ends before its head.
    TailCut,
    /// The head is not the one that the instance wrote, or not that of the last entry.
    HeadMismatch,
    /// A checkpoint says something else, or was not signed by this instance.
    CheckpointMismatch,
    /// A client has no chain: every one has, from its first key on.
    ChainMissing,
    /// All chains together have another length than they were given.
    TotalMismatch,
    /// What says that the beginning was removed was not signed by this instance.
    RemovalMismatch,
}

impl Damage {
    /// Its name in reports.
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

/// Damage and where it was met.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Breach {
    /// Whose chain; `None`: all of them.
    pub client_id: Option<String>,
    /// The first entry that is not as it was.
    pub seq: u64,
    /// What is wrong.
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
    /// Before the first entry.
    pub fn new(client_id: &'a str) -> Self {
        Self { client_id, seq: 0, hash: genesis(client_id) }
    }

    /// After the entry `seq`, whose hash is believed: it was removed, or is not looked at.
    pub fn after(client_id: &'a str, seq: u64, hash: Hash) -> Self {
        Self { client_id, seq, hash }
    }

    /// Whose chain it is.
    pub fn client_id(&self) -> &'a str {
        self.client_id
    }

    /// The last entry that was passed; 0: none.
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// Its hash.
    pub fn hash(&self) -> &Hash {
        &self.hash
    }

    /// Passes the next entry.
    ///
    /// # Errors
    /// It does not follow; the walk stays where it is.
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
    /// Whether its own hash recomputes and its `prev_hash` is that of `predecessor` (`seq`, hash).
    pub fn is_intact(&self, client_id: &str, predecessor: Option<(u64, &[u8])>) -> bool {
        let follows = match predecessor {
            Some((seq, hash)) => seq.checked_add(1) == Some(self.seq) && hash == self.prev_hash,
            None => self.seq == 1 && genesis(client_id) == self.prev_hash,
        };
        let prev = self.prev_hash.try_into().ok();
        follows && prev.is_some_and(|prev| recompute(client_id, self, prev).is_some())
    }
}

/// The hash of an entry that follows `prev`, if it is the stored one and its fields say who and
/// where it is.
fn recompute(client_id: &str, entry: &StoredEntry<'_>, prev: &Hash) -> Option<Hash> {
    let hash = entry_hash(prev, entry.fields);
    let fields: AuditEntry = serde_json::from_str(entry.fields).ok()?;
    let own = fields.client_id == client_id && fields.seq == entry.seq;
    (own && entry.entry_hash == hash).then_some(hash)
}
