//! The status events of a session, in order, and its entries in the audit log.

use std::sync::Arc;

use idgate_core::UnixMillis;
use idgate_server::http::Html;
use serde_json::Value;

use super::Known;
use crate::console::parts::{command, exact_time, member};
use crate::state::State;

/// Number of audit entries that are searched.
const ENTRIES: usize = 100;

pub(super) async fn write(html: &mut Html, state: &Arc<State>, known: &Known) {
    let line = &known.line;
    html.raw("<ol class=\"line\">");
    if known.events.first().is_none_or(|event| event.status != "CREATED") {
        entry(html, "", line.created_at, "CREATED", "by the API or this console");
    }
    for event in &known.events {
        let class = match &*event.status {
            "VERIFIED" => "good",
            "FAILED" | "EXPIRED" => "bad",
            _ => "",
        };
        let mut more = format!("seq {}", event.seq);
        for said in [&event.reason, &event.wallet_error].into_iter().flatten() {
            more.push_str(" · ");
            more.push_str(said);
        }
        entry(html, class, event.occurred_at, &event.status, &more);
    }
    for audited in audit_entries(state, &line.id).await {
        let text = |name: &str| member(&audited, name);
        let chain = match audited.get("chain_intact") {
            Some(Value::Bool(true)) => "chain intact",
            _ => "chain broken",
        };
        let at = UnixMillis::parse_rfc3339(text("occurred_at")).unwrap_or(line.created_at);
        let name = format!("Audit entry: {}", text("status"));
        entry(html, "", at, &name, &format!("by {} · {chain}", text("actor")));
    }
    html.raw("</ol>");
    let follow = format!(
        "curl -N {}/v1/sessions/{}/events \\\n  -H \"Authorization: Bearer $API_KEY\"",
        state.gateway, line.id
    );
    command(html, "Follow it yourself", &follow);
}

fn entry(html: &mut Html, class: &str, at: UnixMillis, name: &str, more: &str) {
    html.raw("<li class=\"").raw(class).raw("\"><span class=\"when mono\">");
    html.text(&exact_time(at)).raw("</span><b>").text(name).raw("</b> <span class=\"soft\">");
    html.text(more).raw("</span></li>");
}

/// The audit entries of a session of the sandbox's own client, oldest first.
async fn audit_entries(state: &State, id: &str) -> Vec<Value> {
    let path = format!("/v1/audit-log?limit={ENTRIES}");
    let Ok(mut page) = state.tenant("GET", &path, None).await else { return Vec::new() };
    let entries = page.get_mut("entries").map(Value::take);
    let Some(Value::Array(mut entries)) = entries else { return Vec::new() };
    entries.retain(|entry| member(entry, "session_id") == id);
    entries.reverse();
    entries
}
