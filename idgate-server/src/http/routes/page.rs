//! The page for people, and its resources (decisions 27). No response here contains claims.

mod dialogue;
mod handover;
mod headers;
mod holding;
mod same_origin;

pub(crate) use self::dialogue::{answer, requests};
pub(crate) use self::handover::{bring_back, open_on_phone, take_over};
pub(crate) use self::holding::{cancel, take};

use std::sync::Arc;

use bytes::Bytes;
use hyper::header::{
    ACCEPT, ACCEPT_LANGUAGE, CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION,
    RETRY_AFTER,
};
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode};

use crate::accent::{Accent, Colour};
use crate::app::{App, AppError, PageView, Standing};
use crate::http::answer_body::{empty, of_type};
use crate::http::call::Call;
use crate::http::error::{Answered, HttpError};
use crate::http::json::{self, Body, Object};
use crate::http::page::{self, Addresses, ICON, Language, Qr, SCRIPT, STYLE, Showing};
use crate::http::query;

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";

/// `GET /v/{token}`
pub(crate) async fn show(call: Call<'_>) -> Answered {
    let own = addresses(&call)?;
    let language = language(&call.head.headers, own);
    let app = &call.gateway.app;
    let view = match look(&call).await {
        Ok(view) => view,
        Err(AppError::NotFound) => {
            return Ok(html(
                StatusCode::NOT_FOUND,
                page::gone(language, own, &app.operator()),
                &[],
            ));
        }
        Err(error) => return Err(error.into()),
    };
    if view.standing == Standing::Taken {
        let framers = framers(app, &view, own).await?;
        return Ok(html(
            StatusCode::FORBIDDEN,
            page::taken(language, own, &app.operator()),
            &framers,
        ));
    }
    if call.head.method == Method::GET {
        app.open_page(&view).await?;
    }
    page_of(&call, view, own).await
}

/// The page as a person sees it.
async fn page_of(call: &Call<'_>, view: PageView, own: Addresses<'_>) -> Answered {
    let app = &call.gateway.app;
    let framers = framers(app, &view, own).await?;
    let (face, operator) = (app.face(&view).await?, app.operator());
    let language = language(&call.head.headers, own);
    let showing = Showing { face: &face, operator: &operator, language, own };
    Ok(html(StatusCode::OK, page::show(&view, &showing), &framers))
}

/// `GET /v/{token}/state`: the state, immediately if it differs from `seen`, otherwise when it
/// changes.
pub(crate) async fn state(call: Call<'_>) -> Answered {
    let seen = query::single(call.head.uri.query(), "seen")?;
    let app = &call.gateway.app;
    let view = look(&call).await?;
    if view.standing == Standing::Taken {
        return taken(&call);
    }
    if seen.as_deref() != Some(view.state()) || view.phase.is_settled() {
        return Ok(state_of(&view, call.id));
    }
    app.page_changed(&view).await?;
    let view = look_again(&call).await?;
    if view.standing == Standing::Taken { taken(&call) } else { Ok(state_of(&view, call.id)) }
}

/// `GET /v/{token}/open`: the request behind another scheme.
pub(crate) async fn open(call: Call<'_>) -> Answered {
    let scheme = call.link_scheme()?;
    let view = look(&call).await?;
    if matches!(view.standing, Standing::Taken | Standing::Moved) {
        return taken(&call);
    }
    if !view.phase.is_open() || !view.schemes().any(|own| own == scheme) {
        return Err(HttpError::not_found());
    }
    let mut response = see(&view.link(&scheme))?;
    *response.status_mut() = StatusCode::FOUND;
    Ok(response)
}

/// `GET /v/{token}/logo`
pub(crate) async fn logo(call: Call<'_>) -> Answered {
    let view = look(&call).await?;
    if view.standing == Standing::Taken {
        return taken(&call);
    }
    let picture = call.gateway.app.logo(&view).await?;
    let mut response = Response::new(Body::whole(Bytes::from(picture.bytes)));
    if let Ok(media_type) = HeaderValue::from_str(&picture.media_type) {
        response.headers_mut().insert(CONTENT_TYPE, media_type);
    }
    headers::add(response.headers_mut(), &[]);
    Ok(response)
}

/// `GET /v/{token}/theme.css`: the client's colours, if it has some.
pub(crate) async fn theme(call: Call<'_>) -> Answered {
    let view = look(&call).await?;
    if view.standing == Standing::Taken {
        return taken(&call);
    }
    let face = call.gateway.app.face(&view).await?;
    let accent = face.accent.as_deref().and_then(Colour::parse).ok_or_else(HttpError::not_found)?;
    let mut response = of_type(CSS, Accent::of(accent).css());
    headers::add(response.headers_mut(), &[]);
    Ok(response)
}

/// `GET /v/page.js`
pub(crate) async fn script(_: Call<'_>) -> Answered {
    Ok(shared("text/javascript; charset=utf-8", &SCRIPT))
}

/// `GET /v/page.css`
pub(crate) async fn style(_: Call<'_>) -> Answered {
    Ok(shared(CSS, &STYLE))
}

/// `GET /v/icon.svg`
pub(crate) async fn icon(_: Call<'_>) -> Answered {
    Ok(shared("image/svg+xml", ICON))
}

/// The page as it was when its limits were checked.
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
    let query = call.head.uri.query();
    let framed = query::single(query, "frame")?.is_some();
    let chosen = query::single(query, "lang")?;
    let chosen = chosen.as_deref().and_then(Language::named);
    let shows_code = query::single(query, "code")?.is_some();
    Ok(Addresses { token: call.id, framed, chosen, shows_code, opening: None })
}

/// The response to a failed request below [`page::ROOT`]: HTML for a person, JSON for the page's
/// script, always with the headers of pages.
pub(crate) fn refusal(mut error: Response<Body>, head: &Parts) -> Response<Body> {
    if is_for_person(&head.headers) {
        let below = head.uri.path().strip_prefix(page::ROOT).unwrap_or_default();
        let token = below.split('/').next().unwrap_or_default();
        let asked = |name| query::single(head.uri.query(), name).ok().flatten();
        let chosen = asked("lang").as_deref().and_then(Language::named);
        let [framed, shows_code] = ["frame", "code"].map(|name| asked(name).is_some());
        let own = Addresses { token, framed, chosen, shows_code, opening: None };
        let again = error.headers().get(RETRY_AFTER).and_then(|after| after.to_str().ok());
        let again = again.and_then(|seconds| seconds.parse().ok());
        let text = page::refused(language(&head.headers, own), error.status(), again, own);
        *error.body_mut() = Body::whole(Bytes::from(text));
        error.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(HTML));
    }
    headers::add(error.headers_mut(), &[]);
    error
}

/// The origins that may frame the page: none, unless the address asks for a frame and the client
/// has origins.
async fn framers(
    app: &Arc<App>,
    view: &PageView,
    own: Addresses<'_>,
) -> Result<Vec<String>, AppError> {
    if own.framed { app.framers(view).await } else { Ok(Vec::new()) }
}

/// The state of a page: never the reason, never a claim.
fn state_of(view: &PageView, token: &str) -> Response<Body> {
    let mut object = Object::new().text("state", view.state());
    if view.phase.is_open() {
        object = object.raw("left_ms", &view.left_ms().to_string());
        if view.renews() {
            object = turned(object, view, token);
        }
    }
    if let Some(back) = view.way_back().map(|way| way.uri).as_deref().or(view.way_out()) {
        object = object.text("back", back);
    }
    let mut response = json::answer(StatusCode::OK, object.finish());
    headers::add(response.headers_mut(), &[]);
    response
}

/// Adds the parts of an open page that change over time.
fn turned(mut object: Object, view: &PageView, token: &str) -> Object {
    if view.turns() {
        let links = view.schemes();
        let links = links.fold(Object::new(), |all, one| all.text(one.key(), &view.link(&one)));
        object = object.object("links", links);
    }
    let for_phone = view.handover_address(token);
    let object = object.text_if("phone", for_phone.as_deref());
    let code = for_phone.or_else(|| view.qr_code());
    match code.as_deref().and_then(Qr::of) {
        Some(qr) => {
            let drawn = Object::with_capacity(8192).text("view", &qr.view_box());
            object.object("qr", drawn.text("path", &qr.path()).text("dashes", qr.dashes()))
        }
        None => object,
    }
}

/// The response to another browser.
fn taken(call: &Call<'_>) -> Answered {
    let headers = &call.head.headers;
    if is_for_person(headers) {
        let own = addresses(call)?;
        let text = page::taken(language(headers, own), own, &call.gateway.app.operator());
        return Ok(html(StatusCode::FORBIDDEN, text, &[]));
    }
    let body = Object::new().text("state", "taken").finish();
    let mut response = json::answer(StatusCode::FORBIDDEN, body);
    headers::add(response.headers_mut(), &[]);
    Ok(response)
}

fn html(status: StatusCode, text: String, framers: &[String]) -> Response<Body> {
    let mut response = of_type(HTML, text);
    *response.status_mut() = status;
    headers::add(response.headers_mut(), framers);
    response
}

/// A redirect that is followed with GET.
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
    // It changes only with the program. Browsers notice an upgrade after an hour at most.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=3600"));
    headers::add(headers, &[]);
    response
}

/// The language that the person chose on the page, or else the one that the browser prefers.
fn language(headers: &HeaderMap, own: Addresses<'_>) -> Language {
    let liked = || Language::of(headers.get(ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok()));
    own.chosen.unwrap_or_else(liked)
}

fn is_for_script(headers: &HeaderMap) -> bool {
    headers.get(ACCEPT).is_some_and(|value| value.as_bytes() == b"application/json")
}

/// Whether a browser will show the response: only then does `Accept` name HTML.
fn is_for_person(headers: &HeaderMap) -> bool {
    let names = |value: &HeaderValue| value.to_str().is_ok_and(|value| value.contains("text/html"));
    headers.get_all(ACCEPT).iter().any(names)
}
