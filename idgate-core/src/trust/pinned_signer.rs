//! Signers that are trusted without a root, identified by their raw DER.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use super::anchors::TrustMaterialError;
use super::certificate::Certificate;
use super::listing::{Listing, OfList, TrustServiceProvider};
use super::{names, sample_mark};
use crate::crypto::{Alg, CryptoProvider};
use crate::ids::DocType;
use crate::time::UnixMillis;

/// A document signer that the operator trusts without a root: exactly this certificate.
#[derive(Clone)]
#[non_exhaustive]
pub struct PinnedSigner {
    der: Arc<[u8]>,
    sha256: [u8; 32],
    subject: String,
    alg: Alg,
    not_after: UnixMillis,
    is_sample: bool,
    has_unreadable_issuer_alt_name: bool,
    /// Whether it is for test-mode sessions only.
    pub test_only: bool,
    /// The document types that it may sign for; empty: any.
    pub(super) doc_types: Vec<DocType>,
    /// The trusted list's statements about the signer.
    pub(super) of_list: OfList,
}

impl PinnedSigner {
    /// Reads a certificate in DER.
    ///
    /// # Errors
    /// The bytes are not a certificate, or the key is not on P-256, P-384 or P-521.
    pub fn from_der(provider: &CryptoProvider, der: &[u8]) -> Result<Self, TrustMaterialError> {
        let certificate = Certificate::parse(der)?;
        let key = certificate.key()?;
        let why = "has a key that is not on P-256, P-384 or P-521";
        let alg = key.nist().ok_or(TrustMaterialError(why.into()))?.alg();
        let subject = names::rfc4514(certificate.subject().as_raw());
        Ok(Self {
            der: der.into(),
            sha256: provider.sha256(der),
            subject,
            alg,
            not_after: certificate.not_after(),
            is_sample: sample_mark::is_sample(&certificate),
            has_unreadable_issuer_alt_name: certificate.has_unreadable_issuer_alt_name(),
            test_only: false,
            doc_types: Vec::new(),
            of_list: OfList::default(),
        })
    }

    /// Restricts the signer to test-mode sessions.
    #[must_use]
    pub fn for_test_only(mut self) -> Self {
        self.test_only = true;
        self
    }

    /// The certificate as received.
    pub fn der(&self) -> &[u8] {
        &self.der
    }

    pub(super) fn shared_der(&self) -> Arc<[u8]> {
        Arc::clone(&self.der)
    }

    /// SHA-256 of the certificate.
    pub fn sha256(&self) -> [u8; 32] {
        self.sha256
    }

    /// The subject as RFC 4514 text.
    pub fn subject(&self) -> &str {
        &self.subject
    }

    /// The algorithm of its key.
    pub fn alg(&self) -> Alg {
        self.alg
    }

    /// The last second of its validity.
    pub fn not_after(&self) -> UnixMillis {
        self.not_after
    }

    /// Whether the certificate policies mark it as a signer of a sandbox's samples.
    pub fn is_sample(&self) -> bool {
        self.is_sample
    }

    /// Whether it has a non-critical issuerAltName (2.5.29.18) that cannot be read. The extension
    /// counts as absent.
    pub fn has_unreadable_issuer_alt_name(&self) -> bool {
        self.has_unreadable_issuer_alt_name
    }

    /// Whether it may be used in a session of this mode: test material and samples are for test
    /// sessions only.
    pub(super) fn serves_mode(&self, livemode: bool) -> bool {
        !(livemode && (self.test_only || self.is_sample))
    }

    /// The trusted list's statements about the signer.
    pub(crate) fn listing(&self) -> Option<&Listing> {
        self.of_list.get()
    }

    /// Whether a trusted list names it, which is an authenticated source, and not only the
    /// operator.
    pub fn is_listed(&self) -> bool {
        self.listing().is_some()
    }

    /// The providers that a trusted list names for the signer; none if it has another source.
    pub fn providers(&self) -> impl Iterator<Item = &TrustServiceProvider> {
        self.of_list.providers()
    }

    /// Whether the list that names it is in force for it at `now`; always true for other sources.
    pub fn is_in_force(&self, now: UnixMillis) -> bool {
        self.of_list.is_in_force(now)
    }

    /// Whether it may sign for this document type.
    pub fn serves(&self, doc_type: &str) -> bool {
        self.doc_types.is_empty() || self.doc_types.iter().any(|own| own.as_str() == doc_type)
    }
}

impl fmt::Debug for PinnedSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PinnedSigner({})", self.subject)
    }
}
