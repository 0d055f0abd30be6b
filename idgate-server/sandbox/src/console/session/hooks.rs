//! The notifications of a session: those that arrived here, those that wait, and those that were
//! given up.

use std::sync::Arc;

use idgate_server::http::Html;
use serde_json::Value;

use super::Known;
use crate::console::parts::{member, nothing};
use crate::console::webhooks::{delivery, given_up, is_held, waiting};
use crate::state::{State, lock};

pub(super) async fn write(html: &mut Html, state: &Arc<State>, known: &Known) {
    let id = &known.line.id;
    let arrived: Vec<_> = {
        let deliveries = lock(&state.deliveries);
        deliveries.iter().filter(|one| one.session_id().as_deref() == Some(id)).cloned().collect()
    };
    let is_own = |one: &Value| member(one, "session_id") == id;
    let mut has_some = !arrived.is_empty();
    for one in waiting(state).await.iter().filter(|one| is_own(one)) {
        has_some = true;
        let is_held = is_held(one);
        html.raw("<div class=\"verdict warn\"><div><p><b>A notification ");
        html.raw(if is_held { "is held.</b> " } else { "waits for its next attempt.</b> " });
        if is_held {
            html.raw("Its host is not approved: <a href=\"/webhooks\">see Webhooks</a>.");
        }
        html.raw("</p></div></div>");
    }
    for one in given_up(state).await.iter().filter(|one| is_own(one)) {
        has_some = true;
        again(html, one);
    }
    for one in &arrived {
        delivery(html, one);
    }
    if !has_some {
        nothing(
            html,
            "No notification yet.",
            "The test client is notified when a session is settled: at the sandbox’s receiver, or at the endpoint \
             that you set.",
        );
    }
    html.raw("<p class=\"row\"><a href=\"/webhooks\">All deliveries</a></p>");
}

/// A notification that was given up, with a button that sends it again.
fn again(html: &mut Html, one: &Value) {
    html.raw("<div class=\"verdict bad\"><div><p><b>A notification was given up</b>: <code>");
    html.text(member(one, "error_message")).raw("</code></p>");
    html.raw("<form method=\"post\" action=\"/webhooks/retry\" class=\"row\">");
    html.raw("<input type=\"hidden\" name=\"failure\" value=\"").text(member(one, "id")).raw("\">");
    html.raw("<button class=\"second\">Send again</button></form></div></div>");
}
