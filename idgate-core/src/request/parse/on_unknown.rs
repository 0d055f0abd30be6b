//! A request's choice for credentials whose status list cannot be fetched (ARF 3.0, VCR_14).

use alloc::format;

use crate::error::{ErrorCode, RequestError};
use crate::request::fields::Field;
use crate::request::presentation_request::CredentialRequest;
use crate::trust::{TrustSnapshot, UnknownRevocation};

/// The name of the field.
pub(super) const FIELD: &str = "on_unknown_revocation";

pub(super) fn parse(root: &Field<'_, '_>) -> Result<Option<UnknownRevocation>, RequestError> {
    let Some(field) = root.member(FIELD) else { return Ok(None) };
    let named = UnknownRevocation::from_name(&field.string()?);
    named.map(Some).ok_or_else(|| field.invalid("must be refuse or accept"))
}

/// A request can accept only if the trust entries of all its credentials allow it.
pub(super) fn check(
    wish: Option<UnknownRevocation>,
    credentials: &[CredentialRequest],
    trust: &TrustSnapshot,
) -> Result<(), RequestError> {
    if wish != Some(UnknownRevocation::Accept) {
        return Ok(());
    }
    let refuses = |credential: &&CredentialRequest| {
        let entry = trust.entry(&credential.issuer_id);
        !entry.is_some_and(|entry| entry.accepts_unknown_revocation(wish))
    };
    let Some(refused) = credentials.iter().find(refuses) else { return Ok(()) };
    let rule = format!(
        "must be refuse or left out: the issuer {} does not let a request accept",
        refused.issuer_id
    );
    Err(RequestError::new(ErrorCode::InvalidRequest, FIELD, rule))
}
