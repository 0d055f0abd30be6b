//! Of any number of answers at once, on whichever nodes, exactly one settles the session.

use std::sync::Barrier;
use std::thread;

use idgate_testkit::wallet::Body;

use super::nodes::Nodes;
use crate::http::Http;
use crate::tenant::{Created, Tenant, answer_request, form, request_for, sample_wallet};

const POSTS: usize = 64;

fn sessions() -> usize {
    if std::env::var_os("IDGATE_LONG").is_some() { 200 } else { 25 }
}

#[test]
fn of_64_answers_at_once_over_three_nodes_exactly_one_is_a_200() {
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

/// The same answer from every wallet at once; the status that each was told.
fn post_at_once(wallets: &mut [Http], created: &Created, body: &Body) -> Vec<u16> {
    let start = Barrier::new(wallets.len());
    let post = |http: &mut Http| {
        start.wait();
        http.try_send(&answer_request(&created.id, body)).map_or(0, |answer| answer.status)
    };
    thread::scope(|scope| {
        let post = &post;
        let posting: Vec<_> =
            wallets.iter_mut().map(|http| scope.spawn(move || post(http))).collect();
        posting.into_iter().map(|post| post.join().unwrap()).collect()
    })
}
