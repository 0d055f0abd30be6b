//! The operator's side of the data directory. It works beside a running server: each call is one
//! transaction, and the server sees it with its next read.

use std::path::Path;

use idgate_core::time::UnixMillis;
use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::keys::{self, ClientRecord, ClientWish, NewClient};
use super::trust::{self, TrustChange, TrustRecord};
use super::{StoreError, audit, directory, schema};
use crate::audit::{AuditEvent, AuditKeys, AuditStatus};
use crate::entropy::OsEntropy;
use crate::seal::{InstanceKey, Sealer};

/// Clients and trust of one data directory.
#[derive(Debug)]
pub struct OperatorStore {
    pub(super) main: Connection,
    pub(super) sealer: Sealer,
    pub(super) audit: AuditKeys,
}

impl OperatorStore {
    /// Opens the data directory, which is made when there is none. `instance_key`: `None` means
    /// the one in the directory.
    ///
    /// # Errors
    /// It cannot be used, or the key is not its key; the text says what to do.
    pub fn open(dir: &Path, instance_key: Option<&InstanceKey>) -> Result<Self, StoreError> {
        directory::create(dir)?;
        Self::open_existing(dir, instance_key)
    }

    /// Opens the data directory if there is one.
    ///
    /// # Errors
    /// As [`OperatorStore::open`], and when there is none.
    pub fn open_existing(
        dir: &Path,
        instance_key: Option<&InstanceKey>,
    ) -> Result<Self, StoreError> {
        if !dir.is_dir() {
            return Err(StoreError::Failed(format!(
                "there is no data directory {}; set IDGATE_DATA_DIR, or make one with \
                 `idgate client create` or `idgate trust add`",
                dir.display()
            )));
        }
        let key = directory::instance_key(dir, instance_key)?;
        let (sealer, audit) = (Sealer::new(&key)?, AuditKeys::new(&key)?);
        // A running server of an older version would not find its tables any more.
        let _nobody_serves = schema::is_older(dir)?.then(|| directory::lock(dir)).transpose()?;
        let main = schema::open_main(dir)?;
        directory::check_key(&main, &sealer)?;
        Ok(Self { main, sealer, audit })
    }

    /// Makes a client with one key. `scopes`: `None` means all.
    pub fn create_client(
        &mut self,
        name: &str,
        livemode: bool,
        scopes: Option<&[String]>,
        now: UnixMillis,
    ) -> Result<NewClient, StoreError> {
        let transaction = begin(&mut self.main)?;
        let wish = ClientWish { name, livemode, scopes };
        let client = keys::create_client(&transaction, &self.sealer, &wish, &mut OsEntropy, now)?;
        let event = AuditEvent::of_client(AuditStatus::ApiKeyCreated, now);
        audit::append(&transaction, &self.audit, &client.client_id, event)?;
        transaction.commit()?;
        Ok(client)
    }

    /// All clients, newest first.
    pub fn clients(&self) -> Result<Vec<ClientRecord>, StoreError> {
        keys::clients(&self.main)
    }

    /// Stops every key of a client at once; `false`: there is no such client.
    ///
    /// # Errors
    /// The database failed; or the keys are stopped, as the text says then, and only their audit log
    /// was altered, so that nothing can be added to it: that must not keep a key alive.
    pub fn revoke_client(&mut self, id: &str, now: UnixMillis) -> Result<bool, StoreError> {
        let mut transaction = begin(&mut self.main)?;
        let revoked = keys::revoke_client(&transaction, id, now)?;
        let mut entries = transaction.savepoint()?;
        let recorded = (0..revoked.unwrap_or(0)).try_for_each(|_key| {
            let event = AuditEvent::of_client(AuditStatus::ApiKeyRevoked, now);
            audit::append(&entries, &self.audit, id, event)
        });
        if recorded.is_err() {
            entries.rollback()?;
        }
        entries.commit()?;
        transaction.commit()?;
        match recorded {
            Err(StoreError::Failed(why)) => {
                Err(StoreError::Failed(format!("every key of {id} is stopped, but {why}")))
            }
            recorded => recorded.map(|()| revoked.is_some()),
        }
    }

    /// Adds material to a trust entry and replaces named attributes; the entry as it then is.
    /// `None`: it would stay without any material, so nothing was stored.
    pub fn add_trust(
        &mut self,
        issuer_id: &str,
        change: &TrustChange,
        now: UnixMillis,
    ) -> Result<Option<TrustRecord>, StoreError> {
        let transaction = begin(&mut self.main)?;
        trust::add(&transaction, issuer_id, change, now)?;
        let record = trust::find(&transaction, issuer_id)?.filter(TrustRecord::has_material);
        if record.is_some() {
            transaction.commit()?;
        }
        Ok(record)
    }

    /// All trust entries by name.
    pub fn trust_entries(&self) -> Result<Vec<TrustRecord>, StoreError> {
        trust::records(&self.main)
    }

    /// The trust entry of that name.
    pub fn trust_entry(&self, issuer_id: &str) -> Result<Option<TrustRecord>, StoreError> {
        trust::find(&self.main, issuer_id)
    }

    /// Removes a trust entry with its material; `false`: there is none.
    pub fn remove_trust(&mut self, issuer_id: &str) -> Result<bool, StoreError> {
        let transaction = begin(&mut self.main)?;
        let found = trust::remove(&transaction, issuer_id)?;
        transaction.commit()?;
        Ok(found)
    }
}

pub(super) fn begin(main: &mut Connection) -> Result<Transaction<'_>, StoreError> {
    Ok(main.transaction_with_behavior(TransactionBehavior::Immediate)?)
}
