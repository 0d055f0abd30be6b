//! The requirements on a presentation. Nonce and audience are not optional.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::crypto::Alg;
use crate::request::{ClaimFilter, ClaimPath, SubjectPath, TransactionData};
use crate::time::UnixMillis;
use crate::trust::known_signers::KnownSigners;
use crate::trust::{TrustEntry, TrustSnapshot, TrustedKey};

/// The requirements on one SD-JWT VC presentation.
#[derive(Clone)]
#[non_exhaustive]
pub struct ExpectedSdJwtVc<'e> {
    /// The required issuer.
    pub issuer: &'e TrustEntry,
    /// Whether the session is live; live sessions ignore test-only material.
    pub livemode: bool,
    /// The `client_id` exactly as sent.
    pub audience: &'e str,
    /// The request's nonce.
    pub nonce: &'e str,
    /// When the request was made: an earlier proof is stale.
    pub requested_at: UnixMillis,
    /// The time of verification.
    pub now: UnixMillis,
    /// The algorithm that the issuer must have signed with; `None`: any that fits a trusted key.
    pub alg: Option<Alg>,
    /// The required claims; only these are returned.
    pub claims: &'e [String],
    /// The paths of claims that are not top-level members of the payload under their name.
    pub claim_paths: &'e [(String, ClaimPath)],
    /// Conditions that these claims must meet.
    pub filters: &'e [(String, ClaimFilter)],
    /// The claims to compare within a same-subject group, which only sessions have.
    pub(crate) subject_paths: &'e [SubjectPath],
    /// The transaction data that this credential may be used to approve, which only sessions have.
    pub(in crate::verify) transaction_data: Vec<&'e TransactionData>,
    /// Accepted types; empty: the trust entry's.
    pub vct: &'e [String],
    /// Whether `issuer` is one of its entries is checked at verification, because the field may be
    /// replaced.
    pub(in crate::verify) remembering: Option<&'e TrustSnapshot>,
}

impl<'e> ExpectedSdJwtVc<'e> {
    /// Creates requirements for a live session without claims; set the public fields for more.
    pub fn new(
        issuer: &'e TrustEntry,
        audience: &'e str,
        nonce: &'e str,
        requested_at: UnixMillis,
        now: UnixMillis,
    ) -> Self {
        Self {
            issuer,
            livemode: true,
            audience,
            nonce,
            requested_at,
            now,
            alg: None,
            claims: &[],
            claim_paths: &[],
            filters: &[],
            subject_paths: &[],
            transaction_data: Vec::new(),
            vct: &[],
            remembering: None,
        }
    }

    /// Caches the signers in `x5c` in `trust`, and recognises those in the cache. Validity and
    /// revocation are checked each time. Has no effect if the issuer is not an entry of `trust`.
    #[must_use]
    pub fn remembering(mut self, trust: &'e TrustSnapshot) -> Self {
        self.remembering = Some(trust);
        self
    }

    /// The cached signers of the issuer.
    pub(crate) fn known_signers(&self) -> Option<&'e KnownSigners> {
        self.remembering?.known_signers(self.issuer)
    }

    /// The path of a claim that is not a top-level member of the payload under its name.
    pub(crate) fn claim_path(&self, claim: &str) -> Option<&'e ClaimPath> {
        self.claim_paths.iter().find(|(name, _)| name == claim).map(|(_, path)| path)
    }

    /// The keys that may be used.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &'e TrustedKey> {
        self.issuer.keys_for(self.livemode)
    }

    /// A type must be accepted by the current trust entry and, if the session recorded types, by
    /// those too: a type that the operator withdrew no longer counts.
    pub(crate) fn accepts_type(&self, vct: &str) -> bool {
        let recorded = self.vct.is_empty() || self.vct.iter().any(|own| own == vct);
        self.issuer.accepts_vct(vct) && recorded
    }
}

/// Omits the nonce.
impl fmt::Debug for ExpectedSdJwtVc<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExpectedSdJwtVc")
            .field("issuer", &self.issuer.issuer_id)
            .field("audience", &self.audience)
            .field("now", &self.now)
            .finish_non_exhaustive()
    }
}
