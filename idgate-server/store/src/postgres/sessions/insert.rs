//! Inserts new sessions of one client with their dependent rows.

use futures_util::future::join_all;
use idgate_core::shell::Offer;
use serde_json::json;

use super::super::super::db::Db;
use super::super::super::sql::{millis, number};
use super::super::change::Change;
use super::super::error::Done;
use super::super::pool::Tx;
use crate::postgres_statements::execute;

/// Inserts the session rows.
pub(super) async fn rows(tx: &Tx<'_>, new: &[&Change]) -> Done<()> {
    let Some(first) = new.first() else { return Ok(()) };
    let sessions = || new.iter().map(|change| change.session());
    let ids: Vec<&str> = sessions().map(|it| it.id().as_str()).collect();
    let statuses: Vec<&str> = sessions().map(|it| it.phase().status().as_str()).collect();
    let revisions: Vec<i64> = sessions().map(|it| number(it.revision().0)).collect();
    let created: Vec<i64> = sessions().map(|it| millis(it.created_at())).collect();
    let expire: Vec<i64> = sessions().map(|it| millis(it.expires_at())).collect();
    let (formats, issuers): (Vec<String>, Vec<String>) = sessions()
        .map(|it| {
            let credentials = it.request().credentials();
            let formats: Vec<_> = credentials.iter().map(|one| one.format().name()).collect();
            let issuers: Vec<_> = credentials.iter().map(|one| one.issuer_id().as_str()).collect();
            (json!(formats).to_string(), json!(issuers).to_string())
        })
        .unzip();
    let records: Vec<&[u8]> = new.iter().map(|change| &*change.prepared.record).collect();
    let events: Vec<&str> = new.iter().map(|change| &*change.prepared.events).collect();
    let parents: Vec<Option<&str>> =
        new.iter().map(|change| change.prepared.parent_span.as_deref()).collect();
    execute(
        tx,
        "INSERT INTO sessions (id, client_id, livemode, status, revision, created_at, expires_at, \
         formats, issuer_ids, record, events, parent_span) \
         SELECT n.id, $1, $2, n.status, n.revision, n.created_at, n.expires_at, n.formats, \
         n.issuer_ids, n.record, n.events, n.parent_span FROM unnest($3::text[], $4::text[], $5::bigint[], \
         $6::bigint[], $7::bigint[], $8::text[], $9::text[], $10::bytea[], $11::text[], $12::text[]) \
         AS n (id, status, revision, created_at, expires_at, formats, issuer_ids, record, events, \
         parent_span)",
        &[
            &first.session().tenant().as_str(),
            &first.session().livemode(),
            &ids,
            &statuses,
            &revisions,
            &created,
            &expire,
            &formats,
            &issuers,
            &records,
            &events,
            &parents,
        ],
    )
    .await?;
    Ok(())
}

/// Inserts their further offers, keys and pages.
pub(super) async fn belongings(tx: &Tx<'_>, new: &[&Change]) -> Done<()> {
    let (named, locked, shown) = tokio::join!(offers(tx, new), keys(tx, new), pages(tx, new));
    named.and(locked).and(shown)
}

async fn offers(tx: &Tx<'_>, new: &[&Change]) -> Done<()> {
    let offers = new.iter().map(|change| change.session()).flat_map(|session| {
        let id = session.id().as_str();
        session.offers().filter_map(Offer::id).map(move |offer| (offer.as_str(), id))
    });
    let (offers, ids): (Vec<&str>, Vec<&str>) = offers.unzip();
    if !offers.is_empty() {
        let sql =
            "INSERT INTO offers (id, session_id) SELECT * FROM unnest($1::text[], $2::text[])";
        execute(tx, sql, &[&offers, &ids]).await?;
    }
    Ok(())
}

async fn keys(tx: &Tx<'_>, new: &[&Change]) -> Done<()> {
    let keys = new.iter().filter_map(|change| {
        Some((change.session().id().as_str(), change.prepared.key.as_deref()?))
    });
    let (ids, keys): (Vec<&str>, Vec<&[u8]>) = keys.unzip();
    if !keys.is_empty() {
        let sql = "INSERT INTO session_keys (session_id, sealed) \
                   SELECT * FROM unnest($1::text[], $2::bytea[])";
        execute(tx, sql, &[&ids, &keys]).await?;
    }
    Ok(())
}

async fn pages(tx: &Tx<'_>, new: &[&Change]) -> Done<()> {
    let db = Db::Transaction(tx);
    let pages = new.iter().filter_map(|change| {
        let page = change.prepared.page.as_ref()?;
        Some(page.insert(&db, change.session().id().as_str()))
    });
    join_all(pages).await.into_iter().collect()
}
