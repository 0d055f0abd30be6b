//! Removes one piece of material from a trust entry, by its hash.

use super::entries::{bump, find, hold};
use super::{CRL, listed_rows, material, x509};
use crate::db::{Db, Row, sql};
use crate::failure::Done;

/// Material that was removed from an entry.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RemovedMaterial {
    /// `key`, `root_file`, `pinned_signer`, `sd_jwt_root`, `sd_jwt_signer`, `status_root`, `crl`,
    /// `master_list`, `vical`, `trusted_list`.
    pub kind: String,
    /// The hash of the material, or of the list's file.
    pub sha256: [u8; 32],
    /// How many roots were removed with a list.
    pub roots: usize,
}

/// Removes the material with this hash: a key, a certificate of any kind, a CRL, or a list with its
/// roots. CRLs that no remaining root of the entry has signed are removed as well. Empty: there is
/// no such material. `None`: the entry does not exist.
pub(crate) async fn remove_material(
    db: &Db<'_>,
    issuer_id: &str,
    sha256: &[u8; 32],
) -> Done<Option<Vec<RemovedMaterial>>> {
    hold(db).await?;
    if find(db, issuer_id).await?.is_none() {
        return Ok(None);
    }
    let mut removed = remove_lists(db, issuer_id, sha256).await?;
    if let Some(roots) = listed_rows::remove(db, issuer_id, sha256).await? {
        removed.push(RemovedMaterial { kind: "trusted_list".into(), sha256: *sha256, roots });
    }
    removed.extend(remove_where(db, issuer_id, |_, hash| hash == sha256).await?);
    if !removed.is_empty() {
        removed.extend(remove_orphaned_crls(db, issuer_id).await?);
        bump(db).await?;
    }
    Ok(Some(removed))
}

async fn remove_lists(
    db: &Db<'_>,
    issuer_id: &str,
    sha256: &[u8; 32],
) -> Done<Vec<RemovedMaterial>> {
    let sql = sql("DELETE FROM trust_lists WHERE issuer_id = $1 AND sha256 = $2 RETURNING kind");
    let kinds = db.all(sql, &[&issuer_id, &sha256.as_slice()], |row| row.get::<String>(0)).await?;
    let mut removed = Vec::new();
    for kind in kinds {
        let roots = material::remove_kind(db, issuer_id, &kind).await?;
        removed.push(RemovedMaterial { kind, sha256: *sha256, roots });
    }
    Ok(removed)
}

/// A CRL without its root would be reported as a problem forever, and no longer has any effect.
async fn remove_orphaned_crls(db: &Db<'_>, issuer_id: &str) -> Done<Vec<RemovedMaterial>> {
    let Some(record) = find(db, issuer_id).await? else { return Ok(Vec::new()) };
    let orphaned: Vec<[u8; 32]> =
        record.crls.iter().filter(|crl| crl.verified.is_err()).map(|crl| crl.sha256).collect();
    remove_where(db, issuer_id, |kind, hash| kind == CRL && orphaned.contains(hash)).await
}

/// Removes the material of an entry for which `is_meant` accepts kind and hash.
async fn remove_where(
    db: &Db<'_>,
    issuer_id: &str,
    is_meant: impl Fn(&str, &[u8; 32]) -> bool,
) -> Done<Vec<RemovedMaterial>> {
    let all = sql("SELECT id, kind, der FROM trust_materials WHERE issuer_id = $1 ORDER BY id");
    let read = |row: &Row<'_>| {
        Ok((row.get::<i64>(0)?, row.get::<String>(1)?, x509::sha256(&row.get::<Vec<u8>>(2)?)))
    };
    let mut removed = Vec::new();
    for (id, kind, sha256) in db.all(all, &[&issuer_id], read).await? {
        if is_meant(&kind, &sha256) {
            db.run(sql("DELETE FROM trust_materials WHERE id = $1"), &[&id]).await?;
            removed.push(RemovedMaterial { kind, sha256, roots: 0 });
        }
    }
    Ok(removed)
}
