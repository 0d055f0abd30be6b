//! The last step for a credential: its status settles, and every check is proved.

use super::proof::{AwaitingStatus, StatusSettled, VerifiedCredential};
use super::report::CredentialReport;
use crate::error::{Check, VerifyError};
use crate::revocation::{Inquiry, Revocation, StatusContext};

/// Outside a session nothing is fetched: the status settles with the CRLs of the trust entry.
pub(super) fn conclude(
    awaiting: Result<AwaitingStatus, VerifyError>,
    context: &StatusContext<'_>,
    report: &mut CredentialReport,
) -> Result<VerifiedCredential, VerifyError> {
    let result = awaiting.and_then(|mut credential| {
        let inquiry = Inquiry::open(core::mem::take(&mut credential.published), context)?;
        settle(credential, &inquiry, report)
    });
    if let Err(error) = &result {
        report.failed = Some(error.clone());
    }
    result
}

/// Revocation, the last of all checks. A source that was not fetched leaves the status unknown.
pub(super) fn settle(
    credential: AwaitingStatus,
    inquiry: &Inquiry,
    report: &mut CredentialReport,
) -> Result<VerifiedCredential, VerifyError> {
    let status = inquiry.settle().map(|settled| (settled, StatusSettled::assertion()));
    let verified = VerifiedCredential::new(credential, status)?;
    if inquiry.covers_signer() {
        report.pass(Check::SignerStatus);
    }
    report.pass(Check::Status);
    report.accepted_unknown_status = verified.revocation() == Revocation::Unknown;
    Ok(verified)
}
