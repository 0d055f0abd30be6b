//! European trusted lists as rows of SQLite.

use idgate_core::time::UnixMillis;
use idgate_core::trust::ListMark;
use rusqlite::{Connection, OptionalExtension as _, Row};

use super::super::interface::{ListFetch, ListSource, Refreshed, StoreError};
use super::super::sql::{millis, number, time, unsigned};
use super::listed::{ListRow, NewTrustedList, Refused, TrustedListRecord, check_sources};
use super::{TrustChange, bump};

/// Takes the list of `change`, or changes how the entry takes the one that it has.
pub(super) fn add(
    main: &Connection,
    issuer_id: &str,
    change: &TrustChange,
    now: UnixMillis,
) -> Result<(), StoreError> {
    let former = find(main, issuer_id)?;
    if let Some(new) = &change.trusted_list {
        let settings = (&change.list_settings, change.test_only);
        return Ok(take(main, issuer_id, new, settings, former.as_ref(), now).map(drop)?);
    }
    if change.list_settings.is_empty() {
        return Ok(());
    }
    let mut row = former.ok_or_else(|| no_list(issuer_id))?;
    row.set(&change.list_settings);
    put(main, &row)
}

/// A setting of a list for an entry without one.
pub(in crate::store) fn no_list(issuer_id: &str) -> StoreError {
    StoreError::Failed(format!(
        "{issuer_id} has no trusted list; --provider and --signer-profile go with --trusted-list"
    ))
}

fn take(
    main: &Connection,
    issuer_id: &str,
    new: &NewTrustedList,
    settings: (&super::ListSettings, bool),
    former: Option<&ListRow>,
    now: UnixMillis,
) -> Result<bool, Refused> {
    let prepared = new.prepare(issuer_id, settings, former, now)?;
    let seen = mark(main, &prepared.source)?;
    let next = prepared.mark(seen.as_ref(), now)?;
    put(main, &prepared.row)?;
    put_mark(main, &prepared.source, &next)?;
    check_sources(sources(main)?.len())?;
    Ok(!prepared.is_same_as(former))
}

/// Gives every entry that takes lists from `url` the one that was fetched there.
pub(in crate::store) fn refresh(
    main: &Connection,
    url: &str,
    token: &[u8],
    accept_rollback: bool,
    now: UnixMillis,
) -> Result<(Refreshed, Vec<String>), StoreError> {
    let rows = of_url(main, url)?;
    let mut outcome = if rows.is_empty() { Refreshed::Unwanted } else { Refreshed::Same };
    let mut changed = Vec::new();
    main.execute_batch("SAVEPOINT lists")?;
    for former in rows {
        let new = NewTrustedList {
            url: Some(url.to_owned()),
            token: token.to_vec(),
            anchors: None,
            crls: None,
            accept_rollback,
        };
        let settings = (&super::ListSettings::default(), former.test_only);
        match take(main, &former.issuer_id, &new, settings, Some(&former), now) {
            Ok(false) => {}
            Ok(true) => {
                if let Some(row) = find(main, &former.issuer_id)? {
                    let (from, to) = (former.sequence, row.sequence);
                    outcome = Refreshed::New { from, to, providers: row.listed };
                }
                changed.push(former.issuer_id);
            }
            Err(refused) => {
                main.execute_batch("ROLLBACK TO lists; RELEASE lists")?;
                return Ok((refused.outcome()?, Vec::new()));
            }
        }
    }
    main.execute_batch("RELEASE lists")?;
    if !changed.is_empty() {
        bump(main)?;
    }
    Ok((outcome, changed))
}

/// Where lists are fetched from.
pub(in crate::store) fn sources(main: &Connection) -> Result<Vec<ListSource>, StoreError> {
    let mut statement = main.prepare_cached(
        "SELECT l.url, min(l.next_update), max(l.added_at), max(l.sequence), max(l.listed), \
         f.tried_at, f.failures, f.failure \
         FROM trusted_lists AS l LEFT JOIN trusted_list_fetches AS f ON f.url = l.url \
         WHERE l.url IS NOT NULL GROUP BY l.url ORDER BY l.url",
    )?;
    let source = |row: &Row<'_>| {
        Ok(ListSource {
            url: row.get(0)?,
            next_update: time(row.get(1)?),
            added_at: time(row.get(2)?),
            sequence: unsigned(row.get(3)?),
            listed: unsigned(row.get(4)?),
            fetch: fetch_row(row, 5)?,
        })
    };
    Ok(statement.query_map([], source)?.collect::<Result<_, _>>()?)
}

/// Keeps how a fetch went.
pub(in crate::store) fn note_fetch(
    main: &Connection,
    url: &str,
    failure: Option<&str>,
    now: UnixMillis,
) -> Result<(), StoreError> {
    main.execute(
        "INSERT INTO trusted_list_fetches (url, tried_at, failures, failure) \
         VALUES (?1, ?2, ?3 IS NOT NULL, ?3) ON CONFLICT (url) DO UPDATE \
         SET tried_at = ?2, failure = ?3, \
         failures = CASE WHEN ?3 IS NULL THEN 0 ELSE failures + 1 END",
        (url, millis(now), failure),
    )?;
    main.execute(
        "DELETE FROM trusted_list_fetches \
         WHERE url NOT IN (SELECT url FROM trusted_lists WHERE url IS NOT NULL)",
        [],
    )?;
    Ok(())
}

/// The list of an entry, for those who look.
pub(super) fn record(
    main: &Connection,
    issuer_id: &str,
) -> Result<Option<TrustedListRecord>, StoreError> {
    let Some(row) = find(main, issuer_id)? else { return Ok(None) };
    let fetch = match &row.url {
        Some(url) => main
            .prepare_cached(
                "SELECT tried_at, failures, failure FROM trusted_list_fetches WHERE url = ?1",
            )?
            .query_row([url], |row| fetch_row(row, 0))
            .optional()?
            .flatten(),
        None => None,
    };
    Ok(Some(TrustedListRecord::new(row, fetch)?))
}

/// Removes the list of an entry that has this hash, and says how many certificates it brought.
pub(super) fn remove(
    main: &Connection,
    issuer_id: &str,
    sha256: &[u8; 32],
) -> Result<Option<usize>, StoreError> {
    let Some(record) = record(main, issuer_id)? else { return Ok(None) };
    if record.row.sha256 != sha256 {
        return Ok(None);
    }
    main.execute("DELETE FROM trusted_lists WHERE issuer_id = ?1", [issuer_id])?;
    Ok(Some(record.certificates()))
}

const COLUMNS: &str = "issuer_id, url, list_type, organization, token, sha256, anchors, crls, \
                       providers, profile, allow_stale, test_only, sequence, listed, next_update, \
                       added_at";

fn find(main: &Connection, issuer_id: &str) -> Result<Option<ListRow>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM trusted_lists WHERE issuer_id = ?1");
    Ok(main.prepare_cached(&sql)?.query_row([issuer_id], list_row).optional()?)
}

fn of_url(main: &Connection, url: &str) -> Result<Vec<ListRow>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM trusted_lists WHERE url = ?1 ORDER BY issuer_id");
    let mut statement = main.prepare_cached(&sql)?;
    Ok(statement.query_map([url], list_row)?.collect::<Result<_, _>>()?)
}

fn list_row(row: &Row<'_>) -> rusqlite::Result<ListRow> {
    Ok(ListRow {
        issuer_id: row.get(0)?,
        url: row.get(1)?,
        list_type: row.get(2)?,
        organization: row.get(3)?,
        token: row.get(4)?,
        sha256: row.get(5)?,
        anchors: row.get(6)?,
        crls: row.get(7)?,
        providers: row.get(8)?,
        profile: row.get(9)?,
        allow_stale: row.get(10)?,
        test_only: row.get(11)?,
        sequence: unsigned(row.get(12)?),
        listed: unsigned(row.get(13)?),
        next_update: time(row.get(14)?),
        added_at: time(row.get(15)?),
    })
}

fn fetch_row(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<ListFetch>> {
    let tried_at: Option<i64> = row.get(at)?;
    let failures: Option<i64> = row.get(at.saturating_add(1))?;
    let failure = row.get(at.saturating_add(2))?;
    Ok(tried_at.map(|tried_at| ListFetch {
        tried_at: time(tried_at),
        failures: unsigned(failures.unwrap_or(0)),
        failure,
    }))
}

fn put(main: &Connection, row: &ListRow) -> Result<(), StoreError> {
    let sql = format!(
        "INSERT OR REPLACE INTO trusted_lists ({COLUMNS}) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)"
    );
    main.execute(
        &sql,
        (
            &row.issuer_id,
            &row.url,
            &row.list_type,
            &row.organization,
            &row.token,
            &row.sha256,
            &row.anchors,
            &row.crls,
            &row.providers,
            &row.profile,
            row.allow_stale,
            row.test_only,
            number(row.sequence),
            number(row.listed),
            millis(row.next_update),
            millis(row.added_at),
        ),
    )?;
    Ok(())
}

fn mark(main: &Connection, source: &str) -> Result<Option<ListMark>, StoreError> {
    let mark = |row: &Row<'_>| {
        let payload_sha256: Vec<u8> = row.get(2)?;
        Ok(ListMark {
            sequence: unsigned(row.get(0)?),
            issued_at: time(row.get(1)?),
            payload_sha256: payload_sha256.try_into().unwrap_or_default(),
            seen_at: time(row.get(3)?),
        })
    };
    let sql = "SELECT sequence, issued_at, payload_sha256, seen_at FROM trusted_list_marks \
               WHERE source = ?1";
    Ok(main.prepare_cached(sql)?.query_row([source], mark).optional()?)
}

fn put_mark(main: &Connection, source: &str, mark: &ListMark) -> Result<(), StoreError> {
    main.execute(
        "INSERT OR REPLACE INTO trusted_list_marks \
         (source, sequence, issued_at, payload_sha256, seen_at) VALUES (?1, ?2, ?3, ?4, ?5)",
        (
            source,
            number(mark.sequence),
            millis(mark.issued_at),
            mark.payload_sha256.as_slice(),
            millis(mark.seen_at),
        ),
    )?;
    Ok(())
}
