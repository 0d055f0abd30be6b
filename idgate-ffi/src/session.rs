//! Sessions: plain data that the caller stores. No function changes a stored session. A change is a
//! new session, which the caller commits if the stored revision is still `from`.

use std::ptr;
use std::sync::Arc;

use idgate_core::Scheme;
use idgate_core::UnixMillis;
use idgate_core::session::{BrowserInfo, OfferInfo, SessionResult, SnapshotError};
use idgate_core::{Effect, Session, Status, Transition};
use idgate_core::{Reader, Request};
use serde_json::{Value, json};

use crate::boundary::{boundary, put};
use crate::bytes::{give, idgate_bytes};
use crate::choice::choices;
use crate::entropy::OsEntropy;
use crate::failure::{Failure, idgate_error};
use crate::given::{idgate_str, input, optional_text};
use crate::handles;
use crate::new_session::{Wanted, idgate_new_session};
use crate::report;
use crate::status::idgate_status;
use crate::verifier::{VerifierHandle, idgate_verifier};

/// A session at one revision; it never changes.
#[allow(non_camel_case_types)]
pub struct idgate_session {
    _private: [u8; 0],
}

pub(crate) struct SessionHandle(pub(crate) Session);

handles::named!(SessionHandle => idgate_session, "session");

/// A change to commit: store the snapshot of `session` if the stored revision is still `from`. If another revision is
/// stored, another request was faster: discard the transition. Free `session` and `effects`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(non_camel_case_types)]
pub struct idgate_transition {
    /// The revision that must be stored; 0: insert.
    pub from: u64,
    /// The session afterwards.
    pub session: *mut idgate_session,
    /// The effects to carry out after the commit: a JSON array of objects with `type`: "publish_status" with
    /// `status`, `reason`, `wallet_error` and `occurred_at_ms`, "expire_at" or "redact_claims_at" with `at_ms`.
    pub effects: idgate_bytes,
}

impl idgate_transition {
    pub(crate) fn give(transition: Transition) -> Self {
        Kept::of(transition).give()
    }

    /// Nothing to commit.
    pub(crate) const NONE: Self = Self {
        from: 0,
        session: ptr::null_mut(),
        effects: idgate_bytes { ptr: ptr::null_mut(), len: 0 },
    };
}

/// A transition that can be returned several times.
pub(crate) struct Kept {
    from: u64,
    session: Arc<SessionHandle>,
    effects: Vec<Effect>,
}

impl Kept {
    pub(crate) fn of(transition: Transition) -> Self {
        let Transition { from, session, effects, .. } = transition;
        Self { from: from.0, session: Arc::new(SessionHandle(session)), effects }
    }

    /// A handle of the session and a copy of the effects, which are the caller's.
    pub(crate) fn give(&self) -> idgate_transition {
        idgate_transition {
            from: self.from,
            session: handles::share(Arc::clone(&self.session)),
            effects: give(report::effects(&self.effects).to_string()),
        }
    }
}

/// The status of a session.
#[repr(i32)]
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(non_camel_case_types, clippy::upper_case_acronyms)]
pub enum idgate_session_state {
    /// The handle is not a session.
    IDGATE_SESSION_NONE = 0,
    /// CREATED: no wallet has fetched the request yet.
    IDGATE_SESSION_CREATED = 1,
    /// PENDING: a wallet may answer.
    IDGATE_SESSION_PENDING = 2,
    /// VERIFYING: an answer is being verified.
    IDGATE_SESSION_VERIFYING = 3,
    /// VERIFIED: every check passed.
    IDGATE_SESSION_VERIFIED = 4,
    /// FAILED: the answer was refused, or the wallet reported an error.
    IDGATE_SESSION_FAILED = 5,
    /// EXPIRED: no answer came in time.
    IDGATE_SESSION_EXPIRED = 6,
}

/// A reader of a result.
#[repr(i32)]
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(non_camel_case_types, clippy::upper_case_acronyms)]
pub enum idgate_reader {
    /// A person's browser. Its user may be a stranger.
    IDGATE_READER_BROWSER = 1,
    /// Your own backend.
    IDGATE_READER_BACKEND = 2,
}

choices! {
    idgate_reader: IDGATE_READER_BROWSER, IDGATE_READER_BACKEND;
}

/// Creates a session from a request: a CreateSessionRequest in JSON, as the gateway takes it. Commit the
/// transition, then show what idgate_session_info says. IDGATE_BAD_REQUEST: idgate_error_path names the field that
/// breaks a rule.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn idgate_session_create(
    verifier: *const idgate_verifier,
    request: idgate_str,
    new_session: *const idgate_new_session,
    now_ms: u64,
    out: *mut idgate_transition,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    boundary(err_out, || {
        let verifier = &handles::find::<VerifierHandle>(verifier)?.verifier;
        // SAFETY: the caller's promise, for both.
        let (request, wanted) = unsafe { (input(request, "request")?, Wanted::read(new_session)?) };
        let request = Request::from_json(request)?;
        put(out, || {
            let now = UnixMillis(now_ms);
            let made = verifier.create_session(&request, wanted.session(), &mut OsEntropy, now)?;
            Ok(idgate_transition::give(made))
        })
    })
}

/// Gives the session as bytes for your database, without its result. They contain nonce, state and keys: seal them.
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

/// Restores a session from a snapshot that this version or an earlier one made.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn idgate_session_restore(
    snapshot: idgate_str,
    out: *mut *mut idgate_session,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    boundary(err_out, || {
        // SAFETY: the caller's promise.
        let snapshot = unsafe { input(snapshot, "snapshot")? };
        let session = Session::from_bytes(snapshot).map_err(damaged)?;
        put(out, || Ok(handles::make(SessionHandle(session))))
    })
}

/// Gives the result as bytes, for a program that keeps it over a restart. They contain claims: seal them, and erase
/// them 30 seconds after verification. IDGATE_NOTHING: there is no result.
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
        let result = session.0.result(Reader::Backend, UnixMillis(now_ms))?;
        put(out, || Ok(give(result.to_bytes().as_slice())))
    })
}

/// Gives the session with the result of idgate_session_result_snapshot put back. Only a VERIFIED session takes it.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn idgate_session_restore_result(
    session: *const idgate_session,
    snapshot: idgate_str,
    out: *mut *mut idgate_session,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    boundary(err_out, || {
        let session = handles::find::<SessionHandle>(session)?;
        // SAFETY: the caller's promise.
        let snapshot = unsafe { input(snapshot, "snapshot")? };
        let result = SessionResult::from_bytes(snapshot).map_err(damaged)?;
        let mut restored = session.0.clone();
        restored.restore_result(result);
        put(out, || Ok(handles::make(SessionHandle(restored))))
    })
}

/// Gives the status of a session at `now_ms`.
#[unsafe(no_mangle)]
#[allow(unsafe_code)] // the name is ours by its prefix
pub extern "C" fn idgate_session_status(
    session: *const idgate_session,
    now_ms: u64,
) -> idgate_session_state {
    use idgate_session_state::*;
    let Ok(session) = handles::find::<SessionHandle>(session) else { return IDGATE_SESSION_NONE };
    match session.0.info(UnixMillis(now_ms)).status {
        Status::Created => IDGATE_SESSION_CREATED,
        Status::Pending => IDGATE_SESSION_PENDING,
        Status::Verifying => IDGATE_SESSION_VERIFYING,
        Status::Verified => IDGATE_SESSION_VERIFIED,
        Status::Failed => IDGATE_SESSION_FAILED,
        Status::Expired => IDGATE_SESSION_EXPIRED,
        _ => IDGATE_SESSION_NONE,
    }
}

/// Gives the facts of a session at `now_ms`, as JSON:
///
/// - `session_id`, `tenant`, `mode` ("live", "test"), `status`, `revision`, `trust_version`.
/// - `reason`, and with the reason "wallet_error" `wallet_error`, a name of OpenID4VP 8.5 or "other".
/// - `created_at_ms`, `expires_at_ms`, `settled_at_ms`.
/// - `qr_code_url` and `deep_links`, while a wallet can answer.
/// - `offers`: the requests behind links, one for each profile, each with `handle` (the last segment of its paths),
///   `profile`, `client_id`, `response_uri`, `request_uri` (null: the request is inside the link) and, while a wallet
///   can answer, `deep_links`.
/// - `dc_api`: null, or `profile`, `origins` and `protocols` of the request that pages pass to their browser.
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

/// Gives `claims` and `verification_details` of a VERIFIED session as JSON, until 30 seconds after verification.
/// `reader` is an idgate_reader. IDGATE_READER_BROWSER is for a person's browser: `response_code` is what it had in
/// the query of your `redirect_uri`, and NULL if it had none. Sessions that have to end in the browser that began
/// them give their result only for the right code: all that offer `haip`, unless the request has `same_device` false, and
/// those whose request has `same_device` true. IDGATE_READER_BACKEND reads without a code: never pass its result to a
/// browser that you do not know. IDGATE_NOTHING: the error's code is `not_verified`, `response_code_missing`,
/// `response_code_wrong` or `redacted`.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn idgate_session_result(
    session: *const idgate_session,
    reader: i32,
    response_code: idgate_str,
    now_ms: u64,
    out: *mut idgate_bytes,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    boundary(err_out, || {
        let session = handles::find::<SessionHandle>(session)?;
        // SAFETY: the caller's promise.
        let code = unsafe { optional_text(response_code, "response_code")? };
        let reader = match (idgate_reader::of(reader, "reader")?, code) {
            (idgate_reader::IDGATE_READER_BROWSER, response_code) => {
                Reader::Browser { response_code }
            }
            (idgate_reader::IDGATE_READER_BACKEND, None) => Reader::Backend,
            (idgate_reader::IDGATE_READER_BACKEND, Some(_)) => {
                return Err(Failure::misuse(
                    "response_code is for the browser reader only; leave it out",
                ));
            }
        };
        let result = session.0.result(reader, UnixMillis(now_ms))?;
        put(out, || Ok(give(told(result))))
    })
}

/// Records that the person followed the link: CREATED becomes PENDING. IDGATE_NOTHING: nothing changes.
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

/// Gives the change that is due at `now_ms`: to EXPIRED, or to PENDING after a verification that was given up.
/// IDGATE_NOTHING: nothing is due.
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

/// Gives up a verification because of a fault on your side: the session is PENDING again, or EXPIRED, so that the same
/// answer can be accepted later. `session` is the one of the IDGATE_STEP_NEED that you committed. IDGATE_NOTHING: no
/// verification is in progress.
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

/// Frees a session. Verifications that began with it continue.
#[unsafe(no_mangle)]
#[allow(unsafe_code)] // the name is ours by its prefix
pub extern "C" fn idgate_session_free(session: *mut idgate_session) -> idgate_status {
    boundary(ptr::null_mut(), || handles::free::<SessionHandle>(session))
}

/// The transition that `of` makes of a session; IDGATE_NOTHING if the session does not change.
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
        "mode": if info.mode.is_live() { "live" } else { "test" },
        "status": info.status.as_str(),
        "reason": info.reason.map(|reason| reason.as_str()),
        "wallet_error": info.wallet_error.map(|error| error.as_str()),
        "revision": info.revision.0,
        "trust_version": info.trust_version,
        "created_at_ms": info.created_at.0,
        "expires_at_ms": info.expires_at.0,
        "settled_at_ms": info.settled_at.map(|at| at.0),
        "offers": info.offers.iter().map(offered).collect::<Vec<_>>(),
        "dc_api": info.dc_api.as_ref().map(passed_on),
    });
    if let (Some(link), Some(members)) = (&info.qr_code_url, told.as_object_mut()) {
        members.insert("qr_code_url".into(), link.as_str().into());
        members.insert("deep_links".into(), links(&info.deep_links));
    }
    told
}

fn offered(offer: &OfferInfo) -> Value {
    let mut told = json!({
        "handle": offer.handle,
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

/// The part of the facts about requests to browsers.
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
    Failure::config(format_args!("the snapshot is {error}"))
}

/// Both parts are JSON texts already.
fn told(result: &SessionResult) -> String {
    let (claims, details) = (result.claims_json(), result.details_json());
    [r#"{"claims":"#, claims, r#","verification_details":"#, details, "}"].concat()
}
