//! Responses to wallets: JSON with `no-store`, and the errors of OpenID4VCI, OAuth and DPoP.

use bytes::Bytes;
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE,
};
use hyper::{Response, StatusCode};
use serde_json::{Map, Value, json};

/// A refused request.
#[derive(Clone, Debug)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    /// The error code; `None` if the request carried no credentials at all (RFC 6750 3.1).
    pub(super) error: Option<&'static str>,
    /// The broken rule, for the log and `error_description`: ASCII without quotes and backslashes
    /// (RFC 6749 5.2).
    pub(super) rule: &'static str,
    headers: Vec<(HeaderName, HeaderValue)>,
    more: Map<String, Value>,
}

impl Refusal {
    /// 400
    pub(super) fn new(error: &'static str, rule: &'static str) -> Self {
        Self {
            status: StatusCode::BAD_REQUEST,
            error: Some(error),
            rule,
            headers: Vec::new(),
            more: Map::new(),
        }
    }

    pub(super) fn with_status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    /// 401 without an error code, for a request without a token.
    pub(super) fn no_token() -> Self {
        let refusal = Self { error: None, ..Self::new("", "the request has no access token") };
        let refusal = refusal.with_status(StatusCode::UNAUTHORIZED);
        refusal.challenge("Bearer").challenge("DPoP algs=\"ES256\"")
    }

    /// 401 for an unusable token; `scheme` is `Bearer` or `DPoP`.
    pub(super) fn of_token(scheme: &'static str, error: &'static str, rule: &'static str) -> Self {
        let challenge = match (scheme, error) {
            ("DPoP", "invalid_dpop_proof") => "DPoP error=\"invalid_dpop_proof\", algs=\"ES256\"",
            ("DPoP", _) => "DPoP error=\"invalid_token\", algs=\"ES256\"",
            _ => "Bearer error=\"invalid_token\"",
        };
        Self::new(error, rule).with_status(StatusCode::UNAUTHORIZED).challenge(challenge)
    }

    /// 503: a table is full, or the system has no random bytes.
    pub(super) fn unavailable(rule: &'static str) -> Self {
        let mut refusal = Self::new("temporarily_unavailable", rule);
        refusal.status = StatusCode::SERVICE_UNAVAILABLE;
        refusal.headers.push((RETRY_AFTER, HeaderValue::from_static("30")));
        refusal
    }

    /// 429
    pub(super) fn too_many(wait_ms: u64) -> Self {
        let mut refusal = Self::new("temporarily_unavailable", "too many requests to this issuer");
        refusal.status = StatusCode::TOO_MANY_REQUESTS;
        let wait = HeaderValue::from(wait_ms.div_ceil(1000).max(1));
        refusal.headers.push((RETRY_AFTER, wait));
        refusal
    }

    /// 405
    pub(super) fn method(allow: &'static str) -> Self {
        let mut refusal = Self::new("invalid_request", "this path does not support that method");
        refusal.status = StatusCode::METHOD_NOT_ALLOWED;
        refusal.headers.push((ALLOW, HeaderValue::from_static(allow)));
        refusal
    }

    /// 404
    pub(super) fn not_found(rule: &'static str) -> Self {
        Self::new("not_found", rule).with_status(StatusCode::NOT_FOUND)
    }

    /// Adds another member to the body.
    pub(super) fn with(mut self, member: &str, value: Value) -> Self {
        self.more.insert(member.to_owned(), value);
        self
    }

    fn challenge(mut self, value: &'static str) -> Self {
        self.headers.push((WWW_AUTHENTICATE, HeaderValue::from_static(value)));
        self
    }

    pub(super) fn answer(self) -> Response<Bytes> {
        let mut body = self.more;
        if let Some(error) = self.error {
            body.insert("error".into(), error.into());
            body.insert("error_description".into(), self.rule.into());
        }
        let mut response = no_store(self.status, &Value::Object(body));
        for (name, value) in self.headers {
            response.headers_mut().append(name, value);
        }
        response
    }
}

/// JSON with `no-store`.
pub(super) fn no_store(status: StatusCode, body: &Value) -> Response<Bytes> {
    let mut response = of_type("application/json", body.to_string());
    *response.status_mut() = status;
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// 200 with a body of this media type.
pub(super) fn of_type(media_type: &'static str, body: impl Into<Bytes>) -> Response<Bytes> {
    let mut response = Response::new(body.into());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}

/// 204
pub(super) fn nothing() -> Response<Bytes> {
    let mut response = no_store(StatusCode::NO_CONTENT, &json!({}));
    *response.body_mut() = Bytes::new();
    response.headers_mut().remove(CONTENT_TYPE);
    response
}
