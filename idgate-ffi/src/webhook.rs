//! Notifications: signing them, and verifying them where they arrive.

use idgate_core::UnixMillis;
use idgate_core::shell::webhook::{Attempt, Received, SigningSecret};
use idgate_core::webhook::{InvalidWebhook, ShortSecret};
use serde_json::{Map, Value};

use crate::boundary::{boundary, put};
use crate::bytes::{give, idgate_bytes};
use crate::choice::choices;
use crate::failure::{Failure, idgate_error};
use crate::given::{idgate_str, input, optional_text, text};
use crate::provider::PROVIDER;
use crate::sized;
use crate::status::idgate_status::{self, IDGATE_REFUSED};

/// The usual tolerance for timestamps: 5 minutes.
pub const IDGATE_WEBHOOK_TOLERANCE_MS: u64 = 300_000;

/// A scheme of webhook signatures. Each notification carries both.
#[repr(i32)]
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(non_camel_case_types, clippy::upper_case_acronyms)]
pub enum idgate_webhook_scheme {
    /// The gateway's own: `X-Timestamp` and `X-Signature`.
    IDGATE_WEBHOOK_GATEWAY = 1,
    /// Standard Webhooks: `webhook-id`, `webhook-timestamp` and `webhook-signature`.
    IDGATE_WEBHOOK_STANDARD = 2,
}

choices! {
    idgate_webhook_scheme: IDGATE_WEBHOOK_GATEWAY, IDGATE_WEBHOOK_STANDARD;
}

/// One attempt to deliver a notification.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(non_camel_case_types)]
pub struct idgate_webhook_attempt {
    /// `sizeof(idgate_webhook_attempt)`
    pub size: usize,
    /// The id of the notification: the same for every attempt.
    pub id: idgate_str,
    /// The number of the attempt, from 1.
    pub number: u64,
    /// The body that you send.
    pub body: idgate_str,
    /// A secret that you replaced a short time ago, if there is one. It signs `webhook-signature` as well.
    pub previous_secret: idgate_str,
}

sized::sized!(idgate_webhook_attempt, "the attempt": idgate_str, u64, idgate_str, idgate_str);

/// A notification as it arrived.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(non_camel_case_types)]
pub struct idgate_webhook {
    /// `sizeof(idgate_webhook)`
    pub size: usize,
    /// An idgate_webhook_scheme.
    pub scheme: i64,
    /// The header `webhook-id`. Only IDGATE_WEBHOOK_STANDARD needs it.
    pub id: idgate_str,
    /// The header with the timestamp.
    pub timestamp: idgate_str,
    /// The header with the signature.
    pub signature: idgate_str,
    /// The body.
    pub body: idgate_str,
    /// How far the timestamp may be from the current time; 0: IDGATE_WEBHOOK_TOLERANCE_MS.
    pub tolerance_ms: u64,
}

sized::sized!(
    idgate_webhook, "the webhook":
    i64, idgate_str, idgate_str, idgate_str, idgate_str, u64
);

/// Gives the headers of one attempt to deliver a notification: a JSON object of names and values.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn idgate_webhook_headers(
    secret: idgate_str,
    attempt: *const idgate_webhook_attempt,
    now_ms: u64,
    out: *mut idgate_bytes,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    boundary(err_out, || {
        // SAFETY: the caller's promise, for each.
        let (current, previous, id, body, number) = unsafe {
            let attempt = sized::read(attempt)?;
            (
                text(secret, "secret")?,
                optional_text(attempt.previous_secret, "previous_secret")?,
                text(attempt.id, "id")?,
                input(attempt.body, "body")?,
                attempt.number,
            )
        };
        let number = u32::try_from(number).map_err(|_| Failure::misuse("number is too large"))?;
        let current = SigningSecret::new(current)?;
        let previous = previous.map(SigningSecret::new).transpose()?;
        let attempt = Attempt { id, at: UnixMillis(now_ms), number, body };
        let headers = attempt.headers(&PROVIDER, &current, previous.as_ref());
        let headers = headers.map(|(name, value)| (name.to_owned(), Value::from(value)));
        let headers = Value::from(Map::from_iter(headers));
        put(out, || Ok(give(headers.to_string())))
    })
}

/// Verifies a notification. IDGATE_REFUSED: the signature or the time is wrong, so do not trust it.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn idgate_webhook_verify(
    secret: idgate_str,
    webhook: *const idgate_webhook,
    now_ms: u64,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    boundary(err_out, || {
        // SAFETY: the caller's promise, for each.
        let (webhook, secret, id, timestamp, signature, body) = unsafe {
            let webhook = sized::read(webhook)?;
            (
                webhook,
                text(secret, "secret")?,
                text(webhook.id, "id")?,
                text(webhook.timestamp, "timestamp")?,
                text(webhook.signature, "signature")?,
                input(webhook.body, "body")?,
            )
        };
        let scheme = i32::try_from(webhook.scheme).unwrap_or(0);
        let scheme = idgate_webhook_scheme::of(scheme, "scheme")?;
        let tolerance_ms = match webhook.tolerance_ms {
            0 => IDGATE_WEBHOOK_TOLERANCE_MS,
            chosen => chosen,
        };
        let received = Received { body, now: UnixMillis(now_ms), tolerance_ms };
        let secret = SigningSecret::new(secret)?;
        match scheme {
            idgate_webhook_scheme::IDGATE_WEBHOOK_GATEWAY => {
                received.verify(&PROVIDER, &secret, timestamp, signature)?;
            }
            idgate_webhook_scheme::IDGATE_WEBHOOK_STANDARD => {
                received.verify_standard(&PROVIDER, &secret, id, timestamp, signature)?;
            }
        }
        Ok(())
    })
}

impl From<ShortSecret> for Failure {
    fn from(error: ShortSecret) -> Self {
        Self::config(error)
    }
}

impl From<InvalidWebhook> for Failure {
    fn from(error: InvalidWebhook) -> Self {
        Self::new(IDGATE_REFUSED, "invalid_webhook", error)
    }
}
