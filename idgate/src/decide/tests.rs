//! A whole verification over a real socket, with a store that counts, loses races and fails.

use std::fmt;
use std::future::{Future, ready};
#[cfg(unix)]
use std::io;
use std::sync::{LazyLock, Mutex};

use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::{
    Entropy, EntropyUnavailable, Issuer, NewSession, Profile, Reason, Request, Revision, Sent,
    Status, UnixMillis, Verifier,
};
use idgate_testkit::keys::Curve;
use idgate_testkit::request::AuthorizationRequest;
use idgate_testkit::samples::{self, ISSUER};
use idgate_testkit::status::{StatusJwt, StatusList, status_claim};
use idgate_testkit::time::numeric_date;
use idgate_testkit::wallet::{Answer, Body, KbJwt, Presentation, present};
use idgate_testkit::x509::Identity;

use super::*;
#[cfg(unix)]
use crate::egress::Egress;
use crate::loopback::Loopback;

struct Zeros;

impl Entropy for Zeros {
    fn fill(&mut self, out: &mut [u8]) -> Result<(), EntropyUnavailable> {
        out.fill(0);
        Ok(())
    }
}

/// The fetcher uses the system time, so the samples are made for it; they are valid for a year.
fn now() -> UnixMillis {
    clock::now()
}

#[derive(Debug)]
struct Down;

impl fmt::Display for Down {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("down")
    }
}

impl std::error::Error for Down {}

/// A store with one session. It records every committed status.
struct One {
    session: Mutex<Session>,
    committed: Mutex<Vec<Status>>,
    /// The status at which storing fails.
    fails_at: Option<Status>,
}

impl One {
    fn of(session: &Session) -> Self {
        Self { session: Mutex::new(session.clone()), committed: Mutex::default(), fails_at: None }
    }

    fn committed(&self) -> Vec<Status> {
        self.committed.lock().unwrap().clone()
    }
}

impl Store for One {
    type Error = Down;

    fn load(&self, handle: &str) -> impl Future<Output = Result<Option<Session>, Down>> + Send {
        let session = self.session.lock().unwrap().clone();
        let is_it = session.handles().any(|own| own == handle);
        ready(Ok(is_it.then_some(session)))
    }

    fn commit(&self, t: &Transition) -> impl Future<Output = Result<Committed, Down>> + Send {
        if self.fails_at == Some(t.session.status_at(now())) {
            return ready(Err(Down));
        }
        let mut session = self.session.lock().unwrap();
        if session.revision() != t.from {
            return ready(Ok(Committed::LostRace));
        }
        *session = t.session.clone();
        self.committed.lock().unwrap().push(t.session.status_at(now()));
        ready(Ok(Committed::Stored))
    }
}

/// A session with one credential, and a wallet's answer.
struct Flow {
    verifier: Verifier,
    session: Session,
    body: Body,
}

fn pid() -> Issuer {
    Issuer::new(ISSUER).jwk(samples::issuer_key(Curve::P256).public_jwk().to_string())
}

/// One trust for all, because a list that was fetched under one trust is not used under another.
fn trust() -> Trust {
    static TRUST: LazyLock<Trust> = LazyLock::new(|| Trust::new(PROVIDER, [pid()]).unwrap());
    TRUST.clone()
}

/// A presentation of the sample credential with this status, for this request.
fn shown(request: &AuthorizationRequest, status: Option<(u64, &str)>) -> String {
    let holder = samples::holder_key(Curve::P256);
    let mut credential = samples::identity(&holder, now().0);
    if let Some((idx, uri)) = status {
        credential = credential.plain("status", status_claim(idx, uri));
    }
    let shown = Presentation::whole(&credential.issue(&samples::issuer_key(Curve::P256)));
    present(&shown, Some(&KbJwt::new(&holder, &shown, request, now().0).sign()))
}

impl Flow {
    fn new(status: Option<(u64, &str)>) -> Self {
        Self::under(trust(), status)
    }

    fn of(issuer: Issuer, status: Option<(u64, &str)>) -> Self {
        Self::under(Trust::new(PROVIDER, [issuer]).unwrap(), status)
    }

    fn under(trust: Trust, status: Option<(u64, &str)>) -> Self {
        let builder = Verifier::builder(trust).profiles([Profile::Draft]);
        let verifier = builder.unsigned("https://gateway.example").build().unwrap();
        let asked = br#"{"credentials":[{"format":"vc+sd-jwt","issuer_id":"https://issuer.example",
            "claims":["given_name"]}]}"#;
        let request = Request::from_json(asked).unwrap();
        let new = NewSession::live();
        let made = verifier.create_session(&request, new, &mut Zeros, now()).unwrap();
        let uri = made.session.info(now()).qr_code_url.unwrap();
        let request = AuthorizationRequest::parse(&uri).unwrap();
        let answer = Answer::new(&request, vec![shown(&request, status)]);
        let body = Body::form(&answer.parameters());
        Self { verifier, session: made.session, body }
    }

    fn begin(&self) -> Verification<'_> {
        let answer = idgate_core::Answer {
            to: self.session.id().as_str(),
            content_type: Some(&self.body.content_type),
            body: &self.body.bytes,
        };
        self.verifier.begin(&self.session, answer, &mut Zeros, now()).unwrap()
    }
}

/// A list in which index 1 is revoked.
fn list(uri: &str) -> Vec<u8> {
    let list = StatusList::new(2, 8).with(1, 1);
    let list = StatusJwt::new(&list, uri, numeric_date(now().0));
    list.sign(&samples::issuer_key(Curve::P256)).into_bytes()
}

fn fetcher() -> Arc<Fetcher> {
    Fetcher::reaching(&["127.0.0.0/8"])
}

#[tokio::test]
async fn the_hold_is_stored_before_the_fetch_and_the_verdict_after_it() {
    let (source, fetcher) = (Loopback::start().await, fetcher());
    source.give(&list(&source.url()));
    for (idx, reason) in [(0, None), (1, Some(Reason::CredentialRevoked))] {
        let flow = Flow::new(Some((idx, &source.url())));
        let store = One::of(&flow.session);
        let decision = fetcher.decide(flow.begin(), &store).await.unwrap();
        assert_eq!(decision.transition.session.info(now()).reason, reason);
        // The second answer needs no fetch, so it needs no hold.
        let settled = if reason.is_none() { Status::Verified } else { Status::Failed };
        let expected = if idx == 0 { vec![Status::Verifying, settled] } else { vec![settled] };
        assert_eq!(store.committed(), expected);
        let loaded = store.load(flow.session.id().as_str()).await.unwrap().unwrap();
        assert_eq!(loaded.revision(), decision.transition.session.revision());
    }
    assert_eq!(source.connections(), 1);
}

#[tokio::test]
async fn without_a_status_there_is_one_commit() {
    let flow = Flow::new(None);
    let store = One::of(&flow.session);
    let _decision = fetcher().decide(flow.begin(), &store).await.unwrap();
    assert_eq!(store.committed(), [Status::Verified]);
}

#[tokio::test]
async fn a_source_that_is_down_is_a_verdict() {
    let source = Loopback::start().await;
    source.give_with("503 Service Unavailable", "", b"");
    let flow = Flow::new(Some((0, &source.url())));
    let store = One::of(&flow.session);
    let decision = fetcher().decide(flow.begin(), &store).await.unwrap();
    assert_eq!(decision.transition.session.info(now()).reason, Some(Reason::RevocationUnknown));
    assert_eq!(store.committed(), [Status::Verifying, Status::Failed]);
}

/// A fetcher on a machine without a buffer left to look up a name.
#[cfg(unix)]
fn lacking() -> Arc<Fetcher> {
    let look_up = |_: &str, _: u16| Err(io::Error::from(rustix::io::Errno::NOBUFS));
    Arc::new(Fetcher::over(Egress::new(vec![], None).unwrap().looking_up(look_up)))
}

#[cfg(unix)]
#[tokio::test]
async fn a_source_that_could_not_be_fetched_releases_the_hold() {
    let fetcher = lacking();
    let flow = Flow::new(Some((0, "https://status.example/1")));
    let store = One::of(&flow.session);
    let refused = fetcher.decide(flow.begin(), &store).await;
    assert!(matches!(refused, Err(NotDecided::NotAsked(_))), "{refused:?}");
    assert_eq!(store.committed(), [Status::Verifying, Status::Pending]);
    assert_eq!(refused.unwrap_err().to_string(), "a status source could not be fetched");
}

#[tokio::test]
async fn a_store_that_fails_at_the_verdict_releases_the_hold() {
    let source = Loopback::start().await;
    source.give(&list(&source.url()));
    let flow = Flow::new(Some((0, &source.url())));
    let store = One { fails_at: Some(Status::Verified), ..One::of(&flow.session) };
    let failed = fetcher().decide(flow.begin(), &store).await;
    assert!(matches!(failed, Err(NotDecided::Store(Down))), "{failed:?}");
    assert_eq!(store.committed(), [Status::Verifying, Status::Pending]);
}

#[tokio::test]
async fn a_second_round_is_under_the_same_hold() {
    let root = Identity::iaca(Curve::P256, now().0);
    let signer = root.document_signer(Curve::P256, now().0);
    let source = Loopback::start().await;
    let list = StatusJwt::new(&StatusList::new(1, 8), &source.url(), numeric_date(now().0));
    let list = list.with_header("x5c", idgate_testkit::jws::x5c(&[&signer.der]));
    source.give(list.sign(&signer.key).as_bytes());
    let flow = Flow::of(pid().status_roots(root.der), Some((0, &source.url())));
    let store = One::of(&flow.session);
    let decision = fetcher().decide(flow.begin(), &store).await.unwrap();
    // The CRL of the list's signer is at a name that cannot be reached.
    assert_eq!(decision.transition.session.info(now()).reason, Some(Reason::RevocationUnknown));
    assert_eq!(store.committed(), [Status::Verifying, Status::Failed]);
}

#[tokio::test]
async fn a_lost_race_is_not_a_decision() {
    let flow = Flow::new(None);
    let store = One::of(&flow.session);
    let first = fetcher().decide(flow.begin(), &store).await;
    assert!(first.is_ok());
    let second = fetcher().decide(flow.begin(), &store).await;
    assert!(matches!(second, Err(NotDecided::Response(NotAnAnswer::SessionClosed))));
    assert_eq!(store.committed().len(), 1);
}

#[tokio::test]
async fn a_store_that_fails_is_not_a_decision() {
    let flow = Flow::new(None);
    let store = One { fails_at: Some(Status::Verified), ..One::of(&flow.session) };
    let failed = fetcher().decide(flow.begin(), &store).await.unwrap_err();
    assert_eq!(failed.to_string(), "the store failed: down");
    assert_eq!(store.session.lock().unwrap().revision(), flow.session.revision());
    assert_ne!(flow.session.revision(), Revision(0));
}

/// Verifies one presentation outside a session.
async fn verify(fetcher: &Arc<Fetcher>, idx: u64, uri: &str) -> Result<Verified, Refused> {
    let request = AuthorizationRequest {
        client_id: "x509_san_dns:shop.example".into(),
        nonce: "n-0S6_WzA2Mj".into(),
        ..AuthorizationRequest::default()
    };
    let text = shown(&request, Some((idx, uri)));
    let (client_id, nonce) = (&*request.client_id, &*request.nonce);
    let expected = Expected::sd_jwt_vc(ISSUER, Sent { client_id, nonce, at: now() });
    fetcher.verify(&trust(), &text, &expected.claims(&["given_name"])).await
}

#[tokio::test]
async fn the_status_of_one_presentation_is_fetched_and_cached() {
    let (source, fetcher) = (Loopback::start().await, fetcher());
    source.give(&list(&source.url()));
    let good = verify(&fetcher, 0, &source.url()).await.unwrap();
    assert_eq!(good.claims_json(), r#"{"given_name":"Erika"}"#);
    let revoked = verify(&fetcher, 1, &source.url()).await;
    assert_eq!(revoked.unwrap_err().reason(), Reason::CredentialRevoked);
    assert_eq!(source.connections(), 1);
}

#[tokio::test]
async fn one_presentation_whose_source_is_unreachable_is_refused() {
    let source = Loopback::start().await;
    source.give(&list(&source.url()));
    let strict = Fetcher::reaching(&[]);
    let refused = verify(&strict, 0, &source.url()).await.unwrap_err();
    assert_eq!((refused.reason(), refused.hint()), (Reason::RevocationUnknown, None));
    assert_eq!(source.connections(), 0);
}

#[cfg(unix)]
#[tokio::test]
async fn a_fault_of_this_machine_refuses_one_presentation_with_the_hint_to_try_again() {
    let refused = verify(&lacking(), 0, "https://status.example/1").await.unwrap_err();
    assert_eq!(refused.reason(), Reason::RevocationUnknown);
    assert_eq!(refused.hint(), Some(idgate_core::verify::Hint::TryAgain));
    assert!(refused.to_string().ends_with("; try again"), "{refused}");
}

/// Panics when it stores the verdict.
struct Panicking(One);

impl Store for Panicking {
    type Error = Down;

    fn load(&self, handle: &str) -> impl Future<Output = Result<Option<Session>, Down>> + Send {
        self.0.load(handle)
    }

    fn commit(&self, t: &Transition) -> impl Future<Output = Result<Committed, Down>> + Send {
        assert!(!t.session.status_at(now()).is_settled(), "the disk is on fire");
        self.0.commit(t)
    }
}

#[tokio::test]
async fn a_panic_releases_the_hold_and_resumes() {
    let source = Loopback::start().await;
    source.give(&list(&source.url()));
    let flow = Flow::new(Some((0, &source.url())));
    let store = Arc::new(Panicking(One::of(&flow.session)));
    let kept = Arc::clone(&store);
    let task = tokio::spawn(async move { fetcher().decide(flow.begin(), &*kept).await.map(drop) });
    assert!(task.await.unwrap_err().is_panic());
    assert_eq!(store.0.committed(), [Status::Verifying, Status::Pending]);
}
