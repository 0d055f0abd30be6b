//! The trust store: entries, their material, and the version number that shows a change.

pub(super) mod entries;
mod list_of_lists;
pub(crate) mod list_of_lists_rows;
mod list_taking;
mod listed;
pub(crate) mod listed_rows;
mod material;
mod removal;
mod rows;
mod x509;

use idgate_core::crypto::PublicKey;
use idgate_core::shell::{
    DocType, NameSpace, Oid, PinnedSigner, TrustAnchor, TrustEntry, TrustSnapshot, TrustedKey,
};
use idgate_core::trust::{DeviceResponseDocuments, OnUnknownRevocation, RevocationPolicy};
use idgate_core::{ClaimPath, IssuerId, UnixMillis};

pub use self::list_of_lists::{ListOfListsRow, NewListOfLists};
pub use self::listed::{ListRow, ListSettings, NewTrustedList, TrustedListRecord};
pub use self::removal::RemovedMaterial;
pub(super) use self::removal::remove_material;
use self::rows::EntryRow;
use self::x509::CRL;
pub use self::x509::{NewCrl, NewList, TrustCertificate, TrustCrl, TrustList};
use crate::cache::Numbered;

/// A key of a trust entry.
#[derive(Clone, Debug)]
pub struct TrustKey {
    /// The key.
    pub key: PublicKey,
    /// The `kid` by which credentials name it.
    pub kid: Option<String>,
    /// Whether it serves test-mode sessions only.
    pub test_only: bool,
    /// When it was added.
    pub added_at: UnixMillis,
}

/// A trust entry as operators see it.
#[derive(Clone, Debug)]
pub struct TrustRecord {
    /// The name that requests use.
    pub issuer_id: String,
    /// The value given for `iss`. `None`: the name itself if it is a URL or a DID.
    pub iss: Option<String>,
    /// Accepted credential types.
    pub vct: Vec<String>,
    /// Accepted document types.
    pub doc_types: Vec<String>,
    /// Namespaces that a request may leave unnamed.
    pub namespaces: Vec<String>,
    /// Claims of the legacy request form.
    pub claims: Vec<String>,
    /// ISO 3166-1 alpha-2.
    pub country: Option<String>,
    /// The revocation policy.
    pub revocation: RevocationPolicy,
    /// How a credential is treated if its status list cannot be fetched.
    pub on_unknown_revocation: OnUnknownRevocation,
    /// How many days a status list token without `exp` is valid. `None`: the default.
    pub status_max_age_days: Option<u32>,
    /// Whether test-mode sessions accept an mDL whose issuing country differs from its signer's.
    pub issuing_country_unbound: bool,
    /// The extended key usages of its document signers. `None`: that of mDL signers.
    pub ekus: Option<Vec<Oid>>,
    /// The extended key usages that it requires of SD-JWT VC issuers. Empty: the default rule.
    pub sd_jwt_ekus: Vec<Oid>,
    /// Its keys, oldest first.
    pub keys: Vec<TrustKey>,
    /// Its X.509 roots, oldest first.
    pub roots: Vec<TrustCertificate<TrustAnchor>>,
    /// Its pinned document signers, oldest first.
    pub pinned_signers: Vec<TrustCertificate<PinnedSigner>>,
    /// The X.509 roots of its SD-JWT VC issuers, oldest first.
    pub sd_jwt_roots: Vec<TrustCertificate<TrustAnchor>>,
    /// Its pinned SD-JWT VC issuers, oldest first.
    pub sd_jwt_signers: Vec<TrustCertificate<PinnedSigner>>,
    /// The paths of claims in its SD-JWT VCs, by claim name.
    pub claim_paths: Vec<(String, ClaimPath)>,
    /// Whether queries name its roots.
    pub aki: bool,
    /// How many documents a DeviceResponse may have.
    pub device_response_documents: DeviceResponseDocuments,
    /// The roots for signers of status lists, oldest first.
    pub status_roots: Vec<TrustCertificate<TrustAnchor>>,
    /// CRLs of its roots, the newest first.
    pub crls: Vec<TrustCrl>,
    /// The lists that its roots came from.
    pub lists: Vec<TrustList>,
    /// The European trusted list that it uses.
    pub trusted_list: Option<TrustedListRecord>,
    /// The list of lists that names that list.
    pub list_of_lists: Option<ListOfListsRow>,
    /// Whether queries name that list's URL.
    pub etsi_tl: bool,
}

impl TrustRecord {
    /// Returns the entry in the form that verification uses.
    pub fn entry(&self) -> TrustEntry {
        let mut entry = TrustEntry::new(IssuerId::new(&*self.issuer_id));
        if self.iss.is_some() {
            entry.iss.clone_from(&self.iss);
        }
        entry.vct.clone_from(&self.vct);
        entry.doc_types = self.doc_types.iter().map(DocType::new).collect();
        entry.namespaces = self.namespaces.iter().map(NameSpace::new).collect();
        entry.default_claims.clone_from(&self.claims);
        entry.revocation = self.revocation;
        entry.on_unknown_revocation = self.on_unknown_revocation;
        entry.keys = self.keys.iter().map(trusted_key).collect();
        entry.countries = self.country.iter().cloned().collect();
        if let Some(ekus) = &self.ekus {
            entry.ekus.clone_from(ekus);
        }
        entry.sd_jwt_ekus.clone_from(&self.sd_jwt_ekus);
        entry.roots = self.roots.iter().map(|root| root.certificate.clone()).collect();
        let signers = self.pinned_signers.iter().map(|signer| signer.certificate.clone());
        entry.pinned_signers = signers.collect();
        entry.sd_jwt_roots =
            self.sd_jwt_roots.iter().map(|root| root.certificate.clone()).collect();
        let signers = self.sd_jwt_signers.iter().map(|signer| signer.certificate.clone());
        entry.sd_jwt_signers = signers.collect();
        entry.claim_paths.clone_from(&self.claim_paths);
        entry.aki = self.aki;
        entry.device_response_documents = self.device_response_documents;
        entry.status_roots =
            self.status_roots.iter().map(|root| root.certificate.clone()).collect();
        if let Some(days) = self.status_max_age_days {
            entry.status_max_age_days = days;
        }
        entry.issuing_country_unbound = self.issuing_country_unbound;
        entry.crls = self.crls.iter().filter_map(|crl| crl.verified.clone().ok()).collect();
        if let Some(listed) = &self.trusted_list {
            if self.iss.is_none() && !self.serves_sd_jwts_itself() {
                // Any issuer in the list may issue, under any name.
                entry.iss = None;
            }
            listed.row.feed(&listed.list, &mut entry);
            entry.etsi_tl = listed.row.url.iter().filter(|_| self.etsi_tl).cloned().collect();
        }
        entry
    }

    /// Whether it can verify anything, now or with the next issue of its list.
    pub fn has_material(&self) -> bool {
        self.serves_sd_jwts_itself() || self.serves_mdocs() || self.trusted_list.is_some()
    }

    /// Whether it has trust material for SD-JWT VCs.
    pub fn serves_sd_jwts(&self) -> bool {
        let entry = || self.entry();
        self.serves_sd_jwts_itself()
            || (self.trusted_list.is_some() && !entry().sd_jwt_roots.is_empty())
    }

    /// Whether it has trust material for SD-JWT VCs of its own, not from the trusted list.
    fn serves_sd_jwts_itself(&self) -> bool {
        let certificates = !(self.sd_jwt_roots.is_empty() && self.sd_jwt_signers.is_empty());
        certificates || !self.keys.is_empty()
    }

    /// Whether it has trust material for mdocs.
    pub fn serves_mdocs(&self) -> bool {
        !(self.roots.is_empty() && self.pinned_signers.is_empty())
    }
}

/// Additions to an entry, and replacements of its attributes. Absent attributes stay as they are.
#[derive(Clone, Debug, Default)]
pub struct TrustChange {
    /// Replaces `iss`.
    pub iss: Option<String>,
    /// Replaces the accepted credential types.
    pub vct: Option<Vec<String>>,
    /// Replaces the accepted document types.
    pub doc_types: Option<Vec<String>>,
    /// Replaces the namespaces.
    pub namespaces: Option<Vec<String>>,
    /// Replaces the default claims.
    pub claims: Option<Vec<String>>,
    /// Replaces the country.
    pub country: Option<String>,
    /// Replaces the revocation policy.
    pub revocation: Option<RevocationPolicy>,
    /// Replaces how a credential is treated if its status list cannot be fetched.
    pub on_unknown_revocation: Option<OnUnknownRevocation>,
    /// Replaces how many days a status list token without `exp` is valid.
    pub status_max_age_days: Option<u32>,
    /// Replaces whether test-mode sessions accept an issuing country other than the signer's.
    pub issuing_country_unbound: Option<bool>,
    /// Added. An existing key takes its `kid` and mode from here.
    pub keys: Vec<(PublicKey, Option<String>)>,
    /// Replaces the extended key usages of document signers.
    pub ekus: Option<Vec<Oid>>,
    /// Replaces the extended key usages of SD-JWT VC issuers. Empty: the default rule.
    pub sd_jwt_ekus: Option<Vec<Oid>>,
    /// Added, as roots from the operator.
    pub roots: Vec<TrustAnchor>,
    /// Added.
    pub pinned_signers: Vec<PinnedSigner>,
    /// Added, for SD-JWT VC issuers only.
    pub sd_jwt_roots: Vec<TrustAnchor>,
    /// Added, for SD-JWT VC only.
    pub sd_jwt_signers: Vec<PinnedSigner>,
    /// Replaces the paths of claims in SD-JWT VCs.
    pub claim_paths: Option<Vec<(String, ClaimPath)>>,
    /// Replaces whether queries name the roots.
    pub aki: Option<bool>,
    /// Replaces how many documents a DeviceResponse may have.
    pub device_response_documents: Option<DeviceResponseDocuments>,
    /// Added, for the signers of status lists only.
    pub status_roots: Vec<TrustAnchor>,
    /// Added. Each must be signed by a root of the entry.
    pub crls: Vec<NewCrl>,
    /// Each replaces the entry's previous list of its kind. An older list is rejected.
    pub lists: Vec<NewList>,
    /// Replaces the entry's previous trusted list. A list that is older than any seen before is
    /// rejected.
    pub trusted_list: Option<NewTrustedList>,
    /// The list of lists that names that list. A new trusted list without a list of lists removes
    /// the entry's former one.
    pub list_of_lists: Option<NewListOfLists>,
    /// How the entry uses its trusted list.
    pub list_settings: ListSettings,
    /// Replaces whether queries name the trusted list's URL.
    pub etsi_tl: Option<bool>,
    /// Whether the added material serves test-mode sessions only.
    pub test_only: bool,
}

/// Returns object identifiers in their stored form.
fn dotted(oids: &[Oid]) -> Vec<String> {
    oids.iter().map(Oid::to_string).collect()
}

/// Returns a snapshot of these entries with its version number.
fn snapshot_of(version: u64, records: &[TrustRecord], pinned_live: bool) -> TrustSnapshot {
    let mut entries: Vec<TrustEntry> = records.iter().map(TrustRecord::entry).collect();
    if !pinned_live {
        let signers = entries.iter_mut().flat_map(|entry| &mut entry.pinned_signers);
        // A list is an authenticated source: signers from a list serve live sessions.
        let signers = signers.filter(|signer| !signer.is_listed());
        signers.for_each(|signer| signer.test_only = true);
    }
    TrustSnapshot::new(version, entries)
}

impl Numbered for TrustSnapshot {
    fn number(&self) -> u64 {
        self.version()
    }
}

fn trusted_key(key: &TrustKey) -> TrustedKey {
    let mut trusted = TrustedKey::new(key.key);
    trusted.kid.clone_from(&key.kid);
    trusted.test_only = key.test_only;
    trusted
}
