//! What a running sandbox knows: its issuers and who is listed, its tenant, what was answered, and what
//! arrived at its receiver.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use idgate::Egress;
use idgate_core::shell::webhook::SigningSecret;
use idgate_testkit::trusted_list::Kind;
use idgate_testkit::x509::Identity;
use serde_json::Value;

use super::issuers::Provider;
use super::kept::Kept;
use super::phones::{Made as MadeOffer, Phones};
use super::published::trusted_list;
use super::receiver::Deliveries;
use super::way::Way;
use idgate_base::clock::Clock;
use idgate_server::work::list_refresh;
use idgate_server::work::webhook_url::host_named;
use idgate_store::{FetchedList, HostRecord, OperatorStore, Refreshed, Review, SessionLine};

/// So many answers are remembered.
const OUTCOMES: usize = 100;
/// So many characters of each.
const SAID: usize = 2000;
/// So many sessions are shown.
const SESSIONS: usize = 30;

/// The kinds of trusted lists, and where they are.
pub(super) const LISTS: [(Kind, &str); 2] =
    [(Kind::Pid, "/lists/pid.jwt"), (Kind::Mdl, "/lists/mdl.jwt")];

/// A sandbox that runs.
pub(super) struct State {
    pub(super) clock: Arc<dyn Clock>,
    pub(super) providers: [Provider; 2],
    pub(super) list_signer: Identity,
    /// The certificate behind its https.
    pub(super) authority: Identity,
    /// The one behind its https for phones of the network.
    pub(super) phone_authority: Option<Identity>,
    /// The issuers for phones.
    pub(super) phones: Arc<Phones>,
    /// The offer that was last made on the page.
    pub(super) shown_offer: Mutex<Option<MadeOffer>>,
    /// Where the gateway is reached on this machine, and where its links lead.
    pub(super) gateway: String,
    pub(super) base_url: String,
    /// Where the page is.
    pub(super) page: String,
    /// The https that serves lists on this machine.
    pub(super) https: String,
    /// The names of profiles that sessions may have.
    pub(super) profiles: Vec<&'static str>,
    pub(super) way: Way,
    pub(super) egress: Arc<Egress>,
    pub(super) secret: SigningSecret,
    pub(super) operator: Arc<Mutex<Box<OperatorStore>>>,
    pub(super) kept: Mutex<(PathBuf, Kept)>,
    pub(super) lists: Mutex<Lists>,
    pub(super) deliveries: Mutex<Deliveries>,
    pub(super) made: Mutex<BTreeMap<String, Made>>,
    pub(super) outcomes: Mutex<VecDeque<Outcome>>,
}

/// Who stands in the lists, and the lists as they are published.
#[derive(Clone, Debug, Default)]
pub(super) struct Lists {
    pub(super) listed: [bool; 2],
    pub(super) number: u64,
    pub(super) tokens: [String; 2],
}

/// A session that was made on the page.
#[derive(Clone, Debug)]
pub(super) struct Made {
    pub(super) link: String,
    /// The page for the person.
    pub(super) page_url: Option<String>,
}

/// What came of an answer.
#[derive(Clone, Debug)]
pub(super) struct Outcome {
    /// The session; empty: another gateway's.
    pub(super) session_id: String,
    /// What was done, by whose wallet.
    pub(super) deed: String,
    /// What the gateway said, or why nothing was posted.
    pub(super) said: String,
    /// The session as its tenant then read it.
    pub(super) session: Value,
}

impl State {
    pub(super) fn now_ms(&self) -> u64 {
        self.clock.now().0
    }

    /// Signs both lists anew, with the next number.
    ///
    /// # Errors
    /// The number cannot be kept.
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

    /// Lets a provider stand in the lists or not, and the gateway fetch them; what came of it.
    ///
    /// # Errors
    /// There is no such provider, or the list cannot be fetched or kept.
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

    /// Fetches the lists for the gateway, as `idgate trust refresh` does.
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
                    Refreshed::Refused(why) | Refreshed::Rollback(why) => return Err(why),
                })
            });
            told.push(taken.await?);
        }
        Ok(told.join("; "))
    }

    /// Does something with the operator's side of the store, off the threads of requests.
    ///
    /// # Errors
    /// As what is done.
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

    /// The hosts of webhooks, reviewed or not.
    ///
    /// # Errors
    /// The store failed.
    pub(super) async fn webhook_hosts(self: &Arc<Self>) -> Result<Vec<HostRecord>, String> {
        self.operate(|operator| operator.webhook_hosts().map_err(|why| why.to_string())).await
    }

    /// Lets a host be notified, and sends what waits for it.
    ///
    /// # Errors
    /// `host` is not a host, or the store failed.
    pub(super) async fn approve_host(self: &Arc<Self>, host: &str) -> Result<String, String> {
        let host = host_named(host).ok_or("that is not the name of a host")?;
        let (now, said) = (self.clock.now(), format!("{host} is approved"));
        let approve = move |operator: &mut OperatorStore| {
            let approved = operator.review_webhook_host(&host, Review::Approve, now);
            approved.map_err(|why| why.to_string())
        };
        self.operate(approve).await?;
        Ok(said)
    }

    /// Makes a session as the sandbox's tenant.
    ///
    /// # Errors
    /// The gateway refuses it.
    pub(super) async fn create_session(&self, request: &Value) -> Result<String, String> {
        let created = self.tenant("POST", "/v1/sessions", Some(request)).await?;
        let text = |member: &str| created.get(member).and_then(Value::as_str).map(String::from);
        let id = text("session_id").ok_or_else(|| created.to_string())?;
        let link = text("qr_code_url").unwrap_or_default();
        let made = Made { link, page_url: text("page_url") };
        let mut all = lock(&self.made);
        if all.len() >= OUTCOMES {
            all.clear();
        }
        all.insert(id.clone(), made);
        Ok(id)
    }

    /// What the gateway answers its tenant.
    ///
    /// # Errors
    /// It does not answer.
    pub(super) async fn tenant(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, String> {
        let (url, key) = (format!("{}{path}", self.gateway), lock(&self.kept).1.api_key.clone());
        Ok(self.way.tenant(method, &url, &key, body).await?.json())
    }

    /// The link of a session, whoever made it.
    ///
    /// # Errors
    /// It is not open any more, or a browser has its page.
    pub(super) async fn link_of(&self, session_id: &str) -> Result<String, String> {
        if let Some(made) = lock(&self.made).get(session_id) {
            return Ok(made.link.clone());
        }
        if !session_id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            return Err("there is no such session".into());
        }
        let url = format!("{}/v1/sessions/{session_id}/open?scheme=openid4vp", self.gateway);
        let reply = self.way.head(&url).await?;
        reply.location.ok_or_else(|| {
            "the session is over, or its page is open in a browser and shows a code that turns; scan or \
             copy the link there"
                .into()
        })
    }

    pub(super) fn remember(&self, mut outcome: Outcome) {
        outcome.said = shortened(outcome.said);
        let mut outcomes = lock(&self.outcomes);
        outcomes.truncate(OUTCOMES.saturating_sub(1));
        outcomes.push_front(outcome);
    }
}

/// Whoever answers may say very much.
fn shortened(mut said: String) -> String {
    if let Some((end, _)) = said.char_indices().nth(SAID) {
        said.truncate(end);
        said.push('…');
        said.shrink_to_fit();
    }
    said
}

/// A panic elsewhere leaves everything whole: each change is one assignment.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_reply_the_beginning_is_kept() {
        let long = "é".repeat(SAID);
        assert_eq!(shortened(long.clone()), long);
        let kept = shortened(format!("{long}{}", "x".repeat(1 << 20)));
        assert_eq!(kept, format!("{long}…"));
    }
}
