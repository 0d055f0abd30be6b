//! The gateway's public keys, in two documents (decisions 17 and 18). Browsers may read them from
//! any origin.

use hyper::Response;
use hyper::StatusCode;
use hyper::header::{ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, HeaderValue};
use idgate_core::shell::discovery;
use zeroize::Zeroizing;

use crate::http::call::Call;
use crate::http::error::Answered;
use crate::http::json::{self, Body};

/// `GET /.well-known/jwks.json`
pub(crate) async fn jwks(call: Call<'_>) -> Answered {
    Ok(public(discovery::jwks_json(&call.gateway.app.published().await?.keys)))
}

/// `GET /.well-known/did.json`
pub(crate) async fn did_document(call: Call<'_>) -> Answered {
    let published = call.gateway.app.published().await?;
    Ok(public(discovery::did_document_json(&published.did, &published.keys)))
}

fn public(document: String) -> Response<Body> {
    let mut response = json::answer(StatusCode::OK, Zeroizing::new(document.into_bytes()));
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=300"));
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    response
}
