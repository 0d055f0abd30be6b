//! The two signatures of a notification, for sender and receiver. They are made over the exact
//! bytes that are sent, compared in constant time, and valid for five minutes.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use zeroize::Zeroizing;

use super::secret::SigningSecret;
use crate::crypto::{CryptoProvider, ct};
use crate::limits::MAX_WEBHOOK_TIMESTAMP_DIGITS;
use crate::time::UnixMillis;

/// The version of `webhook-signature` that is made and accepted.
const VERSION: &str = "v1,";
/// Base64 with padding, as every receiver's library reads it. Libraries disagree about stray bits
/// after the last byte, so those are ignored.
const SECRET_BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// One attempt to deliver a notification.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::exhaustive_structs)] // the content of the headers
pub struct Attempt<'a> {
    /// The id, the same for every attempt, so that a receiver recognises a repeated notification.
    pub id: &'a str,
    /// The time of sending.
    pub at: UnixMillis,
    /// The number of the attempt, from 1.
    pub number: u32,
    /// The exact bytes that are sent.
    pub body: &'a [u8],
}

impl Attempt<'_> {
    /// Returns all headers of the request except HTTP's own, by name and value. `previous` is a
    /// secret that was recently replaced: it also signs `webhook-signature`, so that a receiver may
    /// switch at any time.
    pub fn headers(
        &self,
        provider: &CryptoProvider,
        secret: &SigningSecret,
        previous: Option<&SigningSecret>,
    ) -> [(&'static str, String); 7] {
        let millis = self.at.0.to_string();
        let seconds = (self.at.0 / 1000).to_string();
        let mut signatures = standard_signature(provider, secret, self.id, &seconds, self.body);
        if let Some(previous) = previous {
            signatures.push(' ');
            signatures
                .push_str(&standard_signature(provider, previous, self.id, &seconds, self.body));
        }
        [
            ("Content-Type", "application/json".into()),
            ("X-Signature", own_signature(provider, secret, &millis, self.body)),
            ("X-Timestamp", millis),
            ("webhook-id", self.id.into()),
            ("webhook-timestamp", seconds),
            ("webhook-signature", signatures),
            ("X-Webhook-Attempt", self.number.to_string()),
        ]
    }
}

/// A notification as it arrived, at the receiver.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::exhaustive_structs)] // what a receiver has
pub struct Received<'a> {
    /// The exact bytes that arrived, before any parsing.
    pub body: &'a [u8],
    /// The receiver's time.
    pub now: UnixMillis,
    /// The largest accepted difference from `now`, in either direction:
    /// [`WEBHOOK_TOLERANCE_MS`](crate::limits::WEBHOOK_TOLERANCE_MS) unless you have a reason for
    /// another value.
    pub tolerance_ms: u64,
}

/// The reason why a notification is not accepted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum InvalidWebhook {
    /// Neither the three headers of Standard Webhooks nor the two of `X-Signature` are present, or
    /// one is repeated.
    Headers,
    /// The timestamp does not consist of digits only.
    Timestamp,
    /// The notification was signed too long ago or in the future: it is a replay, or a clock is
    /// wrong.
    Stale,
    /// The signature is missing or malformed, or was not made with this secret over these bytes.
    Signature,
}

impl fmt::Display for InvalidWebhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Headers => {
                "the webhook's signature is missing or repeated; pass every header exactly once"
            }
            Self::Timestamp => "the webhook's timestamp is not a number",
            Self::Stale => {
                "the webhook's timestamp differs too much from this machine's time; \
                            check both clocks"
            }
            Self::Signature => "the webhook's signature is not valid for this secret and body",
        })
    }
}

impl core::error::Error for InvalidWebhook {}

impl Received<'_> {
    /// Verifies the gateway's own signature, from the values of `X-Timestamp` and
    /// `X-Signature`.
    ///
    /// # Errors
    /// The notification is not accepted; [`InvalidWebhook`] says why.
    pub fn verify(
        &self,
        provider: &CryptoProvider,
        secret: &SigningSecret,
        timestamp: &str,
        signature: &str,
    ) -> Result<(), InvalidWebhook> {
        self.check_time(UnixMillis(whole_number(timestamp)?))?;
        let expected = own_signature(provider, secret, timestamp, self.body);
        // Compare whole texts: a shorter one must not be compared as a prefix.
        match ct::eq(expected.as_bytes(), signature.as_bytes()) {
            true => Ok(()),
            false => Err(InvalidWebhook::Signature),
        }
    }

    /// Verifies the signature of Standard Webhooks, from the values of `webhook-id`,
    /// `webhook-timestamp` and `webhook-signature`. One good entry of the version `v1` is enough.
    ///
    /// # Errors
    /// The notification is not accepted; [`InvalidWebhook`] says why.
    pub fn verify_standard(
        &self,
        provider: &CryptoProvider,
        secret: &SigningSecret,
        id: &str,
        timestamp: &str,
        signatures: &str,
    ) -> Result<(), InvalidWebhook> {
        self.check_time(UnixMillis::from_secs(whole_number(timestamp)?))?;
        let expected = standard_signature(provider, secret, id, timestamp, self.body);
        let good = |entry: &str| ct::eq(expected.as_bytes(), entry.as_bytes());
        match signatures.split(' ').any(good) {
            true => Ok(()),
            false => Err(InvalidWebhook::Signature),
        }
    }

    fn check_time(&self, sent: UnixMillis) -> Result<(), InvalidWebhook> {
        let apart = self.now.since(sent).max(sent.since(self.now));
        if apart > self.tolerance_ms { Err(InvalidWebhook::Stale) } else { Ok(()) }
    }
}

/// Lowercase hex of HMAC-SHA256 over `<timestamp>.<body>`, keyed with the text of the secret.
fn own_signature(
    provider: &CryptoProvider,
    secret: &SigningSecret,
    timestamp: &str,
    body: &[u8],
) -> String {
    let signed = [timestamp.as_bytes(), b".", body].concat();
    let mac = provider.agreement.hmac_sha256(secret.expose().as_bytes(), &signed);
    mac.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// One entry of `webhook-signature`: `v1,` and base64 of HMAC-SHA256 over
/// `<id>.<timestamp>.<body>` (Standard Webhooks, signature scheme).
fn standard_signature(
    provider: &CryptoProvider,
    secret: &SigningSecret,
    id: &str,
    timestamp: &str,
    body: &[u8],
) -> String {
    let signed = [id.as_bytes(), b".", timestamp.as_bytes(), b".", body].concat();
    let mac = provider.agreement.hmac_sha256(&standard_key(secret), &signed);
    format!("{VERSION}{}", STANDARD.encode(mac))
}

/// The bytes that base64 after `whsec_` encodes, or the text itself if there is no such base64.
fn standard_key(secret: &SigningSecret) -> Zeroizing<Vec<u8>> {
    let text = secret.expose();
    let encoded = text.strip_prefix("whsec_");
    let decoded = encoded.and_then(|encoded| SECRET_BASE64.decode(encoded).ok());
    Zeroizing::new(decoded.unwrap_or_else(|| text.as_bytes().to_vec()))
}

/// A number in plain digits.
fn whole_number(text: &str) -> Result<u64, InvalidWebhook> {
    let plain = !text.is_empty()
        && text.len() <= MAX_WEBHOOK_TIMESTAMP_DIGITS
        && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = plain.then(|| text.parse().ok()).flatten();
    number.ok_or(InvalidWebhook::Timestamp)
}

#[cfg(all(test, feature = "rustcrypto"))]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use crate::crypto::rustcrypto::PROVIDER;
    use crate::limits::WEBHOOK_TOLERANCE_MS;

    /// The example of the Standard Webhooks specification.
    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const ID: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";
    const BODY: &[u8] = br#"{"test": 2432232314}"#;
    const AT: UnixMillis = UnixMillis(1_614_265_330_000);

    fn secret(text: &str) -> SigningSecret {
        SigningSecret::new(text).unwrap()
    }

    fn headers(body: &[u8], key: &str, previous: Option<&str>) -> [(&'static str, String); 7] {
        let previous = previous.map(secret);
        let attempt = Attempt { id: ID, at: AT.plus(7), number: 3, body };
        attempt.headers(&PROVIDER, &secret(key), previous.as_ref())
    }

    fn value(headers: &[(&'static str, String)], name: &str) -> String {
        headers.iter().find(|(have, _)| *have == name).unwrap().1.clone()
    }

    fn received(body: &[u8]) -> Received<'_> {
        Received { body, now: AT.plus(7), tolerance_ms: WEBHOOK_TOLERANCE_MS }
    }

    #[test]
    fn the_published_example_of_standard_webhooks_matches() {
        let headers = headers(BODY, SECRET, None);
        let signature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
        assert_eq!(value(&headers, "webhook-signature"), signature);
        assert_eq!(value(&headers, "webhook-timestamp"), "1614265330");
        assert_eq!(value(&headers, "X-Timestamp"), "1614265330007");
        assert_eq!(value(&headers, "X-Webhook-Attempt"), "3");
        assert_eq!(value(&headers, "Content-Type"), "application/json");
    }

    #[test]
    fn the_own_signature_is_keyed_with_the_text_of_the_secret() {
        let signature = value(&headers(BODY, SECRET, None), "X-Signature");
        // printf '1614265330007.{"test": 2432232314}' | openssl dgst -sha256 -hmac "$SECRET"
        assert_eq!(signature, "ed9be7d5583d30ff366838c13240705a301449812ddda029a854555d4c2f3a96");
    }

    #[test]
    fn a_secret_that_is_not_base64_is_its_own_key() {
        for text in
            ["whsec_not base64 at all", "a secret without a prefix", "whsec_MfKQ9r8GKYqrTwjU="]
        {
            assert_eq!(*standard_key(&secret(text)), text.as_bytes(), "{text}");
        }
        assert_eq!(standard_key(&secret(SECRET)).len(), 24);
        // Stray bits after the last byte, which some libraries refuse and others ignore.
        assert_eq!(*standard_key(&secret("whsec_AAAAAAAAAAB=")), [0; 8]);
    }

    #[test]
    fn a_replaced_secret_also_signs_after_the_new_one() {
        let headers = headers(BODY, SECRET, Some("the secret of yesterday"));
        let both = value(&headers, "webhook-signature");
        let entries: Vec<&str> = both.split(' ').collect();
        assert_eq!(entries.len(), 2);
        assert_eq!(entries[0], "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
        let timestamp = value(&headers, "webhook-timestamp");
        for key in [SECRET, "the secret of yesterday"] {
            let (key, received) = (secret(key), received(BODY));
            received.verify_standard(&PROVIDER, &key, ID, &timestamp, &both).unwrap();
        }
        let old = secret("the secret of yesterday");
        let own = (value(&headers, "X-Timestamp"), value(&headers, "X-Signature"));
        assert!(received(BODY).verify(&PROVIDER, &old, &own.0, &own.1).is_err());
    }

    #[test]
    fn a_changed_cut_or_lengthened_signature_is_refused() {
        let headers = headers(BODY, SECRET, None);
        let (key, received) = (secret(SECRET), received(BODY));
        let (millis, own) = (value(&headers, "X-Timestamp"), value(&headers, "X-Signature"));
        received.verify(&PROVIDER, &key, &millis, &own).unwrap();
        let upper = own.to_uppercase();
        for bad in ["", &own[..63], &own[1..], &format!("{own}0"), &upper, &format!(" {own}")] {
            let refused = received.verify(&PROVIDER, &key, &millis, bad);
            assert_eq!(refused, Err(InvalidWebhook::Signature), "{bad}");
        }
        let (seconds, standard) =
            (value(&headers, "webhook-timestamp"), value(&headers, "webhook-signature"));
        let verify =
            |signatures: &str| received.verify_standard(&PROVIDER, &key, ID, &seconds, signatures);
        verify(&standard).unwrap();
        verify(&format!("v1a,AAAA v1,AAAA {standard}")).unwrap();
        let raw = &standard[3..];
        for bad in [
            "",
            "v1,",
            "v1",
            raw,
            &standard[..standard.len() - 1],
            &format!("{standard}="),
            &format!("v2,{raw}"),
            &format!("V1,{raw}"),
            &format!("v1, {raw}"),
            &format!("{standard},x"),
        ] {
            assert_eq!(verify(bad), Err(InvalidWebhook::Signature), "{bad}");
        }
    }

    #[test]
    fn another_body_id_secret_or_timestamp_is_refused() {
        let headers = headers(BODY, SECRET, None);
        let key = secret(SECRET);
        let (millis, own) = (value(&headers, "X-Timestamp"), value(&headers, "X-Signature"));
        let (seconds, standard) =
            (value(&headers, "webhook-timestamp"), value(&headers, "webhook-signature"));
        let other = secret("whsec_AAAAAAAAAAAAAAAAAAAAAAAA");
        let refused = Err(InvalidWebhook::Signature);
        let body = received(b"{}");
        assert_eq!(body.verify(&PROVIDER, &key, &millis, &own), refused);
        assert_eq!(body.verify_standard(&PROVIDER, &key, ID, &seconds, &standard), refused);
        let body = received(BODY);
        assert_eq!(body.verify(&PROVIDER, &other, &millis, &own), refused);
        assert_eq!(body.verify(&PROVIDER, &key, "1614265330008", &own), refused);
        assert_eq!(body.verify_standard(&PROVIDER, &other, ID, &seconds, &standard), refused);
        assert_eq!(body.verify_standard(&PROVIDER, &key, "msg_x", &seconds, &standard), refused);
        assert_eq!(body.verify_standard(&PROVIDER, &key, ID, "1614265331", &standard), refused);
    }

    #[test]
    fn a_timestamp_is_good_for_five_minutes_either_way() {
        let headers = headers(BODY, SECRET, None);
        let key = secret(SECRET);
        let (millis, own) = (value(&headers, "X-Timestamp"), value(&headers, "X-Signature"));
        let at = |now| Received { now, ..received(BODY) };
        let sent = AT.plus(7);
        for good in [sent.plus(WEBHOOK_TOLERANCE_MS), sent.minus(WEBHOOK_TOLERANCE_MS)] {
            assert_eq!(at(good).verify(&PROVIDER, &key, &millis, &own), Ok(()));
        }
        for bad in [
            sent.plus(WEBHOOK_TOLERANCE_MS + 1),
            sent.minus(WEBHOOK_TOLERANCE_MS + 1),
            UnixMillis(0),
        ] {
            let refused = at(bad).verify(&PROVIDER, &key, &millis, &own);
            assert_eq!(refused, Err(InvalidWebhook::Stale));
        }
        let standard = value(&headers, "webhook-signature");
        let seconds = value(&headers, "webhook-timestamp");
        let late = at(AT.plus(WEBHOOK_TOLERANCE_MS + 1));
        let refused = late.verify_standard(&PROVIDER, &key, ID, &seconds, &standard);
        assert_eq!(refused, Err(InvalidWebhook::Stale));
    }

    #[test]
    fn a_timestamp_is_plain_digits() {
        for bad in ["", " 1", "1 ", "+1", "-1", "1e3", "0x1", "1.0", "١", "99999999999999999"] {
            let refused = received(BODY).verify(&PROVIDER, &secret(SECRET), bad, "");
            assert_eq!(refused, Err(InvalidWebhook::Timestamp), "{bad}");
        }
    }
}
