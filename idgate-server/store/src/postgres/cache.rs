//! What is read rarely and used by every request: trust, keys, certificates. Each has a number in the
//! database that grows with every change. The numbers come with the read of a key or of a session, or are
//! asked for, by all who ask at the same time in one statement, so that a change is in force on every node
//! with its next request; what belongs to a number is read again only when it is another.

use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::Client;
use idgate_core::time::UnixMillis;
use idgate_core::trust::TrustSnapshot;
use tokio::sync::{Mutex, oneshot};
use tokio_postgres::IsolationLevel;

use crate::cache::{Latest, Noted};
use crate::db::Db;
use crate::gateway_key::{Certificates, GatewayKeys};
use crate::postgres::error::{Done, Failure};
use crate::postgres::pool::Tx;
use crate::postgres::shared::Shared;
use crate::shared_reads::SharedReads;
use crate::trust::entries;
use crate::types::StoreError;
use crate::version_numbers::Numbers;
use crate::{certificates, gateway_keys};
use idgate_base::clock::Moment;

/// How long the numbers may take.
const ANSWER: Duration = Duration::from_secs(10);

/// The latest of each, and who waits to know whether it still is.
#[derive(Default)]
pub(super) struct All {
    pub(super) noted: Noted,
    pub(super) numbers: SharedReads<Numbers>,
    pub(super) trust: Kept<TrustSnapshot>,
    pub(super) gateway_keys: Kept<GatewayKeys>,
    pub(super) certificates: Kept<Certificates>,
}

/// The latest of one.
pub(super) struct Kept<T> {
    pub(super) latest: Latest<T>,
    /// Whoever reads it again does so for all.
    pub(super) reading: Mutex<()>,
}

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self { latest: Latest::default(), reading: Mutex::default() }
    }
}

/// What has to be there before the first request: a key that signs.
pub(super) async fn begin(shared: &Shared, now: UnixMillis) -> Done<()> {
    let with = (&*shared.env.sealer, now);
    let ensure = shared.pool.transact(&with, |&(sealer, now), tx| {
        Box::pin(async move { gateway_keys::ensure(&Db::Transaction(tx), sealer, now).await })
    });
    ensure.await
}

/// Tells all who wait.
pub(super) async fn answer(shared: Arc<Shared>) {
    let client = shared.pool.client().await;
    // Whoever asks from here on may know of a later change.
    let askers = shared.cache.numbers.leave();
    if askers.iter().all(oneshot::Sender::is_closed) {
        return;
    }
    let asking = async {
        let (client, before) = (client?, Moment::now());
        Ok(shared.cache.noted.note(before, Numbers::read(&Db::Client(&client)).await?))
    };
    let outcome = match shared.clock.timeout(ANSWER, asking).await {
        Ok(outcome) => outcome.map_err(|error: Failure| StoreError::from(error)),
        Err(_) => Err(StoreError::Unavailable("PostgreSQL does not answer".into())),
    };
    for asker in askers {
        // Who no longer waits does not need to know.
        let _ = asker.send(outcome.clone());
    }
}

pub(super) async fn read_trust(shared: Arc<Shared>) -> Done<TrustSnapshot> {
    let mut client = shared.pool.client().await?;
    let moment = moment(&mut client).await?;
    entries::snapshot(&Db::Transaction(&moment), shared.env.pinned_live).await
}

pub(super) async fn read_gateway_keys(shared: Arc<Shared>) -> Done<GatewayKeys> {
    let mut client = shared.pool.client().await?;
    let moment = moment(&mut client).await?;
    gateway_keys::read(&Db::Transaction(&moment), &shared.env.sealer).await
}

pub(super) async fn read_certificates(shared: Arc<Shared>) -> Done<Certificates> {
    let mut client = shared.pool.client().await?;
    let moment = moment(&mut client).await?;
    certificates::read(&Db::Transaction(&moment), &shared.env.sealer).await
}

/// All that is read there is of one moment.
pub(super) async fn moment(client: &mut Client) -> Done<Tx<'_>> {
    let moment = client.build_transaction().isolation_level(IsolationLevel::RepeatableRead);
    Ok(moment.read_only(true).start().await?)
}
