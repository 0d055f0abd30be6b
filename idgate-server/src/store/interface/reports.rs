//! Why answers were refused: with the session, sealed, and gone with it; 24 hours at most.

use idgate_core::ids::SessionId;
use idgate_core::session::Transition;
use idgate_core::time::UnixMillis;

use super::{Caller, Committed, Read, Write};

/// What a running gateway keeps about refused answers.
pub trait ReportStore {
    /// Stores a refusal as [`super::SessionStore::commit`] does, and in the same commit `report`, which
    /// says what was checked.
    fn commit_refused(
        &self,
        transition: Transition,
        processing_us: u64,
        report: Vec<u8>,
    ) -> Write<'_, Committed>;

    /// The report on a session of this caller and mode; `None`: there is none, or it is too old.
    fn report(&self, caller: &Caller, id: &SessionId, now: UnixMillis)
    -> Read<'_, Option<Vec<u8>>>;

    /// Removes reports that are too old, at most `limit`, and says how many.
    fn forget_reports(&self, now: UnixMillis, limit: usize) -> Write<'_, usize>;
}
