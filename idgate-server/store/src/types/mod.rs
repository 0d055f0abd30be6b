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
pub use self::lists::{FetchedList, ListFetch, ListSource, Refreshed};
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

impl Caller {
    /// The mode of its sessions.
    pub const fn mode(&self) -> Mode {
        if self.livemode { Mode::Live } else { Mode::Test }
    }
}

/// The session that was looked up with a key; `None`: its owner has none of that id.
pub type SessionFound = Result<Option<Session>, StoreError>;

/// Trust, signing keys and certificates; each is the same `Arc` while nothing changed.
#[derive(Clone, Debug)]
pub struct InForce {
    /// The trusted issuers.
    pub trust: Arc<TrustSnapshot>,
    /// The keys that sign requests.
    pub gateway_keys: Arc<GatewayKeys>,
    /// The certificates and keys that sign them where a certificate names the verifier.
    pub certificates: Arc<Certificates>,
}

/// The rate of one session: `burst` requests at once, and as many again in `window_ms`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct SessionRate {
    /// Rates of different names do not know each other.
    pub name: &'static str,
    /// Not 0.
    pub burst: u64,
    /// Milliseconds.
    pub window_ms: u64,
}
