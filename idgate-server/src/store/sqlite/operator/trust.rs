//! The trust store, as operators change it.

use idgate_core::time::UnixMillis;

use super::{SqliteOperator, record_if_possible};
use crate::audit::{AuditEvent, OPERATOR, OPERATOR_CHAIN};
use crate::store::audit;
use crate::store::directory::Change;
use crate::store::interface::{FetchedList, Refreshed, StoreError};
use crate::store::operator::TrustOperator;
use crate::store::trust::{self, RemovedMaterial, TrustChange, TrustRecord, listed_rows};

impl TrustOperator for SqliteOperator {
    fn add_trust(
        &mut self,
        issuer_id: &str,
        change: &TrustChange,
        now: UnixMillis,
    ) -> Result<Option<TrustRecord>, StoreError> {
        let transaction = Change::begin(&mut self.main, &self.first)?;
        trust::add(&transaction, issuer_id, change, now)?;
        let record = trust::find(&transaction, issuer_id)?.filter(TrustRecord::has_material);
        if record.is_some() {
            let event = AuditEvent::trust_changed(issuer_id, now);
            audit::append(&transaction, &self.audit, OPERATOR_CHAIN, event)?;
            transaction.commit()?;
        }
        Ok(record)
    }

    fn trust_entries(&self) -> Result<Vec<TrustRecord>, StoreError> {
        trust::records(&self.main)
    }

    fn trust_entry(&self, issuer_id: &str) -> Result<Option<TrustRecord>, StoreError> {
        trust::find(&self.main, issuer_id)
    }

    fn remove_trust(&mut self, issuer_id: &str, now: UnixMillis) -> Result<bool, StoreError> {
        let mut transaction = Change::begin(&mut self.main, &self.first)?;
        let found = trust::remove(&transaction, issuer_id)?;
        let events = found.then(|| AuditEvent::trust_changed(issuer_id, now)).into_iter();
        let recorded = record_if_possible(&mut transaction, &self.audit, OPERATOR_CHAIN, events)?;
        transaction.commit()?;
        recorded.map_err(|why| StoreError::Failed(format!("{issuer_id} is removed, but {why}")))?;
        Ok(found)
    }

    fn refresh_list(
        &mut self,
        list: &FetchedList,
        now: UnixMillis,
    ) -> Result<Refreshed, StoreError> {
        let transaction = Change::begin(&mut self.main, &self.first)?;
        let (outcome, events) = listed_rows::refresh(&transaction, list, OPERATOR, now)?;
        for event in events {
            audit::append(&transaction, &self.audit, OPERATOR_CHAIN, event)?;
        }
        transaction.commit()?;
        Ok(outcome)
    }

    fn note_list_failure(
        &mut self,
        url: &str,
        why: &str,
        now: UnixMillis,
    ) -> Result<(), StoreError> {
        let transaction = Change::begin(&mut self.main, &self.first)?;
        listed_rows::note(&transaction, url, Some(why), now)?;
        transaction.commit()
    }

    fn remove_trust_material(
        &mut self,
        issuer_id: &str,
        sha256: &[u8; 32],
        now: UnixMillis,
    ) -> Result<Option<Vec<RemovedMaterial>>, StoreError> {
        let mut transaction = Change::begin(&mut self.main, &self.first)?;
        let removed = trust::remove_material(&transaction, issuer_id, sha256)?;
        let changed = removed.as_ref().is_some_and(|removed| !removed.is_empty());
        let events = changed.then(|| AuditEvent::trust_changed(issuer_id, now)).into_iter();
        let recorded = record_if_possible(&mut transaction, &self.audit, OPERATOR_CHAIN, events)?;
        transaction.commit()?;
        recorded.map_err(|why| StoreError::Failed(format!("it is removed, but {why}")))?;
        Ok(removed)
    }
}
