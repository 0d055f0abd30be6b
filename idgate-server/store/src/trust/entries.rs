//! Trust entries as rows, with their material and their lists.

use std::collections::BTreeMap;

use idgate_core::UnixMillis;
use idgate_core::shell::TrustSnapshot;
use idgate_core::trust::{DeviceResponseDocuments, OnUnknownRevocation, RevocationPolicy};
use serde_json::json;

use super::{
    EntryRow, TrustChange, TrustRecord, dotted, list_of_lists_rows, listed_rows, material,
    snapshot_of,
};
use crate::db::{Db, Row, sql};
use crate::failure::Done;
use crate::version_numbers::Numbers;

/// Returns all entries with their version number, in the transaction's snapshot. `pinned_live`:
/// whether pinned signers serve live sessions.
pub(crate) async fn snapshot(db: &Db<'_>, pinned_live: bool) -> Done<TrustSnapshot> {
    let version = Numbers::read(db).await?.trust;
    Ok(snapshot_of(version, &records(db, None).await?, pinned_live))
}

/// Returns all entries sorted by name, or the one called `issuer_id`.
pub(crate) async fn records(db: &Db<'_>, issuer_id: Option<&str>) -> Done<Vec<TrustRecord>> {
    let entries = sql("SELECT issuer_id, iss, vct, doc_types, namespaces, claims, country, \
                       revocation, ekus, status_max_age_days, issuing_country_unbound, aki, \
                       device_response_documents, claim_paths, etsi_tl, sd_jwt_ekus, \
                       on_unknown_revocation \
                       FROM trust_entries WHERE CAST($1 AS text) IS NULL OR issuer_id = $1 \
                       ORDER BY issuer_id");
    let entries = db.all(entries, &[&issuer_id], entry).await?;
    let mut materials = by_issuer(material::of(db, issuer_id).await?);
    let mut lists = by_issuer(material::lists(db, issuer_id).await?);
    let listed = listed_rows::records(db, issuer_id).await?;
    let mut listed: BTreeMap<String, _> =
        listed.into_iter().map(|record| (record.row.issuer_id.clone(), record)).collect();
    let of_lists = list_of_lists_rows::records(db, issuer_id).await?;
    let mut of_lists: BTreeMap<String, _> =
        of_lists.into_iter().map(|row| (row.issuer_id.clone(), row)).collect();
    let mut records = Vec::new();
    for entry in entries {
        let materials = materials.remove(&entry.issuer_id).unwrap_or_default();
        let lists = lists.remove(&entry.issuer_id).unwrap_or_default();
        let listed = (listed.remove(&entry.issuer_id), of_lists.remove(&entry.issuer_id));
        records.push(TrustRecord::assemble(entry, &materials, lists, listed)?);
    }
    Ok(records)
}

/// Returns the entry called `issuer_id`.
pub(crate) async fn find(db: &Db<'_>, issuer_id: &str) -> Done<Option<TrustRecord>> {
    Ok(records(db, Some(issuer_id)).await?.pop())
}

/// Applies `change` to the entry called `issuer_id`, which is created if it does not exist.
pub(crate) async fn add(
    db: &Db<'_>,
    issuer_id: &str,
    change: &TrustChange,
    now: UnixMillis,
) -> Done<()> {
    // First, so that concurrent commands wait for each other.
    bump(db).await?;
    let make = sql(
        "INSERT INTO trust_entries (issuer_id, vct, doc_types, namespaces, claims, revocation) \
             VALUES ($1, '[]', '[]', '[]', '[]', $2) ON CONFLICT DO NOTHING",
    );
    db.run(make, &[&issuer_id, &RevocationPolicy::default().name()]).await?;
    set_attributes(db, issuer_id, change).await?;
    listed_rows::add(db, issuer_id, change, now).await?;
    material::add(db, issuer_id, change, now).await
}

/// Removes an entry with its material. `false`: it does not exist.
pub(crate) async fn remove(db: &Db<'_>, issuer_id: &str) -> Done<bool> {
    hold(db).await?;
    let sql = sql("DELETE FROM trust_entries WHERE issuer_id = $1");
    let removed = db.run(sql, &[&issuer_id]).await?;
    if removed > 0 {
        bump(db).await?;
    }
    Ok(removed > 0)
}

/// Increments the version number. Other transactions that change trust wait for this one.
pub(super) async fn bump(db: &Db<'_>) -> Done<()> {
    db.run(sql("UPDATE trust_version SET version = version + 1"), &[]).await.map(drop)
}

/// Waits until no other transaction changes the trust store, and makes others wait. Call it before
/// locking any part of the trust store, or two transactions could wait for each other.
pub(super) async fn hold(db: &Db<'_>) -> Done<()> {
    let sql = sql("SELECT version FROM trust_version {FOR UPDATE}");
    db.one(sql, &[], |_| Ok(())).await.map(drop)
}

async fn set_attributes(db: &Db<'_>, issuer_id: &str, change: &TrustChange) -> Done<()> {
    let sql = sql("UPDATE trust_entries SET iss = coalesce($2, iss), vct = coalesce($3, vct), \
         doc_types = coalesce($4, doc_types), namespaces = coalesce($5, namespaces), \
         claims = coalesce($6, claims), country = coalesce($7, country), \
         revocation = coalesce($8, revocation), ekus = coalesce($9, ekus), \
         status_max_age_days = coalesce($10, status_max_age_days), \
         issuing_country_unbound = coalesce($11, issuing_country_unbound), \
         aki = coalesce($12, aki), \
         device_response_documents = coalesce($13, device_response_documents), \
         claim_paths = coalesce($14, claim_paths), etsi_tl = coalesce($15, etsi_tl), \
         sd_jwt_ekus = coalesce($16, sd_jwt_ekus), \
         on_unknown_revocation = coalesce($17, on_unknown_revocation) WHERE issuer_id = $1");
    let list = |list: &Option<Vec<String>>| list.as_ref().map(|list| json!(list).to_string());
    db.run(
        sql,
        &[
            &issuer_id,
            &change.iss,
            &list(&change.vct),
            &list(&change.doc_types),
            &list(&change.namespaces),
            &list(&change.claims),
            &change.country,
            &change.revocation.map(RevocationPolicy::name),
            &list(&change.ekus.as_deref().map(dotted)),
            &change.status_max_age_days.map(i64::from),
            &change.issuing_country_unbound,
            &change.aki,
            &change.device_response_documents.map(DeviceResponseDocuments::name),
            &change.claim_paths.as_ref().map(|paths| json!(paths).to_string()),
            &change.etsi_tl,
            &list(&change.sd_jwt_ekus.as_deref().map(dotted)),
            &change.on_unknown_revocation.map(OnUnknownRevocation::name),
        ],
    )
    .await
    .map(drop)
}

fn by_issuer<T>(rows: Vec<(String, T)>) -> BTreeMap<String, Vec<T>> {
    let mut found: BTreeMap<String, Vec<T>> = BTreeMap::new();
    for (issuer_id, row) in rows {
        found.entry(issuer_id).or_default().push(row);
    }
    found
}

fn entry(row: &Row<'_>) -> Done<EntryRow> {
    let days: Option<i64> = row.get(9)?;
    Ok(EntryRow {
        issuer_id: row.get(0)?,
        iss: row.get(1)?,
        lists: [row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?],
        country: row.get(6)?,
        revocation: row.get(7)?,
        ekus: row.get(8)?,
        status_max_age_days: days.map(|days| u32::try_from(days).unwrap_or(0)),
        issuing_country_unbound: row.get(10)?,
        aki: row.get(11)?,
        device_response_documents: row.get(12)?,
        claim_paths: row.get(13)?,
        etsi_tl: row.get(14)?,
        sd_jwt_ekus: row.get(15)?,
        on_unknown_revocation: row.get(16)?,
    })
}
