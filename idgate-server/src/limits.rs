//! What peers, clients and the gateway itself may cost. Every number has its reason.

use std::time::Duration;

/// For bodies in flight, unless a setting says otherwise.
pub(crate) const BODY_MEMORY: usize = 256 * 1024 * 1024;

/// What a peer may cost, as one gateway is given it.
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

/// How long a status stream waits for what.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StreamTimes {
    /// Between two looks at key and session, for what other processes change: a revocation counts
    /// within a second.
    pub look: Duration,
    /// From a sign of life to the next ping: shorter than the silence after which address
    /// translators and proxies forget a connection.
    pub ping: Duration,
    /// For the answer to a ping.
    pub pong: Duration,
    /// For a peer that takes nothing of what is written.
    pub write: Duration,
    /// For the peer's part in closing.
    pub close: Duration,
}

impl Default for StreamTimes {
    fn default() -> Self {
        Self {
            look: Duration::from_millis(500),
            ping: Duration::from_secs(20),
            pong: Duration::from_secs(10),
            write: Duration::from_secs(5),
            close: Duration::from_secs(2),
        }
    }
}
