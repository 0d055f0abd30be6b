//! What the gateway keeps, as narrow use cases: each is atomic, ids and times come from the
//! caller, and nothing assumes one process. [`SqliteStore`] is the implementation.

mod admin_tokens;
mod api_keys;
mod audit;
mod backup;
mod claims;
mod cursor;
mod directory;
mod events;
mod examine;
mod gateway_keys;
mod idempotency;
mod keys;
mod metrics;
mod operator;
mod outbox;
mod readers;
mod schema;
mod session_keys;
mod sessions;
mod sqlite;
mod trust;
mod uses;
mod webhook_endpoints;
mod webhook_hosts;
mod writer;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use idgate_core::ids::{SessionId, TenantId};
use idgate_core::session::{Session, Transition};
use idgate_core::time::UnixMillis;
use idgate_core::trust::TrustSnapshot;

pub use self::admin_tokens::{AdminTokenRecord, AdminTokenStore};
pub use self::api_keys::{ApiKeyRecord, ApiKeyStore, KeyValue, NewApiKey};
pub use self::audit::{
    AuditPage, AuditReport, AuditStore, ExportError, ListedEntry, SignedChains, UnwrittenCheckpoint,
};
pub use self::backup::{Backup, back_up};
pub use self::directory::exposed;
pub use self::events::{Changes, EventPage, EventStore, StatusEvent, Watch};
pub use self::examine::{Examination, Finding, Health, examine};
pub use self::gateway_keys::{GatewayKeyRecord, GatewayKeyStore};
pub use self::idempotency::{Answered, IdempotencyStore, Once};
pub use self::keys::{ClientRecord, NewClient};
pub use self::metrics::{Gauges, MetricsStore, MetricsSummary, Outcomes};
pub use self::operator::OperatorStore;
pub use self::outbox::{
    DeadLetter, DeadLetterPage, Lane, Leased, OutboxStore, Replay, Target, Verdict, Wanted,
};
pub use self::sqlite::{SqliteStore, StoreOptions};
pub use self::trust::{
    NewList, TrustCertificate, TrustChange, TrustCrl, TrustKey, TrustList, TrustRecord,
};
pub use self::webhook_endpoints::{EndpointRecord, EndpointStore, EndpointWish};
pub use self::webhook_hosts::{HostRecord, HostStatus, Review};
use crate::seal::Unsealable;

/// The answer of a write: it resolves after the commit, never before.
pub type Write<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// Whether a guarded write applied.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Committed {
    /// It is durable.
    Yes,
    /// Another write came first, or the session is gone; nothing changed.
    LostRace,
}

/// The owner of a good API key.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The tenant.
    pub client_id: TenantId,
    /// The key's public handle, for logs.
    pub key_id: String,
    /// The mode of client and key.
    pub livemode: bool,
    /// `None`: all scopes.
    pub scopes: Option<Vec<String>>,
}

/// A fault of the store.
#[derive(Debug)]
pub enum StoreError {
    /// The write queue is full: shed load.
    Busy,
    /// The database failed; the text is for the operator.
    Failed(String),
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy => f.write_str("the write queue is full"),
            Self::Failed(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for StoreError {}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Failed(format!("the database failed: {error}"))
    }
}

impl From<Unsealable> for StoreError {
    fn from(error: Unsealable) -> Self {
        Self::Failed(error.to_string())
    }
}

/// Why a page of a list cannot be given.
#[derive(Debug)]
pub enum PageError {
    /// The cursor was not made for this list and client, or is too old.
    Cursor,
    /// The store failed.
    Store(StoreError),
}

impl From<StoreError> for PageError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// The use cases of a running gateway.
pub trait Store:
    AdminTokenStore
    + ApiKeyStore
    + AuditStore
    + EndpointStore
    + EventStore
    + GatewayKeyStore
    + IdempotencyStore
    + MetricsStore
    + OutboxStore
    + Send
    + Sync
{
    /// Checks key, client, expiry and mode in one indexed read; nothing is cached, so a revocation
    /// counts at once. `digest` is the SHA-256 of the key.
    fn authenticate(
        &self,
        digest: &[u8; 32],
        now: UnixMillis,
    ) -> Result<Option<Caller>, StoreError>;

    /// The trust snapshot in force; the same `Arc` while nothing changed.
    fn trust(&self) -> Result<Arc<TrustSnapshot>, StoreError>;

    /// Inserts a new session (`transition.from` is 0) with its status events.
    fn create_session(&self, transition: Transition) -> Write<'_, ()>;

    /// Stores a transition where the stored revision is `transition.from`: session, status events
    /// and, when it verified, the sealed result, in one commit. `processing_us` is the time that
    /// the verification took, when there was one.
    fn commit(&self, transition: Transition, processing_us: Option<u64>) -> Write<'_, Committed>;

    /// A session for the wallet routes, without its result.
    fn session(&self, id: &SessionId) -> Result<Option<Session>, StoreError>;

    /// A session of this caller and mode, with its result while it may be read at `now`.
    fn callers_session(
        &self,
        caller: &Caller,
        id: &SessionId,
        now: UnixMillis,
    ) -> Result<Option<Session>, StoreError>;

    /// Removes a session of this caller and everything stored about it but its audit entries;
    /// resolves when no file holds its row or its claims any more. `false`: there is none.
    fn delete_session(&self, caller: &Caller, id: &SessionId, now: UnixMillis) -> Write<'_, bool>;

    /// Open sessions whose `expires_at`, or whose verification lease, is at or before `now`; an
    /// error in the place of each that cannot be read.
    fn due_sessions(
        &self,
        now: UnixMillis,
        limit: usize,
    ) -> Result<Vec<Result<Session, StoreError>>, StoreError>;

    /// Removes the results due at `now` from every file, and reports how many there were. An
    /// erasure that a reader held up is finished by a later call.
    fn purge_results(&self, now: UnixMillis) -> Write<'_, usize>;

    /// Removes settled sessions from before `before`, at most `limit`.
    fn remove_settled(&self, before: UnixMillis, limit: usize) -> Write<'_, usize>;

    /// Whether the writer answers.
    fn probe(&self) -> Write<'_, ()>;
}

/// A time as the database holds it.
fn millis(time: UnixMillis) -> i64 {
    i64::try_from(time.0).unwrap_or(i64::MAX)
}

/// A time from the database.
fn time(millis: i64) -> UnixMillis {
    UnixMillis(u64::try_from(millis).unwrap_or(0))
}

#[cfg(test)]
mod tests;
