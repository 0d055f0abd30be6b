//! X.509 material of trust entries: roots, pinned signers, CRLs, and the lists behind roots.

use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::ids::DocType;
use idgate_core::status::VerifiedCrl;
use idgate_core::time::UnixMillis;
use idgate_core::trust::{ImportedList, PinnedSigner, RootOrigin, TrustAnchor};
use rusqlite::{Connection, OptionalExtension as _, Row};
use serde_json::json;

use super::super::interface::StoreError;
use super::super::sql::{millis, time};
use super::TrustChange;

const PINNED_SIGNER: &str = "pinned_signer";
pub(super) const CRL: &str = "crl";
pub(super) const STATUS_ROOT: &str = "status_root";
const SD_JWT_ROOT: &str = "sd_jwt_root";
const SD_JWT_SIGNER: &str = "sd_jwt_signer";
const ROOTS: [RootOrigin; 3] = [RootOrigin::RootFile, RootOrigin::MasterList, RootOrigin::Vical];

/// A certificate of a trust entry.
#[derive(Clone, Debug)]
pub struct TrustCertificate<C> {
    /// The certificate, with its mode.
    pub certificate: C,
    /// When it was added.
    pub added_at: UnixMillis,
}

/// A CRL of a trust entry.
#[derive(Clone, Debug)]
pub struct TrustCrl {
    /// The CRL, when a root of the entry signed it; else why it is not used.
    pub verified: Result<VerifiedCrl, String>,
    /// Of its DER.
    pub sha256: [u8; 32],
    /// When it was added.
    pub added_at: UnixMillis,
}

/// A CRL that an operator gives.
#[derive(Clone, Debug)]
pub struct NewCrl {
    /// Its DER.
    pub der: Vec<u8>,
    /// Where it was read, for the operator.
    pub file: String,
}

/// A list that an entry takes its roots from.
#[derive(Clone, Debug)]
pub struct NewList {
    /// `MasterList` or `Vical`.
    pub origin: RootOrigin,
    /// What was read.
    pub list: ImportedList,
    /// Of the file.
    pub sha256: [u8; 32],
}

/// What is known of an imported list.
#[derive(Clone, Debug)]
pub struct TrustList {
    /// `master_list` or `vical`.
    pub kind: String,
    /// Of the file; `None`: it was imported before this was kept.
    pub sha256: Option<Vec<u8>>,
    /// When it was signed or issued.
    pub issued_at: Option<UnixMillis>,
    /// When a newer one is due.
    pub next_update: Option<UnixMillis>,
    /// How many certificates it has.
    pub certificates: u64,
    /// How many of them cannot be used.
    pub skipped: u64,
    /// Whether its roots serve test-mode sessions only.
    pub test_only: bool,
    /// When it was imported.
    pub added_at: UnixMillis,
}

/// Adds the X.509 material of `change`.
pub(super) fn add(
    main: &Connection,
    issuer_id: &str,
    change: &TrustChange,
    now: UnixMillis,
) -> Result<(), StoreError> {
    let insert = Insert { main, issuer_id, test_only: change.test_only, now };
    for root in &change.roots {
        insert.root(root, RootOrigin::RootFile)?;
    }
    for signer in &change.pinned_signers {
        insert.material(PINNED_SIGNER, signer.der(), &[])?;
    }
    for root in &change.sd_jwt_roots {
        insert.material(SD_JWT_ROOT, root.der(), &[])?;
    }
    for signer in &change.sd_jwt_signers {
        insert.material(SD_JWT_SIGNER, signer.der(), &[])?;
    }
    for root in &change.status_roots {
        insert.material(STATUS_ROOT, root.der(), &root.doc_types)?;
    }
    for list in &change.lists {
        insert.list(list)?;
    }
    if change.crls.is_empty() {
        return Ok(());
    }
    let (roots, status_roots) = (roots(main, issuer_id)?, status_roots(main, issuer_id)?);
    let sd_jwt_roots = sd_jwt_roots(main, issuer_id)?;
    let roots = anchors(roots.iter().chain(&sd_jwt_roots).chain(&status_roots));
    for NewCrl { der, file } in &change.crls {
        VerifiedCrl::from_der(&PROVIDER, der, &roots)
            .map_err(|error| StoreError::Failed(format!("{file}: {error}")))?;
        insert.material(CRL, der, &[])?;
    }
    Ok(())
}

/// The roots of an entry.
pub(super) fn roots(
    main: &Connection,
    issuer_id: &str,
) -> Result<Vec<TrustCertificate<TrustAnchor>>, StoreError> {
    let mut roots = Vec::new();
    for origin in ROOTS {
        roots.extend(roots_of_kind(main, issuer_id, origin.name(), origin)?);
    }
    Ok(roots)
}

/// The roots of an entry for the signers of status lists.
pub(super) fn status_roots(
    main: &Connection,
    issuer_id: &str,
) -> Result<Vec<TrustCertificate<TrustAnchor>>, StoreError> {
    roots_of_kind(main, issuer_id, STATUS_ROOT, RootOrigin::RootFile)
}

/// The roots of an entry's SD-JWT VC issuers.
pub(super) fn sd_jwt_roots(
    main: &Connection,
    issuer_id: &str,
) -> Result<Vec<TrustCertificate<TrustAnchor>>, StoreError> {
    roots_of_kind(main, issuer_id, SD_JWT_ROOT, RootOrigin::RootFile)
}

fn roots_of_kind(
    main: &Connection,
    issuer_id: &str,
    kind: &str,
    origin: RootOrigin,
) -> Result<Vec<TrustCertificate<TrustAnchor>>, StoreError> {
    let root = |stored: Stored| {
        let mut root = TrustAnchor::from_der(&PROVIDER, &stored.der, origin)
            .map_err(|error| unreadable(issuer_id, &error.to_string()))?;
        root.test_only = stored.test_only;
        let doc_types = stored.doc_types.as_deref().map(serde_json::from_str::<Vec<String>>);
        let doc_types = doc_types
            .transpose()
            .map_err(|_| unreadable(issuer_id, "has damaged document types"))?
            .unwrap_or_default();
        let certificate = root.with_doc_types(doc_types.iter().map(DocType::new));
        Ok(TrustCertificate { certificate, added_at: stored.added_at })
    };
    stored(main, issuer_id, kind)?.into_iter().map(root).collect()
}

/// The pinned document signers of an entry.
pub(super) fn pinned_signers(
    main: &Connection,
    issuer_id: &str,
) -> Result<Vec<TrustCertificate<PinnedSigner>>, StoreError> {
    signers_of_kind(main, issuer_id, PINNED_SIGNER)
}

/// The pinned SD-JWT VC issuers of an entry.
pub(super) fn sd_jwt_signers(
    main: &Connection,
    issuer_id: &str,
) -> Result<Vec<TrustCertificate<PinnedSigner>>, StoreError> {
    signers_of_kind(main, issuer_id, SD_JWT_SIGNER)
}

fn signers_of_kind(
    main: &Connection,
    issuer_id: &str,
    kind: &str,
) -> Result<Vec<TrustCertificate<PinnedSigner>>, StoreError> {
    let signer = |stored: Stored| {
        let mut certificate = PinnedSigner::from_der(&PROVIDER, &stored.der)
            .map_err(|error| unreadable(issuer_id, &error.to_string()))?;
        certificate.test_only = stored.test_only;
        Ok(TrustCertificate { certificate, added_at: stored.added_at })
    };
    stored(main, issuer_id, kind)?.into_iter().map(signer).collect()
}

/// The CRLs of an entry, verified against its `roots`, the newest first.
pub(super) fn crls<'r>(
    main: &Connection,
    issuer_id: &str,
    roots: impl Iterator<Item = &'r TrustCertificate<TrustAnchor>>,
) -> Result<Vec<TrustCrl>, StoreError> {
    let stored = stored(main, issuer_id, CRL)?;
    if stored.is_empty() {
        return Ok(Vec::new());
    }
    let roots = anchors(roots);
    let verify = |stored: Stored| TrustCrl {
        verified: VerifiedCrl::from_der(&PROVIDER, &stored.der, &roots)
            .map_err(|error| error.to_string()),
        sha256: sha256(&stored.der),
        added_at: stored.added_at,
    };
    let mut crls: Vec<TrustCrl> = stored.into_iter().map(verify).collect();
    crls.sort_by_key(|crl| {
        std::cmp::Reverse(crl.verified.as_ref().map_or(UnixMillis(0), VerifiedCrl::this_update))
    });
    Ok(crls)
}

/// The lists of an entry.
pub(super) fn lists(main: &Connection, issuer_id: &str) -> Result<Vec<TrustList>, StoreError> {
    let mut statement = main.prepare_cached(
        "SELECT kind, issued_at, next_update, certificates, skipped, test_only, added_at, sha256 \
         FROM trust_lists WHERE issuer_id = ?1 ORDER BY kind",
    )?;
    let list = |row: &Row<'_>| {
        let count = |column| -> rusqlite::Result<u64> {
            Ok(u64::try_from(row.get::<_, i64>(column)?).unwrap_or(0))
        };
        Ok(TrustList {
            kind: row.get(0)?,
            issued_at: row.get::<_, Option<i64>>(1)?.map(time),
            next_update: row.get::<_, Option<i64>>(2)?.map(time),
            certificates: count(3)?,
            skipped: count(4)?,
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
    fn root(&self, root: &TrustAnchor, origin: RootOrigin) -> Result<(), StoreError> {
        self.material(origin.name(), root.der(), &root.doc_types)
    }

    fn material(&self, kind: &str, der: &[u8], doc_types: &[DocType]) -> Result<(), StoreError> {
        let names: Vec<&str> = doc_types.iter().map(DocType::as_str).collect();
        let doc_types = (!names.is_empty()).then(|| json!(names).to_string());
        self.main
            .prepare_cached(
                "INSERT INTO trust_materials (issuer_id, kind, der, test_only, added_at, doc_types) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (issuer_id, kind, der) DO UPDATE \
                 SET test_only = excluded.test_only, doc_types = excluded.doc_types",
            )?
            .execute((self.issuer_id, kind, der, self.test_only, millis(self.now), doc_types))?;
        Ok(())
    }

    /// What the former list of this kind brought goes in the same transaction.
    fn list(&self, new: &NewList) -> Result<(), StoreError> {
        let kind = new.origin.name();
        self.refuse_a_step_back(kind, new.list.signed_at)?;
        self.main.execute(
            "DELETE FROM trust_materials WHERE issuer_id = ?1 AND kind = ?2",
            (self.issuer_id, kind),
        )?;
        for root in &new.list.roots {
            self.root(root, new.origin)?;
        }
        let count = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
        let certificates = new.list.certificates.len();
        let skipped = new.list.certificates.iter().filter(|listed| !is_usable(listed)).count();
        self.main.execute(
            "INSERT OR REPLACE INTO trust_lists (issuer_id, kind, issued_at, next_update, \
             certificates, skipped, test_only, added_at, sha256) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            (
                self.issuer_id,
                kind,
                new.list.signed_at.map(millis),
                new.list.next_update.map(millis),
                count(certificates),
                count(skipped),
                self.test_only,
                millis(self.now),
                new.sha256,
            ),
        )?;
        Ok(())
    }

    /// Refuses a list that is older than the one in force, or that was not authenticated while
    /// that one was. A list for tests never stands in the way of a real one.
    fn refuse_a_step_back(&self, kind: &str, at: Option<UnixMillis>) -> Result<(), StoreError> {
        let former: Option<(Option<i64>, bool)> = self
            .main
            .query_row(
                "SELECT issued_at, test_only FROM trust_lists WHERE issuer_id = ?1 AND kind = ?2",
                (self.issuer_id, kind),
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .optional()?;
        let why = match former {
            Some((_, false)) if self.test_only => "would replace a live one by one for tests",
            Some((_, true)) if !self.test_only => return Ok(()),
            Some((issued_at, _)) if at.map(millis) < issued_at => "is older than the one in force",
            _ => return Ok(()),
        };
        let issuer_id = self.issuer_id;
        Err(StoreError::Failed(format!(
            "this {kind} of {issuer_id} {why}; to go back, `idgate trust remove {issuer_id} --sha256 HEX` \
             the list in force first, by the hash that `idgate trust show` prints"
        )))
    }
}

fn is_usable(listed: &idgate_core::trust::ListedCertificate) -> bool {
    listed.outcome == idgate_core::trust::ListOutcome::Usable
}

/// A row of material.
struct Stored {
    der: Vec<u8>,
    test_only: bool,
    added_at: UnixMillis,
    doc_types: Option<String>,
}

fn stored(main: &Connection, issuer_id: &str, kind: &str) -> Result<Vec<Stored>, StoreError> {
    let mut statement = main.prepare_cached(
        "SELECT der, test_only, added_at, doc_types FROM trust_materials \
         WHERE issuer_id = ?1 AND kind = ?2 ORDER BY id",
    )?;
    let row = |row: &Row<'_>| {
        Ok(Stored {
            der: row.get(0)?,
            test_only: row.get(1)?,
            added_at: time(row.get(2)?),
            doc_types: row.get(3)?,
        })
    };
    Ok(statement.query_map((issuer_id, kind), row)?.collect::<Result<_, _>>()?)
}

fn anchors<'r>(roots: impl Iterator<Item = &'r TrustCertificate<TrustAnchor>>) -> Vec<TrustAnchor> {
    roots.map(|root| root.certificate.clone()).collect()
}

pub(super) fn sha256(bytes: &[u8]) -> [u8; 32] {
    let mut hash = [0; 32];
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, bytes);
    hash.iter_mut().zip(digest.as_ref()).for_each(|(into, from)| *into = *from);
    hash
}

fn unreadable(issuer_id: &str, why: &str) -> StoreError {
    StoreError::Failed(format!("material of trust entry {issuer_id} cannot be used: {why}"))
}
