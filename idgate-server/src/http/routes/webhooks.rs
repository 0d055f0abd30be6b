//! The tenant's webhook endpoint, its pending and its failed deliveries (specification 2, 4).

use hyper::StatusCode;
use zeroize::Zeroizing;

use crate::app::AppError;
use crate::http::auth::Authorized;
use crate::http::call::Call;
use crate::http::error::{Answered, HttpError};
use crate::http::json::{self, Object};
use crate::http::{json_body, paging};
use idgate_store::{DeadLetter, EndpointRecord, HostStatus, Pending};

/// `GET /v1/webhook-endpoint`
pub(crate) async fn read(call: Call<'_>, tenant: Authorized) -> Answered {
    let endpoint = call.gateway.app.webhook_endpoint(tenant.caller()).await;
    let endpoint = endpoint.map_err(no_endpoint)?;
    Ok(json::answer(StatusCode::OK, endpoint_json(&endpoint, None)))
}

/// `PUT /v1/webhook-endpoint`
pub(crate) async fn put(call: Call<'_>, tenant: Authorized) -> Answered {
    let app = &call.gateway.app;
    let received = json_body::read(call).await?;
    let put = app.put_webhook_endpoint(tenant.caller(), &received.bytes);
    let (endpoint, secret) = put.await?;
    let body = endpoint_json(&endpoint, Some(secret.expose()));
    Ok(json::answer(StatusCode::OK, body))
}

/// `DELETE /v1/webhook-endpoint`
pub(crate) async fn remove(call: Call<'_>, tenant: Authorized) -> Answered {
    let removed = call.gateway.app.remove_webhook_endpoint(tenant.caller()).await;
    removed.map_err(no_endpoint)?;
    Ok(json::no_content())
}

/// `GET /v1/webhooks/failures`
pub(crate) async fn failures(call: Call<'_>, tenant: Authorized) -> Answered {
    let page = paging::page(call.head.uri.query())?;
    let app = &call.gateway.app;
    let page = app.webhook_failures(tenant.caller(), page.cursor.as_deref(), page.limit).await?;
    let body = Object::new()
        .array("failures", page.letters.iter().map(failure_json))
        .page_end(page.next_cursor.as_deref());
    Ok(json::answer(StatusCode::OK, body.finish()))
}

/// `POST /v1/webhook-endpoint/test`: answers with the outcome of one delivery.
pub(crate) async fn test(mut call: Call<'_>, tenant: Authorized) -> Answered {
    let app = &call.gateway.app;
    let tested = call.not_held(app.test_webhook(tenant.caller())).await?;
    let tested = tested.map_err(no_endpoint)?;
    let body = Object::new()
        .text("id", &tested.id)
        .boolean("delivered", tested.error.is_none())
        .raw("http_status", &tested.status.map_or("null".into(), |status| status.to_string()))
        .text_or_null("error_message", tested.error.as_deref())
        .raw("latency_ms", &tested.latency_ms.to_string());
    Ok(json::answer(StatusCode::OK, body.finish()))
}

/// `GET /v1/webhooks/pending`
pub(crate) async fn pending(call: Call<'_>, tenant: Authorized) -> Answered {
    let page = paging::page(call.head.uri.query())?;
    let app = &call.gateway.app;
    let page = app.pending_webhooks(tenant.caller(), page.cursor.as_deref(), page.limit).await?;
    let body = Object::new()
        .array("pending", page.notifications.iter().map(pending_json))
        .page_end(page.next_cursor.as_deref());
    Ok(json::answer(StatusCode::OK, body.finish()))
}

/// `POST /v1/webhooks/failures/{failureId}/retry`: answers before the attempt.
pub(crate) async fn retry(call: Call<'_>, tenant: Authorized) -> Answered {
    let replay = call.gateway.app.retry_webhook(tenant.caller(), call.id).await;
    let replay =
        replay.map_err(|error| HttpError::absent(error, "there is no such failed delivery"))?;
    let body = Object::new()
        .text("status", "REPLAYED")
        .text("id", &replay.id)
        .text("session_id", &replay.session_id);
    Ok(json::answer(StatusCode::OK, body.finish()))
}

/// More than all of an endpoint except its secret: a URL of 2000 characters, a note of 500.
const ENDPOINT_ROOM: usize = 24 * 1024;

fn no_endpoint(error: AppError) -> HttpError {
    HttpError::absent(error, "this client has no webhook endpoint")
}

/// `WebhookEndpoint`; with a secret, `WebhookEndpointSecret`.
fn endpoint_json(endpoint: &EndpointRecord, secret: Option<&str>) -> Zeroizing<Vec<u8>> {
    let note = endpoint.host_review_note.as_deref();
    let note = note.filter(|_| endpoint.host_status == HostStatus::Rejected);
    // Escaping turns one byte into at most six, and an object with a secret must not grow.
    let room = secret.map_or(0, |secret| secret.len().saturating_mul(6));
    let object = Object::with_capacity(room.saturating_add(ENDPOINT_ROOM))
        .text("client_id", &endpoint.client_id)
        .text("url", &endpoint.url)
        .text("created_at", &endpoint.created_at.to_string())
        .text("host_status", endpoint.host_status.as_str())
        .text_or_null("host_review_note", note);
    match secret {
        Some(secret) => object.text("signing_secret", secret).finish(),
        None => object.finish(),
    }
}

/// `WebhookPending`
fn pending_json(pending: &Pending) -> Zeroizing<Vec<u8>> {
    let object = Object::new()
        .text("id", &pending.id)
        .text("session_id", &pending.session_id)
        .text("status", &pending.status)
        .raw("attempts", &pending.attempts.to_string());
    match pending.next_attempt_at {
        Some(at) => object.text("next_attempt_at", &at.to_string()),
        None => object.boolean("held", true),
    }
    .finish()
}

/// `WebhookFailure`
fn failure_json(letter: &DeadLetter) -> Zeroizing<Vec<u8>> {
    Object::new()
        .text("id", &letter.id)
        .text("session_id", &letter.session_id)
        .text("client_id", &letter.client_id)
        .raw("payload", &letter.payload)
        .text_or_null("error_message", letter.error_message.as_deref())
        .raw("attempts", &letter.attempts.to_string())
        .text("failed_at", &letter.failed_at.to_string())
        .finish()
}
