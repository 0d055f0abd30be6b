//! The signers that may sign status lists: those below the credential's roots or below roots named
//! for status lists, and those that a trusted list names.

use super::{VerifiedPath, path_error, pinned, profile_error, signer_below};
use crate::crypto::CryptoProvider;
use crate::error::VerifyError;
use crate::limits::MAX_CERTIFICATES;
use crate::time::UnixMillis;
use crate::trust::anchors::TrustAnchor;
use crate::trust::certificate::Certificate;
use crate::trust::oid::Oid;
use crate::trust::pinned_signer::PinnedSigner;
use crate::trust::{listed_profile, profile, sd_jwt_profile};

/// The roots for signers of status lists, and the purpose of the credentials' signers below them.
pub(crate) struct StatusRoots<'r> {
    pub(crate) provider: &'r CryptoProvider,
    pub(crate) roots: &'r [&'r TrustAnchor],
    pub(crate) ekus: &'r [Oid],
    pub(crate) sd_jwt_ekus: &'r [Oid],
    pub(crate) now: UnixMillis,
}

impl StatusRoots<'_> {
    /// Authenticates the signer of a status list at the start of `chain`. Its path leads to one of
    /// the roots, directly or through one intermediate. It is not a CA, its key is for signing, and
    /// its extended key usages, if any, include signing credentials (`ekus`) or their status
    /// (draft-ietf-oauth-status-list 10, 11.3; ISO/IEC 18013-5 Table B.9).
    ///
    /// # Errors
    /// Those of [`super::authenticate_chain`].
    pub(crate) fn authenticate(&self, chain: &[&[u8]]) -> Result<VerifiedPath, VerifyError> {
        let Self { provider, roots, ekus, now, .. } = *self;
        if roots.is_empty() {
            return Err(path_error(
                "no root of the trust entry is for signers of this status list",
            ));
        }
        let (signer, path, _) = signer_below(provider, chain, roots, 1, now)?;
        profile::check_status_signer(&signer, ekus).map_err(profile_error)?;
        Ok(path)
    }

    /// The same below a trusted list's CAs that the mdoc's path used. They may have other
    /// customers. Of these, only signers with the mark of an issuer or with the usage for status
    /// are accepted (draft-ietf-oauth-status-list 10).
    ///
    /// # Errors
    /// Those of [`super::authenticate_chain`].
    pub(crate) fn authenticate_beside_mdoc_issuer(
        &self,
        chain: &[&[u8]],
    ) -> Result<VerifiedPath, VerifyError> {
        let Self { provider, roots, ekus, now, .. } = *self;
        let (signer, path, root) = signer_below(provider, chain, roots, 1, now)?;
        profile::check_status_signer(&signer, ekus).map_err(profile_error)?;
        self.check_mark(&signer, root)?;
        Ok(path)
    }

    /// The same below roots of SD-JWT VC issuers: signers of credentials there may sign their
    /// status, and so may signers with the usage for status.
    ///
    /// # Errors
    /// Those of [`super::authenticate_chain`].
    pub(crate) fn authenticate_beside_issuer(
        &self,
        chain: &[&[u8]],
    ) -> Result<VerifiedPath, VerifyError> {
        let Self { provider, roots, now, .. } = *self;
        let (signer, path, root) = signer_below(provider, chain, roots, MAX_CERTIFICATES, now)?;
        sd_jwt_profile::check_sd_jwt_usage(&signer, self.sd_jwt_ekus)
            .or_else(|broken| profile::check_status_signer(&signer, self.ekus).map_err(|_| broken))
            .map_err(profile_error)?;
        self.check_mark(&signer, root)?;
        Ok(path)
    }

    fn check_mark(&self, signer: &Certificate<'_>, root: &TrustAnchor) -> Result<(), VerifyError> {
        let Some(listing) = root.listing() else { return Ok(()) };
        profile::check_marked_status_signer(signer, self.ekus)
            .or_else(|_| {
                let (ekus, sd_jwt_ekus) = (self.ekus, self.sd_jwt_ekus);
                listed_profile::check_listed_mark(signer, ekus, sd_jwt_ekus, &listing.list)
            })
            .map_err(profile_error)
    }
}

/// Authenticates the signer of a status list that is itself one of `signers`, which trusted lists
/// name. `None`: it is not one of them.
pub(crate) fn authenticate_named_signer<'s>(
    chain: &[&[u8]],
    mut signers: impl Iterator<Item = &'s PinnedSigner>,
    now: UnixMillis,
) -> Option<Result<VerifiedPath, VerifyError>> {
    let leaf = chain.first()?;
    let own = signers.find(|own| own.der() == *leaf)?;
    let signer = Certificate::parse(leaf).map_err(VerifyError::from);
    Some(signer.and_then(|signer| pinned(own, &signer, None, now)))
}
