//! One request from head to response: bounded in time, isolated against panics, logged in one line.

use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;

use hyper::body::{Body as _, Incoming};
use hyper::header::{CACHE_CONTROL, CONNECTION, HeaderName, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use hyper::http::request::Parts;
use hyper::upgrade::OnUpgrade;
use hyper::{Request, Response, StatusCode};
use idgate_core::ErrorCode;
use idgate_core::shell::random_id;

use super::admission::connections::Slot;
use super::admission::rates;
use super::admission::time_limit::TimeLimit;
use super::call::{Call, Trace};
use super::error::{Answered, HttpError};
use super::gateway::Gateway;
use super::json::Body;
use super::page::ROOT;
use super::routes::page;
use super::ws::Upgrade;
use super::{cors, head, peer, router};
use crate::log::{Line, RequestLine, What};
use crate::panics::{Panicked, unpanicked};
use idgate_base::clock::Stopwatch;
use idgate_base::entropy::OsEntropy;
use idgate_base::rate_limit::Standing;
use idgate_base::spans::{Key, Kind, Recording, Value};

const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const RATELIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATELIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// Answers one request on the connection in `slot`; also returns what the connection is to become.
pub(crate) async fn answer(
    gateway: &Gateway,
    slot: &Slot,
    request: Request<Incoming>,
) -> (Response<Body>, Option<Upgrade>) {
    match gateway.tracer.as_ref().and_then(|tracer| tracer.begin(Kind::Server)) {
        None => answer_in(gateway, slot, request, None).await,
        Some(recording) => {
            let answer = pin!(answer_in(gateway, slot, request, Some(&recording)));
            // Boxed, so that requests that are not recorded stay small.
            Box::pin(recording.around(answer)).await
        }
    }
}

async fn answer_in(
    gateway: &Gateway,
    slot: &Slot,
    request: Request<Incoming>,
    recording: Option<&Arc<Recording>>,
) -> (Response<Body>, Option<Upgrade>) {
    let watch = Stopwatch::new();
    let (mut head, body) = request.into_parts();
    let connection = head.extensions.remove::<OnUpgrade>();
    let has_body = !body.is_end_stream();
    let mut trace = Trace::default();
    let peer = peer::client(slot.peer, &head.headers, &gateway.trusted_proxies);
    let limit = TimeLimit::new(gateway.clock().clone(), gateway.limits.request_timeout);
    let (head_ref, trace_ref) = (&head, &mut trace);
    let call = Call {
        gateway,
        head: head_ref,
        id: "",
        trace: trace_ref,
        limit: &limit,
        slot,
        peer,
        body,
        connection,
        page: None,
        meter: None,
    };
    let answered = {
        // Pinned here, so that the large future is not moved again below.
        let dispatched = pin!(check_and_dispatch(call));
        unpanicked(limit.bound(dispatched)).await
    };
    let outcome = match answered {
        Ok(Some(outcome)) => outcome,
        Ok(None) => Err(HttpError::temporarily_unavailable().closing()),
        Err(Panicked) => Err(HttpError::internal("panic").closing()),
    };
    let mut response = outcome.unwrap_or_else(|error| {
        let refusal = refuse(error, &mut trace);
        if is_of_page(gateway, &head) { page::refusal(refusal, &head) } else { refusal }
    });
    let switches = response.status() == StatusCode::SWITCHING_PROTOCOLS;
    // Otherwise the rest of the body would be parsed as the next request's head.
    let is_last = has_body && !trace.body_read || gateway.is_draining() || slot.is_displaced();
    if is_last && !switches {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    let request_id = random_id("req_", &mut OsEntropy).unwrap_or_default();
    add_common_headers(&mut response, &request_id);
    add_rate_headers(&mut response, trace.standing);
    if trace.is_of_wallets {
        cors::add(gateway, &head.headers, response.headers_mut());
    }
    let (us, status) = (watch.elapsed_us(), response.status().as_u16());
    let method = router::known_method(&head.method);
    gateway.app.store().telemetry().request(trace.route, method, status, us);
    let is_logged = is_logged(gateway, &trace, status, peer);
    if is_logged {
        log(&trace, &head, &response, &request_id, peer, us);
    }
    match recording {
        // Requests that strangers can repeat endlessly must fill neither the log nor a collector.
        Some(recording) if !is_logged || is_asked_each_second(trace.route) => recording.forget(),
        Some(recording) => end(recording, &trace, method, status),
        None => {}
    }
    (response, trace.upgrade.filter(|_| switches))
}

/// Whether this route is polled by monitoring.
fn is_asked_each_second(route: Option<&str>) -> bool {
    matches!(route, Some("/healthz" | "/readyz" | "/metrics"))
}

/// Names the span by method and template, never by path.
fn end(recording: &Recording, trace: &Trace, method: &'static str, status: u16) {
    let name = match trace.route {
        Some(route) => format!("{method} {route}"),
        None => method.to_owned(),
    };
    let mut attributes = vec![
        (Key::Method, Value::Word(if method == "other" { "_OTHER" } else { method })),
        (Key::Status, Value::Number(i64::from(status))),
    ];
    attributes.extend(trace.route.map(|route| (Key::Route, Value::Word(route))));
    attributes.extend(trace.error.map(|code| (Key::Error, Value::Word(code.as_str()))));
    let livemode = trace.caller.as_ref().map(|caller| caller.livemode);
    attributes.extend(livemode.map(|live| (Key::Livemode, Value::Flag(live))));
    recording.end(name, attributes, status >= 500);
}

async fn check_and_dispatch(call: Call<'_>) -> Answered {
    head::check(call.head)?;
    router::dispatch(call).await
}

fn refuse(mut error: HttpError, trace: &mut Trace) -> Response<Body> {
    trace.error = Some(error.code());
    trace.cause = error.take_cause();
    error.into_response()
}

/// Whether the path is one that a person's browser opens, and pages are on.
fn is_of_page(gateway: &Gateway, head: &Parts) -> bool {
    head.uri.path().starts_with(ROOT) && gateway.app.shows_pages()
}

fn add_common_headers(response: &mut Response<Body>, request_id: &str) {
    let headers = response.headers_mut();
    // Handlers of cacheable responses set it themselves.
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if let Ok(value) = HeaderValue::from_str(request_id) {
        headers.insert(X_REQUEST_ID, value);
    }
}

/// Whether a request gets a log line of its own. Requests with a valid key and accepted answers do,
/// because strangers cannot produce them. Failed requests of a tenant, other requests of a peer,
/// and faults of the gateway are rationed separately, so that faults are not lost among the rest.
fn is_logged(gateway: &Gateway, trace: &Trace, status: u16, peer: IpAddr) -> bool {
    let (noise, now) = (&gateway.noise, gateway.app.now());
    if let (Some(_), Some(code)) = (&trace.cause, trace.error) {
        let (route, code) = (trace.route.unwrap_or("none"), code.as_str());
        let admitted = noise.admits(Line::Fault(route, code), now);
        if !admitted {
            noise.count_fault(route, code);
        }
        return admitted;
    }
    if let Some(caller) = &trace.caller {
        let client_id = caller.client_id.as_str();
        let refused = status == 429 || status >= 500;
        let admitted = !refused || noise.admits(Line::Client(client_id), now);
        if !admitted {
            noise.count_of_client(client_id, status);
        }
        return admitted;
    }
    let earned = trace.is_admin || trace.is_answer && status == 200;
    let admitted = earned || noise.admits(Line::Peer(peer::limit_key(peer)), now);
    if !admitted {
        noise.count(peer::Truncated(peer).to_string(), What::Request(status));
    }
    admitted
}

/// Unless the response itself already says that nothing is left.
fn add_rate_headers(response: &mut Response<Body>, standing: Option<Standing>) {
    let Some(Standing { policy, left, full_in_ms }) = standing else { return };
    let remaining = rates::remaining(policy, left, full_in_ms.div_ceil(1000));
    for (name, value) in [(RATELIMIT, remaining), (RATELIMIT_POLICY, rates::policy_field(policy))] {
        if let Ok(value) = HeaderValue::from_str(&value) {
            response.headers_mut().entry(name).or_insert(value);
        }
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
        method: router::known_method(&head.method),
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
