//! The values of a data directory. No gateway uses it meanwhile: a directory has one, which is started
//! with the new key anyway.

use rusqlite::types::FromSql;
use rusqlite::{Connection, OptionalExtension as _};

use crate::audit::head::total_message;
use crate::audit_chain::AuditKeys;
use crate::db::of_sqlite;
use crate::key_check;
use crate::rekey::{KINDS, Kind, Mode, PAGE, Rekeying};
use crate::seal::{Place, Sealer};
use crate::sql::unsigned;
use crate::sqlite::audit;
use crate::sqlite::error::begin;
use crate::sqlite::files;
use crate::types::Resealed;
use crate::types::StoreError;

/// Counts what there is in both databases; the second may not be there yet.
pub(crate) fn count(
    main: &Connection,
    claims: Option<&Connection>,
    sealer: &Sealer,
    audit: &AuditKeys,
) -> Result<Resealed, StoreError> {
    let mut work = Rekeying::new(sealer, audit, Mode::Count);
    if let Some(claims) = claims {
        of_claims(claims, main, &mut work)?;
    }
    for kind in &KINDS {
        each(main, kind, &mut work)?;
    }
    of_log(main, &mut work)?;
    Ok(work.found)
}

/// The same of what a gateway that starts would keep, but for results.
pub(crate) fn count_lasting(
    main: &Connection,
    claims: Option<&Connection>,
    sealer: &Sealer,
    audit: &AuditKeys,
) -> Result<Resealed, StoreError> {
    let mut found = count(main, None, sealer, audit)?;
    if let Some(claims) = claims {
        let mut work = Rekeying::new(sealer, audit, Mode::Count);
        of_sessions(claims, main, &SESSION_KEYS, &mut work)?;
        found.add(work.found);
    }
    Ok(found)
}

/// Seals everything anew, and says at last that no other key is needed, if everything could be opened.
pub(crate) fn reseal(
    main: &mut Connection,
    claims: Option<&mut Connection>,
    sealer: &Sealer,
    audit: &AuditKeys,
) -> Result<Resealed, StoreError> {
    let mut work = Rekeying::new(sealer, audit, Mode::Replace);
    if let Some(claims) = claims {
        let transaction = begin(claims)?;
        of_claims(&transaction, main, &mut work)?;
        transaction.commit()?;
        files::truncate_log(claims)?;
    }
    for kind in &KINDS {
        let mut last = String::new();
        loop {
            let transaction = begin(main)?;
            let end = page(&transaction, kind, &last, &mut work)?;
            transaction.commit()?;
            let Some(end) = end else { break };
            last = end;
        }
    }
    let transaction = begin(main)?;
    of_log(&transaction, &mut work)?;
    // What none of them opens may open under one of them when a backup brings it back.
    if work.found.unreadable == 0 {
        let sealed = key_check::seal(sealer, key_check::CHECK)?;
        let sql = "UPDATE instance SET sealed = ?2 WHERE name = ?1";
        transaction.execute(sql, (key_check::CHECK, sealed))?;
        transaction.execute(key_check::FORGET_OTHERS, [])?;
    }
    transaction.commit()?;
    files::truncate_log(main)?;
    Ok(work.found)
}

fn each(main: &Connection, kind: &Kind, work: &mut Rekeying<'_>) -> Result<(), StoreError> {
    let mut last = String::new();
    while let Some(end) = page(main, kind, &last, work)? {
        last = end;
    }
    Ok(())
}

/// One page of rows behind `last`; the last of them, unless there are none.
fn page(
    main: &Connection,
    kind: &Kind,
    last: &str,
    work: &mut Rekeying<'_>,
) -> Result<Option<String>, StoreError> {
    let rows = main
        .prepare_cached(&of_sqlite(kind.select))?
        .query_map((last, PAGE), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<Result<Vec<(String, String, Vec<u8>)>, _>>()?;
    for (id, client, sealed) in &rows {
        if let Some(anew) = work.sealed((kind.place)(id, client), sealed)? {
            main.prepare_cached(&of_sqlite(kind.update))?.execute((id, anew, sealed))?;
        }
    }
    Ok(rows.into_iter().next_back().map(|(id, ..)| id))
}

/// Values of sessions, in a table of `claims.db`.
struct OfSessions {
    purpose: &'static str,
    select: &'static str,
    update: &'static str,
    /// The client of a session that may have one.
    client: &'static str,
}

const RESULTS: OfSessions = OfSessions {
    purpose: "results",
    select: "SELECT rowid, session_id, sealed FROM results",
    update: "UPDATE results SET sealed = ?2 WHERE rowid = ?1",
    client: "SELECT client_id FROM sessions WHERE id = ?1",
};

const SESSION_KEYS: OfSessions = OfSessions {
    purpose: "session_keys",
    select: "SELECT rowid, session_id, sealed FROM session_keys",
    update: "UPDATE session_keys SET sealed = ?2 WHERE rowid = ?1",
    client: "SELECT client_id FROM sessions WHERE id = ?1 AND settled_at IS NULL",
};

/// Results and session keys, whose clients the main database knows.
fn of_claims(
    claims: &Connection,
    main: &Connection,
    work: &mut Rekeying<'_>,
) -> Result<(), StoreError> {
    of_sessions(claims, main, &RESULTS, work)?;
    of_sessions(claims, main, &SESSION_KEYS, work)
}

fn of_sessions(
    claims: &Connection,
    main: &Connection,
    values: &OfSessions,
    work: &mut Rekeying<'_>,
) -> Result<(), StoreError> {
    let rows = claims
        .prepare(values.select)?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<Result<Vec<(i64, String, Vec<u8>)>, _>>()?;
    for (row, object, sealed) in rows {
        let client: Option<String> = main
            .prepare_cached(values.client)?
            .query_row([&object], |row| row.get(0))
            .optional()?;
        // What belongs to no such session goes with the next start.
        let Some(client) = client else { continue };
        let place = Place { purpose: values.purpose, object: &object, client: &client };
        if let Some(anew) = work.sealed(place, &sealed)? {
            claims.prepare_cached(values.update)?.execute((row, anew))?;
        }
    }
    Ok(())
}

/// Heads, their sum, checkpoints and removals.
fn of_log(main: &Connection, work: &mut Rekeying<'_>) -> Result<(), StoreError> {
    for (found, mac) in audit::all(main, work.audit)? {
        let (head, genuine) = found;
        if let Some(anew) = work.head(&head, genuine, &mac) {
            main.prepare_cached("UPDATE audit_heads SET mac = ?2 WHERE client_id = ?1")?
                .execute((&head.client_id, anew))?;
        }
    }
    let totals = main
        .prepare("SELECT entries, mac FROM audit_total")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<Vec<(i64, Vec<u8>)>, _>>()?;
    for (entries, mac) in totals {
        if let Some(anew) = work.mac(&total_message(unsigned(entries)), &mac) {
            main.execute("UPDATE audit_total SET mac = ?1", [anew])?;
        }
    }
    let (mut client, mut seq) = (String::new(), i64::MIN);
    loop {
        let rows = main
            .prepare_cached(
                "SELECT client_id, seq, signed FROM audit_checkpoints \
                 WHERE (client_id, seq) > (?1, ?2) ORDER BY client_id, seq LIMIT ?3",
            )?
            .query_map((&client, seq, PAGE), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
            .collect::<Result<Vec<(String, i64, String)>, _>>()?;
        let Some((of, at, _)) = rows.last() else { break };
        (client, seq) = (of.clone(), *at);
        for (client_id, seq, line) in &rows {
            if let Some(anew) = work.checkpoint(line) {
                let sql =
                    "UPDATE audit_checkpoints SET signed = ?3 WHERE client_id = ?1 AND seq = ?2";
                main.prepare_cached(sql)?.execute((client_id, seq, anew))?;
            }
        }
    }
    for (client_id, line) in pairs::<String>(main, "SELECT client_id, signed FROM audit_removals")?
    {
        if let Some(anew) = work.removal(&client_id, &line) {
            main.prepare_cached("UPDATE audit_removals SET signed = ?2 WHERE client_id = ?1")?
                .execute((client_id, anew))?;
        }
    }
    Ok(())
}

fn pairs<T: FromSql>(on: &Connection, select: &str) -> Result<Vec<(String, T)>, StoreError> {
    let mut statement = on.prepare(select)?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}
