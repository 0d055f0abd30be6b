//! The trust store, as operators change it.

use idgate_core::time::UnixMillis;

use super::super::error::Done;
use super::super::pool::Tx;
use super::super::{audit, list_refresh, trust, trusted_lists};
use super::{Desk, PostgresOperator, record_if_possible};
use crate::audit::{AuditEvent, OPERATOR, OPERATOR_CHAIN};
use crate::store::interface::{FetchedList, Refreshed, StoreError};
use crate::store::operator::TrustOperator;
use crate::store::trust::{RemovedMaterial, TrustChange, TrustRecord};

impl TrustOperator for PostgresOperator {
    fn add_trust(
        &mut self,
        issuer_id: &str,
        change: &TrustChange,
        now: UnixMillis,
    ) -> Result<Option<TrustRecord>, StoreError> {
        let env = (&self.desk, issuer_id, change, now);
        self.run(
            self.desk.pool.transact(&env, |env, tx| Box::pin(add(tx, env.0, env.1, env.2, env.3))),
        )
    }

    fn trust_entries(&self) -> Result<Vec<TrustRecord>, StoreError> {
        self.run(self.desk.pool.transact(&(), |(), tx| Box::pin(trust::records(tx, None))))
    }

    fn trust_entry(&self, issuer_id: &str) -> Result<Option<TrustRecord>, StoreError> {
        self.run(
            self.desk
                .pool
                .transact(&issuer_id, |issuer_id, tx| Box::pin(trust::find(tx, issuer_id))),
        )
    }

    fn remove_trust(&mut self, issuer_id: &str, now: UnixMillis) -> Result<bool, StoreError> {
        let env = (&self.desk, issuer_id, now);
        let (found, recorded) =
            self.run(self.desk.pool.transact(&env, |&(desk, id, now), tx| {
                Box::pin(async move {
                    list_refresh::hold(tx).await?;
                    let found = trust::remove(tx, id).await?;
                    Ok((found, record_change(tx, desk, id, found, now).await?))
                })
            }))?;
        recorded.map_err(|why| StoreError::Failed(format!("{issuer_id} is removed, but {why}")))?;
        Ok(found)
    }

    fn refresh_list(
        &mut self,
        list: &FetchedList,
        now: UnixMillis,
    ) -> Result<Refreshed, StoreError> {
        let env = (&self.desk.audit, list, (OPERATOR, now));
        self.run(self.desk.pool.transact(&env, |&(keys, list, by), tx| {
            Box::pin(list_refresh::refresh_and_record(tx, keys, list, by))
        }))
    }

    fn note_list_failure(
        &mut self,
        url: &str,
        why: &str,
        now: UnixMillis,
    ) -> Result<(), StoreError> {
        let env = (url, why, now);
        self.run(self.desk.pool.transact(&env, |&(url, why, now), tx| {
            Box::pin(trusted_lists::note(tx, url, Some(why), now))
        }))
    }

    fn remove_trust_material(
        &mut self,
        issuer_id: &str,
        sha256: &[u8; 32],
        now: UnixMillis,
    ) -> Result<Option<Vec<RemovedMaterial>>, StoreError> {
        let env = (&self.desk, issuer_id, sha256, now);
        let removing = self.desk.pool.transact(&env, |&(desk, id, sha256, now), tx| {
            Box::pin(async move {
                let removed = trust::remove_material(tx, id, sha256).await?;
                let changed = removed.as_ref().is_some_and(|removed| !removed.is_empty());
                Ok((removed, record_change(tx, desk, id, changed, now).await?))
            })
        });
        let (removed, recorded) = self.run(removing)?;
        recorded.map_err(|why| StoreError::Failed(format!("it is removed, but {why}")))?;
        Ok(removed)
    }
}

async fn record_change(
    tx: &Tx<'_>,
    desk: &Desk,
    issuer_id: &str,
    changed: bool,
    now: UnixMillis,
) -> Done<Result<(), String>> {
    let events = changed.then(|| AuditEvent::trust_changed(issuer_id, now)).into_iter().collect();
    record_if_possible(tx, &desk.audit, OPERATOR_CHAIN, events).await
}

/// `None`: the entry would stay without any material, so nothing is stored.
async fn add(
    tx: &Tx<'_>,
    desk: &Desk,
    issuer_id: &str,
    change: &TrustChange,
    now: UnixMillis,
) -> Done<Option<TrustRecord>> {
    tx.batch_execute("SAVEPOINT entry").await?;
    trust::add(tx, issuer_id, change, now).await?;
    let record = trust::find(tx, issuer_id).await?.filter(TrustRecord::has_material);
    if record.is_none() {
        tx.batch_execute("ROLLBACK TO SAVEPOINT entry").await?;
        return Ok(None);
    }
    audit::append(tx, &desk.audit, OPERATOR_CHAIN, AuditEvent::trust_changed(issuer_id, now))
        .await?;
    Ok(record)
}
