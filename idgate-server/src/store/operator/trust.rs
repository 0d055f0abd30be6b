//! The trust store, as operators change it.

use idgate_core::time::UnixMillis;

use super::{OperatorStore, append, record_if_possible};
use crate::audit::{AuditEvent, AuditKeys, OPERATOR, OPERATOR_CHAIN};
use crate::store::db::Db;
use crate::store::failure::{Done, Failure};
use crate::store::interface::{FetchedList, Refreshed, StoreError};
use crate::store::postgres::{list_refresh, trust as postgres, trusted_lists};
use crate::store::trust::{self as sqlite, RemovedMaterial, TrustChange, TrustRecord, listed_rows};

/// Commands about the trust store.
impl OperatorStore {
    /// Adds material to a trust entry and replaces named attributes; the entry as it then is.
    /// `None`: it would stay without any material, so nothing was stored.
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
            add(db, issuer_id, change, now).await?;
            let record = find(db, issuer_id).await?.filter(TrustRecord::has_material);
            if record.is_none() {
                db.command("ROLLBACK TO SAVEPOINT entry").await?;
                return Ok(None);
            }
            let event = AuditEvent::trust_changed(issuer_id, now);
            append(db, keys, OPERATOR_CHAIN, event).await?;
            Ok(record)
        })
    }

    /// All trust entries by name.
    ///
    /// # Errors
    /// The database failed.
    pub fn trust_entries(&self) -> Result<Vec<TrustRecord>, StoreError> {
        self.look(async |db| match db {
            Db::Sqlite(main) => Ok(sqlite::records(main)?),
            Db::Transaction(tx) => postgres::records(tx, None).await,
            Db::Client(_) => Err(no_transaction()),
        })
    }

    /// The trust entry of that name.
    ///
    /// # Errors
    /// The database failed.
    pub fn trust_entry(&self, issuer_id: &str) -> Result<Option<TrustRecord>, StoreError> {
        self.look(async |db| find(db, issuer_id).await)
    }

    /// Removes a trust entry with its material; `false`: there is none.
    ///
    /// # Errors
    /// The database failed; or the entry is removed, as the text says then, and only the audit log
    /// was altered: that must not keep anything trusted.
    pub fn remove_trust(&mut self, issuer_id: &str, now: UnixMillis) -> Result<bool, StoreError> {
        let keys = self.audit_keys();
        let (found, recorded) = self.change(async |db| {
            let found = match db {
                Db::Sqlite(main) => sqlite::remove(main, issuer_id)?,
                Db::Transaction(tx) => {
                    list_refresh::hold(tx).await?;
                    postgres::remove(tx, issuer_id).await?
                }
                Db::Client(_) => return Err(no_transaction()),
            };
            Ok((found, record_change(db, keys, issuer_id, found, now).await?))
        })?;
        recorded.map_err(|why| StoreError::Failed(format!("{issuer_id} is removed, but {why}")))?;
        Ok(found)
    }

    /// Gives every entry that takes its trusted list from there the one that was fetched.
    ///
    /// # Errors
    /// The database failed.
    pub fn refresh_list(
        &mut self,
        list: &FetchedList,
        now: UnixMillis,
    ) -> Result<Refreshed, StoreError> {
        let keys = self.audit_keys();
        self.change(async |db| match db {
            Db::Sqlite(main) => {
                let (outcome, events) = listed_rows::refresh(main, list, OPERATOR, now)?;
                for event in events {
                    append(db, keys, OPERATOR_CHAIN, event).await?;
                }
                Ok(outcome)
            }
            Db::Transaction(tx) => {
                list_refresh::refresh_and_record(tx, keys, list, (OPERATOR, now)).await
            }
            Db::Client(_) => Err(no_transaction()),
        })
    }

    /// Keeps that nothing could be fetched from `url`.
    ///
    /// # Errors
    /// The database failed.
    pub fn note_list_failure(
        &mut self,
        url: &str,
        why: &str,
        now: UnixMillis,
    ) -> Result<(), StoreError> {
        self.change(async |db| match db {
            Db::Sqlite(main) => Ok(listed_rows::note(main, url, Some(why), now)?),
            Db::Transaction(tx) => trusted_lists::note(tx, url, Some(why), now).await,
            Db::Client(_) => Err(no_transaction()),
        })
    }

    /// Removes the material of a trust entry that has this hash, and says what it was. Empty: there
    /// is none. `None`: there is no such entry.
    ///
    /// # Errors
    /// The database failed; or the audit log was altered, and the text says that the material is removed all the same.
    pub fn remove_trust_material(
        &mut self,
        issuer_id: &str,
        sha256: &[u8; 32],
        now: UnixMillis,
    ) -> Result<Option<Vec<RemovedMaterial>>, StoreError> {
        let keys = self.audit_keys();
        let (removed, recorded) = self.change(async |db| {
            let removed = match db {
                Db::Sqlite(main) => sqlite::remove_material(main, issuer_id, sha256)?,
                Db::Transaction(tx) => postgres::remove_material(tx, issuer_id, sha256).await?,
                Db::Client(_) => return Err(no_transaction()),
            };
            let changed = removed.as_ref().is_some_and(|removed| !removed.is_empty());
            Ok((removed, record_change(db, keys, issuer_id, changed, now).await?))
        })?;
        recorded.map_err(|why| StoreError::Failed(format!("it is removed, but {why}")))?;
        Ok(removed)
    }
}

/// Records a change of an entry, if there was one.
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

async fn add(db: &Db<'_>, issuer_id: &str, change: &TrustChange, now: UnixMillis) -> Done<()> {
    match db {
        Db::Sqlite(main) => Ok(sqlite::add(main, issuer_id, change, now)?),
        Db::Transaction(tx) => postgres::add(tx, issuer_id, change, now).await,
        Db::Client(_) => Err(no_transaction()),
    }
}

async fn find(db: &Db<'_>, issuer_id: &str) -> Done<Option<TrustRecord>> {
    match db {
        Db::Sqlite(main) => Ok(sqlite::find(main, issuer_id)?),
        Db::Transaction(tx) => postgres::find(tx, issuer_id).await,
        Db::Client(_) => Err(no_transaction()),
    }
}

fn no_transaction() -> Failure {
    Failure::failed("the trust store is read and changed in a transaction")
}
