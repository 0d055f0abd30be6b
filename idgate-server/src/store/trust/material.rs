//! The material of entries, as rows of SQLite.

use idgate_core::time::UnixMillis;
use rusqlite::{Connection, OptionalExtension as _, Row};

use super::super::interface::StoreError;
use super::super::sql::{millis, number, time, unsigned};
use super::x509::{MaterialRow, NewList, NewMaterial, TrustList};
use super::{TrustChange, find};

/// Adds the material of `change`.
pub(super) fn add(
    main: &Connection,
    issuer_id: &str,
    change: &TrustChange,
    now: UnixMillis,
) -> Result<(), StoreError> {
    let insert = Insert { main, issuer_id, test_only: change.test_only, now };
    for material in change.materials() {
        insert.material(&material)?;
    }
    for list in &change.lists {
        insert.list(list)?;
    }
    if change.crls.is_empty() {
        return Ok(());
    }
    let Some(record) = find(main, issuer_id)? else { return Ok(()) };
    record.checked_crls(&change.crls)?.iter().try_for_each(|crl| insert.material(crl))
}

/// The material of an entry, oldest first.
pub(super) fn of(main: &Connection, issuer_id: &str) -> Result<Vec<MaterialRow>, StoreError> {
    let mut statement = main.prepare_cached(
        "SELECT kind, der, kid, test_only, added_at, doc_types FROM trust_materials \
         WHERE issuer_id = ?1 ORDER BY id",
    )?;
    let row = |row: &Row<'_>| {
        Ok(MaterialRow {
            kind: row.get(0)?,
            der: row.get(1)?,
            kid: row.get(2)?,
            test_only: row.get(3)?,
            added_at: time(row.get(4)?),
            doc_types: row.get(5)?,
        })
    };
    Ok(statement.query_map([issuer_id], row)?.collect::<Result<_, _>>()?)
}

/// The lists of an entry.
pub(super) fn lists(main: &Connection, issuer_id: &str) -> Result<Vec<TrustList>, StoreError> {
    let mut statement = main.prepare_cached(
        "SELECT kind, issued_at, next_update, certificates, skipped, test_only, added_at, sha256 \
         FROM trust_lists WHERE issuer_id = ?1 ORDER BY kind",
    )?;
    let list = |row: &Row<'_>| {
        Ok(TrustList {
            kind: row.get(0)?,
            issued_at: row.get::<_, Option<i64>>(1)?.map(time),
            next_update: row.get::<_, Option<i64>>(2)?.map(time),
            certificates: unsigned(row.get(3)?),
            skipped: unsigned(row.get(4)?),
            test_only: row.get(5)?,
            added_at: time(row.get(6)?),
            sha256: row.get(7)?,
        })
    };
    Ok(statement.query_map([issuer_id], list)?.collect::<Result<_, _>>()?)
}

/// Where material goes, and for whom.
struct Insert<'a> {
    main: &'a Connection,
    issuer_id: &'a str,
    test_only: bool,
    now: UnixMillis,
}

impl Insert<'_> {
    /// One that is there already takes its `kid`, mode and document types from here.
    fn material(&self, material: &NewMaterial) -> Result<(), StoreError> {
        let NewMaterial { kind, der, kid, doc_types } = material;
        self.main
            .prepare_cached(
                "INSERT INTO trust_materials (issuer_id, kind, der, kid, test_only, added_at, \
                 doc_types) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) \
                 ON CONFLICT (issuer_id, kind, der) DO UPDATE \
                 SET kid = coalesce(excluded.kid, kid), test_only = excluded.test_only, \
                 doc_types = excluded.doc_types",
            )?
            .execute((
                self.issuer_id,
                kind,
                der,
                kid,
                self.test_only,
                millis(self.now),
                doc_types,
            ))?;
        Ok(())
    }

    /// What the former list of this kind brought goes in the same transaction.
    fn list(&self, new: &NewList) -> Result<(), StoreError> {
        let of_kind = (self.issuer_id, new.origin.name());
        let former: Option<(Option<i64>, bool)> = self
            .main
            .query_row(
                "SELECT issued_at, test_only FROM trust_lists WHERE issuer_id = ?1 AND kind = ?2",
                of_kind,
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .optional()?;
        if let Some((issued_at, test_only)) = former {
            let former = (issued_at.map(time), test_only);
            new.refuse_a_step_back(self.issuer_id, former, self.test_only)?;
        }
        self.main
            .execute("DELETE FROM trust_materials WHERE issuer_id = ?1 AND kind = ?2", of_kind)?;
        for root in new.materials() {
            self.material(&root)?;
        }
        let list = new.record(self.test_only, self.now);
        self.main.execute(
            "INSERT OR REPLACE INTO trust_lists (issuer_id, kind, issued_at, next_update, \
             certificates, skipped, test_only, added_at, sha256) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            (
                self.issuer_id,
                &list.kind,
                list.issued_at.map(millis),
                list.next_update.map(millis),
                number(list.certificates),
                number(list.skipped),
                list.test_only,
                millis(list.added_at),
                &list.sha256,
            ),
        )?;
        Ok(())
    }
}
