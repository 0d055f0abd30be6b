//! Fetched trusted lists: their URLs, and the outcome of each fetch.

use idgate_core::UnixMillis;

/// The state of a list's fetches.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ListFetch {
    /// The time of the last attempt.
    pub tried_at: UnixMillis,
    /// The number of failures since the last success.
    pub failures: u64,
    /// The reason of the last failure.
    pub failure: Option<String>,
}

/// A fetched list.
#[derive(Clone, Debug)]
pub struct FetchedList {
    /// The URL that it was fetched from.
    pub url: String,
    /// The list as it was received.
    pub token: Vec<u8>,
    /// Whether to accept it even if a newer one was seen.
    pub accept_rollback: bool,
}

/// A fetched list of lists, with the lists that it names in place of those in force.
#[derive(Clone, Debug)]
pub struct FetchedListOfLists {
    /// The list of lists.
    pub list: FetchedList,
    /// The lists that it names, by URL. An error says why a list could not be fetched.
    pub named: Vec<(String, Result<Vec<u8>, String>)>,
}

/// The outcome for a fetched list.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Refreshed {
    /// It is new and in force.
    New {
        /// The sequence number of the former list.
        from: u64,
        /// The sequence number of the new list.
        to: u64,
        /// The number of providers in it; for a list of lists, the number of lists.
        providers: u64,
    },
    /// It was in force already.
    Same,
    /// It is refused; the text says why.
    Refused(String),
    /// It is older than one that was seen.
    Rollback(String),
    /// A list of lists names a list that could not be fetched; the text says why.
    Unreachable(String),
    /// No entry follows it any more.
    Unwanted,
}

impl Refreshed {
    /// Returns the reason why it is not in force.
    pub fn failure(&self) -> Option<&str> {
        match self {
            Self::Refused(why) | Self::Rollback(why) | Self::Unreachable(why) => Some(why),
            Self::New { .. } | Self::Same | Self::Unwanted => None,
        }
    }

    /// Returns its name in the metrics.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::New { .. } => "new",
            Self::Same | Self::Unwanted => "same",
            Self::Refused(_) => "refused",
            Self::Rollback(_) => "rollback",
            Self::Unreachable(_) => "fetch_failed",
        }
    }
}

/// A URL that lists are fetched from.
#[derive(Clone, Debug)]
pub struct ListSource {
    /// The URL.
    pub url: String,
    /// Whether it is a list of lists.
    pub of_lists: bool,
    /// The time at which the next list is due: the earliest of all entries.
    pub next_update: UnixMillis,
    /// The time at which the list in force was accepted.
    pub added_at: UnixMillis,
    /// The sequence number of the list in force.
    pub sequence: u64,
    /// The number of providers in it, or of lists that it points to.
    pub listed: u64,
    /// The state of its fetches; `None`: it was not fetched again yet.
    pub fetch: Option<ListFetch>,
}
