//! Arguments and results of the store's use cases, the same for both databases.

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
mod resealed;
mod sessions;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use idgate_core::shell::TrustSnapshot;
use idgate_core::{Mode, Session, TenantId};

pub use self::api_keys::{
    ApiKeyPage, ApiKeyRecord, KeyMade, KeyRevoked, KeyRotated, KeyValue, NewApiKey,
};
pub use self::audit::{AuditPage, ListedEntry, SignedChains, UnwrittenCheckpoint};
pub use self::endpoints::{EndpointRecord, EndpointRequest, HostStatus, Removed};
pub use self::error::{PageError, StoreError};
pub use self::events::{EventPage, StatusEvent};
pub use self::idempotency::{Answered, MadeOnce, Once};
pub use self::lists::{FetchedList, FetchedListOfLists, ListFetch, ListSource, Refreshed};
pub use self::metrics::{MetricsSummary, Outcomes};
pub use self::outbox::{
    DeadLetter, DeadLetterPage, DeliveryResult, Lane, Leased, Pending, PendingPage, Replay, Target,
    Wanted,
};
pub use self::pages::{Face, NewPage, PageRecord, Picture};
pub use self::resealed::Resealed;
pub use self::sessions::{Beside, Committed, Made};
use crate::gateway_key::{Certificates, GatewayKeys};
use idgate_base::clock::Moment;

/// The result of a write. It resolves after the commit, never before.
pub type Write<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// The result of a read, which runs on another thread. If it is dropped before its turn, nothing is
/// read.
pub type Read<'a, T, E = StoreError> = Pin<Box<dyn Future<Output = Result<T, E>> + Send + 'a>>;

/// The owner of an active API key.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The tenant.
    pub client_id: TenantId,
    /// The key's public handle, for logs.
    pub key_id: String,
    /// SHA-256 of the presented key. After a rotation the stored one differs.
    pub digest: [u8; 32],
    /// The mode of client and key.
    pub livemode: bool,
    /// `None`: all scopes.
    pub scopes: Option<Vec<String>>,
    /// When the key was looked up: the request is served by what was in force then, or since.
    pub since: Moment,
}

impl Caller {
    /// The mode of its sessions.
    pub const fn mode(&self) -> Mode {
        if self.livemode { Mode::Live } else { Mode::Test }
    }
}

/// The session that was looked up together with a key. `None`: its owner has no session with that
/// id.
pub type SessionFound = Result<Option<Session>, StoreError>;

/// Trust, signing keys and certificates. Each is the same `Arc` as long as nothing changes.
#[derive(Clone, Debug)]
pub struct InForce {
    /// The trusted issuers.
    pub trust: Arc<TrustSnapshot>,
    /// The keys that sign requests.
    pub gateway_keys: Arc<GatewayKeys>,
    /// The certificates, with keys that sign requests if a certificate identifies the verifier.
    pub certificates: Arc<Certificates>,
}

/// The rate limit of one session: `burst` requests immediately, and as many again in `window_ms`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct SessionRate {
    /// Rates with different names are independent.
    pub name: &'static str,
    /// Not 0.
    pub burst: u64,
    /// Milliseconds.
    pub window_ms: u64,
}
