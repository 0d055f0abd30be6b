//! Who is trusted, for what: an immutable snapshot that the embedder builds and shares.

mod anchors;
mod bare_key;
pub(crate) mod certificate;
pub(crate) mod crl;
pub(crate) mod known_signers;
mod master_list;
pub(crate) mod names;
mod oid;
pub(crate) mod path;
mod pem;
mod profile;
mod vical;

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

pub use self::anchors::{
    PinnedSigner, RootFile, RootOrigin, TrustAnchor, TrustMaterialError, UnusableRoot, read_roots,
    roots_from_file,
};
pub use self::bare_key::TrustedKey;
use self::crl::VerifiedCrl;
use self::known_signers::KnownSigners;
pub use self::master_list::{ImportedList, ListOutcome, ListedCertificate, import_master_list};
pub use self::oid::Oid;
#[doc(hidden)]
pub use self::path::is_valid_rfc5280_path;
pub use self::pem::pem_or_der;
pub use self::vical::import_vical;
use crate::ids::{DocType, IssuerId, NameSpace};
use crate::limits::DEFAULT_STATUS_MAX_AGE_DAYS;

/// Every trust entry at one moment. Reloading makes a new one; a session records which decided.
/// It remembers the document signers that it met, in bounded memory: share one, also over threads.
#[derive(Clone, Debug, Default)]
pub struct TrustSnapshot {
    version: u64,
    entries: BTreeMap<IssuerId, TrustEntry>,
    /// Right for as long as the entries cannot change.
    known_signers: Arc<KnownSigners>,
}

impl TrustSnapshot {
    /// A snapshot of `entries`; a later entry of the same name replaces an earlier one.
    pub fn new(version: u64, entries: impl IntoIterator<Item = TrustEntry>) -> Self {
        let entries = entries.into_iter().map(|entry| (entry.issuer_id.clone(), entry)).collect();
        Self { version, entries, known_signers: Arc::default() }
    }

    /// The number its maker gave it.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The entry of that name.
    pub fn entry(&self, issuer_id: &IssuerId) -> Option<&TrustEntry> {
        self.entries.get(issuer_id)
    }

    /// The document signers that `entry` was presented with, if it is one of this snapshot.
    pub(crate) fn known_signers(&self, entry: &TrustEntry) -> Option<&KnownSigners> {
        let own = self.entries.get(&entry.issuer_id);
        own.is_some_and(|own| core::ptr::eq(own, entry)).then_some(&*self.known_signers)
    }

    /// All entries, by name.
    pub fn entries(&self) -> impl Iterator<Item = &TrustEntry> {
        self.entries.values()
    }
}

/// The extended key usage of an mDL document signer (ISO/IEC 18013-5 B.1.4).
const MDL_DOCUMENT_SIGNER: &str = "1.0.18013.5.1.2";

/// One trusted issuer: its keys and what they may attest.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TrustEntry {
    /// The name that requests use.
    pub issuer_id: IssuerId,
    /// The value that `iss` must have when it is present; `None`: not compared.
    pub iss: Option<String>,
    /// Accepted credential types; empty: any type of this issuer.
    pub vct: Vec<String>,
    /// Accepted mdoc document types; empty: whatever the request names.
    pub doc_types: Vec<DocType>,
    /// mdoc namespaces that a request may leave unnamed.
    pub namespaces: Vec<NameSpace>,
    /// The claims that the legacy request form asks for.
    pub default_claims: Vec<String>,
    /// Issuer keys of SD-JWT VC.
    pub keys: Vec<TrustedKey>,
    /// X.509 roots of mdoc document signers.
    pub roots: Vec<TrustAnchor>,
    /// mdoc document signers that are trusted by themselves.
    pub pinned_signers: Vec<PinnedSigner>,
    /// The countries (countryName) whose roots serve this entry; empty: any.
    pub countries: Vec<String>,
    /// The extended key usages that make a document signer.
    pub ekus: Vec<Oid>,
    /// X.509 roots below which status lists may be signed, besides the one that vouched for the
    /// credential; they vouch for nothing else.
    pub status_roots: Vec<TrustAnchor>,
    /// CRLs of its roots that the operator supplied; they replace the fetch.
    pub crls: Vec<VerifiedCrl>,
    /// What to do about revocation.
    pub revocation: RevocationPolicy,
    /// How long a status list token without `exp` counts after its `iat`, in days.
    pub status_max_age_days: u32,
    /// Test-mode sessions take an mDL whose issuing_country is not its signer's, and say so.
    pub issuing_country_unbound: bool,
}

impl TrustEntry {
    /// An entry without material that accepts any type. `iss` is compared when the name is a URL
    /// or a DID.
    pub fn new(issuer_id: IssuerId) -> Self {
        let name = issuer_id.as_str();
        let compared = name.starts_with("did:") || name.contains("://");
        let iss = compared.then(|| String::from(name));
        Self {
            issuer_id,
            iss,
            vct: Vec::new(),
            doc_types: Vec::new(),
            namespaces: Vec::new(),
            default_claims: Vec::new(),
            keys: Vec::new(),
            roots: Vec::new(),
            pinned_signers: Vec::new(),
            countries: Vec::new(),
            ekus: Oid::parse(MDL_DOCUMENT_SIGNER).map_or_else(Vec::new, |eku| vec![eku]),
            status_roots: Vec::new(),
            crls: Vec::new(),
            revocation: RevocationPolicy::default(),
            status_max_age_days: DEFAULT_STATUS_MAX_AGE_DAYS,
            issuing_country_unbound: false,
        }
    }

    /// The keys that serve a session of this mode: test material serves test sessions only.
    pub fn keys_for(&self, livemode: bool) -> impl Iterator<Item = &TrustedKey> {
        self.keys.iter().filter(move |key| !(livemode && key.test_only))
    }

    /// The roots of the entry's countries that serve a session of this mode.
    pub fn roots_for(&self, livemode: bool) -> impl Iterator<Item = &TrustAnchor> {
        let roots = self.roots.iter().filter(move |root| !(livemode && root.test_only));
        roots.filter(|root| self.includes(root.country()))
    }

    /// The pinned document signers that serve a session of this mode.
    pub fn pinned_signers_for(&self, livemode: bool) -> impl Iterator<Item = &PinnedSigner> {
        self.pinned_signers.iter().filter(move |signer| !(livemode && signer.test_only))
    }

    /// The roots for status lists that serve a session of this mode.
    pub fn status_roots_for(&self, livemode: bool) -> impl Iterator<Item = &TrustAnchor> {
        self.status_roots.iter().filter(move |root| !(livemode && root.test_only))
    }

    fn includes(&self, country: Option<&str>) -> bool {
        let is = |own: &String| country.is_some_and(|country| own.eq_ignore_ascii_case(country));
        self.countries.is_empty() || self.countries.iter().any(is)
    }
}

/// What to do about the revocation status of a credential.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RevocationPolicy {
    /// A published status must be checked and good; none published is reported so.
    #[default]
    IfPublished,
    /// A credential that publishes no status is refused.
    Required,
    /// Status is not looked at, and the result says so.
    Off,
}

impl RevocationPolicy {
    /// From its name, as `if_published`.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "if_published" => Some(Self::IfPublished),
            "required" => Some(Self::Required),
            "off" => Some(Self::Off),
            _ => None,
        }
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::IfPublished => "if_published",
            Self::Required => "required",
            Self::Off => "off",
        }
    }
}
