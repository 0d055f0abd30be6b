//! Assigns the documents of a DeviceResponse without a `vp_token` to credentials (ISO/IEC TS
//! 18013-7 Annex C). Documents have types, and no two credentials of a request have the same one.

use alloc::vec::Vec;

use super::dcql::check_sets;
use crate::codec::cbor::Tape;
use crate::error::{Check, Reason, VerifyError};
use crate::formats::mdoc::{DeviceResponse, no_documents, not_cbor};
use crate::ids::DocType;
use crate::limits::MAX_PRESENTATION_BYTES;
use crate::request::{CredentialRequest, PresentationRequest};

/// The credentials that the DeviceResponse is to be verified for, in the order of the request: all
/// of them, or those that are there if sets allow others to be absent. Verification checks that
/// each is really there.
///
/// # Errors
/// [`Reason::MalformedPresentation`], [`Reason::ClaimMissing`], [`Reason::DocTypeMismatch`] and
/// [`Reason::LimitExceeded`].
pub(crate) fn answered<'r>(
    request: &'r PresentationRequest,
    device_response: &[u8],
) -> Result<Vec<&'r CredentialRequest>, VerifyError> {
    if device_response.len() > MAX_PRESENTATION_BYTES {
        let detail = "the DeviceResponse is larger than 512 KiB";
        return Err(VerifyError::new(Reason::LimitExceeded, Check::Limits, detail));
    }
    let mut tape = Tape::with_room_for(device_response.len());
    let root = tape.parse(device_response);
    let root = root.map_err(|error| not_cbor(Check::DeviceResponse, error))?;
    let response = DeviceResponse::read(tape.value(root))?;
    response.check_status()?;
    let (credentials, sets) = (&request.credentials, &request.credential_sets);
    if sets.is_empty() {
        check_no_error_for(&response, credentials)?;
    }
    let mut came = Vec::from_iter(credentials.iter().map(|_| false));
    for document in response.documents() {
        let document = document?;
        let is_of = |asked: &CredentialRequest| {
            asked.doc_type.as_ref().is_some_and(|it| it.as_str() == document.doc_type)
        };
        let place = credentials.iter().position(is_of);
        *place.and_then(|at| came.get_mut(at)).ok_or(VerifyError::new(
            Reason::DocTypeMismatch,
            Check::DocType,
            "a document is of a type that was not asked for",
        ))? = true;
    }
    let is_empty = !came.contains(&true);
    if sets.is_empty() {
        return if is_empty { Err(no_documents()) } else { Ok(credentials.iter().collect()) };
    }
    let ids: Vec<&str> = credentials.iter().map(|asked| asked.id.as_str()).collect();
    let is_enough = check_sets(&ids, sets, &came);
    let (there, absent): (Vec<_>, Vec<_>) =
        credentials.iter().zip(came).partition(|(_, came)| *came);
    if let Err(error) = is_enough {
        check_no_error_for(&response, absent.into_iter().map(|(asked, _)| asked))?;
        if is_empty {
            return Err(no_documents());
        }
        // The same rule as without sets: a missing document is a matter of types.
        return Err(VerifyError::new(Reason::DocTypeMismatch, Check::DocType, error.detail));
    }
    Ok(there.into_iter().map(|(asked, _)| asked).collect())
}

/// Checks that the wallet reports no error for one of these.
fn check_no_error_for<'r>(
    response: &DeviceResponse<'_, '_>,
    credentials: impl IntoIterator<Item = &'r CredentialRequest>,
) -> Result<(), VerifyError> {
    credentials.into_iter().try_for_each(|asked| response.check_no_error_for(doc_type(asked)))
}

fn doc_type(asked: &CredentialRequest) -> &str {
    asked.doc_type.as_ref().map_or("", DocType::as_str)
}
