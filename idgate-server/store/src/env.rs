//! The parts of a gateway that use cases need on either database.

use std::sync::Arc;

use idgate_core::UnixMillis;
use tokio::sync::Notify;

use super::changes::Changes;
use super::db::Db;
use super::failure::{Boxed, Done};
use super::fault::Fault;
use super::sql::millis;
use super::types::{ApiKeyRecord, StoreError};
use crate::audit_chain::AuditKeys;
use crate::cache::InForceCache;
use crate::environment::Environment;
use crate::key_uses::KeyUses;
use crate::quotas::Quotas;
use crate::recent_sessions::RecentSessions;
use crate::seal::{InstanceKey, Sealer};
use idgate_base::telemetry::Telemetry;

/// A gateway on a shared database that sent no heartbeat for this long counts as gone.
pub(super) const NODE_GONE_MS: i64 = 5_000;

/// A use case. It takes its arguments, the database and the gateway's environment.
pub(super) type UseCase<A, T> = for<'a> fn(&'a A, &'a Db<'a>, &'a Env) -> Boxed<'a, T>;

/// Keys, limits, clock and listeners of one gateway.
pub(super) struct Env {
    pub(super) sealer: Arc<Sealer>,
    pub(super) audit: AuditKeys,
    /// The limits of a client.
    pub(super) quotas: Quotas,
    /// Whether live sessions accept pinned signers.
    pub(super) pinned_live: bool,
    /// The clock that decides when leases end and results expire.
    pub(super) clock: LeaseClock,
    /// The name of this gateway on a shared database, new at each start.
    pub(super) node: String,
    pub(super) telemetry: Arc<Telemetry>,
    pub(super) changes: Arc<Changes>,
    /// Rings when a session has settled.
    pub(super) outbox_bell: Arc<Notify>,
    pub(super) uses: KeyUses,
    pub(super) in_force: InForceCache,
    pub(super) recent: RecentSessions,
    pub(super) fault: Fault,
}

/// The clock that decides when leases end and results expire.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum LeaseClock {
    /// The database's clock, for gateways that share one.
    Databases,
    /// The caller's clock.
    Callers,
}

impl Env {
    pub(super) fn new(
        instance_key: &InstanceKey,
        environment: Environment,
        quotas: Quotas,
        (clock, node): (LeaseClock, String),
    ) -> Result<Self, StoreError> {
        let telemetry = Telemetry::new().map(Arc::new);
        Ok(Self {
            sealer: Arc::new(Sealer::new(instance_key)?),
            audit: AuditKeys::new(instance_key)?,
            quotas,
            pinned_live: environment == Environment::Development,
            clock,
            node,
            telemetry: telemetry.map_err(|error| StoreError::Failed(error.to_string()))?,
            changes: Arc::default(),
            outbox_bell: Arc::default(),
            uses: KeyUses::default(),
            in_force: InForceCache::default(),
            recent: RecentSessions::default(),
            fault: Fault::default(),
        })
    }

    /// The caller's time if that is the lease clock. A statement then uses it instead of the
    /// database's clock.
    pub(super) fn lease_clock(&self, now: UnixMillis) -> Option<i64> {
        (self.clock == LeaseClock::Callers).then(|| millis(now))
    }

    /// The current time by the lease clock.
    pub(super) async fn lease_now(&self, db: &Db<'_>, now: UnixMillis) -> Done<i64> {
        match self.lease_clock(now) {
            Some(callers) => Ok(callers),
            None => db.clock(now).await,
        }
    }

    /// Adds the latest use of a key, which may not be stored yet.
    pub(super) fn with_exact_use(&self, mut key: ApiKeyRecord) -> ApiKeyRecord {
        key.last_used_at = self.uses.latest(&key.id, key.last_used_at);
        key
    }
}
