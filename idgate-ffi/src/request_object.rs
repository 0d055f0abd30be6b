//! What a wallet fetches where a request goes by reference.

use std::ffi::c_char;
use std::ptr;

use idgate_core::shell::OfferId;
use idgate_core::{Asked, RequestObject, UnixMillis};

use crate::boundary::{boundary, put, room};
use crate::bytes::{give, given_text, idgate_bytes};
use crate::failure::idgate_error;
use crate::handles;
use crate::session::{SessionHandle, idgate_session, idgate_transition};
use crate::status::idgate_status;
use crate::verifier::{VerifierHandle, idgate_verifier};

/// The Request Object of a session whose request goes by reference, to be served as
/// `application/oauth-authz-req+jwt`. A wallet may fetch it again while the session is CREATED or
/// PENDING. `wallet_nonce`: what the wallet sent, NULL when it did not. The first fetch makes the
/// session PENDING: when `transition_out` has a session, commit it before you answer; free it
/// either way. IDGATE_BAD_RESPONSE: there is nothing to fetch.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code, clippy::too_many_arguments)]
pub unsafe extern "C" fn idgate_session_request_object(
    verifier: *const idgate_verifier,
    session: *const idgate_session,
    wallet_nonce: *const c_char,
    wallet_nonce_len: usize,
    now_ms: u64,
    transition_out: *mut idgate_transition,
    jwt_out: *mut idgate_bytes,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    // SAFETY: the caller's promise; no name of an offer is given.
    unsafe {
        idgate_offer_request_object(
            verifier,
            session,
            ptr::null(),
            0,
            wallet_nonce,
            wallet_nonce_len,
            now_ms,
            transition_out,
            jwt_out,
            err_out,
        )
    }
}

/// The same of the offer of that id, as idgate_session_info names it; NULL: of the session's own.
/// Wallets fetch it at `{base_url}/v1/oid4vp/request/{offer id}`, with GET, or with POST and
/// `wallet_nonce` in a form.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code, clippy::too_many_arguments)]
pub unsafe extern "C" fn idgate_offer_request_object(
    verifier: *const idgate_verifier,
    session: *const idgate_session,
    offer: *const c_char,
    offer_len: usize,
    wallet_nonce: *const c_char,
    wallet_nonce_len: usize,
    now_ms: u64,
    transition_out: *mut idgate_transition,
    jwt_out: *mut idgate_bytes,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    boundary(err_out, || {
        let verifier = &handles::find::<VerifierHandle>(verifier)?.0;
        let session = &handles::find::<SessionHandle>(session)?.0;
        // SAFETY: the caller's promise, for both.
        let (offer, nonce) = unsafe {
            (
                given_text(offer, offer_len, "offer")?.map(OfferId::new),
                given_text(wallet_nonce, wallet_nonce_len, "wallet_nonce")?,
            )
        };
        let now = UnixMillis(now_ms);
        // Both or neither is written.
        room(transition_out)?;
        put(jwt_out, || {
            let to = offer.as_ref().map_or(session.id().as_str(), OfferId::as_str);
            let asked = Asked { to, wallet_nonce: nonce.map(Into::into) };
            let RequestObject { transition, jwt, .. } =
                verifier.request_object(session, &asked, now)?;
            let next = transition.map(idgate_transition::give).unwrap_or(idgate_transition::NONE);
            put(transition_out, || Ok(next))?;
            Ok(give(jwt.as_str()))
        })
    })
}
