//! Which browser has a page, and the page's state.

use idgate_core::{Reason, Session, Status, UnixMillis};

use super::key::is_key_of;
use idgate_store::PageRecord;

/// The note on a page whose request a wallet has fetched.
const FETCHED: &str = "fetched";

/// Which browser has the page, seen from the browser that asks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Standing {
    /// No browser yet.
    Free,
    /// This browser.
    Own,
    /// This browser, but a phone has taken it over; this browser can get it back.
    Moved,
    /// Another browser.
    Taken,
}

impl Standing {
    /// The standing of the browser that sent the cookie `shown`.
    pub(super) fn of(page: &PageRecord, shown: Option<&str>) -> Self {
        let has = |own: Option<&[u8; 32]>| {
            own.zip(shown).is_some_and(|(own, shown)| is_key_of(own, shown))
        };
        match (&page.browser, &page.phone) {
            (None, None) => Self::Free,
            (_, Some(phone)) if has(Some(phone)) => Self::Own,
            (first, Some(_)) if has(first.as_ref()) => Self::Moved,
            (Some(own), None) if has(Some(own)) => Self::Own,
            _ => Self::Taken,
        }
    }
}

/// The state of a page, for people.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Phase {
    /// A wallet can answer.
    Open,
    /// A wallet has fetched the request, and can answer.
    Fetched,
    /// An answer is being checked.
    Checking,
    /// It was accepted.
    Done,
    /// The wallet declined to answer.
    Declined,
    /// The answer was not accepted.
    Refused,
    /// No wallet answered in time.
    Over,
    /// The person cancelled.
    Cancelled,
}

impl Phase {
    /// Its name in the page.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Fetched => "fetched",
            Self::Checking => "checking",
            Self::Done => "done",
            Self::Declined => "declined",
            Self::Refused => "refused",
            Self::Over => "over",
            Self::Cancelled => "cancelled",
        }
    }

    pub(in crate::app) fn of(session: &Session, is_fetched: bool, now: UnixMillis) -> Self {
        match session.status_at(now) {
            Status::Verifying => Self::Checking,
            Status::Verified => Self::Done,
            Status::Failed if session.wallet_error().is_some() => Self::Declined,
            Status::Failed if session.reason_at(now) == Some(Reason::Cancelled) => Self::Cancelled,
            Status::Failed => Self::Refused,
            Status::Expired => Self::Over,
            _ if is_fetched => Self::Fetched,
            _ => Self::Open,
        }
    }

    /// Whether a wallet can answer.
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Open | Self::Fetched)
    }

    /// Whether the session ended without anything confirmed, so that the person may try again.
    pub const fn may_be_tried_again(self) -> bool {
        matches!(self, Self::Declined | Self::Refused | Self::Over)
    }

    /// Whether nothing more will happen.
    pub const fn is_settled(self) -> bool {
        !matches!(self, Self::Open | Self::Fetched | Self::Checking)
    }
}

/// The note that a wallet has fetched the request. It counts until the page moves.
pub(in crate::app) fn fetched_note(page: &PageRecord) -> String {
    note_of(page, FETCHED)
}

/// Whether a wallet has fetched it.
pub(in crate::app) fn is_fetched(page: &PageRecord) -> bool {
    has_note(page, &fetched_note(page))
}

/// A note that counts until the page moves.
pub(in crate::app) fn note_of(page: &PageRecord, what: &str) -> String {
    match page.moves {
        0 => what.to_owned(),
        moves => format!("{what}.{moves}"),
    }
}

pub(in crate::app) fn has_note(page: &PageRecord, note: &str) -> bool {
    page.notes.iter().any(|one| one == note)
}
