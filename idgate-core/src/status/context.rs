//! Against what sources are judged: the trust entry, and whatever vouched for the credential.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::crypto::CryptoProvider;
use crate::error::{Check, Reason, VerifyError};
use crate::time::UnixMillis;
use crate::trust::path::{VerifiedPath, authenticate_chain, authenticate_status_signer};
use crate::trust::{TrustAnchor, TrustEntry};

/// Against what sources are judged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StatusContext<'e> {
    pub(crate) provider: &'e CryptoProvider,
    /// The trust entry that the credential was verified with.
    pub(crate) issuer: &'e TrustEntry,
    /// The version of its snapshot.
    pub(crate) trust_version: u64,
    pub(crate) livemode: bool,
    pub(crate) now: UnixMillis,
}

impl StatusContext<'_> {
    /// Authenticates the certificate that stands first in `chain` as a signer of status lists: it
    /// leads to the root that vouched for the credential or to one that the operator named for
    /// status lists, or it is the pinned signer that vouched. Whether it is revoked is a question
    /// of its own.
    pub(super) fn authenticate_list_signer(
        &self,
        chain: &[&[u8]],
        voucher: Option<&Voucher>,
    ) -> Result<VerifiedPath, VerifyError> {
        let Self { provider, issuer, livemode, now, .. } = *self;
        let path = match chain.first().filter(|leaf| self.is_pinned(leaf, voucher)) {
            Some(_) => authenticate_chain(provider, chain, issuer, "", livemode, now),
            None => {
                let roots: Vec<&TrustAnchor> = self.list_roots(voucher).collect();
                authenticate_status_signer(provider, chain, &roots, &issuer.ekus, now)
            }
        };
        path.map_err(|error| unknown(error.detail))
    }

    /// The roots below which lists may be signed.
    fn list_roots<'s>(
        &'s self,
        voucher: Option<&'s Voucher>,
    ) -> impl Iterator<Item = &'s TrustAnchor> {
        let doc_type = voucher.map_or("", |voucher| voucher.doc_type.as_str());
        let vouched = move |root: &&TrustAnchor| {
            voucher.is_some_and(|voucher| root.sha256() == voucher.anchor_sha256)
        };
        let roots = self.issuer.roots_for(self.livemode).filter(vouched);
        let named = self.issuer.status_roots_for(self.livemode);
        roots.chain(named).filter(move |root| root.serves(doc_type))
    }

    fn is_pinned(&self, leaf: &[u8], voucher: Option<&Voucher>) -> bool {
        voucher.is_some_and(|voucher| {
            let mut pinned = self.issuer.pinned_signers_for(self.livemode);
            pinned.any(|signer| signer.der() == leaf && signer.sha256() == voucher.anchor_sha256)
        })
    }

    /// Whether a list that was signed below `anchor_sha256` counts for what `voucher` vouched for.
    pub(super) fn takes_lists_of(
        &self,
        anchor_sha256: &[u8; 32],
        voucher: Option<&Voucher>,
    ) -> bool {
        voucher.is_some_and(|voucher| voucher.anchor_sha256 == *anchor_sha256)
            || self.list_roots(voucher).any(|root| root.sha256() == *anchor_sha256)
    }
}

/// A refusal because the status of a credential cannot be established.
pub(super) const fn unknown(detail: &'static str) -> VerifyError {
    VerifyError::new(Reason::RevocationUnknown, Check::Status, detail)
}

/// Whether an embedder can fetch it. Hosts and addresses are for its own filter.
pub(super) fn is_fetchable(uri: &str) -> bool {
    let scheme = uri.split_once("://").map_or("", |(scheme, _)| scheme);
    scheme.eq_ignore_ascii_case("https") || scheme.eq_ignore_ascii_case("http")
}

/// What is known of the certificate that signed an mdoc, for its revocation.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct SignerStatus {
    /// Content bytes of its serial number.
    pub(super) serial: Vec<u8>,
    /// The URIs of each of its CRL distribution points; none for a point that is not for all
    /// reasons or names its list in another way.
    pub(super) points: Vec<Vec<String>>,
    /// DER of the certificate that issued it, and so must have signed its CRL; unknown for a
    /// pinned signer of which no root is trusted.
    pub(super) issuer: Option<Arc<[u8]>>,
}

impl SignerStatus {
    /// Of the signer of an authenticated path.
    pub(crate) fn of(path: &VerifiedPath) -> Self {
        Self {
            serial: path.leaf_serial.clone(),
            points: path.crl_distribution_points.clone(),
            issuer: path.issuer.clone(),
        }
    }
}

/// What vouched for a credential: whoever signs its status list stands below the same.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Voucher {
    /// SHA-256 of the root, or of the pinned signer.
    anchor_sha256: [u8; 32],
    /// For credentials of this type.
    doc_type: String,
}

impl Voucher {
    pub(crate) fn new(anchor_sha256: [u8; 32], doc_type: &str) -> Self {
        Self { anchor_sha256, doc_type: doc_type.into() }
    }
}
