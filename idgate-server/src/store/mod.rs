//! What the gateway keeps, as narrow use cases: each is atomic, ids and times come from the
//! caller, and nothing assumes one process. [`SqliteStore`] is the implementation.

mod admin_tokens;
mod api_keys;
mod audit;
mod backup;
mod claims;
mod claims_file;
mod clients;
mod cursor;
mod directory;
mod disk;
mod events;
mod examine;
mod fault;
mod gateway_keys;
mod held;
mod idempotency;
mod keys;
mod known;
mod lanes;
mod metrics;
mod missing;
mod operator;
mod outbox;
mod probe;
mod quotas;
mod readers;
mod reseal;
mod reserve;
mod schema;
mod session_keys;
mod sessions;
mod sqlite;
mod together;
mod trust;
mod underway;
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
use rusqlite::ErrorCode;

pub use self::admin_tokens::{AdminTokenRecord, AdminTokenStore};
pub use self::api_keys::{
    ApiKeyPage, ApiKeyRecord, ApiKeyStore, KeyMade, KeyRevoked, KeyRotated, KeyValue, NewApiKey,
};
pub use self::audit::{
    AuditPage, AuditReport, AuditStore, ExportError, ListedEntry, SignedChains, UnwrittenCheckpoint,
};
pub use self::backup::{Backup, back_up};
pub use self::clients::{ClientChange, ClientSettings, Logo};
pub use self::directory::exposed;
pub use self::events::{Changes, EventPage, EventStore, StatusEvent, Watch};
pub use self::examine::{Examination, Finding, Health, examine};
pub use self::gateway_keys::{GatewayKeyRecord, GatewayKeyStore};
pub use self::idempotency::{Answered, IdempotencyStore, MadeOnce, Once};
pub use self::keys::{ClientRecord, NewClient};
pub use self::metrics::{Gauges, MetricsStore, MetricsSummary, Outcomes};
pub use self::missing::missing;
pub use self::operator::OperatorStore;
pub use self::outbox::{
    DeadLetter, DeadLetterPage, Lane, Leased, OutboxStore, Replay, Target, Verdict, Wanted,
};
pub use self::quotas::OwnQuotas;
pub use self::sqlite::{SqliteStore, StoreOptions};
pub use self::trust::{
    NewCrl, NewList, RemovedMaterial, TrustCertificate, TrustChange, TrustCrl, TrustKey, TrustList,
    TrustRecord,
};
pub use self::webhook_endpoints::{EndpointRecord, EndpointStore, EndpointWish};
pub use self::webhook_hosts::{HostRecord, HostStatus, Review};
use crate::seal::{NotSealed, Unsealable};

/// The answer of a write: it resolves after the commit, never before.
pub type Write<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// The answer of a read, which takes place on another thread. Dropped before its turn, nothing is
/// read.
pub type Read<'a, T, E = StoreError> = Pin<Box<dyn Future<Output = Result<T, E>> + Send + 'a>>;

/// Whether a guarded write applied.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Committed {
    /// It is durable.
    Yes,
    /// Another write came first, or the session is gone; nothing changed.
    LostRace,
}

/// Whether a new session is stored.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[must_use = "without room nothing is stored"]
pub enum Made {
    /// It is.
    Yes,
    /// The client has as many open sessions as it may; nothing changed.
    NoRoom,
}

/// The owner of a good API key.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The tenant.
    pub client_id: TenantId,
    /// The key's public handle, for logs.
    pub key_id: String,
    /// SHA-256 of the key that was shown: after a rotation another one is stored.
    pub digest: [u8; 32],
    /// The mode of client and key.
    pub livemode: bool,
    /// `None`: all scopes.
    pub scopes: Option<Vec<String>>,
}

/// A fault of the store.
#[derive(Clone, Debug)]
pub enum StoreError {
    /// A queue is full, or this client's share of it: shed load.
    Busy,
    /// The disk is full: nothing but erasing goes on.
    Full,
    /// The database cannot be written or read for now: another program locks it, there are no file
    /// descriptors. The text is for the operator.
    Unavailable(String),
    /// What is stored is not as it was; the text is for the operator.
    Damaged(String),
    /// The database failed; the text is for the operator.
    Failed(String),
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy => f.write_str("too much is waiting for the database"),
            Self::Full => f.write_str("the disk is full; make room"),
            Self::Unavailable(text) | Self::Damaged(text) | Self::Failed(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for StoreError {}

impl From<NotSealed> for StoreError {
    fn from(error: NotSealed) -> Self {
        Self::Unavailable(error.to_string())
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        let text = format!("the database failed: {error}");
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full,
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                Self::Damaged(format!("the database is damaged: {error}"))
            }
            _ if is_passing(&error) => Self::Unavailable(text),
            _ => Self::Failed(text),
        }
    }
}

/// Whether the machine, and not the file's content, is in the way.
fn is_passing(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(
            ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::CannotOpen
                | ErrorCode::OutOfMemory
                | ErrorCode::SystemIoFailure
                | ErrorCode::FileLockingProtocolFailed
                | ErrorCode::ReadOnly
        )
    )
}

impl From<Unsealable> for StoreError {
    fn from(error: Unsealable) -> Self {
        Self::Damaged(error.to_string())
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
    fn authenticate(&self, digest: &[u8; 32], now: UnixMillis) -> Read<'_, Option<Caller>>;

    /// The trust snapshot in force; the same `Arc` while nothing changed.
    fn trust(&self) -> Read<'_, Arc<TrustSnapshot>>;

    /// Inserts a new session of this caller (`transition.from` is 0) with its status events.
    fn create_session(&self, caller: &Caller, transition: Transition) -> Write<'_, Made>;

    /// Stores a transition where the stored revision is `transition.from`: session, status events
    /// and, when it verified, the sealed result, in one commit. `processing_us` is the time that
    /// the verification took, when there was one.
    fn commit(&self, transition: Transition, processing_us: Option<u64>) -> Write<'_, Committed>;

    /// The same for what the gateway settles or gives up by itself, which takes nothing of the room
    /// that the client and its wallets have.
    fn commit_own(&self, transition: Transition) -> Write<'_, Committed>;

    /// A session for the wallet routes, without its result.
    fn session(&self, id: &SessionId) -> Read<'_, Option<Session>>;

    /// A session of this caller and mode, with its result while it may be read at `now`.
    fn callers_session(
        &self,
        caller: &Caller,
        id: &SessionId,
        now: UnixMillis,
    ) -> Read<'_, Option<Session>>;

    /// Removes a session of this caller and everything stored about it but its audit entries;
    /// resolves when no file holds its row or its claims any more, unless another program reads
    /// them: then the files are emptied as soon as it ends, and nobody waits for it. `false`: there
    /// is none.
    fn delete_session(&self, caller: &Caller, id: &SessionId, now: UnixMillis) -> Write<'_, bool>;

    /// Open sessions whose `expires_at`, or whose verification lease, is at or before `now`; an
    /// error in the place of each that cannot be read.
    fn due_sessions(
        &self,
        now: UnixMillis,
        limit: usize,
    ) -> Read<'_, Vec<Result<Session, StoreError>>>;

    /// Removes the results due at `now` from every file, and reports how many there were; with them
    /// those that are due later than any could be: the clock was set back since. An erasure that a
    /// reader held up is finished by a later call.
    fn purge_results(&self, now: UnixMillis) -> Write<'_, usize>;

    /// Removes settled sessions from before `before`, at most `limit`.
    fn remove_settled(&self, before: UnixMillis, limit: usize) -> Write<'_, usize>;

    /// Verifications that this process cannot have begun, because it has only just opened the store
    /// for itself alone; an error in the place of each that cannot be read.
    fn abandoned_sessions(&self) -> Read<'_, Vec<Result<Session, StoreError>>>;

    /// Whether something can be stored: it was within the last second, or is now.
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
pub(crate) use self::fault::Mood;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) mod temporary;
#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) mod wait;
