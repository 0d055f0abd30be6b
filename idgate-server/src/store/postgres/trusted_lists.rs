//! European trusted lists, the same for all nodes.

use idgate_core::time::UnixMillis;
use idgate_core::trust::ListMark;

use super::error::Done;
use super::pool::Tx;
use super::sql::{row, rows, run};
use crate::audit::AuditEvent;
use crate::store::interface::{FetchedList, ListSource, Refreshed, StoreError};
use crate::store::trust::list_statements::{
    self, MARK, OF_URL, RECORDS, SOURCES, fetch_row, mark_row, note_fetch, source_row,
};
use crate::store::trust::list_taking::{Refresh, Step, check_sources};
use crate::store::trust::{ListRow, TrustChange, TrustedListRecord};

/// Takes the list of `change`, or changes how the entry takes the one that it has.
pub(in crate::store) async fn add(
    tx: &Tx<'_>,
    issuer_id: &str,
    change: &TrustChange,
    now: UnixMillis,
) -> Done<()> {
    match change.list_step(issuer_id, find(tx, issuer_id).await?, now)? {
        Step::Nothing => {}
        Step::Settings(row) => run(tx, &row.put()).await?,
        Step::List(prepared) => {
            let mark = mark(tx, &prepared.source).await?;
            let taken = prepared.take(mark.as_ref(), now).map_err(StoreError::from)?;
            for statement in taken.statements() {
                run(tx, &statement).await?;
            }
            check_sources(sources(tx).await?.len())?;
        }
    }
    Ok(())
}

/// Gives every entry that takes lists from there the one that was fetched, and keeps how the fetch went;
/// with what the audit log says of it.
pub(super) async fn refresh(
    tx: &Tx<'_>,
    fetched: &FetchedList,
    (by, now): (&str, UnixMillis),
) -> Done<(Refreshed, Vec<AuditEvent>)> {
    let formers = rows(tx, &format!("{OF_URL} FOR UPDATE"), &[&fetched.url]).await?;
    let formers = formers.iter().map(ListRow::read).collect::<Result<Vec<_>, _>>()?;
    let [live, test] = Refresh::sources(&fetched.url);
    let marks = [mark(tx, &live).await?, mark(tx, &test).await?];
    let refresh = Refresh::decide(fetched, &formers, &marks, now)?;
    for statement in refresh.taken.iter().flat_map(|taken| taken.statements()) {
        run(tx, &statement).await?;
    }
    note(tx, &fetched.url, refresh.outcome.failure(), now).await?;
    let events = refresh.events(by, now);
    Ok((refresh.outcome, events))
}

/// Where lists are fetched from.
pub(super) async fn sources(tx: &Tx<'_>) -> Done<Vec<ListSource>> {
    Ok(rows(tx, SOURCES, &[]).await?.iter().map(source_row).collect::<Result<_, _>>()?)
}

/// Keeps how a fetch went.
pub(in crate::store) async fn note(
    tx: &Tx<'_>,
    url: &str,
    failure: Option<&str>,
    now: UnixMillis,
) -> Done<()> {
    for statement in note_fetch(url, failure, now) {
        run(tx, &statement).await?;
    }
    Ok(())
}

/// The lists of all entries, or of the one called `issuer_id`, for those who look.
pub(in crate::store) async fn records(
    tx: &Tx<'_>,
    issuer_id: Option<&str>,
) -> Done<Vec<TrustedListRecord>> {
    let mut found = Vec::new();
    for row in rows(tx, RECORDS, &[&issuer_id]).await? {
        found.push(TrustedListRecord::new(ListRow::read(&row)?, fetch_row(&row, 16)?)?);
    }
    Ok(found)
}

/// Removes the list of an entry that has this hash, and says how many certificates it brought.
pub(in crate::store) async fn remove(
    tx: &Tx<'_>,
    issuer_id: &str,
    sha256: &[u8; 32],
) -> Done<Option<usize>> {
    let record = records(tx, Some(issuer_id)).await?.pop();
    let record = record.filter(|record| record.row.sha256 == sha256);
    if record.is_some() {
        run(tx, &list_statements::remove(issuer_id)).await?;
    }
    Ok(record.map(|record| record.certificates()))
}

async fn find(tx: &Tx<'_>, issuer_id: &str) -> Done<Option<ListRow>> {
    Ok(row(tx, RECORDS, &[&Some(issuer_id)]).await?.as_ref().map(ListRow::read).transpose()?)
}

async fn mark(tx: &Tx<'_>, source: &str) -> Done<Option<ListMark>> {
    let found = row(tx, &format!("{MARK} FOR UPDATE"), &[&source]).await?;
    Ok(found.as_ref().map(mark_row).transpose()?)
}
