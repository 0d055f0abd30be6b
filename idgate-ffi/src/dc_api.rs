//! Requests that a page passes to its browser (OpenID4VP A, W3C Digital Credentials API).

use idgate_core::UnixMillis;

use crate::boundary::{boundary, put};
use crate::bytes::{give, idgate_bytes};
use crate::failure::idgate_error;
use crate::handles;
use crate::session::{SessionHandle, idgate_session};
use crate::status::idgate_status;
use crate::verifier::{VerifierHandle, idgate_verifier};

/// Gives what a page passes to `navigator.credentials.get` as `digital`, as JSON:
/// `{"requests":[{"protocol","data"}]}`. The request of the session must have had `dc_api`, for example
/// `{"dc_api":{"origins":["https://shop.example"]}}`: name origins of your own, whose pages may ask. The JSON has the
/// nonce: keep it out of logs. Give what the page gets to idgate_verification_begin as an answer with `from_page`.
/// One answer settles the session, through a browser or by a link. IDGATE_BAD_RESPONSE: there is nothing to pass on,
/// or the session no longer accepts an answer.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn idgate_dc_api_requests(
    verifier: *const idgate_verifier,
    session: *const idgate_session,
    now_ms: u64,
    out: *mut idgate_bytes,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    boundary(err_out, || {
        let verifier = &handles::find::<VerifierHandle>(verifier)?.verifier;
        let session = &handles::find::<SessionHandle>(session)?.0;
        let requests = verifier.dc_api_requests(session, UnixMillis(now_ms))?;
        put(out, || Ok(give(requests.to_json())))
    })
}
