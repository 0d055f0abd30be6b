//! How many sessions each client has open: one row's work, however many there are.

use rusqlite::Connection;

use super::error::begin;
use crate::quotas::Quotas;
use crate::sql::number;
use crate::types::StoreError;

impl Quotas {
    /// Counts one more open session of the client; `false`: it has as many as it may.
    pub(crate) fn open_session(
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
pub(crate) fn close_session(main: &Connection, client_id: &str) -> Result<(), StoreError> {
    main.prepare_cached("UPDATE open_sessions SET count = max(count - 1, 0) WHERE client_id = ?1")?
        .execute([client_id])?;
    Ok(())
}

/// Counts all open sessions again when a gateway starts, whatever happened to the file before.
pub(crate) fn recount(main: &mut Connection) -> Result<(), StoreError> {
    let transaction = begin(main)?;
    transaction.execute("DELETE FROM open_sessions", [])?;
    transaction.execute(
        "INSERT INTO open_sessions (client_id, count) SELECT client_id, count(*) FROM sessions \
         WHERE settled_at IS NULL GROUP BY client_id",
        [],
    )?;
    Ok(transaction.commit()?)
}
