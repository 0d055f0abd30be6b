//! One session: its state, the ways to answer it, and its tabs.

mod acts;
mod answer;
mod checks;
mod curl;
mod events;
mod hooks;
mod request;
mod sent;

pub(super) use self::acts::providers;

use std::sync::Arc;

use idgate_core::UnixMillis;
use idgate_server::http::Html;
use idgate_store::{SessionLine, StatusEvent};
use serde_json::Value;

use super::list::split;
use super::notice::notice;
use super::parts::{Tone, code_to_copy, pill, time};
use super::words;
use crate::memory::Remembered;
use crate::state::State;

/// A part of a session's page, with its own address.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Tab {
    Request,
    Answer,
    Checks,
    Events,
    Webhooks,
    Curl,
}

impl Tab {
    const ALL: [Self; 6] =
        [Self::Request, Self::Answer, Self::Checks, Self::Events, Self::Webhooks, Self::Curl];

    /// The tab that a path ends with.
    pub(super) fn at(path: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tab| tab.path() == path)
    }

    pub(super) const fn path(self) -> &'static str {
        match self {
            Self::Request => "",
            Self::Answer => "answer",
            Self::Checks => "checks",
            Self::Events => "events",
            Self::Webhooks => "webhooks",
            Self::Curl => "curl",
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Request => "Request",
            Self::Answer => "Wallet’s answer",
            Self::Checks => "Checks",
            Self::Events => "Events",
            Self::Webhooks => "Webhooks",
            Self::Curl => "curl",
        }
    }
}

/// What the gateway and the console know about a session.
struct Known {
    line: SessionLine,
    events: Vec<StatusEvent>,
    remembered: Remembered,
    /// The report on the answer that settled it.
    report: Option<Value>,
    now: UnixMillis,
}

impl Known {
    /// # Errors
    /// The store failed.
    async fn of(state: &Arc<State>, id: &str) -> Result<Option<Self>, String> {
        let (own, now) = (id.to_owned(), state.clock.now());
        let found = state.operate(move |operator| {
            let explain = |why: idgate_store::StoreError| why.to_string();
            let Some(session) = operator.session(&own).map_err(explain)? else { return Ok(None) };
            let report = operator.session_report(&own, now).map_err(explain)?;
            Ok(Some((session, report)))
        });
        let Some(((line, events), stored)) = found.await? else { return Ok(None) };
        let remembered = state.memory.of(id);
        let report = match stored {
            Some(stored) => serde_json::from_slice(&stored).ok(),
            None => {
                let accepted = remembered.report.as_ref();
                accepted.and_then(|kept| serde_json::from_str(&kept.text).ok())
            }
        };
        Ok(Some(Self { line, events, remembered, report, now }))
    }

    fn is_open(&self) -> bool {
        ["CREATED", "PENDING"].contains(&&*self.line.status)
    }

    fn path(&self, tab: Tab) -> String {
        match tab.path() {
            "" => format!("/sessions/{}", self.line.id),
            below => format!("/sessions/{}/{below}", self.line.id),
        }
    }

    /// When the session was settled.
    fn settled_at(&self) -> Option<UnixMillis> {
        let is_end =
            |event: &&StatusEvent| ["VERIFIED", "FAILED", "EXPIRED"].contains(&&*event.status);
        self.events.iter().rev().find(is_end).map(|event| event.occurred_at)
    }
}

/// The page of a session at a tab; `None` if there is no such session.
///
/// # Errors
/// The store failed.
pub(super) async fn page(state: &Arc<State>, id: &str, tab: Tab) -> Result<Option<String>, String> {
    let lines = state.sessions().await?;
    let Some(known) = Known::of(state, id).await? else { return Ok(None) };
    let mut inside = Html::default();
    match tab {
        Tab::Request => request::write(&mut inside, &known),
        Tab::Answer => answer::write(&mut inside, state, &known).await,
        Tab::Checks => checks::write(&mut inside, &known),
        Tab::Events => events::write(&mut inside, state, &known).await,
        Tab::Webhooks => hooks::write(&mut inside, state, &known).await,
        Tab::Curl => curl::write(&mut inside, state, &known),
    }
    let inside = inside.finish();
    let title = words::title(&known.line, &known.remembered);
    Ok(Some(split(state, &lines, Some(id), &title, |html| {
        notice(html, state, &known.path(Tab::Request));
        head(html, &known, &title);
        if known.is_open() {
            acts::write(html, state, &known);
        }
        tabs(html, &known, tab);
        html.raw("<div id=\"tab\">").raw(&inside).raw("</div>");
    })))
}

/// The page shown when the session no longer exists.
///
/// # Errors
/// The store failed.
pub(super) async fn gone(state: &Arc<State>) -> Result<String, String> {
    let lines = state.sessions().await?;
    Ok(split(state, &lines, None, "No such session", |html| {
        html.raw("<div class=\"blank\"><h1 tabindex=\"-1\">There is no such session</h1>");
        html.raw("<p>It was deleted, or the gateway no longer stores it.</p>");
        html.raw("<p><a class=\"button\" href=\"/sessions\">All sessions</a></p></div>");
    }))
}

fn head(html: &mut Html, known: &Known, title: &str) {
    let line = &known.line;
    html.raw("<div class=\"title\"><h1 tabindex=\"-1\">").text(title).raw("</h1>");
    pill(html, Tone::of(&line.status), &line.status);
    html.raw("</div><p class=\"facts\"><span class=\"row\">");
    code_to_copy(html, &line.id);
    html.raw("</span>");
    if let Some(asked) = &known.remembered.asked {
        html.raw("<span>").text(&words::speaks(asked)).raw("</span>");
    }
    html.raw("<span>").text(&so_far(known)).raw("</span></p>");
}

/// The remaining time, or when and by whom the session was settled.
fn so_far(known: &Known) -> String {
    let Some(at) = known.settled_at() else {
        return match known.line.expires_at.since(known.now).div_ceil(60_000) {
            0 | 1 => "less than a minute left".into(),
            minutes => format!("{minutes} min left"),
        };
    };
    let when = time(at);
    let by_own = known.remembered.settling_answer();
    match (known.line.status.as_str(), by_own) {
        ("EXPIRED", _) => format!("expired {when} UTC"),
        (_, Some(answer)) => {
            format!("answered {when} UTC by the sandbox wallet ({})", answer.deed)
        }
        _ => format!("settled {when} UTC"),
    }
}

fn tabs(html: &mut Html, known: &Known, current: Tab) {
    html.raw("<nav class=\"tabs\" aria-label=\"Parts of this session\">");
    for tab in Tab::ALL {
        html.raw("<a href=\"").text(&known.path(tab));
        html.raw(if tab == current { "\" aria-current=\"page\">" } else { "\">" });
        html.raw(tab.name());
        if tab == Tab::Checks
            && let Some(report) = &known.report
            && let failed @ 1.. = checks::count(report).1
        {
            html.raw(" <small class=\"bad\">").text(&format!("{failed} failed")).raw("</small>");
        }
        html.raw("</a>");
    }
    html.raw("</nav>");
}
