//! Results of use cases on sessions.

use super::NewPage;
use idgate_base::spans::Parent;

/// Whether a guarded write was applied.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Committed {
    /// It is durable.
    Yes,
    /// Another write was first, or the session is gone; nothing changed.
    LostRace,
}

/// Whether a new session is stored.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[must_use = "without room nothing is stored"]
pub enum Made {
    /// It is stored.
    Yes,
    /// The client has reached its limit of open sessions; nothing changed.
    NoRoom,
}

/// The rows that are stored with a new session.
#[derive(Clone, Default)]
pub struct Beside {
    /// Its page.
    pub page: Option<NewPage>,
    /// The span that creates it, if it is recorded.
    pub parent: Option<Parent>,
}
