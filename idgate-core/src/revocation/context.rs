//! The context for judging status sources: the trust entry, and the credential's trust anchor.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::crypto::CryptoProvider;
use crate::error::{Check, Reason, VerifyError};
use crate::ids::CredentialFormat;
use crate::time::UnixMillis;
use crate::trust::listing::ListProfile;
use crate::trust::listing::{ListedBy, Listing};
use crate::trust::path::{
    Intermediate, StatusRoots, VerifiedPath, authenticate_chain, authenticate_named_signer,
    authenticate_sd_jwt_chain,
};
use crate::trust::{PinnedSigner, TrustAnchor, TrustEntry, TrustSnapshot, UnknownRevocation};

/// The context for judging status sources.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StatusContext<'e> {
    pub(crate) provider: &'e CryptoProvider,
    /// The trust entry that the credential was verified with.
    pub(crate) issuer: &'e TrustEntry,
    /// The trust that the entry belongs to; outside of a trust there is none, and nothing is
    /// cached.
    pub(crate) trust: Option<&'e TrustSnapshot>,
    pub(crate) livemode: bool,
    /// The request's choice for a status list that cannot be fetched.
    pub(crate) on_unknown: Option<UnknownRevocation>,
    pub(crate) now: UnixMillis,
}

/// The rule by which a certificate was accepted as a signer of status lists.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum TakenBy {
    /// A signer of credentials may sign their lists: for credentials of the same root, or of the
    /// same pinned signer, and for no others.
    Voucher,
    /// The rule for signers of status lists, which is the same below every root.
    StatusSigner,
}

impl StatusContext<'_> {
    /// Authenticates the certificate at the start of `chain` as a signer of status lists.
    /// Certificates that may sign SD-JWT VCs below the credential's root may sign their lists (HAIP
    /// 6.1), and so may the pinned signer of the credential. Lists for mdocs, and all lists below a
    /// root that the operator named for status lists, follow a separate rule. Revocation of the
    /// certificate is checked elsewhere.
    pub(super) fn authenticate_list_signer(
        &self,
        chain: &[&[u8]],
        voucher: Option<&Voucher>,
    ) -> Result<(VerifiedPath, TakenBy), VerifyError> {
        let is_pinned = chain.first().is_some_and(|leaf| self.is_pinned(leaf, voucher));
        let taken = match voucher.map(Voucher::format) {
            Some(CredentialFormat::SdJwtVc) => {
                self.signer_of_sd_jwt_list(chain, voucher, is_pinned)
            }
            _ => self.signer_of_list(chain, voucher, is_pinned),
        };
        taken.map_err(|error| unknown(error.detail))
    }

    fn signer_of_list(
        &self,
        chain: &[&[u8]],
        voucher: Option<&Voucher>,
        is_pinned: bool,
    ) -> Result<(VerifiedPath, TakenBy), VerifyError> {
        let Self { provider, issuer, livemode, now, .. } = *self;
        if is_pinned {
            let doc_type = voucher.map_or("", Voucher::doc_type);
            let path = authenticate_chain(provider, chain, issuer, doc_type, livemode, now)?;
            return Ok((path, TakenBy::Voucher));
        }
        let (marking, mut roots): (Vec<&TrustAnchor>, Vec<&TrustAnchor>) =
            self.vouching_roots(voucher).partition(|root| marks_status_signers(root));
        roots.extend(self.named_roots(voucher));
        if marking.is_empty() {
            return self.status_signer(chain, &roots, voucher);
        }
        match self.status_roots(&marking).authenticate_beside_mdoc_issuer(chain) {
            Ok(path) => Ok((path, TakenBy::StatusSigner)),
            Err(error) => self.status_signer_or(error, chain, &roots, voucher),
        }
    }

    fn signer_of_sd_jwt_list(
        &self,
        chain: &[&[u8]],
        voucher: Option<&Voucher>,
        is_pinned: bool,
    ) -> Result<(VerifiedPath, TakenBy), VerifyError> {
        let Self { provider, issuer, livemode, now, .. } = *self;
        if is_pinned {
            let path = authenticate_sd_jwt_chain(provider, chain, issuer, livemode, now)?;
            return Ok((path, TakenBy::Voucher));
        }
        let vouched: Vec<&TrustAnchor> = self.vouching_roots(voucher).collect();
        let error = match self.status_roots(&vouched).authenticate_beside_issuer(chain) {
            Ok(path) => return Ok((path, TakenBy::Voucher)),
            Err(error) => error,
        };
        let named: Vec<&TrustAnchor> = self.named_roots(voucher).collect();
        self.status_signer_or(error, chain, &named, voucher)
    }

    /// The same after `error`. If no path leads to these roots either, the earlier error is more
    /// informative and is kept.
    fn status_signer_or(
        &self,
        error: VerifyError,
        chain: &[&[u8]],
        roots: &[&TrustAnchor],
        voucher: Option<&Voucher>,
    ) -> Result<(VerifiedPath, TakenBy), VerifyError> {
        self.status_signer(chain, roots, voucher).map_err(|of_these| match of_these.check {
            Check::CertificatePath => error,
            _ => of_these,
        })
    }

    fn status_signer(
        &self,
        chain: &[&[u8]],
        roots: &[&TrustAnchor],
        voucher: Option<&Voucher>,
    ) -> Result<(VerifiedPath, TakenBy), VerifyError> {
        let named = authenticate_named_signer(chain, self.named_signers(voucher), self.now);
        let path = named.unwrap_or_else(|| self.status_roots(roots).authenticate(chain))?;
        Ok((path, TakenBy::StatusSigner))
    }

    fn status_roots<'r>(&'r self, roots: &'r [&'r TrustAnchor]) -> StatusRoots<'r> {
        let Self { provider, issuer, now, .. } = *self;
        let (ekus, sd_jwt_ekus) = (&issuer.ekus, &issuer.sd_jwt_ekus);
        StatusRoots { provider, roots, ekus, sd_jwt_ekus, now }
    }

    /// The roots below which lists may be signed.
    fn list_roots<'s>(
        &'s self,
        voucher: Option<&'s Voucher>,
    ) -> impl Iterator<Item = &'s TrustAnchor> {
        self.vouching_roots(voucher).chain(self.named_roots(voucher))
    }

    /// The credential's root, if it has one and it may still be used.
    fn vouching_roots<'s>(
        &'s self,
        voucher: Option<&'s Voucher>,
    ) -> impl Iterator<Item = &'s TrustAnchor> {
        voucher.into_iter().flat_map(|voucher| {
            let (of_mdoc, sha256) = (voucher.doc_type.is_some(), &voucher.anchor_sha256);
            let roots = self.issuer.roots_hashed(of_mdoc, sha256, self.livemode);
            let roots = roots.filter(|root| root.sha256() == voucher.anchor_sha256);
            let roots = roots.filter(|root| root.serves(voucher.doc_type()));
            roots.filter(|root| root.is_in_force(self.now))
        })
    }

    /// The roots that the operator named for status lists, and those of the provider that a trusted
    /// list names for the credential.
    fn named_roots<'s>(
        &'s self,
        voucher: Option<&'s Voucher>,
    ) -> impl Iterator<Item = &'s TrustAnchor> {
        let doc_type = voucher.map_or("", Voucher::doc_type);
        let by = voucher.and_then(|voucher| voucher.listed.as_deref());
        let named = self.issuer.status_roots_of(by, self.livemode);
        let named = named.filter(move |root| root.serves(doc_type));
        named.filter(move |root| self.is_of_its_provider(root.listing(), voucher))
    }

    /// The signers of status lists that a trusted list names for the credential's provider.
    fn named_signers<'s>(
        &'s self,
        voucher: Option<&'s Voucher>,
    ) -> impl Iterator<Item = &'s PinnedSigner> {
        let doc_type = voucher.map_or("", Voucher::doc_type);
        let by = voucher.and_then(|voucher| voucher.listed.as_deref());
        let named = self.issuer.status_signers_of(by, self.livemode);
        let named = named.filter(move |signer| signer.serves(doc_type));
        named.filter(move |signer| self.is_of_its_provider(signer.listing(), voucher))
    }

    /// A listed certificate counts for the credentials of one provider, while the list is in force.
    fn is_of_its_provider(&self, listing: Option<&Listing>, voucher: Option<&Voucher>) -> bool {
        let Some(listing) = listing else { return true };
        let listed = voucher.and_then(|voucher| voucher.listed.as_ref());
        listing.is_in_force(self.now) && listed.is_some_and(|by| by.shares_provider(listing))
    }

    fn is_pinned(&self, leaf: &[u8], voucher: Option<&Voucher>) -> bool {
        let Some(voucher) = voucher else { return false };
        let vouched = |signer: &PinnedSigner| {
            signer.der() == leaf
                && signer.sha256() == voucher.anchor_sha256
                && signer.serves(voucher.doc_type())
                && signer.is_in_force(self.now)
        };
        let of_mdoc = voucher.format() != CredentialFormat::SdJwtVc;
        self.issuer.signers_with(of_mdoc, leaf, self.livemode).any(vouched)
    }

    /// Whether a list that was signed below `anchor_sha256`, by a signer accepted by this rule,
    /// counts for credentials of `voucher`.
    pub(super) fn takes_lists_of(
        &self,
        anchor_sha256: &[u8; 32],
        taken_by: TakenBy,
        voucher: Option<&Voucher>,
    ) -> bool {
        match taken_by {
            TakenBy::Voucher => {
                voucher.is_some_and(|voucher| voucher.anchor_sha256 == *anchor_sha256)
            }
            TakenBy::StatusSigner => {
                let mut signers = self.named_signers(voucher);
                signers.any(|signer| signer.sha256() == *anchor_sha256)
                    || self.list_roots(voucher).any(|root| root.sha256() == *anchor_sha256)
            }
        }
    }
}

/// Whether signers of status lists below the credential's root must have a mark: below a CA of a
/// trusted list, which may sign many other certificates. An IACA is an exception, because its
/// signers of status lists need no mark (ISO/IEC 18013-5 Table B.9).
fn marks_status_signers(root: &TrustAnchor) -> bool {
    root.listing().is_some_and(|listing| listing.list.profile != ListProfile::Iso)
}

/// A refusal because the status of a credential cannot be determined.
pub(super) const fn unknown(detail: &'static str) -> VerifyError {
    VerifyError::new(Reason::RevocationUnknown, Check::Status, detail)
}

/// Whether an embedder can fetch it. The embedder itself filters hosts and addresses.
pub(super) fn is_fetchable(uri: &str) -> bool {
    let scheme = uri.split_once("://").map_or("", |(scheme, _)| scheme);
    scheme.eq_ignore_ascii_case("https") || scheme.eq_ignore_ascii_case("http")
}

/// The facts about the certificate that signed a credential that are needed to check its
/// revocation.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct SignerStatus {
    /// Content bytes of its serial number.
    pub(super) serial: Vec<u8>,
    /// The URIs of each of its CRL distribution points; none for a point that does not cover all
    /// reasons or names its list in another way.
    pub(super) points: Vec<Vec<String>>,
    /// DER of the certificate that issued it, and so must have signed its CRL; unknown for a pinned
    /// signer without a trusted root.
    pub(super) issuer: Option<Arc<[u8]>>,
    /// The same for each CA between it and the root.
    pub(super) intermediates: Vec<Self>,
}

impl SignerStatus {
    /// The facts about the signer of an authenticated path.
    pub(crate) fn of(path: &VerifiedPath) -> Self {
        Self {
            serial: path.leaf_serial.clone(),
            points: path.crl_distribution_points.clone(),
            issuer: path.issuer.clone(),
            intermediates: path.intermediates.iter().map(Self::of_intermediate).collect(),
        }
    }

    fn of_intermediate(ca: &Intermediate) -> Self {
        Self {
            serial: ca.serial.clone(),
            points: ca.crl_distribution_points.clone(),
            issuer: Some(ca.issuer.clone()),
            intermediates: Vec::new(),
        }
    }
}

/// The trust anchor of a credential: the signer of its status list must be below the same one.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Voucher {
    /// SHA-256 of the root, or of the pinned signer.
    anchor_sha256: [u8; 32],
    /// For mdocs of this type; `None`: for SD-JWT VCs.
    doc_type: Option<String>,
    /// The provider that a trusted list names for the signer, if there is one.
    listed: Option<Arc<ListedBy>>,
}

impl Voucher {
    pub(crate) fn of_mdoc(anchor_sha256: [u8; 32], doc_type: &str) -> Self {
        Self { anchor_sha256, doc_type: Some(doc_type.into()), listed: None }
    }

    pub(crate) fn of_sd_jwt(anchor_sha256: [u8; 32]) -> Self {
        Self { anchor_sha256, doc_type: None, listed: None }
    }

    /// Sets the provider that a trusted list names for the signer.
    pub(crate) fn listed_as(mut self, listed: Option<Arc<ListedBy>>) -> Self {
        self.listed = listed;
        self
    }

    pub(super) fn format(&self) -> CredentialFormat {
        match self.doc_type {
            Some(_) => CredentialFormat::Mdoc,
            None => CredentialFormat::SdJwtVc,
        }
    }

    fn doc_type(&self) -> &str {
        self.doc_type.as_deref().unwrap_or_default()
    }
}
