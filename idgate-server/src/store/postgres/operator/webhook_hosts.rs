//! What operators think of the hosts that clients want to be notified at: one verdict per host for
//! the whole gateway, before or after somebody names it.

use idgate_core::time::UnixMillis;
use tokio_postgres::Row;

use super::super::error::Done;
use super::super::outbox::dead_letters::{Among, give_up};
use super::super::pool::Tx;
use super::super::sql::{execute, row, rows};
use super::PostgresOperator;
use crate::store::interface::{HostStatus, StoreError};
use crate::store::operator::{HostRecord, Review, WebhookHostOperator};
use crate::store::outbox::HOST_REJECTED;
use crate::store::sql::{millis, time};

impl WebhookHostOperator for PostgresOperator {
    fn webhook_hosts(&self) -> Result<Vec<HostRecord>, StoreError> {
        self.run(async {
            let client = self.desk.pool.client().await?;
            let sql = "SELECT n.host, h.status, h.note, h.reviewed_at, \
                       ARRAY(SELECT client_id FROM webhook_endpoints WHERE host = n.host \
                       ORDER BY client_id)::text[] \
                       FROM (SELECT host FROM webhook_hosts \
                       UNION SELECT host COLLATE \"C\" FROM webhook_endpoints) AS n \
                       LEFT JOIN webhook_hosts AS h ON h.host = n.host ORDER BY n.host";
            rows(&client, sql, &[]).await?.iter().map(record).collect()
        })
    }

    fn review_webhook_host(
        &mut self,
        host: &str,
        review: Review<'_>,
        now: UnixMillis,
    ) -> Result<usize, StoreError> {
        let verdict = match review {
            Review::Approve => Some((HostStatus::Approved, None)),
            Review::Reject(note) => Some((HostStatus::Rejected, Some(note))),
            Review::Reset => None,
        };
        let env = (host, verdict, now);
        self.run(self.desk.pool.transact(&env, |&(host, verdict, now), tx| {
            Box::pin(async move {
                let Some((status, note)) = verdict else { return hold_host(tx, host).await };
                execute(
                    tx,
                    "INSERT INTO webhook_hosts (host, status, note, reviewed_at) \
                     VALUES ($1, $2, $3, $4) ON CONFLICT (host) DO UPDATE \
                     SET status = excluded.status, note = excluded.note, \
                     reviewed_at = excluded.reviewed_at",
                    &[&host, &status.as_str(), &note, &millis(now)],
                )
                .await?;
                match status {
                    HostStatus::Rejected => {
                        give_up(tx, HOST_REJECTED, (now, None), Among::Host(host)).await
                    }
                    _ => Ok(0),
                }
            })
        }))
    }

    fn webhook_host_of(&self, client_id: &str) -> Result<Option<HostStatus>, StoreError> {
        self.run(async {
            let client = self.desk.pool.client().await?;
            let sql = "SELECT h.status FROM webhook_endpoints AS e \
                       LEFT JOIN webhook_hosts AS h ON h.host = e.host WHERE e.client_id = $1";
            let Some(found) = row(&client, sql, &[&client_id]).await? else { return Ok(None) };
            Ok(Some(HostStatus::of(found.try_get(0)?)))
        })
    }
}

/// Forgets the verdict on a host: what waits for it is held until there is another. Nothing is given up.
async fn hold_host(tx: &Tx<'_>, host: &str) -> Done<usize> {
    execute(tx, "DELETE FROM webhook_hosts WHERE host = $1", &[&host]).await?;
    execute(
        tx,
        "UPDATE webhook_deliveries SET held = true WHERE failed_at IS NULL \
         AND client_id IN (SELECT client_id FROM webhook_endpoints WHERE host = $1)",
        &[&host],
    )
    .await?;
    Ok(0)
}

fn record(row: &Row) -> Done<HostRecord> {
    Ok(HostRecord {
        host: row.try_get(0)?,
        status: HostStatus::of(row.try_get(1)?),
        note: row.try_get(2)?,
        reviewed_at: row.try_get::<_, Option<i64>>(3)?.map(time),
        clients: row.try_get(4)?,
    })
}
