//! The limits per client (decisions 25). The number of open sessions is kept in one row, so
//! counting costs the same however many there are.

use idgate_core::{Session, UnixMillis};

use super::db::{Db, Sql, Values, sql};
use super::failure::Done;
use super::sql::{millis, number};

/// The limits of a client for which the operator set none.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Quotas {
    /// Keys that are neither revoked nor expired.
    pub keys: u64,
    /// Open sessions of a test-mode client.
    pub open_sessions_test: u64,
    /// Open sessions of a live client.
    pub open_sessions_live: u64,
}

impl Default for Quotas {
    fn default() -> Self {
        Self { keys: 100, open_sessions_test: 10_000, open_sessions_live: 1_000_000 }
    }
}

impl Quotas {
    /// Whether the client may have one more key.
    pub(super) async fn leave_a_key(
        self,
        db: &Db<'_>,
        client_id: &str,
        now: UnixMillis,
    ) -> Done<bool> {
        let sql =
            sql("SELECT count(*) < coalesce((SELECT max_keys FROM clients WHERE id = $1), $3) \
                       FROM api_keys WHERE client_id = $1 AND revoked_at IS NULL \
                       AND (expires_at IS NULL OR expires_at > $2)");
        let values: Values<'_> = &[&client_id, &millis(now), &number(self.keys)];
        Ok(db.one(sql, values, |row| row.get(0)).await?.unwrap_or(false))
    }

    /// Adds `more` open sessions to the count of the client of `session`. `false`: that would
    /// exceed its limit.
    pub(super) async fn open_sessions(
        self,
        db: &Db<'_>,
        session: &Session,
        more: usize,
    ) -> Done<bool> {
        let usual =
            if session.livemode() { self.open_sessions_live } else { self.open_sessions_test };
        let sql = sql("INSERT INTO open_sessions AS o (client_id, count) \
             SELECT id, $3 FROM clients WHERE id = $1 AND coalesce(max_open_sessions, $2) >= $3 \
             ON CONFLICT (client_id) DO UPDATE SET count = o.count + $3 \
             WHERE o.count + $3 <= coalesce( \
                 (SELECT max_open_sessions FROM clients WHERE id = $1), $2)");
        let values: Values<'_> = &[&session.tenant().as_str(), &number(usual), &number(more)];
        Ok(db.run(sql, values).await? > 0)
    }
}

/// Subtracts open sessions from a client's count.
pub(super) const CLOSE_SESSIONS: Sql =
    sql("UPDATE open_sessions SET count = {greatest|max}(count - $2, 0) WHERE client_id = $1");

/// Subtracts this many open sessions.
pub(super) async fn close_sessions(db: &Db<'_>, client_id: &str, count: usize) -> Done<()> {
    if count > 0 {
        db.run(CLOSE_SESSIONS, &[&client_id, &number(count)]).await?;
    }
    Ok(())
}

/// Quotas that the operator sets for one client. `None`: the default.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct OwnQuotas {
    /// Active keys.
    pub keys: Option<u64>,
    /// Open sessions.
    pub open_sessions: Option<u64>,
}
