//! Replaces the key of the values in a data directory. No gateway uses the directory at that time:
//! it has only one, which has to be restarted with the new key anyway.

use rusqlite::{Connection, OptionalExtension as _};

use crate::audit_chain::AuditKeys;
use crate::db::{Db, at_once};
use crate::instance_keys::{Lock, checks, only_key};
use crate::rekey::{LOG, Mode, Rekeying, beginning, page, pages_of, sealed_parts};
use crate::seal::{Place, Sealer};
use crate::sqlite::error::begin;
use crate::sqlite::files;
use crate::types::Resealed;
use crate::types::StoreError;

/// Counts the values in both databases. The second may not exist yet.
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
    for part in sealed_parts().chain(LOG) {
        at_once(pages_of(&Db::sqlite(main), part, &mut work))?;
    }
    Ok(work.found)
}

/// The same for values that a gateway keeps across a start, which excludes results.
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

/// Seals everything again. If every value could be opened, the other keys are no longer required.
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
    for part in sealed_parts() {
        let mut last = beginning();
        loop {
            let transaction = begin(main)?;
            let end = at_once(page(&Db::sqlite(&transaction), part, &last, &mut work))?;
            transaction.commit()?;
            let Some(end) = end else { break };
            last = end;
        }
    }
    let transaction = begin(main)?;
    for part in LOG {
        at_once(pages_of(&Db::sqlite(&transaction), part, &mut work))?;
    }
    // A value that none of the keys opens may be replaced by a restored backup, in which one of
    // them opens it.
    if work.found.unreadable == 0 {
        at_once(async {
            let db = Db::sqlite(&transaction);
            only_key(&db, sealer, &checks(&db, Lock::None).await?).await
        })?;
    }
    transaction.commit()?;
    files::truncate_log(main)?;
    Ok(work.found)
}

/// Values of sessions, in a table of `claims.db`.
struct OfSessions {
    purpose: &'static str,
    select: &'static str,
    update: &'static str,
    /// The client of a session that may have such a value.
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

/// Results and session keys, whose clients are in the main database.
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
        // The next start removes values without a session.
        let Some(client) = client else { continue };
        let place = Place { purpose: values.purpose, object: &object, client: &client };
        if let Some(anew) = work.sealed(place, &sealed)? {
            claims.prepare_cached(values.update)?.execute((row, anew))?;
        }
    }
    Ok(())
}
