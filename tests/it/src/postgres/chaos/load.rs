//! The load during the chaos, and what its clients know: sessions that were created, answered and
//! deleted, and how they have to be read afterwards.

use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use idgate_testkit::patience::eventually_some;
use idgate_testkit::seed::Random;
use idgate_testkit::wallet::{Body, Wallet};
use serde_json::{Value, json};

use super::super::nodes::Nodes;
use crate::http::{Http, Request, Response};
use crate::server::eventually;
use crate::tenant::{Created, Tenant, answer_request, form, now_ms, request_for, sample_wallet};

/// How long claims may be read after an acknowledgement, including the duration of a request.
pub(super) const READABLE_MS: u64 = 31_000;
/// How long claims must be readable after an acknowledged answer was sent, unless the database
/// crashed. Their 30 seconds begin later, with the commit. The time of the acknowledgement says
/// less, because a node may be suspended between the two.
const SURELY_READABLE_MS: u64 = 29_000;
/// Longer than a session's claims are readable.
const LATELY_MS: u64 = 40_000;

/// A session as its tenant knows it.
#[derive(Clone, Debug)]
struct Entry {
    id: String,
    /// When an answer was first sent.
    sent_ms: Option<u64>,
    /// When an answer was acknowledged.
    verified_ms: Option<u64>,
    /// When the last attempt to send an answer ended.
    tried_ms: Option<u64>,
    deletes: bool,
    deleted: bool,
    /// The outcome that was read first.
    outcome: Option<String>,
}

impl Entry {
    /// Whether it was used recently; one in twenty of the others counts as well.
    fn is_looked_at(&self, random: &mut Random) -> bool {
        self.tried_ms.is_none_or(|at| now_ms() < at + LATELY_MS) || random.one_in(20)
    }
}

/// Which sessions are compared with the expected state.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Which {
    /// Those that a fault may have affected, and some others, so that rounds stay short.
    Lately,
    All,
}

/// The knowledge of all clients.
pub(super) struct Load<'n> {
    pub(super) addresses: Vec<SocketAddr>,
    pub(super) api_key: &'n str,
    wallet: Wallet,
    entries: Mutex<Vec<Entry>>,
    /// When the database had recovered from its crash.
    pub(super) crashed_ms: AtomicU64,
    pub(super) stops: AtomicBool,
}

impl<'n> Load<'n> {
    pub(super) fn new(addresses: Vec<SocketAddr>, api_key: &'n str) -> Self {
        Self {
            addresses,
            api_key,
            wallet: sample_wallet(),
            entries: Mutex::default(),
            crashed_ms: AtomicU64::new(0),
            stops: AtomicBool::new(false),
        }
    }

    /// How many sessions were created.
    pub(super) fn sessions(&self) -> usize {
        self.entries.lock().unwrap().len()
    }

    /// Waits until this many more sessions were acknowledged as verified. The cap of the wait begins
    /// again with each session, because a slow disk delays every commit.
    #[track_caller]
    pub(super) fn wait_for(&self, more: usize) {
        let verified = || {
            let entries = self.entries.lock().unwrap();
            entries.iter().filter(|entry| entry.verified_ms.is_some()).count()
        };
        let enough = verified() + more;
        let stops = || self.stops.load(Ordering::SeqCst);
        while verified() < enough && !stops() {
            let before = verified();
            eventually("the load goes on", || stops() || verified() > before);
        }
    }

    /// Creates and answers sessions until told to stop.
    pub(super) fn run(&self, mut random: Random) {
        let mut wallets: Vec<Http> =
            self.addresses.iter().map(|address| Http::new(*address)).collect();
        while !self.stops.load(Ordering::SeqCst) {
            if self.one_session(&mut wallets, &mut random).is_none() {
                // The node is down, or answers 503.
                // reason: the pace of a client that is rejected
                thread::sleep(Duration::from_millis(20));
            }
        }
    }

    /// `None`: nothing was acknowledged.
    fn one_session(&self, wallets: &mut [Http], random: &mut Random) -> Option<()> {
        let create = Request::post("/v1/sessions").bearer(self.api_key);
        let create = create.json(&request_for(&["given_name", "family_name"]));
        let created = sent(any(wallets, random), &create)?;
        let created = Created::of(created.expect_status(201).json());
        let index = self.add(created.id.clone());
        if random.one_in(8) {
            return Some(());
        }
        let body = form(&self.wallet, &created);
        self.note(index, |entry| entry.sent_ms = Some(now_ms()));
        let accepted = if random.one_in(4) {
            at_once(wallets, &created, &body)
        } else {
            one_after_another(wallets, &created, &body, random)
        };
        if accepted {
            self.note(index, |entry| entry.verified_ms = Some(now_ms()));
        } else {
            self.note(index, |entry| entry.tried_ms = Some(now_ms()));
        }
        if random.one_in(8) {
            self.note(index, |entry| entry.deletes = true);
            let delete = Request::delete(format!("/v1/sessions/{}", created.id));
            if let Some(answer) = sent(any(wallets, random), &delete.bearer(self.api_key)) {
                assert!([204, 404].contains(&answer.status), "{answer:?}");
                self.note(index, |entry| entry.deleted = true);
            }
        }
        Some(())
    }

    fn add(&self, id: String) -> usize {
        let mut entries = self.entries.lock().unwrap();
        entries.push(Entry {
            id,
            sent_ms: None,
            verified_ms: None,
            tried_ms: None,
            deletes: false,
            deleted: false,
            outcome: None,
        });
        entries.len() - 1
    }

    fn note(&self, index: usize, change: impl FnOnce(&mut Entry)) {
        change(&mut self.entries.lock().unwrap()[index]);
    }

    /// The sessions whose answer was acknowledged and that were not deleted.
    pub(super) fn verified(&self) -> Vec<String> {
        let entries = self.entries.lock().unwrap();
        let kept = entries.iter().filter(|entry| entry.verified_ms.is_some() && !entry.deletes);
        kept.map(|entry| entry.id.clone()).collect()
    }

    /// These sessions are in the acknowledged state, on some node.
    #[track_caller]
    pub(super) fn check(&self, nodes: &Nodes, when: &str, which: Which, random: &mut Random) {
        let known = self.entries.lock().unwrap().clone();
        let mut readers: Vec<Tenant> =
            self.addresses.iter().map(|address| self.tenant(*address)).collect();
        for (index, entry) in known.iter().enumerate() {
            if which == Which::Lately && !entry.is_looked_at(random) {
                continue;
            }
            let reader = random.index(3);
            let asked_ms = now_ms();
            let answer = read(&mut readers[reader], &entry.id, when);
            // The load continues, so a later change may be visible already.
            let later = self.entries.lock().unwrap()[index].clone();
            let Entry { sent_ms, tried_ms, deletes, .. } = later;
            let entry = Entry { sent_ms, tried_ms, deletes, ..entry.clone() };
            let crashed_ms = self.crashed_ms.load(Ordering::SeqCst);
            let outcome = expect_as_known(&entry, &answer, crashed_ms, when);
            expect_in_time(&entry, &answer, asked_ms, nodes, when);
            self.note(index, |entry| entry.outcome = entry.outcome.take().or(outcome));
        }
    }

    /// Through any node.
    pub(super) fn expect_no_claims(&self) {
        let known = self.entries.lock().unwrap().clone();
        for address in &self.addresses {
            let mut tenant = self.tenant(*address);
            for entry in known.iter().filter(|entry| entry.verified_ms.is_some()) {
                let answer = read(&mut tenant, &entry.id, "after their time");
                assert!(entry.deletes || answer.status == 200, "{entry:?}: {answer:?}");
                let body = String::from_utf8_lossy(&answer.body);
                assert!(!body.contains("\"claims\"") && !body.contains("Erika"), "{body}");
            }
        }
    }

    fn tenant(&self, address: SocketAddr) -> Tenant {
        Tenant { http: Http::new(address), api_key: self.api_key.to_owned() }
    }
}

/// A node's answer about a session. All nodes are ready, so a 503 only lasts a moment.
#[track_caller]
fn read(tenant: &mut Tenant, id: &str, when: &str) -> Response {
    let request = Request::get(format!("/v1/sessions/{id}")).bearer(&tenant.api_key);
    eventually_some(&format!("{when}: {id} can be read"), || sent(&mut tenant.http, &request))
}

/// Compares a session with its tenant's knowledge. Returns its outcome if it has one.
#[track_caller]
fn expect_as_known(
    entry: &Entry,
    answer: &Response,
    crashed_ms: u64,
    when: &str,
) -> Option<String> {
    if answer.status == 404 {
        assert!(entry.deletes, "{when}: {entry:?} is lost");
        return None;
    }
    assert_eq!(answer.status, 200, "{when}: {entry:?}: {answer:?}");
    assert!(!entry.deleted, "{when}: {entry:?} is back");
    let session = answer.json();
    let status = session["status"].as_str().unwrap();
    match status {
        "CREATED" | "PENDING" => {
            assert_eq!(entry.verified_ms, None, "{when}: {session}");
            assert_eq!(entry.outcome, None, "{when}: {session} was settled");
            return None;
        }
        "EXPIRED" => assert_eq!(entry.verified_ms, None, "{when}: {session}"),
        "VERIFIED" => {
            assert!(entry.sent_ms.is_some(), "{when}: {session}");
            expect_claims(entry, &session, crashed_ms, when);
        }
        _ => panic!("{when}: {entry:?} became {session}"),
    }
    let known = entry.outcome.as_deref().unwrap_or(status);
    assert_eq!(known, status, "{when}: {session} has two outcomes");
    Some(status.to_owned())
}

#[track_caller]
fn expect_claims(entry: &Entry, session: &Value, crashed_ms: u64, when: &str) {
    let claims = json!({ "pid": { "family_name": "Mustermann", "given_name": "Erika" } });
    match session.get("claims") {
        Some(shown) => assert_eq!(*shown, claims, "{when}"),
        None => {
            let sent_ms = entry.verified_ms.and(entry.sent_ms);
            let fresh = sent_ms.is_some_and(|at| now_ms() < at + SURELY_READABLE_MS);
            let is_lost = session["claims_lost"] == true;
            assert!(!fresh || is_lost, "{when}: claims are gone: {session}");
            let crashed_since = entry.verified_ms.is_none_or(|at| at < crashed_ms);
            assert!(!is_lost || crashed_since, "{when}: nothing crashed since: {session}");
        }
    }
}

/// Claims are shown for 30 s after an acknowledgement. If that was lost, a suspended node may have
/// accepted the answer later; then the database has the time.
#[track_caller]
fn expect_in_time(entry: &Entry, answer: &Response, asked_ms: u64, nodes: &Nodes, when: &str) {
    if answer.status != 200 || answer.json().get("claims").is_none() {
        return;
    }
    let until = match (entry.verified_ms, entry.tried_ms) {
        (Some(at), _) => at + READABLE_MS,
        (None, Some(_)) => {
            let until = format!("SELECT claims_until FROM sessions WHERE id = '{}'", entry.id);
            nodes.cluster.run(&nodes.url(), &until).parse().unwrap()
        }
        (None, None) => return,
    };
    assert!(asked_ms < until, "{when}: claims are shown too long: {answer:?}");
}

fn any<'w>(wallets: &'w mut [Http], random: &mut Random) -> &'w mut Http {
    let chosen = random.index(wallets.len());
    &mut wallets[chosen]
}

/// The answer, unless there is none or it says that nothing was done.
fn sent(http: &mut Http, request: &Request) -> Option<Response> {
    http.try_send(request).ok().filter(|answer| answer.status != 503)
}

/// Tries one node after another until one gives the outcome. Returns whether the answer was
/// accepted.
fn one_after_another(
    wallets: &mut [Http],
    created: &Created,
    body: &Body,
    random: &mut Random,
) -> bool {
    let request = answer_request(&created.id, body);
    for _ in 0..20 {
        match sent(any(wallets, random), &request).map(|answer| answer.status) {
            Some(200) => return true,
            Some(409) => return false,
            Some(other) => panic!("{}: {other}", created.id),
            // reason: the pace of a client that is rejected
            None => thread::sleep(Duration::from_millis(50)),
        }
    }
    false
}

/// Posts to all nodes concurrently: at most one accepts the answer.
fn at_once(wallets: &mut [Http], created: &Created, body: &Body) -> bool {
    let request = answer_request(&created.id, body);
    let answers: Vec<Option<u16>> = thread::scope(|scope| {
        let send = |http| sent(http, &request).map(|answer| answer.status);
        let sending: Vec<_> =
            wallets.iter_mut().map(|http| scope.spawn(move || send(http))).collect();
        sending.into_iter().map(|sending| sending.join().unwrap()).collect()
    });
    assert!(answers.iter().flatten().all(|status| [200, 409].contains(status)), "{answers:?}");
    let taken = answers.iter().flatten().filter(|status| **status == 200).count();
    assert!(taken < 2, "{}: {answers:?}", created.id);
    taken == 1
}
