//! The page for people, and what belongs to it (decisions 27). Nothing here has claims.

mod dialogue;
mod headers;

pub(crate) use self::dialogue::{answer, requests};

use std::sync::Arc;

use bytes::Bytes;
use hyper::header::{
    ACCEPT, ACCEPT_LANGUAGE, CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION,
    SET_COOKIE,
};
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode};
use idgate_core::Scheme;

use crate::app::{App, AppError, PageKey, PageView, Phase, Standing};
use crate::http::answer_body::{empty, of_type};
use crate::http::call::Call;
use crate::http::error::{Answered, HttpError};
use crate::http::json::{self, Body, Object};
use crate::http::page::{self, Addresses, ICON, Language, Qr, SCRIPT, STYLE};
use crate::http::query;

/// How long a browser remembers that a page is its own after the session took no more answers.
const COOKIE_GRACE_SECS: u64 = 3600;
const HTML: &str = "text/html; charset=utf-8";

/// `GET /v/{token}`
pub(crate) async fn show(call: Call<'_>) -> Answered {
    let language = language(&call.head.headers);
    let app = &call.gateway.app;
    let view = match look(&call).await {
        Ok(view) => view,
        Err(AppError::NotFound) => {
            return Ok(html(StatusCode::NOT_FOUND, page::gone(language), &[]));
        }
        Err(error) => return Err(error.into()),
    };
    let own = addresses(&call)?;
    let framers = framers(app, &view, own).await?;
    if view.standing == Standing::Taken {
        return Ok(html(StatusCode::FORBIDDEN, page::taken(language), &framers));
    }
    if call.head.method == Method::GET {
        app.open_page(&view).await?;
    }
    let face = app.face(&view).await?;
    Ok(html(StatusCode::OK, page::show(&view, &face, language, own), &framers))
}

/// `POST /v/{token}/take`: the page becomes this browser's.
pub(crate) async fn take(call: Call<'_>) -> Answered {
    let app = &call.gateway.app;
    let view = look(&call).await?;
    let own = addresses(&call)?;
    let key = page::key_of(&call.head.headers)?;
    let cookie = match view.standing {
        Standing::Own => None,
        // A page that is taken may be so by this browser, whose reply was lost: its key tells.
        Standing::Free | Standing::Taken => match app.take_page(&view, key).await? {
            Some(key) => Some(cookie(&view, &key, own)),
            None => return Ok(taken(&call.head.headers)),
        },
    };
    app.open_page(&view).await?;
    let mut response = match is_for_script(&call.head.headers) {
        true => state_of(&app.page_taken(view)),
        false => see(&own.page())?,
    };
    if let Some(mut cookie) = cookie.and_then(|cookie| HeaderValue::from_str(&cookie).ok()) {
        cookie.set_sensitive(true);
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    Ok(response)
}

/// `GET /v/{token}/state`: how it stands, at once if that is not `seen`, else when it changes.
pub(crate) async fn state(call: Call<'_>) -> Answered {
    let seen = query::single(call.head.uri.query(), "seen")?;
    let app = &call.gateway.app;
    let view = look(&call).await?;
    if view.standing == Standing::Taken {
        return Ok(taken(&call.head.headers));
    }
    if seen.as_deref() != Some(view.phase.name()) || view.phase.is_settled() {
        return Ok(state_of(&view));
    }
    app.page_changed(&view).await?;
    let view = look_again(&call).await?;
    Ok(if view.standing == Standing::Taken { taken(&call.head.headers) } else { state_of(&view) })
}

/// `GET /v/{token}/open`: the request behind another scheme.
pub(crate) async fn open(call: Call<'_>) -> Answered {
    let scheme = query::single(call.head.uri.query(), "scheme")?;
    let scheme = scheme.as_deref().map_or(Some(Scheme::OpenId4Vp), Scheme::from_key);
    let scheme = scheme.ok_or_else(HttpError::not_found)?;
    let view = look(&call).await?;
    if view.standing == Standing::Taken {
        return Ok(taken(&call.head.headers));
    }
    if view.phase != Phase::Open {
        return Err(HttpError::not_found());
    }
    let mut response = see(&view.link(scheme))?;
    *response.status_mut() = StatusCode::FOUND;
    Ok(response)
}

/// `GET /v/{token}/logo`
pub(crate) async fn logo(call: Call<'_>) -> Answered {
    let view = look(&call).await?;
    if view.standing == Standing::Taken {
        return Ok(taken(&call.head.headers));
    }
    let picture = call.gateway.app.logo(&view).await?;
    let mut response = Response::new(Body::whole(Bytes::from(picture.bytes)));
    if let Ok(media_type) = HeaderValue::from_str(&picture.media_type) {
        response.headers_mut().insert(CONTENT_TYPE, media_type);
    }
    headers::add(response.headers_mut(), &[]);
    Ok(response)
}

/// `GET /v/page.js`
pub(crate) async fn script(_: Call<'_>) -> Answered {
    Ok(shared("text/javascript; charset=utf-8", &SCRIPT))
}

/// `GET /v/page.css`
pub(crate) async fn style(_: Call<'_>) -> Answered {
    Ok(shared("text/css; charset=utf-8", &STYLE))
}

/// `GET /v/icon.svg`
pub(crate) async fn icon(_: Call<'_>) -> Answered {
    Ok(shared("image/svg+xml", ICON))
}

/// The page as it was when its limits were asked.
async fn look(call: &Call<'_>) -> Result<PageView, AppError> {
    let (headers, page) = (&call.head.headers, call.page.clone());
    let page = page.ok_or(AppError::NotFound)?;
    call.gateway.app.view_page(page, |name| page::cookie_of(headers, name)).await
}

/// The page as it is now.
async fn look_again(call: &Call<'_>) -> Result<PageView, AppError> {
    let headers = &call.head.headers;
    call.gateway.app.page(call.id, |name| page::cookie_of(headers, name)).await
}

fn addresses<'a>(call: &'a Call<'_>) -> Result<Addresses<'a>, HttpError> {
    let framed = query::single(call.head.uri.query(), "frame")?.is_some();
    Ok(Addresses { token: call.id, framed })
}

/// What became of a request below [`page::ROOT`] that ended in an error: words for the person who looks at it, JSON
/// for the page's script, and nothing that a page may not do either.
pub(crate) fn refusal(mut error: Response<Body>, head: &Parts) -> Response<Body> {
    if is_for_person(&head.headers) {
        let below = head.uri.path().strip_prefix(page::ROOT).unwrap_or_default();
        let token = below.split('/').next().unwrap_or_default();
        let framed = query::single(head.uri.query(), "frame").is_ok_and(|frame| frame.is_some());
        let own = Addresses { token, framed };
        let text = page::refused(language(&head.headers), error.status(), own);
        *error.body_mut() = Body::whole(Bytes::from(text));
        error.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(HTML));
    }
    headers::add(error.headers_mut(), &[]);
    error
}

/// Who may show it in a frame: nobody, unless the client has origins and says so in the address.
async fn framers(
    app: &Arc<App>,
    view: &PageView,
    own: Addresses<'_>,
) -> Result<Vec<String>, AppError> {
    if own.framed { app.framers(view).await } else { Ok(Vec::new()) }
}

/// How a page stands: never why, and never with a claim.
fn state_of(view: &PageView) -> Response<Body> {
    let mut object = Object::new().text("state", view.phase.name());
    if view.phase == Phase::Open {
        object = object.raw("left_ms", &view.left_ms().to_string());
        if view.turns() {
            object = turned(object, view);
        }
    }
    if let Some(way) = view.way_back() {
        object = object.text("back", &way.uri);
    }
    let mut response = json::answer(StatusCode::OK, object.finish());
    headers::add(response.headers_mut(), &[]);
    response
}

/// What turns of an open page.
fn turned(object: Object, view: &PageView) -> Object {
    let links = Scheme::ALL.into_iter();
    let links = links.fold(Object::new(), |all, one| all.text(one.key(), &view.link(one)));
    let object = object.object("links", links);
    match view.qr_code().as_deref().and_then(Qr::of) {
        Some(qr) => {
            let drawn = Object::with_capacity(8192).text("view", &qr.view_box());
            object.object("qr", drawn.text("path", &qr.path()).text("dashes", qr.dashes()))
        }
        None => object,
    }
}

/// What another browser is told.
fn taken(asked: &HeaderMap) -> Response<Body> {
    if is_for_person(asked) {
        return html(StatusCode::FORBIDDEN, page::taken(language(asked)), &[]);
    }
    let body = Object::new().text("state", "taken").finish();
    let mut response = json::answer(StatusCode::FORBIDDEN, body);
    headers::add(response.headers_mut(), &[]);
    response
}

fn html(status: StatusCode, text: String, framers: &[String]) -> Response<Body> {
    let mut response = of_type(HTML, text);
    *response.status_mut() = status;
    headers::add(response.headers_mut(), framers);
    response
}

/// To be asked for with GET.
fn see(path: &str) -> Answered {
    let location = HeaderValue::from_str(path).map_err(|_| HttpError::not_found())?;
    let mut response = empty(StatusCode::SEE_OTHER);
    response.headers_mut().insert(LOCATION, location);
    headers::add(response.headers_mut(), &[]);
    Ok(response)
}

fn shared(media_type: &'static str, text: &'static str) -> Response<Body> {
    let mut response = of_type(media_type, text);
    let headers = response.headers_mut();
    // It changes with the program alone; an hour bounds what a browser knows of an upgrade.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=3600"));
    headers::add(headers, &[]);
    response
}

fn language(headers: &HeaderMap) -> Language {
    Language::of(headers.get(ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok()))
}

fn is_for_script(headers: &HeaderMap) -> bool {
    headers.get(ACCEPT).is_some_and(|value| value.as_bytes() == b"application/json")
}

/// Whether a browser is about to show the answer: only then it asks for a document by name.
fn is_for_person(headers: &HeaderMap) -> bool {
    let names = |value: &HeaderValue| value.to_str().is_ok_and(|value| value.contains("text/html"));
    headers.get_all(ACCEPT).iter().any(names)
}

/// Bound to this host, for https alone and hidden from scripts.
fn cookie(view: &PageView, key: &PageKey, own: Addresses<'_>) -> String {
    let age = view.left_ms().div_ceil(1000).saturating_add(COOKIE_GRACE_SECS);
    let site = if own.framed { "SameSite=None; Partitioned" } else { "SameSite=Lax" };
    let (name, key) = (view.cookie_name(), key.expose());
    format!("{name}={key}; Path=/; Max-Age={age}; Secure; HttpOnly; {site}")
}
