//! The only mapping of errors to status codes, and the one format of error responses.

mod remedy;

use std::borrow::Cow;

use hyper::header::{CONNECTION, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use idgate_core::ErrorCode;

use super::admission::rates;
use super::json::{self, Body};
use crate::app::{AppError, StreamEnd};
use idgate_base::rate_limit::Excess;

/// A response, or a refusal.
pub(crate) type Answered = Result<Response<Body>, HttpError>;

/// A refusal, sent as `{"error","message"}`.
#[derive(Debug)]
pub(crate) struct HttpError {
    code: ErrorCode,
    message: Cow<'static, str>,
    /// Header names in lower case, and values.
    headers: Vec<(&'static str, Cow<'static, str>)>,
    closes: bool,
    cause: Option<String>,
    /// The status, for a code that has more than one.
    status: Option<StatusCode>,
}

impl HttpError {
    pub(crate) fn new(code: ErrorCode, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            code,
            message: message.into(),
            headers: Vec::new(),
            closes: false,
            cause: None,
            status: None,
        }
    }

    pub(crate) fn invalid_request(message: &'static str) -> Self {
        Self::new(ErrorCode::InvalidRequest, message)
    }

    /// The refusal of a request that cannot become a WebSocket (RFC 6455 4.2.1).
    pub(crate) fn bad_handshake(message: &'static str) -> Self {
        Self::invalid_request(message).with("sec-websocket-version", "13")
    }

    pub(crate) fn no_such_path() -> Self {
        Self::new(ErrorCode::NotFound, "there is nothing at this path")
    }

    pub(crate) fn not_found() -> Self {
        Self::new(ErrorCode::NotFound, "there is no such session")
    }

    /// `message` names the missing object.
    fn nothing_there(message: &'static str) -> Self {
        Self::new(ErrorCode::NotFound, message)
    }

    /// The error of a use case; for `NotFound`, `message` names the missing object.
    pub(crate) fn absent(error: AppError, message: &'static str) -> Self {
        match error {
            AppError::NotFound => Self::nothing_there(message),
            other => other.into(),
        }
    }

    fn invalid_cursor() -> Self {
        let message = "this cursor was not issued for this list, or is older than 24 hours; \
                       start over without a cursor";
        Self::new(ErrorCode::InvalidCursor, message)
    }

    pub(crate) fn method_not_allowed(allow: String) -> Self {
        Self::new(ErrorCode::MethodNotAllowed, "this path does not support that method; see Allow")
            .with("allow", allow)
    }

    /// The same for every cause, so that a caller learns nothing about other keys.
    pub(crate) fn invalid_api_key() -> Self {
        let message = "a valid API key is needed: `Authorization: Bearer <key>`";
        Self::new(ErrorCode::InvalidApiKey, message).with("www-authenticate", "Bearer")
    }

    /// The same for every cause, as for API keys.
    pub(crate) fn invalid_admin_token() -> Self {
        let message = "a valid admin token is needed: `Authorization: Bearer <token>`";
        Self::new(ErrorCode::InvalidAdminToken, message).with("www-authenticate", "Bearer")
    }

    pub(crate) fn insufficient_scope(scope: &'static str) -> Self {
        let message = format!("this API key lacks the scope {scope}");
        Self::new(ErrorCode::InsufficientScope, message)
    }

    /// Says when to retry: in whole seconds, rounded up, and in the fields of
    /// draft-ietf-httpapi-ratelimit-headers.
    pub(crate) fn rate_limited(excess: Excess) -> Self {
        let wait = excess.wait_ms.div_ceil(1000).max(1);
        let message = "too many requests; try again after the time in Retry-After";
        Self::new(ErrorCode::RateLimited, message)
            .with("retry-after", wait.to_string())
            .with("ratelimit", rates::remaining(excess.policy, 0, wait))
            .with("ratelimit-policy", rates::policy_field(excess.policy))
    }

    /// The client has the maximum of waiting requests.
    pub(crate) fn too_many_waiting() -> Self {
        let message = "too many requests of this client are in progress; try again after the time \
                       in Retry-After";
        Self::new(ErrorCode::RateLimited, message).with("retry-after", "1")
    }

    /// The session or the client has reached its limit of streams.
    pub(crate) fn too_many_streams() -> Self {
        let message = "the session or the client has reached its limit of streams; close one, or try \
                       again after the time in Retry-After";
        Self::new(ErrorCode::RateLimited, message).with("retry-after", "1")
    }

    /// The client has reached its limit of open sessions; retrying can help, because sessions end.
    pub(crate) fn too_many_sessions() -> Self {
        let message = "this client has reached its limit of open sessions; delete some, or try again \
                       after the time in Retry-After";
        Self {
            status: Some(StatusCode::TOO_MANY_REQUESTS),
            ..Self::new(ErrorCode::QuotaExceeded, message)
        }
        .with("retry-after", "1")
    }

    pub(crate) fn temporarily_unavailable() -> Self {
        let message = "the gateway cannot do this now; try again after the time in Retry-After";
        Self::new(ErrorCode::TemporarilyUnavailable, message).with("retry-after", "1")
    }

    /// `cause` goes to the log only.
    pub(crate) fn internal(cause: impl Into<String>) -> Self {
        let message = "internal error; the gateway's log has the cause under this X-Request-Id";
        Self::new(ErrorCode::InternalError, message).because(cause)
    }

    /// Adds the cause for the operator; it goes to the log only.
    pub(crate) fn because(mut self, cause: impl Into<String>) -> Self {
        self.cause = Some(cause.into());
        self
    }

    /// Turns a fault of the gateway into a 502, because the metrics endpoint has no 500. Faults of
    /// the caller stay.
    pub(crate) fn or_metrics_unavailable(mut self) -> Self {
        if !matches!(self.code, ErrorCode::InternalError | ErrorCode::TemporarilyUnavailable) {
            return self;
        }
        let message = "the metrics store failed or timed out";
        let mut error = Self::new(ErrorCode::MetricsUnavailable, message);
        error.cause = self.cause.take();
        error
    }

    /// Closes the connection after the response.
    pub(crate) fn closing(mut self) -> Self {
        self.closes = true;
        self
    }

    pub(crate) fn code(&self) -> ErrorCode {
        self.code
    }

    /// Whether the request itself is at fault, not its rate and not the gateway.
    pub(crate) fn is_of_the_request(&self) -> bool {
        let status = self.status.unwrap_or_else(|| status_of(self.code));
        status.is_client_error() && status != StatusCode::TOO_MANY_REQUESTS
    }

    /// The response if the same request exceeds a limit.
    pub(crate) fn beyond(self, excess: Excess) -> Self {
        Self { closes: self.closes, ..Self::rate_limited(excess) }
    }

    /// The cause for the operator's log, if the gateway failed.
    pub(crate) fn take_cause(&mut self) -> Option<String> {
        self.cause.take()
    }

    pub(crate) fn into_response(self) -> Response<Body> {
        let status = self.status.unwrap_or_else(|| status_of(self.code));
        let body = json::Object::new()
            .text("error", self.code.as_str())
            .text("message", &self.message)
            .finish();
        let mut response = json::answer(status, body);
        for (name, value) in self.headers {
            if let Ok(value) = HeaderValue::from_str(&value) {
                response.headers_mut().insert(HeaderName::from_static(name), value);
            }
        }
        if self.closes {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }

    /// Adds a cookie, for a browser that took a page although this request failed.
    pub(crate) fn with_cookie(self, cookie: String) -> Self {
        self.with("set-cookie", cookie)
    }

    fn with(mut self, name: &'static str, value: impl Into<Cow<'static, str>>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

impl From<Excess> for HttpError {
    fn from(excess: Excess) -> Self {
        Self::rate_limited(excess)
    }
}

impl From<AppError> for HttpError {
    fn from(error: AppError) -> Self {
        match error {
            AppError::Request(error) => Self::new(error.code, remedy::text_of(error)),
            AppError::Response(error) => Self::new(error.code(), error.to_string()),
            AppError::InvalidCursor => Self::invalid_cursor(),
            AppError::RequestObject(error) => Self::new(error.code(), error.to_string()),
            AppError::NotFound => Self::not_found(),
            AppError::LacksScope(scope) => Self::insufficient_scope(scope),
            AppError::BeyondKey(message) => Self::new(ErrorCode::InsufficientScope, message),
            AppError::TooManyKeys => {
                let message =
                    "this client has reached its limit of live API keys; revoke one first";
                Self::new(ErrorCode::QuotaExceeded, message)
            }
            AppError::TooManySessions => Self::too_many_sessions(),
            AppError::KeyGone => Self::invalid_api_key(),
            AppError::TooMany(excess) => excess.into(),
            AppError::Busy | AppError::OutOfDate => Self::temporarily_unavailable(),
            AppError::Unavailable(cause) => Self::temporarily_unavailable().because(cause),
            AppError::Fault(cause) => Self::internal(cause),
        }
    }
}

impl From<StreamEnd> for HttpError {
    /// For a stream that ends before it starts.
    fn from(end: StreamEnd) -> Self {
        match end {
            StreamEnd::Settled | StreamEnd::Deleted => Self::not_found(),
            StreamEnd::KeyGone => Self::invalid_api_key(),
            StreamEnd::AfterTheLast => {
                Self::invalid_request("after is beyond the last event of the session")
            }
            StreamEnd::TooMany => Self::too_many_streams(),
            StreamEnd::Fault(cause) => Self::internal(cause),
        }
    }
}

/// Decisions 16 and 25, specification 7.
fn status_of(code: ErrorCode) -> StatusCode {
    StatusCode::from_u16(code.http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    mod texts;

    use super::*;

    #[test]
    fn only_internal_error_is_500() {
        for code in ErrorCode::ALL {
            let fault = status_of(*code) == StatusCode::INTERNAL_SERVER_ERROR;
            assert_eq!(fault, *code == ErrorCode::InternalError, "{code}");
        }
    }

    #[test]
    fn the_cause_of_a_fault_is_not_sent() {
        let cause = || "disk sentinel".to_owned();
        for (fault, code) in [
            (AppError::Fault(cause()), ErrorCode::InternalError),
            (AppError::Unavailable(cause()), ErrorCode::TemporarilyUnavailable),
        ] {
            let error = HttpError::from(fault);
            assert_eq!(error.code(), code);
            assert!(!error.message.contains("sentinel"));
            assert_eq!(error.cause.as_deref(), Some("disk sentinel"));
        }
    }
}
