//! The status stream of a session (specification 6, decisions 12 and 26).

use hyper::header::{CONNECTION, CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{HeaderMap, Response};

use crate::http::auth::{Authorized, Scope};
use crate::http::call::Call;
use crate::http::error::{Answered, HttpError};
use crate::http::events::Events;
use crate::http::json::Body;
use crate::http::query;
use crate::http::ws::Handshake;

/// `GET /v1/sessions/{sessionId}/ws`
pub(crate) async fn open(mut call: Call<'_>, scope: Scope) -> Answered {
    if call.has_body() {
        // The body would be parsed as the first frames.
        return Err(HttpError::bad_handshake("a WebSocket upgrade must not have a body").closing());
    }
    let handshake = Handshake::read(call.head)?;
    let authorized = call.authorize_key(scope, handshake.key()).await?;
    let after = after(call.head.uri.query())?;
    let app = &call.gateway.app;
    let stream = app.open_stream(authorized.into_caller(), &call.session_id(), after).await?;
    call.switch_to(stream)?;
    handshake.accept()
}

/// `GET /v1/sessions/{sessionId}/events`
pub(crate) async fn events(call: Call<'_>, tenant: Authorized) -> Answered {
    // Parsed even if the header takes precedence: a known parameter must not be silently invalid.
    let asked = after(call.head.uri.query())?;
    let after = last_event(&call.head.headers)?.unwrap_or(asked);
    let (gateway, id) = (call.gateway, call.session_id());
    let stream = gateway.app.open_stream(tenant.into_caller(), &id, after).await?;
    let (times, busy) = (&gateway.limits.streams, call.slot.busy());
    let events = Events::begin(stream, times, gateway.drains(), busy).await?;
    let mut response = Response::new(Body::Events(events));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    // Nothing else is sent on this connection, and proxies must not buffer it.
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    headers.insert(X_ACCEL_BUFFERING, HeaderValue::from_static("no"));
    Ok(response)
}

const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");
const LAST_EVENT_ID: &str = "last-event-id";

/// The last event that a reconnecting client has seen, from the header that its library sends.
fn last_event(headers: &HeaderMap) -> Result<Option<u64>, HttpError> {
    let mut values = headers.get_all(LAST_EVENT_ID).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let refused = "Last-Event-ID must be the seq of an event, in digits, and be given once";
    let number = value.to_str().ok().and_then(seq).filter(|_| values.next().is_none());
    number.map(Some).ok_or_else(|| HttpError::invalid_request(refused))
}

/// The event after which the stream continues; 0 starts at the first.
fn after(query: Option<&str>) -> Result<u64, HttpError> {
    let Some(text) = query::single(query, "after")? else { return Ok(0) };
    let refused = || HttpError::invalid_request("after must be the seq of an event, in digits");
    seq(&text).ok_or_else(refused)
}

fn seq(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn last_event_id_is_a_number_in_digits_and_not_repeated() {
        let headers = |values: &[&'static str]| {
            let mut map = HeaderMap::new();
            for value in values {
                map.append(LAST_EVENT_ID, HeaderValue::from_static(value));
            }
            map
        };
        assert_eq!(last_event(&headers(&[])).unwrap(), None);
        assert_eq!(last_event(&headers(&["17"])).unwrap(), Some(17));
        for bad in [&["", ""][..1], &["x"], &["-1"], &["+1"], &["1 "], &["1", "1"], &["1,1"]] {
            assert!(last_event(&headers(bad)).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn after_is_a_number_in_digits_and_not_repeated() {
        assert_eq!(after(None).unwrap(), 0);
        assert_eq!(after(Some("x=1")).unwrap(), 0);
        assert_eq!(after(Some("after=17")).unwrap(), 17);
        assert_eq!(after(Some("after=18446744073709551615")).unwrap(), u64::MAX);
        for bad in
            ["", "-1", "%2B1", "1.0", "1e3", "x", "%201", "18446744073709551616", "1&after=1"]
        {
            assert!(after(Some(&format!("after={bad}"))).is_err(), "{bad}");
        }
    }
}
