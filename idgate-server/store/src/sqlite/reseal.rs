//! Seals again what idgate 0.1.0 stored. Its single key for everything is replaced by a key for
//! each value, and each value is bound to its client as well.
//!
//! The main database changes in the transaction of its migration, and `claims.db` in its own
//! transaction at the first start after that. If the process dies, each is either in its old state
//! or in its new one. Afterwards the old form is no longer read, so an attacker cannot bring back
//! an old row under another client.

use rusqlite::{Connection, TransactionBehavior};
use zeroize::Zeroizing;

use crate::audit::heads;
use crate::audit_chain::AuditKeys;
use crate::db::{Db, at_once, sql};
use crate::key_check::FirstKey;
use crate::seal::first::FirstSealer;
use crate::seal::{InstanceKey, Place, Sealer, Unsealable};
use crate::sqlite::directory;
use crate::stored_session;
use crate::stored_session::Stored;
use crate::types::StoreError;
use crate::{claims, gateway_keys, idempotency, keys, webhook_endpoints};

/// Rows in memory at a time.
const PAGE: i64 = 500;
/// The `PRAGMA user_version` of a `claims.db` in which everything is sealed in the present form.
const CLAIMS_VERSION: i64 = 2;

/// A kind of row with a sealed value. The statements name its id, its client and the sealed bytes.
struct Rows {
    select: &'static str,
    update: &'static str,
    /// The table that the old form was bound to.
    table: &'static str,
    place: for<'a> fn(&'a str, &'a str) -> Place<'a>,
}

const ROWS: [Rows; 5] = [
    Rows {
        select: "SELECT id, id, signing_secret FROM clients WHERE id > ?1 ORDER BY id LIMIT ?2",
        update: "UPDATE clients SET signing_secret = ?2 WHERE id = ?1",
        table: "clients",
        place: |id, _| keys::secret_place(id),
    },
    Rows {
        select: "SELECT client_id, client_id, secret FROM webhook_endpoints WHERE client_id > ?1 \
                 ORDER BY client_id LIMIT ?2",
        update: "UPDATE webhook_endpoints SET secret = ?2 WHERE client_id = ?1",
        table: "webhook_endpoints",
        place: |id, _| webhook_endpoints::place(id),
    },
    Rows {
        select: "SELECT client_id, client_id, previous_secret FROM webhook_endpoints \
                 WHERE client_id > ?1 AND previous_secret IS NOT NULL ORDER BY client_id LIMIT ?2",
        update: "UPDATE webhook_endpoints SET previous_secret = ?2 WHERE client_id = ?1",
        table: "webhook_endpoints",
        place: |id, _| webhook_endpoints::place(id),
    },
    Rows {
        select: "SELECT id, '', sealed FROM gateway_keys WHERE id > ?1 AND sealed IS NOT NULL \
                 ORDER BY id LIMIT ?2",
        update: "UPDATE gateway_keys SET sealed = ?2 WHERE id = ?1",
        table: "gateway_keys",
        place: |id, _| gateway_keys::place(id),
    },
    Rows {
        // An answer belongs to its client if its session does.
        select: "SELECT a.session_id, a.client_id, a.sealed FROM idempotent_answers AS a \
                 JOIN sessions AS s ON s.id = a.session_id AND s.client_id = a.client_id \
                 WHERE a.session_id > ?1 ORDER BY a.session_id LIMIT ?2",
        update: "UPDATE idempotent_answers SET sealed = ?2 WHERE session_id = ?1",
        table: "idempotent_answers",
        place: idempotency::place,
    },
];

/// Seals everything in the main database again, and gives every client a chain in the audit log:
/// from here on a client without one counts as damage. Call it in the transaction of the migration.
///
/// # Errors
/// The database failed, or `key` is not its key: then nothing may be changed.
pub(crate) fn main(main: &Connection, key: &InstanceKey) -> Result<(), StoreError> {
    let (old, new) = (FirstSealer::new(key)?, Sealer::new(key)?);
    // Without a check nothing was sealed yet.
    if directory::reseal_check(main, &old, &new)? {
        for rows in &ROWS {
            reseal(main, rows, |id, client, sealed| {
                Ok(new.seal((rows.place)(id, client), &old.open(rows.table, id, sealed)?)?)
            })?;
        }
        let records = Rows {
            select: "SELECT id, client_id, record FROM sessions WHERE id > ?1 ORDER BY id LIMIT ?2",
            update: "UPDATE sessions SET record = ?2 WHERE id = ?1",
            table: "sessions",
            place: stored_session::place_of,
        };
        reseal(main, &records, |id, client_id, sealed| {
            let record = old.open(records.table, id, sealed)?;
            is_of(main, id, client_id, &record)?;
            Ok(new.seal((records.place)(id, client_id), &record)?)
        })?;
    }
    let audit = AuditKeys::new(key)?;
    at_once(heads::begin_all(&Db::sqlite(main), &audit))
}

/// Whether an opened record belongs to its row. A row that was moved to another client stays
/// unreadable.
fn is_of(main: &Connection, id: &str, client_id: &str, record: &[u8]) -> Result<(), StoreError> {
    let livemode = main
        .prepare_cached("SELECT livemode FROM sessions WHERE id = ?1")?
        .query_row([id], |row| row.get(0))?;
    let row = Stored { id: id.into(), client_id: client_id.into(), livemode, record: Vec::new() };
    row.parse(record).map(drop)
}

/// Seals everything in `claims.db` again, once. `main` has its new form already.
///
/// # Errors
/// A database failed.
pub(crate) fn claims(
    claims: &mut Connection,
    main: &Connection,
    key: &InstanceKey,
    first: &FirstKey,
) -> Result<(), StoreError> {
    let version: i64 = claims.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if version >= CLAIMS_VERSION {
        return Ok(());
    }
    // The two files do not share a transaction, so the key's check is stored before the key seals
    // anything here.
    if let Some(check) = first.check() {
        directory::note(main, check)?;
        first.is_noted();
    }
    let (old, new) = (FirstSealer::new(key)?, Sealer::new(key)?);
    let transaction = claims.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for (table, select, update) in [
        (
            "results",
            "SELECT session_id, '', sealed FROM results WHERE session_id > ?1 \
             ORDER BY session_id LIMIT ?2",
            "UPDATE results SET sealed = ?2 WHERE session_id = ?1",
        ),
        (
            "session_keys",
            "SELECT session_id, '', sealed FROM session_keys WHERE session_id > ?1 \
             ORDER BY session_id LIMIT ?2",
            "UPDATE session_keys SET sealed = ?2 WHERE session_id = ?1",
        ),
    ] {
        let rows = Rows { select, update, table, place: stored_session::place_of };
        reseal(&transaction, &rows, |id, _, sealed| {
            let client = owner(main, &new, id)?.ok_or(Unsealable)?;
            let place = Place { purpose: table, object: id, client: &client };
            let bytes: Zeroizing<Vec<u8>> = claims::unpad(old.open(table, id, sealed)?)?;
            claims::seal_padded(&new, place, &bytes)
        })?;
    }
    transaction.pragma_update(None, "user_version", CLAIMS_VERSION)?;
    Ok(transaction.commit()?)
}

/// The client of the session, as its sealed record says.
fn owner(main: &Connection, sealer: &Sealer, id: &str) -> Result<Option<String>, StoreError> {
    let sql = sql("SELECT id, client_id, livemode, record FROM sessions WHERE id = $1");
    let stored = at_once(Db::sqlite(main).one(sql, &[&id], Stored::read))?;
    stored.map(|stored| Ok(stored.open(sealer)?.tenant().as_str().to_owned())).transpose()
}

/// Goes through the rows. A value that `anew` cannot open stays as it is, unreadable as before, and
/// is counted in the log: one damaged row must not keep a gateway from starting.
fn reseal(
    conn: &Connection,
    rows: &Rows,
    anew: impl Fn(&str, &str, &[u8]) -> Result<Vec<u8>, StoreError>,
) -> Result<(), StoreError> {
    let (mut last, mut damaged) = (String::new(), 0_u64);
    loop {
        let page = conn
            .prepare_cached(rows.select)?
            .query_map((&last, PAGE), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
            .collect::<Result<Vec<(String, String, Vec<u8>)>, _>>()?;
        let Some((id, ..)) = page.last() else { break };
        last.clone_from(id);
        for (id, client, sealed) in &page {
            match anew(id, client, sealed) {
                Ok(sealed) => {
                    conn.prepare_cached(rows.update)?.execute((id, sealed))?;
                }
                Err(StoreError::Damaged(_)) => damaged = damaged.saturating_add(1),
                Err(error) => return Err(error),
            }
        }
    }
    if damaged > 0 {
        tracing::error!(table = rows.table, damaged, "rows cannot be opened and stay as they are");
    }
    Ok(())
}
