//! The gateway's own work on sessions: it finds those whose time is over or whose client is revoked, and removes
//! settled ones.

use idgate_core::{Reason, Session, UnixMillis};

use super::db::{Db, sql};
use super::env::NODE_GONE_MS;
use super::failure::Done;
use super::sql::{millis, number};
use super::types::StoreError;
use crate::prepared_session::Stored;
use crate::seal::Sealer;
use idgate_base::spans::Parent;

/// How many ways a session can end a node knows of. It says so behind its version and its key; earlier ones say
/// nothing, and cannot read a session that ended as `client_revoked` or later ones.
#[allow(clippy::cast_possible_wrap, reason = "a few dozen")]
pub(super) const REASONS: i64 = Reason::ALL.len() as i64;

/// How many a node knows of that can read a session that ended as `reason`.
#[allow(clippy::cast_possible_wrap, reason = "a few dozen")]
fn known_with(reason: Reason) -> i64 {
    Reason::ALL.iter().take_while(|one| **one != reason).count() as i64 + 1
}

/// Whether every node can read a session that ended as `reason`.
pub(super) async fn is_known(db: &Db<'_>, reason: Reason) -> Done<bool> {
    let sql = sql("SELECT {NOT EXISTS (SELECT FROM nodes WHERE beat_at > clock_ms() - $2 \
                   AND coalesce(CAST(nullif(split_part(version, ' ', 3), '') AS bigint), 0) < $1)\
                   |$1 = $1 AND $2 = $2}");
    let needed = known_with(reason);
    let is_known = db.one(sql, &[&needed, &NODE_GONE_MS], |row| row.get::<bool>(0)).await?;
    Ok(is_known.unwrap_or(false))
}

/// Sessions, with an error in the place of each that cannot be read.
pub(super) type Readable = Vec<Result<Session, StoreError>>;

/// Open sessions whose time, or whose lease, is over.
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
    // Such clients are few: only where there are any, the open sessions are looked through.
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

/// Sessions in verification by a process that has ended: on PostgreSQL a node that is gone, on SQLite the one before
/// this start.
pub(super) async fn abandoned(db: &Db<'_>, sealer: &Sealer) -> Done<Readable> {
    let sql = sql("SELECT id, client_id, livemode, record FROM sessions AS s \
                   WHERE settled_at IS NULL AND lease_until IS NOT NULL \
                   AND {NOT EXISTS (SELECT FROM nodes WHERE nodes.id = s.node_id \
                       AND beat_at > clock_ms() - $1)|$1 = $1}");
    let found = db.all(sql, &[&NODE_GONE_MS], Stored::read).await?;
    Ok(opened(&found, sealer))
}

/// Removes sessions that settled before `before`, at most `limit`. Their results went long ago.
pub(super) async fn remove_settled(db: &Db<'_>, before: UnixMillis, limit: usize) -> Done<usize> {
    let sql =
        sql("DELETE FROM sessions WHERE id IN (SELECT id FROM sessions WHERE settled_at < $1 \
                   ORDER BY settled_at LIMIT $2 {FOR UPDATE SKIP LOCKED})");
    db.run(sql, &[&millis(before), &number(limit)]).await
}

/// The span that made a session.
pub(super) async fn parent_span(db: &Db<'_>, id: &str) -> Done<Option<Parent>> {
    let sql = sql("SELECT parent_span FROM sessions WHERE id = $1");
    let found = db.one(sql, &[&id], |row| row.get::<Option<String>>(0)).await?;
    Ok(found.flatten().as_deref().and_then(Parent::parse))
}

fn opened(found: &[Stored], sealer: &Sealer) -> Readable {
    found.iter().map(|stored| stored.open(sealer)).collect()
}
