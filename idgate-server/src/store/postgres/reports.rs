//! Why answers were refused. `refused_at` is the callers' time.

use deadpool_postgres::GenericClient;
use idgate_core::ids::SessionId;
use idgate_core::session::{Settlement, Transition};
use idgate_core::time::UnixMillis;

use super::super::interface::{Caller, Committed, Read, ReportStore, Write};
use super::super::lanes::Whose;
use super::super::prepared::Prepared;
use super::super::reports::{self, FIND, KEPT_MS, Sealed};
use super::super::sql::{millis, number};
use super::error::Done;
use super::gateway::PostgresStore;
use super::pool::Tx;
use super::sql::{execute, row, run};

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
        let (caller, id) = (caller.clone(), id.as_str().to_owned());
        self.read(move |shared| async move {
            let client = shared.pool.client().await?;
            let whose = Some((caller.client_id.as_str(), caller.livemode));
            let found = find(&client, &id, whose, now).await?;
            Ok(found.map(|sealed| sealed.open(&shared.sealer)).transpose()?)
        })
    }

    fn forget_reports(&self, now: UnixMillis, limit: usize) -> Write<'_, usize> {
        self.write(Whose::GATEWAY, move |shared| async move {
            let client = shared.pool.client().await?;
            let forgotten = execute(
                &client,
                "DELETE FROM reports WHERE session_id IN (SELECT session_id FROM reports \
                 WHERE refused_at <= $1 LIMIT $2 FOR UPDATE SKIP LOCKED)",
                &[&millis(now.minus(KEPT_MS)), &number(limit)],
            )
            .await?;
            Ok(usize::try_from(forgotten).unwrap_or(usize::MAX))
        })
    }
}

pub(super) async fn insert(tx: &Tx<'_>, ended: &Settlement<'_>, sealed: &[u8]) -> Done<()> {
    run(tx, &reports::insert(ended, sealed)).await
}

/// The report on a session, of this client and mode if given, unless it is too old.
pub(super) async fn find(
    on: &impl GenericClient,
    id: &str,
    whose: Option<(&str, bool)>,
    now: UnixMillis,
) -> Done<Option<Sealed>> {
    let (client_id, livemode) = whose.unzip();
    let since = millis(now.minus(KEPT_MS));
    let found = row(on, FIND, &[&id, &since, &client_id, &livemode]).await?;
    Ok(found.as_ref().map(Sealed::read).transpose()?)
}
