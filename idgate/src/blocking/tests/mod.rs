//! A library's verification, and its status sources on real sockets.

mod crl;

use std::cell::RefCell;
use std::convert::Infallible;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use idgate_core::crypto::aws_lc_rs;
use idgate_core::{
    CredentialFormat, Entropy, EntropyUnavailable, Issuer, IssuerId, NewSession, Reason, Request,
    Session, Status, TenantId, Trust, Verifier,
};
use idgate_testkit::gzip::gzip;
use idgate_testkit::issuer::CredentialBuilder;
use idgate_testkit::keys::Curve;
use idgate_testkit::samples::{self, ISSUER};
use idgate_testkit::status::{StatusJwt, StatusList, status_claim};
use idgate_testkit::time::{SAMPLE_NOW_MS, numeric_date};
use idgate_testkit::wallet::{Answer, Body, KbJwt, Presentation, present};
use idgate_testkit::x509::Identity;
use serde_json::{Value, json};

use super::*;
use crate::loopback::{Loopback, answer, header};
use crate::range::Cidr;
use crate::tls_loopback::TlsLoopback;
use idgate_testkit::patience::{in_time, until};

const NOW: UnixMillis = UnixMillis(SAMPLE_NOW_MS);
const HOUR_MS: u64 = 3_600_000;
const VCTS: [&str; 2] = ["urn:one", "urn:two"];

struct Zeros;

impl Entropy for Zeros {
    fn fill(&mut self, out: &mut [u8]) -> Result<(), EntropyUnavailable> {
        out.fill(0);
        Ok(())
    }
}

/// A session, and a wallet's answer with credentials that each name a list.
struct Flow {
    verifier: Verifier,
    session: Session,
    body: Body,
}

impl Flow {
    /// `statuses`: an index and a list for each credential.
    fn new(statuses: &[(u64, &str)]) -> Self {
        /// One trust for all, because a list that was fetched under one trust is not used under
        /// another.
        static TRUST: LazyLock<Trust> = LazyLock::new(|| {
            let jwk = samples::issuer_key(Curve::P256).public_jwk().to_string();
            Trust::new(aws_lc_rs::PROVIDER, [Issuer::new(ISSUER).jwk(jwk)]).unwrap()
        });
        let named = VCTS.iter().zip(statuses).map(|(vct, (idx, uri))| {
            let credential = samples::identity(&samples::holder_key(Curve::P256), NOW.0);
            credential.plain("vct", *vct).plain("status", status_claim(*idx, uri))
        });
        Self::under(TRUST.clone(), named.collect())
    }

    /// Credentials of the types [`VCTS`], in their order.
    fn under(trust: Trust, credentials: Vec<CredentialBuilder>) -> Self {
        let builder = Verifier::builder(trust)
            .profiles([idgate_core::Profile::Draft])
            .unsigned("https://gateway.example");
        let verifier = builder.build().unwrap();
        let asked = VCTS.iter().take(credentials.len()).map(|vct| {
            json!({ "format": "vc+sd-jwt", "issuer_id": ISSUER, "claims": ["given_name"], "id": vct })
        });
        let asked = json!({ "credentials": asked.collect::<Vec<Value>>() }).to_string();
        let request = Request::from_json(asked.as_bytes()).unwrap();
        let tenant = TenantId::new("shop");
        let made = verifier
            .create_session(&request, NewSession::live().tenant(tenant), &mut Zeros, NOW)
            .unwrap();
        let (key, holder) = (samples::issuer_key(Curve::P256), samples::holder_key(Curve::P256));
        let uri = made.session.info(NOW).qr_code_url.unwrap();
        let request = idgate_testkit::request::AuthorizationRequest::parse(&uri).unwrap();
        let tokens = credentials.into_iter().map(|credential| {
            let credential = credential.issue(&key);
            let shown = Presentation::whole(&credential);
            present(&shown, Some(&KbJwt::new(&holder, &shown, &request, NOW.0).sign()))
        });
        let body = Body::form(&Answer::new(&request, tokens.collect()).parameters());
        Self { verifier, session: made.session, body }
    }

    /// The outcome with `fetcher` at `now`, and the commits on the way.
    fn decide(
        &self,
        fetcher: &BlockingFetcher,
        now: u64,
    ) -> (Result<Decision, NotDecided<Infallible>>, Vec<Status>) {
        let response = idgate_core::Answer {
            to: self.session.id().as_str(),
            content_type: Some(&self.body.content_type),
            body: &self.body.bytes,
        };
        let begun = self.verifier.begin(&self.session, response, &mut Zeros, NOW);
        let committed = RefCell::new(Vec::new());
        let commit = |transition: Transition| {
            committed.borrow_mut().push(transition.session.status_at(UnixMillis(now)));
            Ok(())
        };
        let decided = fetcher.decide(&mut begun.unwrap(), || UnixMillis(now), commit);
        (decided, committed.into_inner())
    }

    fn reason(&self, fetcher: &BlockingFetcher, now: u64) -> Option<Reason> {
        let decision = self.decide(fetcher, now).0.unwrap();
        decision.transition.session.info(UnixMillis(now)).reason
    }
}

/// The list at `uri`: revoked at 1.
fn list(uri: &str) -> String {
    let list = StatusList::new(2, 8).with(1, 1);
    StatusJwt::new(&list, uri, numeric_date(NOW.0)).sign(&samples::issuer_key(Curve::P256))
}

fn reaching(ranges: &[&str], roots: Option<&str>) -> BlockingFetcher {
    let allowed = ranges.iter().map(|range| Cidr::parse(range).unwrap()).collect();
    BlockingFetcher::over(Egress::new(allowed, roots.map(str::as_bytes)).unwrap())
}

fn local() -> BlockingFetcher {
    reaching(&["127.0.0.0/8"], None)
}

/// Runs on a thread of its own, like an embedder's call.
async fn apart<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    in_time("it ends", tokio::task::spawn_blocking(work)).await.unwrap()
}

#[tokio::test]
async fn the_list_decides_and_is_asked_once_while_it_is_fresh() {
    let source = Loopback::start().await;
    source.give(list(&source.url()).as_bytes());
    let (url, fetcher) = (source.url(), local());
    apart(move || {
        let good = Flow::new(&[(0, &url)]);
        let (decided, committed) = good.decide(&fetcher, NOW.0);
        assert!(matches!(decided.unwrap().transition.session.status_at(NOW), Status::Verified));
        assert_eq!(committed, [Status::Verifying], "held before the fetch");
        // The list is cached: no fetch and no hold.
        let (decided, committed) = good.decide(&fetcher, NOW.0 + HOUR_MS / 2);
        assert!(decided.unwrap().transition.session.info(NOW).reason.is_none());
        assert_eq!(committed, []);
        let revoked = Flow::new(&[(1, &url)]);
        assert_eq!(revoked.reason(&fetcher, NOW.0), Some(Reason::CredentialRevoked));
    })
    .await;
    assert_eq!(source.connections(), 1);
}

#[tokio::test]
async fn two_lists_are_asked_before_either_answers() {
    let (one, two) = (Loopback::start().await, Loopback::start().await);
    for source in [&one, &two] {
        source.give(list(&source.url()).as_bytes());
        source.close_gate();
    }
    let (first, second) = (one.url(), two.url());
    let deciding = tokio::spawn(apart(move || {
        Flow::new(&[(0, &first), (0, &second)]).reason(&local(), NOW.0)
    }));
    let both = async || one.connections() + two.connections() == 2;
    until("both are asked", both).await;
    one.open_gate();
    two.open_gate();
    assert_eq!(deciding.await.unwrap(), None);
    assert_eq!((one.connections(), two.connections()), (1, 1));
}

#[tokio::test]
async fn a_private_address_is_not_reached_unless_it_is_allowed() {
    let source = Loopback::start().await;
    source.give(list(&source.url()).as_bytes());
    let url = source.url();
    let refused = apart(move || Flow::new(&[(0, &url)]).reason(&reaching(&[], None), NOW.0)).await;
    assert_eq!(refused, Some(Reason::RevocationUnknown));
    assert_eq!(source.connections(), 0);
}

#[tokio::test]
async fn a_list_over_tls_needs_a_root_that_is_trusted() {
    let source = TlsLoopback::start().await;
    source.give(list(&source.url()).as_bytes());
    let (url, root) = (source.url(), source.root.clone());
    apart(move || {
        let flow = Flow::new(&[(0, &url)]);
        assert_eq!(flow.reason(&local(), NOW.0), Some(Reason::RevocationUnknown));
        assert_eq!(flow.reason(&reaching(&["127.0.0.1"], Some(&root)), NOW.0), None);
    })
    .await;
    assert_eq!(source.connections(), 2);
}

/// The list's name is its own address, not that of the redirect's target.
#[tokio::test]
async fn a_list_behind_a_redirect_to_another_host_decides() {
    let (source, other) = (Loopback::start().await, Loopback::start().await);
    other.give(list(&source.url()).as_bytes());
    let elsewhere = format!("Location: http://localhost:{}/list\r\n", other.address().port());
    source.give_with("302 Found", &elsewhere, b"");
    let url = source.url();
    let reasons = apart(move || {
        let fetcher = reaching(&["127.0.0.0/8", "::1"], None);
        [0, 1].map(|idx| Flow::new(&[(idx, &url)]).reason(&fetcher, NOW.0))
    });
    assert_eq!(reasons.await, [None, Some(Reason::CredentialRevoked)]);
    assert_eq!((source.connections(), other.connections()), (1, 1), "remembered under its own");
}

#[tokio::test]
async fn a_list_of_a_host_that_always_compresses_decides() {
    let source = Loopback::start().await;
    let token = gzip(list(&source.url()).as_bytes());
    source.give_with("203 Non-Authoritative Information", "Content-Encoding: gzip\r\n", &token);
    let url = source.url();
    let reasons =
        apart(move || [0, 1].map(|idx| Flow::new(&[(idx, &url)]).reason(&local(), NOW.0)));
    assert_eq!(reasons.await, [None, Some(Reason::CredentialRevoked)]);
}

#[tokio::test]
async fn a_host_that_compares_accept_as_a_whole_is_asked_for_its_form() {
    let source = Loopback::start().await;
    let token = list(&source.url());
    source.give_by(move |head| match header(head, "accept") {
        Some("application/statuslist+jwt") => answer("200 OK", "", token.as_bytes()),
        _ => answer("406 Not Acceptable", "", b""),
    });
    let url = source.url();
    assert_eq!(apart(move || Flow::new(&[(0, &url)]).reason(&local(), NOW.0)).await, None);
    assert_eq!(source.connections(), 1);
}

#[tokio::test]
async fn a_body_that_drips_ends_with_the_budget() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/list", listener.local_addr().unwrap());
    tokio::spawn(async move {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        let (mut stream, _) = listener.accept().await.unwrap();
        let _ = stream.read(&mut [0; 4096]).await.unwrap();
        let head = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n";
        stream.write_all(head).await.unwrap();
        while stream.write_all(b"x").await.is_ok() {
            // reason: it drips, for as long as there is a reader
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    let mut fetcher = local();
    assert_eq!(fetcher.allowance, Allowance::of(Duration::from_secs(2), Duration::from_secs(5)));
    // With another number it is the same.
    fetcher.allowance = Allowance::of(FETCH_PATIENCE, Duration::from_millis(200));
    let reason = apart(move || Flow::new(&[(0, &url)]).reason(&fetcher, NOW.0)).await;
    assert_eq!(reason, Some(Reason::RevocationUnknown));
}

#[test]
fn a_refused_thread_is_an_error_and_not_a_panic() {
    let panics = || -> io::Result<Runtime> { panic!("OS can't spawn worker thread") };
    assert!(start(panics).is_err());
    assert!(start(|| Err(io::Error::from(io::ErrorKind::WouldBlock))).is_err());
}

#[tokio::test]
async fn a_source_that_could_not_be_asked_releases_the_hold() {
    let source = Loopback::start().await;
    source.give(list(&source.url()).as_bytes());
    let url = source.url();
    apart(move || {
        let fetcher = local();
        // A machine that allows no further thread: the existing one has ended.
        let fetcher_of = Arc::new(Fetcher::over(fetcher.egress.clone()));
        let ended = Engine { process: process::id(), runtime: None, fetcher: fetcher_of };
        *fetcher.engine.lock().unwrap() = Some(Arc::new(ended));
        let (decided, committed) = Flow::new(&[(0, &url)]).decide(&fetcher, NOW.0);
        assert!(matches!(decided, Err(NotDecided::NotAsked(_))));
        assert_eq!(committed, [Status::Verifying, Status::Pending]);
    })
    .await;
    assert_eq!(source.connections(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_serves_from_within_a_runtime_and_for_many_threads_at_once() {
    let source = Loopback::start().await;
    source.give(list(&source.url()).as_bytes());
    let (url, fetcher) = (source.url(), Arc::new(local()));
    assert_eq!(Flow::new(&[(0, &url)]).reason(&fetcher, NOW.0), None);
    let hour = Arc::new(AtomicU64::new(1));
    let many = (0..8).map(|_| {
        let (url, fetcher, hour) = (url.clone(), fetcher.clone(), hour.clone());
        apart(move || {
            let now = NOW.0 + hour.fetch_add(1, Ordering::Relaxed);
            Flow::new(&[(0, &url)]).reason(&fetcher, now)
        })
    });
    for reason in many.map(tokio::spawn).collect::<Vec<_>>() {
        assert_eq!(reason.await.unwrap(), None);
    }
    assert_eq!(source.connections(), 1);
}

#[tokio::test]
async fn a_dropped_round_ends_immediately() {
    let source = Loopback::start().await;
    source.close_gate();
    let fetcher = local();
    let need = Need::StatusList { uri: source.url(), format: CredentialFormat::SdJwtVc };
    let asked = vec![Asked { need, issuers: vec![IssuerId::new(ISSUER)] }];
    // It does not end through its timeout.
    let hour = Duration::from_secs(3600);
    let mut under_way = fetcher.begin(asked, Allowance::of(hour, hour)).unwrap();
    assert!(!under_way.wait(Duration::ZERO));
    let engine = under_way.engine.clone();
    let used = || engine.fetcher.used().0;
    until("it is under way", async || used() == 1).await;
    drop(under_way);
    until("it has ended", async || used() == 0).await;
}

#[tokio::test]
async fn a_forked_process_starts_with_an_empty_cache() {
    let fetcher = local();
    let parent = fetcher.engine().unwrap();
    assert!(Arc::ptr_eq(&parent, &fetcher.engine().unwrap()));
    let runtime = Builder::new_multi_thread().worker_threads(1).build().ok();
    let of_another = Engine { process: 0, runtime, fetcher: parent.fetcher.clone() };
    *fetcher.engine.lock().unwrap() = Some(Arc::new(of_another));
    let child = fetcher.engine().unwrap();
    assert!(child.is_of_this_process() && !Arc::ptr_eq(&child.fetcher, &parent.fetcher));
}

#[tokio::test]
async fn a_second_round_is_under_the_same_hold() {
    let root = Identity::iaca(Curve::P256, NOW.0);
    let signer = root.document_signer(Curve::P256, NOW.0);
    let source = Loopback::start().await;
    let list = StatusJwt::new(&StatusList::new(1, 8), &source.url(), numeric_date(NOW.0));
    let list = list.with_header("x5c", idgate_testkit::jws::x5c(&[&signer.der]));
    source.give(list.sign(&signer.key).as_bytes());
    let jwk = samples::issuer_key(Curve::P256).public_jwk().to_string();
    let issuer = Issuer::new(ISSUER).jwk(jwk).status_roots(&*root.der);
    let trust = Trust::new(aws_lc_rs::PROVIDER, [issuer]).unwrap();
    let credential = samples::identity(&samples::holder_key(Curve::P256), NOW.0);
    let credential =
        credential.plain("vct", VCTS[0]).plain("status", status_claim(0, &source.url()));
    let flow = Flow::under(trust, vec![credential]);
    let (decided, committed) = apart(move || flow.decide(&local(), NOW.0)).await;
    // The CRL of the list's signer is at an unreachable name.
    let decided = decided.unwrap().transition.session;
    assert_eq!(decided.info(NOW).reason, Some(Reason::RevocationUnknown));
    assert_eq!(committed, [Status::Verifying]);
}
