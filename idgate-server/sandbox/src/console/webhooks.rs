//! The webhook receiver: notifications that arrived, that wait, and that are held until their host
//! is approved.

use std::sync::Arc;

use idgate_server::http::Html;
use idgate_store::{HostRecord, HostStatus};
use serde_json::Value;

use super::frame::{Section, wide};
use super::notice::notice;
use super::parts::{TRAY, Tone, copy, counted, icon, json_text, member, pill, time, verdict};
use crate::receiver::Delivery;
use crate::state::{State, lock};

/// # Errors
/// The store failed.
pub(super) async fn page(state: &Arc<State>) -> Result<String, String> {
    let hosts = state.webhook_hosts().await?;
    let held: Vec<HostRecord> =
        hosts.into_iter().filter(|one| one.status != HostStatus::Approved).collect();
    let (waiting, lost) = (waiting(state).await, given_up(state).await);
    let arrived: Vec<Delivery> = lock(&state.deliveries).iter().cloned().collect();
    Ok(wide(Section::Webhooks, "Webhooks", |html| {
        notice(html, state, Section::Webhooks.path());
        if held.is_empty() && waiting.is_empty() && lost.is_empty() && arrived.is_empty() {
            return empty(html);
        }
        html.raw("<h1 tabindex=\"-1\">Webhooks</h1>");
        let folder = lock(&state.kept).0.display().to_string();
        for host in &held {
            of_host(html, host, &waiting, &folder);
        }
        queued(html, &waiting);
        for one in &lost {
            failed(html, one);
        }
        html.raw("<h2 class=\"gap\">Deliveries</h2><p class=\"soft\">The last 20 at <code>");
        html.text(&state.page)
            .raw("/webhooks</code>, and whether your signing secret made the signature.</p>");
        if arrived.is_empty() {
            html.raw("<p>Nothing has arrived here yet.</p>");
        }
        for one in &arrived {
            delivery(html, one);
        }
        test(html, "second");
    }))
}

fn empty(html: &mut Html) {
    html.raw("<div class=\"blank\">");
    icon(html, TRAY);
    html.raw("<h1 tabindex=\"-1\">Nothing has arrived yet</h1>");
    html.raw("<p>Answer a session, and its notification shows here. Or send one now.</p>");
    test(html, "");
    html.raw("</div>");
}

fn test(html: &mut Html, class: &str) {
    html.raw("<form method=\"post\" action=\"/webhooks/test\" class=\"row\"><button class=\"")
        .raw(class);
    html.raw("\">Send a test event</button></form>");
}

/// Shows a host that awaits review or was rejected; nothing is sent to it.
fn of_host(html: &mut Html, host: &HostRecord, waiting: &[Value], folder: &str) {
    let name = &host.host;
    let held = waiting.iter().filter(|one| is_held(one)).count();
    verdict(html, "warn gap", |html| {
        html.raw("<p><b>");
        match host.status {
            HostStatus::Rejected => html.text(name).raw(" is rejected.</b> No webhook goes there."),
            _ if held > 0 => html
                .text(&counted(held, "notification"))
                .raw(" held.</b> The host <code>")
                .text(name)
                .raw("</code> of your endpoint has not been approved."),
            _ => html
                .raw("Notifications to ")
                .text(name)
                .raw(" will be held.</b> The host has not been approved."),
        };
        html.raw(" In the sandbox you are the operator:</p>");
        html.raw("<form method=\"post\" action=\"/hosts\" class=\"row\"><input type=\"hidden\" name=\"host\" value=\"");
        html.text(name).raw("\"><button class=\"second\">Approve ").text(name).raw("</button>");
        html.raw("<span class=\"small soft\">or <code>");
        html.text(&format!("idgate webhook-host approve {name} --data-dir '{folder}'"));
        html.raw("</code></span></form>");
    });
}

/// Says how many notifications wait for their next attempt.
fn queued(html: &mut Html, waiting: &[Value]) {
    let tried = waiting
        .iter()
        .filter(|one| !is_held(one) && one.get("attempts") != Some(&Value::from(0)))
        .count();
    if tried > 0 {
        verdict(html, "info", |html| {
            html.raw("<p>").text(&counted(tried, "notification"));
            html.raw(" will be tried again, because the endpoint did not accept it.</p>");
        });
    }
}

fn failed(html: &mut Html, one: &Value) {
    let text = |name: &str| member(one, name);
    verdict(html, "bad", |html| {
        html.raw("<p><b>A notification was given up</b> for session <a href=\"/sessions/");
        html.text(text("session_id")).raw("/webhooks\">").text(text("session_id"));
        html.raw("</a>: <code>").text(text("error_message")).raw("</code></p>");
        html.raw("<form method=\"post\" action=\"/webhooks/retry\" class=\"row\">");
        html.raw("<input type=\"hidden\" name=\"failure\" value=\"").text(text("id"));
        html.raw("\"><button class=\"second\">Send again</button></form>");
    });
}

/// Shows a notification that arrived, and whether its signature is valid.
pub(super) fn delivery(html: &mut Html, one: &Delivery) {
    html.raw("<div class=\"box\"><header><span class=\"row\">");
    match &one.wrong {
        None => pill(html, Tone::Good, "signature good"),
        Some(_) => pill(html, Tone::Bad, "not verified"),
    }
    html.raw("<code>").text(&one.id).raw("</code></span><span class=\"row soft\">attempt ");
    html.text(&one.attempt).raw(" · ").text(&time(one.at)).raw(" UTC ");
    copy(html);
    html.raw("</span></header>");
    if let Some(why) = &one.wrong {
        html.raw("<p class=\"small wrong\">").text(why).raw("</p>");
    }
    html.raw("<pre tabindex=\"0\">");
    json_text(html, &one.body);
    html.raw("</pre></div>");
}

/// The test client's notifications that wait to be sent.
pub(super) async fn waiting(state: &State) -> Vec<Value> {
    all(state, "/v1/webhooks/pending?limit=100", "pending").await
}

/// The test client's notifications that were given up.
pub(super) async fn given_up(state: &State) -> Vec<Value> {
    all(state, "/v1/webhooks/failures?limit=100", "failures").await
}

/// Whether a notification waits until its host is approved.
pub(super) fn is_held(one: &Value) -> bool {
    one.get("held") == Some(&Value::Bool(true))
}

async fn all(state: &State, path: &str, member: &str) -> Vec<Value> {
    let page = state.tenant("GET", path, None).await.unwrap_or_default();
    let all = page.get(member).and_then(Value::as_array);
    all.cloned().unwrap_or_default()
}
