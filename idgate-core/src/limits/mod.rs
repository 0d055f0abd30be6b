//! The limits that an embedder plans with: how long bodies may be, and how long things last. Every other cap on what an
//! attacker can cause is a budget of a reader, and the [`manual`](crate::manual::threats) has what they come to.

pub(crate) mod readers;

#[allow(unused_imports, reason = "shells need them all")]
pub(crate) use self::readers::*;

/// Largest wallet answer: one presentation of the largest size, encoded for a form, or several
/// of the usual size.
pub const MAX_RESPONSE_BYTES: usize = 1024 * 1024;
/// Largest body of a session creation; a hundred claims with filters stay far below.
pub const MAX_CREATE_BYTES: usize = 64 * 1024;
/// Largest form of a wallet that posts for a Request Object. `wallet_metadata` may be long.
pub const MAX_FETCH_FORM_BYTES: usize = 64 * 1024;
/// Shortest time to live of a session (specification 8).
pub const MIN_TTL_MS: u64 = 60_000;
/// Longest time to live of a session (specification 8).
pub const MAX_TTL_MS: u64 = 86_400_000;
/// Time to live when the request names none: long enough to find a phone.
pub const DEFAULT_TTL_MS: u64 = 300_000;
/// Longest text of why a tenant asks, in each language (decisions 41).
pub(crate) const MAX_PURPOSE_CHARS: usize = 300;
/// How long claims and verification details are readable (specification 3).
pub const CLAIMS_RETENTION_MS: u64 = 30_000;
/// How long a session may stay in VERIFYING while status sources are asked.
pub const VERIFYING_LEASE_MS: u64 = 20_000;
/// Status lists and CRLs that one answer may have fetched: two for each presentation.
pub const MAX_STATUS_URIS: usize = 20;
/// Largest answer of a status source. The largest national CRLs stay below.
pub const MAX_STATUS_BYTES: usize = 10 * 1024 * 1024;
/// Largest trusted list in JSON. 2000 providers with two certificates each take 6 MiB.
pub const MAX_TRUSTED_LIST_BYTES: usize = 8 * 1024 * 1024;
/// Largest trusted list in XML. The largest national list stays below.
pub const MAX_XML_LIST_BYTES: usize = 16 * 1024 * 1024;
/// How far the clocks of a webhook's sender and receiver may be apart, either way: five minutes
/// (specification 6).
pub const WEBHOOK_TOLERANCE_MS: u64 = 300_000;
/// Tolerated clock difference on token times; none is given to certificates.
pub const CLOCK_SKEW_MS: u64 = 60_000;
