//! Notifications that wait to be sent: written with the settlement of the session, leased for one
//! attempt at a time, removed when delivered, dead letters when given up.
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
    /// Where they go.
    pub host: String,
    /// Whether the first one waited for the review of its host: those go one by one, in order.
    pub held: bool,
}

/// How many notifications of a client to lease.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Wanted {
    /// The client.
    pub client_id: String,
    /// At most so many.
    pub count: usize,
}

/// A notification leased for one attempt.
#[derive(Clone, Debug)]
pub struct Leased {
    /// Its place in the outbox.
    pub seq: i64,
    /// `whf_…`: the same for every attempt.
    pub id: String,
    /// The client.
    pub client_id: String,
    /// What is signed and sent.
    pub body: String,
    /// How often it failed.
    pub attempts: u32,
    /// Whether it is a dead letter that somebody retries.
    pub is_replay: bool,
    /// When the lease ends; names it, too.
    pub lease_until: UnixMillis,
    /// Where to send it.
    pub target: Arc<Target>,
    /// The span that made its session, where that was recorded.
    pub parent: Option<Parent>,
}

/// Where a client's notifications go, and what signs them.
#[derive(Debug)]
pub struct Target {
    /// The endpoint.
    pub url: String,
    /// Its client's mode.
    pub livemode: bool,
    /// In force.
    pub secret: SigningSecret,
    /// Replaced less than a day ago.
    pub previous: Option<SigningSecret>,
}

/// What an attempt came to.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum DeliveryResult {
    /// The receiver has it.
    Delivered,
    /// It failed; the text is of the fixed vocabulary.
    Failed {
        /// Why.
        error: String,
        /// When to try again; `None`: never. A retried dead letter is not tried again.
        again_at: Option<UnixMillis>,
    },
}

/// A notification that was given up.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DeadLetter {
    /// `whf_…`; the `webhook-id` of its attempts, too.
    pub id: String,
    /// The session that settled.
    pub session_id: String,
    /// The client.
    pub client_id: String,
    /// The body, a JSON text.
    pub payload: String,
    /// Of the fixed vocabulary.
    pub error_message: Option<String>,
    /// How often it failed.
    pub attempts: u32,
    /// When it last did.
    pub failed_at: UnixMillis,
}

/// Part of a list.
#[derive(Clone, Debug, Default)]
pub struct DeadLetterPage {
    /// Newest first.
    pub letters: Vec<DeadLetter>,
    /// Where the next page begins; `None`: this was the last.
    pub next_cursor: Option<String>,
}

/// A notification that waits to be sent.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Pending {
    /// `whf_…`; the `webhook-id` of its attempts, too.
    pub id: String,
    /// The session that settled.
    pub session_id: String,
    /// How the session ended, as the body says it.
    pub status: String,
    /// How often it failed.
    pub attempts: u32,
    /// When it is tried next; `None`: held until its host is reviewed. One that is being tried has
    /// the time of the question.
    pub next_attempt_at: Option<UnixMillis>,
}

/// Part of a list.
#[derive(Clone, Debug, Default)]
pub struct PendingPage {
    /// Newest first.
    pub notifications: Vec<Pending>,
    /// Where the next page begins; `None`: this was the last.
    pub next_cursor: Option<String>,
}

/// A retry that was asked for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Replay {
    /// The dead letter.
    pub id: String,
    /// Its session.
    pub session_id: String,
    /// Whether there will be an attempt: its host is approved.
    pub is_sent: bool,
}
