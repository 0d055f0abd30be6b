//! The response endpoint (decisions 6): session, size, then everything else in the core, then one
//! commit, and only then an answer that says no more than it must.

use hyper::{Response, StatusCode};
use idgate_core::ErrorCode;
use idgate_core::limits::MAX_RESPONSE_BYTES;
use idgate_core::response::WalletResponse;
use idgate_core::verify::WalletReply;

use crate::http::body::{self, BodyError, Received};
use crate::http::call::Call;
use crate::http::error::HttpError;
use crate::http::json::{self, Body, Object};

/// `POST /v1/oid4vp/response/{sessionId}`
pub(crate) async fn respond(call: Call<'_>) -> Result<Response<Body>, HttpError> {
    call.trace.is_answer = true;
    let (app, id, limit) = (call.gateway.app.clone(), call.session_id(), call.limit);
    let content_type = body::content_type(&call.head.headers).map(str::to_owned);
    // Nothing is read, and no memory taken, for a session that takes no answer.
    let received = call.read_body_if(app.expects_answer(&id), MAX_RESPONSE_BYTES).await?;
    let received = received.map_err(refuse_body)?;
    let work = async move {
        let Received { bytes, held: _until_settled } = received;
        app.respond(&id, WalletResponse::new(content_type.as_deref(), &bytes)).await
    };
    // A task of its own: a wallet that hangs up does not leave its session half verified. One that
    // waits is told what the task decided, and never that nothing was.
    limit.lift();
    match tokio::spawn(work).await {
        Ok(answer) => reply(answer?),
        Err(_panic) => Err(HttpError::internal("panic")),
    }
}

fn reply(reply: WalletReply) -> Result<Response<Body>, HttpError> {
    match reply {
        WalletReply::Accepted { redirect_uri } => Ok(ok(redirect_uri.as_deref())),
        WalletReply::ErrorNoted => Ok(ok(None)),
        WalletReply::Refused => Err(refused()),
        _ => Err(HttpError::internal("a reply that this server does not know")),
    }
}

fn ok(redirect_uri: Option<&str>) -> Response<Body> {
    let mut object = Object::new().text("status", "ok");
    if let Some(uri) = redirect_uri {
        object = object.text("redirect_uri", uri);
    }
    json::answer(StatusCode::OK, object.finish())
}

/// The same whatever the reason: the endpoint is not an oracle.
fn refused() -> HttpError {
    HttpError::new(ErrorCode::InvalidPresentation, "the presentation was refused")
}

fn refuse_body(error: BodyError) -> HttpError {
    let invalid = |message| HttpError::new(ErrorCode::InvalidResponse, message);
    let error = match error {
        BodyError::TooLarge => {
            HttpError::new(ErrorCode::PayloadTooLarge, "the response is larger than 1 MiB")
        }
        BodyError::TooSlow => invalid("the body did not arrive in time"),
        BodyError::Broken => invalid("the body is incomplete"),
        BodyError::Busy => HttpError::temporarily_unavailable(),
    };
    error.closing()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    #[tokio::test]
    async fn redirect_uri_is_there_only_when_the_session_has_one() {
        let bytes = |response: Response<Body>| async {
            response.into_body().collect().await.unwrap().to_bytes()
        };
        assert_eq!(bytes(ok(None)).await, r#"{"status":"ok"}"#);
        let with = bytes(ok(Some("https://rp.example/?response_code=x"))).await;
        let want = r#"{"status":"ok","redirect_uri":"https://rp.example/?response_code=x"}"#;
        assert_eq!(with, want);
    }
}
