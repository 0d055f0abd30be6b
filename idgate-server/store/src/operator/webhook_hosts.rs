//! Operators' reviews of webhook hosts: one verdict per host for the whole gateway, before or after
//! a client uses the host.

use idgate_core::UnixMillis;

use super::OperatorStore;
use crate::db::{Db, Row, sql};
use crate::failure::Done;
use crate::outbox::give_up;
use crate::sql::millis;
use crate::types::{HostStatus, StoreError};

/// A host that operators reviewed, or that a client uses.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct HostRecord {
    /// In the form of endpoints: lower case, punycode.
    pub host: String,
    /// The verdict.
    pub status: HostStatus,
    /// Why it was rejected.
    pub note: Option<String>,
    /// When it was last reviewed.
    pub reviewed_at: Option<UnixMillis>,
    /// Clients, live and test, with an endpoint on the host.
    pub clients: Vec<String>,
}

impl HostRecord {
    /// One row per client with an endpoint on the host, or a row without a client.
    fn read(row: &Row<'_>) -> Done<Self> {
        Ok(Self {
            host: row.get(0)?,
            status: HostStatus::of(row.get::<Option<String>>(1)?.as_deref()),
            note: row.get(2)?,
            reviewed_at: row.time_if_any(3)?,
            clients: row.get::<Option<String>>(4)?.into_iter().collect(),
        })
    }
}

/// A verdict to store.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Review<'a> {
    /// Send notifications to it.
    Approve,
    /// Send no notifications to it, for this reason.
    Reject(&'a str),
    /// Remove the verdict: the host waits for a review again.
    Reset,
}

/// Commands about webhook hosts.
impl OperatorStore {
    /// All hosts, sorted by name.
    ///
    /// # Errors
    /// The database failed.
    pub fn webhook_hosts(&self) -> Result<Vec<HostRecord>, StoreError> {
        let mut rows = self.read(async |db| {
            let sql = sql(
                "SELECT coalesce(h.host, e.host), h.status, h.note, h.reviewed_at, e.client_id \
                 FROM webhook_hosts AS h FULL JOIN webhook_endpoints AS e ON e.host = h.host",
            );
            db.all(sql, &[], HostRecord::read).await
        })?;
        rows.sort_by(|a, b| (&a.host, &a.clients).cmp(&(&b.host, &b.clients)));
        let mut hosts: Vec<HostRecord> = Vec::new();
        for row in rows {
            match hosts.last_mut() {
                Some(last) if last.host == row.host => last.clients.extend(row.clients),
                _ => hosts.push(row),
            }
        }
        Ok(hosts)
    }

    /// Stores a verdict on `host`. A rejection turns waiting notifications into dead letters.
    /// Returns how many.
    ///
    /// # Errors
    /// The database failed.
    pub fn review_webhook_host(
        &mut self,
        host: &str,
        review: Review<'_>,
        now: UnixMillis,
    ) -> Result<usize, StoreError> {
        self.change(async |db| match review {
            Review::Approve => judge(db, host, (HostStatus::Approved, None), now).await.map(|()| 0),
            Review::Reject(note) => {
                judge(db, host, (HostStatus::Rejected, Some(note)), now).await?;
                give_up::of_host(db, host, (now, Some(db.clock(now).await?))).await
            }
            Review::Reset => hold(db, host).await.map(|()| 0),
        })
    }

    /// The verdict on the host of a client's endpoint. `None`: the client has no endpoint.
    ///
    /// # Errors
    /// The database failed.
    pub fn webhook_host_of(&self, client_id: &str) -> Result<Option<HostStatus>, StoreError> {
        self.read(async |db| {
            let sql = sql("SELECT h.status FROM webhook_endpoints AS e \
                           LEFT JOIN webhook_hosts AS h ON h.host = e.host WHERE e.client_id = $1");
            let status =
                |row: &Row<'_>| Ok(HostStatus::of(row.get::<Option<String>>(0)?.as_deref()));
            db.one(sql, &[&client_id], status).await
        })
    }
}

async fn judge(
    db: &Db<'_>,
    host: &str,
    (status, note): (HostStatus, Option<&str>),
    now: UnixMillis,
) -> Done<()> {
    let sql = sql("INSERT INTO webhook_hosts (host, status, note, reviewed_at) \
                   VALUES ($1, $2, $3, $4) ON CONFLICT (host) DO UPDATE \
                   SET status = excluded.status, note = excluded.note, \
                   reviewed_at = excluded.reviewed_at");
    db.run(sql, &[&host, &status.as_str(), &note, &millis(now)]).await.map(drop)
}

/// Removes the verdict on a host. Its notifications are held until the next verdict, and none is
/// given up.
async fn hold(db: &Db<'_>, host: &str) -> Done<()> {
    db.run(sql("DELETE FROM webhook_hosts WHERE host = $1"), &[&host]).await?;
    let sql = sql("UPDATE webhook_deliveries SET held = true WHERE failed_at IS NULL \
                   AND client_id IN (SELECT client_id FROM webhook_endpoints WHERE host = $1)");
    db.run(sql, &[&host]).await.map(drop)
}
