//! Limits on the size, number and time of exchanges with sources and receivers, with their reasons.

use std::time::Duration;

use idgate_core::limits::MAX_STATUS_URIS;

/// Time for a source to answer, from the first look-up of its name. All sources of one round are
/// fetched in parallel, and a later round has the time that is left: this is for all of them
/// together.
pub(crate) const FETCH_TIME: Duration = Duration::from_secs(5);
/// Time to wait for permits before that, in all rounds.
pub(crate) const FETCH_PATIENCE: Duration = Duration::from_secs(2);
/// How much later than both the end may be before our own side must be at fault, for example a
/// thread that gets no time.
pub(crate) const FETCH_SLACK: Duration = Duration::from_secs(2);
/// A part of the 5 s that all fetches of an answer share.
pub(crate) const FETCH_CONNECT_TIME: Duration = Duration::from_millis(1500);
/// A source that moved has moved once, and may redirect to a mirror; a loop ends here.
pub(crate) const MAX_REDIRECTS: usize = 3;
/// Requests that one wallet answer may cause, including redirects and second attempts: as many as
/// the sources that it may name.
pub(crate) const MAX_REQUESTS: usize = MAX_STATUS_URIS;
/// The header of a compressed body: ten bytes, and the name of a file if a host includes it.
pub(crate) const MAX_GZIP_HEAD_BYTES: usize = 1024;
/// The size of an inflated part, after which the total size is checked and other tasks may run:
/// twice the distance that deflate refers back (RFC 1951 2).
pub(crate) const INFLATED_PART_BYTES: usize = 64 * 1024;
/// For the header, a TLS handshake, and the framing of the body.
pub(crate) const MAX_FETCH_OVERHEAD_BYTES: usize = 256 * 1024;
/// Fields in the header of an answer to the gateway: far more than any list server sends.
pub(crate) const MAX_ANSWER_HEADERS: usize = 100;
/// The header of such an answer.
pub(crate) const MAX_ANSWER_HEAD_BYTES: usize = 16 * 1024;
/// Parallel fetches of one fetcher.
pub(crate) const FETCHES: usize = 64;
/// Of these for the credentials of one issuer: whatever hosts it names, half are left for others.
pub(crate) const FETCHES_PER_ISSUER: usize = 32;
/// Of these at one host. Lists are cached and fetched once for all callers, so a few are enough.
pub(crate) const FETCHES_PER_HOST: usize = 8;
/// Look-ups in progress on one egress in addition to those of fetches and webhooks, which keep
/// their permits for as long. They use only few of the threads that a runtime has for blocking
/// work, and few callers need them.
pub(crate) const LOOKUPS: usize = 64;
/// For bodies over 64 KiB that were fetched and are not judged yet: six of the largest size.
pub(crate) const FETCHED_BYTES: usize = 64 * 1024 * 1024;
/// Of these for the credentials of one issuer: half, as for the fetches.
pub(crate) const FETCHED_BYTES_PER_ISSUER: usize = FETCHED_BYTES / 2;
/// Issuers and hosts that are remembered without a fetch in progress.
pub(crate) const MAX_IDLE_PARTIES: usize = 64;
/// Bodies up to this size need no reserved memory.
pub(crate) const SMALL_BODY_BYTES: usize = 64 * 1024;
/// Cached lists: real deployments have few sources, and the overhead of each is small.
pub(crate) const MAX_CACHED_LISTS: usize = 1024;
/// Bytes of cached lists: two of the largest size, or hundreds of typical ones.
pub(crate) const MAX_CACHED_BYTES: usize = 64 * 1024 * 1024;
/// The longest time for which a copy is not fetched again, whatever its source says: a CRL's next
/// update may be years away, and revocations until then would be missed.
pub(crate) const MAX_FRESH_MS: u64 = 24 * 60 * 60 * 1000;
/// How long a copy is used after its cache time while the source is down.
pub(crate) const STALE_GRACE_MS: u64 = 24 * 60 * 60 * 1000;

// Fetching ahead.

/// How long after the last presentation that needed it a source is fetched ahead: over a night, so
/// that the first presentation in the morning need not wait, and no longer than a day without use.
pub(crate) const IN_USE_MS: u64 = 24 * 60 * 60 * 1000;
/// How long a copy in use is kept after its end: to fetch its successor, and because a credential
/// that it lists as revoked is not accepted with an unknown status.
pub(crate) const AWAITED_MS: u64 = 24 * 60 * 60 * 1000;
/// Copies with a shorter lifetime are left to presentations: fetching them ahead would never stop.
pub(crate) const MIN_RENEWED_SPAN_MS: u64 = 60 * 1000;
/// If an issuer replaces a copy at its end, the next one is fetched within this time after it.
pub(crate) const REISSUE_SPREAD_MS: u64 = 10 * 1000;
/// The pause after the first failure; it doubles after each further one.
pub(crate) const FIRST_RENEWAL_PAUSE_MS: u64 = 30 * 1000;
/// A source that is back is used again within a quarter of an hour, even without presentations.
pub(crate) const LONGEST_RENEWAL_PAUSE_MS: u64 = 15 * 60 * 1000;
/// Parallel renewals: a sixteenth of all fetches, so that presentations have the others.
pub(crate) const RENEWALS_AT_ONCE: usize = 4;
/// The period of the two limits that follow.
pub(crate) const RENEWAL_WINDOW_MS: u64 = 60 * 1000;
/// Renewals in that period: all lists in a full cache take 18 minutes.
pub(crate) const RENEWALS: usize = 60;
/// Bytes fetched in that period after which no further renewal starts: the size of the cache.
pub(crate) const RENEWAL_BYTES: usize = MAX_CACHED_BYTES;

// Messages to receivers.

/// A third of the time for an exchange.
pub(crate) const WEBHOOK_CONNECT_TIME: Duration = Duration::from_secs(5);
/// How much of a receiver's answer is read, so that an ordinary connection ends properly.
pub(crate) const MAX_RECEIVER_BODY_BYTES: usize = 4 * 1024;
/// All bytes read from the socket of a receiver: certificates, header and body.
pub(crate) const MAX_RECEIVED_BYTES: u64 = 64 * 1024;

/// The last segment of wallet paths: ids of sessions and offers have 26 characters.
pub(crate) const MAX_HANDLE_BYTES: usize = 64;
