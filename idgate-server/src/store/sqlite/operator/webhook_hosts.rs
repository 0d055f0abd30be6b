//! What operators think of the hosts that clients want to be notified at: one verdict per host for
//! the whole gateway, before or after somebody names it.

use idgate_core::time::UnixMillis;
use rusqlite::OptionalExtension as _;

use super::SqliteOperator;
use crate::store::directory::Change;
use crate::store::interface::{HostStatus, StoreError};
use crate::store::operator::{HostRecord, Review, WebhookHostOperator};
use crate::store::outbox;
use crate::store::sql::{millis, time};

impl WebhookHostOperator for SqliteOperator {
    fn webhook_hosts(&self) -> Result<Vec<HostRecord>, StoreError> {
        let mut statement = self.main.prepare(
            "SELECT n.host, h.status, h.note, h.reviewed_at, \
             (SELECT json_group_array(client_id) FROM webhook_endpoints WHERE host = n.host) \
             FROM (SELECT host FROM webhook_hosts UNION SELECT host FROM webhook_endpoints) AS n \
             LEFT JOIN webhook_hosts AS h ON h.host = n.host ORDER BY n.host",
        )?;
        let rows = statement.query_map([], |row| {
            Ok(HostRecord {
                host: row.get(0)?,
                status: HostStatus::of(row.get::<_, Option<String>>(1)?.as_deref()),
                note: row.get(2)?,
                reviewed_at: row.get::<_, Option<i64>>(3)?.map(time),
                clients: serde_json::from_str(&row.get::<_, String>(4)?).unwrap_or_default(),
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    fn review_webhook_host(
        &mut self,
        host: &str,
        review: Review<'_>,
        now: UnixMillis,
    ) -> Result<usize, StoreError> {
        let transaction = Change::begin(&mut self.main, &self.first)?;
        let verdict = match review {
            Review::Approve => Some((HostStatus::Approved, None)),
            Review::Reject(note) => Some((HostStatus::Rejected, Some(note))),
            Review::Reset => None,
        };
        match verdict {
            Some((status, note)) => transaction.execute(
                "INSERT OR REPLACE INTO webhook_hosts (host, status, note, reviewed_at) \
                 VALUES (?1, ?2, ?3, ?4)",
                (host, status.as_str(), note, millis(now)),
            )?,
            None => outbox::hold_host(&transaction, host)?,
        };
        let given_up = match review {
            Review::Reject(_) => outbox::give_up_host(&transaction, host, now)?,
            Review::Approve | Review::Reset => 0,
        };
        transaction.commit()?;
        Ok(given_up)
    }

    fn webhook_host_of(&self, client_id: &str) -> Result<Option<HostStatus>, StoreError> {
        let found: Option<Option<String>> = self
            .main
            .query_row(
                "SELECT h.status FROM webhook_endpoints AS e \
                 LEFT JOIN webhook_hosts AS h ON h.host = e.host WHERE e.client_id = ?1",
                [client_id],
                |row| row.get(0),
            )
            .optional()?;
        Ok(found.map(|status| HostStatus::of(status.as_deref())))
    }
}
