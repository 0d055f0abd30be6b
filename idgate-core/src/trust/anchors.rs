//! X.509 roots, identified by their raw DER, and the errors for material that cannot be a root.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use super::certificate::{Certificate, CertificateError, is_within};
use super::listing::{Listing, OfList, TrustServiceProvider};
use super::names::{self, COUNTRY_NAME, STATE_OR_PROVINCE_NAME};
use super::profile;
use super::sample_mark;
use crate::crypto::{CryptoProvider, IssuerKey, UnusableKey};
use crate::ids::DocType;
use crate::time::UnixMillis;

/// Trust material that cannot be used; the text says why.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct TrustMaterialError(pub Cow<'static, str>);

impl fmt::Display for TrustMaterialError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the trust material {}", self.0)
    }
}

impl core::error::Error for TrustMaterialError {}

impl From<CertificateError> for TrustMaterialError {
    fn from(error: CertificateError) -> Self {
        Self(error.why.into())
    }
}

impl From<UnusableKey> for TrustMaterialError {
    fn from(error: UnusableKey) -> Self {
        Self(format!("has a key that {}", error.0).into())
    }
}

/// The source of a root.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum RootOrigin {
    /// An ICAO Master List (Doc 9303-12).
    MasterList,
    /// A VICAL (ISO/IEC 18013-5 annex C).
    Vical,
    /// A root file that the operator named.
    RootFile,
    /// A European trusted list (ETSI TS 119 602).
    TrustedList,
}

impl RootOrigin {
    /// Returns the name, for example `master_list`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::MasterList => "master_list",
            Self::Vical => "vical",
            Self::RootFile => "root_file",
            Self::TrustedList => "trusted_list",
        }
    }
}

/// An X.509 root that the operator trusts. Its name, key, validity period and pathLenConstraint are
/// used. Its own signature is never checked, so link certificates work as well.
#[derive(Clone)]
#[non_exhaustive]
pub struct TrustAnchor {
    root: Arc<Root>,
    /// The source of the root.
    pub origin: RootOrigin,
    /// Whether the root is for test-mode sessions only.
    pub test_only: bool,
    /// The document types that it may sign for; empty: any.
    pub doc_types: Vec<DocType>,
    /// The trusted list's statements about the root.
    pub(super) of_list: OfList,
}

struct Root {
    der: Arc<[u8]>,
    sha256: [u8; 32],
    /// The name in a form in which equal names are equal bytes.
    name: Vec<u8>,
    subject: String,
    country: Option<String>,
    state_or_province: Option<String>,
    key: IssuerKey,
    key_identifier: Option<Vec<u8>>,
    /// pathLenConstraint
    path_len: Option<usize>,
    not_before: UnixMillis,
    not_after: UnixMillis,
    is_sample: bool,
    has_unreadable_issuer_alt_name: bool,
}

impl TrustAnchor {
    /// Reads a certificate in DER. The validity period is not checked here: an expired root can be
    /// read, but nothing is trusted through it.
    ///
    /// # Errors
    /// The bytes are not a certificate, the key is of an unsupported kind, or it is not a CA that
    /// signs certificates (RFC 5280 4.2.1.3, 4.2.1.9).
    pub fn from_der(
        provider: &CryptoProvider,
        der: &[u8],
        origin: RootOrigin,
    ) -> Result<Self, TrustMaterialError> {
        let certificate = Certificate::parse(der)?;
        let key = certificate.key()?;
        profile::check_root(&certificate).map_err(|why| TrustMaterialError(why.into()))?;
        let subject = certificate.subject().as_raw();
        let name = names::canonical(subject);
        let root = Root {
            der: der.into(),
            sha256: provider.sha256(der),
            name: name.ok_or(TrustMaterialError("has a subject that is not a name".into()))?,
            subject: names::rfc4514(subject),
            country: first(subject, COUNTRY_NAME),
            state_or_province: first(subject, STATE_OR_PROVINCE_NAME),
            key,
            key_identifier: certificate.subject_key_identifier().map(Vec::from),
            path_len: profile::path_len(&certificate),
            not_before: certificate.not_before(),
            not_after: certificate.not_after(),
            is_sample: sample_mark::is_sample(&certificate),
            has_unreadable_issuer_alt_name: certificate.has_unreadable_issuer_alt_name(),
        };
        let (doc_types, of_list) = (Vec::new(), OfList::default());
        Ok(Self { root: Arc::new(root), origin, test_only: false, doc_types, of_list })
    }

    /// Restricts the root to test-mode sessions.
    #[must_use]
    pub fn for_test_only(mut self) -> Self {
        self.test_only = true;
        self
    }

    /// Restricts the root to these document types; none: any.
    #[must_use]
    pub fn with_doc_types(mut self, doc_types: impl IntoIterator<Item = DocType>) -> Self {
        self.doc_types = doc_types.into_iter().collect();
        self
    }

    /// Whether the certificate policies mark it as a root of a sandbox's samples.
    pub fn is_sample(&self) -> bool {
        self.root.is_sample
    }

    /// Whether it has a non-critical issuerAltName (2.5.29.18) that cannot be read. The extension
    /// is ignored.
    pub fn has_unreadable_issuer_alt_name(&self) -> bool {
        self.root.has_unreadable_issuer_alt_name
    }

    /// Whether a signer below it may have such an extension.
    pub(super) fn tolerates_unreadable_issuer_alt_name(&self) -> bool {
        self.test_only || self.listing().is_some()
    }

    /// Whether it may be used in a session of this mode: test material and samples are for test
    /// sessions only.
    pub(super) fn serves_mode(&self, livemode: bool) -> bool {
        !(livemode && (self.test_only || self.is_sample()))
    }

    /// The trusted list's statements about the root.
    pub(crate) fn listing(&self) -> Option<&Listing> {
        self.of_list.get()
    }

    /// The providers that a trusted list names for the root; none if it has another source.
    pub fn providers(&self) -> impl Iterator<Item = &TrustServiceProvider> {
        self.of_list.providers()
    }

    /// Whether the list that names it is in force for it at `now`; always true for other sources.
    pub fn is_in_force(&self, now: UnixMillis) -> bool {
        self.of_list.is_in_force(now)
    }

    /// The certificate as received.
    pub fn der(&self) -> &[u8] {
        &self.root.der
    }

    /// SHA-256 of the certificate.
    pub fn sha256(&self) -> [u8; 32] {
        self.root.sha256
    }

    /// The subject as RFC 4514 text.
    pub fn subject(&self) -> &str {
        &self.root.subject
    }

    /// countryName of the subject.
    pub fn country(&self) -> Option<&str> {
        self.root.country.as_deref()
    }

    /// The octets of its subjectKeyIdentifier.
    pub fn key_identifier(&self) -> Option<&[u8]> {
        self.root.key_identifier.as_deref()
    }

    /// The kind of its key, for example `P-256` or `RSA 4096`.
    pub fn key_kind(&self) -> String {
        self.root.key.kind()
    }

    /// The start of its validity.
    pub fn not_before(&self) -> UnixMillis {
        self.root.not_before
    }

    /// The last second of its validity.
    pub fn not_after(&self) -> UnixMillis {
        self.root.not_after
    }

    /// Whether `now` is within its validity period.
    pub fn is_valid_at(&self, now: UnixMillis) -> bool {
        is_within(self.root.not_before, self.root.not_after, now)
    }

    /// Whether it may sign for this document type.
    pub fn serves(&self, doc_type: &str) -> bool {
        self.doc_types.is_empty() || self.doc_types.iter().any(|own| own.as_str() == doc_type)
    }

    pub(crate) fn shared_der(&self) -> Arc<[u8]> {
        Arc::clone(&self.root.der)
    }

    pub(super) fn name(&self) -> &[u8] {
        &self.root.name
    }

    pub(super) fn key(&self) -> &IssuerKey {
        &self.root.key
    }

    /// Whether its pathLenConstraint allows this many CAs below it (RFC 5280 4.2.1.9).
    pub(super) fn allows_below(&self, cas: usize) -> bool {
        self.root.path_len.is_none_or(|path_len| cas <= path_len)
    }

    pub(super) fn state_or_province(&self) -> Option<&str> {
        self.root.state_or_province.as_deref()
    }
}

impl fmt::Debug for TrustAnchor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TrustAnchor({}, {})", self.subject(), self.key_kind())
    }
}

fn first(name: &[u8], oid: &[u8]) -> Option<String> {
    names::attribute_texts(name, oid).into_iter().next().map(Cow::into_owned)
}
