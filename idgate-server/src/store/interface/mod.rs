//! What a running gateway asks of its store: narrow use cases, each atomic. Ids and times come from
//! the caller, nothing assumes one process, and nothing says how anything is stored.

mod api_keys;
mod audit;
mod endpoints;
mod error;
mod events;
mod idempotency;
mod lists;
mod metrics;
mod outbox;
mod pages;
mod reports;
mod resealed;
mod sessions;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use idgate_core::ids::{SessionId, TenantId};
use idgate_core::session::Session;
use idgate_core::time::UnixMillis;
use idgate_core::trust::TrustSnapshot;

pub use self::api_keys::{
    ApiKeyPage, ApiKeyRecord, ApiKeyStore, KeyMade, KeyRevoked, KeyRotated, KeyValue, NewApiKey,
};
pub use self::audit::{AuditPage, AuditStore, ListedEntry, SignedChains, UnwrittenCheckpoint};
pub use self::endpoints::{EndpointRecord, EndpointStore, EndpointWish, HostStatus, Removed};
pub use self::error::{PageError, StoreError};
pub use self::events::{EventPage, EventStore, StatusEvent};
pub use self::idempotency::{Answered, IdempotencyStore, MadeOnce, Once};
pub use self::lists::{FetchedList, ListFetch, ListSource, Refreshed};
pub use self::metrics::{MetricsStore, MetricsSummary, Outcomes};
pub use self::outbox::{
    DeadLetter, DeadLetterPage, Lane, Leased, OutboxStore, Pending, PendingPage, Replay, Target,
    Verdict, Wanted,
};
pub use self::pages::{Face, NewPage, PageRecord, PageStore, Picture};
pub use self::reports::ReportStore;
pub use self::resealed::Resealed;
pub use self::sessions::{Beside, Committed, Made, SessionStore};
use crate::clock::Moment;
use crate::gateway_key::{Certificates, GatewayKeys};

/// The answer of a write: it resolves after the commit, never before.
pub type Write<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// The answer of a read, which takes place on another thread. Dropped before its turn, nothing is
/// read.
pub type Read<'a, T, E = StoreError> = Pin<Box<dyn Future<Output = Result<T, E>> + Send + 'a>>;

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
    /// When the key was asked about: what was in force then, or since, serves the request.
    pub since: Moment,
}

/// A session that was looked for beside a key; `None`: its owner has none of that id.
pub type SessionFound = Result<Option<Session>, StoreError>;

/// What every request is answered by; each the same `Arc` while nothing changed.
#[derive(Clone, Debug)]
pub struct InForce {
    /// Who is trusted.
    pub trust: Arc<TrustSnapshot>,
    /// What signs requests.
    pub gateway_keys: Arc<GatewayKeys>,
    /// What signs them where a certificate is the proof of who asks.
    pub certificates: Arc<Certificates>,
}

/// What one session may have: `burst` requests at once, and as many again in `window_ms`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct SessionRate {
    /// Rates of different names do not know each other.
    pub name: &'static str,
    /// Not 0.
    pub burst: u64,
    /// Milliseconds.
    pub window_ms: u64,
}

/// The use cases of a running gateway.
pub trait Store:
    ApiKeyStore
    + AuditStore
    + EndpointStore
    + EventStore
    + IdempotencyStore
    + MetricsStore
    + OutboxStore
    + PageStore
    + ReportStore
    + SessionStore
    + Send
    + Sync
{
    /// Checks key, client, expiry and mode in one indexed read; nothing is cached, so a revocation
    /// counts at once. `digest` is the SHA-256 of the key.
    fn authenticate(&self, digest: &[u8; 32], now: UnixMillis) -> Read<'_, Option<Caller>>;

    /// The same, and the caller's session of that id as [`SessionStore::callers_session`] gives it, as both
    /// were at one moment. That the session cannot be read is said beside the caller, whose key is good all the same.
    fn authenticate_for(
        &self,
        digest: &[u8; 32],
        session: &SessionId,
        now: UnixMillis,
    ) -> Read<'_, Option<(Caller, SessionFound)>>;

    /// The id of the admin token with this digest unless it is revoked: one indexed read, nothing
    /// cached.
    fn admin(&self, digest: &[u8; 32]) -> Read<'_, Option<String>>;

    /// The origins of a client's own pages, in alphabetical order: one indexed read, nothing cached.
    fn origins(&self, client_id: &TenantId) -> Read<'_, Vec<String>>;

    /// Trust, keys and certificates, each as it was at `since` or later: what a request began with,
    /// or what was changed meanwhile.
    fn in_force(&self, since: Moment) -> Read<'_, InForce>;

    /// The trust snapshot in force; the same `Arc` while nothing changed.
    fn trust(&self) -> Read<'_, Arc<TrustSnapshot>>;

    /// The gateway's signing keys in force; the same `Arc` while nothing changed.
    fn gateway_keys(&self) -> Read<'_, Arc<GatewayKeys>>;

    /// The certificates that may sign, of the gateway and of its clients; the same `Arc` while
    /// nothing changed.
    fn certificates(&self) -> Read<'_, Arc<Certificates>>;

    /// Erases certificates that were replaced so long ago that no session can name them, and their
    /// private keys, from every file. Says how many certificates those were.
    fn forget_certificates(&self, now: UnixMillis) -> Write<'_, usize>;

    /// Erases the private halves of retired signing keys whose last session is over at `now`, and says
    /// how many there were.
    fn erase_signers(&self, now: UnixMillis) -> Write<'_, usize>;

    /// Where trusted lists are fetched from.
    fn list_sources(&self) -> Read<'_, Vec<ListSource>>;

    /// Gives every entry that takes its trusted list from there the one that was fetched, if it may follow
    /// on the one in force: all of it in one transaction.
    fn refresh_list(&self, fetched: FetchedList, now: UnixMillis) -> Write<'_, Refreshed>;

    /// Keeps that nothing could be fetched from `url`.
    fn note_list_failure(&self, url: String, why: String, now: UnixMillis) -> Write<'_, ()>;

    /// Whether this gateway is the one of those that share the store which does what `duty` names; if so,
    /// none of the others is for so long.
    fn leads(&self, _duty: &'static str, _lasting: Duration) -> Read<'_, bool> {
        Box::pin(async { Ok(true) })
    }

    /// How many gateways share the store, this one among them, as far as it knew a second ago.
    fn nodes(&self) -> u64 {
        1
    }

    /// When this gateway came to others that share the store: what they granted before, it does not know.
    /// The beginning of time, when there were none.
    fn joined(&self) -> UnixMillis {
        UnixMillis(0)
    }

    /// Charges a request of a wallet, or of a browser, to its session where several gateways have to
    /// count together; when it is one too many, says how many milliseconds it is too early. A gateway
    /// that is alone counts by itself.
    fn charge_session(&self, _id: &SessionId, _rate: SessionRate) -> Write<'_, Option<u64>> {
        Box::pin(async { Ok(None) })
    }

    /// Why a gateway with the instance keys of this one could not start now; `None`: it could.
    fn next_start(&self) -> Read<'_, Option<String>>;

    /// Whether something can be stored: it was within the last second, or is now.
    fn probe(&self) -> Write<'_, ()>;
}
