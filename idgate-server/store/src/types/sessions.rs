//! Results of use cases of sessions.

use super::NewPage;
use idgate_base::spans::Parent;

/// Whether a guarded write applied.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Committed {
    /// It is durable.
    Yes,
    /// Another write came first, or the session is gone; nothing changed.
    LostRace,
}

/// Whether a new session is stored.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[must_use = "without room nothing is stored"]
pub enum Made {
    /// It is.
    Yes,
    /// The client has as many open sessions as it may; nothing changed.
    NoRoom,
}

/// The rows that are stored with a new session.
#[derive(Clone, Default)]
pub struct Beside {
    /// Its page.
    pub page: Option<NewPage>,
    /// The span that makes it, where that is recorded.
    pub parent: Option<Parent>,
}
