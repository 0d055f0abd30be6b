//! European trusted lists as rows: what both stores ask, and how they read the answers.

use idgate_core::time::UnixMillis;
use idgate_core::trust::ListMark;

use super::listed::ListRow;
use crate::store::interface::{ListFetch, ListSource};
use crate::store::sql::{millis, number, time, unsigned};
use crate::store::statement::{Columns, Statement};

/// Where lists are fetched from, as [`source_row`] reads it.
pub(in crate::store) const SOURCES: &str = "SELECT l.url, min(l.next_update), max(l.added_at), max(l.sequence), max(l.listed), \
     max(f.tried_at), max(f.failures), max(f.failure) \
     FROM trusted_lists AS l LEFT JOIN trusted_list_fetches AS f ON f.url = l.url \
     WHERE l.url IS NOT NULL GROUP BY l.url ORDER BY l.url";

/// The lists that come from a URL, as [`ListRow::read`] reads them.
pub(in crate::store) const OF_URL: &str = "SELECT issuer_id, url, list_type, organization, token, sha256, anchors, crls, providers, \
     profile, allow_stale, test_only, sequence, listed, next_update, added_at \
     FROM trusted_lists WHERE url = $1 ORDER BY issuer_id";

/// The lists of all entries, or of one, with how fetching them goes: as [`ListRow::read`] and
/// [`fetch_row`] read them.
pub(in crate::store) const RECORDS: &str = "SELECT issuer_id, l.url, list_type, organization, token, sha256, anchors, crls, providers, \
     profile, allow_stale, test_only, sequence, listed, next_update, added_at, \
     f.tried_at, f.failures, f.failure \
     FROM trusted_lists AS l LEFT JOIN trusted_list_fetches AS f ON f.url = l.url \
     WHERE CAST($1 AS text) IS NULL OR issuer_id = $1";

/// The newest list that was seen of a source, as [`mark_row`] reads it.
pub(in crate::store) const MARK: &str =
    "SELECT sequence, issued_at, payload_sha256, seen_at FROM trusted_list_marks WHERE source = $1";

/// Removes the list of an entry.
pub(in crate::store) fn remove(issuer_id: &str) -> Statement<'_> {
    Statement::new("DELETE FROM trusted_lists WHERE issuer_id = $1").with(issuer_id)
}

/// Keeps how a fetch went, and forgets those of URLs that nobody follows any more.
pub(in crate::store) fn note_fetch<'v>(
    url: &'v str,
    failure: Option<&'v str>,
    now: UnixMillis,
) -> [Statement<'v>; 2] {
    let note = Statement::new(
        "INSERT INTO trusted_list_fetches AS f (url, tried_at, failures, failure) \
         VALUES ($1, $2, CASE WHEN CAST($3 AS text) IS NULL THEN 0 ELSE 1 END, $3) \
         ON CONFLICT (url) DO UPDATE SET tried_at = excluded.tried_at, \
         failure = excluded.failure, \
         failures = CASE WHEN excluded.failure IS NULL THEN 0 ELSE f.failures + 1 END",
    );
    let forget = Statement::new(
        "DELETE FROM trusted_list_fetches \
         WHERE url NOT IN (SELECT url FROM trusted_lists WHERE url IS NOT NULL)",
    );
    [note.with(url).with(millis(now)).with(failure), forget]
}

impl ListRow {
    pub(in crate::store) fn read<R: Columns>(row: &R) -> Result<Self, R::Error> {
        Ok(Self {
            issuer_id: row.column(0)?,
            url: row.column(1)?,
            list_type: row.column(2)?,
            organization: row.column(3)?,
            token: row.column(4)?,
            sha256: row.column(5)?,
            anchors: row.column(6)?,
            crls: row.column(7)?,
            providers: row.column(8)?,
            profile: row.column(9)?,
            allow_stale: row.column(10)?,
            test_only: row.column(11)?,
            sequence: unsigned(row.column(12)?),
            listed: unsigned(row.column(13)?),
            next_update: time(row.column(14)?),
            added_at: time(row.column(15)?),
        })
    }

    /// Stores it in the place of the entry's former one.
    pub(in crate::store) fn put(&self) -> Statement<'_> {
        Statement::new(
            "INSERT INTO trusted_lists (issuer_id, url, list_type, organization, token, sha256, \
             anchors, crls, providers, profile, allow_stale, test_only, sequence, listed, \
             next_update, added_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) \
             ON CONFLICT (issuer_id) DO UPDATE SET url = excluded.url, \
             list_type = excluded.list_type, organization = excluded.organization, \
             token = excluded.token, sha256 = excluded.sha256, anchors = excluded.anchors, \
             crls = excluded.crls, providers = excluded.providers, profile = excluded.profile, \
             allow_stale = excluded.allow_stale, test_only = excluded.test_only, \
             sequence = excluded.sequence, listed = excluded.listed, \
             next_update = excluded.next_update, added_at = excluded.added_at",
        )
        .with(&self.issuer_id)
        .with(&self.url)
        .with(&self.list_type)
        .with(&self.organization)
        .with(&self.token)
        .with(&self.sha256)
        .with(&self.anchors)
        .with(&self.crls)
        .with(&self.providers)
        .with(&self.profile)
        .with(self.allow_stale)
        .with(self.test_only)
        .with(number(self.sequence))
        .with(number(self.listed))
        .with(millis(self.next_update))
        .with(millis(self.added_at))
    }
}

pub(in crate::store) fn source_row<R: Columns>(row: &R) -> Result<ListSource, R::Error> {
    Ok(ListSource {
        url: row.column(0)?,
        next_update: time(row.column(1)?),
        added_at: time(row.column(2)?),
        sequence: unsigned(row.column(3)?),
        listed: unsigned(row.column(4)?),
        fetch: fetch_row(row, 5)?,
    })
}

/// How fetching goes, in the columns from `at` on.
pub(in crate::store) fn fetch_row<R: Columns>(
    row: &R,
    at: usize,
) -> Result<Option<ListFetch>, R::Error> {
    let tried_at: Option<i64> = row.column(at)?;
    let failures: Option<i64> = row.column(at.saturating_add(1))?;
    let failure = row.column(at.saturating_add(2))?;
    Ok(tried_at.map(|tried_at| ListFetch {
        tried_at: time(tried_at),
        failures: unsigned(failures.unwrap_or(0)),
        failure,
    }))
}

pub(in crate::store) fn mark_row<R: Columns>(row: &R) -> Result<ListMark, R::Error> {
    let payload_sha256: Vec<u8> = row.column(2)?;
    Ok(ListMark {
        sequence: unsigned(row.column(0)?),
        issued_at: time(row.column(1)?),
        payload_sha256: payload_sha256.try_into().unwrap_or_default(),
        seen_at: time(row.column(3)?),
    })
}

/// Stores the mark of a source in the place of its former one.
pub(in crate::store) fn put_mark<'v>(source: &'v str, mark: &'v ListMark) -> Statement<'v> {
    Statement::new(
        "INSERT INTO trusted_list_marks (source, sequence, issued_at, payload_sha256, seen_at) \
         VALUES ($1, $2, $3, $4, $5) ON CONFLICT (source) DO UPDATE \
         SET sequence = excluded.sequence, issued_at = excluded.issued_at, \
         payload_sha256 = excluded.payload_sha256, seen_at = excluded.seen_at",
    )
    .with(source)
    .with(number(mark.sequence))
    .with(millis(mark.issued_at))
    .with(mark.payload_sha256.as_slice())
    .with(millis(mark.seen_at))
}
