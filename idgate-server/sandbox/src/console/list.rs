//! The list of sessions, alone or to the left of a session.

use std::sync::Arc;

use idgate_server::http::Html;
use idgate_store::SessionLine;

use super::frame::{self, Section};
use super::notice::notice;
use super::parts::{self, GATE, TRAY, Tone, icon, pill, time};
use super::{keys, words};
use crate::state::State;

/// The list of sessions, none selected.
///
/// # Errors
/// The store failed.
pub(super) async fn page(state: &Arc<State>) -> Result<String, String> {
    let lines = state.sessions().await?;
    if lines.is_empty() {
        return Ok(split(state, &lines, None, "No sessions yet", |html| {
            notice(html, state, Section::Sessions.path());
            html.raw("<div class=\"blank\">");
            icon(html, TRAY);
            html.raw(
                "<h1 tabindex=\"-1\">No sessions yet</h1><p>A session asks a wallet for claims. ",
            );
            html.raw(
                "Create one here, or paste this into a shell: it appears on the left by itself.</p>",
            );
            parts::command(html, "Your first session, with your key", &keys::first(state));
            html.raw(
                "<p class=\"row\"><a class=\"button\" href=\"/new\">Create a session here</a> ",
            );
            html.raw("<a class=\"button second\" href=\"/keys\">Show your key</a></p></div>");
        }));
    }
    Ok(frame::page(Section::Sessions, "Sessions", |html| {
        html.raw("<main class=\"split\"><h1 class=\"unseen\" tabindex=\"-1\">Sessions</h1>");
        aside(html, state, &lines, None);
        html.raw("<section class=\"detail\" aria-label=\"Session\">");
        notice(html, state, Section::Sessions.path());
        html.raw("<div class=\"blank\">");
        icon(html, GATE);
        html.raw("<h2>Choose a session</h2>");
        html.raw(
            "<p>New ones appear at the top by themselves, from this console and from the API.</p>",
        );
        html.raw("</div></section></main>");
    }))
}

/// Writes a page with the list on the left and `detail` on the right. On a phone only `detail` is
/// shown.
pub(super) fn split(
    state: &State,
    lines: &[SessionLine],
    chosen: Option<&str>,
    title: &str,
    detail: impl FnOnce(&mut Html),
) -> String {
    frame::page(Section::Sessions, title, |html| {
        html.raw("<main class=\"split has-detail\">");
        aside(html, state, lines, chosen);
        html.raw("<section class=\"detail\" aria-label=\"Session\">");
        html.raw("<a class=\"back\" href=\"/sessions\">All sessions</a>");
        detail(html);
        html.raw("</section></main>");
    })
}

fn aside(html: &mut Html, state: &State, lines: &[SessionLine], chosen: Option<&str>) {
    html.raw(
        "<aside class=\"list\" aria-label=\"Sessions\"><header><h2>Sessions <span class=\"soft\">",
    );
    html.text(&lines.len().to_string()).raw("</span></h2>");
    html.raw("<a class=\"button\" href=\"/new\">New session</a></header><ol id=\"list\">");
    for line in lines {
        row(html, state, line, chosen == Some(&*line.id));
    }
    html.raw("</ol></aside>");
}

fn row(html: &mut Html, state: &State, line: &SessionLine, is_chosen: bool) {
    let remembered = state.memory.of(&line.id);
    let profile = remembered.asked.as_ref().map(|asked| format!("{} · ", asked.profile.name()));
    html.raw("<li id=\"row-").text(&line.id).raw("\"><a href=\"/sessions/").text(&line.id);
    html.raw(if is_chosen { "\" aria-current=\"true\"><b>" } else { "\"><b>" });
    html.text(&words::title(line, &remembered)).raw("</b>");
    pill(html, Tone::of(&line.status), &line.status);
    html.raw("<span class=\"soft\">").text(&profile.unwrap_or_default());
    html.text(&words::formats(line)).raw("</span><span class=\"soft\">");
    html.text(&time(line.created_at)).raw("</span>");
    if let Some(reason) = &line.reason {
        let class = if line.status == "EXPIRED" { "why late" } else { "why" };
        html.raw("<code class=\"").raw(class).raw("\">").text(reason);
        if let Some(error) = &line.wallet_error {
            html.raw(": ").text(error);
        }
        html.raw("</code>");
    }
    html.raw("</a></li>");
}
