//! Notifications that were given up: listed, retried on demand, removed after a while.

use idgate_core::time::UnixMillis;
use rusqlite::{Connection, OptionalExtension as _, Row};

use super::super::interface::{Caller, DeadLetter, HostStatus, Replay, StoreError};
use super::super::sql::{millis, number, one_more, page_of, time};

const COLUMNS: &str =
    "id, session_id, client_id, body, error_message, attempts, failed_at, failure_seq";

/// Marks a dead letter, of this client and mode if given, for one attempt. What is marked already
/// stays as it is.
pub(in crate::store) fn replay(
    main: &Connection,
    id: &str,
    whose: Option<(&str, bool)>,
    now: UnixMillis,
) -> Result<Option<Replay>, StoreError> {
    let (client_id, livemode) = whose.unzip();
    let found = main
        .prepare_cached(
            "SELECT d.seq, d.session_id, h.status, c.revoked_at IS NOT NULL \
             FROM webhook_deliveries AS d JOIN clients AS c ON c.id = d.client_id \
             LEFT JOIN webhook_endpoints AS e ON e.client_id = d.client_id \
             LEFT JOIN webhook_hosts AS h ON h.host = e.host \
             WHERE d.id = ?1 AND d.failed_at IS NOT NULL \
             AND d.client_id = coalesce(?2, d.client_id) AND d.livemode = coalesce(?3, d.livemode)",
        )?
        .query_row((id, client_id, livemode), |row| {
            let status = HostStatus::of(row.get::<_, Option<String>>(2)?.as_deref());
            let is_sent = status == HostStatus::Approved && !row.get::<_, bool>(3)?;
            Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, is_sent))
        })
        .optional()?;
    let Some((seq, session_id, is_sent)) = found else { return Ok(None) };
    if is_sent {
        main.prepare_cached(
            "UPDATE webhook_deliveries SET due_at = coalesce(due_at, ?2) WHERE seq = ?1",
        )?
        .execute((seq, millis(now)))?;
    }
    Ok(Some(Replay { id: id.to_owned(), session_id, is_sent }))
}

pub(in crate::store) fn remove(
    main: &Connection,
    before: UnixMillis,
    limit: usize,
) -> Result<usize, StoreError> {
    Ok(main
        .prepare_cached(
            "DELETE FROM webhook_deliveries WHERE seq IN (SELECT seq FROM webhook_deliveries \
             WHERE failed_at <= ?1 AND lease_until IS NULL ORDER BY failed_at LIMIT ?2)",
        )?
        .execute((millis(before), number(limit)))?)
}

/// At most `limit` dead letters older than `before`, and the position of the last if there are more.
pub(in crate::store) fn page(
    main: &Connection,
    caller: &Caller,
    before: i64,
    limit: usize,
) -> Result<(Vec<DeadLetter>, Option<i64>), StoreError> {
    let statement = format!(
        "SELECT {COLUMNS} FROM webhook_deliveries WHERE client_id = ?1 AND livemode = ?2 \
         AND failed_at IS NOT NULL AND failure_seq < ?3 ORDER BY failure_seq DESC LIMIT ?4"
    );
    let rows = main
        .prepare_cached(&statement)?
        .query_map((caller.client_id.as_str(), caller.livemode, before, one_more(limit)), from_row)?
        .collect::<Result<Vec<_>, _>>()?;
    Ok(page_of(rows, limit))
}

/// All dead letters, newest first.
pub(in crate::store) fn all(main: &Connection) -> Result<Vec<DeadLetter>, StoreError> {
    let statement = format!(
        "SELECT {COLUMNS} FROM webhook_deliveries WHERE failed_at IS NOT NULL \
         ORDER BY failure_seq DESC"
    );
    let mut statement = main.prepare(&statement)?;
    let rows = statement.query_map([], from_row)?;
    Ok(rows.map(|row| row.map(|(letter, _)| letter)).collect::<Result<_, _>>()?)
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<(DeadLetter, i64)> {
    let letter = DeadLetter {
        id: row.get(0)?,
        session_id: row.get(1)?,
        client_id: row.get(2)?,
        payload: row.get(3)?,
        error_message: row.get(4)?,
        attempts: row.get(5)?,
        failed_at: time(row.get(6)?),
    };
    Ok((letter, row.get(7)?))
}
