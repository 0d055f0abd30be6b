//! Load on three nodes while nodes and the database are killed, connections are cut, commits lose their
//! answers and a node stands still: nothing that was acknowledged is lost, a session has one outcome,
//! every notification arrives, audit chains are intact, and no node shows claims after their time.

use std::hash::{BuildHasher as _, RandomState};
use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use idgate_testkit::wallet::{Body, Wallet};
use serde_json::{Value, json};

use super::nodes::Nodes;
use crate::http::{Http, Request, Response};
use crate::tenant::{Created, Tenant, answer_request, form, now_ms, request_for, sample_wallet};
use crate::webhooks::receiver::Receiver;

const CLIENTS: usize = 4;
/// How long claims may be read after an acknowledgement, with what a request takes.
const READABLE_MS: u64 = 31_000;
/// Claims of a session that was acknowledged so lately are there, unless the database crashed.
const SURELY_READABLE_MS: u64 = 20_000;
/// An answer whose acknowledgement was lost may be taken so long after it was sent: by a node that stood
/// still.
const LATE_MS: u64 = 15_000;
/// Longer than a session's claims are readable.
const LATELY_MS: u64 = 40_000;
/// A node that stands still does so for longer than its database waits for it.
const STILL: Duration = Duration::from_secs(10);

/// What is done to the nodes and to the database.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Fault {
    KilledNode,
    KilledBackend,
    CutConnections,
    LostCommit,
    KilledDatabase,
    FrozenConnections,
    FrozenNode,
}

const FAULTS: [Fault; 6] = [
    Fault::KilledNode,
    Fault::KilledBackend,
    Fault::CutConnections,
    Fault::LostCommit,
    Fault::KilledDatabase,
    Fault::FrozenConnections,
];

fn rounds() -> usize {
    if std::env::var_os("IDGATE_LONG").is_some() { 200 } else { 8 }
}

/// Of twenty rounds one has a node that stands still; of a short run, the last.
fn fault_of(round: usize) -> Fault {
    if round + 1 == rounds() || round % 20 == 19 {
        return Fault::FrozenNode;
    }
    FAULTS[round % FAULTS.len()]
}

/// A session as its tenant knows it.
#[derive(Clone, Debug)]
struct Entry {
    id: String,
    /// An answer was sent.
    answered: bool,
    /// When an answer was acknowledged.
    verified_ms: Option<u64>,
    /// When an answer was sent the last time, once that is over.
    tried_ms: Option<u64>,
    deletes: bool,
    deleted: bool,
    /// The outcome that was read first.
    outcome: Option<String>,
}

impl Entry {
    /// Whether something was done with it lately; of the others one of twenty.
    fn is_looked_at(&self) -> bool {
        self.tried_ms.is_none_or(|at| now_ms() < at + LATELY_MS) || random().is_multiple_of(20)
    }
}

/// Which sessions are compared with what is known.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Which {
    /// Those that a fault may have met, and some others: the rounds stay as short as they were.
    Lately,
    All,
}

/// What all clients know.
struct Load<'n> {
    addresses: Vec<SocketAddr>,
    api_key: &'n str,
    wallet: Wallet,
    entries: Mutex<Vec<Entry>>,
    /// When the database was well again after it had crashed.
    crashed_ms: AtomicU64,
    stops: AtomicBool,
}

#[test]
fn whatever_dies_nothing_acknowledged_is_lost_and_every_session_has_one_outcome() {
    let permissive =
        [("IDGATE_WEBHOOK_ALLOW_CIDRS", "127.0.0.0/8"), ("IDGATE_WEBHOOK_ALLOW_HTTP", "true")];
    let Some(mut nodes) = Nodes::start_with(3, &permissive) else { return };
    let receiver = Receiver::start();
    nodes.nodes[0].installation.run_json(&["webhook-host", "approve", "127.0.0.1", "--json"]);
    nodes.wait("at first");
    let api_key = nodes.client.api_key.clone();
    let put = Request::new("PUT", "/v1/webhook-endpoint").bearer(&api_key);
    let put = put.json(&json!({ "url": receiver.url("/hook") }));
    Http::new(nodes.nodes[0].address).send(&put).expect_status(200);
    let load = Load {
        addresses: nodes.addresses(),
        api_key: &api_key,
        wallet: sample_wallet(),
        entries: Mutex::default(),
        crashed_ms: AtomicU64::new(0),
        stops: AtomicBool::new(false),
    };
    thread::scope(|scope| {
        // A panic below ends the load, too, or the scope would wait for it for ever.
        let _ends = Ends(&load.stops);
        for _ in 0..CLIENTS {
            scope.spawn(|| load.run());
        }
        for round in 0..rounds() {
            let fault = fault_of(round);
            let when = format!("round {round}, {fault:?}");
            thread::sleep(Duration::from_millis(100 + random() % 400));
            disturb(&mut nodes, fault);
            thread::sleep(Duration::from_millis(100 + random() % 400));
            nodes.wait(&when);
            if matches!(fault, Fault::KilledDatabase | Fault::KilledBackend) {
                load.crashed_ms.store(now_ms(), Ordering::SeqCst);
            }
            load.check(&when, Which::Lately);
            if round % 10 == 9 {
                expect_intact(&nodes, &when);
            }
        }
    });
    let settled = load.verified();
    assert!(settled.len() > rounds() * 4, "too little load: {} sessions", settled.len());
    load.check("at last", Which::All);
    expect_intact(&nodes, "at last");
    expect_one_outcome(&nodes);
    thread::sleep(Duration::from_millis(READABLE_MS));
    load.expect_no_claims();
    let verified = "SELECT id FROM sessions WHERE status = 'VERIFIED'";
    let verified = nodes.cluster.run(&nodes.url(), verified);
    let verified: Vec<String> = verified.lines().map(str::to_owned).collect();
    assert!(settled.iter().all(|id| verified.contains(id)), "{settled:?} {verified:?}");
    expect_all_told(&receiver, &verified);
}

/// Ends the load when it is dropped.
struct Ends<'l>(&'l AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

fn disturb(nodes: &mut Nodes, fault: Fault) {
    let url = nodes.url();
    let chosen = usize::try_from(random() % 3).unwrap();
    let pause = Duration::from_millis(random() % 1500);
    match fault {
        Fault::KilledNode => {
            nodes.nodes[chosen].kill();
            thread::sleep(pause);
            nodes.nodes[chosen].serve();
        }
        Fault::KilledBackend => nodes.cluster.kill_backend(&url),
        Fault::KilledDatabase => {
            nodes.cluster.kill();
            thread::sleep(pause);
            nodes.cluster.restart();
        }
        Fault::CutConnections => {
            nodes.nodes[chosen].proxy.cut();
            thread::sleep(pause);
            nodes.nodes[chosen].proxy.pass();
        }
        Fault::FrozenConnections => {
            nodes.nodes[chosen].proxy.freeze();
            thread::sleep(pause);
            nodes.nodes[chosen].proxy.pass();
        }
        Fault::LostCommit => {
            nodes.nodes[chosen].proxy.lose_the_next_commit();
            thread::sleep(Duration::from_millis(200));
            nodes.nodes[chosen].proxy.pass();
        }
        Fault::FrozenNode => {
            nodes.nodes[chosen].signal("STOP");
            thread::sleep(STILL);
            nodes.nodes[chosen].signal("CONT");
        }
    }
}

impl Load<'_> {
    /// Makes sessions and answers them until it is told to stop.
    fn run(&self) {
        let mut wallets: Vec<Http> =
            self.addresses.iter().map(|address| Http::new(*address)).collect();
        while !self.stops.load(Ordering::SeqCst) {
            if self.one_session(&mut wallets).is_none() {
                // Whoever it was is down, or says 503.
                thread::sleep(Duration::from_millis(20));
            }
        }
    }

    /// `None`: nothing was acknowledged.
    fn one_session(&self, wallets: &mut [Http]) -> Option<()> {
        let create = Request::post("/v1/sessions").bearer(self.api_key);
        let create = create.json(&request_for(&["given_name", "family_name"]));
        let created = sent(any(wallets), &create)?;
        let created = Created::of(created.expect_status(201).json());
        let index = self.add(created.id.clone());
        if random().is_multiple_of(8) {
            return Some(());
        }
        let body = form(&self.wallet, &created);
        self.note(index, |entry| entry.answered = true);
        let accepted = if random().is_multiple_of(4) {
            at_once(wallets, &created, &body)
        } else {
            one_after_another(wallets, &created, &body)
        };
        if accepted {
            self.note(index, |entry| entry.verified_ms = Some(now_ms()));
        } else {
            self.note(index, |entry| entry.tried_ms = Some(now_ms()));
        }
        if random().is_multiple_of(8) {
            self.note(index, |entry| entry.deletes = true);
            let delete = Request::delete(format!("/v1/sessions/{}", created.id));
            if let Some(answer) = sent(any(wallets), &delete.bearer(self.api_key)) {
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
            answered: false,
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

    /// The sessions whose answer was acknowledged and that nobody deleted.
    fn verified(&self) -> Vec<String> {
        let entries = self.entries.lock().unwrap();
        let kept = entries.iter().filter(|entry| entry.verified_ms.is_some() && !entry.deletes);
        kept.map(|entry| entry.id.clone()).collect()
    }

    /// These sessions are as they were acknowledged, as some node says.
    #[track_caller]
    fn check(&self, when: &str, which: Which) {
        let known = self.entries.lock().unwrap().clone();
        let mut readers: Vec<Tenant> =
            self.addresses.iter().map(|address| self.tenant(*address)).collect();
        for (index, entry) in known.iter().enumerate() {
            if which == Which::Lately && !entry.is_looked_at() {
                continue;
            }
            let reader = usize::try_from(random() % 3).unwrap();
            let asked_ms = now_ms();
            let answer = read(&mut readers[reader], &entry.id, when);
            // The load goes on: what it has begun meanwhile may be seen already.
            let later = self.entries.lock().unwrap()[index].clone();
            let Entry { answered, tried_ms, deletes, .. } = later;
            let entry = Entry { answered, tried_ms, deletes, ..entry.clone() };
            let crashed_ms = self.crashed_ms.load(Ordering::SeqCst);
            let outcome = expect_as_known(&entry, &answer, (asked_ms, crashed_ms), when);
            self.note(index, |entry| entry.outcome = entry.outcome.take().or(outcome));
        }
    }

    /// Through any node.
    fn expect_no_claims(&self) {
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

/// What a node says of a session. All are ready: what says 503 all the same says so for a moment.
#[track_caller]
fn read(tenant: &mut Tenant, id: &str, when: &str) -> Response {
    let begun = Instant::now();
    let request = Request::get(format!("/v1/sessions/{id}")).bearer(&tenant.api_key);
    loop {
        match tenant.http.try_send(&request) {
            Ok(answer) if answer.status != 503 => return answer,
            unwell => {
                let lasting = begun.elapsed() > Duration::from_secs(30);
                assert!(!lasting, "{when}: {id} cannot be read: {unwell:?}");
                thread::sleep(Duration::from_millis(50));
            }
        }
    }
}

/// Compares a session with what its tenant knows; gives its outcome if it has one.
#[track_caller]
fn expect_as_known(
    entry: &Entry,
    answer: &Response,
    times: (u64, u64),
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
            assert!(entry.answered, "{when}: {session}");
            expect_claims(entry, &session, times, when);
        }
        _ => panic!("{when}: {entry:?} became {session}"),
    }
    let known = entry.outcome.as_deref().unwrap_or(status);
    assert_eq!(known, status, "{when}: {session} has two outcomes");
    Some(status.to_owned())
}

#[track_caller]
fn expect_claims(entry: &Entry, session: &Value, (asked_ms, crashed_ms): (u64, u64), when: &str) {
    let claims = json!({ "pid": { "family_name": "Mustermann", "given_name": "Erika" } });
    match session.get("claims") {
        Some(shown) => {
            assert_eq!(*shown, claims, "{when}");
            let until = entry.verified_ms.map(|at| at + READABLE_MS);
            let until = until.or(entry.tried_ms.map(|at| at + LATE_MS + READABLE_MS));
            let is_in_time = until.is_none_or(|until| asked_ms < until);
            assert!(is_in_time, "{when}: claims are shown too long: {session}");
        }
        None => {
            let fresh = entry.verified_ms.is_some_and(|at| now_ms() < at + SURELY_READABLE_MS);
            let is_lost = session["claims_lost"] == true;
            assert!(!fresh || is_lost, "{when}: claims are gone: {session}");
            let crashed_since = entry.verified_ms.is_none_or(|at| at < crashed_ms);
            assert!(!is_lost || crashed_since, "{when}: nothing crashed since: {session}");
        }
    }
}

fn any(wallets: &mut [Http]) -> &mut Http {
    let chosen = usize::try_from(random()).unwrap_or(0) % wallets.len();
    &mut wallets[chosen]
}

/// The answer, unless there is none or it says that nothing was done.
fn sent(http: &mut Http, request: &Request) -> Option<Response> {
    http.try_send(request).ok().filter(|answer| answer.status != 503)
}

/// Asks one node after another until one says what became of the answer; whether it was taken.
fn one_after_another(wallets: &mut [Http], created: &Created, body: &Body) -> bool {
    let request = answer_request(&created.id, body);
    for _ in 0..20 {
        match sent(any(wallets), &request).map(|answer| answer.status) {
            Some(200) => return true,
            Some(409) => return false,
            Some(other) => panic!("{}: {other}", created.id),
            None => thread::sleep(Duration::from_millis(50)),
        }
    }
    false
}

/// Asks all nodes at once: at most one takes it.
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

#[track_caller]
fn expect_intact(nodes: &Nodes, when: &str) {
    let intact = nodes.nodes[0].installation.run(&["audit", "verify"]);
    assert_eq!(intact.code, 0, "{when}: {intact:?}");
}

/// In the rows and in the audit log.
fn expect_one_outcome(nodes: &Nodes) {
    let settled = "'\"(VERIFIED|FAILED|EXPIRED)\"'";
    let count = |sql: &str| nodes.cluster.run(&nodes.url(), sql);
    let twice = format!("SELECT count(*) FROM sessions WHERE regexp_count(events, {settled}) > 1");
    assert_eq!(count(&twice), "0");
    let recorded = "SELECT count(*) FROM (SELECT FROM audit_entries WHERE \
                    fields::json ->> 'status' IN ('VERIFIED', 'FAILED', 'EXPIRED') \
                    GROUP BY fields::json ->> 'session_id' HAVING count(*) > 1) AS twice";
    assert_eq!(count(recorded), "0");
}

/// What a node was about to send when it died is sent by another when its lease is over.
fn expect_all_told(receiver: &Receiver, settled: &[String]) {
    let begun = Instant::now();
    loop {
        let told = receiver.sessions();
        let missing: Vec<&String> = settled.iter().filter(|id| !told.contains(id)).collect();
        if missing.is_empty() {
            return;
        }
        let over = begun.elapsed() > Duration::from_secs(120);
        assert!(!over, "{} of {} were not told: {missing:?}", missing.len(), settled.len());
        thread::sleep(Duration::from_millis(200));
    }
}

fn random() -> u64 {
    RandomState::new().hash_one(())
}
