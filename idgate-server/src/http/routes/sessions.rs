//! Sessions for tenants, and the link that a person follows (specification 4, decisions 5).

use hyper::header::{HeaderValue, LOCATION};
use hyper::{Method, StatusCode};
use idgate_core::session::Withheld;
use zeroize::Zeroizing;

use crate::app::{CreatedSession, SessionView, ShownByPage, Visit};
use crate::http::answer_body::empty;
use crate::http::auth::Authorized;
use crate::http::call::{Call, FoundSession};
use crate::http::error::{Answered, HttpError};
use crate::http::json::{self, Object};
use crate::http::query;
use crate::http::{idempotency_key, json_body};
use idgate_base::spans::{Stage, stage};

/// `POST /v1/sessions`
pub(crate) async fn create(call: Call<'_>, tenant: Authorized) -> Answered {
    let app = &call.gateway.app;
    let key = idempotency_key::read(&call.head.headers)?;
    let (caller, received) = (tenant.caller(), json_body::read(call).await?);
    let body = &received.bytes;
    let answer = match key {
        Some(key) => app.create_session_once(caller, key, body, created_json).await?,
        None => {
            let created = app.create_session(caller, body).await?;
            stage(Stage::Answer, || created_json(&created))
        }
    };
    Ok(json::answer(StatusCode::CREATED, answer))
}

/// `GET /v1/sessions/{sessionId}`
pub(crate) async fn read(call: Call<'_>, tenant: Authorized, session: FoundSession) -> Answered {
    let code = query::single(call.head.uri.query(), "response_code");
    let session = session?.map(|session| *session);
    let view = call.gateway.app.view_session(tenant.caller(), session).await?;
    let code = match code {
        // For such a session the parameter is unknown, and unknown ones are ignored.
        Err(_) if !view.session.names_profile() => None,
        code => code?,
    };
    let reader = Reader::Result(code.as_deref());
    let body = stage(Stage::Answer, || status_json(&view, reader));
    Ok(json::answer(StatusCode::OK, body))
}

/// `DELETE /v1/sessions/{sessionId}`
pub(crate) async fn delete(call: Call<'_>, tenant: Authorized) -> Answered {
    call.gateway.app.delete_session(tenant.caller(), &call.session_id()).await?;
    Ok(json::no_content())
}

/// `GET /v1/sessions/{sessionId}/report`
pub(crate) async fn report(call: Call<'_>, tenant: Authorized) -> Answered {
    let explained = call.gateway.app.explanation(tenant.caller(), &call.session_id()).await;
    let none =
        "there is no report: no such session, no refused answer, or it is older than 24 hours";
    let explained = explained.map_err(|error| HttpError::absent(error, none))?;
    Ok(json::answer(StatusCode::OK, Zeroizing::new(explained.into_bytes())))
}

/// `GET` and `HEAD /v1/sessions/{sessionId}/open`. HEAD returns the target without a change.
pub(crate) async fn open(call: Call<'_>) -> Answered {
    let (app, id, scheme) = (&call.gateway.app, call.session_id(), call.link_scheme()?);
    app.join_trace(&id).await;
    let (part, network) = (call.part()?, call.network());
    let peeks = call.head.method == Method::HEAD;
    let visit = Visit { part: part.as_deref(), network: &network, counts: !peeks };
    let link = match peeks {
        true => app.peek_link(&id, &scheme, &visit).await?,
        false => app.follow_link(&id, &scheme, &visit).await?,
    };
    redirect(&link)
}

fn redirect(location: &str) -> Answered {
    let location = HeaderValue::from_str(location)
        .map_err(|_| HttpError::internal("a deep link that is not a header value"))?;
    let mut response = empty(StatusCode::FOUND);
    response.headers_mut().insert(LOCATION, location);
    Ok(response)
}

/// `CreateSessionResponse` (specification 2).
fn created_json(created: &CreatedSession) -> Zeroizing<Vec<u8>> {
    let invitation = &created.invitation;
    let links = created.deep_links.iter();
    let links = links.fold(Object::new(), |links, (scheme, link)| links.text(scheme.key(), link));
    Object::new()
        .text("session_id", invitation.session_id.as_str())
        .boolean("livemode", invitation.livemode)
        .text("expires_at", &invitation.expires_at.to_string())
        .text_if("profile", created.names_profile.then(|| invitation.profile().name()))
        .text("qr_code_url", &invitation.qr_code_url)
        .object("deep_links", links)
        .raw_if("credentials", created.credentials.as_deref())
        .text_if("page_url", created.page_url.as_deref())
        .raw_if("dc_api", created.dc_api.as_ref().map(|requests| requests.to_json()).as_deref())
        .finish()
}

/// More than all of a status except its result.
const STATUS_ROOM: usize = 512;

/// The part of a session that the request's key may see.
#[derive(Clone, Copy)]
pub(super) enum Reader<'c> {
    /// Everything, with the response code of the request.
    Result(Option<&'c str>),
    /// Only the status: the key lacks the scope to read sessions.
    Status,
}

/// The members that a page adds to the details of a result, each after a comma.
fn of_page(page: &ShownByPage) -> String {
    let code = page.code.as_ref().map(|code| [",\"page_code\":\"", code, "\""].concat());
    let handover = if page.handover { ",\"handover\":true" } else { "" };
    code.unwrap_or_default() + handover
}

/// `SessionStatus` (specification 2): result and reason appear only while there is one.
pub(super) fn status_json(view: &SessionView, reader: Reader<'_>) -> Zeroizing<Vec<u8>> {
    let SessionView { session, now, .. } = view;
    let (result, withheld) = match reader {
        Reader::Result(response_code) => {
            match session.result(idgate_core::Reader::Browser { response_code }, *now) {
                Ok(result) => (Some(result), None),
                Err(Withheld::NotVerified) => (None, None),
                Err(why) => (None, Some(why)),
            }
        }
        Reader::Status => (None, None),
    };
    let result_length = result
        .map_or(0, |result| result.claims_json().len().saturating_add(result.details_json().len()));
    let mut object = Object::with_capacity(result_length.saturating_add(STATUS_ROOM))
        .text("session_id", session.id().as_str())
        .text("status", session.status_at(*now).as_str())
        .boolean("livemode", session.livemode())
        .text("expires_at", &session.expires_at().to_string());
    if let Some(result) = result {
        let details = result.details_json();
        object = object.raw("claims", result.claims_json());
        object = match (of_page(&view.page), details.strip_suffix('}')) {
            (more, Some(members)) if !more.is_empty() => {
                object.raw("verification_details", &[members, &more, "}"].concat())
            }
            _ => object.raw("verification_details", details),
        };
    }
    match (view.claims_lost, withheld) {
        (true, _) => object = object.boolean("claims_lost", true).text("claims_withheld", "lost"),
        (false, Some(why)) => object = object.text("claims_withheld", why.as_str()),
        (false, None) => {}
    }
    object
        .text_if("reason", session.reason_at(*now).map(|reason| reason.as_str()))
        .text_if("wallet_error", session.wallet_error().map(|error| error.as_str()))
        .finish()
}
