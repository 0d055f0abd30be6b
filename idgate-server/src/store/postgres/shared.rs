//! What all use cases of one gateway work with.

use std::sync::Arc;

use idgate_core::time::UnixMillis;
use tokio::sync::Notify;

use super::change::{Change, Stored};
use super::claims::{self, ClaimsClock};
use super::error::Done;
use super::groups::Groups;
use super::pool::Pool;
use super::{held, listen, nodes, order, probe, turns};
use crate::audit::AuditKeys;
use crate::clock::Clock;
use crate::config::Quotas;
use crate::seal::Sealer;
use crate::store::changes::Changes;
use crate::store::db::Db;
use crate::store::uses::Uses;
use crate::telemetry::Telemetry;

/// What the use cases work with.
pub(super) struct Shared {
    /// By which everything is waited for.
    pub(super) clock: Arc<dyn Clock>,
    /// For requests and the gateway's own work.
    pub(super) pool: Pool,
    /// For what must not wait behind those: heartbeats, leases, word of changes.
    pub(super) aside: Pool,
    pub(super) turns: Arc<turns::Turns>,
    pub(super) groups: Arc<Groups<Change, Stored>>,
    pub(super) deletions: Arc<order::Order>,
    pub(super) sealer: Arc<Sealer>,
    pub(super) audit: AuditKeys,
    /// By which nodes know one another: made anew with each start.
    pub(super) node: String,
    /// How many nodes there are.
    pub(super) live: nodes::Live,
    pub(super) pinned_live: bool,
    pub(super) quotas: Quotas,
    pub(super) telemetry: Arc<Telemetry>,
    pub(super) changes: Arc<Changes>,
    /// Rings when a session has settled.
    pub(super) outbox_bell: Arc<Notify>,
    pub(super) uses: Uses,
    pub(super) held: held::All,
    pub(super) probe: probe::Latest,
    pub(super) news: listen::News,
    pub(super) claims_clock: ClaimsClock,
    pub(super) claims_looked: claims::Looked,
}

impl Shared {
    /// Now, by the clock that leases and results go by.
    pub(super) async fn clock_of(&self, db: &Db<'_>, now: UnixMillis) -> Done<i64> {
        match self.claims_clock.at(now) {
            Some(callers) => Ok(callers),
            None => db.clock(now).await,
        }
    }
}
