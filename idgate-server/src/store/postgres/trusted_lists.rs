//! European trusted lists, the same for all nodes.

use idgate_core::time::UnixMillis;
use idgate_core::trust::ListMark;
use tokio_postgres::Row;

use super::error::Done;
use super::pool::Tx;
use super::sql::{execute, row, rows};
use crate::store::interface::{ListFetch, ListSource, Refreshed, StoreError};
use crate::store::sql::{millis, number, time, unsigned};
use crate::store::trust::{
    ListRow, ListSettings, NewTrustedList, TrustChange, TrustedListRecord, check_sources, no_list,
};

/// What came of a list that an entry is to take.
enum Taken {
    Changed,
    Same,
    Refused(Refreshed),
}

/// Takes the list of `change`, or changes how the entry takes the one that it has.
pub(super) async fn add(
    tx: &Tx<'_>,
    issuer_id: &str,
    change: &TrustChange,
    now: UnixMillis,
) -> Done<()> {
    let former = find(tx, issuer_id).await?;
    if let Some(new) = &change.trusted_list {
        let settings = (&change.list_settings, change.test_only);
        let prepared = new.prepare(issuer_id, settings, former.as_ref(), now);
        let prepared = prepared.map_err(StoreError::from)?;
        let seen = mark(tx, &prepared.source).await?;
        let next = prepared.mark(seen.as_ref(), now).map_err(StoreError::from)?;
        put(tx, &prepared.row).await?;
        put_mark(tx, &prepared.source, &next).await?;
        check_sources(sources(tx).await?.len())?;
        return Ok(());
    }
    if change.list_settings.is_empty() {
        return Ok(());
    }
    let mut row = former.ok_or_else(|| no_list(issuer_id))?;
    row.set(&change.list_settings);
    put(tx, &row).await
}

/// Gives every entry that takes lists from `url` the one that was fetched there.
pub(super) async fn refresh(
    tx: &Tx<'_>,
    url: &str,
    token: &[u8],
    accept_rollback: bool,
    now: UnixMillis,
) -> Done<(Refreshed, Vec<String>)> {
    let rows = of_url(tx, url).await?;
    let mut outcome = if rows.is_empty() { Refreshed::Unwanted } else { Refreshed::Same };
    let mut changed = Vec::new();
    tx.batch_execute("SAVEPOINT lists").await?;
    for former in rows {
        let new = NewTrustedList {
            url: Some(url.to_owned()),
            token: token.to_vec(),
            anchors: None,
            crls: None,
            accept_rollback,
        };
        match take(tx, &new, &former, now).await? {
            Taken::Same => {}
            Taken::Changed => {
                if let Some(row) = find(tx, &former.issuer_id).await? {
                    let (from, to) = (former.sequence, row.sequence);
                    outcome = Refreshed::New { from, to, providers: row.listed };
                }
                changed.push(former.issuer_id);
            }
            Taken::Refused(refused) => {
                tx.batch_execute("ROLLBACK TO SAVEPOINT lists").await?;
                return Ok((refused, Vec::new()));
            }
        }
    }
    Ok((outcome, changed))
}

async fn take(tx: &Tx<'_>, new: &NewTrustedList, former: &ListRow, now: UnixMillis) -> Done<Taken> {
    let settings = ListSettings::default();
    let settings = (&settings, former.test_only);
    let prepared = match new.prepare(&former.issuer_id, settings, Some(former), now) {
        Ok(prepared) => prepared,
        Err(refused) => return Ok(Taken::Refused(refused.outcome()?)),
    };
    let seen = mark(tx, &prepared.source).await?;
    let next = match prepared.mark(seen.as_ref(), now) {
        Ok(next) => next,
        Err(refused) => return Ok(Taken::Refused(refused.outcome()?)),
    };
    put(tx, &prepared.row).await?;
    put_mark(tx, &prepared.source, &next).await?;
    Ok(if prepared.is_same_as(Some(former)) { Taken::Same } else { Taken::Changed })
}

/// Where lists are fetched from.
pub(super) async fn sources(tx: &Tx<'_>) -> Done<Vec<ListSource>> {
    let sql = "SELECT l.url, min(l.next_update), max(l.added_at), max(l.sequence), max(l.listed), \
               max(f.tried_at), max(f.failures), max(f.failure) \
               FROM trusted_lists AS l LEFT JOIN trusted_list_fetches AS f ON f.url = l.url \
               WHERE l.url IS NOT NULL GROUP BY l.url ORDER BY l.url";
    let mut found = Vec::new();
    for row in rows(tx, sql, &[]).await? {
        found.push(ListSource {
            url: row.try_get(0)?,
            next_update: time(row.try_get(1)?),
            added_at: time(row.try_get(2)?),
            sequence: unsigned(row.try_get(3)?),
            listed: unsigned(row.try_get(4)?),
            fetch: fetch_row(&row, 5)?,
        });
    }
    Ok(found)
}

/// Keeps how a fetch went.
pub(super) async fn note_fetch(
    tx: &Tx<'_>,
    url: &str,
    failure: Option<&str>,
    now: UnixMillis,
) -> Done<()> {
    execute(
        tx,
        "INSERT INTO trusted_list_fetches AS f (url, tried_at, failures, failure) \
         VALUES ($1, $2, CASE WHEN $3::text IS NULL THEN 0 ELSE 1 END, $3) \
         ON CONFLICT (url) DO UPDATE SET tried_at = excluded.tried_at, \
         failure = excluded.failure, \
         failures = CASE WHEN excluded.failure IS NULL THEN 0 ELSE f.failures + 1 END",
        &[&url, &millis(now), &failure],
    )
    .await?;
    execute(
        tx,
        "DELETE FROM trusted_list_fetches \
         WHERE url NOT IN (SELECT url FROM trusted_lists WHERE url IS NOT NULL)",
        &[],
    )
    .await?;
    Ok(())
}

/// The lists of all entries, or of the one called `issuer_id`, for those who look.
pub(super) async fn records(tx: &Tx<'_>, issuer_id: Option<&str>) -> Done<Vec<TrustedListRecord>> {
    let sql = format!(
        "SELECT {COLUMNS}, f.tried_at, f.failures, f.failure \
         FROM trusted_lists AS l LEFT JOIN trusted_list_fetches AS f ON f.url = l.url \
         WHERE $1::text IS NULL OR issuer_id = $1"
    );
    let mut found = Vec::new();
    for row in rows(tx, &sql, &[&issuer_id]).await? {
        found.push(TrustedListRecord::new(list_row(&row)?, fetch_row(&row, 16)?)?);
    }
    Ok(found)
}

/// Removes the list of an entry that has this hash, and says how many certificates it brought.
pub(super) async fn remove(tx: &Tx<'_>, issuer_id: &str, sha256: &[u8; 32]) -> Done<Option<usize>> {
    let Some(record) = records(tx, Some(issuer_id)).await?.pop() else { return Ok(None) };
    if record.row.sha256 != sha256 {
        return Ok(None);
    }
    execute(tx, "DELETE FROM trusted_lists WHERE issuer_id = $1", &[&issuer_id]).await?;
    Ok(Some(record.certificates()))
}

const COLUMNS: &str = "issuer_id, l.url, list_type, organization, token, sha256, anchors, crls, \
                       providers, profile, allow_stale, test_only, sequence, listed, next_update, \
                       added_at";

async fn find(tx: &Tx<'_>, issuer_id: &str) -> Done<Option<ListRow>> {
    let sql = format!("SELECT {COLUMNS} FROM trusted_lists AS l WHERE issuer_id = $1");
    row(tx, &sql, &[&issuer_id]).await?.as_ref().map(list_row).transpose()
}

async fn of_url(tx: &Tx<'_>, url: &str) -> Done<Vec<ListRow>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM trusted_lists AS l WHERE l.url = $1 ORDER BY issuer_id FOR UPDATE"
    );
    rows(tx, &sql, &[&url]).await?.iter().map(list_row).collect()
}

fn list_row(row: &Row) -> Done<ListRow> {
    Ok(ListRow {
        issuer_id: row.try_get(0)?,
        url: row.try_get(1)?,
        list_type: row.try_get(2)?,
        organization: row.try_get(3)?,
        token: row.try_get(4)?,
        sha256: row.try_get(5)?,
        anchors: row.try_get(6)?,
        crls: row.try_get(7)?,
        providers: row.try_get(8)?,
        profile: row.try_get(9)?,
        allow_stale: row.try_get(10)?,
        test_only: row.try_get(11)?,
        sequence: unsigned(row.try_get(12)?),
        listed: unsigned(row.try_get(13)?),
        next_update: time(row.try_get(14)?),
        added_at: time(row.try_get(15)?),
    })
}

fn fetch_row(row: &Row, at: usize) -> Done<Option<ListFetch>> {
    let tried_at: Option<i64> = row.try_get(at)?;
    let failures: Option<i64> = row.try_get(at.saturating_add(1))?;
    let failure = row.try_get(at.saturating_add(2))?;
    Ok(tried_at.map(|tried_at| ListFetch {
        tried_at: time(tried_at),
        failures: unsigned(failures.unwrap_or(0)),
        failure,
    }))
}

async fn put(tx: &Tx<'_>, row: &ListRow) -> Done<()> {
    execute(
        tx,
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
    .await?;
    Ok(())
}

async fn mark(tx: &Tx<'_>, source: &str) -> Done<Option<ListMark>> {
    let sql = "SELECT sequence, issued_at, payload_sha256, seen_at FROM trusted_list_marks \
               WHERE source = $1 FOR UPDATE";
    let Some(row) = row(tx, sql, &[&source]).await? else { return Ok(None) };
    let payload_sha256: Vec<u8> = row.try_get(2)?;
    Ok(Some(ListMark {
        sequence: unsigned(row.try_get(0)?),
        issued_at: time(row.try_get(1)?),
        payload_sha256: payload_sha256.try_into().unwrap_or_default(),
        seen_at: time(row.try_get(3)?),
    }))
}

async fn put_mark(tx: &Tx<'_>, source: &str, mark: &ListMark) -> Done<()> {
    execute(
        tx,
        "INSERT INTO trusted_list_marks (source, sequence, issued_at, payload_sha256, seen_at) \
         VALUES ($1, $2, $3, $4, $5) ON CONFLICT (source) DO UPDATE \
         SET sequence = excluded.sequence, issued_at = excluded.issued_at, \
         payload_sha256 = excluded.payload_sha256, seen_at = excluded.seen_at",
        &[
            &source,
            &number(mark.sequence),
            &millis(mark.issued_at),
            &mark.payload_sha256.as_slice(),
            &millis(mark.seen_at),
        ],
    )
    .await?;
    Ok(())
}
