//! A tenant's own audit log (specification 4, decisions 13).

use hyper::StatusCode;
use serde::Serialize;
use zeroize::Zeroizing;

use crate::http::auth::Authorized;
use crate::http::call::Call;
use crate::http::error::{Answered, HttpError};
use crate::http::json;
use crate::http::paging;
use idgate_store::{AuditPage, ListedEntry};

/// `GET /v1/audit-log`
pub(crate) async fn list(call: Call<'_>, tenant: Authorized) -> Answered {
    let page = paging::page(call.head.uri.query())?;
    let app = &call.gateway.app;
    let page = app.audit_page(tenant.caller(), page.cursor.as_deref(), page.limit).await?;
    let body = serde_json::to_vec(&PageJson::of(&page))
        .map_err(|error| HttpError::internal(error.to_string()))?;
    Ok(json::answer(StatusCode::OK, Zeroizing::new(body)))
}

#[derive(Serialize)]
struct PageJson<'a> {
    entries: Vec<EntryJson<'a>>,
    has_more: bool,
    next_cursor: Option<&'a str>,
}

impl<'a> PageJson<'a> {
    fn of(page: &'a AuditPage) -> Self {
        let next_cursor = page.next_cursor.as_deref();
        let entries = page.entries.iter().map(EntryJson::of).collect();
        Self { entries, has_more: next_cursor.is_some(), next_cursor }
    }
}

/// `AuditEntry` (specification 2, decisions 25): absent is what the entry does not have.
#[derive(Default, Serialize)]
struct EntryJson<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    credential_types: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    issuer_ids: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_code: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    latency_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    occurred_at: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    actor: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scopes: Option<&'a [String]>,
    prev_hash: &'a str,
    entry_hash: &'a str,
    chain_intact: bool,
}

impl<'a> EntryJson<'a> {
    fn of(listed: &'a ListedEntry) -> Self {
        let ListedEntry { entry, prev_hash, entry_hash, chain_intact } = listed;
        let hashes = Self { prev_hash, entry_hash, chain_intact: *chain_intact, ..Self::default() };
        let Some(entry) = entry else { return hashes };
        Self {
            session_id: entry.session_id.as_deref(),
            status: Some(&entry.status),
            credential_types: entry.credential_types.as_deref(),
            issuer_ids: entry.issuer_ids.as_deref(),
            error_code: entry.error_code.as_deref(),
            latency_ms: entry.latency_ms,
            occurred_at: Some(&entry.occurred_at),
            actor: entry.actor.as_deref(),
            key_id: entry.key_id.as_deref(),
            scopes: entry.scopes.as_deref(),
            ..hashes
        }
    }
}
