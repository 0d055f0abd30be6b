//! Exports the audit log as one JSON object, for verification elsewhere.

use std::io::{self, Write};

use super::proof::end_of;
use super::report::{Auditor, Chain};
use crate::audit_chain::{AuditEntry, StoredEntry, hex};
use crate::types::StoreError;

/// Why an export is incomplete.
#[derive(Debug)]
pub enum ExportError {
    /// The store failed.
    Store(StoreError),
    /// The output could not be written.
    Output(io::Error),
}

impl From<StoreError> for ExportError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<io::Error> for ExportError {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl Auditor<'_> {
    /// Writes `{"entries":[…],"checkpoints":[…],"removals":[…]}` of all chains, or of the chain of
    /// `client`, oldest first. `false`: that client has no chain, and nothing was written.
    pub(crate) fn export(
        &self,
        client: Option<&str>,
        out: &mut dyn Write,
    ) -> Result<bool, ExportError> {
        let chains = self.log.moment(client)?.chains;
        if client.is_some() && chains.is_empty() {
            return Ok(false);
        }
        out.write_all(b"{\"entries\":[")?;
        let mut separator = "\n";
        let mut removals = Vec::new();
        for chain in chains.values() {
            removals.extend(self.export_chain(chain, out, &mut separator)?);
        }
        out.write_all(b"\n],\"checkpoints\":[")?;
        let mut separator = "\n";
        for checkpoint in chains.values().flat_map(|chain| &chain.checkpoints) {
            write!(out, "{separator}{checkpoint}")?;
            separator = ",\n";
        }
        out.write_all(b"\n],\"removals\":[")?;
        let mut separator = "\n";
        for removal in removals {
            write!(out, "{separator}{removal}")?;
            separator = ",\n";
        }
        out.write_all(b"\n]}\n")?;
        out.flush()?;
        Ok(true)
    }

    /// Writes the entries of a chain, and returns the record of the entries that were removed
    /// before them. If old entries are removed during the export, the returned record covers those
    /// as well.
    fn export_chain(
        &self,
        chain: &Chain,
        out: &mut dyn Write,
        separator: &mut &'static str,
    ) -> Result<Option<String>, ExportError> {
        let client_id = &*chain.client_id;
        let (first, removal) = self.beginning(chain)?;
        let (mut written, mut last, mut is_cut) = (Ok(()), None, false);
        self.each_entry(client_id, (first, chain.last), |entry| {
            let follows = last.is_none_or(|last: u64| entry.seq == last.saturating_add(1));
            let begins = last.is_some() || first == 0 || entry.seq == first;
            if !(follows && begins) && self.removal(client_id)? != removal {
                is_cut = true;
                return Ok(false);
            }
            last = Some(entry.seq);
            written = write!(out, "{separator}{}", exported(client_id, entry));
            *separator = ",\n";
            Ok(written.is_ok())
        })?;
        written?;
        // The second case: every remaining entry was removed in between.
        let is_whole = last == Some(chain.last) || first > chain.last;
        if is_cut || (!is_whole && self.removal(client_id)? != removal) {
            return Err(ExportError::Store(StoreError::Unavailable(
                "old entries were removed while they were exported; export again".into(),
            )));
        }
        Ok(removal)
    }

    /// The number of the first stored entry of a chain (0: start with any entry), and the record of
    /// the removal before it.
    fn beginning(&self, chain: &Chain) -> Result<(u64, Option<String>), StoreError> {
        let mut removal = chain.removal.clone();
        loop {
            let of_record = removal.as_ref().map(|it| end_of(self.keys, &chain.client_id, it));
            let Some(gone) = of_record.map_or(Some(0), |end| end.map(|(seq, _)| seq)) else {
                return Ok((0, removal));
            };
            let found = self.log.entries(&chain.client_id, (i64::MIN, chain.last), 1)?;
            let first = found.first().map(|row| row.stored().seq);
            if first == Some(gone.saturating_add(1)) {
                return Ok((first.unwrap_or(0), removal));
            }
            let later = self.removal(&chain.client_id)?;
            if later == removal {
                return Ok((0, removal));
            }
            removal = later;
        }
    }

    fn removal(&self, client_id: &str) -> Result<Option<String>, StoreError> {
        let mut chains = self.log.moment(Some(client_id))?.chains;
        Ok(chains.remove(client_id).and_then(|chain| chain.removal))
    }
}

/// An entry in the form of an export: its fields and both hashes.
fn exported(client_id: &str, entry: &StoredEntry<'_>) -> serde_json::Value {
    // An entry that cannot be parsed keeps its place and its hashes, so that a verifier finds it.
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

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use std::cell::Cell;

    use idgate_core::UnixMillis;

    use super::super::proof::EntryRow;
    use super::super::report::{Log, Moment};
    use super::*;
    use crate::audit_chain::{AuditKeys, Removal};
    use crate::seal::InstanceKey;

    /// Five entries. The first `removed` of them are gone from the read number `before` on.
    struct Ageing<'k> {
        keys: &'k AuditKeys,
        removed: u64,
        before: usize,
        reads: Cell<usize>,
    }

    impl Ageing<'_> {
        fn gone(&self) -> u64 {
            if self.reads.get() >= self.before { self.removed } else { 0 }
        }
    }

    impl Log for Ageing<'_> {
        fn moment(&self, _: Option<&str>) -> Result<Moment, StoreError> {
            let record = |gone| Removal::new("cli_1", gone, &[7; 32], UnixMillis(0));
            let removal = Some(self.gone()).filter(|gone| *gone > 0);
            let removal = removal.map(|gone| record(gone).sign(self.keys).to_line());
            let client_id = "cli_1".to_owned();
            let chain =
                Chain { client_id: client_id.clone(), last: 5, removal, ..Chain::default() };
            Ok(Moment { chains: [(client_id, chain)].into(), ..Moment::default() })
        }

        fn entries(
            &self,
            _: &str,
            (first, last): (i64, u64),
            limit: usize,
        ) -> Result<Vec<EntryRow>, StoreError> {
            self.reads.set(self.reads.get() + 1);
            let first = u64::try_from(first).unwrap_or(0).max(self.gone() + 1);
            let row = |seq| EntryRow { seq: i64::try_from(seq).unwrap(), ..EntryRow::default() };
            Ok((first..=last).map(row).take(limit).collect())
        }
    }

    /// The numbers of the exported entries, and the last number that the removal record covers.
    fn export(removed: u64, before: usize) -> Result<(Vec<u64>, Vec<u64>), ExportError> {
        let keys = AuditKeys::new(&InstanceKey::generate().unwrap()).unwrap();
        let log = &Ageing { keys: &keys, removed, before, reads: Cell::new(0) };
        let mut out = Vec::new();
        Auditor { log, keys: &keys }.export(None, &mut out)?;
        let shown: serde_json::Value = serde_json::from_slice(&out).unwrap();
        let of = |list: &str, member: &str| {
            let list = shown[list].as_array().unwrap().iter();
            list.map(|item| item[member].as_u64().unwrap()).collect()
        };
        Ok((of("entries", "seq"), of("removals", "last_seq")))
    }

    #[test]
    fn the_removal_record_covers_entries_removed_during_an_export() {
        assert_eq!(export(0, 0).unwrap(), (vec![1, 2, 3, 4, 5], vec![]));
        assert_eq!(export(2, 0).unwrap(), (vec![3, 4, 5], vec![2]));
        assert_eq!(export(2, 1).unwrap(), (vec![3, 4, 5], vec![2]));
        assert_eq!(export(5, 1).unwrap(), (vec![], vec![5]));
    }

    #[test]
    fn an_entry_removed_in_the_middle_of_an_export_is_an_error() {
        for removed in [2, 5] {
            let error = export(removed, 2).unwrap_err();
            let is_told = matches!(error, ExportError::Store(StoreError::Unavailable(_)));
            assert!(is_told, "{removed}: {error:?}");
        }
    }
}
