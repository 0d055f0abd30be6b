//! The operator's choice of who may sign a trusted list: CAs, whose certificates are signers, and
//! signers themselves, as the Official Journal names them.

use alloc::string::String;
use alloc::vec::Vec;

use super::error::{TrustedListError, not_authentic, unknown_signer};
use crate::crypto::CryptoProvider;
use crate::error::Reason;
use crate::time::UnixMillis;
use crate::trust::anchors::{RootOrigin, TrustAnchor, TrustMaterialError};
use crate::trust::certificate::Certificate;
use crate::trust::crl::{CrlIssuer, VerifiedCrl};
use crate::trust::names::{self, COUNTRY_NAME, ORGANIZATION_NAME};
use crate::trust::path::crl_distribution_points;
use crate::trust::path::search::{Failure, Search};
use crate::trust::pem::pem_or_der;
use crate::trust::profile;

/// The anchors for the signer of a trusted list.
#[derive(Clone, Debug, Default)]
pub struct ListAnchors {
    cas: Vec<TrustAnchor>,
    signers: Vec<Vec<u8>>,
}

impl ListAnchors {
    /// Reads a file of certificates, PEM or DER, one or many. A CA is an anchor for signers below
    /// it; any other certificate is a signer itself.
    ///
    /// # Errors
    /// The file has no certificate, or has one that can be neither.
    pub fn from_file(provider: &CryptoProvider, file: &[u8]) -> Result<Self, TrustMaterialError> {
        let mut anchors = Self::default();
        for der in pem_or_der(file, "CERTIFICATE")? {
            let certificate = Certificate::parse(&der)?;
            if is_ca(&certificate) {
                let ca = TrustAnchor::from_der(provider, &der, RootOrigin::RootFile)?;
                anchors.cas.push(ca);
            } else {
                certificate.key()?;
                anchors.signers.push(der);
            }
        }
        Ok(anchors)
    }

    /// The certificates in DER.
    pub fn certificates(&self) -> impl Iterator<Item = &[u8]> {
        self.cas.iter().map(TrustAnchor::der).chain(self.signers.iter().map(Vec::as_slice))
    }

    /// The end of validity of each certificate, with its subject (RFC 4514).
    pub fn ends(&self) -> impl Iterator<Item = (String, UnixMillis)> {
        let cas = self.cas.iter().map(|ca| (String::from(ca.subject()), ca.not_after()));
        let signers = self.signers.iter().filter_map(|der| Certificate::parse(der).ok());
        cas.chain(signers.map(|one| (names::rfc4514(one.subject().as_raw()), one.not_after())))
    }

    /// The CAs, which also sign CRLs.
    pub fn cas(&self) -> &[TrustAnchor] {
        &self.cas
    }
}

/// Why a signer was accepted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum VouchedBy {
    /// It is an anchor.
    Itself,
    /// It is below a CA, which has other customers as well.
    Ca,
    /// No reason: the list is for tests.
    Nobody,
}

/// Whether `signer` may sign lists at `at` (ETSI TS 119 602 6.8.0): it is an anchor, or is below
/// one with at most one of `others` between them.
pub(super) fn authenticate(
    provider: &CryptoProvider,
    signer: &Certificate<'_>,
    others: &[Certificate<'_>],
    anchors: &ListAnchors,
    crls: &[VerifiedCrl],
    (at, now): (UnixMillis, UnixMillis),
) -> Result<VouchedBy, TrustedListError> {
    if is_ca(signer) {
        return Err(not_authentic("has a signer that is a CA, and CAs sign no lists"));
    }
    let signs = |usage: &x509_parser::extensions::KeyUsage| {
        usage.digital_signature() || usage.non_repudiation()
    };
    if !signer.key_usage().is_none_or(signs) {
        return Err(not_authentic("has a signer whose key is not for signing"));
    }
    if anchors.signers.iter().any(|own| own == signer.der()) {
        return match signer.is_valid_at(at) {
            true => Ok(VouchedBy::Itself),
            false => Err(not_authentic(OUTSIDE_DATES)),
        };
    }
    let cas: Vec<&TrustAnchor> = anchors.cas.iter().collect();
    let path = Search::new(provider, others, &cas, at).path(signer, 1);
    let path = path.map_err(|failure| match failure {
        Failure::Expired(_) => not_authentic(OUTSIDE_DATES),
        Failure::Exhausted(_) => not_authentic("needs more signature checks than allowed"),
        Failure::Invalid(_) => unknown_signer(),
    })?;
    profile::check_below_root(signer)
        .map_err(|why| not_authentic(["has a signer that ", why].concat()))?;
    let check = |who: &str, certificate: &Certificate<'_>, issuer: &[u8]| {
        check_crls(provider, (certificate, issuer), crls, now)
            .map_err(|why| not_authentic(["has a signer ", who, why].concat()))
    };
    for (ca, issuer) in path.intermediates() {
        check("below a CA ", ca, &issuer)?;
    }
    check("", signer, &path.issuer_der())?;
    Ok(VouchedBy::Ca)
}

/// Each CRL by the `issuer` of a certificate must be current and must not revoke it.
fn check_crls(
    provider: &CryptoProvider,
    (certificate, issuer): (&Certificate<'_>, &[u8]),
    crls: &[VerifiedCrl],
    now: UnixMillis,
) -> Result<(), &'static str> {
    let issuer = Certificate::parse(issuer).ok();
    let issuer = issuer.and_then(|issuer| CrlIssuer::of(provider, &issuer));
    let points = crl_distribution_points(certificate);
    let mut own = crls.iter().filter(|crl| issuer.is_some_and(|issuer| crl.is_of(&issuer)));
    let checked = own.try_for_each(|crl| crl.check(certificate.serial(), &points, now));
    checked.map_err(|error| match error.reason {
        Reason::CertificateRevoked => "that is revoked",
        _ => "of whose issuer no current CRL is known",
    })
}

const OUTSIDE_DATES: &str = "is signed with a certificate outside its validity period";

/// Whether a certificate claims to be a CA's.
pub(super) fn is_ca(certificate: &Certificate<'_>) -> bool {
    certificate.basic_constraints().is_some_and(|constraints| constraints.ca)
}

/// organizationName of a subject.
pub(super) fn organizations(certificate: &Certificate<'_>) -> Vec<String> {
    texts(certificate, ORGANIZATION_NAME)
}

/// countryName of a subject.
pub(super) fn countries(certificate: &Certificate<'_>) -> Vec<String> {
    texts(certificate, COUNTRY_NAME)
}

fn texts(certificate: &Certificate<'_>, oid: &[u8]) -> Vec<String> {
    let texts = names::attribute_texts(certificate.subject().as_raw(), oid);
    texts.into_iter().map(alloc::borrow::Cow::into_owned).collect()
}
