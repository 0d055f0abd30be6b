//! The state shared by all requests, built once at the start.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Semaphore, watch};

use super::added::AddedRoutes;
use super::admission::connections::Connections;
use super::admission::memory::BodyMemory;
use super::admission::rates::Rates;
use super::admission::turns::Turns;
use super::tls::Tls;
use crate::app::App;
use crate::config::{Cidr, WalletOrigins};
use crate::limits::{BODY_MEMORY, HttpLimits};
use crate::log::Noise;
use crate::work::supervisor::Supervisor;
use idgate_base::clock::Clock;
use idgate_base::spans::Tracer;

/// Interval between two summaries of events without a log line of their own.
const SUMMARY_EVERY: Duration = Duration::from_secs(10);

/// The state shared by all requests.
pub struct Gateway {
    pub(super) app: Arc<App>,
    pub(super) limits: HttpLimits,
    pub(super) trusted_proxies: Vec<Cidr>,
    /// The origins of wallets that run as pages in a browser.
    pub(crate) wallet_origins: WalletOrigins,
    draining: watch::Sender<bool>,
    pub(super) connections: Arc<Connections>,
    pub(super) memory: BodyMemory,
    /// Permits to verify a large answer.
    pub(super) verifying: Arc<Semaphore>,
    /// `None`: plain HTTP.
    pub(crate) tls: Option<Arc<Tls>>,
    pub(super) rates: Rates,
    pub(super) noise: Noise,
    /// The gateway is not ready while a task of this supervisor keeps failing.
    pub(crate) supervisor: Option<Arc<Supervisor>>,
    pub(super) turns: Turns,
    /// `None` if nothing is traced.
    pub(crate) tracer: Option<Arc<Tracer>>,
    /// Public routes of the embedding program.
    pub(crate) added: Option<Arc<dyn AddedRoutes>>,
    /// Whether the operator routes are absent, because strangers reach the listener as loopback
    /// peers.
    pub(crate) hides_admin: bool,
}

impl Gateway {
    /// The HTTP layer of `app`. Addresses in `trusted_proxies` may name their client in
    /// `X-Forwarded-For`, and are not capped.
    pub fn new(app: Arc<App>, limits: HttpLimits, trusted_proxies: Vec<Cidr>) -> Self {
        let connections = Connections::new(limits.connections, limits.connections_per_peer);
        let verifying = Arc::new(Semaphore::new(limits.large_responses));
        let memory = BodyMemory::new(BODY_MEMORY, limits.memory_wait);
        let rates = Rates::new(true, app.store().clone());
        Self {
            app,
            limits,
            trusted_proxies,
            wallet_origins: WalletOrigins::default(),
            draining: watch::Sender::new(false),
            connections: Arc::new(connections),
            memory,
            verifying,
            tls: None,
            rates,
            noise: Noise::new(),
            supervisor: None,
            turns: Turns::default(),
            tracer: None,
            added: None,
            hides_admin: false,
        }
    }

    /// Switches rate limits on or off; they are on by default.
    #[must_use]
    pub fn with_rate_limits(mut self, on: bool) -> Self {
        self.rates = Rates::new(on, self.app.store().clone());
        self
    }

    /// Sets the memory budget for bodies in flight, in bytes.
    #[must_use]
    pub fn with_body_memory(mut self, bytes: usize) -> Self {
        self.memory = BodyMemory::new(bytes, self.limits.memory_wait);
        self
    }

    /// The clock for decisions and waits.
    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        self.app.clock()
    }

    pub(super) fn are_tasks_well(&self) -> bool {
        self.supervisor.as_ref().is_none_or(|supervisor| supervisor.is_well())
    }

    /// Logs regular summaries of unlogged events; never returns.
    pub(crate) async fn summarise_noise(&self) {
        loop {
            tokio::time::sleep(SUMMARY_EVERY).await;
            self.tell_noise();
        }
    }

    /// Logs the summary now.
    pub(crate) fn tell_noise(&self) {
        self.noise.summarise();
    }

    /// Starts draining: not ready any more, and each connection gets one last response.
    pub(crate) fn start_draining(&self) {
        self.draining.send_replace(true);
    }

    pub(super) fn is_draining(&self) -> bool {
        *self.draining.borrow()
    }

    /// Resolves readers when the drain starts.
    pub(super) fn drains(&self) -> watch::Receiver<bool> {
        self.draining.subscribe()
    }
}
