//! Notifications that were given up. They are listed, retried on request, and removed after a
//! while.

use idgate_core::UnixMillis;

use super::super::db::{Db, Row, sql};
use super::super::failure::Done;
use super::super::sql::{millis, number, one_more, page_of};
use super::super::types::{Caller, DeadLetter, HostStatus, Replay};

/// Schedules one attempt for a dead letter, of this client and mode if given. A scheduled one stays
/// as it is.
pub(crate) async fn replay(
    db: &Db<'_>,
    id: &str,
    whose: Option<(&str, bool)>,
    due_at: i64,
) -> Done<Option<Replay>> {
    let (client_id, livemode) = whose.unzip();
    let find = sql("SELECT d.seq, d.session_id, h.status, c.revoked_at IS NOT NULL \
         FROM webhook_deliveries AS d JOIN clients AS c ON c.id = d.client_id \
         LEFT JOIN webhook_endpoints AS e ON e.client_id = d.client_id \
         LEFT JOIN webhook_hosts AS h ON h.host = e.host \
         WHERE d.id = $1 AND d.failed_at IS NOT NULL \
         AND d.client_id = coalesce($2, d.client_id) AND d.livemode = coalesce($3, d.livemode)");
    let read = |row: &Row<'_>| {
        let status = HostStatus::of(row.get::<Option<String>>(2)?.as_deref());
        let is_sent = status == HostStatus::Approved && !row.get::<bool>(3)?;
        Ok((row.get::<i64>(0)?, row.get(1)?, is_sent))
    };
    let found = db.one(find, &[&id, &client_id, &livemode], read).await?;
    let Some((seq, session_id, is_sent)) = found else { return Ok(None) };
    if is_sent {
        let sql = sql("UPDATE webhook_deliveries SET due_at = coalesce(due_at, $2) \
                       WHERE seq = $1 AND failed_at IS NOT NULL");
        db.run(sql, &[&seq, &due_at]).await?;
    }
    Ok(Some(Replay { id: id.to_owned(), session_id, is_sent }))
}

/// Removes at most `limit` dead letters that were given up before `before`. Returns how many.
pub(crate) async fn remove(db: &Db<'_>, before: UnixMillis, limit: usize) -> Done<usize> {
    let sql =
        sql("DELETE FROM webhook_deliveries WHERE seq IN (SELECT seq FROM webhook_deliveries \
                   WHERE failed_at <= $1 AND lease_until IS NULL ORDER BY failed_at LIMIT $2 \
                   {FOR UPDATE SKIP LOCKED})");
    db.run(sql, &[&millis(before), &number(limit)]).await
}

/// At most `limit` dead letters older than `before`, and the position of the last one if there are
/// more.
pub(crate) async fn page(
    db: &Db<'_>,
    caller: &Caller,
    before: i64,
    limit: usize,
) -> Done<(Vec<DeadLetter>, Option<i64>)> {
    let sql = sql(
        "SELECT id, session_id, client_id, body, error_message, attempts, failed_at, failure_seq \
         FROM webhook_deliveries WHERE client_id = $1 AND livemode = $2 \
         AND failed_at IS NOT NULL AND failure_seq < $3 ORDER BY failure_seq DESC LIMIT $4",
    );
    let (client_id, livemode) = (caller.client_id.as_str(), caller.livemode);
    let letters = db.all(sql, &[&client_id, &livemode, &before, &one_more(limit)], read).await?;
    Ok(page_of(letters, limit))
}

/// All dead letters, newest first.
pub(crate) async fn all(db: &Db<'_>) -> Done<Vec<DeadLetter>> {
    let sql = sql(
        "SELECT id, session_id, client_id, body, error_message, attempts, failed_at, failure_seq \
         FROM webhook_deliveries WHERE failed_at IS NOT NULL ORDER BY failure_seq DESC",
    );
    db.all(sql, &[], |row| Ok(read(row)?.0)).await
}

fn read(row: &Row<'_>) -> Done<(DeadLetter, i64)> {
    let letter = DeadLetter {
        id: row.get(0)?,
        session_id: row.get(1)?,
        client_id: row.get(2)?,
        payload: row.get(3)?,
        error_message: row.get(4)?,
        attempts: u32::try_from(row.get::<i64>(5)?).unwrap_or(u32::MAX),
        failed_at: row.time(6)?,
    };
    Ok((letter, row.get(7)?))
}
