//! Reports on rejected answers: sealed, stored and removed with the session, and kept for 24 hours
//! at most.

use idgate_core::{SessionId, Transition, UnixMillis};

use super::Store;
use crate::lanes::LaneKey;
use crate::prepared_session::Prepared;
use crate::recall::Basis;
use crate::reports;
use crate::types::{Caller, Committed, Read, Write};

/// Reports on rejected answers.
impl Store {
    /// Stores a rejection as [`Store::commit_by`] does, and in the same commit `report`, which lists
    /// the checks.
    pub fn commit_refused(
        &self,
        basis: Basis,
        transition: Transition,
        processing_us: u64,
        report: Vec<u8>,
    ) -> Write<'_, Committed> {
        let (lane, sealer) = (LaneKey::of(transition.session.tenant()), &self.env.sealer);
        let prepared = Prepared::new(sealer, transition, Some(processing_us));
        let prepared = prepared.and_then(|it| it.with_report(sealer, &report));
        self.commit_prepared(lane, prepared.map(|prepared| Prepared { basis, ..prepared }))
    }

    /// The report on a session of this caller and mode. `None`: there is none, or it is too old.
    pub fn report(
        &self,
        caller: &Caller,
        id: &SessionId,
        now: UnixMillis,
    ) -> Read<'_, Option<Vec<u8>>> {
        let with = (caller.clone(), id.clone(), now);
        self.read(LaneKey::of(&caller.client_id), with, |(caller, id, now), db, env| {
            Box::pin(async move {
                let found = reports::of_caller(db, caller, id, *now).await?;
                Ok(found.map(|sealed| sealed.open(&env.sealer)).transpose()?)
            })
        })
    }

    /// Removes at most `limit` reports that are too old. Returns how many.
    pub fn forget_reports(&self, now: UnixMillis, limit: usize) -> Write<'_, usize> {
        self.erase((now, limit), |(now, limit), db, _| Box::pin(reports::forget(db, *now, *limit)))
    }
}
