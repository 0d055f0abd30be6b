//! The session as the tenant reads it, and the answer that the sandbox's wallet sent.

use std::sync::Arc;

use idgate_core::UnixMillis;
use idgate_server::http::Html;

use super::{Known, sent};
use crate::console::parts::{counted, json, nothing, time, verdict};
use crate::memory::{Answer, Kept};
use crate::state::{State, lock};

/// How long a gateway keeps the result (specification 2).
const RESULT_MS: u64 = 30_000;

pub(super) async fn write(html: &mut Html, state: &Arc<State>, known: &Known) {
    let (line, answers) = (&known.line, &known.remembered.answers);
    if known.is_open() && answers.is_empty() {
        let text = "Answer with one of the buttons above, or with a wallet of your own. This tab then shows the result \
                    that your server reads, and what the sandbox’s wallet sent.";
        return nothing(html, "No wallet has answered yet.", text);
    }
    let title = format!("GET /v1/sessions/{}", line.id);
    match read(state, known).await {
        Read::Kept(kept) => {
            lifetime(html, known, &kept);
            json(html, &title, &kept.text);
        }
        Read::Now(text) => {
            if line.status == "VERIFIED" {
                withheld(html, known.remembered.was_read);
            }
            json(html, &title, &text);
        }
        Read::OfAnother => nothing(
            html,
            "Another client made this session.",
            "The console reads with the key of the sandbox’s test client, which sees only its own sessions.",
        ),
    }
    for answer in answers {
        posted(html, answer);
    }
}

/// The session as the test client reads it.
enum Read {
    /// With claims: the console keeps this copy.
    Kept(Kept),
    /// Without claims.
    Now(String),
    OfAnother,
}

async fn read(state: &Arc<State>, known: &Known) -> Read {
    if let Some(kept) = &known.remembered.read {
        return Read::Kept(kept.clone());
    }
    if known.line.client_id != lock(&state.kept).1.client_id {
        return Read::OfAnother;
    }
    let id = &known.line.id;
    let session = state.read_session(id, None).await;
    match state.memory.of(id).read {
        Some(kept) => Read::Kept(kept),
        None => Read::Now(session.to_string()),
    }
}

fn lifetime(html: &mut Html, known: &Known, kept: &Kept) {
    let since = known.settled_at().unwrap_or(kept.at);
    let left = UnixMillis(since.0.saturating_add(RESULT_MS)).since(known.now).div_ceil(1000);
    let left = usize::try_from(left).unwrap_or_default();
    verdict(html, "", |html| {
        if left > 0 {
            html.raw("<p><b>Your server can read this for another ").text(&counted(left, "second"));
            html.raw(".</b> Then the gateway erases it.");
        } else {
            html.raw("<p><b>The gateway has erased this.</b> It could be read for 30 seconds.");
        }
        html.raw(" This console keeps its own copy in memory for 15 minutes, from ");
        html.text(&time(kept.at)).raw(" UTC.</p>");
    });
}

fn withheld(html: &mut Html, was_read: bool) {
    let text = match was_read {
        true => {
            "The console deleted its copy after 15 minutes. The gateway had the result for 30 seconds."
        }
        false => {
            "The gateway has the result for 30 seconds. For a same-device session it is given only with the \
             response code that the wallet’s browser brings. The console did not read it in that time."
        }
    };
    nothing(html, "The console has no copy of the result.", text);
}

fn posted(html: &mut Html, answer: &Answer) {
    html.raw("<p class=\"small soft\">").text(&time(answer.at)).raw(" UTC: the sandbox wallet, ");
    html.text(answer.deed).raw(", credentials of ").text(answer.from).raw(".</p>");
    match &answer.sent {
        Some(text) => json(html, "What the wallet sent, decoded", &sent::decoded(text)),
        None => {
            html.raw("<p class=\"soft small\">The console deleted what the wallet sent after 15 minutes.</p>");
        }
    }
    let (status, reply) = answer.said.split_once(' ').unwrap_or((&answer.said, ""));
    json(html, &format!("The gateway’s reply: {status}"), reply);
}
