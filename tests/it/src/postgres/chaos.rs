//! Load on three nodes while nodes and the database are killed, connections are cut, commits lose their
//! answers and a node stands still: nothing that was acknowledged is lost, a session has one outcome,
//! every notification arrives, audit chains are intact, and no node shows claims after their time.

mod load;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use self::load::{Load, READABLE_MS, Which, random};
use super::nodes::Nodes;
use crate::http::{Http, Request};
use crate::tenant::now_ms;
use crate::webhooks::receiver::Receiver;

const CLIENTS: usize = 4;
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

/// As many as `IDGATE_ROUNDS` says; else few, or all of them with `IDGATE_LONG`.
fn rounds() -> usize {
    let usual = if std::env::var_os("IDGATE_LONG").is_some() { 200 } else { 8 };
    std::env::var("IDGATE_ROUNDS").map_or(usual, |rounds| rounds.parse().unwrap())
}

/// Of twenty rounds one has a node that stands still; of a short run, the last.
fn fault_of(round: usize) -> Fault {
    if round + 1 == rounds() || round % 20 == 19 {
        return Fault::FrozenNode;
    }
    FAULTS[round % FAULTS.len()]
}

#[test]
#[ignore = "before a release: kills nodes and their database for minutes"]
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
    let load = Load::new(nodes.addresses(), &api_key);
    let begun = Instant::now();
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
            let (made, took) = (load.sessions(), begun.elapsed().as_secs());
            eprintln!("{when}, of {}: {made} sessions so far, {took} s", rounds());
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
