//! API keys for tenants (specification 2, 4; decisions 10).

use hyper::StatusCode;
use serde_json::json;

use crate::app::{ApiKeySecret, AppError};
use crate::http::auth::Authorized;
use crate::http::call::Call;
use crate::http::error::{Answered, HttpError};
use crate::http::json::{self, Object};
use crate::http::{json_body, paging};
use idgate_store::ApiKeyRecord;

/// `GET /v1/api-keys`: one page if the query asks for it, otherwise all live keys and the newest
/// others.
pub(crate) async fn list(call: Call<'_>, tenant: Authorized) -> Answered {
    let (app, query) = (&call.gateway.app, call.head.uri.query());
    let keys = |keys: &[ApiKeyRecord]| {
        Object::new().array("api_keys", keys.iter().map(key_json).map(Object::finish))
    };
    let Some(page) = paging::page_if_asked(query)? else {
        let listed = app.api_keys(tenant.caller()).await?;
        return Ok(json::answer(StatusCode::OK, keys(&listed).finish()));
    };
    let page = app.api_key_page(tenant.caller(), page.cursor.as_deref(), page.limit).await?;
    let body = keys(&page.keys).page_end(page.next_cursor.as_deref());
    Ok(json::answer(StatusCode::OK, body.finish()))
}

/// `POST /v1/api-keys`
pub(crate) async fn create(call: Call<'_>, tenant: Authorized) -> Answered {
    let app = &call.gateway.app;
    let received = json_body::read(call).await?;
    let made = app.create_api_key(tenant.caller(), &received.bytes).await?;
    Ok(json::answer(StatusCode::CREATED, secret_json(&made)))
}

/// `DELETE /v1/api-keys/{id}`
pub(crate) async fn revoke(call: Call<'_>, tenant: Authorized) -> Answered {
    let revoked = call.gateway.app.revoke_api_key(tenant.caller(), call.id).await;
    revoked.map_err(no_such_key)?;
    Ok(json::no_content())
}

/// `POST /v1/api-keys/{id}/rotate`
pub(crate) async fn rotate(call: Call<'_>, tenant: Authorized) -> Answered {
    let rotated = call.gateway.app.rotate_api_key(tenant.caller(), call.id).await;
    Ok(json::answer(StatusCode::OK, secret_json(&rotated.map_err(no_such_key)?)))
}

fn no_such_key(error: AppError) -> HttpError {
    HttpError::absent(error, "there is no such API key")
}

/// `APIKey`
fn key_json(key: &ApiKeyRecord) -> Object {
    Object::new()
        .text("id", &key.id)
        .text_or_null("name", key.name.as_deref())
        .raw("scopes", &json!(key.scopes).to_string())
        .boolean("revoked", key.revoked)
        .boolean("livemode", key.livemode)
        .text("created_at", &key.created_at.to_string())
        .text_or_null("expires_at", key.expires_at.map(|at| at.to_string()).as_deref())
        .text_or_null("last_used_at", key.last_used_at.map(|at| at.to_string()).as_deref())
}

/// `APIKeySecret`: a key without a scope list has all scopes, and the member is omitted.
fn secret_json(made: &ApiKeySecret) -> zeroize::Zeroizing<Vec<u8>> {
    let ApiKeySecret { record, key, .. } = made;
    Object::with_capacity(1024)
        .text("id", &record.id)
        .text("api_key", key.expose())
        .text_or_null("name", record.name.as_deref())
        .texts_if("scopes", record.scopes.as_deref())
        .boolean("livemode", record.livemode)
        .text_or_null("expires_at", record.expires_at.map(|at| at.to_string()).as_deref())
        .text_or_null("last_used_at", record.last_used_at.map(|at| at.to_string()).as_deref())
        .finish()
}
