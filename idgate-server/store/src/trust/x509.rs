//! X.509 material of trust entries: roots, pinned signers, CRLs, and the lists that roots come
//! from.

use idgate_core::UnixMillis;
use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::shell::{
    DocType, ImportedList, PinnedSigner, RootOrigin, TrustAnchor, VerifiedCrl,
};
use serde_json::json;

use super::super::types::StoreError;
use super::{TrustChange, TrustRecord};

pub(super) const KEY: &str = "key";
const PINNED_SIGNER: &str = "pinned_signer";
pub(crate) const CRL: &str = "crl";
const STATUS_ROOT: &str = "status_root";
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
    /// The CRL if a root of the entry signed it, otherwise the reason why it is not used.
    pub verified: Result<VerifiedCrl, String>,
    /// The hash of its DER.
    pub sha256: [u8; 32],
    /// When it was added.
    pub added_at: UnixMillis,
}

/// A CRL given by an operator.
#[derive(Clone, Debug)]
pub struct NewCrl {
    /// Its DER.
    pub der: Vec<u8>,
    /// The file that it was read from, for the operator.
    pub file: String,
}

/// A list that an entry takes its roots from.
#[derive(Clone, Debug)]
pub struct NewList {
    /// `MasterList` or `Vical`.
    pub origin: RootOrigin,
    /// The parsed list.
    pub list: ImportedList,
    /// The hash of the file.
    pub sha256: [u8; 32],
}

/// The stored record of an imported list.
#[derive(Clone, Debug)]
pub struct TrustList {
    /// `master_list` or `vical`.
    pub kind: String,
    /// The hash of the file. `None`: it was imported by a version that did not store it.
    pub sha256: Option<Vec<u8>>,
    /// When it was signed or issued.
    pub issued_at: Option<UnixMillis>,
    /// When a newer list is due.
    pub next_update: Option<UnixMillis>,
    /// How many certificates it has.
    pub certificates: u64,
    /// How many of them are not usable.
    pub skipped: u64,
    /// Whether its roots serve test-mode sessions only.
    pub test_only: bool,
    /// When it was imported.
    pub added_at: UnixMillis,
}

/// New material, ready to store.
pub(crate) struct NewMaterial {
    pub(crate) kind: &'static str,
    pub(crate) der: Vec<u8>,
    pub(crate) kid: Option<String>,
    /// A JSON array. `None`: any.
    pub(crate) doc_types: Option<String>,
}

impl NewMaterial {
    fn new(kind: &'static str, der: &[u8], doc_types: &[DocType]) -> Self {
        let names: Vec<&str> = doc_types.iter().map(DocType::as_str).collect();
        let doc_types = (!names.is_empty()).then(|| json!(names).to_string());
        Self { kind, der: der.to_vec(), kid: None, doc_types }
    }

    fn root(root: &TrustAnchor, origin: RootOrigin) -> Self {
        Self::new(origin.name(), root.der(), &root.doc_types)
    }
}

impl TrustChange {
    /// Returns its material in order, except for that of lists and CRLs.
    pub(crate) fn materials(&self) -> Vec<NewMaterial> {
        let keys = self.keys.iter().map(|(key, kid)| NewMaterial {
            kid: kid.clone(),
            ..NewMaterial::new(KEY, &key.spki_der(), &[])
        });
        let roots = self.roots.iter().map(|root| NewMaterial::root(root, RootOrigin::RootFile));
        let signers = self.pinned_signers.iter();
        let signers = signers.map(|signer| NewMaterial::new(PINNED_SIGNER, signer.der(), &[]));
        let sd_jwt_roots = self.sd_jwt_roots.iter();
        let sd_jwt_roots = sd_jwt_roots.map(|root| NewMaterial::new(SD_JWT_ROOT, root.der(), &[]));
        let sd_jwt_signers = self.sd_jwt_signers.iter();
        let sd_jwt_signers =
            sd_jwt_signers.map(|signer| NewMaterial::new(SD_JWT_SIGNER, signer.der(), &[]));
        let status_roots = self.status_roots.iter();
        let status_roots =
            status_roots.map(|root| NewMaterial::new(STATUS_ROOT, root.der(), &root.doc_types));
        keys.chain(roots)
            .chain(signers)
            .chain(sd_jwt_roots)
            .chain(sd_jwt_signers)
            .chain(status_roots)
            .collect()
    }
}

impl NewList {
    /// Returns its roots.
    pub(crate) fn materials(&self) -> impl Iterator<Item = NewMaterial> {
        self.list.roots.iter().map(|root| NewMaterial::root(root, self.origin))
    }

    /// Returns the record to store for it.
    pub(crate) fn record(&self, test_only: bool, now: UnixMillis) -> TrustList {
        let count = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
        let skipped = self.list.certificates.iter().filter(|listed| !is_usable(listed)).count();
        TrustList {
            kind: self.origin.name().to_owned(),
            sha256: Some(self.sha256.to_vec()),
            issued_at: self.list.signed_at,
            next_update: self.list.next_update,
            certificates: count(self.list.certificates.len()),
            skipped: count(skipped),
            test_only,
            added_at: now,
        }
    }

    /// Rejects a list that is older than the `former` one of its kind, and a test list in place of
    /// a live one. `former`: when that list was issued, and whether it is a test list. A former
    /// test list never blocks a live one.
    pub(crate) fn refuse_a_step_back(
        &self,
        issuer_id: &str,
        former: (Option<UnixMillis>, bool),
        test_only: bool,
    ) -> Result<(), StoreError> {
        let why = match former {
            (_, false) if test_only => "is for tests and would replace a live one",
            (_, true) if !test_only => return Ok(()),
            (issued_at, _) if self.list.signed_at < issued_at => "is older than the one in force",
            _ => return Ok(()),
        };
        let kind = self.origin.name();
        Err(StoreError::Failed(format!(
            "this {kind} of {issuer_id} {why}; to go back, first remove the list in force with \
             `idgate trust remove {issuer_id} --sha256 HEX`; `idgate trust show` prints its hash"
        )))
    }
}

impl TrustRecord {
    /// Checks these CRLs: each must be signed by a root of the entry, or of its list.
    pub(crate) fn checked_crls(&self, crls: &[NewCrl]) -> Result<Vec<NewMaterial>, StoreError> {
        let roots = self.issuers_of_crls();
        let check = |crl: &NewCrl| {
            VerifiedCrl::from_der(&PROVIDER, &crl.der, &roots)
                .map_err(|error| StoreError::Failed(format!("{}: {error}", crl.file)))?;
            Ok(NewMaterial::new(CRL, &crl.der, &[]))
        };
        crls.iter().map(check).collect()
    }

    /// Takes the CRLs among `rows`, verified against the entry's roots, newest first.
    pub(super) fn take_crls(&mut self, rows: &[MaterialRow]) {
        let mut stored = rows.iter().filter(|row| row.kind == CRL).peekable();
        if stored.peek().is_none() {
            return;
        }
        let roots = self.issuers_of_crls();
        let verify = |stored: &MaterialRow| TrustCrl {
            verified: VerifiedCrl::from_der(&PROVIDER, &stored.der, &roots)
                .map_err(|error| error.to_string()),
            sha256: sha256(&stored.der),
            added_at: stored.added_at,
        };
        self.crls = stored.map(verify).collect();
        self.crls.sort_by_key(|crl| {
            std::cmp::Reverse(crl.verified.as_ref().map_or(UnixMillis(0), VerifiedCrl::this_update))
        });
    }

    fn issuers_of_crls(&self) -> Vec<TrustAnchor> {
        let entry = self.entry();
        [entry.roots, entry.sd_jwt_roots, entry.status_roots].concat()
    }
}

/// A row of material.
pub(crate) struct MaterialRow {
    pub(crate) kind: String,
    pub(crate) der: Vec<u8>,
    pub(crate) kid: Option<String>,
    pub(crate) test_only: bool,
    pub(crate) added_at: UnixMillis,
    pub(crate) doc_types: Option<String>,
}

/// The rows of one entry, oldest first.
#[derive(Clone, Copy)]
pub(super) struct Materials<'r> {
    pub(super) issuer_id: &'r str,
    pub(super) rows: &'r [MaterialRow],
}

impl<'r> Materials<'r> {
    pub(super) fn of_kind(self, kind: &str) -> impl Iterator<Item = &'r MaterialRow> {
        self.rows.iter().filter(move |row| row.kind == kind)
    }
}

/// Returns the roots of an entry.
pub(super) fn roots(
    materials: Materials<'_>,
) -> Result<Vec<TrustCertificate<TrustAnchor>>, StoreError> {
    let mut roots = Vec::new();
    for origin in ROOTS {
        roots.extend(roots_of_kind(materials, origin.name(), origin)?);
    }
    Ok(roots)
}

/// Returns the roots of an entry for the signers of status lists.
pub(super) fn status_roots(
    materials: Materials<'_>,
) -> Result<Vec<TrustCertificate<TrustAnchor>>, StoreError> {
    roots_of_kind(materials, STATUS_ROOT, RootOrigin::RootFile)
}

/// Returns the roots of an entry's SD-JWT VC issuers.
pub(super) fn sd_jwt_roots(
    materials: Materials<'_>,
) -> Result<Vec<TrustCertificate<TrustAnchor>>, StoreError> {
    roots_of_kind(materials, SD_JWT_ROOT, RootOrigin::RootFile)
}

fn roots_of_kind(
    materials: Materials<'_>,
    kind: &str,
    origin: RootOrigin,
) -> Result<Vec<TrustCertificate<TrustAnchor>>, StoreError> {
    let root = |stored: &MaterialRow| {
        let mut root = TrustAnchor::from_der(&PROVIDER, &stored.der, origin)
            .map_err(|error| unreadable(materials.issuer_id, &error.to_string()))?;
        root.test_only = stored.test_only;
        let doc_types = stored.doc_types.as_deref().map(serde_json::from_str::<Vec<String>>);
        let doc_types = doc_types
            .transpose()
            .map_err(|_| unreadable(materials.issuer_id, "has damaged document types"))?
            .unwrap_or_default();
        let certificate = root.with_doc_types(doc_types.iter().map(DocType::new));
        Ok(TrustCertificate { certificate, added_at: stored.added_at })
    };
    materials.of_kind(kind).map(root).collect()
}

/// Returns the pinned document signers of an entry.
pub(super) fn pinned_signers(
    materials: Materials<'_>,
) -> Result<Vec<TrustCertificate<PinnedSigner>>, StoreError> {
    signers_of_kind(materials, PINNED_SIGNER)
}

/// Returns the pinned SD-JWT VC issuers of an entry.
pub(super) fn sd_jwt_signers(
    materials: Materials<'_>,
) -> Result<Vec<TrustCertificate<PinnedSigner>>, StoreError> {
    signers_of_kind(materials, SD_JWT_SIGNER)
}

fn signers_of_kind(
    materials: Materials<'_>,
    kind: &str,
) -> Result<Vec<TrustCertificate<PinnedSigner>>, StoreError> {
    let signer = |stored: &MaterialRow| {
        let mut certificate = PinnedSigner::from_der(&PROVIDER, &stored.der)
            .map_err(|error| unreadable(materials.issuer_id, &error.to_string()))?;
        certificate.test_only = stored.test_only;
        Ok(TrustCertificate { certificate, added_at: stored.added_at })
    };
    materials.of_kind(kind).map(signer).collect()
}

fn is_usable(listed: &idgate_core::shell::ListedCertificate) -> bool {
    listed.outcome == idgate_core::shell::ListOutcome::Usable
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
