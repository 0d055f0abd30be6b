//! Trusted lists that are fetched: from where, and what became of them.

use idgate_core::UnixMillis;

/// How fetching a list goes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ListFetch {
    /// When it was last tried.
    pub tried_at: UnixMillis,
    /// How often it failed since the last success.
    pub failures: u64,
    /// The last failure.
    pub failure: Option<String>,
}

/// A list that was fetched.
#[derive(Clone, Debug)]
pub struct FetchedList {
    /// Where.
    pub url: String,
    /// What came.
    pub token: Vec<u8>,
    /// Take it although a newer one was seen.
    pub accept_rollback: bool,
}

/// What became of a fetched list.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Refreshed {
    /// It is in force.
    New {
        /// The number of the one before.
        from: u64,
        /// Its own.
        to: u64,
        /// How many providers it has.
        providers: u64,
    },
    /// It was in force.
    Same,
    /// It is refused; the text says why.
    Refused(String),
    /// It is older than one that was seen.
    Rollback(String),
    /// No entry takes it any more.
    Unwanted,
}

impl Refreshed {
    /// Why it is not in force.
    pub fn failure(&self) -> Option<&str> {
        match self {
            Self::Refused(why) | Self::Rollback(why) => Some(why),
            Self::New { .. } | Self::Same | Self::Unwanted => None,
        }
    }

    /// Its name in the metrics.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::New { .. } => "new",
            Self::Same | Self::Unwanted => "same",
            Self::Refused(_) => "refused",
            Self::Rollback(_) => "rollback",
        }
    }
}

/// A URL that lists are fetched from.
#[derive(Clone, Debug)]
pub struct ListSource {
    /// Where.
    pub url: String,
    /// When the next list is due, the first of all entries.
    pub next_update: UnixMillis,
    /// When the list in force was taken.
    pub added_at: UnixMillis,
    /// The number of the list in force.
    pub sequence: u64,
    /// How many providers it has.
    pub listed: u64,
    /// How fetching goes.
    pub fetch: Option<ListFetch>,
}
