//! The material of entries, as rows.

use idgate_core::UnixMillis;

use super::TrustChange;
use super::entries::find;
use super::x509::{MaterialRow, NewList, NewMaterial, TrustList};
use crate::db::{Db, Row, sql};
use crate::failure::Done;
use crate::sql::{millis, number, unsigned};

/// Adds the material of `change`.
pub(super) async fn add(
    db: &Db<'_>,
    issuer_id: &str,
    change: &TrustChange,
    now: UnixMillis,
) -> Done<()> {
    let insert = Insert { db, issuer_id, test_only: change.test_only, now };
    for material in change.materials() {
        insert.material(&material).await?;
    }
    for list in &change.lists {
        insert.list(list).await?;
    }
    if change.crls.is_empty() {
        return Ok(());
    }
    let Some(record) = find(db, issuer_id).await? else { return Ok(()) };
    for crl in record.checked_crls(&change.crls)? {
        insert.material(&crl).await?;
    }
    Ok(())
}

/// Returns the material of all entries or of one, each with its entry's name, oldest first.
pub(super) async fn of(db: &Db<'_>, issuer_id: Option<&str>) -> Done<Vec<(String, MaterialRow)>> {
    let sql = sql("SELECT issuer_id, kind, der, kid, test_only, added_at, doc_types \
                   FROM trust_materials WHERE CAST($1 AS text) IS NULL OR issuer_id = $1 \
                   ORDER BY id");
    let read = |row: &Row<'_>| {
        let material = MaterialRow {
            kind: row.get(1)?,
            der: row.get(2)?,
            kid: row.get(3)?,
            test_only: row.get(4)?,
            added_at: row.time(5)?,
            doc_types: row.get(6)?,
        };
        Ok((row.get(0)?, material))
    };
    db.all(sql, &[&issuer_id], read).await
}

/// Returns the lists of all entries or of one, each with its entry's name.
pub(super) async fn lists(db: &Db<'_>, issuer_id: Option<&str>) -> Done<Vec<(String, TrustList)>> {
    let sql = sql("SELECT issuer_id, kind, issued_at, next_update, certificates, skipped, \
                   test_only, added_at, sha256 FROM trust_lists \
                   WHERE CAST($1 AS text) IS NULL OR issuer_id = $1 ORDER BY kind");
    let read = |row: &Row<'_>| {
        let list = TrustList {
            kind: row.get(1)?,
            issued_at: row.time_if_any(2)?,
            next_update: row.time_if_any(3)?,
            certificates: unsigned(row.get(4)?),
            skipped: unsigned(row.get(5)?),
            test_only: row.get(6)?,
            added_at: row.time(7)?,
            sha256: row.get(8)?,
        };
        Ok((row.get(0)?, list))
    };
    db.all(sql, &[&issuer_id], read).await
}

/// Removes an entry's material of one kind. Returns the number of rows.
pub(super) async fn remove_kind(db: &Db<'_>, issuer_id: &str, kind: &str) -> Done<usize> {
    let sql = sql("DELETE FROM trust_materials WHERE issuer_id = $1 AND kind = $2");
    db.run(sql, &[&issuer_id, &kind]).await
}

/// The entry and mode for new material.
struct Insert<'a> {
    db: &'a Db<'a>,
    issuer_id: &'a str,
    test_only: bool,
    now: UnixMillis,
}

impl Insert<'_> {
    /// Existing material takes its `kid`, mode and document types from here.
    async fn material(&self, material: &NewMaterial) -> Done<()> {
        let NewMaterial { kind, der, kid, doc_types } = material;
        let sql = sql("INSERT INTO trust_materials AS m (issuer_id, kind, der, kid, test_only, \
                       added_at, doc_types) VALUES ($1, $2, $3, $4, $5, $6, $7) \
                       ON CONFLICT (issuer_id, kind, {der_hash|der}) DO UPDATE \
                       SET kid = coalesce(excluded.kid, m.kid), test_only = excluded.test_only, \
                       doc_types = excluded.doc_types");
        let (issuer_id, test_only, added_at) = (&self.issuer_id, &self.test_only, millis(self.now));
        self.db
            .run(sql, &[issuer_id, kind, der, kid, test_only, &added_at, doc_types])
            .await
            .map(drop)
    }

    /// Removes the material of the previous list of this kind in the same transaction.
    async fn list(&self, new: &NewList) -> Done<()> {
        let (kind, former) = (
            new.origin.name(),
            sql("SELECT issued_at, test_only FROM trust_lists WHERE issuer_id = $1 AND kind = $2"),
        );
        let read = |row: &Row<'_>| Ok((row.time_if_any(0)?, row.get(1)?));
        if let Some(former) = self.db.one(former, &[&self.issuer_id, &kind], read).await? {
            new.refuse_a_step_back(self.issuer_id, former, self.test_only)?;
        }
        remove_kind(self.db, self.issuer_id, kind).await?;
        for root in new.materials() {
            self.material(&root).await?;
        }
        let list = new.record(self.test_only, self.now);
        let put = sql("INSERT INTO trust_lists (issuer_id, kind, issued_at, next_update, \
                       certificates, skipped, test_only, added_at, sha256) \
                       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) \
                       ON CONFLICT (issuer_id, kind) DO UPDATE SET issued_at = excluded.issued_at, \
                       next_update = excluded.next_update, certificates = excluded.certificates, \
                       skipped = excluded.skipped, test_only = excluded.test_only, \
                       added_at = excluded.added_at, sha256 = excluded.sha256");
        self.db
            .run(
                put,
                &[
                    &self.issuer_id,
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
            .await
            .map(drop)
    }
}
