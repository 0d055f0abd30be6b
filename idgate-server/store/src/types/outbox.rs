//! Notifications that wait to be sent. They are written with the settlement of the session, leased
//! for one attempt at a time, removed when delivered, and dead letters when given up.
//!
//! ```text
//! settle ──> queued ──lease──> attempt ──> delivered: removed
//!              ^                  ├──────> queued again, later
//!              │                  └──────> dead letter ──30 days──> removed
//!              └ held while its host is PENDING     └──retry──> one attempt
//! ```

use std::sync::Arc;

use idgate_core::UnixMillis;
use idgate_core::shell::webhook::SigningSecret;

use idgate_base::spans::Parent;

/// A client with notifications that are due.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Lane {
    /// The client.
    pub client_id: String,
    /// The host that they go to.
    pub host: String,
    /// Whether the first one waited for a review of its host: those are sent one at a time, in
    /// order.
    pub held: bool,
}

/// How many notifications of a client to lease.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Wanted {
    /// The client.
    pub client_id: String,
    /// The maximum number.
    pub count: usize,
}

/// A notification leased for one attempt.
#[derive(Clone, Debug)]
pub struct Leased {
    /// Its place in the outbox.
    pub seq: i64,
    /// `whf_…`, the same for every attempt.
    pub id: String,
    /// The client.
    pub client_id: String,
    /// The signed body.
    pub body: String,
    /// How often delivery failed.
    pub attempts: u32,
    /// Whether it is a dead letter that is retried on request.
    pub is_replay: bool,
    /// When the lease ends, which also identifies it.
    pub lease_until: UnixMillis,
    /// The destination.
    pub target: Arc<Target>,
    /// The span that created its session, if it was recorded.
    pub parent: Option<Parent>,
}

/// The destination of a client's notifications, and the secrets that sign them.
#[derive(Debug)]
pub struct Target {
    /// The endpoint.
    pub url: String,
    /// Its client's mode.
    pub livemode: bool,
    /// The secret in force.
    pub secret: SigningSecret,
    /// The previous secret, if it was replaced less than a day ago.
    pub previous: Option<SigningSecret>,
}

/// The result of an attempt.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum DeliveryResult {
    /// The receiver accepted it.
    Delivered,
    /// It failed. The text is from a fixed vocabulary.
    Failed {
        /// Why.
        error: String,
        /// When to retry. `None`: never. A retried dead letter is not retried again.
        again_at: Option<UnixMillis>,
    },
}

/// A notification that was given up.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DeadLetter {
    /// `whf_…`, also the `webhook-id` of its attempts.
    pub id: String,
    /// The session that settled.
    pub session_id: String,
    /// The client.
    pub client_id: String,
    /// The body, a JSON text.
    pub payload: String,
    /// From a fixed vocabulary.
    pub error_message: Option<String>,
    /// How often delivery failed.
    pub attempts: u32,
    /// When it last failed.
    pub failed_at: UnixMillis,
}

/// One page of a list.
#[derive(Clone, Debug, Default)]
pub struct DeadLetterPage {
    /// Newest first.
    pub letters: Vec<DeadLetter>,
    /// The cursor for the next page. `None`: this was the last.
    pub next_cursor: Option<String>,
}

/// A notification that waits to be sent.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Pending {
    /// `whf_…`, also the `webhook-id` of its attempts.
    pub id: String,
    /// The session that settled.
    pub session_id: String,
    /// How the session ended, as in the body.
    pub status: String,
    /// How often delivery failed.
    pub attempts: u32,
    /// When it is tried next. `None`: held until its host is reviewed. If an attempt is in
    /// progress, this is the time of the query.
    pub next_attempt_at: Option<UnixMillis>,
}

/// One page of a list.
#[derive(Clone, Debug, Default)]
pub struct PendingPage {
    /// Newest first.
    pub notifications: Vec<Pending>,
    /// The cursor for the next page. `None`: this was the last.
    pub next_cursor: Option<String>,
}

/// A requested retry.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Replay {
    /// The dead letter.
    pub id: String,
    /// Its session.
    pub session_id: String,
    /// Whether an attempt will follow, because its host is approved.
    pub is_sent: bool,
}
