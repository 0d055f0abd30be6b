//! The verifier's own certificate, which wallets see in the `x5c` of a Request Object, and the
//! rules that it must meet before use (OpenID4VP 1.0 5.9.3, HAIP 1.0 5).

mod transparency;

#[cfg(all(test, any(feature = "aws-lc-rs", feature = "rustcrypto")))]
#[allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods, // reads test data
)]
mod tests;

use alloc::borrow::Cow;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use x509_parser::extensions::GeneralName;

pub use self::transparency::Transparency;
use super::anchors::TrustMaterialError;
use super::certificate::Certificate;
use super::names::{self, ORGANIZATION_IDENTIFIER, ORGANIZATIONAL_UNIT_NAME};
use super::pem::pem_or_der;
use crate::codec::base64url;
use crate::crypto::{CryptoProvider, Curve, PublicKey};
use crate::limits::MAX_CERTIFICATES;
use crate::time::UnixMillis;

/// A verifier's certificate with the rest of its chain, and their contents.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct VerifierCertificate {
    /// The chain in DER, the verifier's own certificate first: the content of `x5c`.
    pub chain: Vec<Vec<u8>>,
    /// The value after `x509_hash:` in the client identifier: the SHA-256 of the first certificate,
    /// as base64url (OpenID4VP 1.0 5.9.3).
    pub x509_hash: String,
    /// The key of the certificate.
    pub key: PublicKey,
    /// The subject as RFC 4514 text.
    pub subject: String,
    /// The organizationIdentifier of the subject (2.5.4.97), which EU access certificates have.
    pub organization_identifier: Option<String>,
    /// The organizational units of the subject (2.5.4.11), where EU access certificates name the
    /// service.
    pub services: Vec<String>,
    /// Its list of signed certificate timestamps.
    pub transparency: Transparency,
    /// Its dNSNames, in lower case.
    pub dns_names: Vec<String>,
    /// The time from which all certificates of the chain are valid.
    pub valid_from: UnixMillis,
    /// The last second in which every certificate of the chain is valid.
    pub valid_until: UnixMillis,
}

/// The rules for the import of a chain.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::exhaustive_structs)] // callers state every rule
pub struct ImportRules<'a> {
    /// The keys that certificates were requested for.
    pub keys: &'a [PublicKey],
    /// The host that must be among the dNSNames, because it is the client identifier of
    /// `x509_san_dns`.
    pub host: Option<&'a str>,
    /// The current time.
    pub now: UnixMillis,
}

/// An accepted chain.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct ImportedCertificate {
    /// The certificate to use.
    pub certificate: VerifierCertificate,
    /// Whether the file ended with a self-signed certificate. It was removed, because `x5c` never
    /// contains a root (HAIP 1.0 5).
    pub dropped_root: bool,
}

/// The reason why a verifier cannot use a chain. Places count from 1.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum VerifierCertificateError {
    /// The file has no certificates.
    Unreadable(TrustMaterialError),
    /// More than 10 certificates.
    TooMany,
    /// A certificate cannot be read.
    Malformed(usize, &'static str),
    /// The key of the first certificate is not on P-256.
    NotP256,
    /// The first certificate is not for one of the verifier's keys.
    OtherKey,
    /// The first certificate is signed with its own key.
    SelfSigned,
    /// The first certificate is a CA's.
    IsCa,
    /// The key usage of the first certificate lacks digitalSignature.
    KeyUsage,
    /// This host is not among the dNSNames of the first certificate.
    HostMissing(String),
    /// A certificate is not signed by the next, or the next is not a CA's.
    NotSignedByNext(usize),
    /// A certificate is not valid yet.
    NotYetValid(usize, UnixMillis),
    /// A certificate has expired.
    Expired(usize, UnixMillis),
}

use VerifierCertificateError as Refusal;

impl VerifierCertificate {
    /// Reads the chain in `file` (PEM or DER, the verifier's own certificate first), and checks it
    /// for use.
    ///
    /// # Errors
    /// It breaks a rule; see [`VerifierCertificateError`].
    pub fn import(
        provider: &CryptoProvider,
        file: &[u8],
        rules: &ImportRules<'_>,
    ) -> Result<ImportedCertificate, VerifierCertificateError> {
        let blocks = pem_or_der(file, "CERTIFICATE").map_err(Refusal::Unreadable)?;
        if blocks.len() > MAX_CERTIFICATES {
            return Err(Refusal::TooMany);
        }
        let mut chain = parse(&blocks)?;
        let leaf = chain.first().ok_or(Refusal::Malformed(1, "is not there"))?;
        check_leaf(provider, leaf, rules)?;
        let root = match chain.len() {
            1 => None,
            _ => chain.pop_if(|last| is_self_signed(provider, last)),
        };
        check_chain(provider, &chain, root.as_ref())?;
        check_dates(&chain, rules.now)?;
        let certificate = Self::of(provider, &chain)?;
        Ok(ImportedCertificate { certificate, dropped_root: root.is_some() })
    }

    /// Reads a chain in DER that was imported before.
    ///
    /// # Errors
    /// It cannot be read, or its first key is not on P-256. Nothing else is checked again.
    pub fn from_chain(
        provider: &CryptoProvider,
        chain: &[Vec<u8>],
    ) -> Result<Self, VerifierCertificateError> {
        Self::of(provider, &parse(chain)?)
    }

    /// Whether `host` is one of its dNSNames, so that `x509_san_dns:` may name it. A wildcard
    /// matches nothing, because wallets compare for equality.
    pub fn names_host(&self, host: &str) -> bool {
        self.dns_names.iter().any(|name| name.eq_ignore_ascii_case(host))
    }

    /// Whether every certificate of the chain is within its validity period.
    pub fn is_valid_at(&self, now: UnixMillis) -> bool {
        super::certificate::is_within(self.valid_from, self.valid_until, now)
    }

    fn of(provider: &CryptoProvider, chain: &[Certificate<'_>]) -> Result<Self, Refusal> {
        let leaf = chain.first().ok_or(Refusal::Malformed(1, "is not there"))?;
        let subject = leaf.subject().as_raw();
        let identifiers = names::attribute_texts(subject, ORGANIZATION_IDENTIFIER);
        Ok(Self {
            chain: chain.iter().map(|certificate| certificate.der().to_vec()).collect(),
            x509_hash: x509_hash(provider, leaf.der()),
            key: p256_key(leaf)?,
            subject: names::rfc4514(subject),
            organization_identifier: identifiers.first().map(ToString::to_string),
            services: names::attribute_texts(subject, ORGANIZATIONAL_UNIT_NAME)
                .into_iter()
                .map(Cow::into_owned)
                .collect(),
            transparency: Transparency::of(leaf),
            dns_names: dns_names(leaf).map(str::to_ascii_lowercase).collect(),
            valid_from: chain.iter().map(Certificate::not_before).max().unwrap_or_default(),
            valid_until: chain.iter().map(Certificate::not_after).min().unwrap_or_default(),
        })
    }
}

/// The value after `x509_hash:` in the client identifier for this certificate, in DER.
fn x509_hash(provider: &CryptoProvider, leaf: &[u8]) -> String {
    base64url::encode(&provider.sha256(leaf))
}

fn parse(chain: &[Vec<u8>]) -> Result<Vec<Certificate<'_>>, Refusal> {
    let parsed = chain.iter().zip(1..).map(|(der, place)| {
        Certificate::parse(der).map_err(|error| Refusal::Malformed(place, error.why))
    });
    parsed.collect()
}

/// The rules for the verifier's own certificate.
fn check_leaf(
    provider: &CryptoProvider,
    leaf: &Certificate<'_>,
    rules: &ImportRules<'_>,
) -> Result<(), Refusal> {
    if !rules.keys.contains(&p256_key(leaf)?) {
        return Err(Refusal::OtherKey);
    }
    if is_self_signed(provider, leaf) {
        return Err(Refusal::SelfSigned);
    }
    if is_ca(leaf) {
        return Err(Refusal::IsCa);
    }
    if leaf.key_usage().is_some_and(|usage| !usage.digital_signature()) {
        return Err(Refusal::KeyUsage);
    }
    match rules.host {
        Some(host) if !dns_names(leaf).any(|name| name.eq_ignore_ascii_case(host)) => {
            Err(Refusal::HostMissing(host.into()))
        }
        _ => Ok(()),
    }
}

/// Each certificate must be signed by the next, which is a CA, and the last one by the removed
/// root, whatever extensions that has: old roots have none.
fn check_chain(
    provider: &CryptoProvider,
    chain: &[Certificate<'_>],
    root: Option<&Certificate<'_>>,
) -> Result<(), Refusal> {
    for ((certificate, issuer), place) in chain.iter().zip(chain.iter().skip(1)).zip(1..) {
        if !is_ca(issuer) || !certificate.is_signed_by(provider, issuer) {
            return Err(Refusal::NotSignedByNext(place));
        }
    }
    match (chain.last(), root) {
        (Some(last), Some(root)) if !last.is_signed_by(provider, root) => {
            Err(Refusal::NotSignedByNext(chain.len()))
        }
        _ => Ok(()),
    }
}

fn check_dates(chain: &[Certificate<'_>], now: UnixMillis) -> Result<(), Refusal> {
    for (certificate, place) in chain.iter().zip(1..) {
        if now < certificate.not_before() {
            return Err(Refusal::NotYetValid(place, certificate.not_before()));
        }
        if !certificate.is_valid_at(now) {
            return Err(Refusal::Expired(place, certificate.not_after()));
        }
    }
    Ok(())
}

fn p256_key(leaf: &Certificate<'_>) -> Result<PublicKey, Refusal> {
    let key = PublicKey::from_spki_der(leaf.spki()).map_err(|_| Refusal::NotP256)?;
    if key.curve() == Curve::P256 { Ok(key) } else { Err(Refusal::NotP256) }
}

fn is_ca(certificate: &Certificate<'_>) -> bool {
    certificate.basic_constraints().is_some_and(|constraints| constraints.ca)
}

/// A certificate that names itself as its issuer also counts if this library cannot verify its
/// signature, as with SHA-1: `x5c` never contains a root (HAIP 1.0 5).
fn is_self_signed(provider: &CryptoProvider, certificate: &Certificate<'_>) -> bool {
    certificate.is_self_signed(provider)
        || certificate.names_itself_as_issuer() && certificate.signature_algorithm().is_none()
}

fn dns_names<'c>(certificate: &'c Certificate<'_>) -> impl Iterator<Item = &'c str> {
    certificate.subject_alt_names().iter().filter_map(|name| match name {
        GeneralName::DNSName(name) => Some(*name),
        _ => None,
    })
}

impl fmt::Display for VerifierCertificateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(why) => write!(f, "the file {}", why.0),
            Self::TooMany => f.write_str("the file has more than 10 certificates"),
            Self::Malformed(place, why) => write!(f, "certificate {place} {why}"),
            Self::NotP256 => f.write_str(
                "the first certificate's key is not on P-256; have it made from the request",
            ),
            Self::OtherKey => f.write_str(
                "the first certificate is not for any of the signing keys; put the certificate that \
                 was made from the request first",
            ),
            Self::SelfSigned => f.write_str(
                "the first certificate is signed with its own key, and wallets refuse that; have a \
                 CA sign the request",
            ),
            Self::IsCa => f.write_str(
                "the first certificate is a CA's; give the one that was made from the request",
            ),
            Self::KeyUsage => f.write_str(
                "the first certificate's key usage lacks digitalSignature; have it issued with it",
            ),
            Self::HostMissing(host) => write!(
                f,
                "the first certificate has no dNSName {host}, which x509_san_dns names it by; have \
                 it issued with that name"
            ),
            Self::NotSignedByNext(place) => write!(
                f,
                "certificate {place} is not signed by the one after it; give the chain in order, \
                 the verifier's own first, each followed by its CA"
            ),
            Self::NotYetValid(place, from) => {
                write!(
                    f,
                    "certificate {place} is not valid before {from}; wait, or check the clock"
                )
            }
            Self::Expired(place, at) => {
                write!(f, "certificate {place} expired at {at}; have it renewed")
            }
        }
    }
}

impl core::error::Error for VerifierCertificateError {}
