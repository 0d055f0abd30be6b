//! The values of a database, page by page. Nodes go on meanwhile: a page holds rows of one table, in the
//! order of their keys, and a value that changed since it was read is left alone. Whether the node that
//! changed it seals with the new key already is looked at afterwards.

use deadpool_postgres::GenericClient;
use tokio_postgres::types::ToSql;

use super::super::rekey::{KINDS, Kind, Mode, PAGE, PlaceOf, Rekeying};
use super::super::sql::unsigned;
use super::super::types::Resealed;
use super::audit::heads;
use super::claims::{self, SLOTS};
use super::error::Done;
use super::pool::{Pool, Tx};
use crate::audit::head::slice_message;
use crate::audit::heads::read_row;
use crate::audit_chain::AuditKeys;
use crate::db;
use crate::postgres_statements::{execute, rows};
use crate::seal::{Place, Sealer};

/// A table with values of one form.
pub(super) enum Part {
    /// Sealed values that stand alike in all stores.
    Sealed(&'static Kind),
    /// Sealed values of sessions, in a table beside them.
    OfSessions(PlaceOf, String),
    /// The heads of the chains.
    Heads,
    /// How many entries there are.
    Totals,
    /// Checkpoints.
    Checkpoints,
    /// Removals.
    Removals,
}

/// Behind which row a page begins: a name, and a number where one name has several rows.
pub(super) type Last = (String, i64);

impl Part {
    /// Before the first row.
    pub(super) const fn beginning() -> Last {
        (String::new(), i64::MIN)
    }
}

/// All there is.
pub(super) fn parts() -> Vec<Part> {
    let sealed = KINDS.iter().map(Part::Sealed);
    let keys: PlaceOf = |object, client| Place { purpose: "session_keys", object, client };
    let results: PlaceOf = |object, client| Place { purpose: "results", object, client };
    let slots = (0..SLOTS).map(|slot| Part::OfSessions(results, claims::table(slot)));
    let log = [Part::Heads, Part::Totals, Part::Checkpoints, Part::Removals];
    sealed.chain([Part::OfSessions(keys, "session_keys".into())]).chain(slots).chain(log).collect()
}

/// One page of a part: what it has, and where it ends unless it is empty. It is read and replaced in one
/// transaction, but for values in tables that are truncated: nobody waits there for a command that is
/// stopped on its way.
pub(super) async fn page(
    pool: &Pool,
    keys: (&Sealer, &AuditKeys),
    part: &Part,
    last: &Last,
    mode: Mode,
) -> Done<(Resealed, Option<Last>)> {
    if let Part::OfSessions(place, table) = part {
        let mut work = Rekeying::new(keys.0, keys.1, mode);
        let client = pool.client().await?;
        let end = of_sessions(&client, *place, table, &last.0, &mut work).await?;
        return Ok((work.found, end));
    }
    let with = (keys, part, last, mode);
    // Counting seals nothing.
    let pool = if mode == Mode::Count { &pool.not_noting() } else { pool };
    pool.transact(&with, |((sealer, audit), part, last, mode), tx| {
        Box::pin(async move {
            let mut work = Rekeying::new(sealer, audit, *mode);
            let end = match part {
                Part::Sealed(kind) => {
                    sealed(tx, (kind.select, kind.update), kind.place, &last.0, &mut work).await?
                }
                Part::OfSessions(..) => None,
                Part::Heads => heads_of(tx, &last.0, &mut work).await?,
                Part::Totals => totals(tx, last.1, &mut work).await?,
                Part::Checkpoints => checkpoints(tx, last, &mut work).await?,
                Part::Removals => removals(tx, &last.0, &mut work).await?,
            };
            Ok((work.found, end))
        })
    })
    .await
}

async fn sealed(
    tx: &Tx<'_>,
    (select, update): (&str, &str),
    place: PlaceOf,
    last: &str,
    work: &mut Rekeying<'_>,
) -> Done<Option<Last>> {
    let mut end = None;
    for row in rows(tx, select, &[&last, &PAGE]).await? {
        let (id, client): (String, String) = (row.try_get(0)?, row.try_get(1)?);
        let sealed: Vec<u8> = row.try_get(2)?;
        if let Some(anew) = work.sealed(place(&id, &client), &sealed)? {
            execute(tx, update, &[&id, &anew, &sealed]).await?;
        }
        end = Some((id, 0));
    }
    Ok(end)
}

async fn of_sessions(
    on: &impl GenericClient,
    place: PlaceOf,
    table: &str,
    last: &str,
    work: &mut Rekeying<'_>,
) -> Done<Option<Last>> {
    let select = format!(
        "SELECT k.session_id, s.client_id, k.sealed FROM {table} AS k \
         JOIN sessions AS s ON s.id = k.session_id WHERE k.session_id > $1 \
         ORDER BY k.session_id LIMIT $2"
    );
    let (mut ids, mut anew, mut old) = (Vec::new(), Vec::new(), Vec::new());
    let mut end = None;
    for row in rows(on, &select, &[&last, &PAGE]).await? {
        let (id, client): (String, String) = (row.try_get(0)?, row.try_get(1)?);
        let sealed: Vec<u8> = row.try_get(2)?;
        end = Some((id.clone(), 0));
        if let Some(value) = work.sealed(place(&id, &client), &sealed)? {
            ids.push(id);
            anew.push(value);
            old.push(sealed);
        }
    }
    if !ids.is_empty() {
        let update = format!(
            "UPDATE {table} AS k SET sealed = v.anew \
             FROM unnest($1::text[], $2::bytea[], $3::bytea[]) AS v (id, anew, old) \
             WHERE k.session_id = v.id AND k.sealed = v.old"
        );
        execute(on, &update, &[&ids, &anew, &old]).await?;
    }
    Ok(end)
}

async fn heads_of(tx: &Tx<'_>, last: &str, work: &mut Rekeying<'_>) -> Done<Option<Last>> {
    let select = format!(
        "SELECT {} FROM audit_heads WHERE client_id > $1 ORDER BY client_id LIMIT $2 {}",
        heads::COLUMNS,
        locking(work)
    );
    let mut end = None;
    for row in rows(tx, &select, &[&last, &locked(work)]).await? {
        let (head, genuine) = read_row(work.audit, &db::Row::Postgres(&row))?;
        if let Some(anew) = work.head(&head, genuine, row.try_get(6)?) {
            let update = "UPDATE audit_heads SET mac = $2 WHERE client_id = $1";
            execute(tx, update, &[&head.client_id, &anew]).await?;
        }
        end = Some((head.client_id, 0));
    }
    Ok(end)
}

async fn totals(tx: &Tx<'_>, last: i64, work: &mut Rekeying<'_>) -> Done<Option<Last>> {
    let select = format!(
        "SELECT slice, entries, mac FROM audit_totals WHERE slice > $1 ORDER BY slice LIMIT $2 {}",
        locking(work)
    );
    let mut end = None;
    for row in rows(tx, &select, &[&last, &locked(work)]).await? {
        let (slice, entries): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
        let message = slice_message(slice, unsigned(entries));
        if let Some(anew) = work.mac(&message, row.try_get(2)?) {
            let update = "UPDATE audit_totals SET mac = $2 WHERE slice = $1";
            execute(tx, update, &[&slice, &anew]).await?;
        }
        end = Some((String::new(), slice));
    }
    Ok(end)
}

async fn checkpoints(tx: &Tx<'_>, last: &Last, work: &mut Rekeying<'_>) -> Done<Option<Last>> {
    let select = "SELECT client_id, seq, signed FROM audit_checkpoints \
                  WHERE (client_id, seq) > ($1, $2) ORDER BY client_id, seq LIMIT $3";
    let mut end = None;
    for row in rows(tx, select, &[&last.0, &last.1, &PAGE]).await? {
        let (client_id, seq): (String, i64) = (row.try_get(0)?, row.try_get(1)?);
        let line: &str = row.try_get(2)?;
        if let Some(anew) = work.checkpoint(line) {
            let update = "UPDATE audit_checkpoints SET signed = $3 \
                          WHERE client_id = $1 AND seq = $2 AND signed = $4";
            let values: [&(dyn ToSql + Sync); 4] = [&client_id, &seq, &anew, &line];
            execute(tx, update, &values).await?;
        }
        end = Some((client_id, seq));
    }
    Ok(end)
}

async fn removals(tx: &Tx<'_>, last: &str, work: &mut Rekeying<'_>) -> Done<Option<Last>> {
    let select = "SELECT client_id, signed FROM audit_removals \
                  WHERE client_id > $1 ORDER BY client_id LIMIT $2";
    let mut end = None;
    for row in rows(tx, select, &[&last, &PAGE]).await? {
        let (client_id, line): (String, String) = (row.try_get(0)?, row.try_get(1)?);
        if let Some(anew) = work.removal(&client_id, &line) {
            let update = "UPDATE audit_removals SET signed = $2 \
                          WHERE client_id = $1 AND signed = $3";
            execute(tx, update, &[&client_id, &anew, &line]).await?;
        }
        end = Some((client_id, 0));
    }
    Ok(end)
}

/// Who counts is in nobody's way.
fn locking(work: &Rekeying<'_>) -> &'static str {
    if work.mode == Mode::Replace { "FOR UPDATE" } else { "" }
}

/// How many rows of those that every settlement writes are held at a time.
fn locked(work: &Rekeying<'_>) -> i64 {
    if work.mode == Mode::Replace { 1 } else { PAGE }
}
