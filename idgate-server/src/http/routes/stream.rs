//! The status stream of a session (specification 6, decisions 12).

use hyper::Response;

use crate::http::auth::Scope;
use crate::http::call::Call;
use crate::http::error::HttpError;
use crate::http::json::Body;
use crate::http::query;
use crate::http::ws::Handshake;

/// `GET /v1/sessions/{sessionId}/ws`
pub(crate) async fn open(mut call: Call<'_>, scope: Scope) -> Result<Response<Body>, HttpError> {
    if call.has_body() {
        // It would be taken for the first frames.
        return Err(HttpError::bad_handshake("a WebSocket upgrade has no body").closing());
    }
    let handshake = Handshake::read(call.head)?;
    let authorized = call.authorize_key(scope, handshake.key()).await?;
    let after = after(call.head.uri.query())?;
    let app = &call.gateway.app;
    let stream = app.open_stream(authorized.into_caller(), &call.session_id(), after).await?;
    call.switch_to(stream)?;
    handshake.accept()
}

/// The event after which the stream goes on; 0: from the first.
fn after(query: Option<&str>) -> Result<u64, HttpError> {
    let Some(text) = query::single(query, "after")? else { return Ok(0) };
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let refused = || HttpError::invalid_request("after must be the seq of an event, in digits");
    match text.parse() {
        Ok(after) if digits => Ok(after),
        _ => Err(refused()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn after_is_a_number_in_digits_given_once() {
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
