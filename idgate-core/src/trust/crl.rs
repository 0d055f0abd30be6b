//! Certificate revocation lists (RFC 5280 5) in the profile of ISO/IEC 18013-5 Annex B: complete
//! lists of version 2, signed by the issuer of the certificate, which is the root or the last
//! intermediate of an SD-JWT VC's chain. Indirect, delta and partial lists are refused, and so is
//! every list with an unknown critical extension.

mod parse;
#[cfg(all(test, feature = "aws-lc-rs"))]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests;

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

use self::parse::ParsedCrl;
use crate::crypto::{CryptoProvider, HashAlg, HashValue, SignatureAlgorithm};
use crate::error::{Check, Reason, VerifyError};
use crate::limits::MAX_STATUS_BYTES;
use crate::time::UnixMillis;
use crate::trust::anchors::TrustAnchor;
use crate::trust::certificate::{Certificate, is_within};
use crate::trust::names::canonical;
use crate::work;

/// A CRL that cannot be used; the text says why.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct CrlError(pub &'static str);

impl fmt::Display for CrlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the CRL {}", self.0)
    }
}

impl core::error::Error for CrlError {}

impl From<CrlError> for VerifyError {
    fn from(error: CrlError) -> Self {
        Self::new(Reason::RevocationUnknown, Check::SignerStatus, error.0)
    }
}

const OTHER_ISSUER: CrlError = CrlError("has another issuer");

/// A CRL with a verified issuer signature. Whether it is current is checked at every use.
#[derive(Clone)]
pub struct VerifiedCrl {
    issuer: CrlIssuer,
    /// The signer's certificate, in DER. The next CRL has the same signer.
    signed_by: Arc<[u8]>,
    this_update: UnixMillis,
    next_update: UnixMillis,
    /// The distribution points that it applies to; empty: all certificates of the issuer.
    scope: Vec<String>,
    numbered: bool,
    /// Shared, so that a copy is cheap.
    serials: Arc<Serials>,
}

/// The issuer of a CRL, by name and key: a root and its link certificate are one issuer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct CrlIssuer(HashValue);

/// Serial numbers in one buffer, sorted.
#[derive(Clone, Debug, Default)]
struct Serials {
    bytes: Vec<u8>,
    sorted: Vec<Range<u32>>,
}

impl VerifiedCrl {
    /// Parses `der` and verifies that `issuer` signed it (RFC 5280 6.3.3 (f), (g)).
    ///
    /// # Errors
    /// The bytes are not a complete v2 CRL, or not one of this issuer.
    pub(crate) fn verify(
        provider: &CryptoProvider,
        der: &[u8],
        issuer: &Certificate<'_>,
    ) -> Result<Self, CrlError> {
        if der.len() > MAX_STATUS_BYTES {
            return Err(CrlError("is larger than 10 MiB"));
        }
        let parsed = ParsedCrl::parse(der)?;
        check_issuer(&parsed, issuer)?;
        let key =
            issuer.key().map_err(|_| CrlError("has an issuer with a key of an unknown kind"))?;
        SignatureAlgorithm::new(parsed.algorithm, parsed.parameters)
            .and_then(|alg| key.verify(provider, alg, parsed.tbs, parsed.signature).ok())
            .ok_or(CrlError("is not signed by its issuer"))?;
        // An unauthenticated list is read no further than this.
        let revoked = parsed.revoked()?;
        Ok(Self {
            issuer: CrlIssuer::of(provider, issuer)
                .ok_or(CrlError("has an issuer without a name"))?,
            signed_by: Arc::from(issuer.der()),
            this_update: parsed.this_update,
            next_update: parsed.next_update,
            scope: parsed.scope.iter().map(|uri| String::from(*uri)).collect(),
            numbered: parsed.numbered,
            serials: Arc::new(Serials::collect(&revoked)),
        })
    }

    /// Verifies a CRL by the signer of `known`. `None`: it is not one.
    pub(crate) fn verify_later(
        provider: &CryptoProvider,
        der: &[u8],
        known: &Self,
    ) -> Option<Self> {
        let issuer = Certificate::parse(&known.signed_by).ok()?;
        Self::verify(provider, der, &issuer).ok()
    }

    /// Whether it is in force at `now`.
    pub(crate) fn is_current(&self, now: UnixMillis) -> bool {
        is_within(self.this_update, self.next_update, now)
    }

    /// Reads a CRL that the operator supplies for one of `roots`, in DER. An outdated CRL is not
    /// refused here: this is checked at every use.
    ///
    /// # Errors
    /// The bytes are not a complete v2 CRL, or none of the roots signed it.
    pub fn from_der(
        provider: &CryptoProvider,
        der: &[u8],
        roots: &[TrustAnchor],
    ) -> Result<Self, CrlError> {
        let mut refused = CrlError("is for none of the trusted roots: add its root first");
        for root in roots.iter().filter_map(|root| Certificate::parse(root.der()).ok()) {
            match Self::verify(provider, der, &root) {
                Err(error) if error == OTHER_ISSUER => {}
                Err(error) => refused = error,
                found => return found,
            }
        }
        Err(refused)
    }

    /// The time when it was issued.
    pub fn this_update(&self) -> UnixMillis {
        self.this_update
    }

    /// The time when the next one is due: from then on this one is no longer used.
    pub fn next_update(&self) -> UnixMillis {
        self.next_update
    }

    /// The number of certificates that it revokes.
    pub fn revoked_count(&self) -> usize {
        self.serials.sorted.len()
    }

    /// Whether it has a CRLNumber (RFC 5280 5.2.3). Many small CAs omit it, and nothing here
    /// depends on it.
    pub fn is_numbered(&self) -> bool {
        self.numbered
    }

    pub(crate) fn weight(&self) -> usize {
        let spans = self.serials.sorted.len().saturating_mul(size_of::<Range<u32>>());
        let own = self.signed_by.len().saturating_add(self.serials.bytes.len());
        own.saturating_add(spans)
    }

    /// Whether `issuer` signed it.
    pub(crate) fn is_of(&self, issuer: &CrlIssuer) -> bool {
        self.issuer == *issuer
    }

    /// Whether it lists the certificate with this serial number. Whether the CRL is current does
    /// not matter here.
    fn lists(&self, serial: &[u8]) -> bool {
        self.serials.contains(serial)
    }

    /// Checks the certificate with this serial number and these distribution points against the CRL
    /// (RFC 5280 6.3.3). No clock difference is tolerated.
    pub(crate) fn check(
        &self,
        serial: &[u8],
        points: &[Vec<String>],
        now: UnixMillis,
    ) -> Result<(), VerifyError> {
        if now < self.this_update {
            return Err(CrlError("is not yet valid").into());
        }
        if !self.is_current(now) {
            return Err(CrlError("is past its nextUpdate").into());
        }
        if !self.scope.is_empty() && !points.iter().flatten().any(|uri| self.scope.contains(uri)) {
            return Err(CrlError("is for other distribution points").into());
        }
        if self.lists(serial) {
            let detail = "the issuer revoked the certificate that signed the credential";
            return Err(VerifyError::new(Reason::CertificateRevoked, Check::SignerStatus, detail));
        }
        Ok(())
    }
}

/// ISO/IEC 18013-5 Table B.10: name and key identifier are the issuer's, and it may sign CRLs.
fn check_issuer(crl: &ParsedCrl<'_>, issuer: &Certificate<'_>) -> Result<(), CrlError> {
    let subject = canonical(issuer.subject().as_raw());
    if subject.is_none() || canonical(crl.issuer) != subject {
        return Err(OTHER_ISSUER);
    }
    if !issuer.key_usage().is_some_and(|usage| usage.crl_sign()) {
        return Err(CrlError("has an issuer that may not sign CRLs"));
    }
    if issuer.subject_key_identifier().is_some_and(|identifier| identifier != crl.authority_key) {
        return Err(CrlError("has the key identifier of another issuer"));
    }
    Ok(())
}

impl CrlIssuer {
    /// `None`: its subject is not a Name.
    pub(crate) fn of(provider: &CryptoProvider, issuer: &Certificate<'_>) -> Option<Self> {
        let mut name_and_key = canonical(issuer.subject().as_raw())?;
        name_and_key.extend_from_slice(issuer.spki());
        Some(Self(provider.hash(HashAlg::Sha256, &name_and_key)))
    }
}

impl Serials {
    fn collect(serials: &[&[u8]]) -> Self {
        let mut ordered = serials.to_vec();
        ordered.sort_unstable_by(|a, b| {
            work::comparison(a.len().min(b.len()));
            a.cmp(b)
        });
        ordered.dedup();
        let mut all = Self::default();
        for serial in ordered {
            // A CRL is limited to far less than 4 GiB.
            let start = u32::try_from(all.bytes.len()).unwrap_or(u32::MAX);
            all.bytes.extend_from_slice(serial);
            all.sorted.push(start..u32::try_from(all.bytes.len()).unwrap_or(u32::MAX));
        }
        all
    }

    fn contains(&self, serial: &[u8]) -> bool {
        let wanted = crate::codec::der::without_leading_zeros(serial);
        self.sorted.binary_search_by(|span| self.slice(span).cmp(wanted)).is_ok()
    }

    fn slice(&self, span: &Range<u32>) -> &[u8] {
        let at = |n| usize::try_from(n).unwrap_or(usize::MAX);
        self.bytes.get(at(span.start)..at(span.end)).unwrap_or_default()
    }
}

impl fmt::Debug for VerifiedCrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VerifiedCrl")
            .field("this_update", &self.this_update)
            .field("next_update", &self.next_update)
            .field("revoked", &self.revoked_count())
            .finish_non_exhaustive()
    }
}
