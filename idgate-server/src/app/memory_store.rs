//! A store in memory that can also be out of sorts.

mod audit;
mod idempotency;
mod metrics;
mod webhooks;

use std::collections::HashMap;
use std::future::pending;
use std::sync::{Arc, Mutex};

use idgate_core::crypto::{Curve, PublicKey};
use idgate_core::ids::{IssuerId, SessionId, TenantId};
use idgate_core::session::{Effect, Session, Transition};
use idgate_core::time::UnixMillis;
use idgate_core::{TrustEntry, TrustSnapshot, TrustedKey};

use crate::admin_token::AdminToken;
use crate::api_key::ApiKey;
use crate::entropy::OsEntropy;
use crate::gateway_key::{GatewayKey, GatewayKeys};
use crate::store::{
    AdminTokenStore, Answered, ApiKeyPage, ApiKeyRecord, ApiKeyStore, Caller, Changes, Committed,
    EventPage, EventStore, GatewayKeyStore, KeyMade, KeyRevoked, KeyRotated, KeyValue, Made,
    NewApiKey, PageError, Read, StatusEvent, Store, StoreError, Watch, Write,
};
use crate::telemetry::Telemetry;

/// The base point of P-256: a key on the curve.
const X: [u8; 32] = [
    0x6b, 0x17, 0xd1, 0xf2, 0xe1, 0x2c, 0x42, 0x47, 0xf8, 0xbc, 0xe6, 0xe5, 0x63, 0xa4, 0x40, 0xf2,
    0x77, 0x03, 0x7d, 0x81, 0x2d, 0xeb, 0x33, 0xa0, 0xf4, 0xa1, 0x39, 0x45, 0xd8, 0x98, 0xc2, 0x96,
];
const Y: [u8; 32] = [
    0x4f, 0xe3, 0x42, 0xe2, 0xfe, 0x1a, 0x7f, 0x9b, 0x8e, 0xe7, 0xeb, 0x4a, 0x7c, 0x0f, 0x9e, 0x16,
    0x2b, 0xce, 0x33, 0x57, 0x6b, 0x31, 0x5e, 0xce, 0xcb, 0xb6, 0x40, 0x68, 0x37, 0xbf, 0x51, 0xf5,
];

/// How the store behaves.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum Mood {
    #[default]
    Well,
    /// Writes find a full queue.
    Busy,
    /// The database is broken.
    Broken,
    /// Writes never end.
    Stuck,
    /// Reads of sessions panic.
    Panicking,
    /// The next write panics, and all is well again.
    Startled,
}

pub(crate) struct MemoryStore {
    inner: Mutex<Inner>,
    telemetry: Arc<Telemetry>,
    trust: Mutex<Arc<TrustSnapshot>>,
    gateway_keys: Arc<GatewayKeys>,
    changes: Arc<Changes>,
}

#[derive(Default)]
struct Inner {
    mood: Mood,
    callers: HashMap<[u8; 32], Caller>,
    admins: HashMap<[u8; 32], String>,
    answers: HashMap<[u8; 32], Answered>,
    sessions: HashMap<String, Session>,
    events: HashMap<String, Vec<StatusEvent>>,
}

/// Trusts one issuer, `issuer`, whose legacy form asks for `given_name`.
impl Default for MemoryStore {
    fn default() -> Self {
        let active = Arc::new(GatewayKey::generate().unwrap().0);
        let gateway_keys = Arc::new(GatewayKeys { version: 1, active, retired: Vec::new() });
        let trust = Mutex::new(one_issuer());
        let telemetry = Arc::new(Telemetry::new().unwrap());
        Self { inner: Mutex::default(), telemetry, trust, gateway_keys, changes: Arc::default() }
    }
}

impl MemoryStore {
    /// Replaces the trust snapshot by an equal one.
    pub(crate) fn reload_trust(&self) {
        *self.trust.lock().unwrap() = one_issuer();
    }

    /// Puts other trust in force.
    pub(crate) fn set_trust(&self, trust: TrustSnapshot) {
        *self.trust.lock().unwrap() = Arc::new(trust);
    }

    pub(crate) fn set_mood(&self, mood: Mood) {
        self.inner.lock().unwrap().mood = mood;
    }

    /// A new key of a live client with these scopes, as an `Authorization` header line.
    pub(crate) fn bearer(&self, scopes: Option<&[&str]>) -> String {
        self.bearer_of("cli_test", true, scopes)
    }

    /// The same of a test client.
    pub(crate) fn test_bearer(&self) -> String {
        self.bearer_of("cli_sandbox", false, None)
    }

    fn bearer_of(&self, client: &str, livemode: bool, scopes: Option<&[&str]>) -> String {
        let key = ApiKey::generate(livemode, &mut OsEntropy).unwrap();
        let caller = Caller {
            client_id: TenantId::new(client),
            key_id: "key_test".into(),
            digest: key.digest(),
            livemode,
            scopes: scopes.map(|list| list.iter().map(|s| (*s).to_owned()).collect()),
        };
        self.inner.lock().unwrap().callers.insert(key.digest(), caller);
        format!("Authorization: Bearer {}\r\n", key.expose())
    }

    /// A new admin token, as an `Authorization` header line.
    pub(crate) fn admin_bearer(&self) -> String {
        let token = AdminToken::generate(&mut OsEntropy).unwrap();
        self.inner.lock().unwrap().admins.insert(token.digest(), "adt_test".into());
        format!("Authorization: Bearer {}\r\n", token.expose())
    }

    /// Every key is gone, as if another process had revoked it.
    pub(crate) fn revoke_keys(&self) {
        self.inner.lock().unwrap().callers.clear();
    }

    pub(crate) fn sessions(&self) -> Vec<Session> {
        self.inner.lock().unwrap().sessions.values().cloned().collect()
    }

    fn write<T: Send + 'static>(&self, work: impl FnOnce(&mut Inner) -> T) -> Write<'_, T> {
        let mut inner = self.inner.lock().unwrap();
        match inner.mood {
            Mood::Busy => Box::pin(async { Err(StoreError::Busy) }),
            Mood::Broken => Box::pin(async { Err(StoreError::Failed("broken".into())) }),
            Mood::Stuck => Box::pin(pending()),
            Mood::Startled => {
                inner.mood = Mood::Well;
                drop(inner);
                panic!("on purpose");
            }
            Mood::Well | Mood::Panicking => {
                let done = work(&mut inner);
                Box::pin(async { Ok(done) })
            }
        }
    }

    fn read(&self, id: &SessionId) -> Read<'static, Option<Session>> {
        let inner = self.inner.lock().unwrap();
        let (mood, session) = (inner.mood, inner.sessions.get(id.as_str()).cloned());
        Box::pin(async move {
            match mood {
                Mood::Panicking => panic!("on purpose"),
                Mood::Broken => Err(StoreError::Failed("broken".into())),
                _ => Ok(session),
            }
        })
    }
}

impl GatewayKeyStore for MemoryStore {
    fn gateway_keys(&self) -> Read<'_, Arc<GatewayKeys>> {
        Box::pin(async { Ok(self.gateway_keys.clone()) })
    }
}

impl AdminTokenStore for MemoryStore {
    fn admin(&self, digest: &[u8; 32]) -> Read<'_, Option<String>> {
        let found = self.inner.lock().unwrap().admins.get(digest).cloned();
        Box::pin(async { Ok(found) })
    }
}

/// Keys work and stop; their records are the business of the real store.
impl ApiKeyStore for MemoryStore {
    fn api_keys(&self, _: &Caller, _: UnixMillis) -> Read<'_, Vec<ApiKeyRecord>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn api_key_page(
        &self,
        _: &Caller,
        _: Option<&str>,
        _: usize,
        _: UnixMillis,
    ) -> Read<'_, ApiKeyPage, PageError> {
        Box::pin(async { Ok(ApiKeyPage::default()) })
    }

    fn remove_ended_keys(&self, _: UnixMillis, _: usize) -> Write<'_, usize> {
        self.write(|_| 0)
    }

    fn create_api_key(&self, caller: &Caller, key: NewApiKey) -> Write<'_, KeyMade> {
        let made = Caller {
            key_id: key.record.id,
            digest: *key.value.digest(),
            scopes: key.record.scopes,
            client_id: caller.client_id.clone(),
            livemode: caller.livemode,
        };
        self.write(move |inner| {
            inner.callers.insert(*key.value.digest(), made);
            KeyMade::Yes
        })
    }

    fn revoke_api_key(&self, _: &Caller, id: &str, _: UnixMillis) -> Write<'_, KeyRevoked> {
        let id = id.to_owned();
        self.write(move |inner| {
            let before = inner.callers.len();
            inner.callers.retain(|_, caller| caller.key_id != id);
            if inner.callers.len() < before { KeyRevoked::Yes } else { KeyRevoked::NotFound }
        })
    }

    fn rotate_api_key(
        &self,
        _: &Caller,
        _: &str,
        _: KeyValue,
        _: UnixMillis,
    ) -> Write<'_, KeyRotated> {
        self.write(|_| KeyRotated::NotFound)
    }
}

impl Store for MemoryStore {
    fn authenticate(&self, digest: &[u8; 32], _: UnixMillis) -> Read<'_, Option<Caller>> {
        let found = self.inner.lock().unwrap().callers.get(digest).cloned();
        Box::pin(async { Ok(found) })
    }

    fn trust(&self) -> Read<'_, Arc<TrustSnapshot>> {
        let trust = self.trust.lock().unwrap().clone();
        Box::pin(async { Ok(trust) })
    }

    fn create_session(&self, _: &Caller, transition: Transition) -> Write<'_, Made> {
        self.write(|inner| {
            inner.note(&transition);
            let session = transition.session;
            inner.sessions.insert(session.id().as_str().to_owned(), session);
            Made::Yes
        })
    }

    fn commit(&self, transition: Transition, _: Option<u64>) -> Write<'_, Committed> {
        let id = transition.session.id().clone();
        let write = self.write(|inner| match inner.sessions.get_mut(id.as_str()) {
            Some(stored) if stored.revision() == transition.from => {
                *stored = transition.session.clone();
                inner.note(&transition);
                Committed::Yes
            }
            _ => Committed::LostRace,
        });
        self.changes.publish(&id);
        write
    }

    fn session(&self, id: &SessionId) -> Read<'_, Option<Session>> {
        self.read(id)
    }

    fn callers_session(
        &self,
        caller: &Caller,
        id: &SessionId,
        _: UnixMillis,
    ) -> Read<'_, Option<Session>> {
        let (session, caller) = (self.read(id), caller.client_id.clone());
        Box::pin(async move { Ok(session.await?.filter(|session| *session.tenant() == caller)) })
    }

    fn delete_session(&self, _: &Caller, id: &SessionId, _: UnixMillis) -> Write<'_, bool> {
        let write = self.write(|inner| inner.sessions.remove(id.as_str()).is_some());
        self.changes.publish(id);
        write
    }

    fn due_sessions(
        &self,
        now: UnixMillis,
        limit: usize,
    ) -> Read<'_, Vec<Result<Session, StoreError>>> {
        let inner = self.inner.lock().unwrap();
        if inner.mood == Mood::Panicking {
            drop(inner);
            panic!("on purpose");
        }
        let due = |session: &&Session| {
            session.expired(now).is_some() || session.lease_lost(now).is_some()
        };
        let due = inner.sessions.values().filter(due).take(limit).cloned().map(Ok).collect();
        Box::pin(async { Ok(due) })
    }

    fn abandoned_sessions(&self) -> Read<'_, Vec<Result<Session, StoreError>>> {
        let inner = self.inner.lock().unwrap();
        let abandoned = |session: &&Session| session.released(UnixMillis(0)).is_some();
        let abandoned = inner.sessions.values().filter(abandoned).cloned().map(Ok).collect();
        Box::pin(async { Ok(abandoned) })
    }

    fn purge_results(&self, _: UnixMillis) -> Write<'_, usize> {
        self.write(|_| 0)
    }

    fn remove_settled(&self, before: UnixMillis, _: usize) -> Write<'_, usize> {
        self.write(move |inner| {
            let all = inner.sessions.len();
            inner.sessions.retain(|_, session| session.settled_at().is_none_or(|at| at >= before));
            all - inner.sessions.len()
        })
    }

    fn probe(&self) -> Write<'_, ()> {
        self.write(|_| ())
    }
}

impl Inner {
    /// Appends the status events of a transition.
    fn note(&mut self, transition: &Transition) {
        let events = self.events.entry(transition.session.id().as_str().to_owned()).or_default();
        for effect in &transition.effects {
            if let Effect::PublishStatus { status, reason, wallet_error, occurred_at } = effect {
                events.push(StatusEvent {
                    seq: events.len() as u64 + 1,
                    status: status.as_str().to_owned(),
                    reason: reason.map(|reason| reason.as_str().to_owned()),
                    wallet_error: wallet_error.map(|error| error.as_str().to_owned()),
                    occurred_at: *occurred_at,
                });
            }
        }
    }
}

impl EventStore for MemoryStore {
    fn events(
        &self,
        caller: &Caller,
        id: &SessionId,
        after: u64,
        limit: usize,
    ) -> Read<'_, Option<EventPage>> {
        let (session, id) = (self.callers_session(caller, id, UnixMillis(0)), id.clone());
        Box::pin(async move {
            let Some(session) = session.await? else { return Ok(None) };
            let inner = self.inner.lock().unwrap();
            let all = inner.events.get(id.as_str()).cloned().unwrap_or_default();
            let last = all.len() as u64;
            let events = all.into_iter().filter(|event| event.seq > after).take(limit).collect();
            Ok(Some(EventPage { events, last, settled: session.settled_at().is_some() }))
        })
    }

    fn watch(&self, id: &SessionId) -> Watch {
        self.changes.watch(id)
    }
}

fn one_issuer() -> Arc<TrustSnapshot> {
    let key = PublicKey::from_coordinates(Curve::P256, &X, &Y).unwrap();
    let mut entry = TrustEntry::new(IssuerId::new("issuer"));
    entry.keys = vec![TrustedKey::new(key)];
    entry.default_claims = vec!["given_name".into()];
    Arc::new(TrustSnapshot::new(1, [entry]))
}
