//! The webhook receiver: the latest deliveries, and whether their signatures are valid.

use std::collections::VecDeque;

use bytes::Bytes;
use hyper::HeaderMap;
use idgate_core::UnixMillis;
use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::limits::WEBHOOK_TOLERANCE_MS;
use idgate_core::shell::webhook::{Received, SigningSecret};
use serde_json::Value;

/// Number of deliveries shown.
const SHOWN: usize = 20;

/// A delivery that arrived.
#[derive(Clone, Debug)]
pub(super) struct Delivery {
    pub(super) at: UnixMillis,
    /// Its `webhook-id`.
    pub(super) id: String,
    /// The number of the attempt.
    pub(super) attempt: String,
    /// Why it was not verified; `None` if it was.
    pub(super) wrong: Option<String>,
    pub(super) body: String,
}

impl Delivery {
    /// The session it is about.
    pub(super) fn session_id(&self) -> Option<String> {
        let body: Value = serde_json::from_str(&self.body).ok()?;
        body.get("sessionId").and_then(Value::as_str).map(String::from)
    }
}

/// The latest deliveries, newest first.
#[derive(Debug, Default)]
pub(super) struct Deliveries(VecDeque<Delivery>);

impl Deliveries {
    /// Stores a delivery; returns whether it was verified.
    pub(super) fn take(
        &mut self,
        headers: &HeaderMap,
        body: &Bytes,
        secret: &SigningSecret,
        now: UnixMillis,
    ) -> bool {
        let text = |name: &str| {
            let value = headers.get(name).and_then(|value| value.to_str().ok());
            value.unwrap_or_default().chars().take(128).collect::<String>()
        };
        let received = Received { body, now, tolerance_ms: WEBHOOK_TOLERANCE_MS };
        let signatures = headers.get("webhook-signature").and_then(|it| it.to_str().ok());
        let verified = received.verify_standard(
            &PROVIDER,
            secret,
            &text("webhook-id"),
            &text("webhook-timestamp"),
            signatures.unwrap_or_default(),
        );
        let wrong = verified.err().map(|why| why.to_string());
        let is_good = wrong.is_none();
        self.0.truncate(SHOWN.saturating_sub(1));
        self.0.push_front(Delivery {
            at: now,
            id: text("webhook-id"),
            attempt: text("x-webhook-attempt"),
            wrong,
            body: String::from_utf8_lossy(body).chars().take(2000).collect(),
        });
        is_good
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Delivery> {
        self.0.iter()
    }
}
