//! The outcome of one presentation.

use core::fmt;

use serde::de::DeserializeOwned;

use crate::claims::{ClaimsError, read_claims};
use crate::error::{Check, Reason, VerifyError};
use crate::revocation::{Revocation, RevocationDetails};
use crate::verify::proof::{CredentialFacts, VerifiedCredential};
use crate::verify::report::CredentialReport;

/// A presentation that passed every check.
///
/// Only verification creates one. A program cannot build it from its fields:
///
/// ```compile_fail,E0451
/// # use idgate_core::Verified;
/// fn forged(genuine: Verified, other: Verified) -> Verified {
///     Verified { credential: other.credential, ..genuine }
/// }
/// ```
///
/// It has no constructor and no default.
///
/// ```compile_fail,E0599
/// let credential = idgate_core::Verified::default();
/// ```
#[derive(Clone, Debug)]
pub struct Verified {
    pub(super) credential: VerifiedCredential,
    pub(super) report: CredentialReport,
}

impl Verified {
    /// Returns the requested claims, read as `T`. No others are available.
    ///
    /// ```
    /// # use idgate_core::{ClaimsError, Verified};
    /// #[derive(serde::Deserialize)]
    /// struct Person { birthdate: String }
    ///
    /// fn birthdate(verified: &Verified) -> Result<String, ClaimsError> {
    ///     Ok(verified.claims::<Person>()?.birthdate)
    /// }
    /// ```
    ///
    /// # Errors
    /// `T` has a claim that was not requested, or expects another type of value than the issuer
    /// gave.
    pub fn claims<T: DeserializeOwned>(&self) -> Result<T, ClaimsError> {
        read_claims(self.credential.claims().as_json())
    }

    /// Returns the claims as a JSON object.
    pub fn claims_json(&self) -> &str {
        self.credential.claims().as_json()
    }

    /// Facts in addition to the claims: issuer, type, dates, and the holder's proof.
    pub fn facts(&self) -> &CredentialFacts {
        self.credential.facts()
    }

    /// The outcome for the status, in one word.
    pub fn revocation(&self) -> Revocation {
        self.credential.revocation()
    }

    /// The outcome for the credential and for its signer separately.
    pub fn revocation_details(&self) -> RevocationDetails {
        self.credential.revocation_details()
    }

    /// Every check that was made; all of them passed.
    pub fn checks(&self) -> impl Iterator<Item = (Check, bool)> {
        self.report.checks()
    }

    /// The underlying proof.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn credential(&self) -> &VerifiedCredential {
        &self.credential
    }
}

/// A presentation that was refused, with the check that failed and the reason.
#[derive(Clone, Debug)]
pub struct Refused {
    pub(super) error: VerifyError,
    pub(super) report: CredentialReport,
    pub(super) hint: Option<Hint>,
}

/// A remedy for a refusal, where the caller has one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Hint {
    /// The trust has no issuer of the expected name.
    AddIssuer,
    /// A status list or a CRL is needed, and nothing was fetched: verify in steps, and supply it.
    SupplyStatus,
    /// A source could not be fetched because of a fault of this machine, which says nothing about
    /// the credential: verify it again.
    TryAgain,
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AddIssuer => "the trust has no issuer of that name; add it",
            Self::SupplyStatus => {
                "a status list or a CRL is needed: begin the verification, fetch what its step needs, \
                 supply it, and step again"
            }
            Self::TryAgain => "a status source could not be fetched because of a fault of this \
                               machine; try again",
        })
    }
}

impl Refused {
    /// The reason, with its name in the API.
    pub const fn reason(&self) -> Reason {
        self.error.reason
    }

    /// The check that failed.
    pub const fn check(&self) -> Check {
        self.error.check
    }

    /// The fault, in a sentence without values of the credential.
    pub const fn detail(&self) -> &'static str {
        self.error.detail
    }

    /// The remedy, if the caller has one.
    pub const fn hint(&self) -> Option<Hint> {
        self.hint
    }

    /// Every check that was made, and whether it passed; one failed.
    pub fn checks(&self) -> impl Iterator<Item = (Check, bool)> {
        self.report.checks()
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ({})", self.reason().as_str(), self.detail(), self.check().clause())?;
        self.hint.map_or(Ok(()), |hint| write!(f, "; {hint}"))
    }
}

impl core::error::Error for Refused {}
