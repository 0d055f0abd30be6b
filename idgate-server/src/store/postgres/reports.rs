//! Why answers were refused. `refused_at` is the callers' time.

use idgate_core::ids::SessionId;
use idgate_core::session::Transition;
use idgate_core::time::UnixMillis;

use super::super::db::Db;
use super::super::interface::{Caller, Committed, Read, ReportStore, Write};
use super::super::lanes::Whose;
use super::super::prepared::Prepared;
use super::super::reports;
use super::gateway::PostgresStore;

impl ReportStore for PostgresStore {
    fn commit_refused(
        &self,
        transition: Transition,
        processing_us: u64,
        report: Vec<u8>,
    ) -> Write<'_, Committed> {
        let (whose, sealer) = (Whose::of(transition.session.tenant()), &self.shared.sealer);
        let prepared = Prepared::new(sealer, transition, Some(processing_us));
        self.commit_prepared(whose, prepared.and_then(|it| it.with_report(sealer, &report)))
    }

    fn report(
        &self,
        caller: &Caller,
        id: &SessionId,
        now: UnixMillis,
    ) -> Read<'_, Option<Vec<u8>>> {
        let (caller, id) = (caller.clone(), id.clone());
        self.read(move |shared| async move {
            let client = shared.pool.client().await?;
            let found = reports::of_caller(&Db::Client(&client), &caller, &id, now).await?;
            Ok(found.map(|sealed| sealed.open(&shared.sealer)).transpose()?)
        })
    }

    fn forget_reports(&self, now: UnixMillis, limit: usize) -> Write<'_, usize> {
        self.write(Whose::GATEWAY, move |shared| async move {
            let client = shared.pool.client().await?;
            reports::forget(&Db::Client(&client), now, limit).await
        })
    }
}
