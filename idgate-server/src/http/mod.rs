//! The edge: bytes from sockets become calls of [`crate::app`], and their outcomes become answers.
//! The only module that knows hyper; `error.rs` is the only place that chooses a status.

mod auth;
mod body;
mod connections;
mod error;
mod exchange;
mod head;
mod idempotency_key;
mod json;
mod json_body;
mod linger;
pub mod listener;
mod memory;
mod paging;
mod peer;
mod query;
mod rates;
mod refusal;
mod router;
mod routes;
mod time_limit;
mod tls;
mod turns;
mod ws;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::Semaphore;

use self::connections::Connections;
use self::memory::BodyMemory;
use self::rates::Rates;
use self::router::Router;
pub use self::router::routes;
pub use self::tls::{Tls, certificates};
use self::turns::Turns;
pub use self::ws::StreamTimes;
use crate::app::App;
use crate::config::Cidr;
use crate::log::Noise;
use crate::work::supervisor::Supervisor;

/// For bodies in flight, unless a setting says otherwise.
const DEFAULT_MEMORY: usize = 256 * 1024 * 1024;
/// Between two summaries of what left no line in the log.
const SUMMARY_EVERY: Duration = Duration::from_secs(10);

/// What a peer may cost. Every number has its reason.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HttpLimits {
    /// For the head of a request, and for the silence between two requests: a slow sender holds a
    /// connection no longer than this.
    pub header_timeout: Duration,
    /// For the body of a request: 1 MiB at 1 Mbit/s arrives in time.
    pub body_timeout: Duration,
    /// For a request as a whole, commit included; a wallet's answer has it until its verification
    /// begins.
    pub request_timeout: Duration,
    /// For a verification until its verdict is stored: less than the lease of a hold. What came to no
    /// verdict by then is told to come back.
    pub verification_timeout: Duration,
    /// For requests under way when the gateway stops: as much as both of the above.
    pub drain_timeout: Duration,
    /// Open connections; each costs a task and up to 32 KiB of buffer.
    pub connections: usize,
    /// Open connections of one peer; trusted proxies are exempt.
    pub connections_per_peer: usize,
    /// For a connection that came while all strangers' places were busy, to show a good key: a TLS
    /// handshake and a request from far away.
    pub probation: Duration,
    /// For a peer that reads nothing of its answer: longer than a phone is without a network.
    pub write_timeout: Duration,
    /// Wallet answers over 64 KiB verified at a time: they bound the threads for it. More are told
    /// to come back.
    pub large_responses: usize,
    /// How long a body waits for others of its peer or client to give back memory, before its
    /// sender is told to come back.
    pub memory_wait: Duration,
    /// For the sums of the metrics (decisions 14).
    pub metrics_timeout: Duration,
    /// What a status stream waits for.
    pub streams: StreamTimes,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            header_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(10),
            request_timeout: Duration::from_secs(15),
            verification_timeout: Duration::from_secs(10),
            drain_timeout: Duration::from_secs(25),
            connections: 10_000,
            connections_per_peer: 256,
            probation: Duration::from_secs(2),
            write_timeout: Duration::from_secs(15),
            large_responses: 64,
            memory_wait: Duration::from_secs(2),
            metrics_timeout: Duration::from_secs(5),
            streams: StreamTimes::default(),
        }
    }
}

/// What every request needs.
pub struct Gateway {
    app: Arc<App>,
    router: Router,
    limits: HttpLimits,
    trusted_proxies: Vec<Cidr>,
    draining: AtomicBool,
    connections: Arc<Connections>,
    memory: BodyMemory,
    /// The right to verify a large answer.
    verifying: Arc<Semaphore>,
    tls: Option<Arc<Tls>>,
    rates: Rates,
    noise: Noise,
    supervisor: Option<Arc<Supervisor>>,
    turns: Turns,
}

impl Gateway {
    /// The edge of `app`. Addresses in `trusted_proxies` may name their client in
    /// `X-Forwarded-For`, and are not capped.
    pub fn new(app: Arc<App>, limits: HttpLimits, trusted_proxies: Vec<Cidr>) -> Self {
        let connections = Connections::new(limits.connections, limits.connections_per_peer);
        let verifying = Arc::new(Semaphore::new(limits.large_responses));
        let memory = BodyMemory::new(DEFAULT_MEMORY, limits.memory_wait);
        Self {
            app,
            router: Router::new(),
            limits,
            trusted_proxies,
            draining: AtomicBool::new(false),
            connections: Arc::new(connections),
            memory,
            verifying,
            tls: None,
            rates: Rates::new(true),
            noise: Noise::new(),
            supervisor: None,
            turns: Turns::default(),
        }
    }

    /// Limits rates, or does not; without this it does.
    #[must_use]
    pub fn with_rate_limits(mut self, on: bool) -> Self {
        self.rates = Rates::new(on);
        self
    }

    /// With so many bytes for bodies in flight.
    #[must_use]
    pub fn with_body_memory(mut self, bytes: usize) -> Self {
        self.memory = BodyMemory::new(bytes, self.limits.memory_wait);
        self
    }

    /// Speaks TLS; `None`: plain HTTP.
    #[must_use]
    pub fn with_tls(mut self, tls: Option<Arc<Tls>>) -> Self {
        self.tls = tls;
        self
    }

    /// With what runs beside requests: the gateway is not ready when that fails again and again.
    #[must_use]
    pub fn with_supervisor(mut self, supervisor: Arc<Supervisor>) -> Self {
        self.supervisor = Some(supervisor);
        self
    }

    fn are_tasks_well(&self) -> bool {
        self.supervisor.as_ref().is_none_or(|supervisor| supervisor.is_well())
    }

    /// Says in the log, now and then, what strangers did without a line each; for ever.
    pub(crate) async fn summarise_noise(&self) {
        loop {
            tokio::time::sleep(SUMMARY_EVERY).await;
            self.tell_noise();
        }
    }

    /// Says it now.
    pub(crate) fn tell_noise(&self) {
        self.noise.summarise();
    }

    /// Is not ready any more, and answers each connection for the last time.
    pub(crate) fn start_draining(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
mod tests;
