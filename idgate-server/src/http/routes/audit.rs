//! A tenant's own audit log (specification 4, decisions 13).

use hyper::StatusCode;
use zeroize::Zeroizing;

use crate::http::auth::Authorized;
use crate::http::call::Call;
use crate::http::error::Answered;
use crate::http::json::{self, Object};
use crate::http::paging;
use idgate_store::ListedEntry;

/// `GET /v1/audit-log`
pub(crate) async fn list(call: Call<'_>, tenant: Authorized) -> Answered {
    let page = paging::page(call.head.uri.query())?;
    let app = &call.gateway.app;
    let page = app.audit_page(tenant.caller(), page.cursor.as_deref(), page.limit).await?;
    let body = Object::new()
        .array("entries", page.entries.iter().map(entry_json))
        .page_end(page.next_cursor.as_deref());
    Ok(json::answer(StatusCode::OK, body.finish()))
}

/// `AuditEntry` (specification 2, decisions 25): a member is absent if the entry does not have it.
fn entry_json(listed: &ListedEntry) -> Zeroizing<Vec<u8>> {
    let ListedEntry { entry, prev_hash, entry_hash, chain_intact } = listed;
    let mut object = Object::new();
    if let Some(entry) = entry {
        object = object
            .text_if("session_id", entry.session_id.as_deref())
            .text("status", &entry.status)
            .texts_if("credential_types", entry.credential_types.as_deref())
            .texts_if("issuer_ids", entry.issuer_ids.as_deref())
            .text_if("error_code", entry.error_code.as_deref())
            .raw_if("latency_ms", entry.latency_ms.map(|ms| ms.to_string()).as_deref())
            .text("occurred_at", &entry.occurred_at)
            .text_if("actor", entry.actor.as_deref())
            .text_if("key_id", entry.key_id.as_deref())
            .texts_if("scopes", entry.scopes.as_deref());
    }
    object
        .text("prev_hash", prev_hash)
        .text("entry_hash", entry_hash)
        .boolean("chain_intact", *chain_intact)
        .finish()
}
