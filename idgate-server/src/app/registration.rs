//! What a registrar attests of a client: it goes to wallets with the request, and what a request asks
//! for beyond it is told before a wallet does.

use idgate_core::error::{ErrorCode, RequestError};
use idgate_core::request::{Dialect, PresentationRequest, VerifierInfo};
use idgate_core::time::UnixMillis;

use crate::config::{ClientId, Dialects};
use crate::gateway_key::Registration;

/// What goes with the requests of a session of `registration`'s client; nothing where none of them
/// is signed by an access certificate under its hash.
///
/// # Errors
/// `unsupported_profile`: the registration certificate is strict, and it has expired.
/// `invalid_request`: it is strict, and the request asks for more.
pub(super) fn attest(
    registration: &Registration,
    request: &PresentationRequest,
    dialects: &Dialects,
    now: UnixMillis,
) -> Result<Option<VerifierInfo>, RequestError> {
    if !goes_by_hash(request, dialects) {
        return Ok(None);
    }
    let Registration { client_id, certificate, strict } = registration;
    if !certificate.is_valid_at(now) {
        let rule =
            "needs a registration certificate, which has expired; ask the operator to renew it";
        tracing::warn!(client_id, "a registration certificate has expired and is not sent");
        let refusal = RequestError::new(ErrorCode::UnsupportedProfile, "profiles", rule);
        return if *strict { Err(refusal) } else { Ok(None) };
    }
    let beyond = certificate.exceeded_by(request);
    if !beyond.is_empty() {
        let beyond = beyond.join(", ");
        tracing::warn!(client_id, beyond, "a request asks for more than is registered");
        if *strict {
            let rule = format!("asks for more than is registered: {beyond}; ask for less");
            return Err(RequestError::new(ErrorCode::InvalidRequest, "credentials", rule));
        }
    }
    Ok(Some(certificate.verifier_info()))
}

fn goes_by_hash(request: &PresentationRequest, dialects: &Dialects) -> bool {
    let spoken = match request.profiles.as_slice() {
        [] => dialects.enabled.get(..1).unwrap_or_default(),
        profiles => profiles,
    };
    let by_hash = dialects.client_id == ClientId::X509Hash;
    spoken.contains(&Dialect::Haip) || by_hash && spoken.contains(&Dialect::V1_0)
}
