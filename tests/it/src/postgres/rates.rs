//! Rate limits across several nodes: a client's, while they start one after another, and a page's,
//! for its browser and for others.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::nodes::Nodes;
use crate::http::{Http, Request};
use crate::server::eventually;
use crate::tenant::{Tenant, request_for};

/// A test client's sessions: this many immediately, and again in this many seconds.
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
    // reason: limits refill with real time; the granted number is read before the time
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
                        // It is not there yet, or the limit was reached.
                        // reason: the pace of a client that is rejected
                        _ => thread::sleep(Duration::from_millis(5)),
                    }
                    let granted = granted.load(Ordering::SeqCst);
                    // reason: an upper bound that only grows while a thread waits for its turn
                    let twice = 2 * (BURST + BURST * (begun.elapsed().as_secs() + 1) / WINDOW);
                    assert!(granted <= twice, "{granted}: {twice} at most");
                }
            });
        }
        thread::scope(|starting| {
            for (n, node) in (0_u64..).zip(&mut nodes.nodes) {
                let granted = &granted;
                starting.spawn(move || {
                    has(granted, 8 * n);
                    node.serve();
                });
            }
        });
        // All of them together take four seconds for these.
        has(&granted, granted.load(Ordering::SeqCst) + 4 * BURST / WINDOW);
        stops.store(true, Ordering::SeqCst);
    });
}

fn has(granted: &AtomicU64, enough: u64) {
    eventually("the client is granted more", || granted.load(Ordering::SeqCst) >= enough);
}

/// A browser's requests for its page: this many immediately, and again in a minute.
const OF_A_PAGE: usize = 60;
/// The same for all other browsers together.
const OF_STRANGERS: usize = 300;

#[test]
fn a_pages_rate_limits_are_shared_by_all_nodes() {
    // Each request comes from another peer, so that only the page's limit applies.
    let settings = [
        ("IDGATE_RATE_LIMITS", "on"),
        ("IDGATE_PAGE", "on"),
        ("IDGATE_TRUSTED_PROXIES", "127.0.0.1/32"),
    ];
    let Some(nodes) = Nodes::start_with(NODES, &settings) else { return };
    let mut https: Vec<Http> = nodes.addresses().into_iter().map(Http::new).collect();
    let mut tenant =
        Tenant { http: Http::new(nodes.addresses()[0]), api_key: nodes.client.api_key.clone() };
    let created = tenant.create(&request_for(&["given_name"]));
    let url = created.answer["page_url"].as_str().unwrap();
    let path = url.strip_prefix("http://localhost:1").unwrap();
    let key = "Ab0123456789abcdefghi1";
    let take = Request::post(format!("{path}/take")).header("Idgate-Page-Key", key);
    let take = take.header("Accept", "application/json");
    https[0].send(&take).expect_status(200);
    // All nodes count in the database. Nothing refills while its clock stands still.
    nodes.cluster.stop_clock(&nodes.url());

    let mut peers = 0_u32;
    let mut exhaust = |own: bool, policy: &str| {
        let all = if own { OF_A_PAGE } else { OF_STRANGERS };
        let mut granted = 0;
        for http in &mut https {
            for asked in 0..=2 * all {
                peers += 1;
                let request = Request::get(format!("{path}/state"));
                let from = format!("198.18.{}.{}", peers / 256, peers % 256);
                let request = request.header("X-Forwarded-For", &from);
                let request = if own { request.header("Idgate-Page-Key", key) } else { request };
                let answer = http.send(&request);
                if answer.status == 429 {
                    assert_eq!(answer.header("ratelimit-policy"), Some(policy));
                    answer.expect_error(429, "rate_limited");
                    break;
                }
                assert!(asked < 2 * all, "there is no limit");
                granted += 1;
            }
        }
        assert!((all - 2..=all).contains(&granted), "{policy}: {granted}");
    };
    exhaust(false, "\"page-token-total\";q=300;w=60");
    exhaust(true, "\"page-browser\";q=60;w=60");
}
