//! The facts about a signer after its path is validated.

use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;

use x509_parser::extensions::{CRLDistributionPoint, DistributionPointName, GeneralName};

use super::path_error;
use super::search::Path;
use crate::crypto::PublicKey;
use crate::error::VerifyError;
use crate::time::UnixMillis;
use crate::trust::certificate::Certificate;
use crate::trust::listing::ListedBy;
use crate::trust::names::{self, COUNTRY_NAME, STATE_OR_PROVINCE_NAME};
use crate::trust::pinned_signer::PinnedSigner;

/// A signer whose path leads to a root, or that is pinned.
#[derive(Clone, Debug)]
pub(crate) struct VerifiedPath {
    /// The key that verifies the signer's signatures.
    pub(crate) signer_key: PublicKey,
    /// The signer's own name (RFC 4514).
    pub(crate) signer_subject: String,
    /// countryName of the signer's subject.
    pub(crate) country: Option<String>,
    /// stateOrProvinceName of the signer's subject.
    pub(crate) state_or_province: Option<String>,
    /// The start of the signer's validity.
    pub(crate) not_before: UnixMillis,
    /// The last second of the signer's validity.
    pub(crate) not_after: UnixMillis,
    /// SHA-256 of the root, or of the pinned signer.
    pub(crate) anchor_sha256: [u8; 32],
    /// Subject of the root, or of the pinned signer (RFC 4514).
    pub(crate) anchor_subject: String,
    /// Whether the signer is trusted directly.
    pub(crate) pinned: bool,
    /// The provider that a trusted list names for the signer, if there is one.
    pub(crate) listed: Option<Arc<ListedBy>>,
    /// Whether a root issued the signer.
    pub(crate) is_below_root: bool,
    /// The content bytes of the signer's serial number.
    pub(crate) leaf_serial: Vec<u8>,
    /// For each CRL distribution point of the signer, the URIs that lead to the same list; none for
    /// a point that names its list in another way.
    pub(crate) crl_distribution_points: Vec<Vec<String>>,
    /// The certificate, in DER, that issued the signer; unknown for a pinned signer without its
    /// root.
    pub(crate) issuer: Option<Arc<[u8]>>,
    /// The certificates between the signer and the root; none for a pinned signer.
    pub(crate) intermediates: Vec<Intermediate>,
    /// The signer's unreadable extensions that its root, or its pin, tolerates, by their OIDs.
    pub(crate) tolerated: Vec<&'static str>,
}

/// id-ce-issuerAltName (RFC 5280 4.2.1.7).
const ISSUER_ALT_NAME: &str = "2.5.29.18";

/// An intermediate CA of a path, as a CRL of its issuer identifies it.
#[derive(Clone, Debug)]
pub(crate) struct Intermediate {
    /// The content bytes of its serial number.
    pub(crate) serial: Vec<u8>,
    /// Like those of the signer.
    pub(crate) crl_distribution_points: Vec<Vec<String>>,
    /// The certificate, in DER, of its issuer.
    pub(crate) issuer: Arc<[u8]>,
}

/// The reason why a signer is trusted.
pub(super) enum Anchor<'p> {
    Root(&'p Path<'p>),
    Pinned { own: &'p PinnedSigner, issuer: Option<Arc<[u8]>> },
}

pub(super) fn verified(
    signer: &Certificate<'_>,
    anchor: Anchor<'_>,
    now: UnixMillis,
) -> Result<VerifiedPath, VerifyError> {
    let key = signer.key().map_err(|error| path_error(error.0))?;
    let signer_key = *key.nist().ok_or(path_error("is not on P-256, P-384 or P-521"))?;
    let subject = signer.subject().as_raw();
    let first = |oid| names::attribute_texts(subject, oid).first().map(ToString::to_string);
    let pinned = matches!(anchor, Anchor::Pinned { .. });
    let is_below_root = matches!(&anchor, Anchor::Root(path) if path.is_direct());
    let intermediates = match &anchor {
        Anchor::Root(path) => path.intermediates().map(intermediate).collect(),
        Anchor::Pinned { .. } => Vec::new(),
    };
    let listing = match &anchor {
        Anchor::Root(path) => path.root.listing(),
        Anchor::Pinned { own, .. } => own.listing(),
    };
    let listed = listing.map(|listing| Arc::new(listing.attribute(signer, now)));
    let (anchor_sha256, anchor_subject, issuer) = match anchor {
        Anchor::Root(path) => {
            let (root, issuer) = (path.root, Some(path.issuer_der()));
            (root.sha256(), String::from(root.subject()), issuer)
        }
        Anchor::Pinned { own, issuer } => (own.sha256(), String::from(own.subject()), issuer),
    };
    let unreadable = signer.has_unreadable_issuer_alt_name().then_some(ISSUER_ALT_NAME);
    Ok(VerifiedPath {
        signer_key,
        signer_subject: names::rfc4514(subject),
        country: first(COUNTRY_NAME),
        state_or_province: first(STATE_OR_PROVINCE_NAME),
        not_before: signer.not_before(),
        not_after: signer.not_after(),
        anchor_sha256,
        anchor_subject,
        pinned,
        listed,
        is_below_root,
        leaf_serial: signer.serial().to_vec(),
        crl_distribution_points: crl_distribution_points(signer),
        issuer,
        intermediates,
        tolerated: unreadable.into_iter().collect(),
    })
}

fn intermediate((ca, issuer): (&Certificate<'_>, Arc<[u8]>)) -> Intermediate {
    let crl_distribution_points = crl_distribution_points(ca);
    Intermediate { serial: ca.serial().to_vec(), crl_distribution_points, issuer }
}

/// For each CRL distribution point of a certificate, the URIs that lead to the same list.
pub(crate) fn crl_distribution_points(certificate: &Certificate<'_>) -> Vec<Vec<String>> {
    certificate.crl_distribution_points().iter().map(uris).collect()
}

fn uris(point: &CRLDistributionPoint<'_>) -> Vec<String> {
    let whole = point.reasons.is_none() && point.crl_issuer.is_none();
    match &point.distribution_point {
        Some(DistributionPointName::FullName(names)) if whole => {
            let uri = |name: &GeneralName<'_>| match name {
                GeneralName::URI(uri) => Some(String::from(*uri)),
                _ => None,
            };
            names.iter().filter_map(uri).collect()
        }
        _ => Vec::new(),
    }
}
