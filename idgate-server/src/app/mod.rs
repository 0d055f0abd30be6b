//! The use cases: load, let the core decide, commit, then answer. This module contains no HTTP and
//! no SQL.

mod api_keys;
mod audit;
mod browsers;
mod explanation;
mod handle;
mod idempotency;
mod identity;
mod links;
mod metrics;
mod observer;
mod page_browser;
mod page_cancel;
mod page_dialogue;
mod page_handover;
mod pages;
mod registration;
mod request_body;
mod request_object;
mod sessions;
mod status;
mod stream;
mod wallet;
mod webhooks;

use std::pin::Pin;
use std::sync::{Arc, RwLock};
use std::time::Duration;

use idgate::{Allowance, Fetcher};
use idgate_core::error::{ConfigError, CreateError, NotAnAnswer, NotFetched, RequestError};
use idgate_core::limits::VERIFYING_LEASE_MS;
use idgate_core::{CryptoProvider, EntropyUnavailable, Session, SessionId, UnixMillis};
use tokio::sync::Semaphore;

pub use self::api_keys::ApiKeySecret;
pub use self::handle::Handle;
pub use self::identity::Published;
pub use self::links::LinkScheme;
pub use self::observer::Observer;
pub use self::page_browser::{Holder, holder_of};
pub use self::pages::{PageKey, PageView, Phase, ShownByPage, Standing, Visit, WayBack};
pub use self::sessions::{CreatedSession, SessionView};
use self::stream::Streams;
pub use self::stream::{StatusStream, StreamEnd};
pub use self::webhooks::{Tested, WebhookRules};
use crate::config::{FurtherScheme, PageRules, RequestMode, SpokenProfiles};
use crate::limits::WEBHOOK_TESTS;
use idgate_base::admin_token::AdminToken;
use idgate_base::api_key::ApiKey;
use idgate_base::clock::Clock;
use idgate_base::rate_limit::Excess;
use idgate_store::{Caller, PageError, Store, StoreError};

/// Half of a hold's lease. The other half is for storing the verdict.
const VERIFICATION_TIME: Duration = Duration::from_millis(VERIFYING_LEASE_MS / 2);

/// The gateway without its HTTP layer.
pub struct App {
    store: Arc<Store>,
    clock: Arc<dyn Clock>,
    provider: CryptoProvider,
    base_url: String,
    /// The request mode of new sessions.
    pub(crate) request_mode: RequestMode,
    /// The enabled profiles.
    pub(crate) profiles: SpokenProfiles,
    /// Whether pages of any origin are allowed, as in development.
    pub(crate) any_origin: bool,
    /// `None`: sessions have no pages.
    pub(crate) pages: Option<PageRules>,
    /// Wallet schemes of links in addition to those that every gateway has.
    pub(crate) link_schemes: Arc<[FurtherScheme]>,
    /// Fetches status lists and CRLs.
    fetcher: Arc<Fetcher>,
    /// The time for all fetches of one answer.
    allowance: Allowance,
    /// Built for the trust and the keys in force; rebuilt when these change in the store.
    verifier: RwLock<Option<identity::Held>>,
    streams: Arc<Streams>,
    /// Limits how often notices about registration certificates are logged.
    notices: registration::Notices,
    /// The webhook URLs that the operator allows.
    pub(crate) webhook_rules: WebhookRules,
    /// Limits concurrent webhook tests.
    webhook_tests: Arc<Semaphore>,
    /// Time for a verification until its verdict is handed to the store.
    pub(crate) verification_time: Duration,
    /// Observes sessions; `None` in every gateway except the sandbox's.
    pub(crate) observer: Option<Arc<dyn Observer>>,
}

/// Admits a wallet to a session after it proved that it may ask; refuses one that comes too often.
pub type Admission = Pin<Box<dyn Future<Output = Result<(), AppError>> + Send>>;

/// Why a use case failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum AppError {
    /// The tenant must correct the request.
    Request(RequestError),
    /// The wallet's answer is refused and changes nothing.
    Response(NotAnAnswer),
    /// The cursor was not issued for this list and caller, or is too old.
    InvalidCursor,
    /// The wallet must correct what it asks for.
    RequestObject(NotFetched),
    /// The caller has no such object, or the session cannot be opened.
    NotFound,
    /// The caller asks for a scope that its own key lacks.
    LacksScope(&'static str),
    /// The caller asks for a key with more rights than its own; the text names the difference.
    BeyondKey(&'static str),
    /// The client has reached its limit of live keys.
    TooManyKeys,
    /// The client has reached its limit of open sessions.
    TooManySessions,
    /// The caller's key was rotated or revoked, or expired, during the request.
    KeyGone,
    /// The wallet exceeds a rate limit.
    TooMany(Excess),
    /// Memory was out of date, and nothing changed: the request is decided again by the database.
    OutOfDate,
    /// Too much load: try again.
    Busy,
    /// Temporarily impossible, not the caller's fault: try again. The text is for the log, never
    /// for the caller.
    Unavailable(String),
    /// The operator must act; the text is for the log, never for the caller.
    Fault(String),
}

impl App {
    /// An application over these parts, with a gateway's default settings. `base_url` is where
    /// wallets reach the gateway.
    pub fn new(
        store: Arc<Store>,
        clock: Arc<dyn Clock>,
        provider: CryptoProvider,
        base_url: impl Into<String>,
        fetcher: Arc<Fetcher>,
    ) -> Self {
        let verifier = RwLock::new(None);
        Self {
            store,
            clock,
            provider,
            base_url: base_url.into(),
            request_mode: RequestMode::Inline,
            profiles: SpokenProfiles::default(),
            any_origin: false,
            pages: None,
            link_schemes: Arc::from([]),
            fetcher,
            allowance: Allowance::of_one_answer(),
            verifier,
            webhook_rules: WebhookRules::default(),
            webhook_tests: Arc::new(Semaphore::new(WEBHOOK_TESTS)),
            streams: Arc::default(),
            notices: registration::Notices::default(),
            verification_time: VERIFICATION_TIME,
            observer: None,
        }
    }

    /// Whether profiles other than `draft` are enabled. Only then do sessions name their profile.
    pub fn names_profiles(&self) -> bool {
        self.profiles.are_newer()
    }

    /// The gateway's store.
    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// The clock for decisions and waits.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// The current time.
    pub fn now(&self) -> UnixMillis {
        self.clock.now()
    }

    /// Refuses to decide while the clock is in doubt: dates and expiry would be guesses.
    fn check_clock(&self) -> Result<(), AppError> {
        match self.clock.is_in_doubt() {
            false => Ok(()),
            true => Err(AppError::Unavailable("the system clock was set a moment ago".into())),
        }
    }

    /// The owner of a valid key. One indexed read, never cached, so that a revocation counts
    /// immediately.
    ///
    /// # Errors
    /// The store failed.
    pub async fn caller(&self, key: &ApiKey) -> Result<Option<Caller>, AppError> {
        Ok(self.store.authenticate(&key.digest(), self.now()).await?)
    }

    /// Like [`App::caller`], with the caller's session of this id for [`App::view_session`].
    ///
    /// # Errors
    /// The store failed. If only the session cannot be read, that error is returned next to the
    /// caller.
    pub async fn caller_for(
        &self,
        key: &ApiKey,
        session: &SessionId,
    ) -> Result<Option<(Caller, Result<Option<Session>, AppError>)>, AppError> {
        let found = self.store.authenticate_for(&key.digest(), session, self.now()).await?;
        Ok(found.map(|(caller, session)| (caller, session.map_err(AppError::from))))
    }

    /// The id of a valid admin token, never cached, as in [`App::caller`].
    ///
    /// # Errors
    /// The store failed.
    pub async fn admin(&self, token: &AdminToken) -> Result<Option<String>, AppError> {
        Ok(self.store.admin(&token.digest()).await?)
    }
}

impl From<RequestError> for AppError {
    fn from(error: RequestError) -> Self {
        Self::Request(error)
    }
}

impl From<EntropyUnavailable> for AppError {
    fn from(error: EntropyUnavailable) -> Self {
        Self::Unavailable(error.to_string())
    }
}

impl From<StoreError> for AppError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Busy => Self::Busy,
            StoreError::Full => Self::Unavailable(error.to_string()),
            StoreError::Unavailable(text) => Self::Unavailable(text),
            StoreError::Damaged(text) | StoreError::Failed(text) => Self::Fault(text),
        }
    }
}

impl From<PageError> for AppError {
    fn from(error: PageError) -> Self {
        match error {
            PageError::Cursor => Self::InvalidCursor,
            PageError::Store(error) => error.into(),
        }
    }
}

impl From<ConfigError> for AppError {
    fn from(error: ConfigError) -> Self {
        Self::Fault(error.to_string())
    }
}

impl From<CreateError> for AppError {
    fn from(error: CreateError) -> Self {
        match error {
            CreateError::Request(error) => error.into(),
            CreateError::Entropy(error) => error.into(),
            other => Self::Fault(other.to_string()),
        }
    }
}

impl From<NotAnAnswer> for AppError {
    fn from(error: NotAnAnswer) -> Self {
        match error {
            NotAnAnswer::Entropy(error) => error.into(),
            other => Self::Response(other),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use idgate_core::crypto::aws_lc_rs::PROVIDER;

    use super::*;
    use idgate_base::clock::VirtualClock;
    use idgate_store::fixtures::{ISSUER_JWK, TemporaryStore};
    use idgate_store::wait::Wait as _;

    #[test]
    fn the_verifier_is_rebuilt_only_when_the_trust_changed() {
        let store = TemporaryStore::default();
        let clock = Arc::new(VirtualClock::default());
        let fetcher = Fetcher::reaching(&[]);
        let app = App::new(store.shared(), clock, PROVIDER, "https://gateway.example", fetcher);
        let first = app.verifier().wait().unwrap();
        assert!(Arc::ptr_eq(&first, &app.verifier().wait().unwrap()));
        store.trust_key("another", ISSUER_JWK);
        let second = app.verifier().wait().unwrap();
        assert!(!Arc::ptr_eq(&first, &second));
        assert!(Arc::ptr_eq(second.trust().snapshot(), &store.trust().wait().unwrap()));
        assert!(Arc::ptr_eq(&second, &app.verifier().wait().unwrap()));
    }
}
