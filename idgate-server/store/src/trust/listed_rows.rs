//! European trusted lists as rows.

use idgate_core::UnixMillis;
use idgate_core::shell::ListMark;

use super::TrustChange;
use super::entries::{bump, hold};
use super::list_of_lists_rows;
use super::list_taking::{Refresh, Step, Taken, check_sources};
use super::listed::{ListRow, TrustedListRecord};
use crate::audit_chain::AuditEvent;
use crate::db::{Db, Row, sql};
use crate::failure::Done;
use crate::sql::{millis, number, time, unsigned};
use crate::types::{FetchedList, ListFetch, ListSource, Refreshed, StoreError};

/// Stores the list of `change`, or changes how the entry uses its current list.
pub(super) async fn add(
    db: &Db<'_>,
    issuer_id: &str,
    change: &TrustChange,
    now: UnixMillis,
) -> Done<()> {
    let former = find(db, issuer_id).await?;
    match change.list_step(issuer_id, former, now)? {
        Step::Nothing => Ok(()),
        Step::Settings(row) => put(db, &row).await,
        Step::List(prepared) => {
            prepared.check_in_force(now).map_err(StoreError::from)?;
            let lists = list_of_lists_rows::of_entry(db, issuer_id).await?;
            let mark = mark(db, &prepared.source).await?;
            let taken = prepared.take(mark.as_ref(), now).map_err(StoreError::from)?;
            keep(db, &taken).await?;
            if let Some(named) = &change.trusted_list {
                let (entry, terms) = ((issuer_id, lists.as_ref()), change.of_lists());
                let new = change.list_of_lists.as_ref();
                list_of_lists_rows::add(db, entry, new, named, terms, now).await?;
            }
            Ok(check_sources(sources(db).await?.len())?)
        }
    }
}

/// Stores a fetched list in every entry that follows its URL, and notes the result of the fetch.
/// Returns the outcome and the entries for the audit log.
pub(crate) async fn refresh(
    db: &Db<'_>,
    fetched: &FetchedList,
    (by, now): (&str, UnixMillis),
) -> Done<(Refreshed, Vec<AuditEvent>)> {
    hold(db).await?;
    let of_url = sql(
        "SELECT issuer_id, url, list_type, organization, token, sha256, anchors, crls, providers, \
         profile, allow_stale, test_only, sequence, listed, next_update, added_at, \
         (SELECT n.country FROM lists_of_lists AS n \
          WHERE n.issuer_id = l.issuer_id AND n.location = l.url), \
         (SELECT n.next_update FROM lists_of_lists AS n \
          WHERE n.issuer_id = l.issuer_id AND n.location = l.url) \
         FROM trusted_lists AS l WHERE url = $1 ORDER BY issuer_id {FOR UPDATE}",
    );
    let formers = db.all(of_url, &[&fetched.url], ListRow::read).await?;
    let [live, test] = Refresh::sources(&fetched.url);
    let marks = [mark(db, &live).await?, mark(db, &test).await?];
    let refresh = Refresh::decide(fetched, &formers, &marks, now)?;
    for taken in &refresh.taken {
        keep(db, taken).await?;
    }
    note(db, &fetched.url, refresh.outcome.failure(), now).await?;
    let events = refresh.events(by, now);
    if !events.is_empty() {
        bump(db).await?;
    }
    Ok((refresh.outcome, events))
}

/// Returns the URLs that lists are fetched from, the lists of lists first.
pub(crate) async fn sources(db: &Db<'_>) -> Done<Vec<ListSource>> {
    let mut all = list_of_lists_rows::sources(db).await?;
    all.extend(lists(db).await?);
    Ok(all)
}

async fn lists(db: &Db<'_>) -> Done<Vec<ListSource>> {
    let sql = sql("SELECT l.url, min(l.next_update), max(l.added_at), max(l.sequence), \
                   max(l.listed), max(f.tried_at), max(f.failures), max(f.failure) \
                   FROM trusted_lists AS l LEFT JOIN trusted_list_fetches AS f ON f.url = l.url \
                   WHERE l.url IS NOT NULL GROUP BY l.url ORDER BY l.url");
    let read = |row: &Row<'_>| {
        Ok(ListSource {
            url: row.get(0)?,
            of_lists: false,
            next_update: row.time(1)?,
            added_at: row.time(2)?,
            sequence: unsigned(row.get(3)?),
            listed: unsigned(row.get(4)?),
            fetch: fetch(row, 5)?,
        })
    };
    db.all(sql, &[], read).await
}

/// Notes the result of a fetch, and deletes the notes for URLs that no entry follows any more.
pub(crate) async fn note(
    db: &Db<'_>,
    url: &str,
    failure: Option<&str>,
    now: UnixMillis,
) -> Done<()> {
    let note = sql("INSERT INTO trusted_list_fetches AS f (url, tried_at, failures, failure) \
                    VALUES ($1, $2, CASE WHEN CAST($3 AS text) IS NULL THEN 0 ELSE 1 END, $3) \
                    ON CONFLICT (url) DO UPDATE SET tried_at = excluded.tried_at, \
                    failure = excluded.failure, failures = CASE WHEN excluded.failure IS NULL \
                    THEN 0 ELSE f.failures + 1 END");
    db.run(note, &[&url, &millis(now), &failure]).await?;
    let forget = sql("DELETE FROM trusted_list_fetches \
                      WHERE url NOT IN (SELECT url FROM trusted_lists WHERE url IS NOT NULL)");
    db.run(forget, &[]).await.map(drop)
}

/// Returns the lists of all entries, or of the one called `issuer_id`.
pub(super) async fn records(db: &Db<'_>, issuer_id: Option<&str>) -> Done<Vec<TrustedListRecord>> {
    let sql = sql(
        "SELECT issuer_id, l.url, list_type, organization, token, sha256, anchors, crls, providers, \
         profile, allow_stale, test_only, sequence, listed, next_update, added_at, \
         (SELECT n.country FROM lists_of_lists AS n \
          WHERE n.issuer_id = l.issuer_id AND n.location = l.url), \
         (SELECT n.next_update FROM lists_of_lists AS n \
          WHERE n.issuer_id = l.issuer_id AND n.location = l.url), \
         f.tried_at, f.failures, f.failure \
         FROM trusted_lists AS l LEFT JOIN trusted_list_fetches AS f ON f.url = l.url \
         WHERE CAST($1 AS text) IS NULL OR issuer_id = $1",
    );
    let read = |row: &Row<'_>| Ok(TrustedListRecord::new(ListRow::read(row)?, fetch(row, 18)?)?);
    db.all(sql, &[&issuer_id], read).await
}

/// Removes the list of an entry if it, or its list of lists, has this hash. Returns the number of
/// certificates in the list.
pub(super) async fn remove(db: &Db<'_>, issuer_id: &str, sha256: &[u8; 32]) -> Done<Option<usize>> {
    let record = records(db, Some(issuer_id)).await?.pop();
    let lists = list_of_lists_rows::of_entry(db, issuer_id).await?;
    // The list of lists is the only reason to trust the list, so both are removed together.
    let is_of_lists = lists.is_some_and(|lists| lists.sha256 == sha256);
    let record = record.filter(|record| is_of_lists || record.row.sha256 == sha256);
    if record.is_some() {
        db.run(sql("DELETE FROM trusted_lists WHERE issuer_id = $1"), &[&issuer_id]).await?;
    }
    Ok(record.map(|record| record.certificates()))
}

pub(super) async fn find(db: &Db<'_>, issuer_id: &str) -> Done<Option<ListRow>> {
    let sql = sql(
        "SELECT issuer_id, url, list_type, organization, token, sha256, anchors, crls, providers, \
         profile, allow_stale, test_only, sequence, listed, next_update, added_at, \
         (SELECT n.country FROM lists_of_lists AS n \
          WHERE n.issuer_id = l.issuer_id AND n.location = l.url), \
         (SELECT n.next_update FROM lists_of_lists AS n \
          WHERE n.issuer_id = l.issuer_id AND n.location = l.url) \
         FROM trusted_lists AS l WHERE issuer_id = $1",
    );
    db.one(sql, &[&issuer_id], ListRow::read).await
}

/// Returns the mark of a source: the newest list that was seen from it.
pub(super) async fn mark(db: &Db<'_>, source: &str) -> Done<Option<ListMark>> {
    let sql = sql("SELECT sequence, issued_at, payload_sha256, seen_at FROM trusted_list_marks \
                   WHERE source = $1 {FOR UPDATE}");
    let read = |row: &Row<'_>| {
        Ok(ListMark {
            sequence: unsigned(row.get(0)?),
            issued_at: row.time(1)?,
            payload_sha256: row.get::<Vec<u8>>(2)?.try_into().unwrap_or_default(),
            seen_at: row.time(3)?,
        })
    };
    db.one(sql, &[&source], read).await
}

/// Stores an accepted list, and the mark of its source.
pub(super) async fn keep(db: &Db<'_>, taken: &Taken) -> Done<()> {
    put(db, &taken.row).await?;
    keep_mark(db, &taken.source, &taken.mark).await
}

/// Stores the mark of a source: the newest list that was seen from it.
pub(super) async fn keep_mark(db: &Db<'_>, source: &str, mark: &ListMark) -> Done<()> {
    let sql = sql("INSERT INTO trusted_list_marks \
                   (source, sequence, issued_at, payload_sha256, seen_at) \
                   VALUES ($1, $2, $3, $4, $5) ON CONFLICT (source) DO UPDATE \
                   SET sequence = excluded.sequence, issued_at = excluded.issued_at, \
                   payload_sha256 = excluded.payload_sha256, seen_at = excluded.seen_at");
    let (sequence, hash) = (number(mark.sequence), mark.payload_sha256.as_slice());
    let (issued_at, seen_at) = (millis(mark.issued_at), millis(mark.seen_at));
    db.run(sql, &[&source, &sequence, &issued_at, &hash, &seen_at]).await.map(drop)
}

/// Stores a list in place of the entry's former one.
async fn put(db: &Db<'_>, row: &ListRow) -> Done<()> {
    let sql =
        sql("INSERT INTO trusted_lists (issuer_id, url, list_type, organization, token, sha256, \
         anchors, crls, providers, profile, allow_stale, test_only, sequence, listed, \
         next_update, added_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) \
         ON CONFLICT (issuer_id) DO UPDATE SET url = excluded.url, \
         list_type = excluded.list_type, organization = excluded.organization, \
         token = excluded.token, sha256 = excluded.sha256, anchors = excluded.anchors, \
         crls = excluded.crls, providers = excluded.providers, profile = excluded.profile, \
         allow_stale = excluded.allow_stale, test_only = excluded.test_only, \
         sequence = excluded.sequence, listed = excluded.listed, \
         next_update = excluded.next_update, added_at = excluded.added_at");
    db.run(
        sql,
        &[
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
            &row.allow_stale,
            &row.test_only,
            &number(row.sequence),
            &number(row.listed),
            &millis(row.next_update),
            &millis(row.added_at),
        ],
    )
    .await
    .map(drop)
}

impl ListRow {
    fn read(row: &Row<'_>) -> Done<Self> {
        Ok(Self {
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
            next_update: row.time(14)?,
            added_at: row.time(15)?,
            named_for: row.get(16)?,
            named_until: row.get::<Option<i64>>(17)?.map(time),
        })
    }
}

/// Reads the state of fetches from the columns that begin at `at`.
pub(super) fn fetch(row: &Row<'_>, at: usize) -> Done<Option<ListFetch>> {
    let failures: Option<i64> = row.get(at.saturating_add(1))?;
    let failure = row.get(at.saturating_add(2))?;
    Ok(row.get::<Option<i64>>(at)?.map(|tried_at| ListFetch {
        tried_at: time(tried_at),
        failures: unsigned(failures.unwrap_or(0)),
        failure,
    }))
}
