//! The use cases: load, let the core decide, commit, and only then answer. No HTTP, no SQL.

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

/// Half of the lease that a hold has: its end is for what the verdict takes to be stored.
const VERIFICATION_TIME: Duration = Duration::from_millis(VERIFYING_LEASE_MS / 2);

/// The gateway without its edge.
pub struct App {
    store: Arc<Store>,
    clock: Arc<dyn Clock>,
    provider: CryptoProvider,
    base_url: String,
    /// The profile of new sessions.
    pub(crate) request_mode: RequestMode,
    /// The profiles that sessions may have.
    pub(crate) profiles: SpokenProfiles,
    /// Whether pages may be from anywhere, as in development.
    pub(crate) any_origin: bool,
    /// `None`: sessions have no pages.
    pub(crate) pages: Option<PageRules>,
    /// Wallet schemes of links in addition to those that every gateway has.
    pub(crate) link_schemes: Arc<[FurtherScheme]>,
    /// Asks status lists and CRLs.
    fetcher: Arc<Fetcher>,
    /// The time for the fetches of one answer.
    allowance: Allowance,
    /// Made for the trust and the keys in force; remade when the store has others.
    verifier: RwLock<Option<identity::Held>>,
    streams: Arc<Streams>,
    /// What the log was told of registration certificates.
    notices: registration::Notices,
    /// The webhooks that the operator allows.
    pub(crate) webhook_rules: WebhookRules,
    /// The places for tests of webhooks.
    webhook_tests: Arc<Semaphore>,
    /// For a verification until its verdict is handed to the store.
    pub(crate) verification_time: Duration,
    /// Follows sessions; `None` in every gateway but the sandbox's.
    pub(crate) observer: Option<Arc<dyn Observer>>,
}

/// Whether a wallet is admitted to a session, once it proved that it may ask: it may come too often.
pub type Admission = Pin<Box<dyn Future<Output = Result<(), AppError>> + Send>>;

/// Why a use case gave no answer.
#[derive(Debug)]
#[non_exhaustive]
pub enum AppError {
    /// The tenant must mend the request.
    Request(RequestError),
    /// The wallet's answer changes nothing.
    Response(NotAnAnswer),
    /// The cursor was not given for this list and caller, or is too old.
    InvalidCursor,
    /// The wallet must mend what it asks for.
    RequestObject(NotFetched),
    /// There is no such object for this caller, or no session that can be opened.
    NotFound,
    /// The caller asks for a scope that its own key lacks.
    LacksScope(&'static str),
    /// The caller asks for a key that can do more than its own; the text says how.
    BeyondKey(&'static str),
    /// The client has as many live keys as it may.
    TooManyKeys,
    /// The client has as many open sessions as it may.
    TooManySessions,
    /// The caller's key was rotated or revoked, or expired, while the request was under way.
    KeyGone,
    /// The wallet comes too often.
    TooMany(Excess),
    /// Too much to do: try again.
    Busy,
    /// The gateway cannot do it for now, by no fault of who asks: try again. The text is for the
    /// log, never for the caller.
    Unavailable(String),
    /// The operator must act; the text is for the log, never for the caller.
    Fault(String),
}

impl App {
    /// An application over these parts, with the settings that a gateway has by default. `base_url` is where
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

    /// Whether anything but drafts is spoken: only then do sessions name their profile.
    pub fn names_profiles(&self) -> bool {
        self.profiles.are_newer()
    }

    /// What the gateway keeps.
    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// The clock that it decides and waits by.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// The time.
    pub fn now(&self) -> UnixMillis {
        self.clock.now()
    }

    /// Refuses to decide while the clock is in doubt: dates and expiry would be anybody's guess.
    fn check_clock(&self) -> Result<(), AppError> {
        match self.clock.is_in_doubt() {
            false => Ok(()),
            true => Err(AppError::Unavailable("the system clock was set a moment ago".into())),
        }
    }

    /// The owner of a good key: one indexed read, nothing cached, so that a revocation counts at
    /// once.
    ///
    /// # Errors
    /// The store failed.
    pub async fn caller(&self, key: &ApiKey) -> Result<Option<Caller>, AppError> {
        Ok(self.store.authenticate(&key.digest(), self.now()).await?)
    }

    /// The same, and the caller's session of that id, for [`App::view_session`].
    ///
    /// # Errors
    /// The store cannot be asked. That the session cannot be read is an error beside the caller.
    pub async fn caller_for(
        &self,
        key: &ApiKey,
        session: &SessionId,
    ) -> Result<Option<(Caller, Result<Option<Session>, AppError>)>, AppError> {
        let found = self.store.authenticate_for(&key.digest(), session, self.now()).await?;
        Ok(found.map(|(caller, session)| (caller, session.map_err(AppError::from))))
    }

    /// The id of a good admin token, as immediate as [`App::caller`].
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
    fn the_verifier_is_remade_when_the_trust_changed_and_only_then() {
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
