//! Who is trusted, for what: an immutable snapshot that the embedder builds and shares.

mod anchors;
mod bare_key;
pub(crate) mod certificate;
pub(crate) mod crl;
mod entry;
mod issuer;
mod issuers;
pub(crate) mod known_signers;
mod list_file;
mod listed_profile;
pub(crate) mod listing;
mod master_list;
pub(crate) mod names;
mod oid;
pub(crate) mod path;
mod pem;
mod pinned_signer;
mod profile;
mod root_file;
mod sd_jwt_profile;
mod trusted_list;
mod verifier_certificate;
mod vical;

use alloc::collections::BTreeMap;
use alloc::sync::Arc;

pub use self::anchors::{RootOrigin, TrustAnchor, TrustMaterialError};
pub use self::bare_key::TrustedKey;
use self::entry::Places;
pub use self::entry::{DeviceResponseDocuments, RevocationPolicy, TrustEntry};
pub use self::issuer::{Field, Issuer, TrustError};
pub use self::issuers::Trust;
use self::known_signers::KnownSigners;
pub use self::list_file::{ListFile, ListReport, ListState, NotAListState};
pub use self::listing::{ListProfile, ListRole, ListType, ListedBy, TrustServiceProvider};
pub use self::master_list::{ImportedList, ListOutcome, ListedCertificate, import_master_list};
pub use self::oid::Oid;
#[cfg(feature = "internals")]
pub use self::path::is_valid_rfc5280_path;
pub use self::pem::pem_or_der;
pub use self::pinned_signer::PinnedSigner;
pub use self::root_file::{RootFile, UnusableRoot, read_roots, roots_from_file};
pub use self::trusted_list::{
    ListAnchors, ListMark, ListRules, ListSigner, ListTerms, ListedProvider, ListedService,
    TrustedList, TrustedListError, TrustedListErrorKind, import_trusted_list,
};
pub use self::verifier_certificate::{
    ImportRules, ImportedCertificate, VerifierCertificate, VerifierCertificateError,
};
pub use self::vical::import_vical;
use crate::ids::IssuerId;

/// Every trust entry at one moment. Reloading makes a new one; a session records which decided.
/// It remembers the signers that it met, in bounded memory: share one, also over threads.
#[derive(Clone, Debug, Default)]
pub struct TrustSnapshot {
    version: u64,
    /// They cannot change: what is known of them stays right.
    entries: Arc<BTreeMap<IssuerId, TrustEntry>>,
    known_signers: Arc<KnownSigners>,
}

impl TrustSnapshot {
    /// A snapshot of `entries`; a later entry of the same name replaces an earlier one. Give each snapshot another
    /// `version`: a status list that was fetched under one serves all others with that number.
    pub fn new(version: u64, entries: impl IntoIterator<Item = TrustEntry>) -> Self {
        let placed = |mut entry: TrustEntry| {
            entry.places = Places::of(&entry);
            (entry.issuer_id.clone(), entry)
        };
        let entries = Arc::new(entries.into_iter().map(placed).collect());
        Self { version, entries, known_signers: Arc::default() }
    }

    /// The same entries under another number.
    pub(crate) fn numbered(&self, version: u64) -> Self {
        Self { version, ..self.clone() }
    }

    /// The number its maker gave it.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The entry of that name.
    pub fn entry(&self, issuer_id: &IssuerId) -> Option<&TrustEntry> {
        self.entries.get(issuer_id)
    }

    /// The signers that `entry` was presented with, if it is one of this snapshot.
    pub(crate) fn known_signers(&self, entry: &TrustEntry) -> Option<&KnownSigners> {
        let own = self.entries.get(&entry.issuer_id);
        own.is_some_and(|own| core::ptr::eq(own, entry)).then_some(&*self.known_signers)
    }

    /// All entries, by name.
    pub fn entries(&self) -> impl Iterator<Item = &TrustEntry> {
        self.entries.values()
    }
}
