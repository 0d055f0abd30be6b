//! CORS lets a wallet that runs as a page in a browser call the wallet routes by script (Fetch
//! standard, "CORS protocol"; decisions 35).

use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, HeaderMap, HeaderValue, ORIGIN, VARY,
};
use hyper::{Method, Response, StatusCode};

use super::answer_body::{Body, empty};
use super::gateway::Gateway;
use super::head::only;

/// How long a browser caches the response to a preflight, in seconds.
const MAX_AGE: HeaderValue = HeaderValue::from_static("600");

/// Whether this is a CORS preflight for a wallet route.
pub(super) fn is_preflight(gateway: &Gateway, method: &Method, headers: &HeaderMap) -> bool {
    *method == Method::OPTIONS
        && !gateway.wallet_origins.is_empty()
        && headers.contains_key(ORIGIN)
        && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

/// The response to a preflight: `methods`, with a media type. [`add`] says whether the origin is
/// allowed.
pub(super) fn preflight(methods: &str) -> Response<Body> {
    let mut response = empty(StatusCode::NO_CONTENT);
    let headers = response.headers_mut();
    if let Ok(methods) = HeaderValue::from_str(methods) {
        headers.insert(ACCESS_CONTROL_ALLOW_METHODS, methods);
    }
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static("Content-Type"));
    headers.insert(ACCESS_CONTROL_MAX_AGE, MAX_AGE);
    response
}

/// Adds to a response of a wallet route, also to a refusal, whether the requesting page may read
/// it.
pub(super) fn add(gateway: &Gateway, asked: &HeaderMap, answer: &mut HeaderMap) {
    let origins = &gateway.wallet_origins;
    if origins.is_empty() {
        return;
    }
    if origins.vary() {
        answer.append(VARY, HeaderValue::from_name(ORIGIN));
    }
    let allowed = only(asked, &ORIGIN).and_then(|origin| origins.allowed(origin));
    if let Some(allowed) = allowed.and_then(|allowed| HeaderValue::from_str(allowed).ok()) {
        answer.insert(ACCESS_CONTROL_ALLOW_ORIGIN, allowed);
    }
}
