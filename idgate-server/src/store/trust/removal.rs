//! Taking one piece of material out of a trust entry, by its hash.

use rusqlite::Connection;

use super::super::interface::StoreError;
use super::{CRL, bump, find, listed_rows, material, x509};

/// What was removed from an entry.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RemovedMaterial {
    /// `key`, `root_file`, `pinned_signer`, `sd_jwt_root`, `sd_jwt_signer`, `status_root`, `crl`,
    /// `master_list`, `vical`, `trusted_list`.
    pub kind: String,
    /// Of the material, or of the list's file.
    pub sha256: [u8; 32],
    /// How many roots a list took with it.
    pub roots: usize,
}

/// Removes what has this hash: a key, a certificate in whatever part, a CRL, or a list with its
/// roots; and CRLs that no root of the entry has signed any more. Empty: there is no such material.
/// `None`: there is no such entry.
pub(in super::super) fn remove_material(
    main: &Connection,
    issuer_id: &str,
    sha256: &[u8; 32],
) -> Result<Option<Vec<RemovedMaterial>>, StoreError> {
    if find(main, issuer_id)?.is_none() {
        return Ok(None);
    }
    let mut removed = remove_lists(main, issuer_id, sha256)?;
    if let Some(roots) = listed_rows::remove(main, issuer_id, sha256)? {
        removed.push(RemovedMaterial { kind: "trusted_list".into(), sha256: *sha256, roots });
    }
    for (id, kind, hash) in materials(main, issuer_id)? {
        if hash == *sha256 {
            delete(main, id)?;
            removed.push(RemovedMaterial { kind, sha256: hash, roots: 0 });
        }
    }
    if !removed.is_empty() {
        removed.extend(remove_orphaned_crls(main, issuer_id)?);
        bump(main)?;
    }
    Ok(Some(removed))
}

fn remove_lists(
    main: &Connection,
    issuer_id: &str,
    sha256: &[u8; 32],
) -> Result<Vec<RemovedMaterial>, StoreError> {
    let mut removed = Vec::new();
    for list in material::lists(main, issuer_id)? {
        if list.sha256.as_deref() != Some(sha256) {
            continue;
        }
        let of_kind = (issuer_id, &list.kind);
        main.execute("DELETE FROM trust_lists WHERE issuer_id = ?1 AND kind = ?2", of_kind)?;
        let roots = main
            .execute("DELETE FROM trust_materials WHERE issuer_id = ?1 AND kind = ?2", of_kind)?;
        removed.push(RemovedMaterial { kind: list.kind, sha256: *sha256, roots });
    }
    Ok(removed)
}

/// A CRL whose root is gone would be a problem for ever, and says nothing about anybody.
fn remove_orphaned_crls(
    main: &Connection,
    issuer_id: &str,
) -> Result<Vec<RemovedMaterial>, StoreError> {
    let Some(record) = find(main, issuer_id)? else { return Ok(Vec::new()) };
    let orphaned: Vec<[u8; 32]> =
        record.crls.iter().filter(|crl| crl.verified.is_err()).map(|crl| crl.sha256).collect();
    let mut removed = Vec::new();
    for (id, kind, sha256) in materials(main, issuer_id)? {
        if kind == CRL && orphaned.contains(&sha256) {
            delete(main, id)?;
            removed.push(RemovedMaterial { kind, sha256, roots: 0 });
        }
    }
    Ok(removed)
}

type Row = (i64, String, [u8; 32]);

fn materials(main: &Connection, issuer_id: &str) -> Result<Vec<Row>, StoreError> {
    let mut statement = main.prepare_cached(
        "SELECT id, kind, der FROM trust_materials WHERE issuer_id = ?1 ORDER BY id",
    )?;
    let mut rows = statement.query([issuer_id])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let der: Vec<u8> = row.get(2)?;
        found.push((row.get(0)?, row.get(1)?, x509::sha256(&der)));
    }
    Ok(found)
}

fn delete(main: &Connection, id: i64) -> Result<(), StoreError> {
    main.execute("DELETE FROM trust_materials WHERE id = ?1", [id])?;
    Ok(())
}
