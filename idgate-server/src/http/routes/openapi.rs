//! The API description, public (specification 9).

use hyper::Response;
use hyper::header::{CACHE_CONTROL, HeaderValue};

use crate::http::answer_body::of_type;
use crate::http::call::Call;
use crate::http::error::Answered;
use crate::http::json::Body;
use crate::openapi::{self, Description};

/// `GET /api/openapi.json`
pub(crate) async fn json(call: Call<'_>) -> Answered {
    Ok(answer("application/json", description(&call).json))
}

/// `GET /api/openapi.yaml` (RFC 9512)
pub(crate) async fn yaml(call: Call<'_>) -> Answered {
    Ok(answer("application/yaml", description(&call).yaml))
}

/// `GET /api/openapi-3.0.yaml`
pub(crate) async fn yaml_3_0(call: Call<'_>) -> Answered {
    Ok(answer("application/yaml", description(&call).yaml_3_0))
}

/// A gateway describes its own configuration.
fn description(call: &Call<'_>) -> Description {
    let app = &call.gateway.app;
    let kinds = match app.names_profiles() {
        _ if app.asks_browsers() => openapi::BROWSERS,
        true => openapi::PROFILES,
        false => openapi::DRAFT,
    };
    if app.shows_pages() { kinds.with_pages } else { kinds.without_pages }
}

fn answer(content_type: &'static str, text: openapi::Text) -> Response<Body> {
    let mut response = of_type(content_type, text.as_bytes());
    // It changes only with the program and the settings. Caches notice an upgrade after five
    // minutes at most.
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("max-age=300"));
    response
}
