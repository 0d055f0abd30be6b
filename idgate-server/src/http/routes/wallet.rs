//! The response endpoint (decisions 6): session, size, then everything else in the core, one
//! commit, and only then a response that says no more than it must.

use hyper::StatusCode;
use idgate_core::ErrorCode;
use idgate_core::limits::MAX_RESPONSE_BYTES;
use idgate_core::verify::WalletReply;
use zeroize::Zeroizing;

use crate::app::AppError;
use crate::http::admission::time_limit::TimeLimit;
use crate::http::body::{self, BodyError, Received};
use crate::http::call::Call;
use crate::http::error::{Answered, HttpError};
use crate::http::json;
use idgate_base::spans::carried;

/// `POST /v1/oid4vp/response/{sessionId}`
pub(crate) async fn respond(call: Call<'_>) -> Answered {
    call.trace.is_answer = true;
    let (app, handle, limit) = (call.gateway.app.clone(), call.handle(), call.limit);
    let admit = call.admission();
    let content_type = body::content_type(&call.head.headers).map(str::to_owned);
    // Nothing is read, and no memory taken, for a session that accepts no answer.
    let received = call.read_body_if(app.expects_answer(&handle), MAX_RESPONSE_BYTES).await?;
    let received = received.map_err(refuse_body)?;
    // Boxed, because a task copies its future more than once.
    let work = Box::pin(async move {
        let Received { bytes, held: _until_settled } = received;
        app.respond(&handle, content_type.as_deref(), &bytes, admit).await
    });
    reply(&to_its_end(limit, carried(work)).await?)
}

/// The outcome of `work`, run as a separate task. If the wallet disconnects, the verification still
/// finishes; a wallet that waits gets the verdict, however long that takes.
pub(super) async fn to_its_end<T: Send + 'static>(
    limit: &TimeLimit,
    work: impl Future<Output = Result<T, AppError>> + Send + 'static,
) -> Result<T, HttpError> {
    limit.lift();
    match tokio::spawn(work).await {
        Ok(done) => Ok(done?),
        Err(_panic) => Err(HttpError::internal("panic")),
    }
}

fn reply(reply: &WalletReply) -> Answered {
    let body = reply.body().ok_or_else(refused)?;
    Ok(json::answer(StatusCode::OK, Zeroizing::new(body.into_bytes())))
}

/// The same for every reason, so that the endpoint is not an oracle.
pub(super) fn refused() -> HttpError {
    HttpError::new(ErrorCode::InvalidPresentation, "the presentation was refused")
}

pub(super) fn refuse_body(error: BodyError) -> HttpError {
    let invalid = |message| HttpError::new(ErrorCode::InvalidResponse, message);
    let error = match error {
        BodyError::TooLarge => {
            HttpError::new(ErrorCode::PayloadTooLarge, "the response is larger than 1 MiB")
        }
        BodyError::TooSlow => invalid("the body did not arrive in time"),
        BodyError::Broken => invalid("the body is incomplete"),
        BodyError::Busy => HttpError::temporarily_unavailable(),
        BodyError::KeyGone => HttpError::invalid_api_key(),
    };
    error.closing()
}
