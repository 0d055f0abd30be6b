//! Why answers were refused.

use idgate_core::ids::SessionId;
use idgate_core::session::Transition;
use idgate_core::time::UnixMillis;

use super::super::db::{Db, at_once};
use super::super::interface::{Caller, Committed, Read, ReportStore, Write};
use super::super::lanes::Whose;
use super::super::prepared::Prepared;
use super::super::reports;
use super::SqliteStore;

impl ReportStore for SqliteStore {
    fn commit_refused(
        &self,
        transition: Transition,
        processing_us: u64,
        report: Vec<u8>,
    ) -> Write<'_, Committed> {
        let whose = Whose::of(transition.session.tenant());
        let prepared = Prepared::new(&self.sealer, transition, Some(processing_us));
        let explained = prepared.and_then(|it| it.with_report(&self.sealer, &report));
        self.commit_prepared(whose, explained)
    }

    fn report(
        &self,
        caller: &Caller,
        id: &SessionId,
        now: UnixMillis,
    ) -> Read<'_, Option<Vec<u8>>> {
        let (caller, id, sealer) = (caller.clone(), id.clone(), self.sealer.clone());
        self.readers.read(Whose::of(&caller.client_id), move |reader| {
            let found = at_once(reports::of_caller(&Db::sqlite(&reader.main), &caller, &id, now))?;
            found.map(|sealed| sealed.open(&sealer)).transpose()
        })
    }

    fn forget_reports(&self, now: UnixMillis, limit: usize) -> Write<'_, usize> {
        self.writer.submit_erasing(Whose::GATEWAY, move |batch| {
            at_once(reports::forget(&Db::sqlite(batch.main), now, limit))
        })
    }
}
