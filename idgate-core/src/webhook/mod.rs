//! Notifications of settled sessions: what they say, how they are signed, when they are tried
//! again (specification 6, decisions 11). Pure: who sends them, and where to, is the embedder's.
//!
//! A notification carries two independent signatures: the gateway's own (`X-Signature`) and that
//! of [Standard Webhooks](https://www.standardwebhooks.com) (`webhook-signature`). A receiver
//! verifies either one, whichever suits it.
//!
//! ```
//! # #[cfg(feature = "rustcrypto")] {
//! use idgate_core::UnixMillis;
//! use idgate_core::crypto::rustcrypto::PROVIDER;
//! use idgate_core::limits::WEBHOOK_TOLERANCE_MS;
//! use idgate_core::webhook::{Attempt, Notification, Received, SigningSecret};
//!
//! let secret = SigningSecret::new("whsec_c2VjcmV0IG9mIDMyIGJ5dGVzIGZvciBhIHRlc3QhISE=").unwrap();
//! let body = Notification {
//!     session_id: "ses_1", client_id: "cli_1", status: "VERIFIED", latency_ms: 7310,
//!     issuer_id: "https://issuer.example",
//! }
//! .to_json();
//! let sent = UnixMillis(1_790_000_000_000);
//! let attempt = Attempt { id: "whf_1", at: sent, number: 1, body: body.as_bytes() };
//! let headers = attempt.headers(&PROVIDER, &secret, None);
//!
//! // At the receiver:
//! let value = |name: &str| headers.iter().find(|(n, _)| *n == name).unwrap().1.as_str();
//! let tolerance_ms = WEBHOOK_TOLERANCE_MS;
//! let received = Received { body: body.as_bytes(), now: sent.plus(200), tolerance_ms };
//! received.verify(&PROVIDER, &secret, value("X-Timestamp"), value("X-Signature")).unwrap();
//! let late = Received { now: sent.plus(300_001), ..received };
//! assert!(late.verify(&PROVIDER, &secret, value("X-Timestamp"), value("X-Signature")).is_err());
//! # }
//! ```

mod schedule;
mod signature;

use alloc::string::String;
use core::fmt;

use serde::Serialize;
use zeroize::Zeroizing;

pub use self::schedule::{SCHEDULE_MS, next_attempt};
pub use self::signature::{Attempt, InvalidWebhook, Received};
use crate::codec::json::json_text;
use crate::limits::MIN_WEBHOOK_SECRET_CHARS;

/// What a notification says: that a session settled, and how. Never claims; the tenant reads those
/// from the session (specification 6).
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[allow(clippy::exhaustive_structs)] // the five members of the specification
pub struct Notification<'a> {
    /// The session.
    pub session_id: &'a str,
    /// The tenant.
    pub client_id: &'a str,
    /// `VERIFIED`, `FAILED` or `EXPIRED`.
    pub status: &'a str,
    /// Milliseconds from creation to settlement.
    pub latency_ms: u64,
    /// The issuer of the first requested credential.
    pub issuer_id: &'a str,
}

impl Notification<'_> {
    /// The body: one JSON object with exactly these members, in this order. What is signed and sent
    /// is these bytes, never another rendering of them.
    pub fn to_json(&self) -> String {
        json_text(self)
    }
}

/// A secret that signs notifications, wiped when dropped.
#[derive(Clone)]
pub struct SigningSecret(Zeroizing<String>);

impl SigningSecret {
    /// Takes a secret as its owner knows it; its UTF-8 bytes are the key of `X-Signature`.
    ///
    /// # Errors
    /// It has fewer than [`MIN_WEBHOOK_SECRET_CHARS`] characters.
    pub fn new(text: impl Into<String>) -> Result<Self, ShortSecret> {
        let text = Zeroizing::new(text.into());
        if text.chars().take(MIN_WEBHOOK_SECRET_CHARS).count() < MIN_WEBHOOK_SECRET_CHARS {
            return Err(ShortSecret);
        }
        Ok(Self(text))
    }

    /// The text. Keep it out of logs.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SigningSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningSecret(***)")
    }
}

/// A signing secret that is too short.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(clippy::exhaustive_structs)] // carries nothing, ever
pub struct ShortSecret;

impl fmt::Display for ShortSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a signing secret needs 16 characters or more")
    }
}

impl core::error::Error for ShortSecret {}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use alloc::format;

    use super::*;

    #[test]
    fn a_body_has_the_five_members_in_order() {
        let body = Notification {
            session_id: "ses_1",
            client_id: "cli_1",
            status: "FAILED",
            latency_ms: u64::MAX,
            issuer_id: "https://issuer.example/\"\n",
        }
        .to_json();
        let want = r#"{"sessionId":"ses_1","clientId":"cli_1","status":"FAILED","#.to_owned()
            + r#""latencyMs":18446744073709551615,"issuerId":"https://issuer.example/\"\n"}"#;
        assert_eq!(body, want);
    }

    #[test]
    fn a_secret_has_16_characters_whatever_their_bytes() {
        assert_eq!(SigningSecret::new("123456789012345").unwrap_err(), ShortSecret);
        assert_eq!(SigningSecret::new("ééééééééé").unwrap_err(), ShortSecret);
        assert_eq!(SigningSecret::new("1234567890123456").unwrap().expose().len(), 16);
        let secret = SigningSecret::new("a secret that nobody may see").unwrap();
        assert_eq!(format!("{secret:?}"), "SigningSecret(***)");
    }
}
