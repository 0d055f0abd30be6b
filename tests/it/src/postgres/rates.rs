//! What a client may do at several nodes together, while they start one after another.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::nodes::Nodes;
use crate::http::{Http, Request};
use crate::tenant::request_for;

/// A test client's sessions: at once, and in so many seconds again.
const BURST: u64 = 25;
const WINDOW: u64 = 5;
const NODES: usize = 4;

#[test]
fn nodes_that_start_within_seconds_grant_a_client_no_more_than_twice_its_limit() {
    let Some(mut nodes) = Nodes::start_with(NODES, &[("IDGATE_RATE_LIMITS", "on")]) else { return };
    for node in &mut nodes.nodes {
        node.server.take().unwrap().stop();
    }
    let (granted, stops) = (AtomicU64::new(0), AtomicBool::new(false));
    let (addresses, api_key) = (nodes.addresses(), nodes.client.api_key.clone());
    let begun = Instant::now();
    thread::scope(|scope| {
        for address in &addresses {
            scope.spawn(|| {
                let mut http = Http::new(*address);
                let create = Request::post("/v1/sessions").bearer(&api_key);
                let create = create.json(&request_for(&["given_name"]));
                while !stops.load(Ordering::SeqCst) {
                    match http.try_send(&create).map(|answer| answer.status) {
                        Ok(201) => drop(granted.fetch_add(1, Ordering::SeqCst)),
                        // It is not there yet, or it was too much.
                        _ => thread::sleep(Duration::from_millis(5)),
                    }
                    let twice = 2 * (BURST + BURST * (begun.elapsed().as_secs() + 1) / WINDOW);
                    assert!(granted.load(Ordering::SeqCst) <= twice, "{twice} at most");
                }
            });
        }
        thread::scope(|starting| {
            for (n, node) in (0_u64..).zip(&mut nodes.nodes) {
                starting.spawn(move || {
                    thread::sleep(Duration::from_millis(300 * n));
                    node.serve();
                });
            }
        });
        thread::sleep(Duration::from_secs(4));
        stops.store(true, Ordering::SeqCst);
    });
    let least = BURST / 2;
    let granted = granted.load(Ordering::SeqCst);
    assert!(granted >= least, "{granted}: too little to show anything");
}
