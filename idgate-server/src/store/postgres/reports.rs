//! Why answers were refused. `refused_at` is the callers' time.

use deadpool_postgres::GenericClient;
use idgate_core::ids::SessionId;
use idgate_core::session::{Settlement, Transition};
use idgate_core::time::UnixMillis;

use super::super::interface::{Caller, Committed, Read, ReportStore, Write};
use super::super::lanes::Whose;
use super::super::prepared::Prepared;
use super::super::reports::{KEPT_MS, Sealed};
use super::super::sql::{millis, number};
use super::error::Done;
use super::gateway::PostgresStore;
use super::pool::Tx;
use super::sql::{execute, row};

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
    let sql = "INSERT INTO reports (session_id, refused_at, sealed) VALUES ($1, $2, $3)";
    execute(tx, sql, &[&ended.session.id().as_str(), &millis(ended.at), &sealed]).await?;
    Ok(())
}

/// The report on a session, of this client and mode if given, unless it is too old.
pub(super) async fn find(
    on: &impl GenericClient,
    id: &str,
    whose: Option<(&str, bool)>,
    now: UnixMillis,
) -> Done<Option<Sealed>> {
    let (client_id, livemode) = whose.unzip();
    let found = row(
        on,
        "SELECT s.id, s.client_id, r.sealed FROM reports AS r \
         JOIN sessions AS s ON s.id = r.session_id \
         WHERE r.session_id = $1 AND r.refused_at > $2 \
         AND s.client_id = coalesce($3, s.client_id) AND s.livemode = coalesce($4, s.livemode)",
        &[&id, &millis(now.minus(KEPT_MS)), &client_id, &livemode],
    )
    .await?;
    let Some(found) = found else { return Ok(None) };
    let (session_id, client_id) = (found.try_get(0)?, found.try_get(1)?);
    Ok(Some(Sealed { session_id, client_id, report: found.try_get(2)? }))
}
