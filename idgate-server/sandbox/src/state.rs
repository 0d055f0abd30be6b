//! The state of a running sandbox: its issuers and lists, its tenant, its memory of sessions, and
//! its webhook deliveries.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use idgate::Egress;
use idgate_core::UnixMillis;
use idgate_core::shell::webhook::SigningSecret;
use idgate_testkit::trusted_list::Kind;
use idgate_testkit::x509::Identity;
use serde_json::Value;

use super::issuers::Provider;
use super::kept::Kept;
use super::memory::Memory;
use super::phones::{Made as MadeOffer, Phones};
use super::published::trusted_list;
use super::receiver::Deliveries;
use super::way::{Reply, Way};
use crate::limits::{MAX_NOTICE_CHARS, NOTICE_MS};
use idgate_base::clock::Clock;
use idgate_server::work::list_refresh;
use idgate_server::work::webhook_url::host_named;
use idgate_store::{FetchedList, HostRecord, OperatorStore, Refreshed, Review, SessionLine};

/// Number of sessions shown.
const SESSIONS: usize = 30;

/// The kinds of trusted lists, and their paths.
pub(super) const LISTS: [(Kind, &str); 2] =
    [(Kind::Pid, "/lists/pid.jwt"), (Kind::Mdl, "/lists/mdl.jwt")];

/// A running sandbox.
pub(super) struct State {
    pub(super) clock: Arc<dyn Clock>,
    pub(super) providers: [Provider; 2],
    pub(super) list_signer: Identity,
    /// The CA of its https on this machine.
    pub(super) authority: Identity,
    /// The CA of its https for phones on the network.
    pub(super) phone_authority: Option<Identity>,
    /// The issuers for phones.
    pub(super) phones: Arc<Phones>,
    /// The offer last made on the page.
    pub(super) shown_offer: Mutex<Option<MadeOffer>>,
    /// The gateway's address on this machine, and the base of its links.
    pub(super) gateway: String,
    pub(super) base_url: String,
    /// The address of the page.
    pub(super) page: String,
    /// The https address that serves lists on this machine.
    pub(super) https: String,
    /// The profiles that sessions may name.
    pub(super) profiles: Vec<&'static str>,
    pub(super) way: Way,
    pub(super) egress: Arc<Egress>,
    pub(super) secret: SigningSecret,
    pub(super) operator: Arc<Mutex<Box<OperatorStore>>>,
    pub(super) kept: Mutex<(PathBuf, Kept)>,
    pub(super) lists: Mutex<Lists>,
    pub(super) deliveries: Mutex<Deliveries>,
    pub(super) memory: Arc<Memory>,
    pub(super) notice: Mutex<Option<Notice>>,
}

/// Which providers are on the lists, and the lists as published.
#[derive(Clone, Debug, Default)]
pub(super) struct Lists {
    pub(super) listed: [bool; 2],
    pub(super) number: u64,
    pub(super) tokens: [String; 2],
}

/// The outcome of a button.
#[derive(Clone, Debug)]
pub(super) struct Notice {
    at: UnixMillis,
    /// The path of the page that shows it, without a tab.
    path: String,
    pub(super) said: String,
    /// Whether the action was refused.
    pub(super) is_refusal: bool,
}

impl State {
    pub(super) fn now_ms(&self) -> u64 {
        self.clock.now().0
    }

    /// Signs both lists again, with the next number.
    ///
    /// # Errors
    /// The number cannot be stored.
    pub(super) fn publish(&self, listed: [bool; 2]) -> Result<(), String> {
        let number = {
            let mut kept = lock(&self.kept);
            kept.1.sequence = kept.1.sequence.saturating_add(1);
            kept.1.write(&kept.0)?;
            kept.1.sequence
        };
        let now_ms = self.now_ms();
        let tokens = LISTS.map(|(kind, _)| {
            let providers = self.providers.iter().zip(listed);
            let providers = providers.filter(|(_, listed)| *listed).map(|(provider, _)| provider);
            trusted_list(kind, providers, number, &self.list_signer, now_ms)
        });
        *lock(&self.lists) = Lists { listed, number, tokens };
        Ok(())
    }

    /// Adds a provider to the lists or removes it, and makes the gateway fetch them; returns a
    /// message.
    ///
    /// # Errors
    /// There is no such provider, or the list cannot be fetched or stored.
    pub(super) async fn set_listed(
        self: &Arc<Self>,
        provider: &str,
        listed: bool,
    ) -> Result<String, String> {
        let mut all = lock(&self.lists).listed;
        let at = self.providers.iter().position(|one| one.is.key == provider);
        let place = at.and_then(|at| all.get_mut(at));
        *place.ok_or_else(|| format!("there is no provider {provider}"))? = listed;
        self.publish(all)?;
        self.refresh().await
    }

    /// Makes the gateway fetch the lists, as `idgate trust refresh` does.
    ///
    /// # Errors
    /// A list cannot be fetched, or was refused.
    pub(super) async fn refresh(self: &Arc<Self>) -> Result<String, String> {
        let mut told = Vec::new();
        for (_, path) in LISTS {
            let (url, now) = (format!("{}{path}", self.https), self.clock.now());
            let egress = self.egress.clone();
            let taken = self.operate(move |operator| {
                let token = list_refresh::fetch_once(&egress, &url)?;
                let fetched = FetchedList { url: url.clone(), token, accept_rollback: false };
                let taken = operator.refresh_list(&fetched, now);
                let taken = taken.map_err(|error| error.to_string())?;
                Ok(match taken {
                    Refreshed::New { to, providers, .. } => {
                        format!("{url} is number {to}, with {providers} providers")
                    }
                    Refreshed::Same | Refreshed::Unwanted => format!("{url} is in force already"),
                    Refreshed::Refused(why)
                    | Refreshed::Rollback(why)
                    | Refreshed::Unreachable(why) => return Err(why),
                })
            });
            told.push(taken.await?);
        }
        Ok(told.join("; "))
    }

    /// Runs an operator action on the store, off the request threads.
    ///
    /// # Errors
    /// Those of the action.
    pub(super) async fn operate<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&mut OperatorStore) -> Result<T, String> + Send + 'static,
    ) -> Result<T, String> {
        let operator = self.operator.clone();
        let done = tokio::task::spawn_blocking(move || work(&mut lock(&operator)));
        done.await.map_err(|_| "the sandbox's own work failed".to_owned())?
    }

    /// The newest sessions of the gateway.
    ///
    /// # Errors
    /// The store failed.
    pub(super) async fn sessions(self: &Arc<Self>) -> Result<Vec<SessionLine>, String> {
        self.operate(|operator| operator.list_sessions(SESSIONS).map_err(|why| why.to_string()))
            .await
    }

    /// The webhook hosts, reviewed or not.
    ///
    /// # Errors
    /// The store failed.
    pub(super) async fn webhook_hosts(self: &Arc<Self>) -> Result<Vec<HostRecord>, String> {
        self.operate(|operator| operator.webhook_hosts().map_err(|why| why.to_string())).await
    }

    /// Approves a webhook host, and sends the notifications that wait for it.
    ///
    /// # Errors
    /// `host` is not a host name, or the store failed.
    pub(super) async fn approve_host(self: &Arc<Self>, host: &str) -> Result<String, String> {
        let host = host_named(host).ok_or("that is not a host name")?;
        let (now, said) = (self.clock.now(), format!("{host} is approved"));
        let approve = move |operator: &mut OperatorStore| {
            let approved = operator.review_webhook_host(&host, Review::Approve, now);
            approved.map_err(|why| why.to_string())
        };
        self.operate(approve).await?;
        Ok(said)
    }

    /// Creates a session as the sandbox's tenant; returns its id.
    ///
    /// # Errors
    /// The gateway refuses it.
    pub(super) async fn create_session(&self, request: &Value) -> Result<String, String> {
        let created = self.tenant("POST", "/v1/sessions", Some(request)).await?;
        let id = created.get("session_id").and_then(Value::as_str).map(String::from);
        let why = || created.get("message").and_then(Value::as_str).map(String::from);
        id.ok_or_else(|| why().unwrap_or_else(|| created.to_string()))
    }

    /// Reads a session as its tenant, with the `response_code` of its browser. The console's memory
    /// keeps a session with claims. Null if the session is not the sandbox's own.
    pub(super) async fn read_session(&self, id: &str, code: Option<&str>) -> Value {
        let query = code.map_or(String::new(), |code| format!("?response_code={code}"));
        let path = format!("/v1/sessions/{id}{query}");
        let Ok(reply) = self.tenant_reply("GET", &path, None).await else { return Value::Null };
        let session = reply.json();
        if session.get("claims").is_some() {
            self.memory.read(id, reply.text());
        }
        session
    }

    /// The gateway's response to its tenant.
    ///
    /// # Errors
    /// The gateway does not answer.
    pub(super) async fn tenant(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, String> {
        Ok(self.tenant_reply(method, path, body).await?.json())
    }

    async fn tenant_reply(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Reply, String> {
        let (url, key) = (format!("{}{path}", self.gateway), lock(&self.kept).1.api_key.clone());
        self.way.tenant(method, &url, &key, body).await
    }

    /// The link of a session, of any client.
    ///
    /// # Errors
    /// The session is no longer open, or a browser has its page.
    pub(super) async fn link_of(&self, session_id: &str) -> Result<String, String> {
        if !is_session_id(session_id) {
            return Err("there is no such session".into());
        }
        let url = format!("{}/v1/sessions/{session_id}/open?scheme=openid4vp", self.gateway);
        let reply = self.way.head(&url).await?;
        reply.location.ok_or_else(|| {
            "the session is over, or its page is open in a browser and shows a code that changes; \
             scan or copy the link there"
                .into()
        })
    }

    /// Shows the outcome of a button on the page at that path.
    pub(super) fn note(&self, path: &str, done: Result<String, String>) {
        let is_refusal = done.is_err();
        let said = done.unwrap_or_else(|why| why).chars().take(MAX_NOTICE_CHARS).collect();
        *lock(&self.notice) =
            Some(Notice { at: self.clock.now(), path: path.to_owned(), said, is_refusal });
    }

    /// The outcome of the last button, if it is recent and for that page.
    pub(super) fn notice(&self, path: &str) -> Option<Notice> {
        let now = self.clock.now();
        let is_shown = |it: &Notice| it.path == path && now.since(it.at) < NOTICE_MS;
        lock(&self.notice).clone().filter(is_shown)
    }
}

/// Whether a text can be a session id.
pub(super) fn is_session_id(text: &str) -> bool {
    text.starts_with("ses_")
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// A panic elsewhere cannot leave partial data: each change is one assignment.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
