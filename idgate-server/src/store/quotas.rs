//! How much of everything a client may have at a time (decisions 25). Counting is one row's work,
//! however many sessions are open: it is kept with them.

use idgate_core::time::UnixMillis;
use rusqlite::Connection;

use super::db::{Db, Values, sql};
use super::failure::Done;
use super::sql::{begin, millis, number};
use super::types::StoreError;
use crate::config::Quotas;

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

    /// Counts one more open session of the client; `false`: it has as many as it may.
    pub(super) fn open_session(
        self,
        main: &Connection,
        client_id: &str,
        livemode: bool,
    ) -> Result<bool, StoreError> {
        let usual = if livemode { self.open_sessions_live } else { self.open_sessions_test };
        let counted = main
            .prepare_cached(
                "INSERT INTO open_sessions (client_id, count) \
                 SELECT id, 1 FROM clients WHERE id = ?1 AND coalesce(max_open_sessions, ?2) > 0 \
                 ON CONFLICT (client_id) DO UPDATE SET count = count + 1 WHERE count < coalesce( \
                     (SELECT max_open_sessions FROM clients WHERE id = ?1), ?2)",
            )?
            .execute((client_id, number(usual)))?;
        Ok(counted > 0)
    }
}

/// Counts one open session less.
pub(super) fn close_session(main: &Connection, client_id: &str) -> Result<(), StoreError> {
    main.prepare_cached("UPDATE open_sessions SET count = max(count - 1, 0) WHERE client_id = ?1")?
        .execute([client_id])?;
    Ok(())
}

/// Counts all open sessions anew: when a gateway starts, whatever happened to the file before.
pub(super) fn recount(main: &mut Connection) -> Result<(), StoreError> {
    let transaction = begin(main)?;
    transaction.execute("DELETE FROM open_sessions", [])?;
    transaction.execute(
        "INSERT INTO open_sessions (client_id, count) SELECT client_id, count(*) FROM sessions \
         WHERE settled_at IS NULL GROUP BY client_id",
        [],
    )?;
    Ok(transaction.commit()?)
}

/// A quota that the operator gives one client; `None`: the usual one.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct OwnQuotas {
    /// Live keys.
    pub keys: Option<u64>,
    /// Open sessions.
    pub open_sessions: Option<u64>,
}
