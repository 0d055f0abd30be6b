//! The storage of sessions, which the embedder provides.

use std::error::Error;
use std::future::Future;

use idgate_core::{Session, Transition};

/// The storage of sessions: a table with a row for each session, keyed by its id and by the ids of
/// its offers.
///
/// ```
/// use std::collections::HashMap;
/// use std::convert::Infallible;
/// use std::future::{Future, ready};
/// use std::sync::Mutex;
///
/// use idgate_core::{Revision, Session, Transition};
/// use idgate::{Committed, Store};
///
/// /// Sessions of one process, by their handles, until it ends.
/// #[derive(Default)]
/// struct Memory(Mutex<HashMap<String, Session>>);
///
/// impl Store for Memory {
///     type Error = Infallible;
///
///     fn load(
///         &self,
///         handle: &str,
///     ) -> impl Future<Output = Result<Option<Session>, Infallible>> + Send {
///         ready(Ok(self.0.lock().unwrap().get(handle).cloned()))
///     }
///
///     fn commit(
///         &self,
///         transition: &Transition,
///     ) -> impl Future<Output = Result<Committed, Infallible>> + Send {
///         let (mut all, session) = (self.0.lock().unwrap(), &transition.session);
///         let stored = all.get(session.id().as_str()).map_or(Revision(0), Session::revision);
///         if stored != transition.from {
///             return ready(Ok(Committed::LostRace));
///         }
///         for handle in session.handles() {
///             all.insert(handle.to_owned(), session.clone());
///         }
///         ready(Ok(Committed::Stored))
///     }
/// }
/// ```
pub trait Store: Send + Sync {
    /// Why the store failed.
    type Error: Error + Send + Sync + 'static;

    /// The session with that handle, which is its id or the id of one of its offers
    /// ([`Session::handles`]). `None`: there is none.
    fn load(
        &self,
        handle: &str,
    ) -> impl Future<Output = Result<Option<Session>, Self::Error>> + Send;

    /// Stores `transition.session` if the stored revision is still `transition.from` (0 for a new
    /// session), then carries out `transition.effects`. Do both in one transaction.
    fn commit(
        &self,
        transition: &Transition,
    ) -> impl Future<Output = Result<Committed, Self::Error>> + Send;
}

/// The outcome of a commit.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(clippy::exhaustive_enums)] // a third outcome would be a break anyway
pub enum Committed {
    /// The session is stored.
    Stored,
    /// Another revision is stored, or the session was deleted. Nothing was changed.
    LostRace,
}
