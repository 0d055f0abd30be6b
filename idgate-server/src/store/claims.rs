//! The results of the last 30 seconds, sealed, in a file of their own that can be emptied for good.

use idgate_core::limits::CLAIMS_RETENTION_MS;
use idgate_core::session::{Session, VerifiedResult};
use idgate_core::time::UnixMillis;
use rusqlite::{Connection, OptionalExtension as _};
use zeroize::Zeroizing;

use super::sql::{begin, millis};
use super::types::StoreError;
use crate::seal::{OVERHEAD, Place, Sealer};

/// A row of this many sealed bytes fills a page of 4096 but for what SQLite needs, so no second row
/// shares the page (see `claims.sql`).
const FIRST_PAGE: usize = 4000;
/// What each further (overflow) page holds.
const NEXT_PAGE: usize = 4092;
/// The length of the result stands before it, since padding follows it.
const LEN: usize = 8;

/// Where the result of a session stands.
pub(super) fn place(session: &Session) -> Place<'_> {
    let (object, client) = (session.id().as_str(), session.tenant().as_str());
    Place { purpose: "results", object, client }
}

/// How far ahead the end of a result can be: its 30 seconds, and two for whoever read the clock a moment
/// before. What says more was stored before the clock was set back.
pub(super) const FARTHEST_MS: u64 = 32_000;

/// The sealed form of a result.
pub(super) fn seal(
    sealer: &Sealer,
    session: &Session,
    result: &VerifiedResult,
) -> Result<Vec<u8>, StoreError> {
    seal_padded(sealer, place(session), &result.to_snapshot())
}

/// Seals `bytes` so that its row fills whole pages.
pub(super) fn seal_padded(
    sealer: &Sealer,
    place: Place<'_>,
    bytes: &[u8],
) -> Result<Vec<u8>, StoreError> {
    let used = LEN.saturating_add(bytes.len());
    let mut padded = Zeroizing::new(vec![0; padded_len(used)]);
    let len = u64::try_from(bytes.len()).unwrap_or(u64::MAX).to_be_bytes();
    for (to, from) in padded.iter_mut().zip(len.iter().chain(bytes.iter())) {
        *to = *from;
    }
    Ok(sealer.seal(place, &padded)?)
}

/// Opens what [`seal_padded`] sealed.
pub(super) fn open_padded(
    sealer: &Sealer,
    place: Place<'_>,
    sealed: &[u8],
) -> Result<Zeroizing<Vec<u8>>, StoreError> {
    unpad(sealer.open(place, sealed)?)
}

/// Without the padding.
pub(super) fn unpad(mut padded: Zeroizing<Vec<u8>>) -> Result<Zeroizing<Vec<u8>>, StoreError> {
    let damaged = || StoreError::Damaged("a padded row cannot be read".into());
    let (len, rest) = padded.split_first_chunk::<LEN>().ok_or_else(damaged)?;
    let len = usize::try_from(u64::from_be_bytes(*len)).map_err(|_| damaged())?;
    if len > rest.len() {
        return Err(damaged());
    }
    padded.drain(..LEN);
    padded.truncate(len);
    Ok(padded)
}

pub(super) fn insert(
    claims: &Connection,
    session_id: &str,
    redact_at: UnixMillis,
    sealed: &[u8],
) -> Result<(), StoreError> {
    claims
        .prepare_cached("INSERT INTO results (session_id, redact_at, sealed) VALUES (?1, ?2, ?3)")?
        .execute((session_id, millis(redact_at), sealed))?;
    Ok(())
}

/// The result of a session while it may be read at `now`.
pub(super) fn read(
    claims: &Connection,
    sealer: &Sealer,
    session: &Session,
    now: UnixMillis,
) -> Result<Option<VerifiedResult>, StoreError> {
    let ends = session.settlement().and_then(|ended| ended.redact_at());
    let Some(redact_at) = ends.filter(|at| !is_due(millis(*at), now)) else { return Ok(None) };
    let sealed: Option<Vec<u8>> = claims
        .prepare_cached("SELECT sealed FROM results WHERE redact_at = ?1 AND session_id = ?2")?
        .query_row((millis(redact_at), session.id().as_str()), |row| row.get(0))
        .optional()?;
    sealed.map(|sealed| open(sealer, session, &sealed)).transpose()
}

/// Removes what is due at `now`, or later than it can be; says how many rows there were.
pub(super) fn remove_due(claims: &Connection, now: UnixMillis) -> Result<usize, StoreError> {
    Ok(claims
        .prepare_cached("DELETE FROM results WHERE redact_at <= ?1 OR redact_at > ?2")?
        .execute((millis(now), farthest(now)))?)
}

/// Whether a row with this `redact_at` must go.
pub(super) fn is_due(redact_at: i64, now: UnixMillis) -> bool {
    redact_at <= millis(now) || redact_at > farthest(now)
}

fn farthest(now: UnixMillis) -> i64 {
    millis(now.plus(FARTHEST_MS))
}

/// Removes the result of a session that settled at `settled_at`; says whether there was one.
pub(super) fn remove(
    claims: &Connection,
    session_id: &str,
    settled_at: UnixMillis,
) -> Result<bool, StoreError> {
    let redact_at = millis(settled_at.plus(CLAIMS_RETENTION_MS));
    let removed = claims
        .prepare_cached("DELETE FROM results WHERE redact_at = ?1 AND session_id = ?2")?
        .execute((redact_at, session_id))?;
    Ok(removed > 0)
}

/// Removes results whose session is not VERIFIED in `main`: a crash came between two commits.
pub(super) fn remove_orphans(claims: &Connection, main: &Connection) -> Result<usize, StoreError> {
    let mut statement = claims.prepare("SELECT rowid, session_id FROM results")?;
    let rows = statement
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<Vec<(i64, String)>, _>>()?;
    let mut verified = main
        .prepare("SELECT EXISTS (SELECT 1 FROM sessions WHERE id = ?1 AND status = 'VERIFIED')")?;
    let mut removed: usize = 0;
    for (row, id) in rows {
        if !verified.query_row([&id], |row| row.get::<_, bool>(0))? {
            let gone = claims.execute("DELETE FROM results WHERE rowid = ?1", [row])?;
            removed = removed.saturating_add(gone);
        }
    }
    Ok(removed)
}

/// Makes the table of an earlier gateway, which had an index of sessions, that of `claims.sql`. Until then
/// the earlier one serves as well, and costs more.
pub(super) fn order_by_end(claims: &mut Connection) -> Result<(), StoreError> {
    let is_earlier = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'results_due')";
    if !claims.query_row(is_earlier, [], |row| row.get::<_, bool>(0))? {
        return Ok(());
    }
    let transaction = begin(claims)?;
    transaction.execute_batch(
        "ALTER TABLE results RENAME TO earlier; DROP INDEX results_due; DROP INDEX results_by_end",
    )?;
    transaction.execute_batch(include_str!("claims.sql"))?;
    transaction.execute_batch(
        "INSERT INTO results (session_id, redact_at, sealed) \
         SELECT session_id, redact_at, sealed FROM earlier; DROP TABLE earlier",
    )?;
    Ok(transaction.commit()?)
}

pub(super) fn open(
    sealer: &Sealer,
    session: &Session,
    sealed: &[u8],
) -> Result<VerifiedResult, StoreError> {
    let bytes = open_padded(sealer, place(session), sealed)?;
    VerifiedResult::from_snapshot(&bytes)
        .map_err(|_| StoreError::Failed("a stored result cannot be read".into()))
}

/// The length that `used` bytes are padded to before they are sealed.
fn padded_len(used: usize) -> usize {
    let sealed = used.saturating_add(OVERHEAD);
    let further = sealed.saturating_sub(FIRST_PAGE).div_ceil(NEXT_PAGE);
    FIRST_PAGE.saturating_add(further.saturating_mul(NEXT_PAGE)).saturating_sub(OVERHEAD)
}
