//! What a page got from its browser, relayed by the tenant's server (decisions 27, OpenID4VP A.4): only
//! who made the session can answer it so.

use hyper::StatusCode;
use idgate_core::limits::MAX_RESPONSE_BYTES;

use super::sessions::{self, Reader};
use super::wallet;
use crate::app::AppError;
use crate::http::admission::rates::RESPONSE;
use crate::http::auth::{Authorized, Scope};
use crate::http::body::{self, Received};
use crate::http::call::Call;
use crate::http::error::{Answered, HttpError};
use crate::http::json;
use idgate_base::spans::carried;

/// `POST /v1/sessions/{sessionId}/dc-api`
pub(crate) async fn relay(call: Call<'_>, tenant: Authorized) -> Answered {
    if !body::has_content_type(&call.head.headers, "application/json") {
        return Err(HttpError::invalid_request("Content-Type must be application/json"));
    }
    let reader = match tenant.may(Scope::SessionRead) {
        true => Reader::Result(None),
        false => Reader::Status,
    };
    let (app, id, limit) = (call.gateway.app.clone(), call.session_id(), call.limit);
    let (caller, rates) = (tenant.caller().clone(), &call.gateway.rates);
    // Nothing much is read, and no memory taken, for a session that takes no answer; and nobody uses up
    // what another client's session has.
    let admission = async {
        app.expects_relay(&caller, &id).await?;
        app.join_trace(&id).await;
        rates.charge_owner(&RESPONSE, id.as_str(), app.now())?;
        rates.share_owner(&RESPONSE, &id).await.map_err(AppError::from)??;
        Ok::<_, HttpError>(())
    };
    let received = call.read_body_and(admission, MAX_RESPONSE_BYTES).await?;
    let received = received.map_err(wallet::refuse_body)?;
    // A task of its own, in a box, as for wallets.
    let work = Box::pin(async move {
        let Received { bytes, held: _until_settled } = received;
        app.relay(&caller, &id, &bytes).await
    });
    limit.lift();
    match tokio::spawn(carried(work)).await {
        Ok(relayed) => match relayed? {
            Some(view) => Ok(json::answer(StatusCode::OK, sessions::status_json(&view, reader))),
            None => Err(wallet::refused()),
        },
        Err(_panic) => Err(HttpError::internal("panic")),
    }
}
