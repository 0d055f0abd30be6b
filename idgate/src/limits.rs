//! All limits on sizes, counts and times of sources and receivers, each with its reason.

use std::time::Duration;

use idgate_core::limits::MAX_STATUS_URIS;

/// The time for sources to answer, from the start of the name look-up. All sources of one round are
/// asked in parallel, and a later round has what is left, so this is the limit for all of them
/// together (decisions 7).
pub(crate) const FETCH_TIME: Duration = Duration::from_secs(5);
/// The time to wait for permits before that, in all rounds.
pub(crate) const FETCH_PATIENCE: Duration = Duration::from_secs(2);
/// The tolerance on both before this process itself counts as faulty, for example because a thread
/// gets no CPU time.
pub(crate) const FETCH_SLACK: Duration = Duration::from_secs(2);
/// A part of the 5 s that all fetches of an answer have.
pub(crate) const FETCH_CONNECT_TIME: Duration = Duration::from_millis(1500);
/// A source may have moved once, and may redirect to a host with copies. A loop ends here
/// (decisions 33).
pub(crate) const MAX_REDIRECTS: usize = 3;
/// Requests that one answer of a wallet may cause, redirects and second attempts included: as many
/// as it may name sources (decisions 7 and 33).
pub(crate) const MAX_REQUESTS: usize = MAX_STATUS_URIS;
/// The head of a compressed body: ten bytes, and possibly the name of a file.
pub(crate) const MAX_GZIP_HEAD_BYTES: usize = 1024;
/// A part of an inflated body. After each part, the size is checked and other tasks run. It is
/// twice as long as deflate refers back (RFC 1951 2).
pub(crate) const INFLATED_PART_BYTES: usize = 64 * 1024;
/// For the head, a TLS handshake, and the framing of the body.
pub(crate) const MAX_FETCH_OVERHEAD_BYTES: usize = 256 * 1024;
/// Header fields of an answer to the gateway: far more than any server of lists sends.
pub(crate) const MAX_ANSWER_HEADERS: usize = 100;
/// The head of such an answer.
pub(crate) const MAX_ANSWER_HEAD_BYTES: usize = 16 * 1024;
/// Fetches of one fetcher at a time.
pub(crate) const FETCHES: usize = 64;
/// The share for the credentials of one issuer. Whatever hosts it names, the other half is for
/// other issuers.
pub(crate) const FETCHES_PER_ISSUER: usize = 32;
/// The share for one host. A few are enough, because lists are cached and fetched once for all
/// callers.
pub(crate) const FETCHES_PER_HOST: usize = 8;
/// Parallel name look-ups of one `Egress` without a permit. Look-ups for fetches and webhooks keep
/// their permits instead. It is a small part of the runtime's threads for such work, and such
/// look-ups are rare.
pub(crate) const LOOKUPS: usize = 64;
/// Memory for bodies over 64 KiB that were fetched and are not evaluated yet: six of the largest
/// size.
pub(crate) const FETCHED_BYTES: usize = 64 * 1024 * 1024;
/// The share for the credentials of one issuer: a half, like that of the fetches.
pub(crate) const FETCHED_BYTES_PER_ISSUER: usize = FETCHED_BYTES / 2;
/// Issuers and hosts whose counters are kept although no fetch is in progress.
pub(crate) const MAX_IDLE_PARTIES: usize = 64;
/// Bodies up to this size need no reserved memory.
pub(crate) const SMALL_BODY_BYTES: usize = 64 * 1024;
/// Cached lists. Real deployments have few sources, and an entry costs little in addition to its
/// list.
pub(crate) const MAX_CACHED_LISTS: usize = 1024;
/// Bytes of cached lists: two lists of the largest size, or hundreds of usual ones.
pub(crate) const MAX_CACHED_BYTES: usize = 64 * 1024 * 1024;
/// How long a copy is used without a new fetch, whatever its source says. A CRL may have its
/// nextUpdate in years, and revocations until then would be missed.
pub(crate) const MAX_FRESH_MS: u64 = 24 * 60 * 60 * 1000;
/// How long beyond its cache time a copy may be used while the source is down (decisions 7).
pub(crate) const STALE_GRACE_MS: u64 = 24 * 60 * 60 * 1000;

// Fetching ahead.

/// How long a source is fetched ahead after the last presentation that needed it: over a night, so
/// that the first presentation in the morning does not wait, and no longer than a day.
pub(crate) const IN_USE_MS: u64 = 24 * 60 * 60 * 1000;
/// How long an expired copy in use is kept: to fetch the next one in its place, and because a
/// credential that it lists as revoked must not be accepted as having unknown status.
pub(crate) const AWAITED_MS: u64 = 24 * 60 * 60 * 1000;
/// Copies with a shorter validity are fetched only for presentations. Fetching them ahead would
/// never stop.
pub(crate) const MIN_RENEWED_SPAN_MS: u64 = 60 * 1000;
/// If the next copy is issued at the end of the current one, its fetches are spread over this time
/// after that end.
pub(crate) const REISSUE_SPREAD_MS: u64 = 10 * 1000;
/// The pause after the first failed renewal. It doubles after each further failure.
pub(crate) const FIRST_RENEWAL_PAUSE_MS: u64 = 30 * 1000;
/// A source that is available again is used within a quarter of an hour, even without a
/// presentation.
pub(crate) const LONGEST_RENEWAL_PAUSE_MS: u64 = 15 * 60 * 1000;
/// Parallel renewals: a sixteenth of all fetches, so that the others are for presentations.
pub(crate) const RENEWALS_AT_ONCE: usize = 4;
/// The period of the next two limits.
pub(crate) const RENEWAL_WINDOW_MS: u64 = 60 * 1000;
/// Renewals in that period: all lists that may be cached, within 18 minutes.
pub(crate) const RENEWALS: usize = 60;
/// Bytes of renewals after which no further renewal starts: the size of the cache.
pub(crate) const RENEWAL_BYTES: usize = MAX_CACHED_BYTES;

// Messages to receivers.

/// A third of the time of an exchange.
pub(crate) const WEBHOOK_CONNECT_TIME: Duration = Duration::from_secs(5);
/// How much of a receiver's body is read, so that a normal connection ends cleanly.
pub(crate) const MAX_RECEIVER_BODY_BYTES: usize = 4 * 1024;
/// All bytes that are read from a receiver's socket: certificates, head and body.
pub(crate) const MAX_RECEIVED_BYTES: u64 = 64 * 1024;

/// The last segment of a wallet's path. Ids of sessions and offers have 26 characters.
pub(crate) const MAX_HANDLE_BYTES: usize = 64;
