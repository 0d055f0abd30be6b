//! A store with a live and a test client and one trusted issuer, and helpers for tests.

use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::crypto::{Es256Key, SoftwareSigner};
use idgate_core::session::SessionResult;
use idgate_core::shell::Jwk;
use idgate_core::{Effect, NewSession, Reader, Request, Transition, Trust, Verifier};

use super::super::fixtures::ISSUER_JWK;
use super::*;

pub(crate) const NOW: UnixMillis = UnixMillis(1_790_000_000_000);

pub(crate) struct Fixture<B: Backend> {
    pub(crate) store: Option<Store>,
    pub(crate) live: Caller,
    pub(crate) live_key: ApiKey,
    pub(crate) test: Caller,
    pub(crate) backend: B,
}

impl<B: Backend> Fixture<B> {
    pub(crate) fn new() -> Self {
        let backend = B::new();
        let mut operator = backend.operator();
        let change = TrustChange {
            claims: Some(vec!["given_name".into()]),
            keys: vec![(Jwk::parse(ISSUER_JWK.as_bytes()).unwrap().key, None)],
            ..TrustChange::default()
        };
        operator.add_trust("issuer", &change, NOW).unwrap().unwrap();
        let live = operator.create_client("live", true, None, NOW).unwrap();
        let test = operator.create_client("test", false, None, NOW).unwrap();
        let store = backend.open(NOW);
        let caller = |key: &ApiKey| store.authenticate(&key.digest(), NOW).wait().unwrap().unwrap();
        let (live_caller, test_caller) = (caller(&live.api_key), caller(&test.api_key));
        Self {
            live: live_caller,
            live_key: live.api_key,
            test: test_caller,
            backend,
            store: Some(store),
        }
    }

    pub(crate) fn store(&self) -> &Store {
        self.store.as_ref().unwrap()
    }

    pub(crate) fn operator(&self) -> Box<OperatorStore> {
        self.backend.operator()
    }

    pub(crate) fn set_mood(&self, mood: Mood) {
        self.store().set_mood(mood);
    }

    pub(crate) fn close(&mut self) {
        self.store = None;
    }

    pub(crate) fn reopen(&mut self, now: UnixMillis) {
        self.close();
        self.store = Some(self.backend.open(now));
    }

    /// Another live client, as the owner of its first key.
    pub(crate) fn other_client(&self) -> Caller {
        let other = self.operator().create_client("other", true, None, NOW).unwrap();
        self.store().authenticate(&other.api_key.digest(), NOW).wait().unwrap().unwrap()
    }

    /// A new session of this caller, not stored yet.
    pub(crate) fn new_session(&self, caller: &Caller, now: UnixMillis) -> Transition {
        let trust = self.store().trust().wait().unwrap();
        let body = br#"{"issuer_id":"issuer"}"#;
        let request = Request::from_json(body).unwrap();
        let verifier = Verifier::builder(Trust::of_snapshot(PROVIDER, trust))
            .profiles([idgate_core::Profile::Draft])
            .unsigned("http://localhost")
            .build();
        let new = NewSession::of(caller.mode()).tenant(caller.client_id.clone());
        verifier.unwrap().create_session(&request, new, &mut OsEntropy, now).unwrap()
    }

    /// A stored PENDING session.
    pub(crate) async fn session(&self, caller: &Caller) -> Session {
        let transition = self.new_session(caller, NOW);
        let session = transition.session.clone();
        assert_eq!(self.store().create_session(caller, transition).await.unwrap(), Made::Yes);
        session
    }

    /// A stored session, verified at `at` with these claims.
    pub(crate) async fn verified(&self, caller: &Caller, at: UnixMillis, claims: &str) -> Session {
        let session = self.session(caller).await;
        let transition = verify(&session, at, claims);
        let verified = transition.session.clone();
        assert_eq!(self.store().commit(transition, Some(7)).await.unwrap(), Committed::Yes);
        verified
    }

    /// A stored CREATED session in request mode jar, and the key that its answer is encrypted to.
    pub(crate) async fn jar_session(&self) -> (Session, Vec<u8>) {
        let trust = self.store().trust().wait().unwrap();
        let request = br#"{"issuer_id":"issuer"}"#;
        let request = Request::from_json(request).unwrap();
        let key = Es256Key::generate(&mut OsEntropy).unwrap();
        let signer = Arc::new(SoftwareSigner::new(key, "did:web:localhost#key"));
        let verifier = Verifier::builder(Trust::of_snapshot(PROVIDER, trust))
            .profiles([idgate_core::Profile::Draft])
            .signed("http://localhost", signer);
        let new = NewSession::live().tenant(self.live.client_id.clone());
        let verifier = verifier.build().unwrap();
        let made = verifier.create_session(&request, new, &mut OsEntropy, NOW).unwrap();
        let session = made.session.clone();
        assert_eq!(self.store().create_session(&self.live, made).await.unwrap(), Made::Yes);
        let key = session.clone().take_encryption_key().unwrap();
        (session, key.to_vec())
    }

    /// The session as its caller reads it.
    pub(crate) fn read(&self, session: &Session, now: UnixMillis) -> Option<Session> {
        self.store().callers_session(&self.live, session.id(), now).wait().unwrap()
    }

    /// The numbers and statuses of a session's events.
    pub(crate) fn events(&self, id: &SessionId) -> Option<Vec<(u64, String)>> {
        let page = self.store().events(&self.live, id, 0, 100).wait().unwrap()?;
        Some(page.events.into_iter().map(|event| (event.seq, event.status)).collect())
    }
}

/// The transition of `session` to VERIFIED that an answer causes.
pub(crate) fn verify(session: &Session, at: UnixMillis, claims: &str) -> Transition {
    let mut transition = session.expired(session.expires_at()).unwrap();
    let mut record: serde_json::Value = serde_json::from_slice(&session.to_bytes()).unwrap();
    record["phase"] = serde_json::json!({"phase": "verified", "at": at});
    record["revision"] = transition.session.revision().0.into();
    let mut verified = Session::from_bytes(record.to_string().as_bytes()).unwrap();
    verified.restore_result(result(at, claims));
    assert!(verified.result(Reader::Backend, at).is_ok());
    transition.session = verified;
    transition.effects = vec![Effect::RedactClaimsAt(at.plus(30_000))];
    transition
}

fn result(at: UnixMillis, claims: &str) -> SessionResult {
    let len = u64::try_from(claims.len()).unwrap();
    let parts: [&[u8]; 5] =
        [&[1], &at.0.to_be_bytes(), &len.to_be_bytes(), claims.as_bytes(), b"{\"credentials\":[]}"];
    SessionResult::from_bytes(&parts.concat()).unwrap()
}
