//! What happens to one client's sessions, for `idgate listen`.

use idgate_core::time::UnixMillis;

use super::super::destination::{destination, provisioned};
use super::super::sql::{row, rows};
use super::PostgresOperator;
use crate::audit::AuditEntry;
use crate::store::interface::StoreError;
use crate::store::operator::{Listener, ListeningOperator};
use crate::store::sql::{millis, number, unsigned};

impl ListeningOperator for PostgresOperator {
    fn listener(&self, digest: &[u8; 32], now: UnixMillis) -> Result<Option<Listener>, StoreError> {
        self.run(async {
            let client = self.desk.pool.client().await?;
            let found = row(
                &client,
                "SELECT k.client_id, k.livemode \
                 FROM api_keys AS k JOIN clients AS c ON c.id = k.client_id \
                 WHERE k.digest = $1 AND k.revoked_at IS NULL AND c.revoked_at IS NULL \
                 AND (k.expires_at IS NULL OR k.expires_at > $2) AND k.livemode = c.livemode",
                &[&&digest[..], &millis(now)],
            )
            .await?;
            let Some(found) = found else { return Ok(None) };
            let (client_id, livemode): (String, bool) = (found.try_get(0)?, found.try_get(1)?);
            let to = destination(&client, &self.desk.sealer, &client_id, now).await?;
            let (secret, previous) = match to {
                Some(to) => (to.secret, to.previous),
                None => (provisioned(&client, &self.desk.sealer, &client_id).await?, None),
            };
            Ok(Some(Listener { client_id, livemode, secret, previous }))
        })
    }

    fn last_entry(&self, client_id: &str) -> Result<u64, StoreError> {
        self.run(async {
            let client = self.desk.pool.client().await?;
            let sql = "SELECT coalesce(max(seq), 0) FROM audit_entries WHERE client_id = $1";
            let found = row(&client, sql, &[&client_id]).await?;
            let last = found.map(|found| found.try_get::<_, i64>(0)).transpose()?;
            Ok(last.map_or(0, unsigned))
        })
    }

    fn entries_after(
        &self,
        client_id: &str,
        seq: u64,
        limit: usize,
    ) -> Result<Vec<AuditEntry>, StoreError> {
        self.run(async {
            let client = self.desk.pool.client().await?;
            let sql = "SELECT fields FROM audit_entries WHERE client_id = $1 AND seq > $2 \
                       ORDER BY seq LIMIT $3";
            let found = rows(&client, sql, &[&client_id, &number(seq), &number(limit)]).await?;
            let mut entries = Vec::new();
            for row in found {
                entries.push(Listener::entry(client_id, row.try_get(0)?)?);
            }
            Ok(entries)
        })
    }
}
