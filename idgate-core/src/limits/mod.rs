//! The limits that an embedder plans with: maximum body sizes and durations. The other limits bound
//! the work that an attacker can cause; the [`manual`](crate::manual::threats) says how they
//! protect.

pub(crate) mod readers;

#[allow(unused_imports, reason = "shells need all of them")]
pub(crate) use self::readers::*;

/// Largest wallet answer: one presentation of the largest size, encoded for a form, or several of
/// the usual size.
pub const MAX_RESPONSE_BYTES: usize = 1024 * 1024;
/// Largest body that creates a session; a hundred claims with filters need far less.
pub const MAX_CREATE_BYTES: usize = 64 * 1024;
/// Largest form in a wallet's POST for a Request Object. `wallet_metadata` may be long.
pub const MAX_FETCH_FORM_BYTES: usize = 64 * 1024;
/// Shortest time to live of a session.
pub const MIN_TTL_MS: u64 = 60_000;
/// Longest time to live of a session.
pub const MAX_TTL_MS: u64 = 86_400_000;
/// Time to live of a session when the request has none: long enough to find a phone.
pub const DEFAULT_TTL_MS: u64 = 300_000;
/// Longest text of a tenant's purpose, in each language.
pub(crate) const MAX_PURPOSE_CHARS: usize = 300;
/// How long claims and verification details stay readable.
pub const CLAIMS_RETENTION_MS: u64 = 30_000;
/// How long a session may stay in VERIFYING while status sources are fetched.
pub const VERIFYING_LEASE_MS: u64 = 20_000;
/// Most status lists and CRLs that one answer may cause to be fetched: two for each presentation.
pub const MAX_STATUS_URIS: usize = 20;
/// Largest answer of a status source. The largest national CRLs are smaller.
pub const MAX_STATUS_BYTES: usize = 10 * 1024 * 1024;
/// Largest trusted list in JSON. 2000 providers with two certificates each take 6 MiB.
pub const MAX_TRUSTED_LIST_BYTES: usize = 8 * 1024 * 1024;
/// Largest trusted list in XML. The largest national list is smaller.
pub const MAX_XML_LIST_BYTES: usize = 16 * 1024 * 1024;
/// Largest difference between the clocks of a webhook's sender and receiver, in either direction:
/// five minutes.
pub const WEBHOOK_TOLERANCE_MS: u64 = 300_000;
/// Tolerated clock difference for token times; there is no tolerance for certificates.
pub const CLOCK_SKEW_MS: u64 = 60_000;
