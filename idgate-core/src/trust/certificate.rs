//! A certificate as received (RFC 5280 4.1). It keeps the signed bytes and reads the extensions
//! that matter. It accepts the DER deviations of real master lists, and verifies nothing.

mod bounds;

use alloc::vec::Vec;
use core::fmt;

use x509_parser::certificate::{X509Certificate, X509CertificateParser};
use x509_parser::extensions::{
    AuthorityKeyIdentifier, BasicConstraints, CRLDistributionPoint, GeneralName, KeyUsage,
    ParsedExtension, X509Extension,
};
use x509_parser::nom::Parser as _;
use x509_parser::oid_registry::{
    OID_X509_EXT_AUTHORITY_KEY_IDENTIFIER, OID_X509_EXT_BASIC_CONSTRAINTS,
    OID_X509_EXT_CRL_DISTRIBUTION_POINTS, OID_X509_EXT_EXTENDED_KEY_USAGE,
    OID_X509_EXT_ISSUER_ALT_NAME, OID_X509_EXT_KEY_USAGE, OID_X509_EXT_SUBJECT_ALT_NAME,
    OID_X509_EXT_SUBJECT_KEY_IDENTIFIER, Oid,
};
use x509_parser::time::ASN1Time;
use x509_parser::x509::X509Name;

use super::names;
use crate::codec::der::{self, Reader};
use crate::crypto::{CryptoProvider, InvalidSignature, IssuerKey, SignatureAlgorithm, UnusableKey};
use crate::limits::MAX_CERTIFICATE_BYTES;
use crate::time::UnixMillis;
use crate::work;

/// The bytes are not a certificate, or exceed its limits.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct CertificateError {
    /// The fault.
    pub(crate) why: &'static str,
    /// Whether a limit is exceeded.
    pub(crate) is_limit: bool,
}

impl CertificateError {
    const fn malformed(why: &'static str) -> Self {
        Self { why, is_limit: false }
    }

    const fn limit(why: &'static str) -> Self {
        Self { why, is_limit: true }
    }
}

impl fmt::Display for CertificateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the certificate {}", self.why)
    }
}

const NOT_A_CERTIFICATE: CertificateError =
    CertificateError::malformed("is not an X.509 certificate in DER");
const TRAILING: CertificateError = CertificateError::malformed("is followed by other bytes");
const REPEATED: CertificateError = CertificateError::malformed("has a duplicate extension");
const TOO_LARGE: CertificateError = CertificateError::limit("is larger than 16 KiB");

/// One parsed certificate.
#[derive(Clone, Debug)]
pub(crate) struct Certificate<'a> {
    der: &'a [u8],
    /// The signed part.
    tbs: &'a [u8],
    /// The AlgorithmIdentifier outside the signed part.
    algorithm: &'a [u8],
    /// The content of the signature's BIT STRING.
    signature: &'a [u8],
    parsed: X509Certificate<'a>,
}

impl<'a> Certificate<'a> {
    /// Reads exactly one certificate in DER.
    ///
    /// # Errors
    /// The bytes are not a certificate, or bytes follow it; it exceeds a limit, or has a repeated
    /// extension (RFC 5280 4.2).
    pub(crate) fn parse(der: &'a [u8]) -> Result<Self, CertificateError> {
        if der.len() > MAX_CERTIFICATE_BYTES {
            return Err(TOO_LARGE);
        }
        work::steps(der.len());
        let [tbs, algorithm, signature] = parts(der)?;
        bounds::check(tbs).ok_or(NOT_A_CERTIFICATE)??;
        let (rest, parsed) =
            X509CertificateParser::new().parse(der).map_err(|_| NOT_A_CERTIFICATE)?;
        if !rest.is_empty() {
            return Err(TRAILING);
        }
        if has_repeated(parsed.extensions()) {
            return Err(REPEATED);
        }
        Ok(Self { der, tbs, algorithm, signature, parsed })
    }

    /// The whole certificate as received.
    pub(crate) fn der(&self) -> &'a [u8] {
        self.der
    }

    /// Its issuer.
    pub(crate) fn issuer(&self) -> &X509Name<'a> {
        &self.parsed.tbs_certificate.issuer
    }

    /// Its subject.
    pub(crate) fn subject(&self) -> &X509Name<'a> {
        &self.parsed.tbs_certificate.subject
    }

    /// The content bytes of the serial number, as received.
    pub(crate) fn serial(&self) -> &[u8] {
        self.parsed.tbs_certificate.raw_serial()
    }

    /// The version field: 2 means v3.
    pub(crate) fn version(&self) -> u32 {
        self.parsed.tbs_certificate.version.0
    }

    /// The start of its validity.
    pub(crate) fn not_before(&self) -> UnixMillis {
        millis(self.parsed.validity().not_before)
    }

    /// The last whole second of its validity.
    pub(crate) fn not_after(&self) -> UnixMillis {
        millis(self.parsed.validity().not_after)
    }

    /// Whether `now` is within its validity period (RFC 5280 4.1.2.5), which includes the first and
    /// the last second.
    pub(crate) fn is_valid_at(&self, now: UnixMillis) -> bool {
        is_within(self.not_before(), self.not_after(), now)
    }

    /// SubjectPublicKeyInfo in DER, as received.
    pub(crate) fn spki(&self) -> &'a [u8] {
        self.parsed.tbs_certificate.subject_pki.raw
    }

    /// The bits of the subject's public key, without the BIT STRING's header.
    pub(crate) fn key_bits(&self) -> &[u8] {
        &self.parsed.tbs_certificate.subject_pki.subject_public_key.data
    }

    /// The subject's public key.
    ///
    /// # Errors
    /// The kind or curve of the key is not supported.
    pub(crate) fn key(&self) -> Result<IssuerKey, UnusableKey> {
        IssuerKey::from_spki(self.spki())
    }

    /// Verifies that `issuer_key` signed it. The algorithm inside the signed part must equal the
    /// one outside (RFC 5280 4.1.1.2).
    ///
    /// # Errors
    /// The signature does not verify, or its algorithm is not accepted.
    pub(crate) fn verify(
        &self,
        provider: &CryptoProvider,
        issuer_key: &IssuerKey,
    ) -> Result<(), InvalidSignature> {
        if inner_algorithm(self.tbs) != Some(self.algorithm) {
            return Err(InvalidSignature);
        }
        let algorithm = self.signature_algorithm().ok_or(InvalidSignature)?;
        let signature = der::whole_bytes(self.signature).ok_or(InvalidSignature)?;
        issuer_key.verify(provider, algorithm, self.tbs, signature)
    }

    /// Whether issuer and subject are equal, compared as RFC 5280 7.1 requires.
    pub(crate) fn names_itself_as_issuer(&self) -> bool {
        self.is_named_as_issued_by(self)
    }

    /// Whether it is self-issued and its own key signed it. This costs a signature check with a key
    /// that the certificate itself brings: call it only after a path to a root is found, or for
    /// your own material.
    pub(crate) fn is_self_signed(&self, provider: &CryptoProvider) -> bool {
        self.is_signed_by(provider, self)
    }

    /// Whether `issuer` has the name of its issuer, and its key signed it.
    pub(crate) fn is_signed_by(&self, provider: &CryptoProvider, issuer: &Certificate<'_>) -> bool {
        self.is_named_as_issued_by(issuer)
            && issuer.key().is_ok_and(|key| self.verify(provider, &key).is_ok())
    }

    fn is_named_as_issued_by(&self, issuer: &Certificate<'_>) -> bool {
        let named = names::canonical(self.issuer().as_raw());
        named.is_some() && named == names::canonical(issuer.subject().as_raw())
    }

    /// The algorithm of its signature, if it is accepted.
    pub(crate) fn signature_algorithm(&self) -> Option<SignatureAlgorithm> {
        SignatureAlgorithm::from_identifier(self.algorithm)
    }

    /// Every extension, in order.
    pub(crate) fn extensions(&self) -> &[X509Extension<'a>] {
        self.parsed.extensions()
    }

    /// The extension of that type.
    pub(crate) fn extension(&self, oid: &Oid<'_>) -> Option<&X509Extension<'a>> {
        self.extensions().iter().find(|extension| extension.oid == *oid)
    }

    /// Basic constraints, if present and readable.
    pub(crate) fn basic_constraints(&self) -> Option<&BasicConstraints> {
        match self.parsed_extension(&OID_X509_EXT_BASIC_CONSTRAINTS)? {
            ParsedExtension::BasicConstraints(constraints) => Some(constraints),
            _ => None,
        }
    }

    /// Key usage, if present and readable.
    pub(crate) fn key_usage(&self) -> Option<&KeyUsage> {
        match self.parsed_extension(&OID_X509_EXT_KEY_USAGE)? {
            ParsedExtension::KeyUsage(usage) => Some(usage),
            _ => None,
        }
    }

    /// The content bytes of every extended key usage, if the extension is present and readable.
    pub(crate) fn extended_key_usages(&self) -> Option<Vec<&'a [u8]>> {
        let value = self.extension(&OID_X509_EXT_EXTENDED_KEY_USAGE)?.value;
        let mut usages = Reader::within(value, der::SEQUENCE)?;
        let mut oids = Vec::new();
        while !usages.is_empty() {
            oids.push(usages.element(der::OID)?.content);
        }
        Some(oids)
    }

    /// The subject key identifier.
    pub(crate) fn subject_key_identifier(&self) -> Option<&'a [u8]> {
        match self.parsed_extension(&OID_X509_EXT_SUBJECT_KEY_IDENTIFIER)? {
            ParsedExtension::SubjectKeyIdentifier(identifier) => Some(identifier.0),
            _ => None,
        }
    }

    /// The key identifier inside the authority key identifier.
    pub(crate) fn authority_key_identifier(&self) -> Option<&'a [u8]> {
        match self.parsed_extension(&OID_X509_EXT_AUTHORITY_KEY_IDENTIFIER)? {
            ParsedExtension::AuthorityKeyIdentifier(AuthorityKeyIdentifier {
                key_identifier,
                ..
            }) => key_identifier.as_ref().map(|identifier| identifier.0),
            _ => None,
        }
    }

    /// The issuer's alternative names; empty without the extension.
    pub(crate) fn issuer_alt_names(&self) -> &[GeneralName<'a>] {
        match self.parsed_extension(&OID_X509_EXT_ISSUER_ALT_NAME) {
            Some(ParsedExtension::IssuerAlternativeName(names)) => &names.general_names,
            _ => &[],
        }
    }

    /// Whether it has a non-critical issuerAltName that cannot be read. Nothing depends on its
    /// content.
    pub(crate) fn has_unreadable_issuer_alt_name(&self) -> bool {
        self.extension(&OID_X509_EXT_ISSUER_ALT_NAME).is_some_and(|extension| {
            !extension.critical && extension.parsed_extension().error().is_some()
        })
    }

    /// The subject's alternative names; empty without the extension.
    pub(crate) fn subject_alt_names(&self) -> &[GeneralName<'a>] {
        match self.parsed_extension(&OID_X509_EXT_SUBJECT_ALT_NAME) {
            Some(ParsedExtension::SubjectAlternativeName(names)) => &names.general_names,
            _ => &[],
        }
    }

    /// The CRL distribution points; empty without the extension.
    pub(crate) fn crl_distribution_points(&self) -> &[CRLDistributionPoint<'a>] {
        match self.parsed_extension(&OID_X509_EXT_CRL_DISTRIBUTION_POINTS) {
            Some(ParsedExtension::CRLDistributionPoints(points)) => &points.points,
            _ => &[],
        }
    }

    fn parsed_extension(&self, oid: &Oid<'_>) -> Option<&ParsedExtension<'a>> {
        self.extension(oid).map(X509Extension::parsed_extension)
    }
}

/// Whether `now` is within the validity period; the whole second of `not_after` is included.
pub(crate) fn is_within(not_before: UnixMillis, not_after: UnixMillis, now: UnixMillis) -> bool {
    not_before <= now && now <= not_after.plus(999)
}

/// TBSCertificate and AlgorithmIdentifier as they are, and the signature's content.
fn parts(der: &[u8]) -> Result<[&[u8]; 3], CertificateError> {
    let mut outer = Reader::new(der);
    let mut fields = outer.enter(der::SEQUENCE).ok_or(NOT_A_CERTIFICATE)?;
    if !outer.is_empty() {
        return Err(TRAILING);
    }
    let mut field = |tag| fields.element(tag).ok_or(NOT_A_CERTIFICATE);
    let (tbs, algorithm) = (field(der::SEQUENCE)?.raw, field(der::SEQUENCE)?.raw);
    let signature = field(der::BIT_STRING)?.content;
    if fields.is_empty() { Ok([tbs, algorithm, signature]) } else { Err(NOT_A_CERTIFICATE) }
}

/// The AlgorithmIdentifier inside TBSCertificate: after version and serial number.
fn inner_algorithm(tbs: &[u8]) -> Option<&[u8]> {
    let mut reader = Reader::within(tbs, der::SEQUENCE)?;
    reader.optional(der::context(0));
    reader.element(der::INTEGER)?;
    Some(reader.element(der::SEQUENCE)?.raw)
}

/// Compares each with each other: there are at most 32.
fn has_repeated(extensions: &[X509Extension<'_>]) -> bool {
    let mut rest = extensions;
    while let Some((first, after)) = rest.split_first() {
        if after.iter().any(|other| other.oid == first.oid) {
            return true;
        }
        rest = after;
    }
    false
}

/// Times before 1970 have all long passed, so they become 0.
fn millis(time: ASN1Time) -> UnixMillis {
    u64::try_from(time.timestamp()).map_or(UnixMillis(0), UnixMillis::from_secs)
}
