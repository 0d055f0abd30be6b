//! X.509 material from files, and the report on an imported list.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::path::{Path, PathBuf};

use clap::Args;
use idgate_core::UnixMillis;
use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::shell::{
    ListOutcome, PinnedSigner, RootOrigin, TrustAnchor, UnusableRoot, import_master_list,
    import_vical, read_roots, roots_from_file,
};
use serde_json::{Value, json};

use crate::admin::files::{blocks, in_file, read_at_most, signers};
use crate::digest::sha256;
use crate::failure::Failure;
use crate::limits::MAX_LIST_FILE_BYTES;
use idgate_store::{NewCrl, NewList, TrustChange, TrustRecord};

/// The options that name X.509 material.
#[derive(Args, Debug)]
pub(super) struct X509Options {
    /// X.509 roots of mdoc issuers, PEM or DER, one or many (repeatable)
    #[arg(long, value_name = "FILE")]
    root: Vec<PathBuf>,
    /// X.509 roots of SD-JWT VC issuers whose certificates come in `x5c`, PEM or DER, one or many;
    /// roots of mdocs are never used for SD-JWT VC (repeatable)
    #[arg(long, value_name = "FILE")]
    sd_jwt_root: Vec<PathBuf>,
    /// Certificates of SD-JWT VC issuers trusted without a root, PEM (repeatable)
    #[arg(long, value_name = "FILE.pem")]
    sd_jwt_signer: Vec<PathBuf>,
    /// X.509 roots below which status lists may be signed, in addition to the root of the
    /// credential, PEM or DER, one or many (repeatable)
    #[arg(long, value_name = "FILE")]
    status_root: Vec<PathBuf>,
    /// Add the usable certificates of --root, --sd-jwt-root and --status-root, and list the others
    #[arg(long)]
    skip_unusable: bool,
    /// mdoc document signers trusted without a root, PEM; never for live sessions in production
    /// (repeatable)
    #[arg(long, value_name = "FILE.pem")]
    pinned_signer: Vec<PathBuf>,
    /// ICAO Master List; replaces the entry's former one
    #[arg(long, value_name = "FILE.ml")]
    master_list: Option<PathBuf>,
    /// The CA certificate above the signer of the Master List
    #[arg(long, value_name = "FILE.pem", requires = "master_list")]
    master_list_signer_ca: Option<PathBuf>,
    /// VICAL; replaces the entry's former one
    #[arg(long, value_name = "FILE.cbor")]
    vical: Option<PathBuf>,
    /// The CA certificate above the signer of the VICAL
    #[arg(long, value_name = "FILE.pem", requires = "vical")]
    vical_signer_ca: Option<PathBuf>,
    /// CRL of one of the entry's roots, PEM or DER; used instead of a fetched one (repeatable)
    #[arg(long, value_name = "FILE")]
    crl: Vec<PathBuf>,
    /// Import a list that is past its next update; a trusted list then stays in force
    #[arg(long)]
    allow_stale: bool,
}

impl X509Options {
    /// Whether overdue lists are accepted.
    pub(super) const fn allows_stale(&self) -> bool {
        self.allow_stale
    }

    /// Reads all files into `change`, whose mode is set. Returns the skipped certificates.
    pub(super) fn read(
        &self,
        change: &mut TrustChange,
        now: UnixMillis,
    ) -> Result<Vec<Skipped>, Failure> {
        let mut skipped = Vec::new();
        change.roots.extend(self.roots(&self.root, &mut skipped)?);
        change.sd_jwt_roots.extend(self.roots(&self.sd_jwt_root, &mut skipped)?);
        change.status_roots.extend(self.roots(&self.status_root, &mut skipped)?);
        if change.test_only {
            let of_status = core::mem::take(&mut change.status_roots);
            change.status_roots = of_status.into_iter().map(TrustAnchor::for_test_only).collect();
        }
        change.pinned_signers.extend(signers(&self.pinned_signer, read)?);
        change.sd_jwt_signers.extend(signers(&self.sd_jwt_signer, read)?);
        let crls = blocks(&self.crl, "X509 CRL", read)?;
        let crl = |(path, der): (&Path, _)| NewCrl { der, file: path.display().to_string() };
        change.crls.extend(crls.into_iter().map(crl));
        change.lists.extend(self.master_list(change.test_only, now)?);
        change.lists.extend(self.vical(change.test_only, now)?);
        Ok(skipped)
    }

    /// Returns the roots in these files. Certificates that cannot be roots are all named together:
    /// in the failure, or in `skipped` if the operator skips them.
    fn roots(
        &self,
        paths: &[PathBuf],
        skipped: &mut Vec<Skipped>,
    ) -> Result<Vec<TrustAnchor>, Failure> {
        let mut roots = Vec::new();
        let mut refused = Vec::new();
        for path in paths {
            let file = read(path)?;
            let read = read_roots(&PROVIDER, &file).map_err(|why| in_file(path, why))?;
            if read.roots.is_empty() || !self.skip_unusable {
                refused.extend(read.unusable.into_iter().map(|root| Skipped::new(path, root)));
            } else {
                skipped.extend(read.unusable.into_iter().map(|root| Skipped::new(path, root)));
            }
            roots.extend(read.roots);
        }
        if refused.is_empty() {
            return Ok(roots);
        }
        let mut why = format!("{} of the certificates cannot be roots:\n", refused.len());
        for root in &refused {
            let _ = writeln!(why, "  {root}");
        }
        why.push_str(match roots.is_empty() {
            true => "none is left, so nothing was added",
            false => "nothing was added; --skip-unusable adds the rest",
        });
        Err(Failure::Error(why))
    }

    fn master_list(&self, test: bool, now: UnixMillis) -> Result<Option<NewList>, Failure> {
        let Some(path) = &self.master_list else { return Ok(None) };
        let cas = signer_cas(self.master_list_signer_ca.as_deref(), "master-list", test)?;
        let file = read(path)?;
        let list = import_master_list(&PROVIDER, &file, cas.as_deref(), now);
        let list = list.map_err(|why| in_file(path, why))?;
        Ok(Some(NewList { origin: RootOrigin::MasterList, list, sha256: sha256(&file) }))
    }

    fn vical(&self, test: bool, now: UnixMillis) -> Result<Option<NewList>, Failure> {
        let Some(path) = &self.vical else { return Ok(None) };
        let cas = signer_cas(self.vical_signer_ca.as_deref(), "vical", test)?;
        let file = read(path)?;
        let list = import_vical(&PROVIDER, &file, cas.as_deref(), self.allow_stale, now);
        let list = list.map_err(|why| in_file(path, why))?;
        Ok(Some(NewList { origin: RootOrigin::Vical, list, sha256: sha256(&file) }))
    }
}

/// Checks that certificates of a sandbox's samples are only added with `--test`.
///
/// # Errors
/// One of them would serve live sessions.
pub(super) fn check_samples(change: &TrustChange) -> Result<(), Failure> {
    if change.test_only {
        return Ok(());
    }
    let listed = change.lists.iter().flat_map(|list| &list.list.roots);
    let roots = change.roots.iter().chain(&change.sd_jwt_roots).chain(&change.status_roots);
    let roots = roots.chain(listed).filter(|root| root.is_sample()).map(TrustAnchor::subject);
    let signers = change.pinned_signers.iter().chain(&change.sd_jwt_signers);
    let signers = signers.filter(|signer| signer.is_sample()).map(PinnedSigner::subject);
    match roots.chain(signers).next() {
        None => Ok(()),
        Some(subject) => Err(Failure::Error(format!(
            "{subject} is from a sandbox's samples, which live sessions do not trust; add it with --test"
        ))),
    }
}

/// A certificate that was left out.
pub(super) struct Skipped {
    file: String,
    root: UnusableRoot,
}

impl Skipped {
    fn new(path: &Path, root: UnusableRoot) -> Self {
        Self { file: path.display().to_string(), root }
    }

    pub(super) fn to_json(&self) -> Value {
        json!({
            "file": self.file,
            "certificate": self.root.place,
            "subject": self.root.subject,
            "skipped_because": self.root.why,
        })
    }
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file, self.root)
    }
}

/// Returns the report on a list: counts, each certificate, and the differences from the former
/// list.
pub(super) fn report(new: &NewList, before: Option<&TrustRecord>, after: &TrustRecord) -> Value {
    let listed = &new.list.certificates;
    let skipped = listed.iter().filter(|listed| listed.outcome != ListOutcome::Usable).count();
    let expired = listed.iter().filter(|listed| listed.expired).count();
    let (old, now) = (before.map(|old| subjects(old, new.origin)).unwrap_or_default(), {
        subjects(after, new.origin)
    });
    let beyond = |these: &BTreeMap<[u8; 32], String>, those: &BTreeMap<[u8; 32], String>| {
        let only = these.iter().filter(|(sha256, _)| !those.contains_key(*sha256));
        only.map(|(_, subject)| subject.clone()).collect::<Vec<_>>()
    };
    let (added, removed) = (beyond(&now, &old), beyond(&old, &now));
    json!({
        "kind": new.origin.name(),
        "issued_at": new.list.signed_at.map(|at| at.to_string()),
        "next_update": new.list.next_update.map(|at| at.to_string()),
        "signer": if new.list.signer_is_known { "known" } else { "unknown" },
        "total": listed.len(),
        "taken": listed.len().saturating_sub(skipped),
        "skipped": skipped,
        "expired": expired,
        "added": added.len(),
        "removed": removed.len(),
        "added_subjects": added,
        "removed_subjects": removed,
        "certificates": listed,
    })
}

/// Returns the counts of a report as text.
pub(super) fn report_text(report: &Value) -> String {
    let of = |name: &str| report.get(name).and_then(Value::as_u64).unwrap_or(0);
    let kind = report.get("kind").and_then(Value::as_str).unwrap_or_default();
    let signer = match report.get("signer").and_then(Value::as_str) {
        Some("unknown") => "; its signer is unknown: anybody may have made it",
        _ => "",
    };
    format!(
        "{kind}: {} certificates, {} taken, {} skipped, {} expired and not trusted; {} added, {} \
         removed{signer}\n",
        of("total"),
        of("taken"),
        of("skipped"),
        of("expired"),
        of("added"),
        of("removed"),
    )
}

fn subjects(record: &TrustRecord, origin: RootOrigin) -> BTreeMap<[u8; 32], String> {
    let roots = record.roots.iter().map(|root| &root.certificate);
    let roots = roots.filter(|root| root.origin == origin);
    roots.map(|root| (root.sha256(), root.subject().to_owned())).collect()
}

fn signer_cas(
    path: Option<&Path>,
    list: &str,
    test: bool,
) -> Result<Option<Vec<TrustAnchor>>, Failure> {
    match path {
        Some(path) => roots(path).map(Some),
        None if test => Ok(None),
        None => Err(Failure::Usage(format!(
            "--{list} needs --{list}-signer-ca FILE.pem, or --test: without a CA, anyone could have \
             made the list"
        ))),
    }
}

fn roots(path: &Path) -> Result<Vec<TrustAnchor>, Failure> {
    let file = read(path)?;
    roots_from_file(&PROVIDER, &file).map_err(|why| in_file(path, why))
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    read_at_most(path, MAX_LIST_FILE_BYTES)
}
