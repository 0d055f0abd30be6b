//! What a registrar attests of a client: it goes to wallets with the request, and what a request asks
//! for beyond it is told before a wallet does.

use idgate_core::Verifier;
use idgate_core::error::RequestError;
use idgate_core::request::{PresentationRequest, VerifierInfo};
use idgate_core::time::UnixMillis;

use crate::gateway_key::Registration;

/// What goes with the requests of a session of `registration`'s client; nothing where none of them
/// is signed by an access certificate under its hash.
///
/// # Errors
/// `unsupported_profile`: the registration certificate is strict, and it has expired.
/// `invalid_request`: it is strict, and the request asks for more.
pub(super) fn attest(
    registration: &Registration,
    verifier: &Verifier,
    request: &PresentationRequest,
    now: UnixMillis,
) -> Result<Option<VerifierInfo>, RequestError> {
    let Registration { client_id, certificate, strict } = registration;
    let attested = verifier.attest(request, certificate, now)?;
    if attested.expired {
        tracing::warn!(client_id, "a registration certificate has expired and is not sent");
    }
    if !attested.beyond.is_empty() {
        let beyond = attested.beyond.join(", ");
        tracing::warn!(client_id, beyond, "a request asks for more than is registered");
    }
    let attested = if *strict { attested.strict()? } else { attested };
    Ok(attested.verifier_info)
}
