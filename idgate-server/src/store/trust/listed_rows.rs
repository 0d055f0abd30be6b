//! European trusted lists in SQLite.

use idgate_core::time::UnixMillis;
use idgate_core::trust::ListMark;
use rusqlite::Connection;

use super::super::interface::{FetchedList, ListSource, Refreshed, StoreError};
use super::super::statement::rows;
use super::list_statements::{
    self, MARK, OF_URL, RECORDS, SOURCES, fetch_row, mark_row, note_fetch, source_row,
};
use super::list_taking::{Refresh, Step, check_sources};
use super::listed::{ListRow, TrustedListRecord};
use super::{TrustChange, bump};
use crate::audit::AuditEvent;

/// Takes the list of `change`, or changes how the entry takes the one that it has.
pub(super) fn add(
    main: &Connection,
    issuer_id: &str,
    change: &TrustChange,
    now: UnixMillis,
) -> Result<(), StoreError> {
    match change.list_step(issuer_id, find(main, issuer_id)?, now)? {
        Step::Nothing => Ok(()),
        Step::Settings(row) => row.put().run(main).map(drop),
        Step::List(prepared) => {
            let mark = mark(main, &prepared.source)?;
            for statement in prepared.take(mark.as_ref(), now)?.statements() {
                statement.run(main)?;
            }
            check_sources(sources(main)?.len())
        }
    }
}

/// Gives every entry that takes lists from there the one that was fetched, and keeps how the fetch went;
/// with what the audit log says of it.
pub(in crate::store) fn refresh(
    main: &Connection,
    fetched: &FetchedList,
    by: &str,
    now: UnixMillis,
) -> Result<(Refreshed, Vec<AuditEvent>), StoreError> {
    let formers = rows(main, OF_URL, [&fetched.url], |row| ListRow::read(row))?;
    let [live, test] = Refresh::sources(&fetched.url);
    let marks = [mark(main, &live)?, mark(main, &test)?];
    let refresh = Refresh::decide(fetched, &formers, &marks, now)?;
    for statement in refresh.taken.iter().flat_map(|taken| taken.statements()) {
        statement.run(main)?;
    }
    note(main, &fetched.url, refresh.outcome.failure(), now)?;
    let events = refresh.events(by, now);
    if !events.is_empty() {
        bump(main)?;
    }
    Ok((refresh.outcome, events))
}

/// Where lists are fetched from.
pub(in crate::store) fn sources(main: &Connection) -> Result<Vec<ListSource>, StoreError> {
    rows(main, SOURCES, [], |row| source_row(row))
}

/// Keeps how a fetch went.
pub(in crate::store) fn note(
    main: &Connection,
    url: &str,
    failure: Option<&str>,
    now: UnixMillis,
) -> Result<(), StoreError> {
    note_fetch(url, failure, now).iter().try_for_each(|statement| statement.run(main).map(drop))
}

/// The list of an entry, for those who look.
pub(super) fn record(
    main: &Connection,
    issuer_id: &str,
) -> Result<Option<TrustedListRecord>, StoreError> {
    let found = rows(main, RECORDS, [issuer_id], |row| {
        TrustedListRecord::new(ListRow::read(row)?, fetch_row(row, 16)?)
    });
    Ok(found?.pop())
}

/// Removes the list of an entry that has this hash, and says how many certificates it brought.
pub(super) fn remove(
    main: &Connection,
    issuer_id: &str,
    sha256: &[u8; 32],
) -> Result<Option<usize>, StoreError> {
    let record = record(main, issuer_id)?.filter(|record| record.row.sha256 == sha256);
    if record.is_some() {
        list_statements::remove(issuer_id).run(main)?;
    }
    Ok(record.map(|record| record.certificates()))
}

fn find(main: &Connection, issuer_id: &str) -> Result<Option<ListRow>, StoreError> {
    Ok(rows(main, RECORDS, [issuer_id], |row| ListRow::read(row))?.pop())
}

fn mark(main: &Connection, source: &str) -> Result<Option<ListMark>, StoreError> {
    Ok(rows(main, MARK, [source], |row| mark_row(row))?.pop())
}
