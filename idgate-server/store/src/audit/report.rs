//! Verifies every chain while the server runs. The heads are read in one snapshot and the entries
//! up to them in pages, so that no read holds back an old state of the database.

use std::collections::{BTreeMap, BTreeSet};

use super::super::types::StoreError;
use super::head::Found;
use super::proof::{EntryRow, end_of, genuine};
use crate::audit_chain::{
    AuditKeys, Breach, ChainWalk, Checkpoint, Damage, Hash, SignedCheckpoint, StoredEntry, hex,
};

/// How many entries are read at a time.
const PAGE: usize = 1000;

/// The first altered entry, and what is wrong with it.
type Place = (u64, Damage);

/// For each entry, the hashes (in hex) that checkpoints state for it.
type Statements = BTreeMap<u64, Vec<String>>;

/// The result of a verification.
#[derive(Clone, Debug, Default)]
pub struct AuditReport {
    /// How many chains were walked.
    pub chains: u64,
    /// How many entries the chains have.
    pub entries: u64,
    /// How many entries were removed because of their age.
    pub removed: u64,
    /// How many checkpoints were compared.
    pub checkpoints: u64,
    /// The first damaged place of each chain.
    pub breaches: Vec<Breach>,
}

/// The log in one snapshot.
#[derive(Debug, Default)]
pub(crate) struct Moment {
    pub(crate) chains: BTreeMap<String, Chain>,
    /// The expected number of entries. `None`: the number is missing, or its MAC is not the
    /// instance's.
    pub(crate) total: Option<u64>,
    /// Clients that have no head, entries, checkpoints or removals.
    pub(crate) without_chain: Vec<String>,
}

/// One chain in one snapshot.
#[derive(Debug, Default)]
pub(crate) struct Chain {
    pub(crate) client_id: String,
    /// The head, and whether its MAC is the instance's.
    pub(crate) head: Option<Found>,
    /// The number of the last stored entry.
    pub(crate) last: u64,
    /// In order.
    pub(crate) checkpoints: Vec<String>,
    /// The removal record.
    pub(crate) removal: Option<String>,
}

/// The stored log.
pub(crate) trait Log {
    /// All chains, or that of `client`, without the entries.
    fn moment(&self, client: Option<&str>) -> Result<Moment, StoreError>;

    /// At most `limit` entries between the two `bounds`, both included, in order.
    fn entries(
        &self,
        client_id: &str,
        bounds: (i64, u64),
        limit: usize,
    ) -> Result<Vec<EntryRow>, StoreError>;
}

/// Verifies a log with these keys.
pub(crate) struct Auditor<'c> {
    pub(crate) log: &'c dyn Log,
    pub(crate) keys: &'c AuditKeys,
}

impl Auditor<'_> {
    /// Walks all chains or the one of `client`, each by its last `entries`, and compares heads and
    /// checkpoints. It also compares `elsewhere`: checkpoints from a file outside the data
    /// directory.
    pub(crate) fn verify(
        &self,
        client: Option<&str>,
        elsewhere: &[SignedCheckpoint],
        entries: u64,
    ) -> Result<AuditReport, StoreError> {
        let Moment { mut chains, total: recorded, without_chain } = self.log.moment(client)?;
        let mut report = AuditReport::default();
        let ours = |id: &str| client.is_none_or(|client| client == id);
        let kept: Vec<&SignedCheckpoint> =
            elsewhere.iter().filter(|checkpoint| ours(&checkpoint.client_id)).collect();
        for checkpoint in &kept {
            // A chain that was removed completely is only known from these checkpoints.
            chains.entry(checkpoint.client_id.clone()).or_insert_with_key(|id| Chain::none(id));
        }
        let heads = chains.values().filter_map(|chain| chain.head.as_ref());
        let sum = heads.fold(0_u64, |sum, (head, _)| sum.saturating_add(head.seq));
        for (client_id, chain) in chains {
            let of_chain = kept.iter().copied().filter(|c| c.client_id == client_id);
            let (walked, damage) = self.verify_settled(chain, &of_chain, entries)?;
            report.add(&walked);
            let breach = |(seq, damage)| Breach { client_id: Some(client_id), seq, damage };
            report.breaches.extend(damage.map(breach));
        }
        report.breaches.extend(without_chain.into_iter().map(|client_id| Breach {
            client_id: Some(client_id),
            seq: 0,
            damage: Damage::ChainMissing,
        }));
        if client.is_none() && recorded != Some(sum) {
            let damage = Damage::TotalMismatch;
            report.breaches.push(Breach { client_id: None, seq: sum, damage });
        }
        Ok(report)
    }

    /// Walks a chain. If old entries are removed during the walk, it walks the chain again.
    fn verify_settled<'k>(
        &self,
        mut chain: Chain,
        kept: &(impl Iterator<Item = &'k SignedCheckpoint> + Clone),
        entries: u64,
    ) -> Result<(AuditReport, Option<Place>), StoreError> {
        loop {
            let mut walked = AuditReport { chains: 1, ..AuditReport::default() };
            let first = chain.last.saturating_sub(entries);
            let damage = self.verify_chain(&chain, kept.clone(), first, &mut walked)?;
            if damage.is_none() {
                return Ok((walked, damage));
            }
            match self.log.moment(Some(&chain.client_id))?.chains.remove(&chain.client_id) {
                Some(later) if later.removal != chain.removal => chain = later,
                _ => return Ok((walked, damage)),
            }
        }
    }

    /// Passes the entries of a chain up to `last` to `take`, in order, until `take` says stop.
    pub(crate) fn each_entry(
        &self,
        client_id: &str,
        (first, last): (u64, u64),
        mut take: impl FnMut(&StoredEntry<'_>) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        // 0 means from the very beginning, including entries with impossible numbers.
        let mut next = if first == 0 { i64::MIN } else { signed(first) };
        loop {
            let rows = self.log.entries(client_id, (next, last), PAGE)?;
            for row in &rows {
                if !take(&row.stored())? {
                    return Ok(());
                }
            }
            match rows.last() {
                Some(last) if rows.len() == PAGE => next = last.seq.saturating_add(1),
                _ => return Ok(()),
            }
        }
    }

    /// The first place where a chain was altered.
    fn verify_chain<'k>(
        &self,
        chain: &Chain,
        kept: impl Iterator<Item = &'k SignedCheckpoint>,
        first: u64,
        report: &mut AuditReport,
    ) -> Result<Option<Place>, StoreError> {
        let (stated, mut damage) = self.statements(chain, kept);
        report.checkpoints = report.checkpoints.saturating_add(count(stated.len()));
        let removed = match &chain.removal {
            None => None,
            Some(record) => match end_of(self.keys, &chain.client_id, record) {
                None => return Ok(Some((1, Damage::RemovalMismatch))),
                end => end,
            },
        };
        let (mut walk, gone) = match removed {
            None => (ChainWalk::new(&chain.client_id), 0),
            Some((seq, hash)) => (ChainWalk::after(&chain.client_id, seq, hash), seq),
        };
        report.removed = report.removed.saturating_add(gone);
        // All stored entries are checked, unless the caller only wants the end.
        let mut from = 0;
        if first > gone
            && let Some(hash) = self.hash_of(&chain.client_id, first)?
        {
            walk = ChainWalk::after(&chain.client_id, first, hash);
            from = first.saturating_add(1);
        }
        let begun = walk.seq();
        let mut broken = None;
        let states = |heads: &Vec<String>| heads.iter().all(|head| *head == hex(walk.hash()));
        if !stated.get(&begun).is_none_or(states) {
            return Ok(Some((begun, Damage::CheckpointMismatch)));
        }
        self.each_entry(&chain.client_id, (from, chain.last), |entry| {
            if let Err(damage) = walk.step(entry) {
                broken = Some((walk.seq().saturating_add(1), damage));
                return Ok(false);
            }
            let states = |heads: &Vec<String>| heads.iter().all(|head| *head == hex(walk.hash()));
            if !stated.get(&entry.seq).is_none_or(states) {
                broken = Some((entry.seq, Damage::CheckpointMismatch));
            }
            Ok(broken.is_none())
        })?;
        report.entries = report.entries.saturating_add(walk.seq().saturating_sub(begun));
        let cut = stated.keys().next_back().filter(|seq| **seq > walk.seq());
        let cut = cut.map(|_| (walk.seq().saturating_add(1), Damage::TailCut));
        damage = broken.or_else(|| chain.end(&walk)).or(cut).or(damage);
        Ok(damage)
    }

    /// The stored hash of entry `seq`. A shortened walk trusts this one.
    fn hash_of(&self, client_id: &str, seq: u64) -> Result<Option<Hash>, StoreError> {
        let found = self.log.entries(client_id, (signed(seq), seq), 1)?;
        Ok(found.into_iter().next().and_then(|row| row.entry_hash.try_into().ok()))
    }

    /// The statements in the checkpoints of a chain, and the first checkpoint that is not genuine.
    fn statements<'k>(
        &self,
        chain: &Chain,
        kept: impl Iterator<Item = &'k SignedCheckpoint>,
    ) -> (Statements, Option<Place>) {
        let mut stated = Statements::new();
        let mut damage = None;
        let mut previous = Checkpoint::genesis(&chain.client_id);
        let mut last = 0;
        let mut known = BTreeSet::new();
        for text in &chain.checkpoints {
            let genuine = genuine(text, self.keys, &chain.client_id, &previous);
            let Some(signed) = genuine else {
                damage = damage.or(Some((last, Damage::CheckpointMismatch)));
                continue;
            };
            (previous, last) = (signed.checkpoint().hash(), signed.seq);
            known.insert(previous);
            stated.entry(signed.seq).or_default().push(signed.head_hash);
        }
        let head = chain.head.as_ref().map(|(head, _)| (head.checkpoint_seq, head.checkpoint_hash));
        if head.is_some_and(|head| head != (last, previous)) {
            damage = damage.or(Some((last, Damage::CheckpointMismatch)));
        }
        for signed in kept {
            if signed.is_signed_by(self.keys) {
                stated.entry(signed.seq).or_default().push(signed.head_hash.clone());
            } else if !known.contains(&signed.checkpoint().hash()) {
                // If the hash is known, the stored checkpoint states the same under the key that
                // replaced this one.
                damage = damage.or(Some((signed.seq, Damage::CheckpointMismatch)));
            }
        }
        (stated, damage)
    }
}

impl AuditReport {
    /// Adds the counts of a walked chain.
    fn add(&mut self, walked: &Self) {
        self.chains = self.chains.saturating_add(walked.chains);
        self.entries = self.entries.saturating_add(walked.entries);
        self.removed = self.removed.saturating_add(walked.removed);
        self.checkpoints = self.checkpoints.saturating_add(walked.checkpoints);
    }
}

impl Chain {
    fn none(client_id: &str) -> Self {
        Self { client_id: client_id.to_owned(), ..Self::default() }
    }

    /// Whether the walk ended where the head says.
    fn end(&self, walk: &ChainWalk<'_>) -> Option<Place> {
        let next = walk.seq().saturating_add(1);
        match &self.head {
            Some((head, true)) if head.seq > walk.seq() => Some((next, Damage::TailCut)),
            Some((head, true)) if (head.seq, &head.entry_hash) == (walk.seq(), walk.hash()) => None,
            None if self.last == 0 => None,
            _ => Some((walk.seq(), Damage::HeadMismatch)),
        }
    }
}

fn count(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}
