//! Operator commands on the trust store.

use idgate_core::UnixMillis;

use super::{OperatorStore, record_if_possible};
use crate::audit_append::append;
use crate::audit_chain::{AuditEvent, AuditKeys, OPERATOR, OPERATOR_CHAIN};
use crate::db::Db;
use crate::failure::Done;
use crate::trust::{
    RemovedMaterial, TrustChange, TrustRecord, entries, list_of_lists_rows, listed_rows,
    remove_material,
};
use crate::types::{FetchedList, FetchedListOfLists, Refreshed, StoreError};

/// Commands about the trust store.
impl OperatorStore {
    /// Adds material to a trust entry and replaces the given attributes. Returns the entry after
    /// the change. `None`: the entry would have no material, so nothing was stored.
    ///
    /// # Errors
    /// The database failed.
    pub fn add_trust(
        &mut self,
        issuer_id: &str,
        change: &TrustChange,
        now: UnixMillis,
    ) -> Result<Option<TrustRecord>, StoreError> {
        let keys = self.audit_keys();
        self.change(async |db| {
            db.command("SAVEPOINT entry").await?;
            entries::add(db, issuer_id, change, now).await?;
            let record = entries::find(db, issuer_id).await?.filter(TrustRecord::has_material);
            if record.is_none() {
                db.command("ROLLBACK TO SAVEPOINT entry").await?;
                return Ok(None);
            }
            let event = AuditEvent::trust_changed(issuer_id, now);
            append(db, keys, OPERATOR_CHAIN, event).await?;
            Ok(record)
        })
    }

    /// Returns all trust entries, sorted by name.
    ///
    /// # Errors
    /// The database failed.
    pub fn trust_entries(&self) -> Result<Vec<TrustRecord>, StoreError> {
        self.look(async |db| entries::records(db, None).await)
    }

    /// Returns the trust entry with this name.
    ///
    /// # Errors
    /// The database failed.
    pub fn trust_entry(&self, issuer_id: &str) -> Result<Option<TrustRecord>, StoreError> {
        self.look(async |db| entries::find(db, issuer_id).await)
    }

    /// Removes a trust entry with its material. `false`: it does not exist.
    ///
    /// # Errors
    /// The database failed. Or the entry was removed, but the audit log was altered, and the text
    /// says so. An altered audit log must not keep an issuer trusted.
    pub fn remove_trust(&mut self, issuer_id: &str, now: UnixMillis) -> Result<bool, StoreError> {
        let keys = self.audit_keys();
        let (found, recorded) = self.change(async |db| {
            let found = entries::remove(db, issuer_id).await?;
            Ok((found, record_change(db, keys, issuer_id, found, now).await?))
        })?;
        recorded.map_err(|why| StoreError::Failed(format!("{issuer_id} is removed, but {why}")))?;
        Ok(found)
    }

    /// Stores the fetched list in every entry that follows its URL and accepts it.
    ///
    /// # Errors
    /// The database failed.
    pub fn refresh_list(
        &mut self,
        list: &FetchedList,
        now: UnixMillis,
    ) -> Result<Refreshed, StoreError> {
        let keys = self.audit_keys();
        self.change(async |db| {
            let (outcome, events) = listed_rows::refresh(db, list, (OPERATOR, now)).await?;
            for event in events {
                append(db, keys, OPERATOR_CHAIN, event).await?;
            }
            Ok(outcome)
        })
    }

    /// Returns the URLs of the lists that a newly fetched list of lists names in place of those in
    /// force. They must be fetched before [`OperatorStore::refresh_list_of_lists`].
    ///
    /// # Errors
    /// The database failed.
    pub fn moved_lists(
        &self,
        fetched: &FetchedList,
        now: UnixMillis,
    ) -> Result<Vec<String>, StoreError> {
        self.look(async |db| list_of_lists_rows::moved(db, fetched, now).await)
    }

    /// Stores the fetched list of lists, with the list that it names, in every entry that follows
    /// its URL and accepts it.
    ///
    /// # Errors
    /// The database failed.
    pub fn refresh_list_of_lists(
        &mut self,
        fetched: &FetchedListOfLists,
        now: UnixMillis,
    ) -> Result<Refreshed, StoreError> {
        let keys = self.audit_keys();
        self.change(async |db| {
            let by = (OPERATOR, now);
            let (outcome, events) = list_of_lists_rows::refresh(db, fetched, by).await?;
            for event in events {
                append(db, keys, OPERATOR_CHAIN, event).await?;
            }
            Ok(outcome)
        })
    }

    /// Notes that fetching from `url` failed.
    ///
    /// # Errors
    /// The database failed.
    pub fn note_list_failure(
        &mut self,
        url: &str,
        why: &str,
        now: UnixMillis,
    ) -> Result<(), StoreError> {
        self.change(async |db| listed_rows::note(db, url, Some(why), now).await)
    }

    /// Notes that fetching a list of lists from `url` failed.
    ///
    /// # Errors
    /// The database failed.
    pub fn note_list_of_lists_failure(
        &mut self,
        url: &str,
        why: &str,
        now: UnixMillis,
    ) -> Result<(), StoreError> {
        self.change(async |db| list_of_lists_rows::note(db, url, Some(why), now).await)
    }

    /// Removes the material of a trust entry with this hash, and returns what it was. Empty: the
    /// entry has no such material. `None`: the entry does not exist.
    ///
    /// # Errors
    /// The database failed. Or the audit log was altered, and the text says that the material was
    /// removed nevertheless.
    pub fn remove_trust_material(
        &mut self,
        issuer_id: &str,
        sha256: &[u8; 32],
        now: UnixMillis,
    ) -> Result<Option<Vec<RemovedMaterial>>, StoreError> {
        let keys = self.audit_keys();
        let (removed, recorded) = self.change(async |db| {
            let removed = remove_material(db, issuer_id, sha256).await?;
            let changed = removed.as_ref().is_some_and(|removed| !removed.is_empty());
            Ok((removed, record_change(db, keys, issuer_id, changed, now).await?))
        })?;
        recorded.map_err(|why| StoreError::Failed(format!("it is removed, but {why}")))?;
        Ok(removed)
    }
}

/// Records the change of an entry, if anything changed.
async fn record_change(
    db: &Db<'_>,
    keys: &AuditKeys,
    issuer_id: &str,
    changed: bool,
    now: UnixMillis,
) -> Done<Result<(), String>> {
    let event = changed.then(|| AuditEvent::trust_changed(issuer_id, now));
    record_if_possible(db, keys, OPERATOR_CHAIN, event).await
}
