//! Sessions: plain data that the caller stores. Nothing here changes a stored session: what
//! changes is a new session, to be committed where the stored revision is `from`.

use std::ffi::c_char;
use std::ptr;

use idgate_core::session::{BrowserInfo, OfferInfo, SessionResult, SnapshotError};
use idgate_core::{
    NewSession, Reader, Scheme, Session, SessionInfo, TenantId, Transition, UnixMillis,
};
use serde_json::{Value, json};

use crate::boundary::{boundary, put};
use crate::bytes::{give, given_text, idgate_bytes, input, text};
use crate::entropy::OsEntropy;
use crate::failure::{Failure, idgate_error};
use crate::handles;
use crate::report;
use crate::status::idgate_status;
use crate::verifier::{VerifierHandle, idgate_verifier, mode};

/// A session at one revision; it never changes.
#[allow(non_camel_case_types)]
pub struct idgate_session {
    _private: [u8; 0],
}

pub(crate) struct SessionHandle(pub(crate) Session);

handles::named!(SessionHandle => idgate_session);

/// A change to commit: store the snapshot of `session` where the stored revision still is `from`.
/// When another revision is stored, somebody else was faster: give the transition up. Free
/// `session` and `effects`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(non_camel_case_types)]
pub struct idgate_transition {
    /// The revision that must be stored; 0: insert.
    pub from: u64,
    /// The session afterwards.
    pub session: *mut idgate_session,
    /// What to carry out after the commit: a JSON array of objects with `type` "publish_status",
    /// "expire_at" or "redact_claims_at".
    pub effects: idgate_bytes,
}

impl idgate_transition {
    pub(crate) fn give(transition: Transition) -> Self {
        let effects = report::effects(&transition.effects).to_string();
        Self {
            from: transition.from.0,
            session: handles::make(SessionHandle(transition.session)),
            effects: give(effects),
        }
    }

    /// Nothing to commit.
    pub(crate) const NONE: Self = Self {
        from: 0,
        session: ptr::null_mut(),
        effects: idgate_bytes { ptr: ptr::null_mut(), len: 0 },
    };
}

/// Makes a session from a CreateSessionRequest in JSON, the same that the gateway takes. `tenant`
/// is your name for who owns it. A verifier of idgate_verifier_new that speaks more than "draft" takes
/// `profiles` and the fields that come with it, too. Commit the transition, then show what
/// idgate_session_info says.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code, clippy::too_many_arguments)]
pub unsafe extern "C" fn idgate_session_create(
    verifier: *const idgate_verifier,
    request: *const c_char,
    request_len: usize,
    tenant: *const c_char,
    tenant_len: usize,
    livemode: bool,
    now_ms: u64,
    out: *mut idgate_transition,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    boundary(err_out, || {
        let verifier = handles::find::<VerifierHandle>(verifier)?;
        // SAFETY: the caller's promise, for both.
        let (request, tenant) = unsafe {
            (input(request.cast(), request_len, "request")?, text(tenant, tenant_len, "tenant")?)
        };
        let request = verifier.request(request, livemode)?;
        put(out, || {
            let (tenant, now) = (TenantId::new(tenant), UnixMillis(now_ms));
            let new = NewSession::of(mode(livemode)).tenant(tenant);
            let made = verifier.0.create_resolved_session(request, new, &mut OsEntropy, now)?;
            Ok(idgate_transition::give(made))
        })
    })
}

/// The session as bytes for your database, without its result. They hold nonce, state and keys:
/// seal them.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn idgate_session_snapshot(
    session: *const idgate_session,
    out: *mut idgate_bytes,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    boundary(err_out, || {
        let session = handles::find::<SessionHandle>(session)?;
        put(out, || Ok(give(session.0.to_bytes().as_slice())))
    })
}

/// The session of a snapshot, of this version or an earlier one.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn idgate_session_restore(
    snapshot: *const u8,
    snapshot_len: usize,
    out: *mut *mut idgate_session,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    boundary(err_out, || {
        // SAFETY: the caller's promise.
        let snapshot = unsafe { input(snapshot, snapshot_len, "snapshot")? };
        let session = Session::from_bytes(snapshot).map_err(damaged)?;
        put(out, || Ok(handles::make(SessionHandle(session))))
    })
}

/// The result as bytes, for a caller that lets it survive a restart. IDGATE_NOTHING without one.
/// They hold claims: seal them, and erase them 30 seconds after verification.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn idgate_session_result_snapshot(
    session: *const idgate_session,
    now_ms: u64,
    out: *mut idgate_bytes,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    boundary(err_out, || {
        let session = handles::find::<SessionHandle>(session)?;
        let result =
            session.0.result(Reader::Backend, UnixMillis(now_ms)).map_err(|_| no_result())?;
        put(out, || Ok(give(result.to_bytes().as_slice())))
    })
}

/// A session with the result of idgate_session_result_snapshot put back. Only a VERIFIED session
/// takes it.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn idgate_session_restore_result(
    session: *const idgate_session,
    snapshot: *const u8,
    snapshot_len: usize,
    out: *mut *mut idgate_session,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    boundary(err_out, || {
        let session = handles::find::<SessionHandle>(session)?;
        // SAFETY: the caller's promise.
        let snapshot = unsafe { input(snapshot, snapshot_len, "snapshot")? };
        let result = SessionResult::from_bytes(snapshot).map_err(damaged)?;
        let mut restored = session.0.clone();
        restored.restore_result(result);
        put(out, || Ok(handles::make(SessionHandle(restored))))
    })
}

/// What can be said of a session at this time, as JSON: `session_id`, `tenant`, `livemode`,
/// `status`, `reason`, `wallet_error` (of a session that is FAILED with that reason: a name of
/// OpenID4VP 8.5 or `other`), `revision`, `created_at_ms`, `expires_at_ms`, `settled_at_ms`,
/// `offers`, `dc_api`, and while a wallet can answer `qr_code_url` and `deep_links`.
/// `offers`: the requests behind links, one for each profile that the session speaks, each with `id`
/// (null: the session's own), `profile` ("draft", "1.0", "haip"), `client_id`, `response_uri`,
/// `request_uri` (null: by value) and, while a wallet can answer, `deep_links` of its own.
/// `dc_api`: what a page passes to its browser, by `profile`, `origins` and `protocols` (null: the
/// session has nothing for browsers); idgate_dc_api_requests gives it.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn idgate_session_info(
    session: *const idgate_session,
    now_ms: u64,
    out: *mut idgate_bytes,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    boundary(err_out, || {
        let session = handles::find::<SessionHandle>(session)?;
        put(out, || Ok(give(info(&session.0, UnixMillis(now_ms)).to_string())))
    })
}

/// Claims and verification details of a VERIFIED session as JSON, until 30 seconds after
/// verification; else IDGATE_NOTHING. Whose browser it is for is not asked: see
/// idgate_session_result_for.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn idgate_session_result(
    session: *const idgate_session,
    now_ms: u64,
    out: *mut idgate_bytes,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    boundary(err_out, || {
        let session = handles::find::<SessionHandle>(session)?;
        let result =
            session.0.result(Reader::Backend, UnixMillis(now_ms)).map_err(|_| no_result())?;
        put(out, || Ok(give(told(result))))
    })
}

/// The same for whoever brings `response_code`: what the person's browser had in the query of your
/// `redirect_uri`, NULL when it had none. Where the person has to come back into the session that
/// asked (of every session that offers `haip` but with `same_device` false in the request, and
/// wherever that is true), a code that is missing or another is IDGATE_NOTHING; other sessions need
/// none.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn idgate_session_result_for(
    session: *const idgate_session,
    response_code: *const c_char,
    response_code_len: usize,
    now_ms: u64,
    out: *mut idgate_bytes,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    boundary(err_out, || {
        let session = handles::find::<SessionHandle>(session)?;
        // SAFETY: the caller's promise.
        let code = unsafe { given_text(response_code, response_code_len, "response_code")? };
        let result = session
            .0
            .result(Reader::Browser { response_code: code }, UnixMillis(now_ms))
            .ok()
            .ok_or_else(not_for_you)?;
        put(out, || Ok(give(told(result))))
    })
}

/// The person followed the link: CREATED becomes PENDING. IDGATE_NOTHING when nothing changes.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn idgate_session_followed(
    session: *const idgate_session,
    now_ms: u64,
    out: *mut idgate_transition,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    change(session, out, err_out, |session| session.followed(UnixMillis(now_ms)))
}

/// What the time has made of a session: EXPIRED, or PENDING after a verification that was given
/// up. IDGATE_NOTHING when nothing is due.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn idgate_session_due(
    session: *const idgate_session,
    now_ms: u64,
    out: *mut idgate_transition,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    let now = UnixMillis(now_ms);
    change(session, out, err_out, |session| {
        session.lease_lost(now).or_else(|| session.expired(now))
    })
}

/// Gives up a verification before its time is over, by a fault of your own: PENDING again, or EXPIRED,
/// so that the same answer is taken later. `session` is the one of the IDGATE_STEP_NEED that was
/// committed. IDGATE_NOTHING when nothing is held.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn idgate_session_released(
    session: *const idgate_session,
    now_ms: u64,
    out: *mut idgate_transition,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    change(session, out, err_out, |session| session.released(UnixMillis(now_ms)))
}

/// Frees a session. Verifications that began with it go on.
#[unsafe(no_mangle)]
#[allow(unsafe_code)] // the name is ours by its prefix
pub extern "C" fn idgate_session_free(session: *mut idgate_session) -> idgate_status {
    boundary(ptr::null_mut(), || handles::free::<SessionHandle>(session))
}

/// What `of` makes of a session; IDGATE_NOTHING when it stays as it is.
fn change(
    session: *const idgate_session,
    out: *mut idgate_transition,
    err_out: *mut *mut idgate_error,
    of: impl FnOnce(&Session) -> Option<Transition>,
) -> idgate_status {
    boundary(err_out, || {
        let session = handles::find::<SessionHandle>(session)?;
        let same = || Failure::nothing("the session stays as it is");
        let next = of(&session.0).ok_or_else(same)?;
        put(out, || Ok(idgate_transition::give(next)))
    })
}

fn info(session: &Session, now: UnixMillis) -> Value {
    let info = session.info(now);
    let mut told = json!({
        "session_id": info.id,
        "tenant": info.tenant,
        "livemode": info.mode.is_live(),
        "status": info.status.as_str(),
        "reason": info.reason.map(|reason| reason.as_str()),
        "wallet_error": info.wallet_error.map(|error| error.as_str()),
        "revision": info.revision.0,
        "created_at_ms": info.created_at.0,
        "expires_at_ms": info.expires_at.0,
        "settled_at_ms": info.settled_at.map(|at| at.0),
        "offers": info.offers.iter().map(|offer| offered(&info, offer)).collect::<Vec<_>>(),
        "dc_api": info.dc_api.as_ref().map(passed_on),
    });
    if let (Some(link), Some(members)) = (&info.qr_code_url, told.as_object_mut()) {
        members.insert("qr_code_url".into(), link.as_str().into());
        members.insert("deep_links".into(), links(&info.deep_links));
    }
    told
}

fn offered(info: &SessionInfo, offer: &OfferInfo) -> Value {
    let mut told = json!({
        "id": (offer.handle != info.id).then_some(&offer.handle),
        "profile": offer.profile.name(),
        "client_id": offer.client_id,
        "response_uri": offer.response_uri,
        "request_uri": offer.request_uri,
    });
    if let (false, Some(members)) = (offer.deep_links.is_empty(), told.as_object_mut()) {
        members.insert("deep_links".into(), links(&offer.deep_links));
    }
    told
}

/// What goes to browsers.
fn passed_on(browser: &BrowserInfo) -> Value {
    json!({
        "profile": browser.profile.name(),
        "origins": browser.origins,
        "protocols": browser.protocols.iter().map(|one| one.name()).collect::<Vec<_>>(),
    })
}

/// A link for each scheme, by its name.
fn links(links: &[(Scheme, String)]) -> Value {
    links
        .iter()
        .map(|(scheme, link)| (scheme.key().to_owned(), Value::from(link.as_str())))
        .collect()
}

fn damaged(error: SnapshotError) -> Failure {
    Failure::config(error)
}

/// Both parts are JSON texts already.
fn told(result: &SessionResult) -> String {
    let (claims, details) = (result.claims_json(), result.details_json());
    [r#"{"claims":"#, claims, r#","verification_details":"#, details, "}"].concat()
}

fn not_for_you() -> Failure {
    Failure::nothing(
        "the session has no result, it is older than 30 seconds, or the response_code is not its",
    )
}

fn no_result() -> Failure {
    Failure::nothing("the session has no result, or it is older than 30 seconds")
}
