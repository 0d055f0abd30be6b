//! Sessions, their results, and what the gateway does with them by itself.

use idgate_core::ids::{OfferId, SessionId};
use idgate_core::session::{Session, Transition};
use idgate_core::time::UnixMillis;

use super::{Caller, NewPage, Read, StoreError, Write};
use crate::spans::Parent;

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

/// What is stored with a new session.
#[derive(Clone, Default)]
pub struct Beside {
    /// Its page.
    pub page: Option<NewPage>,
    /// The span that makes it, where that is recorded.
    pub parent: Option<Parent>,
}

/// The use cases of sessions.
pub trait SessionStore {
    /// Inserts a new session of this caller (`transition.from` is 0) with its status events.
    fn create_session(&self, caller: &Caller, transition: Transition) -> Write<'_, Made> {
        self.create_session_with(caller, transition, Beside::default())
    }

    /// The same, and more with it.
    fn create_session_with(
        &self,
        caller: &Caller,
        transition: Transition,
        beside: Beside,
    ) -> Write<'_, Made>;

    /// Stores a transition where the stored revision is `transition.from`: session, status events
    /// and, when it verified, the sealed result, in one commit. `processing_us` is the time that
    /// the verification took, when there was one. Answers to sessions of revoked clients are not stored.
    fn commit(&self, transition: Transition, processing_us: Option<u64>) -> Write<'_, Committed>;

    /// The same for what the gateway settles or gives up by itself, which takes nothing of the room
    /// that the client and its wallets have.
    fn commit_own(&self, transition: Transition) -> Write<'_, Committed>;

    /// A session for the wallet routes, without its result; one of a revoked client is not there.
    fn session(&self, id: &SessionId) -> Read<'_, Option<Session>>;

    /// The same by the id of one of its offers that is not its own, while it is open.
    fn session_of_offer(&self, id: &OfferId) -> Read<'_, Option<Session>>;

    /// The span that made a session, if somebody recorded it: what happens to the session belongs to it.
    fn parent_span(&self, id: &SessionId) -> Read<'_, Option<Parent>>;

    /// A session of this caller and mode, with its result while it may be read at `now`.
    fn callers_session(
        &self,
        caller: &Caller,
        id: &SessionId,
        now: UnixMillis,
    ) -> Read<'_, Option<Session>>;

    /// Whether the result of a session of this caller is gone although its time is not over: the
    /// database that had it crashed. A store that keeps results as it keeps everything loses none.
    fn has_lost_claims(&self, _caller: &Caller, _id: &SessionId) -> Read<'_, bool> {
        Box::pin(async { Ok(false) })
    }

    /// Removes a session of this caller and everything stored about it but its audit entries;
    /// resolves when no file holds its row or its claims any more, unless another program reads
    /// them: then the files are emptied as soon as it ends, and nobody waits for it. `false`: there
    /// is none.
    fn delete_session(&self, caller: &Caller, id: &SessionId, now: UnixMillis) -> Write<'_, bool>;

    /// Open sessions whose `expires_at`, or whose verification lease, is at or before `now`; an
    /// error in the place of each that cannot be read.
    fn due_sessions(
        &self,
        now: UnixMillis,
        limit: usize,
    ) -> Read<'_, Vec<Result<Session, StoreError>>>;

    /// Open sessions of revoked clients, at most `limit`; an error in the place of each that cannot be read.
    /// None, while a node shares the store that does not know how such a session ends.
    fn sessions_of_revoked(&self, limit: usize) -> Read<'_, Vec<Result<Session, StoreError>>>;

    /// Removes the results due at `now` from every file, and reports how many there were; with them
    /// those that are due later than any could be: the clock was set back since. An erasure that a
    /// reader held up is finished by a later call.
    fn purge_results(&self, now: UnixMillis) -> Write<'_, usize>;

    /// Removes settled sessions from before `before`, at most `limit`.
    fn remove_settled(&self, before: UnixMillis, limit: usize) -> Write<'_, usize>;

    /// Verifications that this process cannot have begun, because it has only just opened the store
    /// for itself alone; an error in the place of each that cannot be read.
    fn abandoned_sessions(&self) -> Read<'_, Vec<Result<Session, StoreError>>>;
}
