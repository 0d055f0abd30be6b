//! One request from head to answer: bounded in time, safe against panics, logged in one line.

use std::future::{Future, poll_fn};
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use hyper::body::{Body as _, Incoming};
use hyper::header::{CACHE_CONTROL, CONNECTION, HeaderName, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use hyper::http::request::Parts;
use hyper::upgrade::OnUpgrade;
use hyper::{Request, Response, StatusCode};
use idgate_core::ErrorCode;
use idgate_core::ids::{SessionId, random_id};

use super::auth::{self, AdminAuthorized, Authorized, Scope};
use super::body::{self, BodyError, Bounds, Received};
use super::error::HttpError;
use super::json::Body;
use super::rates::{TenantRate, WalletRate};
use super::ws::Upgrade;
use super::{Gateway, head, peer, router};
use crate::api_key::ApiKey;
use crate::app::StatusStream;
use crate::clock::Stopwatch;
use crate::entropy::OsEntropy;
use crate::log::RequestLine;
use crate::store::Caller;

const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// A request on its way through the checks of its route.
pub(crate) struct Call<'a> {
    pub(crate) gateway: &'a Gateway,
    pub(crate) head: &'a Parts,
    pub(crate) trace: &'a mut Trace,
    /// Who sends it, as far as trusted proxies say.
    peer: IpAddr,
    body: Incoming,
    /// The connection, when the request asks for another protocol.
    connection: Option<OnUpgrade>,
}

/// What is known about a request once it is answered, panic or not.
#[derive(Default)]
pub(crate) struct Trace {
    pub(crate) route: Option<&'static str>,
    /// Whether the interface has a 429 here.
    pub(crate) lists_429: bool,
    caller: Option<Arc<Caller>>,
    body_read: bool,
    upgrade: Option<Upgrade>,
    error: Option<ErrorCode>,
    cause: Option<String>,
}

impl<'a> Call<'a> {
    /// Proves that the caller's key is good and has the scope `S`.
    pub(crate) fn authorize<S: Scope>(&mut self) -> Result<Authorized<S>, HttpError> {
        self.authorize_key(auth::api_key(&self.head.headers).as_ref())
    }

    /// The same for a key that may come from elsewhere.
    pub(crate) fn authorize_key<S: Scope>(
        &mut self,
        key: Option<&ApiKey>,
    ) -> Result<Authorized<S>, HttpError> {
        let caller = auth::authenticate(&self.gateway.app, key)
            .map_err(|error| self.refuse_authentication(error))?;
        self.trace.caller = Some(caller.clone());
        Authorized::require(caller)
    }

    /// Proves that the request carries a good admin token.
    pub(crate) fn authorize_admin(&self) -> Result<AdminAuthorized, HttpError> {
        AdminAuthorized::require(&self.gateway.app, &self.head.headers)
            .map_err(|error| self.refuse_authentication(error))
    }

    /// Charges a request of a tenant.
    pub(crate) fn limit_tenant(&self, rate: &TenantRate, caller: &Caller) -> Result<(), HttpError> {
        Ok(self.gateway.rates.charge_tenant(rate, caller, self.gateway.app.now())?)
    }

    /// Charges a request of a wallet.
    pub(crate) fn limit_wallet(&self, rate: &WalletRate, id: &SessionId) -> Result<(), HttpError> {
        Ok(self.gateway.rates.charge_wallet(rate, id, self.peer, self.gateway.app.now())?)
    }

    /// What a failed authentication is answered: beyond its peer's limit a 429, or the 401 and the
    /// end of the connection where a 429 is not in the interface.
    pub(crate) fn refuse_authentication(&self, error: HttpError) -> HttpError {
        if !matches!(error.code(), ErrorCode::InvalidApiKey | ErrorCode::InvalidAdminToken) {
            return error;
        }
        match self.gateway.rates.charge_failure(self.peer, self.gateway.app.now()) {
            Ok(()) => error,
            Err(excess) if self.trace.lists_429 => excess.into(),
            Err(_) => error.closing(),
        }
    }

    pub(crate) fn has_body(&self) -> bool {
        !self.body.is_end_stream()
    }

    /// Makes the connection a status stream once the 101 is sent.
    pub(crate) fn switch_to(self, stream: StatusStream) -> Result<(), HttpError> {
        let message = "this connection cannot be upgraded";
        let connection = self.connection.ok_or_else(|| HttpError::bad_handshake(message))?;
        let times = self.gateway.limits.streams.clone();
        self.trace.upgrade = Some(Upgrade { connection, stream, times });
        Ok(())
    }

    /// Reads the body, once every check before it passed.
    pub(crate) async fn read_body(self, limit: usize) -> Result<Received, BodyError> {
        let trusted = peer::is_trusted(self.peer, &self.gateway.trusted_proxies);
        let bounds = Bounds {
            bytes: limit,
            time: self.gateway.limits.body_timeout,
            large: &self.gateway.large,
            peer: (!trusted).then(|| peer::limit_key(self.peer)),
        };
        let received = body::read(self.body, bounds).await;
        self.trace.body_read = received.is_ok();
        received
    }
}

/// Answers one request of the peer at `from`; gives also what the connection is to become.
pub(crate) async fn answer(
    gateway: &Gateway,
    from: IpAddr,
    request: Request<Incoming>,
) -> (Response<Body>, Option<Upgrade>) {
    let watch = Stopwatch::new();
    let (mut head, body) = request.into_parts();
    let connection = head.extensions.remove::<OnUpgrade>();
    let has_body = !body.is_end_stream();
    let mut trace = Trace::default();
    let peer = peer::client(from, &head.headers, &gateway.trusted_proxies);
    let call = Call { gateway, head: &head, trace: &mut trace, peer, body, connection };
    let limited = tokio::time::timeout(gateway.limits.request_timeout, check_and_dispatch(call));
    let outcome = match unpanicked(limited).await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(_late)) => Err(HttpError::temporarily_unavailable().closing()),
        Err(Panicked) => Err(HttpError::internal("panic").closing()),
    };
    let mut response = outcome.unwrap_or_else(|error| refuse(error, &mut trace));
    if has_body && !trace.body_read {
        // What the peer still sends would be taken for the next request's head.
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    let request_id = random_id("req_", &mut OsEntropy).unwrap_or_default();
    add_common_headers(&mut response, &request_id);
    let (us, status) = (watch.elapsed_us(), response.status().as_u16());
    let method = router::known_method(&head.method);
    gateway.app.store().telemetry().request(trace.route, method, status, us);
    log(&trace, &head, &response, &request_id, peer, us);
    let switches = response.status() == StatusCode::SWITCHING_PROTOCOLS;
    (response, trace.upgrade.filter(|_| switches))
}

async fn check_and_dispatch(call: Call<'_>) -> Result<Response<Body>, HttpError> {
    head::check(call.head)?;
    router::dispatch(call).await
}

fn refuse(mut error: HttpError, trace: &mut Trace) -> Response<Body> {
    trace.error = Some(error.code());
    trace.cause = error.take_cause();
    error.into_response()
}

fn add_common_headers(response: &mut Response<Body>, request_id: &str) {
    let headers = response.headers_mut();
    // Answers that may be kept say so themselves.
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if let Ok(value) = HeaderValue::from_str(request_id) {
        headers.insert(X_REQUEST_ID, value);
    }
}

fn log(
    trace: &Trace,
    head: &Parts,
    response: &Response<Body>,
    request_id: &str,
    peer: IpAddr,
    latency_us: u64,
) {
    let caller = trace.caller.as_deref();
    RequestLine {
        request_id,
        method: super::router::known_method(&head.method),
        route: trace.route,
        status: response.status().as_u16(),
        error: trace.error.map(ErrorCode::as_str),
        cause: trace.cause.as_deref(),
        latency_us,
        client_id: caller.map(|caller| caller.client_id.as_str()),
        key_id: caller.map(|caller| caller.key_id.as_str()),
        livemode: caller.map(|caller| caller.livemode),
        peer: &peer::Truncated(peer),
        bytes: response.body().size_hint().lower(),
    }
    .write();
}

/// A handler panicked.
struct Panicked;

/// Turns a panic of `future` into a value.
async fn unpanicked<F: Future>(future: F) -> Result<F::Output, Panicked> {
    let mut future = pin!(future);
    poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
        Ok(Poll::Pending) => Poll::Pending,
        Ok(Poll::Ready(output)) => Poll::Ready(Ok(output)),
        Err(_payload) => Poll::Ready(Err(Panicked)),
    })
    .await
}
