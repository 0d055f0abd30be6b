//! The outcome of the last button.

use idgate_server::http::Html;

use crate::state::State;

/// Shows the outcome of the last button on the page at this path.
pub(super) fn notice(html: &mut Html, state: &State, path: &str) {
    let Some(notice) = state.notice(path) else { return };
    let class = if notice.is_refusal { "warn" } else { "info" };
    html.raw("<div class=\"verdict ").raw(class).raw("\" role=\"status\" id=\"notice\"><p>");
    html.raw(if notice.is_refusal { "<b>Not done.</b> " } else { "" });
    html.text(&notice.said).raw("</p></div>");
}
