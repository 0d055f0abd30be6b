//! The trust store, the same for all nodes.

use std::collections::BTreeMap;

use idgate_core::TrustSnapshot;
use idgate_core::time::UnixMillis;
use idgate_core::trust::{DeviceResponseDocuments, RevocationPolicy};
use serde_json::json;
use tokio_postgres::Row;

use super::error::Done;
use super::pool::Tx;
use super::sql::{execute, row, rows};
use super::trusted_lists;
use crate::store::db::Db;
use crate::store::numbers::Numbers;
use crate::store::sql::{millis, number, time, unsigned};
use crate::store::trust::{
    CRL, EntryRow, MaterialRow, NewList, NewMaterial, RemovedMaterial, TrustChange, TrustList,
    TrustRecord, dotted, snapshot_of,
};

/// Everything with its number, at the moment of `tx`. `pinned_live`: whether pinned signers serve live
/// sessions.
pub(super) async fn snapshot(tx: &Tx<'_>, pinned_live: bool) -> Done<TrustSnapshot> {
    let version = Numbers::read(&Db::Transaction(tx)).await?.trust;
    Ok(snapshot_of(version, &records(tx, None).await?, pinned_live))
}

/// The entries by name, or the one called `issuer_id`.
pub(in crate::store) async fn records(
    tx: &Tx<'_>,
    issuer_id: Option<&str>,
) -> Done<Vec<TrustRecord>> {
    let sql = "SELECT issuer_id, iss, vct, doc_types, namespaces, claims, country, revocation, \
               ekus, status_max_age_days, issuing_country_unbound, aki, \
               device_response_documents, claim_paths, etsi_tl, sd_jwt_ekus FROM trust_entries \
               WHERE $1::text IS NULL OR issuer_id = $1 ORDER BY issuer_id";
    let entries = rows(tx, sql, &[&issuer_id]).await?;
    let mut materials = by_issuer(
        rows(
            tx,
            "SELECT issuer_id, kind, der, kid, test_only, added_at, doc_types \
             FROM trust_materials WHERE $1::text IS NULL OR issuer_id = $1 ORDER BY id",
            &[&issuer_id],
        )
        .await?,
        material_row,
    )?;
    let mut lists = by_issuer(
        rows(
            tx,
            "SELECT issuer_id, kind, issued_at, next_update, certificates, skipped, test_only, \
             added_at, sha256 FROM trust_lists WHERE $1::text IS NULL OR issuer_id = $1 \
             ORDER BY kind",
            &[&issuer_id],
        )
        .await?,
        list_row,
    )?;
    let mut listed: BTreeMap<String, _> = BTreeMap::new();
    for record in trusted_lists::records(tx, issuer_id).await? {
        listed.insert(record.row.issuer_id.clone(), record);
    }
    let mut records = Vec::new();
    for row in &entries {
        let entry = entry_row(row)?;
        let materials = materials.remove(&entry.issuer_id).unwrap_or_default();
        let lists = lists.remove(&entry.issuer_id).unwrap_or_default();
        let listed = listed.remove(&entry.issuer_id);
        records.push(TrustRecord::assemble(entry, &materials, lists, listed)?);
    }
    Ok(records)
}

/// The entry called `issuer_id`.
pub(in crate::store) async fn find(tx: &Tx<'_>, issuer_id: &str) -> Done<Option<TrustRecord>> {
    Ok(records(tx, Some(issuer_id)).await?.pop())
}

/// Applies `change` to the entry called `issuer_id`, which is made when there is none.
pub(in crate::store) async fn add(
    tx: &Tx<'_>,
    issuer_id: &str,
    change: &TrustChange,
    now: UnixMillis,
) -> Done<()> {
    // First, so that of two commands one waits for the other.
    bump(tx).await?;
    set_attributes(tx, issuer_id, change).await?;
    trusted_lists::add(tx, issuer_id, change, now).await?;
    for material in change.materials() {
        insert(tx, issuer_id, &material, change.test_only, now).await?;
    }
    for list in &change.lists {
        replace_list(tx, issuer_id, list, change.test_only, now).await?;
    }
    if change.crls.is_empty() {
        return Ok(());
    }
    let Some(record) = find(tx, issuer_id).await? else { return Ok(()) };
    for crl in record.checked_crls(&change.crls)? {
        insert(tx, issuer_id, &crl, change.test_only, now).await?;
    }
    Ok(())
}

/// Removes an entry with its material; `false`: there is none.
pub(in crate::store) async fn remove(tx: &Tx<'_>, issuer_id: &str) -> Done<bool> {
    let sql = "DELETE FROM trust_entries WHERE issuer_id = $1";
    let removed = execute(tx, sql, &[&issuer_id]).await?;
    if removed > 0 {
        bump(tx).await?;
    }
    Ok(removed > 0)
}

/// Removes what has this hash: a key, a certificate in whatever part, a CRL, or a list with its
/// roots; and CRLs that no root of the entry has signed any more. Empty: there is no such material.
/// `None`: there is no such entry.
pub(in crate::store) async fn remove_material(
    tx: &Tx<'_>,
    issuer_id: &str,
    sha256: &[u8; 32],
) -> Done<Option<Vec<RemovedMaterial>>> {
    if find(tx, issuer_id).await?.is_none() {
        return Ok(None);
    }
    bump(tx).await?;
    let mut removed = Vec::new();
    let sql = "DELETE FROM trust_lists WHERE issuer_id = $1 AND sha256 = $2 RETURNING kind";
    for list in rows(tx, sql, &[&issuer_id, &sha256.as_slice()]).await? {
        let kind: String = list.try_get(0)?;
        let sql = "DELETE FROM trust_materials WHERE issuer_id = $1 AND kind = $2";
        let roots = execute(tx, sql, &[&issuer_id, &kind]).await?;
        let roots = usize::try_from(roots).unwrap_or(usize::MAX);
        removed.push(RemovedMaterial { kind, sha256: *sha256, roots });
    }
    if let Some(roots) = trusted_lists::remove(tx, issuer_id, sha256).await? {
        removed.push(RemovedMaterial { kind: "trusted_list".into(), sha256: *sha256, roots });
    }
    removed.extend(remove_hash(tx, issuer_id, None, sha256).await?);
    if removed.is_empty() {
        return Ok(Some(removed));
    }
    // A CRL whose root is gone would be a problem for ever, and says nothing about anybody.
    let left = find(tx, issuer_id).await?;
    for crl in left.iter().flat_map(|record| &record.crls).filter(|crl| crl.verified.is_err()) {
        removed.extend(remove_hash(tx, issuer_id, Some(CRL), &crl.sha256).await?);
    }
    Ok(Some(removed))
}

async fn remove_hash(
    tx: &Tx<'_>,
    issuer_id: &str,
    kind: Option<&str>,
    sha256: &[u8; 32],
) -> Done<Vec<RemovedMaterial>> {
    let sql = "DELETE FROM trust_materials WHERE issuer_id = $1 AND der_hash = $2 \
               AND ($3::text IS NULL OR kind = $3) RETURNING kind";
    let gone = rows(tx, sql, &[&issuer_id, &sha256.as_slice(), &kind]).await?;
    gone.iter()
        .map(|row| Ok(RemovedMaterial { kind: row.try_get(0)?, sha256: *sha256, roots: 0 }))
        .collect()
}

async fn set_attributes(tx: &Tx<'_>, issuer_id: &str, change: &TrustChange) -> Done<()> {
    execute(
        tx,
        "INSERT INTO trust_entries (issuer_id, vct, doc_types, namespaces, claims, revocation) \
         VALUES ($1, '[]', '[]', '[]', '[]', $2) ON CONFLICT DO NOTHING",
        &[&issuer_id, &RevocationPolicy::default().name()],
    )
    .await?;
    let list = |list: &Option<Vec<String>>| list.as_ref().map(|list| json!(list).to_string());
    execute(
        tx,
        "UPDATE trust_entries SET iss = coalesce($2, iss), vct = coalesce($3, vct), \
         doc_types = coalesce($4, doc_types), namespaces = coalesce($5, namespaces), \
         claims = coalesce($6, claims), country = coalesce($7, country), \
         revocation = coalesce($8, revocation), ekus = coalesce($9, ekus), \
         status_max_age_days = coalesce($10, status_max_age_days), \
         issuing_country_unbound = coalesce($11, issuing_country_unbound), \
         aki = coalesce($12, aki), \
         device_response_documents = coalesce($13, device_response_documents), \
         claim_paths = coalesce($14, claim_paths), etsi_tl = coalesce($15, etsi_tl), \
         sd_jwt_ekus = coalesce($16, sd_jwt_ekus) WHERE issuer_id = $1",
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
        ],
    )
    .await?;
    Ok(())
}

/// One that is there already takes its `kid`, mode and document types from here.
async fn insert(
    tx: &Tx<'_>,
    issuer_id: &str,
    material: &NewMaterial,
    test_only: bool,
    now: UnixMillis,
) -> Done<()> {
    execute(
        tx,
        "INSERT INTO trust_materials AS m (issuer_id, kind, der, kid, test_only, added_at, \
         doc_types) VALUES ($1, $2, $3, $4, $5, $6, $7) \
         ON CONFLICT (issuer_id, kind, der_hash) DO UPDATE \
         SET kid = coalesce(excluded.kid, m.kid), test_only = excluded.test_only, \
         doc_types = excluded.doc_types",
        &[
            &issuer_id,
            &material.kind,
            &material.der,
            &material.kid,
            &test_only,
            &millis(now),
            &material.doc_types,
        ],
    )
    .await?;
    Ok(())
}

/// What the former list of this kind brought goes in the same transaction.
async fn replace_list(
    tx: &Tx<'_>,
    issuer_id: &str,
    new: &NewList,
    test_only: bool,
    now: UnixMillis,
) -> Done<()> {
    let kind = new.origin.name();
    let sql = "SELECT issued_at, test_only FROM trust_lists WHERE issuer_id = $1 AND kind = $2";
    if let Some(former) = row(tx, sql, &[&issuer_id, &kind]).await? {
        let issued_at = former.try_get::<_, Option<i64>>(0)?.map(time);
        new.refuse_a_step_back(issuer_id, (issued_at, former.try_get(1)?), test_only)?;
    }
    let sql = "DELETE FROM trust_materials WHERE issuer_id = $1 AND kind = $2";
    execute(tx, sql, &[&issuer_id, &kind]).await?;
    for root in new.materials() {
        insert(tx, issuer_id, &root, test_only, now).await?;
    }
    let list = new.record(test_only, now);
    execute(
        tx,
        "INSERT INTO trust_lists (issuer_id, kind, issued_at, next_update, certificates, skipped, \
         test_only, added_at, sha256) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) \
         ON CONFLICT (issuer_id, kind) DO UPDATE SET issued_at = excluded.issued_at, \
         next_update = excluded.next_update, certificates = excluded.certificates, \
         skipped = excluded.skipped, test_only = excluded.test_only, \
         added_at = excluded.added_at, sha256 = excluded.sha256",
        &[
            &issuer_id,
            &list.kind,
            &list.issued_at.map(millis),
            &list.next_update.map(millis),
            &number(list.certificates),
            &number(list.skipped),
            &list.test_only,
            &millis(list.added_at),
            &list.sha256,
        ],
    )
    .await?;
    Ok(())
}

/// Counts a change; whoever does so first makes the others wait.
pub(super) async fn bump(tx: &Tx<'_>) -> Done<()> {
    execute(tx, "UPDATE trust_version SET version = version + 1", &[]).await?;
    Ok(())
}

fn by_issuer<T>(rows: Vec<Row>, read: impl Fn(&Row) -> Done<T>) -> Done<BTreeMap<String, Vec<T>>> {
    let mut found: BTreeMap<String, Vec<T>> = BTreeMap::new();
    for row in &rows {
        found.entry(row.try_get(0)?).or_default().push(read(row)?);
    }
    Ok(found)
}

fn entry_row(row: &Row) -> Done<EntryRow> {
    let days: Option<i64> = row.try_get(9)?;
    Ok(EntryRow {
        issuer_id: row.try_get(0)?,
        iss: row.try_get(1)?,
        lists: [row.try_get(2)?, row.try_get(3)?, row.try_get(4)?, row.try_get(5)?],
        country: row.try_get(6)?,
        revocation: row.try_get(7)?,
        ekus: row.try_get(8)?,
        status_max_age_days: days.map(|days| u32::try_from(days).unwrap_or(0)),
        issuing_country_unbound: row.try_get(10)?,
        aki: row.try_get(11)?,
        device_response_documents: row.try_get(12)?,
        claim_paths: row.try_get(13)?,
        etsi_tl: row.try_get(14)?,
        sd_jwt_ekus: row.try_get(15)?,
    })
}

fn material_row(row: &Row) -> Done<MaterialRow> {
    Ok(MaterialRow {
        kind: row.try_get(1)?,
        der: row.try_get(2)?,
        kid: row.try_get(3)?,
        test_only: row.try_get(4)?,
        added_at: time(row.try_get(5)?),
        doc_types: row.try_get(6)?,
    })
}

fn list_row(row: &Row) -> Done<TrustList> {
    Ok(TrustList {
        kind: row.try_get(1)?,
        issued_at: row.try_get::<_, Option<i64>>(2)?.map(time),
        next_update: row.try_get::<_, Option<i64>>(3)?.map(time),
        certificates: unsigned(row.try_get(4)?),
        skipped: unsigned(row.try_get(5)?),
        test_only: row.try_get(6)?,
        added_at: time(row.try_get(7)?),
        sha256: row.try_get(8)?,
    })
}
