//! `--on-unknown-revocation`: the treatment of a credential whose status list cannot be fetched.

use idgate_core::trust::{OnUnknownRevocation, RevocationPolicy};
use idgate_store::{TrustChange, TrustRecord};

use crate::failure::Failure;

/// Parses a choice by its name.
pub(super) fn choice(text: &str) -> Result<OnUnknownRevocation, String> {
    OnUnknownRevocation::from_name(text).ok_or_else(|| "must be refuse, accept or tenant".into())
}

/// Checks that an entry does not both require a status and accept an unknown one.
pub(super) fn check(change: &TrustChange, before: Option<&TrustRecord>) -> Result<(), Failure> {
    let revocation = change.revocation.or(before.map(|record| record.revocation));
    let on_unknown =
        change.on_unknown_revocation.or(before.map(|record| record.on_unknown_revocation));
    match (revocation, on_unknown) {
        (
            Some(RevocationPolicy::Required),
            Some(other @ (OnUnknownRevocation::Accept | OnUnknownRevocation::Tenant)),
        ) => Err(Failure::Usage(format!(
            "--on-unknown-revocation {} and --revocation required exclude each other; set one of them to \
             refuse or if_published",
            other.name()
        ))),
        _ => Ok(()),
    }
}

/// Returns the note of `trust check` on an entry that accepts credentials of unknown status.
pub(super) fn note(record: &TrustRecord) -> Option<String> {
    let who = match record.on_unknown_revocation {
        OnUnknownRevocation::Accept => "are accepted unless a request says refuse",
        OnUnknownRevocation::Tenant => "are accepted if a request says so",
        _ => return None,
    };
    Some(format!(
        "{}: credentials whose status list cannot be fetched {who}; the result says unknown",
        record.issuer_id
    ))
}
