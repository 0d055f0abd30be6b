//! What a presentation must satisfy. Nonce and audience are not optional.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::crypto::Alg;
use crate::request::{ClaimFilter, ClaimPath, SubjectPath, TransactionData};
use crate::time::UnixMillis;
use crate::trust::known_signers::KnownSigners;
use crate::trust::{TrustEntry, TrustSnapshot, TrustedKey};

/// The expectation on one presentation.
#[derive(Clone)]
#[non_exhaustive]
pub struct ExpectedSdJwtVc<'e> {
    /// Who must have issued it.
    pub issuer: &'e TrustEntry,
    /// Live sessions do without test-only material.
    pub livemode: bool,
    /// The `client_id` exactly as sent.
    pub audience: &'e str,
    /// The request's nonce.
    pub nonce: &'e str,
    /// When the request was made: a proof from before it is stale.
    pub requested_at: UnixMillis,
    /// The time of verification.
    pub now: UnixMillis,
    /// Narrows the issuer's algorithm.
    pub alg: Option<Alg>,
    /// The claims that must be there; only these come back.
    pub claims: &'e [String],
    /// Where those stand that are not members of the payload by their name.
    pub claim_paths: &'e [(String, ClaimPath)],
    /// Conditions on them.
    pub filters: &'e [(String, ClaimFilter)],
    /// What to compare within a same-subject group, which only sessions have.
    pub(crate) subject_paths: &'e [SubjectPath],
    /// What this credential may be used to agree to, which only sessions ask.
    pub(in crate::verify) transaction_data: Vec<&'e TransactionData>,
    /// Accepted types; empty: the trust entry's.
    pub vct: &'e [String],
    /// Whether `issuer` is an entry of it is asked at verification: the field may be exchanged.
    pub(in crate::verify) remembering: Option<&'e TrustSnapshot>,
}

impl<'e> ExpectedSdJwtVc<'e> {
    /// For a live session that asks for no claims; set the public fields for more.
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

    /// Remembers the signers of `x5c` in `trust`, and recognises those that it met. Dates and
    /// revocation are looked at each time. Without effect when the issuer is not an entry of
    /// `trust`.
    #[must_use]
    pub fn remembering(mut self, trust: &'e TrustSnapshot) -> Self {
        self.remembering = Some(trust);
        self
    }

    /// The signers that the issuer was presented with.
    pub(crate) fn known_signers(&self) -> Option<&'e KnownSigners> {
        self.remembering?.known_signers(self.issuer)
    }

    /// Where a claim stands that is not a member of the payload by its name.
    pub(crate) fn claim_path(&self, claim: &str) -> Option<&'e ClaimPath> {
        self.claim_paths.iter().find(|(name, _)| name == claim).map(|(_, path)| path)
    }

    /// The keys that count.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &'e TrustedKey> {
        self.issuer.keys_for(self.livemode)
    }

    /// A type must be accepted by the trust entry in force and, when the session recorded types,
    /// by those too: what the operator withdrew is withdrawn.
    pub(crate) fn accepts_type(&self, vct: &str) -> bool {
        let recorded = self.vct.is_empty() || self.vct.iter().any(|own| own == vct);
        self.issuer.accepts_vct(vct) && recorded
    }
}

/// Never the nonce.
impl fmt::Debug for ExpectedSdJwtVc<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExpectedSdJwtVc")
            .field("issuer", &self.issuer.issuer_id)
            .field("audience", &self.audience)
            .field("now", &self.now)
            .finish_non_exhaustive()
    }
}
