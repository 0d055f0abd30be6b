//! How much of everything a client may have at a time (decisions 25). Counting is one row's work,
//! however many sessions are open: it is kept with them.

use idgate_core::time::UnixMillis;

use super::db::{Db, Values, sql};
use super::failure::Done;
use super::sql::{millis, number};

/// The limits of a client to which the operator gave none of its own.
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
}

/// A quota that the operator gives one client; `None`: the usual one.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct OwnQuotas {
    /// Live keys.
    pub keys: Option<u64>,
    /// Open sessions.
    pub open_sessions: Option<u64>,
}
