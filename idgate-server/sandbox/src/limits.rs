//! Every number that bounds what the sandbox takes, with its reason.

use std::time::Duration;

/// The head of a request: the gateway takes as much.
pub(crate) const MAX_HEAD_BYTES: usize = 32 * 1024;
/// A body that the sandbox takes: as large as a wallet's answer may be.
pub(crate) const MAX_SANDBOX_BODY_BYTES: usize = 1024 * 1024;
/// Connections to one of the sandbox's own listeners: a browser, a phone and the gateway itself.
pub(crate) const MAX_SANDBOX_CONNECTIONS: usize = 128;
/// For one exchange of the sandbox: longer than a verification that fetches.
pub(crate) const SANDBOX_EXCHANGE_TIME: Duration = Duration::from_secs(15);

/// Offers that a phone can still redeem: a developer shows one at a time.
pub(crate) const MAX_OPEN_OFFERS: usize = 100;
/// Offers that the console still shows: twice the open ones.
pub(crate) const MAX_SHOWN_OFFERS: usize = 200;
/// For a person to scan an offer and type its code.
pub(crate) const OFFER_LIFE_MS: u64 = 10 * 60 * 1000;
/// Access tokens at one time: twice the offers that are open. Past it an offer waits until a token is over.
pub(crate) const MAX_TOKENS: usize = 200;
/// RFC 9700 asks for short-lived bearer tokens; the credential request follows in seconds.
pub(crate) const TOKEN_LIFE_MS: u64 = 300 * 1000;
/// For a wallet to ask for a key, and the person to agree, between nonce and proof.
pub(crate) const NONCE_LIFE_MS: u64 = 300 * 1000;
/// Nonces that were used in their time: each batch uses one, or one for each key.
pub(crate) const MAX_USED_NONCES: usize = 4096;
/// `jti`s in their window. Only holders of codes and tokens add some.
pub(crate) const MAX_JTIS: usize = 4096;
/// Keys in one credential request. A European wallet asks for ten.
pub(crate) const MAX_BATCH: usize = 10;
/// Wrong transaction codes that burn an offer: of 1,000,000 codes five are guessed (OpenID4VCI 13.6).
pub(crate) const MAX_WRONG_TX_CODES: u8 = 5;
/// Requests with the code or the token of one offer: a wallet needs four, and may retry.
pub(crate) const MAX_REQUESTS_OF_OFFER: u32 = 60;
/// Requests to one issuer in a minute, of all wallets together: behind a tunnel they have one address.
pub(crate) const PHONE_REQUESTS_A_MINUTE: u64 = 600;
/// A body of a phone: ten proofs with attestations.
pub(crate) const MAX_PHONE_BODY_BYTES: usize = 64 * 1024;
/// One JWT of a phone: a key attestation with ten keys and three certificates.
pub(crate) const MAX_JWT_BYTES: usize = 16 * 1024;
/// A proof is as old as its nonce at most.
pub(crate) const MAX_JWT_AGE_MS: u64 = NONCE_LIFE_MS;
/// Clocks of phones differ by less.
pub(crate) const MAX_CLOCK_AHEAD_MS: u64 = 60 * 1000;
/// So many days a sample on a phone is valid: it is for trying out.
pub(crate) const PHONE_SAMPLE_DAYS: u64 = 14;
/// So many days its signer's certificate, which is made at each start, is valid: longer than a sandbox runs and the
/// samples that it signed last.
pub(crate) const PHONE_SIGNER_DAYS: u64 = 270;
/// Places in a status list. A sample takes a random free one, so most have to be free.
pub(crate) const STATUS_PLACES: u64 = 65_536;
/// Samples that phones hold at one time: an eighth of the places.
pub(crate) const MAX_ISSUED: usize = 8192;

/// Sessions that the console remembers: more than it lists.
pub(crate) const MAX_REMEMBERED_SESSIONS: usize = 50;
/// Answers of the sandbox's wallet to one session: the first one settles it, and further ones are tried for their refusal.
pub(crate) const MAX_REMEMBERED_ANSWERS: usize = 3;
/// Characters of each text that the console remembers: a result with a photo is longer, and is shown in part.
pub(crate) const MAX_REMEMBERED_CHARS: usize = 64 * 1024;
/// Claims and reports on accepted answers are in the console's memory for so long.
pub(crate) const REMEMBERED_MS: u64 = 15 * 60 * 1000;
/// The time between two looks for claims that are too old.
pub(crate) const FORGETTING_EVERY: Duration = Duration::from_secs(10);
/// The outcome of a button is shown for so long.
pub(crate) const NOTICE_MS: u64 = 60 * 1000;
/// Characters of the outcome of a button.
pub(crate) const MAX_NOTICE_CHARS: usize = 2000;
