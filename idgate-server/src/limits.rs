//! Every size, count and time that bounds what peers, clients and other servers cost; each number
//! carries its reason. How often they may come is in `http/admission/rates.rs`, a row for each limit.

use std::time::Duration;

/// For bodies in flight, unless a setting says otherwise.
pub(crate) const BODY_MEMORY: usize = 256 * 1024 * 1024;

/// A body that fits into what is read with its head.
pub(crate) const BODY_AT_HAND_BYTES: u64 = 16 * 1024;
/// For the rest of such a body to arrive.
pub(crate) const BODY_AT_HAND_WAIT: Duration = Duration::from_millis(20);
/// How long a request too many waits for its refusal when its client fills all its places: with
/// those that follow it makes at most 256 refusals a second.
pub(crate) const REFUSAL_PAUSE: Duration = Duration::from_millis(250);
/// A writer that takes longer is not ready for sessions.
pub(crate) const PROBE_TIMEOUT: Duration = Duration::from_secs(1);

/// Of what a collector answers: it says how many spans it refused, and why.
pub(crate) const MAX_COLLECTOR_ANSWER: usize = 64 * 1024;

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

// Heads and bodies of requests.

/// Fields in the head of a request: far more than any client in use sends; more is answered 431.
pub(crate) const MAX_HEADERS: usize = 64;
/// The head of a request; a longer one is answered 431.
pub(crate) const MAX_HEAD_BYTES: usize = 32 * 1024;
/// An `Idempotency-Key` (decisions 4).
pub(crate) const MAX_IDEMPOTENCY_KEY_CHARS: usize = 255;
/// Bodies up to here are verified where they are; longer ones may take long enough to be in the way
/// of other requests, and need the right to be.
pub(crate) const LARGE_ANSWER_BYTES: usize = 64 * 1024;
/// What a byte of a body may cost at once: received, decoded, decrypted, and as values of a tree.
pub(crate) const MEMORY_PER_BODY_BYTE: usize = 8;
/// Holders of memory that are remembered before those without bodies are forgotten.
pub(crate) const MAX_REMEMBERED_PAYERS: usize = 1024;
/// How many times the share of a peer proxies have that name nobody: they stand for many, and who is
/// named by another is not to find everything taken.
pub(crate) const PROXY_SHARES: usize = 4;
/// For the whole of what a peer still sends after its answer: 32 MiB at 20 Mbit/s.
pub(crate) const LINGER_TIME: Duration = Duration::from_secs(15);
/// For a peer that then sends nothing more and does not close either: it has had time to read the
/// answer.
pub(crate) const LINGER_SILENCE: Duration = Duration::from_secs(2);
/// What buys a second more, so that a peer that drips is not waited for: 1 Mbit.
pub(crate) const LINGER_PACE_BYTES: usize = 128 * 1024;
/// A body of 32 MiB in its framing: many clients send all of a body before they read the answer.
pub(crate) const MAX_DISCARDED_BYTES: usize = 33 * 1024 * 1024;

// What one client or peer has at a time.

/// Requests of a client that read, which cost processor time and little else: what a few cores do at
/// once.
pub(crate) const READS_PER_CLIENT: usize = 16;
/// Requests of a client that write, which mostly wait for the disk: as many as share one commit.
pub(crate) const WRITES_PER_CLIENT: usize = 64;
/// Requests of one kind that wait: as many as one address has connections.
pub(crate) const WAITING_PER_CLIENT: usize = 256;
/// Streams of one session: a page in some tabs, and a backend.
pub(crate) const STREAMS_PER_SESSION: usize = 5;
/// Streams of one client.
pub(crate) const STREAMS_PER_CLIENT: usize = 500;
/// Frames of the peer between two of our pings: far more than any client in use sends.
pub(crate) const MAX_FRAMES_PER_PING: u32 = 200;
/// The largest payload of a control frame (RFC 6455 5.5).
pub(crate) const MAX_CONTROL_BYTES: u8 = 125;
/// A frame that announces more is called too large, and not only out of place (decisions 12).
pub(crate) const MAX_FRAME_BYTES: u64 = 1024;
/// Peers that the log tells apart: past twice as many the first are forgotten.
pub(crate) const LOGGED_PEERS: usize = 16 * 1024;
/// Clients and faults that the log tells apart.
pub(crate) const LOGGED_OTHERS: usize = 4096;
/// Sums that the log tells apart between two summaries.
pub(crate) const MAX_LOGGED_SUMS: usize = 32;
/// Names chosen by a tenant in one line of the log.
pub(crate) const MAX_LOGGED_NAMES: usize = 5;
/// Of each of these names.
pub(crate) const MAX_LOGGED_NAME_CHARS: usize = 64;
/// Bytes of the log that wait to be written: seconds of a busy gateway, and nothing to its memory.
pub(crate) const MAX_WAITING_LOG_BYTES: usize = 1024 * 1024;

/// How long the question of a page whether anything changed is kept: less than proxies wait, and seldom
/// enough for its rate.
pub(crate) const PAGE_WAIT: Duration = Duration::from_secs(10);
/// Between two looks at the session in that time, for what other processes change.
pub(crate) const PAGE_LOOK: Duration = Duration::from_secs(1);
/// Ranges of an `Accept-Language` that are looked at; a person reads fewer.
pub(crate) const MAX_LANGUAGES: usize = 32;
/// What a page shows of a name that a tenant or an issuer chose.
pub(crate) const MAX_SHOWN_CHARS: usize = 80;
/// Wallet schemes that an operator can name.
pub(crate) const MAX_LINK_SCHEMES: usize = 16;
/// Longest of these schemes.
pub(crate) const MAX_LINK_SCHEME_CHARS: usize = 64;

// What is stored and shown.

/// What a page of a list has when nobody says otherwise.
pub(crate) const DEFAULT_PAGE: usize = 50;
/// What a page has at most.
pub(crate) const MAX_PAGE: usize = 100;
/// The longest window of the metrics: 30 days.
pub(crate) const MAX_WINDOW_HOURS: usize = 720;
/// The name of an API key (specification 8).
pub(crate) const MAX_API_KEY_NAME_CHARS: usize = 100;
/// Bytes of an address that pages lead to.
pub(crate) const MAX_PAGE_LINK: usize = 2000;
/// The logo of a client, which is shown small.
pub(crate) const MAX_LOGO_BYTES: usize = 128 * 1024;
/// Origins of one client: its environments and brands.
pub(crate) const MAX_ORIGINS: usize = 32;
/// A reason that clients read as `host_review_note`.
pub(crate) const MAX_REVIEW_NOTE_CHARS: usize = 500;
/// Far beyond any key file; keeps a slip of the hand from filling the memory.
pub(crate) const MAX_KEY_FILE_BYTES: u64 = 1024 * 1024;
/// A list of certificates, or a CRL: they grow with what they are about, and this is far beyond them.
pub(crate) const MAX_LIST_FILE_BYTES: u64 = 16 * 1024 * 1024;

// Webhooks.

/// The URL of an endpoint: what proxies and logs commonly take.
pub(crate) const MAX_WEBHOOK_URL_CHARS: usize = 2000;
/// For one exchange with a receiver, from the name to the end of the answer.
pub(crate) const WEBHOOK_TIME: Duration = Duration::from_secs(15);
/// For the exchange of a test, whose sender waits for its outcome: less than a request has.
pub(crate) const WEBHOOK_TEST_TIME: Duration = Duration::from_secs(10);
/// Tests at a time, over all clients: people ask for them.
pub(crate) const WEBHOOK_TESTS: usize = 32;
/// Exchanges at a time: at 64 KiB each, 16 MiB.
pub(crate) const WEBHOOK_PLACES: usize = 256;
/// Of these for clients whose last exchange failed or was slow.
pub(crate) const WEBHOOK_PLACES_UNWELL: usize = 128;
/// Of these for one host, however many clients share it.
pub(crate) const WEBHOOK_PLACES_PER_HOST: usize = 32;
/// Clients whose deliveries are remembered; then those without an exchange are forgotten.
pub(crate) const MAX_REMEMBERED_RECEIVERS: usize = 10_000;

// Fetches of trusted lists. The crate idgate has the limits of status lists and CRLs.

/// How long one fetch of a trusted list may take.
pub(crate) const LIST_FETCH_TIME: Duration = Duration::from_secs(30);
