//! One trusted issuer: what vouches for its credentials, and what is done about their status.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::anchors::{PinnedSigner, TrustAnchor};
use super::bare_key::TrustedKey;
use super::crl::VerifiedCrl;
use super::oid::Oid;
use crate::ids::{DocType, IssuerId, NameSpace};
use crate::limits::DEFAULT_STATUS_MAX_AGE_DAYS;

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
    /// X.509 roots of SD-JWT VC issuers, which sign with a key whose certificates stand in `x5c`.
    /// They vouch for no mdoc, and `roots` for no SD-JWT VC.
    pub sd_jwt_roots: Vec<TrustAnchor>,
    /// Certificates of SD-JWT VC issuers that are trusted by themselves.
    pub sd_jwt_signers: Vec<PinnedSigner>,
    /// The countries (countryName) whose roots serve this entry, of either kind; empty: any.
    pub countries: Vec<String>,
    /// The extended key usages that make a document signer.
    pub ekus: Vec<Oid>,
    /// X.509 roots below which status lists may be signed, besides the one that vouched for the
    /// credential; they vouch for nothing else. One that is limited to document types signs lists of
    /// mdocs of these types, and never lists of SD-JWT VCs, which have no document type.
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
            sd_jwt_roots: Vec::new(),
            sd_jwt_signers: Vec::new(),
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

    /// The roots of SD-JWT VC issuers of the entry's countries that serve a session of this mode.
    pub fn sd_jwt_roots_for(&self, livemode: bool) -> impl Iterator<Item = &TrustAnchor> {
        let roots = self.sd_jwt_roots.iter().filter(move |root| !(livemode && root.test_only));
        roots.filter(|root| self.includes(root.country()))
    }

    /// The pinned certificates of SD-JWT VC issuers that serve a session of this mode.
    pub fn sd_jwt_signers_for(&self, livemode: bool) -> impl Iterator<Item = &PinnedSigner> {
        self.sd_jwt_signers.iter().filter(move |signer| !(livemode && signer.test_only))
    }

    /// Whether an SD-JWT VC may be signed by a certificate in a session of this mode: then one with
    /// `x5c` in its header goes by that and by nothing else.
    pub(crate) fn takes_x5c(&self, livemode: bool) -> bool {
        self.sd_jwt_roots_for(livemode).next().is_some()
            || self.sd_jwt_signers_for(livemode).next().is_some()
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
