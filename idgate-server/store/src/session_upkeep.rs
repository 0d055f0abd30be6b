//! The gateway's own work on sessions: it finds sessions that have expired or whose client is
//! revoked, and removes settled ones.

use idgate_core::{Reason, Session, UnixMillis};

use super::db::{Db, sql};
use super::env::NODE_GONE_MS;
use super::failure::Done;
use super::sql::{millis, number};
use super::types::StoreError;
use crate::seal::Sealer;
use crate::stored_session::Stored;
use idgate_base::spans::Parent;

/// How many reasons for the end of a session a node knows. The heartbeat has this number after
/// version and key. Older nodes do not send it, and cannot read a session that ended for
/// `client_revoked` or a later reason.
#[allow(clippy::cast_possible_wrap, reason = "a few dozen")]
pub(super) const REASONS: i64 = Reason::ALL.len() as i64;

/// How many reasons a node must know to read a session that ended for `reason`.
#[allow(clippy::cast_possible_wrap, reason = "a few dozen")]
fn known_with(reason: Reason) -> i64 {
    Reason::ALL.iter().take_while(|one| **one != reason).count() as i64 + 1
}

/// Whether every node can read a session that ended for `reason`.
pub(super) async fn is_known(db: &Db<'_>, reason: Reason) -> Done<bool> {
    let sql = sql("SELECT {NOT EXISTS (SELECT FROM nodes WHERE beat_at > clock_ms() - $2 \
                   AND coalesce(CAST(nullif(split_part(version, ' ', 3), '') AS bigint), 0) < $1)\
                   |$1 = $1 AND $2 = $2}");
    let needed = known_with(reason);
    let is_known = db.one(sql, &[&needed, &NODE_GONE_MS], |row| row.get::<bool>(0)).await?;
    Ok(is_known.unwrap_or(false))
}

/// Sessions. One that cannot be read is an error in its place.
pub(super) type Readable = Vec<Result<Session, StoreError>>;

/// Open sessions that have expired, or whose lease has.
pub(super) async fn due(
    db: &Db<'_>,
    sealer: &Sealer,
    now: UnixMillis,
    limit: usize,
) -> Done<Readable> {
    let sql = sql("SELECT id, client_id, livemode, record FROM sessions WHERE settled_at IS NULL \
                   AND coalesce(lease_until, expires_at) <= $1 \
                   ORDER BY coalesce(lease_until, expires_at) LIMIT $2");
    let found = db.all(sql, &[&millis(now), &number(limit)], Stored::read).await?;
    Ok(opened(&found, sealer))
}

/// Open sessions of revoked clients, once every node knows how they end.
pub(super) async fn of_revoked(db: &Db<'_>, sealer: &Sealer, limit: usize) -> Done<Readable> {
    // Such clients are few, so open sessions are only searched if there are any.
    let sql = sql("SELECT id, client_id, livemode, record FROM sessions \
                   WHERE settled_at IS NULL AND client_id IN ( \
                       SELECT c.id FROM clients AS c JOIN open_sessions AS o ON o.client_id = c.id \
                       WHERE c.revoked_at IS NOT NULL AND o.count > 0) \
                   AND {NOT EXISTS (SELECT FROM nodes WHERE beat_at > clock_ms() - $3 \
                       AND coalesce(CAST(nullif(split_part(version, ' ', 3), '') AS bigint), 0) < $2)\
                       |$2 = $2 AND $3 = $3} LIMIT $1");
    let found = db
        .all(
            sql,
            &[&number(limit), &known_with(Reason::ClientRevoked), &NODE_GONE_MS],
            Stored::read,
        )
        .await?;
    Ok(opened(&found, sealer))
}

/// Sessions that a process which has ended was verifying: on PostgreSQL a node that is gone, on
/// SQLite the process before this one.
pub(super) async fn abandoned(db: &Db<'_>, sealer: &Sealer) -> Done<Readable> {
    let sql = sql("SELECT id, client_id, livemode, record FROM sessions AS s \
                   WHERE settled_at IS NULL AND lease_until IS NOT NULL \
                   AND {NOT EXISTS (SELECT FROM nodes WHERE nodes.id = s.node_id \
                       AND beat_at > clock_ms() - $1)|$1 = $1}");
    let found = db.all(sql, &[&NODE_GONE_MS], Stored::read).await?;
    Ok(opened(&found, sealer))
}

/// Removes at most `limit` sessions that settled before `before`. Their results were erased long
/// ago.
pub(super) async fn remove_settled(db: &Db<'_>, before: UnixMillis, limit: usize) -> Done<usize> {
    let sql =
        sql("DELETE FROM sessions WHERE id IN (SELECT id FROM sessions WHERE settled_at < $1 \
                   ORDER BY settled_at LIMIT $2 {FOR UPDATE SKIP LOCKED})");
    db.run(sql, &[&millis(before), &number(limit)]).await
}

/// The span that created a session.
pub(super) async fn parent_span(db: &Db<'_>, id: &str) -> Done<Option<Parent>> {
    let sql = sql("SELECT parent_span FROM sessions WHERE id = $1");
    let found = db.one(sql, &[&id], |row| row.get::<Option<String>>(0)).await?;
    Ok(found.flatten().as_deref().and_then(Parent::parse))
}

fn opened(found: &[Stored], sealer: &Sealer) -> Readable {
    found.iter().map(|stored| stored.open(sealer)).collect()
}
