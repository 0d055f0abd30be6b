//! The sealed results of the last 30 seconds, in a ring of unlogged tables, one for each half
//! second in which results are due. Only TRUNCATE removes the bytes of rows, so a result is erased
//! with its whole slot. A slot is truncated only if every result in it is due.
//!
//! The database's clock, which is the same for all nodes, decides when a result is due: 30 seconds
//! after the settlement was written. After that it is never read.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicI64, Ordering};

use deadpool_postgres::GenericClient;
use idgate_core::session::SessionResult;
use idgate_core::{Session, UnixMillis};
use zeroize::Zeroizing;

use super::super::claims::{FARTHEST_MS, open_padded, place};
use super::super::sql::{number, unsigned};
use super::error::{Done, Failure};
use super::pool::Tx;
use super::shared::Shared;
use crate::postgres_statements::{execute, row, rows};
use crate::types::StoreError;

/// The number of slots: 48 seconds. A TRUNCATE that is held up for longer than the last 18 of them
/// also delays the erasure of later results in the same slot.
pub(super) const SLOTS: i64 = 96;
/// How long a slot is.
pub(super) const SLOT_MS: i64 = 500;
/// Where a stored result holds the time of its verification.
const AT: Range<usize> = 1..9;
/// Slots that may hold results that are not due yet.
const AHEAD: i64 = 64;
/// How often those slots are checked as well. A changed clock, a long pause or a reader may leave
/// due results there, which must not wait for the slot's next turn.
const LOOK_MS: i64 = 5_000;

/// When all slots were last checked, by the clock that decides when results are due.
pub(super) struct Looked(AtomicI64);

impl Default for Looked {
    fn default() -> Self {
        Self(AtomicI64::new(i64::MIN))
    }
}

impl Looked {
    /// Whether the next check is due; if so, it counts as done.
    fn is_due(&self, now: i64) -> bool {
        let last = self.0.load(Ordering::Relaxed);
        let is_due = !(last..last.saturating_add(LOOK_MS)).contains(&now);
        if is_due {
            self.0.store(now, Ordering::Relaxed);
        }
        is_due
    }
}

/// A sealed result that is to be stored.
pub(super) struct Kept<'r> {
    pub(super) slot: i16,
    pub(super) session_id: &'r str,
    /// Until when it may be read.
    pub(super) erase_at: i64,
    pub(super) sealed: &'r [u8],
}

/// Stores results in the slots of their due times.
pub(super) async fn insert(tx: &Tx<'_>, kept: &[&Kept<'_>]) -> Done<()> {
    let mut slots: BTreeMap<i16, Vec<&Kept<'_>>> = BTreeMap::new();
    for result in kept {
        slots.entry(result.slot).or_default().push(result);
    }
    for (slot, results) in slots {
        let sql = format!(
            "INSERT INTO {} (session_id, erase_at, sealed) \
             SELECT * FROM unnest($1::text[], $2::bigint[], $3::bytea[])",
            table(slot.into())
        );
        let ids: Vec<&str> = results.iter().map(|result| result.session_id).collect();
        let ends: Vec<i64> = results.iter().map(|result| result.erase_at).collect();
        let sealed: Vec<&[u8]> = results.iter().map(|result| result.sealed).collect();
        execute(tx, &sql, &[&ids, &ends, &sealed]).await?;
    }
    Ok(())
}

/// Hides the result of a session from readers. Its bytes are erased with its slot.
pub(super) async fn remove(tx: &Tx<'_>, slot: i16, session_id: &str) -> Done<()> {
    let sql = format!("DELETE FROM {} WHERE session_id = $1", table(slot.into()));
    execute(tx, &sql, &[&session_id]).await?;
    Ok(())
}

/// The result of a session while it may be read.
pub(super) async fn read(
    shared: &Shared,
    session: &Session,
    slot: i16,
    now: UnixMillis,
) -> Done<Option<SessionResult>> {
    let client = shared.pool.client().await?;
    let sql = format!(
        "SELECT sealed, erase_at - now FROM {}, (SELECT coalesce($2::bigint, clock_ms()) AS now) AS clock \
         WHERE session_id = $1 AND erase_at > now AND erase_at <= now + $3",
        table(slot.into())
    );
    let (id, at) = (session.id().as_str(), shared.env.lease_clock(now));
    let found = row(&client, &sql, &[&id, &at, &number(FARTHEST_MS)]).await?;
    let Some(found) = found else { return Ok(None) };
    let (sealed, left): (&[u8], i64) = (found.try_get(0)?, found.try_get(1)?);
    let bytes = open_padded(&shared.env.sealer, place(session), sealed)?;
    Ok(Some(result(bytes, now.plus(unsigned(left)))?))
}

/// The result, with its `redact_at` by this node's clock instead of the clock of the node that
/// stored it.
fn result(mut bytes: Zeroizing<Vec<u8>>, redact_at: UnixMillis) -> Done<SessionResult> {
    let unreadable = || Failure::failed("a stored result cannot be read");
    let stored = SessionResult::from_bytes(&bytes).map_err(|_| unreadable())?;
    let lifetime = stored.redact_at().since(stored.verified_at());
    let verified_at = redact_at.minus(lifetime).0.to_be_bytes();
    bytes.get_mut(AT).ok_or_else(unreadable)?.copy_from_slice(&verified_at);
    SessionResult::from_bytes(&bytes).map_err(|_| unreadable())
}

/// Whether a result of this session is stored, readable or not.
pub(super) async fn has(on: &impl GenericClient, slot: i16, session_id: &str) -> Done<bool> {
    let sql = format!("SELECT FROM {} WHERE session_id = $1", table(slot.into()));
    Ok(row(on, &sql, &[&session_id]).await?.is_some())
}

/// Erases due results and returns how many there were. A later call erases those in a table that a
/// reader is using.
pub(super) async fn erase_due(shared: &Shared, now: UnixMillis) -> Done<usize> {
    let (now, slots) = filled(shared, now).await?;
    let looks_at_all = shared.claims_looked.is_due(now);
    let mut erased = 0_usize;
    for slot in slots {
        let behind = now.div_euclid(SLOT_MS).saturating_sub(slot).rem_euclid(SLOTS);
        if !looks_at_all && !(0..SLOTS - AHEAD).contains(&behind) {
            continue;
        }
        match truncate(shared, slot, now).await {
            Ok(rows) => erased = erased.saturating_add(rows),
            Err(Failure::Store(StoreError::Unavailable(why))) => tracing::warn!(
                why,
                slot,
                "due results cannot be erased until a reader of their table ends: do not keep a \
                 transaction open on the tables claims_*"
            ),
            Err(failure) => return Err(failure),
        }
    }
    Ok(erased)
}

/// How many results are stored, and how many milliseconds the oldest one is overdue.
pub(super) async fn stored(shared: &Shared, now: UnixMillis) -> Done<(u64, u64)> {
    let (now, slots) = filled(shared, now).await?;
    let client = shared.pool.client().await?;
    let (mut count, mut lag) = (0_u64, 0_i64);
    for slot in slots {
        let sql = format!("SELECT count(*), min(erase_at) FROM {}", table(slot));
        let Some(found) = row(&client, &sql, &[]).await? else { continue };
        count = count.saturating_add(unsigned(found.try_get(0)?));
        if let Some(first) = found.try_get::<_, Option<i64>>(1)? {
            lag = lag.max(now.saturating_sub(first));
        }
    }
    Ok((count, unsigned(lag)))
}

/// The time, and the slots that are not empty.
async fn filled(shared: &Shared, now: UnixMillis) -> Done<(i64, Vec<i64>)> {
    let client = shared.pool.client().await?;
    // A file has a size as soon as it has a row, committed or not.
    let found = rows(
        &client,
        "SELECT coalesce($1::bigint, clock_ms()), slot FROM (SELECT NULL::bigint AS slot UNION ALL \
         SELECT slot FROM generate_series(0::bigint, $2::bigint) AS slot WHERE pg_relation_size( \
         ('claims_' || lpad(slot::text, 2, '0'))::regclass) > 0) AS filled",
        &[&shared.env.lease_clock(now), &(SLOTS - 1)],
    )
    .await?;
    let (mut time, mut slots) = (0, Vec::new());
    for row in found {
        time = row.try_get(0)?;
        slots.extend(row.try_get::<_, Option<i64>>(1)?);
    }
    Ok((time, slots))
}

/// Truncates a slot if everything in it is due. Returns how many results it had.
async fn truncate(shared: &Shared, slot: i64, now: i64) -> Done<usize> {
    let table = table(slot);
    let count = format!(
        "SELECT count(*), count(*) FILTER (WHERE erase_at > $1 AND erase_at <= $2) FROM {table}"
    );
    let latest = now.saturating_add(number(FARTHEST_MS));
    let mut client = shared.pool.client().await?;
    // Readers do not block this statement yet.
    let counted = row(&client, &count, &[&now, &latest]).await?;
    let stays = counted.map(|row| row.try_get::<_, i64>(1)).transpose()?;
    if stays.is_some_and(|stays| stays > 0) {
        return Ok(0);
    }
    let tx = client.transaction().await?;
    tx.batch_execute(&format!(
        "SET LOCAL lock_timeout = '200ms'; LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE"
    ))
    .await?;
    let counted = row(&tx, &count, &[&now, &latest]).await?;
    let Some(counted) = counted else { return Ok(0) };
    let (all, stays): (i64, i64) = (counted.try_get(0)?, counted.try_get(1)?);
    if stays > 0 {
        return Ok(0);
    }
    tx.batch_execute(&format!("TRUNCATE {table}")).await?;
    tx.commit().await?;
    Ok(usize::try_from(all).unwrap_or(usize::MAX))
}

/// The table of a slot.
pub(super) fn table(slot: i64) -> String {
    format!("claims_{slot:02}")
}
