//! Every size and count cap in one place: work that an attacker can cause has a budget, and each
//! number carries its reason.

/// Largest wallet answer. One presentation of the largest size still fits twice.
pub const MAX_RESPONSE_BYTES: usize = 1024 * 1024;
/// Largest body of a session creation; a hundred claims with filters stay far below.
pub const MAX_CREATE_BYTES: usize = 64 * 1024;
/// Presentations in one answer: the most credentials a session may ask for.
pub const MAX_PRESENTATIONS: usize = 10;
/// Largest single presentation. A portrait in a PID is under 100 KiB.
pub const MAX_PRESENTATION_BYTES: usize = 512 * 1024;
/// Disclosures in one SD-JWT. Real ones have tens; processing is linear up to here.
pub const MAX_DISCLOSURES: usize = 4000;
/// Nesting of JSON and CBOR. Real credentials nest five deep.
pub const MAX_DEPTH: usize = 32;
/// Credentials in one session request (specification 8).
pub const MAX_CREDENTIALS: usize = 10;
/// Claims per credential request: keeps the request URI readable by a wallet.
pub const MAX_CLAIMS: usize = 100;
/// Length of a credential id in characters.
pub const MAX_CREDENTIAL_ID_CHARS: usize = 128;
/// Length of `redirect_uri` in characters: what browsers reliably follow.
pub const MAX_REDIRECT_URI_CHARS: usize = 2000;
/// Length of a claim filter's `pattern` in characters; bounds the compiled automaton.
pub const MAX_PATTERN_CHARS: usize = 256;
/// Shortest time to live of a session (specification 8).
pub const MIN_TTL_MS: u64 = 60_000;
/// Longest time to live of a session (specification 8).
pub const MAX_TTL_MS: u64 = 86_400_000;
/// Time to live when the request names none: long enough to find a phone.
pub const DEFAULT_TTL_MS: u64 = 300_000;
/// How long claims and verification details are readable (specification 3).
pub const CLAIMS_RETENTION_MS: u64 = 30_000;
/// How long a session may stay in VERIFYING while status sources are asked.
pub const VERIFYING_LEASE_MS: u64 = 20_000;
/// Tolerated clock difference on token times; none is given to certificates.
pub const CLOCK_SKEW_MS: u64 = 60_000;
