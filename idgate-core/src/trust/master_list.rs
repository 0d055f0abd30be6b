//! ICAO Master Lists (Doc 9303-12): CMS SignedData (RFC 5652) around a SET of certificates. The
//! list is authenticated as a whole. Then each certificate is imported by its raw DER; an unusable
//! one is reported, and the others are imported.

mod cms;
#[cfg(all(test, any(feature = "aws-lc-rs", feature = "rustcrypto")))]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::disallowed_methods)]
mod tests;

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Serialize, Serializer};

use self::cms::SignedData;
use super::anchors::{RootOrigin, TrustAnchor, TrustMaterialError};
use super::certificate::{Certificate, is_within};
use super::names::{self, COUNTRY_NAME};
use super::path::authenticate_list_signer;
use crate::codec::der::{self, Reader};
use crate::codec::hex;
use crate::crypto::CryptoProvider;
use crate::limits::MAX_LISTED_CERTIFICATES;
use crate::time::UnixMillis;

/// 2.23.136.1.1.2
const MASTER_LIST: &[u8] = b"\x67\x81\x08\x01\x01\x02";
/// 2.23.136.1.1.3
const MASTER_LIST_SIGNER: &[u8] = b"\x67\x81\x08\x01\x01\x03";

/// The roots of a list, and the outcome for each certificate in it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ImportedList {
    /// Every usable certificate, including expired ones: they are known, but nothing is trusted
    /// through them.
    pub roots: Vec<TrustAnchor>,
    /// Every certificate, in the order of the list.
    pub certificates: Vec<ListedCertificate>,
    /// When the list was signed, according to its signer.
    pub signed_at: Option<UnixMillis>,
    /// When a newer list is due, if the list says so.
    pub next_update: Option<UnixMillis>,
    /// Whether the signer is below a CA that the operator named. If not, anyone may have made the
    /// list.
    pub signer_is_known: bool,
}

/// One certificate of a list. The members in reports are `sha256`, `subject`, `country`, `key`,
/// `expired` and `skipped_because`.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ListedCertificate {
    /// SHA-256 of its DER.
    #[serde(serialize_with = "as_hex")]
    pub sha256: [u8; 32],
    /// Its subject (RFC 4514); empty if it cannot be read.
    pub subject: String,
    /// countryName of its subject.
    pub country: Option<String>,
    /// The kind of its key, for example `RSA 4096`; empty if it cannot be used.
    #[serde(rename = "key")]
    pub key_kind: String,
    /// Whether it has expired.
    pub expired: bool,
    /// Whether it was imported, or why it was skipped.
    #[serde(rename = "skipped_because", serialize_with = "as_reason")]
    pub outcome: ListOutcome,
}

impl ListedCertificate {
    /// Why it was skipped; `None`: it was imported.
    pub fn skipped_because(&self) -> Option<&str> {
        self.outcome.why_not()
    }
}

/// The outcome for a certificate in a list.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ListOutcome {
    /// It became a root; if it has expired, nothing is trusted through it.
    Usable,
    /// It was skipped; the text says why.
    Unusable(String),
}

impl ListOutcome {
    fn why_not(&self) -> Option<&str> {
        match self {
            Self::Usable => None,
            Self::Unusable(why) => Some(why),
        }
    }
}

fn as_hex<S: Serializer>(sha256: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&hex::encode(sha256))
}

fn as_reason<S: Serializer>(outcome: &ListOutcome, serializer: S) -> Result<S::Ok, S::Error> {
    outcome.why_not().serialize(serializer)
}

/// Reads a Master List. Its signer must lead to one of `signer_cas`, and all certificates of the
/// path must be valid now, because the time of signing is only the signer's own claim.
///
/// Without `signer_cas` the digest and the signature are checked with a certificate from the list
/// itself. This shows that the list is undamaged, but anyone may have made it. For test material
/// only.
///
/// # Errors
/// The file is not a Master List, was changed, is not signed under `signer_cas`, or is dated after
/// `now`.
pub fn import_master_list(
    provider: &CryptoProvider,
    file: &[u8],
    signer_cas: Option<&[TrustAnchor]>,
    now: UnixMillis,
) -> Result<ImportedList, TrustMaterialError> {
    let signed = SignedData::parse(file)?;
    if signed.content_type != MASTER_LIST {
        return Err(error("is CMS, but not a Master List"));
    }
    let signed_at = authenticate(provider, &signed, signer_cas, now)?;
    let certificates = certificates_of(signed.content)
        .ok_or(error("has content that is not a list of at most 8192 certificates"))?;
    let (mut roots, mut listed) = (Vec::new(), Vec::new());
    for der in certificates {
        let (root, entry) = take(provider, der, RootOrigin::MasterList, now);
        roots.extend(root);
        listed.push(entry);
    }
    let signer_is_known = signer_cas.is_some();
    Ok(ImportedList { roots, certificates: listed, signed_at, next_update: None, signer_is_known })
}

/// Reads a certificate of a list as a root, if possible.
pub(super) fn take(
    provider: &CryptoProvider,
    der: &[u8],
    origin: RootOrigin,
    now: UnixMillis,
) -> (Option<TrustAnchor>, ListedCertificate) {
    let sha256 = provider.sha256(der);
    match TrustAnchor::from_der(provider, der, origin) {
        Ok(root) => {
            let entry = ListedCertificate {
                sha256,
                subject: String::from(root.subject()),
                country: root.country().map(String::from),
                key_kind: root.key_kind(),
                expired: is_past(root.not_after(), now),
                outcome: ListOutcome::Usable,
            };
            (Some(root), entry)
        }
        Err(TrustMaterialError(why)) => {
            let outcome = ListOutcome::Unusable(why.into_owned());
            (None, describe(provider, der, outcome, now))
        }
    }
}

/// A certificate of a list that is not a root.
pub(super) fn describe(
    provider: &CryptoProvider,
    der: &[u8],
    outcome: ListOutcome,
    now: UnixMillis,
) -> ListedCertificate {
    let certificate = Certificate::parse(der).ok();
    let subject = certificate.as_ref().map_or(&[][..], |c| c.subject().as_raw());
    let country = names::attribute_texts(subject, COUNTRY_NAME);
    let key = certificate.as_ref().and_then(|c| c.key().ok());
    let is_usable = outcome == ListOutcome::Usable;
    ListedCertificate {
        sha256: provider.sha256(der),
        subject: names::rfc4514(subject),
        country: country.first().map(|country| String::from(country.as_ref())),
        key_kind: key.filter(|_| is_usable).map_or_else(String::new, |key| key.kind()),
        expired: certificate.is_some_and(|c| is_past(c.not_after(), now)),
        outcome,
    }
}

fn is_past(not_after: UnixMillis, now: UnixMillis) -> bool {
    !is_within(UnixMillis(0), not_after, now)
}

/// Returns the time of signing, after the check that a signer signed it and leads to one of `cas`,
/// if there are any.
fn authenticate(
    provider: &CryptoProvider,
    signed: &SignedData<'_>,
    cas: Option<&[TrustAnchor]>,
    now: UnixMillis,
) -> Result<Option<UnixMillis>, TrustMaterialError> {
    let certificates: Vec<Certificate<'_>> =
        signed.certificates.iter().filter_map(|der| Certificate::parse(der).ok()).collect();
    let mut why = "has no signer";
    for signer in &signed.signers {
        let outcome = signer.verify(provider, signed, &certificates).and_then(|certificate| {
            let Some(cas) = cas else { return Ok(()) };
            authenticate_list_signer(
                provider,
                certificate,
                &certificates,
                cas,
                MASTER_LIST_SIGNER,
                now,
            )
        });
        match outcome {
            Ok(()) if signer.signing_time.is_some_and(|at| at > now) => {
                why = "is dated in the future";
            }
            Ok(()) => return Ok(signer.signing_time),
            Err(broken) => why = broken,
        }
    }
    Err(error(why))
}

/// `CscaMasterList ::= SEQUENCE { version INTEGER, certList SET OF Certificate }`, each
/// certificate as received.
fn certificates_of(content: &[u8]) -> Option<Vec<&[u8]>> {
    let mut list = Reader::within(content, der::SEQUENCE)?;
    let version = list.unsigned()?;
    let mut set = list.enter(der::SET)?;
    let mut certificates = Vec::new();
    while !set.is_empty() {
        if certificates.len() == MAX_LISTED_CERTIFICATES {
            return None;
        }
        certificates.push(set.next()?.raw);
    }
    (version.is_empty() && list.is_empty()).then_some(certificates)
}

const fn error(why: &'static str) -> TrustMaterialError {
    TrustMaterialError(Cow::Borrowed(why))
}
