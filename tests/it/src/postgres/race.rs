//! Of any number of concurrent answers, on any nodes, exactly one settles the session. Of any
//! number of concurrent requests with one Idempotency-Key, exactly one creates it.

use std::collections::BTreeSet;
use std::sync::Barrier;
use std::thread;

use idgate_testkit::patience::eventually_some;
use idgate_testkit::wallet::Body;

use super::nodes::Nodes;
use crate::http::{Http, Request};
use crate::tenant::{Created, Tenant, answer_request, form, request_for, sample_wallet};

const POSTS: usize = 64;

fn sessions() -> usize {
    if std::env::var_os("IDGATE_LONG").is_some() { 200 } else { 25 }
}

#[test]
fn of_64_concurrent_answers_over_three_nodes_exactly_one_is_a_200() {
    let Some(nodes) = Nodes::start(3) else { return };
    let addresses = nodes.addresses();
    let api_key = nodes.client.api_key.clone();
    let mut tenant = Tenant { http: Http::new(addresses[0]), api_key };
    let wallet = sample_wallet();
    let mut wallets: Vec<Http> =
        addresses.iter().cycle().take(POSTS).map(|address| Http::new(*address)).collect();
    for _ in 0..sessions() {
        let created = tenant.create(&request_for(&["given_name"]));
        let body = form(&wallet, &created);
        let mut answers = post_at_once(&mut wallets, &created, &body);
        answers.sort_unstable();
        assert_eq!((answers[0], answers.len()), (200, POSTS), "{answers:?}");
        assert!(answers[1..].iter().all(|status| *status == 409), "{answers:?}");
        assert_eq!(tenant.read(&created.id)["status"], "VERIFIED");
    }
    let sql = "SELECT count(*) FROM sessions WHERE events LIKE '%VERIFIED%VERIFIED%'";
    assert_eq!(nodes.cluster.run(&nodes.url(), sql), "0", "a session was VERIFIED twice");
    let intact = nodes.nodes[0].installation.run(&["audit", "verify"]);
    assert_eq!(intact.code, 0, "{intact:?}");
}

/// Whichever node is first, there is one session, and both nodes answer the same.
#[test]
fn concurrent_requests_with_one_idempotency_key_create_one_session_over_two_nodes() {
    let Some(nodes) = Nodes::start(2) else { return };
    let body = request_for(&["given_name"]);
    for round in 0..sessions() {
        let request = Request::post("/v1/sessions")
            .bearer(&nodes.client.api_key)
            .header("Idempotency-Key", format!("order-{round}"))
            .json(&body);
        let start = Barrier::new(4);
        let send = |address| {
            let mut http = Http::new(address);
            start.wait();
            decided(|| Some(http.send(&request)).filter(|answer| answer.status != 503))
                .expect_status(201)
                .body
        };
        let bodies: BTreeSet<Vec<u8>> = thread::scope(|scope| {
            let addresses = nodes.addresses().into_iter().cycle().take(4);
            let sending: Vec<_> =
                addresses.map(|address| scope.spawn(move || send(address))).collect();
            sending.into_iter().map(|one| one.join().unwrap()).collect()
        });
        assert_eq!(bodies.len(), 1, "{round}");
        let made = nodes.cluster.run(&nodes.url(), "SELECT count(*) FROM sessions");
        assert_eq!(made, (round + 1).to_string());
    }
    // Another body with the same key is rejected on either node.
    for address in nodes.addresses() {
        let other = Request::post("/v1/sessions")
            .bearer(&nodes.client.api_key)
            .header("Idempotency-Key", "order-0")
            .json(&request_for(&["birthdate"]));
        Http::new(address).send(&other).expect_error(400, "invalid_request");
    }
}

/// The first answer that is not 503. An overloaded node decides nothing, and the same request is
/// sent again.
fn decided<T>(send: impl FnMut() -> Option<T>) -> T {
    eventually_some("a node decides", send)
}

/// The same answer from every wallet concurrently. Returns the status for each.
fn post_at_once(wallets: &mut [Http], created: &Created, body: &Body) -> Vec<u16> {
    let start = Barrier::new(wallets.len());
    let post = |http: &mut Http| {
        start.wait();
        let mut send =
            || http.try_send(&answer_request(&created.id, body)).map_or(0, |it| it.status);
        decided(|| Some(send()).filter(|status| *status != 503))
    };
    thread::scope(|scope| {
        let post = &post;
        let posting: Vec<_> =
            wallets.iter_mut().map(|http| scope.spawn(move || post(http))).collect();
        posting.into_iter().map(|post| post.join().unwrap()).collect()
    })
}
