//! All limits that bound the cost of peers, clients and other servers, with their reasons. Rate
//! limits are in `http/admission/rates.rs`.

use std::time::Duration;

/// Memory for bodies in flight, unless a setting says otherwise.
pub(crate) const BODY_MEMORY: usize = 256 * 1024 * 1024;

/// A body up to this size is read together with its head.
pub(crate) const BODY_AT_HAND_BYTES: u64 = 16 * 1024;
/// How long the rest of such a body may take.
pub(crate) const BODY_AT_HAND_WAIT: Duration = Duration::from_millis(20);
/// How long an excess request waits for its refusal if its client fills all its places. Together
/// with the requests behind it, the client then causes at most 256 refusals a second.
pub(crate) const REFUSAL_PAUSE: Duration = Duration::from_millis(250);
/// A writer that takes longer makes the gateway not ready.
pub(crate) const PROBE_TIMEOUT: Duration = Duration::from_secs(1);

/// The size of a collector's response, which says how many spans it refused, and why.
pub(crate) const MAX_COLLECTOR_ANSWER: usize = 64 * 1024;

/// Limits on the cost of peers, for one gateway.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HttpLimits {
    /// The head of a request, and the silence between two requests: the longest time that a slow
    /// sender can hold a connection.
    pub header_timeout: Duration,
    /// The body of a request: 1 MiB at 1 Mbit/s arrives in time.
    pub body_timeout: Duration,
    /// A whole request, commit included. For a wallet's answer it ends when the verification
    /// starts.
    pub request_timeout: Duration,
    /// A verification until its verdict is stored: less than the lease of a hold. If there is no
    /// verdict by then, the wallet is told to try again.
    pub verification_timeout: Duration,
    /// Requests in progress when the gateway stops: the sum of the two limits above.
    pub drain_timeout: Duration,
    /// Open connections; each costs a task and up to 32 KiB of buffers.
    pub connections: usize,
    /// Open connections of one peer; trusted proxies are exempt.
    pub connections_per_peer: usize,
    /// Time for a new connection to show a valid key while all strangers' places are busy: enough
    /// for a TLS handshake and a request from far away.
    pub probation: Duration,
    /// How long a peer may read nothing of its response: longer than a phone loses its network.
    pub write_timeout: Duration,
    /// Wallet answers over 64 KiB that are verified at the same time; this bounds the threads for
    /// them. Further ones are told to try again.
    pub large_responses: usize,
    /// How long a body waits for memory of its peer or client to be freed, before its sender is
    /// told to try again.
    pub memory_wait: Duration,
    /// Computing the metrics summary (decisions 14).
    pub metrics_timeout: Duration,
    /// Times of status streams.
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

/// Times of status streams.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StreamTimes {
    /// Between two checks of key and session for changes by other processes: a revocation takes
    /// effect within a second.
    pub look: Duration,
    /// From the last sign of life to the next ping: shorter than the idle time after which NATs and
    /// proxies drop a connection.
    pub ping: Duration,
    /// The answer to a ping.
    pub pong: Duration,
    /// A write without progress.
    pub write: Duration,
    /// The peer's part of the closing handshake.
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

// Heads and bodies of requests.

/// Header fields of a request: far more than any client in use sends. A request with more gets 431.
pub(crate) const MAX_HEADERS: usize = 64;
/// The head of a request; a longer one gets 431.
pub(crate) const MAX_HEAD_BYTES: usize = 32 * 1024;
/// An `Idempotency-Key` (decisions 4).
pub(crate) const MAX_IDEMPOTENCY_KEY_CHARS: usize = 255;
/// Bodies up to this size are verified on the thread of the request. Longer ones may take long
/// enough to delay other requests, and need a permit.
pub(crate) const LARGE_ANSWER_BYTES: usize = 64 * 1024;
/// The memory that a byte of a body may cost at the same time: received, decoded, decrypted, and as
/// values of a tree.
pub(crate) const MEMORY_PER_BODY_BYTE: usize = 8;
/// Holders of memory that are remembered; beyond that, those without bodies are forgotten.
pub(crate) const MAX_REMEMBERED_PAYERS: usize = 1024;
/// The shares of memory for proxies that do not name their client. They forward many clients, but
/// must leave memory for clients that other proxies name.
pub(crate) const PROXY_SHARES: usize = 4;
/// The total time for what a peer still sends after its response: 32 MiB at 20 Mbit/s.
pub(crate) const LINGER_TIME: Duration = Duration::from_secs(15);
/// How long a peer may then neither send nor close: it has had time to read the response.
pub(crate) const LINGER_SILENCE: Duration = Duration::from_secs(2);
/// Bytes that extend the wait by a second, so that a slowly dripping peer is not waited for: 1
/// Mbit.
pub(crate) const LINGER_PACE_BYTES: usize = 128 * 1024;
/// A body of 32 MiB with its framing: many clients send a whole body before they read the response.
pub(crate) const MAX_DISCARDED_BYTES: usize = 33 * 1024 * 1024;

// Concurrent use by one client or peer.

/// Read requests of a client. They cost little except processor time: as many as a few cores handle
/// together.
pub(crate) const READS_PER_CLIENT: usize = 16;
/// Write requests of a client. They mostly wait for the disk: as many as share one commit.
pub(crate) const WRITES_PER_CLIENT: usize = 64;
/// Waiting requests of one kind: as many as one address has connections.
pub(crate) const WAITING_PER_CLIENT: usize = 256;
/// Streams of one session: a page in some tabs, and a backend.
pub(crate) const STREAMS_PER_SESSION: usize = 5;
/// Streams of one client.
pub(crate) const STREAMS_PER_CLIENT: usize = 500;
/// Frames from the peer between two pings: far more than any client in use sends.
pub(crate) const MAX_FRAMES_PER_PING: u32 = 200;
/// The largest payload of a control frame (RFC 6455 5.5).
pub(crate) const MAX_CONTROL_BYTES: u8 = 125;
/// A frame that announces more is refused as too large, rather than as a bad frame (decisions 12).
pub(crate) const MAX_FRAME_BYTES: u64 = 1024;
/// Peers that the log distinguishes; beyond twice as many, the first are forgotten.
pub(crate) const LOGGED_PEERS: usize = 16 * 1024;
/// Clients and faults that the log distinguishes.
pub(crate) const LOGGED_OTHERS: usize = 4096;
/// Separate sums in one summary of the log.
pub(crate) const MAX_LOGGED_SUMS: usize = 32;
/// Names chosen by a tenant in one log line.
pub(crate) const MAX_LOGGED_NAMES: usize = 5;
/// Characters of each of these names.
pub(crate) const MAX_LOGGED_NAME_CHARS: usize = 64;
/// Bytes of log lines that wait to be written: seconds of a busy gateway, and little memory.
pub(crate) const MAX_WAITING_LOG_BYTES: usize = 1024 * 1024;

/// How long a page's poll for changes is held: less than proxies wait, and long enough to stay
/// within its rate.
pub(crate) const PAGE_WAIT: Duration = Duration::from_secs(10);
/// Between two reads of the session during that time, for changes by other processes.
pub(crate) const PAGE_LOOK: Duration = Duration::from_secs(1);
/// Ranges of an `Accept-Language` that are considered; a person reads fewer languages.
pub(crate) const MAX_LANGUAGES: usize = 32;
/// Characters that a page shows of a name that a tenant or an issuer chose.
pub(crate) const MAX_SHOWN_CHARS: usize = 80;
/// Link schemes that an operator can configure.
pub(crate) const MAX_LINK_SCHEMES: usize = 16;
/// Characters of such a scheme.
pub(crate) const MAX_LINK_SCHEME_CHARS: usize = 64;

// Stored and shown data.

/// Entries of a page of a list by default.
pub(crate) const DEFAULT_PAGE: usize = 50;
/// The most entries of a page of a list.
pub(crate) const MAX_PAGE: usize = 100;
/// The longest window of the metrics: 30 days.
pub(crate) const MAX_WINDOW_HOURS: usize = 720;
/// The name of an API key (specification 8).
pub(crate) const MAX_API_KEY_NAME_CHARS: usize = 100;
/// Bytes of an address that pages link to.
pub(crate) const MAX_PAGE_LINK: usize = 2000;
/// A client's logo, which is shown small.
pub(crate) const MAX_LOGO_BYTES: usize = 128 * 1024;
/// Origins of one client: its environments and brands.
pub(crate) const MAX_ORIGINS: usize = 32;
/// Characters of a review note, which clients read as `host_review_note`.
pub(crate) const MAX_REVIEW_NOTE_CHARS: usize = 500;
/// A key file: far more than any needs; keeps a mistyped path from filling the memory.
pub(crate) const MAX_KEY_FILE_BYTES: u64 = 1024 * 1024;
/// A list of certificates, or a CRL: far more than real ones have.
pub(crate) const MAX_LIST_FILE_BYTES: u64 = 16 * 1024 * 1024;

// Webhooks.

/// The URL of an endpoint: the length that proxies and logs commonly accept.
pub(crate) const MAX_WEBHOOK_URL_CHARS: usize = 2000;
/// One exchange with a receiver, from the name lookup to the end of the response.
pub(crate) const WEBHOOK_TIME: Duration = Duration::from_secs(15);
/// The exchange of a test, whose sender waits for the outcome: less than a request's time.
pub(crate) const WEBHOOK_TEST_TIME: Duration = Duration::from_secs(10);
/// Concurrent tests of all clients; people start them by hand.
pub(crate) const WEBHOOK_TESTS: usize = 32;
/// Concurrent exchanges: at 64 KiB each, 16 MiB.
pub(crate) const WEBHOOK_PLACES: usize = 256;
/// Those for clients whose last exchange failed or was slow.
pub(crate) const WEBHOOK_PLACES_UNWELL: usize = 128;
/// Those for one host, however many clients share it.
pub(crate) const WEBHOOK_PLACES_PER_HOST: usize = 32;
/// Clients whose delivery state is remembered; beyond that, those without an exchange are
/// forgotten.
pub(crate) const MAX_REMEMBERED_RECEIVERS: usize = 10_000;

// Fetches of trusted lists. The crate idgate has the limits for status lists and CRLs.

/// How long one fetch of a trusted list may take.
pub(crate) const LIST_FETCH_TIME: Duration = Duration::from_secs(30);
