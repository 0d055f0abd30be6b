//! The console: one page for each section, session and tab, rendered on the server and complete
//! without a script.

mod frame;
mod issuers;
mod json;
mod keys;
mod list;
mod new;
mod notice;
mod parts;
mod posts;
mod receive;
mod session;
mod webhooks;
mod words;

use std::sync::Arc;

use hyper::StatusCode;

pub(super) use self::posts::{Done, Form, post};
use self::session::Tab;
use super::state::{State, is_session_id};

pub(super) const STYLE: &str = concat!(include_str!("console.css"), include_str!("own.css"));
pub(super) const ICON: &str = include_str!("icon.svg");
pub(super) const SCRIPT: &str = include_str!("console.js");

/// A page of the console.
pub(super) struct Page {
    pub(super) status: StatusCode,
    pub(super) html: String,
}

impl Page {
    fn ok(html: String) -> Self {
        Self { status: StatusCode::OK, html }
    }
}

/// The page at `path`, or `None`.
///
/// # Errors
/// The store failed.
pub(super) async fn page(state: &Arc<State>, path: &str) -> Result<Option<Page>, String> {
    let html = match path {
        "/" | "/sessions" => list::page(state).await?,
        "/new" => new::page(state).await?,
        "/receive" => receive::page(state),
        "/issuers" => issuers::page(state),
        "/webhooks" => webhooks::page(state).await?,
        "/keys" => keys::page(state, false),
        _ => {
            let Some(below) = path.strip_prefix("/sessions/") else { return Ok(None) };
            return below_sessions(state, below).await;
        }
    };
    Ok(Some(Page::ok(html)))
}

/// The page of a session, or of one of its tabs.
async fn below_sessions(state: &Arc<State>, below: &str) -> Result<Option<Page>, String> {
    let (id, tab) = below.split_once('/').unwrap_or((below, ""));
    let (Some(tab), true) = (Tab::at(tab), is_session_id(id)) else { return Ok(None) };
    match session::page(state, id, tab).await? {
        Some(html) => Ok(Some(Page::ok(html))),
        None => {
            state.memory.forget(id);
            let html = session::gone(state).await?;
            Ok(Some(Page { status: StatusCode::NOT_FOUND, html }))
        }
    }
}
