//! The interface description, for anybody (specification 9).

use bytes::Bytes;
use http_body_util::Full;
use hyper::Response;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};

use crate::http::call::Call;
use crate::http::error::HttpError;
use crate::http::json::Body;
use crate::openapi;

/// `GET /api/openapi.json`
pub(crate) async fn json(_: Call<'_>) -> Result<Response<Body>, HttpError> {
    Ok(answer("application/json", openapi::JSON))
}

/// `GET /api/openapi.yaml` (RFC 9512)
pub(crate) async fn yaml(_: Call<'_>) -> Result<Response<Body>, HttpError> {
    Ok(answer("application/yaml", openapi::YAML))
}

fn answer(content_type: &'static str, text: &'static str) -> Response<Body> {
    let mut response = Response::new(Full::new(Bytes::from_static(text.as_bytes())));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    // It changes with the program only; five minutes bound what a cache knows of an upgrade.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("max-age=300"));
    response
}
