//! The operator's side of the data directory. It works beside a running server: each call is one
//! transaction, and the server sees it with its next read.

use std::path::Path;

use idgate_core::time::UnixMillis;
use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::directory::DirectoryKey;
use super::keys::{self, ClientRecord, ClientWish, NewClient};
use super::trust::{self, RemovedMaterial, TrustChange, TrustRecord};
use super::{StoreError, audit, directory, schema};
use crate::audit::{AuditEvent, AuditKeys, AuditStatus, OPERATOR, OPERATOR_CHAIN};
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
        let found = DirectoryKey::find(dir, instance_key)?;
        let key = &found.key;
        let (sealer, audit) = (Sealer::new(key)?, AuditKeys::new(key)?);
        // A running server of an older version would not find its tables any more.
        let _nobody_serves = schema::is_older(dir)?.then(|| directory::lock(dir)).transpose()?;
        let main = schema::open_main(dir, key)?;
        directory::check_key(&main, &sealer)?;
        found.keep(dir)?;
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
        let event = AuditEvent::of_client(AuditStatus::ApiKeyCreated, now)
            .about_key(&client.key_id)
            .with_scopes(scopes);
        audit::append(&transaction, &self.audit, &client.client_id, event.by(OPERATOR))?;
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
        let keys = revoked.iter().flat_map(|revoked| &revoked.keys);
        let keys =
            keys.map(|key| AuditEvent::of_client(AuditStatus::ApiKeyRevoked, now).about_key(key));
        let client = revoked.iter().filter(|revoked| revoked.is_new);
        let client = client.map(|_| AuditEvent::of_client(AuditStatus::ClientRevoked, now));
        let events = keys.chain(client).map(|event| event.by(OPERATOR));
        let recorded = record_if_possible(&mut transaction, &self.audit, id, events)?;
        transaction.commit()?;
        recorded.map_err(|why| {
            StoreError::Failed(format!("every key of {id} is stopped, but {why}"))
        })?;
        Ok(revoked.is_some())
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
            let event = AuditEvent::trust_changed(issuer_id, now);
            audit::append(&transaction, &self.audit, OPERATOR_CHAIN, event)?;
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
    ///
    /// # Errors
    /// The database failed; or the entry is removed, as the text says then, and only the audit log
    /// was altered: that must not keep anything trusted.
    pub fn remove_trust(&mut self, issuer_id: &str, now: UnixMillis) -> Result<bool, StoreError> {
        let mut transaction = begin(&mut self.main)?;
        let found = trust::remove(&transaction, issuer_id)?;
        let events = found.then(|| AuditEvent::trust_changed(issuer_id, now)).into_iter();
        let recorded = record_if_possible(&mut transaction, &self.audit, OPERATOR_CHAIN, events)?;
        transaction.commit()?;
        recorded.map_err(|why| StoreError::Failed(format!("{issuer_id} is removed, but {why}")))?;
        Ok(found)
    }

    /// Removes the material of a trust entry that has this hash, and says what it was. Empty: there
    /// is none. `None`: there is no such entry.
    pub fn remove_trust_material(
        &mut self,
        issuer_id: &str,
        sha256: &[u8; 32],
        now: UnixMillis,
    ) -> Result<Option<Vec<RemovedMaterial>>, StoreError> {
        let mut transaction = begin(&mut self.main)?;
        let removed = trust::remove_material(&transaction, issuer_id, sha256)?;
        let changed = removed.as_ref().is_some_and(|removed| !removed.is_empty());
        let events = changed.then(|| AuditEvent::trust_changed(issuer_id, now)).into_iter();
        let recorded = record_if_possible(&mut transaction, &self.audit, OPERATOR_CHAIN, events)?;
        transaction.commit()?;
        recorded.map_err(|why| StoreError::Failed(format!("it is removed, but {why}")))?;
        Ok(removed)
    }
}

pub(super) fn begin(main: &mut Connection) -> Result<Transaction<'_>, StoreError> {
    Ok(main.transaction_with_behavior(TransactionBehavior::Immediate)?)
}

/// Records what is done in any case. What stops must not go on because its audit log was altered:
/// then the outcome is the reason why nothing is recorded.
pub(super) fn record_if_possible(
    transaction: &mut Transaction<'_>,
    keys: &AuditKeys,
    chain: &str,
    mut events: impl Iterator<Item = AuditEvent>,
) -> Result<Result<(), String>, StoreError> {
    let mut entries = transaction.savepoint()?;
    let recorded = events.try_for_each(|event| audit::append(&entries, keys, chain, event));
    if recorded.is_err() {
        entries.rollback()?;
    }
    entries.commit()?;
    match recorded {
        Err(StoreError::Failed(why)) => Ok(Err(why)),
        Err(busy) => Err(busy),
        Ok(()) => Ok(Ok(())),
    }
}
