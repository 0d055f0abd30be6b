//! Verifying every chain of a data directory, beside a running server: the heads are read at one
//! moment, and the entries up to them in pages, so that no read keeps an old state of the file.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension as _};

use super::super::interface::StoreError;
use super::super::sql::{number, unsigned};
use super::checkpoints::genuine;
use super::{Head, removal, total};
use crate::audit::{
    AuditEntry, AuditKeys, Breach, ChainWalk, Checkpoint, Damage, Hash, SignedCheckpoint,
    StoredEntry, hex,
};

/// Entries read at a time.
const PAGE: u64 = 1000;

/// The first entry that is not as it was, and why.
type Place = (u64, Damage);

/// What checkpoints say is the hash, in hex, of which entry.
type Statements = BTreeMap<u64, Vec<String>>;

/// What a verification found.
#[derive(Clone, Debug, Default)]
pub struct AuditReport {
    /// How many chains were walked.
    pub chains: u64,
    /// How many entries they have.
    pub entries: u64,
    /// How many entries were removed when they were old.
    pub removed: u64,
    /// How many checkpoints were compared.
    pub checkpoints: u64,
    /// What is wrong: the first place of each chain.
    pub breaches: Vec<Breach>,
}

/// The log at one moment.
pub(in crate::store) struct Moment {
    pub(in crate::store) chains: BTreeMap<String, Chain>,
    /// How many entries there should be; `None`: the number is missing, or not the instance's.
    total: Option<u64>,
    without_chain: Vec<String>,
}

/// One chain at one moment.
pub(in crate::store) struct Chain {
    pub(in crate::store) client_id: String,
    /// And whether the instance wrote it.
    head: Option<(Head, bool)>,
    /// The last stored entry.
    pub(in crate::store) last: u64,
    pub(in crate::store) checkpoints: Vec<String>,
    /// The record of what was removed.
    pub(in crate::store) removal: Option<String>,
}

/// Reads the log of one database.
pub(in crate::store) struct Auditor<'c> {
    pub(in crate::store) main: &'c Connection,
    pub(in crate::store) keys: &'c AuditKeys,
}

impl Auditor<'_> {
    /// Walks the chains, or the one of `client`, of each the last `entries`, and compares their heads
    /// and checkpoints; besides, `elsewhere`: checkpoints that were kept outside the data directory.
    pub(in crate::store) fn verify(
        &self,
        client: Option<&str>,
        elsewhere: &[SignedCheckpoint],
        entries: u64,
    ) -> Result<AuditReport, StoreError> {
        let Moment { mut chains, total: recorded, without_chain } = self.chains(client)?;
        let mut report = AuditReport::default();
        let ours = |id: &str| client.is_none_or(|client| client == id);
        let kept: Vec<&SignedCheckpoint> =
            elsewhere.iter().filter(|checkpoint| ours(&checkpoint.client_id)).collect();
        for checkpoint in &kept {
            // A chain that is gone altogether is known from there only.
            chains.entry(checkpoint.client_id.clone()).or_insert_with_key(|id| Chain::none(id));
        }
        let heads = chains.values().filter_map(|chain| chain.head.as_ref());
        let sum = heads.fold(0_u64, |sum, (head, _)| sum.saturating_add(head.seq));
        for chain in chains.values() {
            let of_chain = kept.iter().copied().filter(|c| c.client_id == chain.client_id);
            let first = chain.last.saturating_sub(entries);
            let damage = self.verify_chain(chain, of_chain, first, &mut report)?;
            report.chains = report.chains.saturating_add(1);
            report.breaches.extend(damage.map(|(seq, damage)| Breach {
                client_id: Some(chain.client_id.clone()),
                seq,
                damage,
            }));
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

    /// Every chain as it is at this moment.
    pub(in crate::store) fn chains(&self, client: Option<&str>) -> Result<Moment, StoreError> {
        let moment = self.main.unchecked_transaction()?;
        let mut chains = BTreeMap::new();
        let named = match client {
            Some(client) => vec![client.to_owned()],
            None => chain_names(&moment)?,
        };
        for client_id in named {
            let head = moment
                .prepare_cached("SELECT * FROM audit_heads WHERE client_id = ?1")?
                .query_row([&client_id], |row| Head::from_row(self.keys, row))
                .optional()?;
            let last: Option<i64> = moment
                .prepare_cached("SELECT max(seq) FROM audit_entries WHERE client_id = ?1")?
                .query_row([&client_id], |row| row.get(0))?;
            let checkpoints = moment
                .prepare_cached(
                    "SELECT signed FROM audit_checkpoints WHERE client_id = ?1 ORDER BY seq",
                )?
                .query_map([&client_id], |row| row.get(0))?
                .collect::<Result<Vec<String>, _>>()?;
            let removal = removal::record(&moment, &client_id)?;
            if head.is_some() || last.is_some() || !checkpoints.is_empty() || removal.is_some() {
                let last = unsigned(last.unwrap_or(0));
                let chain =
                    Chain { client_id: client_id.clone(), head, last, checkpoints, removal };
                chains.insert(client_id, chain);
            }
        }
        let without_chain = moment
            .prepare_cached(
                "SELECT id FROM clients WHERE (?1 IS NULL OR id = ?1) \
                 AND id NOT IN (SELECT client_id FROM audit_heads)",
            )?
            .query_map([client], |row| row.get(0))?
            .collect::<Result<Vec<String>, _>>()?;
        // One with entries and no head is found where its chain ends.
        let without_chain =
            without_chain.into_iter().filter(|id| !chains.contains_key(id)).collect();
        let total = total(&moment, self.keys)?;
        moment.finish()?;
        Ok(Moment { chains, total, without_chain })
    }

    /// Hands the entries of a chain up to `last` to `take`, in order, until it says stop.
    pub(in crate::store) fn each_entry(
        &self,
        client_id: &str,
        (first, last): (u64, u64),
        mut take: impl FnMut(&StoredEntry<'_>) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        // From 0 on everything, whatever its number says.
        let mut next = if first == 0 { i64::MIN } else { number(first) };
        let mut going = true;
        while going {
            let mut statement = self.main.prepare_cached(
                "SELECT seq, fields, prev_hash, entry_hash FROM audit_entries \
                 WHERE client_id = ?1 AND seq >= ?2 AND seq <= ?3 ORDER BY seq LIMIT ?4",
            )?;
            let bounds = (client_id, next, number(last), number(PAGE));
            let mut rows = statement.query(bounds)?;
            let mut seen = 0;
            while let Some(row) = rows.next()? {
                let seq: i64 = row.get(0)?;
                next = seq.saturating_add(1);
                seen += 1;
                // A text that is not UTF-8 is none of ours: its hash will not match.
                let entry = StoredEntry {
                    seq: unsigned(seq),
                    fields: row.get_ref(1)?.as_str().unwrap_or_default(),
                    prev_hash: row.get_ref(2)?.as_blob().unwrap_or_default(),
                    entry_hash: row.get_ref(3)?.as_blob().unwrap_or_default(),
                };
                if !take(&entry)? {
                    return Ok(());
                }
            }
            going = seen == PAGE;
        }
        Ok(())
    }

    /// The first place where a chain is not as it was.
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
            Some(record) => match removal::end_of(self.keys, &chain.client_id, record) {
                None => return Ok(Some((1, Damage::RemovalMismatch))),
                end => end,
            },
        };
        let (mut walk, gone) = match removed {
            None => (ChainWalk::new(&chain.client_id), 0),
            Some((seq, hash)) => (ChainWalk::after(&chain.client_id, seq, hash), seq),
        };
        report.removed = report.removed.saturating_add(gone);
        // All that is stored is looked at, unless only its end is wanted.
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

    /// The hash that is stored with the entry `seq`: a shortened walk believes this one.
    fn hash_of(&self, client_id: &str, seq: u64) -> Result<Option<Hash>, StoreError> {
        let found: Option<Vec<u8>> = self
            .main
            .prepare_cached(
                "SELECT entry_hash FROM audit_entries WHERE client_id = ?1 AND seq = ?2",
            )?
            .query_row((client_id, number(seq)), |row| row.get(0))
            .optional()?;
        Ok(found.and_then(|hash| hash.try_into().ok()))
    }

    /// What the checkpoints of a chain say, and the first of them that is not genuine.
    fn statements<'k>(
        &self,
        chain: &Chain,
        kept: impl Iterator<Item = &'k SignedCheckpoint>,
    ) -> (Statements, Option<Place>) {
        let mut stated = Statements::new();
        let mut damage = None;
        let mut previous = Checkpoint::genesis(&chain.client_id);
        let mut last = 0;
        for text in &chain.checkpoints {
            let genuine = genuine(text, self.keys, &chain.client_id, &previous);
            let Some(signed) = genuine else {
                damage = damage.or(Some((last, Damage::CheckpointMismatch)));
                continue;
            };
            (previous, last) = (signed.checkpoint().hash(), signed.seq);
            stated.entry(signed.seq).or_default().push(signed.head_hash);
        }
        let head = chain.head.as_ref().map(|(head, _)| (head.checkpoint_seq, head.checkpoint_hash));
        if head.is_some_and(|head| head != (last, previous)) {
            damage = damage.or(Some((last, Damage::CheckpointMismatch)));
        }
        for signed in kept {
            if signed.is_signed_by(self.keys) {
                stated.entry(signed.seq).or_default().push(signed.head_hash.clone());
            } else {
                damage = damage.or(Some((signed.seq, Damage::CheckpointMismatch)));
            }
        }
        (stated, damage)
    }
}

impl Chain {
    fn none(client_id: &str) -> Self {
        Self {
            client_id: client_id.to_owned(),
            head: None,
            last: 0,
            checkpoints: Vec::new(),
            removal: None,
        }
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

/// The names of all chains: of heads, entries and checkpoints, since each may have been removed.
fn chain_names(main: &Connection) -> Result<Vec<String>, StoreError> {
    let mut statement = main.prepare(
        "WITH RECURSIVE
           e (id) AS (SELECT min(client_id) FROM audit_entries UNION ALL
             SELECT (SELECT min(client_id) FROM audit_entries WHERE client_id > e.id) FROM e
             WHERE e.id IS NOT NULL),
           c (id) AS (SELECT min(client_id) FROM audit_checkpoints UNION ALL
             SELECT (SELECT min(client_id) FROM audit_checkpoints WHERE client_id > c.id) FROM c
             WHERE c.id IS NOT NULL)
         SELECT client_id FROM audit_heads UNION SELECT id FROM e WHERE id IS NOT NULL
         UNION SELECT id FROM c WHERE id IS NOT NULL
         UNION SELECT client_id FROM audit_removals",
    )?;
    let names = statement.query_map([], |row| row.get(0))?;
    Ok(names.collect::<Result<_, _>>()?)
}

fn count(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

/// An entry as an export shows it: its fields and both hashes.
pub(in crate::store) fn exported(client_id: &str, entry: &StoredEntry<'_>) -> serde_json::Value {
    // What cannot be read any more keeps its place and its hashes, and is found by them.
    let fields = serde_json::from_str::<AuditEntry>(entry.fields).ok();
    let mut shown = fields
        .and_then(|fields| serde_json::to_value(fields).ok())
        .unwrap_or_else(|| serde_json::json!({ "client_id": client_id, "seq": entry.seq }));
    if let Some(members) = shown.as_object_mut() {
        members.insert("prev_hash".into(), hex(entry.prev_hash).into());
        members.insert("entry_hash".into(), hex(entry.entry_hash).into());
    }
    shown
}
