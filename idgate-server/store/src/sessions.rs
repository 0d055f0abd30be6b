//! Reads and removes sessions as rows, for wallets and for callers. `sqlite/session_rows.rs` and
//! `postgres/sessions/` store and settle them.

use idgate_core::{Session, UnixMillis};

use super::db::{Db, Row, sql};
use super::env::Env;
use super::failure::Done;
use super::session_keys;
use super::types::Caller;
use crate::stored_session::Stored;
use crate::version_numbers::{Numbers, numbers};
use idgate_base::clock::Moment;

/// The kind of name that a wallet gives for a session.
#[derive(Clone, Copy, Debug)]
pub(super) enum By {
    /// Its id.
    Id,
    /// The id of one of its offers, other than its own id.
    Offer,
}

/// A session of a caller, and the slot of its result if results are in slots.
pub(super) type CallersSession = (Stored, Option<i16>);

/// A session unless its client is revoked. While it is open, its key is included if the key is in
/// the same database. The numbers come from the same snapshot, so the session's signer is among the
/// signers in force.
pub(super) async fn find(db: &Db<'_>, env: &Env, by: By, name: &str) -> Done<Option<Session>> {
    let sql = match by {
        By::Id => sql(concat!(
            "SELECT s.id, s.client_id, s.livemode, s.record, {k.sealed|NULL}, ",
            numbers!(),
            " FROM sessions AS s \
             JOIN clients AS c ON c.id = s.client_id AND c.revoked_at IS NULL \
             {LEFT JOIN session_keys AS k ON k.session_id = s.id} WHERE s.id = $1"
        )),
        By::Offer => sql(concat!(
            "SELECT s.id, s.client_id, s.livemode, s.record, {k.sealed|NULL}, ",
            numbers!(),
            " FROM offers AS o JOIN sessions AS s ON s.id = o.session_id \
             JOIN clients AS c ON c.id = s.client_id AND c.revoked_at IS NULL \
             {LEFT JOIN session_keys AS k ON k.session_id = s.id} WHERE o.id = $1"
        )),
    };
    let read = |row: &Row<'_>| {
        let key: Option<Vec<u8>> = row.get(4)?;
        Ok((Stored::read(row)?, key, Numbers::at(row, 5)?))
    };
    let before = Moment::now();
    let Some((stored, key, numbers)) = db.one(sql, &[&name], read).await? else { return Ok(None) };
    env.in_force.noted.note(before, numbers);
    let mut session = stored.open(&env.sealer)?;
    if session_keys::needs_key(&session)
        && let Some(sealed) = key
    {
        session_keys::restore(&env.sealer, &mut session, &sealed)?;
    }
    Ok(Some(session))
}

/// The session with this id, if it belongs to this caller.
pub(super) async fn of_caller(
    db: &Db<'_>,
    caller: &Caller,
    id: &str,
) -> Done<Option<CallersSession>> {
    let sql = sql("SELECT id, client_id, livemode, record, {claims_slot|NULL} FROM sessions \
                   WHERE id = $1 AND client_id = $2 AND livemode = $3");
    let read = |row: &Row<'_>| Ok((Stored::read(row)?, row.get(4)?));
    db.one(sql, &[&id, &caller.client_id.as_str(), &caller.livemode], read).await
}

/// Removes the row of a caller's session, with the rows that reference it. Returns when the session
/// settled, and the slot of its result.
pub(super) async fn remove(
    db: &Db<'_>,
    caller: &Caller,
    id: &str,
) -> Done<Option<(Option<UnixMillis>, Option<i16>)>> {
    let sql = sql("DELETE FROM sessions WHERE id = $1 AND client_id = $2 AND livemode = $3 \
                   RETURNING settled_at, {claims_slot|NULL}");
    let read = |row: &Row<'_>| Ok((row.time_if_any(0)?, row.get(1)?));
    db.one(sql, &[&id, &caller.client_id.as_str(), &caller.livemode], read).await
}
