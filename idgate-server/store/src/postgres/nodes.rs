//! The nodes that share the database. Every second, each node stores a heartbeat with its version
//! and the key that it seals with. Times are the database's.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use deadpool_postgres::GenericClient;
use idgate_core::{Entropy as _, UnixMillis};
use tokio::sync::Mutex;

use super::super::key_check::Check;
use super::super::sql::unsigned;
use super::super::types::StoreError;
use super::error::{Done, Failure};
use super::instance;
use super::pool::Tx;
use super::schema;
use super::shared::Shared;
use crate::audit_chain::hex;
use crate::env::NODE_GONE_MS;
use crate::postgres_statements::{execute, row};
use crate::seal::Sealer;
use crate::session_upkeep::REASONS;
use idgate_base::entropy::OsEntropy;

/// The interval of heartbeats.
const BEAT: Duration = Duration::from_secs(1);
/// After this time all other nodes know of a new one.
const KNOWN: Duration = Duration::from_millis(1500);
/// A name that no other node has had.
pub(super) fn name() -> Result<String, StoreError> {
    let mut bytes = [0; 8];
    let drawn = OsEntropy.fill(&mut bytes);
    drawn.map_err(|_| {
        StoreError::Unavailable("the operating system's random source failed".into())
    })?;
    Ok(hex(&bytes))
}

/// The number of nodes, including this one, as of its last heartbeat.
#[derive(Default)]
pub(super) struct Live {
    count: AtomicU64,
    /// When this node joined others, by its own clock. 0: there were no others.
    joined: AtomicU64,
    /// Whether this node has left. Held during a heartbeat, so that no heartbeat follows the
    /// leaving.
    has_left: Mutex<bool>,
}

impl Live {
    pub(super) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed).max(1)
    }

    pub(super) fn joined(&self) -> UnixMillis {
        UnixMillis(self.joined.load(Ordering::Relaxed))
    }
}

/// Announces this node, and removes nodes that have been gone for an hour. If there are others,
/// this node waits until they know: each node grants its share of every limit, by the number of
/// nodes that it knows.
///
/// # Errors
/// A command that excludes this node was first: one that copies into the database, or one that
/// removes the instance key that this node seals with.
pub(super) async fn join(shared: &Shared, now: UnixMillis) -> Done<Option<Check>> {
    shared
        .aside
        .transact(shared, |shared, tx| {
            Box::pin(async move {
                // Of nodes that start together, each sees those before it.
                tx.execute("SELECT pg_advisory_xact_lock($1)", &[&schema::LOCK]).await?;
                say(shared, tx).await
            })
        })
        .await?;
    if shared.live.count() > 1 {
        shared.live.joined.store(now.0, Ordering::Relaxed);
    }
    // From here on such a command sees this node, or this node sees its effect.
    let first = match instance::check_key(&shared.aside, &shared.env.sealer).await {
        Ok(first) => first,
        Err(refused) => {
            leave(shared).await?;
            return Err(refused);
        }
    };
    let client = shared.aside.client().await?;
    execute(&client, "DELETE FROM nodes WHERE beat_at < clock_ms() - 3600000", &[]).await?;
    drop(client);
    if shared.live.count() > 1 {
        tokio::time::sleep(KNOWN).await;
        say(shared, &shared.aside.client().await?).await?;
    }
    Ok(first)
}

/// Fails while a node that seals with another key is running.
pub(super) async fn require_one_key(tx: &Tx<'_>, sealer: &Sealer) -> Done<()> {
    let sql = "SELECT FROM nodes \
               WHERE beat_at > clock_ms() - $1 AND split_part(version, ' ', 2) <> $2 LIMIT 1";
    if row(tx, sql, &[&NODE_GONE_MS, &sealer.key_name()?]).await?.is_some() {
        return Err(Failure::failed(
            "a node still seals with another instance key; set IDGATE_INSTANCE_KEYS on each node \
             to both, the new one first, restart them, then run `idgate keys reseal`",
        ));
    }
    Ok(())
}

async fn say(shared: &Shared, on: &impl GenericClient) -> Done<()> {
    let has_left = shared.live.has_left.lock().await;
    if *has_left {
        return Ok(());
    }
    let version =
        format!("{} {} {REASONS}", env!("CARGO_PKG_VERSION"), shared.env.sealer.key_name()?);
    let found = row(
        on,
        "WITH beat AS (INSERT INTO nodes (id, version, started_at, beat_at) \
             VALUES ($1, $2, clock_ms(), clock_ms()) \
             ON CONFLICT (id) DO UPDATE SET beat_at = excluded.beat_at) \
         SELECT 1 + count(*) FROM nodes WHERE id <> $1 AND beat_at > clock_ms() - $3",
        &[&shared.env.node, &version, &NODE_GONE_MS],
    )
    .await?;
    if let Some(found) = found {
        shared.live.count.store(unsigned(found.try_get(0)?), Ordering::Relaxed);
    }
    Ok(())
}

/// Announces that this node has left.
pub(super) async fn leave(shared: &Shared) -> Done<()> {
    *shared.live.has_left.lock().await = true;
    let client = shared.aside.client().await?;
    execute(&client, "DELETE FROM nodes WHERE id = $1", &[&shared.env.node]).await?;
    Ok(())
}

/// Sends heartbeats. If the database is unreachable, they resume when it is back.
pub(super) async fn beat(shared: Arc<Shared>) {
    loop {
        tokio::time::sleep(BEAT).await;
        let said = match shared.aside.client().await {
            Ok(client) => say(&shared, &client).await,
            Err(failure) => Err(failure),
        };
        if let Err(error) = said {
            tracing::debug!(cause = ?error, "no heartbeat");
        }
    }
}
