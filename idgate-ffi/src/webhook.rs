//! Notifications: signing them, and verifying them where they arrive.

use std::ffi::c_char;

use idgate_core::UnixMillis;
use idgate_core::shell::webhook::{Attempt, Received, SigningSecret};
use idgate_core::webhook::{InvalidWebhook, ShortSecret};
use serde_json::{Map, Value};

use crate::boundary::{boundary, put};
use crate::bytes::{give, idgate_bytes, input, text};
use crate::failure::{Failure, idgate_error};
use crate::provider::PROVIDER;
use crate::status::idgate_status::{self, IDGATE_REFUSED};

/// How far a timestamp may be from the present unless there is a reason: 5 minutes.
pub const IDGATE_WEBHOOK_TOLERANCE_MS: u64 = 300_000;

/// The headers of one attempt to deliver `body`, as a JSON object of name and value. `id` is the
/// same for every attempt, `number` counts from 1. `previous_secret`, NULL when there is none, was
/// replaced a short time ago and signs `webhook-signature` as well.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code, clippy::too_many_arguments)]
pub unsafe extern "C" fn idgate_webhook_headers(
    secret: *const c_char,
    secret_len: usize,
    previous_secret: *const c_char,
    previous_secret_len: usize,
    id: *const c_char,
    id_len: usize,
    number: u32,
    body: *const u8,
    body_len: usize,
    now_ms: u64,
    out: *mut idgate_bytes,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    boundary(err_out, || {
        // SAFETY: the caller's promise, for each.
        let (current, previous, id, body) = unsafe {
            (
                text(secret, secret_len, "secret")?,
                text(previous_secret, previous_secret_len, "previous_secret")?,
                text(id, id_len, "id")?,
                input(body, body_len, "body")?,
            )
        };
        let current = SigningSecret::new(current)?;
        let previous = match previous_secret.is_null() {
            true => None,
            false => Some(SigningSecret::new(previous)?),
        };
        let attempt = Attempt { id, at: UnixMillis(now_ms), number, body };
        let headers = attempt.headers(&PROVIDER, &current, previous.as_ref());
        let headers = headers.map(|(name, value)| (name.to_owned(), Value::from(value)));
        let headers = Value::from(Map::from_iter(headers));
        put(out, || Ok(give(headers.to_string())))
    })
}

/// Verifies a notification by the values of `X-Timestamp` and `X-Signature`. IDGATE_REFUSED: it is
/// not to be believed.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code, clippy::too_many_arguments)]
pub unsafe extern "C" fn idgate_webhook_verify(
    secret: *const c_char,
    secret_len: usize,
    timestamp: *const c_char,
    timestamp_len: usize,
    signature: *const c_char,
    signature_len: usize,
    body: *const u8,
    body_len: usize,
    now_ms: u64,
    tolerance_ms: u64,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    boundary(err_out, || {
        // SAFETY: the caller's promise, for each.
        let (secret, timestamp, signature, body) = unsafe {
            (
                text(secret, secret_len, "secret")?,
                text(timestamp, timestamp_len, "timestamp")?,
                text(signature, signature_len, "signature")?,
                input(body, body_len, "body")?,
            )
        };
        let received = Received { body, now: UnixMillis(now_ms), tolerance_ms };
        Ok(received.verify(&PROVIDER, &SigningSecret::new(secret)?, timestamp, signature)?)
    })
}

/// Verifies a notification by the values of `webhook-id`, `webhook-timestamp` and
/// `webhook-signature` (Standard Webhooks). IDGATE_REFUSED: it is not to be believed.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code, clippy::too_many_arguments)]
pub unsafe extern "C" fn idgate_webhook_verify_standard(
    secret: *const c_char,
    secret_len: usize,
    id: *const c_char,
    id_len: usize,
    timestamp: *const c_char,
    timestamp_len: usize,
    signature: *const c_char,
    signature_len: usize,
    body: *const u8,
    body_len: usize,
    now_ms: u64,
    tolerance_ms: u64,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    boundary(err_out, || {
        // SAFETY: the caller's promise, for each.
        let (secret, id, timestamp, signature, body) = unsafe {
            (
                text(secret, secret_len, "secret")?,
                text(id, id_len, "id")?,
                text(timestamp, timestamp_len, "timestamp")?,
                text(signature, signature_len, "signature")?,
                input(body, body_len, "body")?,
            )
        };
        let received = Received { body, now: UnixMillis(now_ms), tolerance_ms };
        let secret = SigningSecret::new(secret)?;
        Ok(received.verify_standard(&PROVIDER, &secret, id, timestamp, signature)?)
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
