//! Answers that a page got from its browser, relayed by the tenant's server (decisions 27,
//! OpenID4VP A.4). Only the client that created the session can answer it this way.

use hyper::StatusCode;
use idgate_core::limits::MAX_RESPONSE_BYTES;

use super::sessions::{self, Reader};
use super::wallet;
use crate::http::auth::{Authorized, Scope};
use crate::http::body::{self, Received};
use crate::http::call::Call;
use crate::http::error::Answered;
use crate::http::json;
use idgate_base::spans::carried;

/// `POST /v1/sessions/{sessionId}/dc-api`
pub(crate) async fn relay(call: Call<'_>, tenant: Authorized) -> Answered {
    body::check_is_json(&call.head.headers)?;
    let reader = match tenant.may(Scope::SessionRead) {
        true => Reader::Result(None),
        false => Reader::Status,
    };
    let (app, id, limit) = (call.gateway.app.clone(), call.session_id(), call.limit);
    let (caller, rates) = (tenant.caller().clone(), &call.gateway.rates);
    // Little is read, and no memory taken, for a session that accepts no answer. Other clients
    // cannot use up the session's allowance.
    let admission = async {
        app.expects_relay(&caller, &id).await?;
        app.join_trace(&id).await;
        rates.charge_answer(&id, app.now()).await
    };
    let received = call.read_body_and(admission, MAX_RESPONSE_BYTES).await?;
    let received = received.map_err(wallet::refuse_body)?;
    // Boxed, because a task copies its future more than once.
    let work = Box::pin(async move {
        let Received { bytes, held: _until_settled } = received;
        app.relay(&caller, &id, &bytes).await
    });
    let view = wallet::to_its_end(limit, carried(work)).await?.ok_or_else(wallet::refused)?;
    Ok(json::answer(StatusCode::OK, sessions::status_json(&view, reader)))
}
