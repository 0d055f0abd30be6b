//! The parts that all use cases of a gateway share.

use std::sync::Arc;

use super::change::{Change, Stored};
use super::claims;
use super::groups::Groups;
use super::pool::Pool;
use super::{listen, nodes, order, probe, turns};
use crate::env::Env;
use idgate_base::clock::Clock;

/// The shared parts.
pub(crate) struct Shared {
    pub(crate) env: Arc<Env>,
    /// The clock of all timeouts.
    pub(super) clock: Arc<dyn Clock>,
    /// For requests and the gateway's own work.
    pub(super) pool: Pool,
    /// For work that must not wait behind those: heartbeats, leases, announcements of changes.
    pub(super) aside: Pool,
    pub(super) turns: Arc<turns::Turns>,
    pub(super) groups: Arc<Groups<Change, Stored>>,
    pub(super) deletions: Arc<order::Order>,
    /// The number of nodes.
    pub(super) live: nodes::Live,
    pub(super) probe: probe::Latest,
    pub(super) news: listen::News,
    pub(super) claims_looked: claims::Looked,
}
