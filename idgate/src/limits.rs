//! Every size, count and time that bounds what a source or a receiver costs; each number carries its
//! reason.

use std::time::Duration;

use idgate_core::limits::MAX_STATUS_URIS;

/// For a source to answer, from the first look at its name. All sources of one round are asked at
/// once, and a later round has what the first ones left: this is for all of them together
/// (decisions 7).
pub(crate) const FETCH_TIME: Duration = Duration::from_secs(5);
/// For permits before that, in all rounds.
pub(crate) const FETCH_PATIENCE: Duration = Duration::from_secs(2);
/// What both may be over before something of ours is out of order: a thread that gets no time.
pub(crate) const FETCH_SLACK: Duration = Duration::from_secs(2);
/// A part of the 5 s that all fetches of an answer have together.
pub(crate) const FETCH_CONNECT_TIME: Duration = Duration::from_millis(1500);
/// A source that moved has moved once, and may send on to a host of copies; a loop ends here
/// (decisions 33).
pub(crate) const MAX_REDIRECTS: usize = 3;
/// Requests that one answer of a wallet causes, redirects and second attempts included: as many as it may
/// name sources (decisions 7 and 33).
pub(crate) const MAX_REQUESTS: usize = MAX_STATUS_URIS;
/// The head of a compressed body: ten bytes, and the name of a file where a host leaves it in.
pub(crate) const MAX_GZIP_HEAD_BYTES: usize = 1024;
/// A part of an inflated body, after which its size is checked and other work has its turn: twice as long as
/// deflate refers back (RFC 1951 2).
pub(crate) const INFLATED_PART_BYTES: usize = 64 * 1024;
/// For the head, a TLS handshake, and the framing of the body.
pub(crate) const MAX_FETCH_OVERHEAD_BYTES: usize = 256 * 1024;
/// Fields in the head of an answer to the gateway: far more than any server of lists sends.
pub(crate) const MAX_ANSWER_HEADERS: usize = 100;
/// The head of such an answer.
pub(crate) const MAX_ANSWER_HEAD_BYTES: usize = 16 * 1024;
/// Fetches of one fetcher at a time.
pub(crate) const FETCHES: usize = 64;
/// Of these for the credentials of one issuer: whatever hosts it names, others have a half.
pub(crate) const FETCHES_PER_ISSUER: usize = 32;
/// Of these at one host. Lists are cached and asked once for all who wait, so that few are enough.
pub(crate) const FETCHES_PER_HOST: usize = 8;
/// Names that are being looked up on one way out besides those of fetches and webhooks, which keep
/// their turns for as long: few of the threads that a runtime has for such work, and few are asked so.
pub(crate) const LOOKUPS: usize = 64;
/// For bodies over 64 KiB that were fetched and are not judged yet: six of the largest size.
pub(crate) const FETCHED_BYTES: usize = 64 * 1024 * 1024;
/// Of these for the credentials of one issuer: a half, as of the fetches.
pub(crate) const FETCHED_BYTES_PER_ISSUER: usize = FETCHED_BYTES / 2;
/// Issuers and hosts that are remembered without being asked.
pub(crate) const MAX_IDLE_PARTIES: usize = 64;
/// Bodies up to here are taken as they come.
pub(crate) const SMALL_BODY_BYTES: usize = 64 * 1024;
/// Copies of lists: sources of real deployments are few, and each costs little beside its list.
pub(crate) const MAX_CACHED_LISTS: usize = 1024;
/// Bytes of them: two lists of the largest size, or hundreds of usual ones.
pub(crate) const MAX_CACHED_BYTES: usize = 64 * 1024 * 1024;
/// How long a copy goes unasked, whatever its source says: a CRL may name a next one in years, and
/// who is revoked until then would not show.
pub(crate) const MAX_FRESH_MS: u64 = 24 * 60 * 60 * 1000;
/// How long beyond its cache time a copy serves when the source is down (decisions 7).
pub(crate) const STALE_GRACE_MS: u64 = 24 * 60 * 60 * 1000;

// Fetching ahead.

/// How long after the last presentation that needed it a source is fetched ahead: over a night, so that the
/// first in the morning waits for none, and no longer than a day out of use.
pub(crate) const IN_USE_MS: u64 = 24 * 60 * 60 * 1000;
/// How long after its end a copy in use is kept: to fetch the next one in its place, and because a credential that it
/// calls revoked is not accepted as of unknown status.
pub(crate) const AWAITED_MS: u64 = 24 * 60 * 60 * 1000;
/// Copies that serve for a shorter time are left to presentations: fetching them ahead would be asking
/// without end.
pub(crate) const MIN_RENEWED_SPAN_MS: u64 = 60 * 1000;
/// Over so much time after the end of a copy the next one is fetched, where that is issued then.
pub(crate) const REISSUE_SPREAD_MS: u64 = 10 * 1000;
/// After the first time that nothing came, and twice as long after each one that follows.
pub(crate) const FIRST_RENEWAL_PAUSE_MS: u64 = 30 * 1000;
/// A source that is back is used again within a quarter of an hour, presentations or not.
pub(crate) const LONGEST_RENEWAL_PAUSE_MS: u64 = 15 * 60 * 1000;
/// Renewals at a time: a sixteenth of all fetches, so that presentations have the others.
pub(crate) const RENEWALS_AT_ONCE: usize = 4;
/// For so long the two that follow count.
pub(crate) const RENEWAL_WINDOW_MS: u64 = 60 * 1000;
/// Renewals in that time: all lists that may be remembered within 18 minutes.
pub(crate) const RENEWALS: usize = 60;
/// Bytes that come of them after which none begins: what the cache holds, once.
pub(crate) const RENEWAL_BYTES: usize = MAX_CACHED_BYTES;

// Messages to receivers.

/// A third of what an exchange has.
pub(crate) const WEBHOOK_CONNECT_TIME: Duration = Duration::from_secs(5);
/// How much of a receiver's answer is read, so that an ordinary connection ends in order.
pub(crate) const MAX_RECEIVER_BODY_BYTES: usize = 4 * 1024;
/// All that is taken from the socket of a receiver: certificates, head and body.
pub(crate) const MAX_RECEIVED_BYTES: u64 = 64 * 1024;

/// The last segment of the paths of wallets: ids of sessions and offers have 26 characters.
pub(crate) const MAX_HANDLE_BYTES: usize = 64;
