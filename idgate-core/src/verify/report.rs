//! A report of the checks of an answer and of the failure, if any.

use alloc::string::String;
use alloc::vec::Vec;

use crate::error::{Check, CheckSet, VerifyError};
use crate::request::Profile;

/// The checks of one presentation.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct CredentialReport {
    /// The id of the credential in the request.
    pub id: String,
    /// The profile of the answered request; `None`: the presentation was outside a session.
    pub profile: Option<Profile>,
    /// The checks that passed.
    pub passed: CheckSet,
    /// The check that failed first.
    pub failed: Option<VerifyError>,
    /// Whether its status list could not be fetched, and that was accepted.
    pub accepted_unknown_status: bool,
}

impl CredentialReport {
    pub(crate) fn pass(&mut self, check: Check) {
        self.passed.insert(check);
    }

    /// The clause that `check` implements in the profile of the request, because query languages
    /// differ.
    pub const fn clause(&self, check: Check) -> &'static str {
        match (check, self.profile) {
            (Check::Submission, Some(Profile::Draft)) => "OpenID4VP 8.1, Presentation Exchange 2 6",
            (Check::Submission, Some(_)) => "OpenID4VP 1.0 8.1, 8.6",
            (Check::ClaimFilters, Some(Profile::Draft)) => "Presentation Exchange 2 5.2.2",
            (Check::ClaimFilters, Some(_)) => "OpenID4VP 1.0 6.4.1",
            _ => check.clause(),
        }
    }

    /// The checks that were made, in order, and whether each passed.
    pub fn checks(&self) -> impl Iterator<Item = (Check, bool)> {
        let failed = self.failed.as_ref().map(|error| error.check);
        Check::ALL.iter().filter_map(move |check| match Some(*check) == failed {
            true => Some((*check, false)),
            false => self.passed.contains(*check).then_some((*check, true)),
        })
    }
}

/// The checks of one answer. It names checks and clauses, never values of the presentation.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// A failure of the answer as a whole.
    pub failed: Option<VerifyError>,
    /// Each presentation, as far as its verification went.
    pub credentials: Vec<CredentialReport>,
}

impl Report {
    /// The failure, if there is one.
    pub fn error(&self) -> Option<&VerifyError> {
        self.failed.as_ref().or_else(|| self.credentials.iter().find_map(|c| c.failed.as_ref()))
    }
}
