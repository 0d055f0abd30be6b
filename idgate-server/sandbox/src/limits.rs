//! All limits of the sandbox, with their reasons.

use std::time::Duration;

/// The head of a request; the gateway has the same limit.
pub(crate) const MAX_HEAD_BYTES: usize = 32 * 1024;
/// The body of a request: as large as a wallet's answer may be.
pub(crate) const MAX_SANDBOX_BODY_BYTES: usize = 1024 * 1024;
/// Connections to one of the sandbox's own listeners: a browser, a phone and the gateway itself.
pub(crate) const MAX_SANDBOX_CONNECTIONS: usize = 128;
/// Time for one exchange: longer than a verification that fetches.
pub(crate) const SANDBOX_EXCHANGE_TIME: Duration = Duration::from_secs(15);

/// Offers that a phone can still redeem. A developer shows one at a time.
pub(crate) const MAX_OPEN_OFFERS: usize = 100;
/// Offers that the console lists: twice the open ones.
pub(crate) const MAX_SHOWN_OFFERS: usize = 200;
/// Time for a person to scan an offer and type its code.
pub(crate) const OFFER_LIFE_MS: u64 = 10 * 60 * 1000;
/// Access tokens at one time: twice the open offers. When they are used up, a new offer waits until
/// a token expires.
pub(crate) const MAX_TOKENS: usize = 200;
/// RFC 9700 asks for short-lived bearer tokens; the credential request follows within seconds.
pub(crate) const TOKEN_LIFE_MS: u64 = 300 * 1000;
/// From nonce to proof: time for a wallet to ask for a key and for the person to agree.
pub(crate) const NONCE_LIFE_MS: u64 = 300 * 1000;
/// Used nonces that are still in their lifetime. A batch uses one, or one for each key.
pub(crate) const MAX_USED_NONCES: usize = 4096;
/// `jti`s within their window. Only holders of codes and tokens can add any.
pub(crate) const MAX_JTIS: usize = 4096;
/// Keys in one credential request. A European wallet asks for ten.
pub(crate) const MAX_BATCH: usize = 10;
/// Wrong transaction codes after which an offer is void: five guesses out of 1,000,000 codes
/// (OpenID4VCI 13.6).
pub(crate) const MAX_WRONG_TX_CODES: u8 = 5;
/// Requests with the code or token of one offer. A wallet needs four, and may retry.
pub(crate) const MAX_REQUESTS_OF_OFFER: u32 = 60;
/// Requests to one issuer in a minute, from all wallets together, because they share one address
/// behind a tunnel.
pub(crate) const PHONE_REQUESTS_A_MINUTE: u64 = 600;
/// The body of a phone's request: ten proofs with attestations.
pub(crate) const MAX_PHONE_BODY_BYTES: usize = 64 * 1024;
/// One JWT from a phone: a key attestation with ten keys and three certificates.
pub(crate) const MAX_JWT_BYTES: usize = 16 * 1024;
/// A proof can be at most as old as its nonce.
pub(crate) const MAX_JWT_AGE_MS: u64 = NONCE_LIFE_MS;
/// The clocks of phones differ by less.
pub(crate) const MAX_CLOCK_AHEAD_MS: u64 = 60 * 1000;
/// Days for which a sample on a phone is valid: enough to try it out.
pub(crate) const PHONE_SAMPLE_DAYS: u64 = 14;
/// Days for which its signer's certificate, made at each start, is valid. It must outlive the last
/// samples of a long-running sandbox.
pub(crate) const PHONE_SIGNER_DAYS: u64 = 270;
/// Places in a status list. A sample takes a random free one, so most must be free.
pub(crate) const STATUS_PLACES: u64 = 65_536;
/// Samples that phones hold at one time: an eighth of the places.
pub(crate) const MAX_ISSUED: usize = 8192;

/// Sessions that the console remembers: more than it lists.
pub(crate) const MAX_REMEMBERED_SESSIONS: usize = 50;
/// Answers of the sandbox's wallet to one session. The first one settles it; further ones only show
/// the refusal.
pub(crate) const MAX_REMEMBERED_ANSWERS: usize = 3;
/// Characters of each text that the console remembers. A result with a photo is longer and is shown
/// in part.
pub(crate) const MAX_REMEMBERED_CHARS: usize = 64 * 1024;
/// How long claims and reports of accepted answers stay in the console's memory.
pub(crate) const REMEMBERED_MS: u64 = 15 * 60 * 1000;
/// Interval at which expired claims are removed from memory.
pub(crate) const FORGETTING_EVERY: Duration = Duration::from_secs(10);
/// How long the outcome of a button is shown.
pub(crate) const NOTICE_MS: u64 = 60 * 1000;
/// Characters of the outcome of a button.
pub(crate) const MAX_NOTICE_CHARS: usize = 2000;
