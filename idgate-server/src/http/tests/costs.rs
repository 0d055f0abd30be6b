//! The cost of hostile requests, counted rather than timed. The HTTP layer serves connections in
//! memory on the test's thread, and the work of this thread is counted. For each route that needs
//! no key, the worst known requests are made at a quarter, a half and all of the accepted size. The
//! bounds are those of parsers, see [`idgate_testkit::costs`].
//!
//! A new open route needs another [`Row`].

mod answers;
mod heads;
mod requests;

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use idgate::Fetcher;
use idgate_core::crypto::counting::PROVIDER;
use idgate_testkit::costs::Costs;
use idgate_testkit::keys::Curve;
use idgate_testkit::samples;
use idgate_testkit::time::SAMPLE_NOW_MS;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};
use tokio::runtime::Runtime;
use tokio::sync::watch;

use super::super::{Gateway, HttpLimits, listener};
use crate::app::App;
use crate::config::{Operator, PageRules, RequestMode};
use idgate_base::clock::VirtualClock;
use idgate_store::fixtures::TemporaryStore;

/// Smaller differences of cost are ignored: the cheapest of all responses costs about this much.
const NOISE: u64 = 3_000;
/// The cost of one allocation and its release, in the unit of [`idgate_core::work`].
const ALLOCATION: u64 = 50;
/// Allocated bytes that cost one unit.
const BYTES: u64 = 32;
/// The queues to the store's threads allocate room for many entries at a time, and which queue is
/// used depends on which thread is free. So the number of allocations varies a little.
const QUEUES: u64 = 20 * ALLOCATION;
/// No time limit may affect the result.
const NEVER: Duration = Duration::from_secs(24 * 3600);

/// Makes a request of about this many bytes.
type Generator = Box<dyn FnMut(&World, usize) -> Vec<u8>>;

/// One route, or several that do the same kind of work.
struct Row {
    name: &'static str,
    full: usize,
    /// Valid requests, and their responses.
    valid: Generator,
    status: u16,
    worst: Vec<(&'static str, Generator)>,
}

/// A gateway that trusts the sample issuer.
struct World {
    runtime: Runtime,
    gateway: Gateway,
    store: TemporaryStore,
}

impl World {
    fn new(mode: RequestMode) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let store = TemporaryStore::default();
        let jwk = samples::issuer_key(Curve::P256).public_jwk().to_string();
        store.trust_key(samples::ISSUER, &jwk);
        let clock = Arc::new(VirtualClock::at(super::UnixMillis(SAMPLE_NOW_MS)));
        let fetcher = Fetcher::reaching(&[]);
        let mut app = App::new(store.shared(), clock, PROVIDER, "https://gateway.example", fetcher);
        app.request_mode = mode;
        app.pages = Some(PageRules { turning: true, operator: Operator::default() });
        app.verification_time = NEVER;
        let limits = HttpLimits {
            header_timeout: NEVER,
            body_timeout: NEVER,
            request_timeout: NEVER,
            verification_timeout: NEVER,
            write_timeout: NEVER,
            ..HttpLimits::default()
        };
        let gateway = Gateway::new(Arc::new(app), limits, Vec::new()).with_rate_limits(false);
        Self { runtime, gateway, store }
    }

    /// Creates a session that asks for these claims; returns its id and the wallet's link.
    fn session(&self, claims: &[&str]) -> (String, String) {
        let asked = json!({ "credentials": [{
            "id": "pid", "format": "vc+sd-jwt", "issuer_id": samples::ISSUER, "claims": claims,
        }] });
        let (caller, asked) = (self.store.caller(), asked.to_string());
        let made = self.gateway.app.create_session(&caller, asked.as_bytes());
        let invitation = self.runtime.block_on(made).unwrap().invitation;
        (invitation.session_id.to_string(), invitation.qr_code_url)
    }

    /// The response to a request on its own connection, and its cost.
    fn send(&self, request: &[u8]) -> (String, u64) {
        let peer = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let slot = self.gateway.connections.admit(peer, false).ok().unwrap();
        let (_go_on, stop) = watch::channel(false);
        // The whole request is available before a byte of it is read, and there is room for the
        // response, so the HTTP layer waits only for the store.
        let (near, mut far) = duplex(request.len() + 64 * 1024);
        self.runtime.block_on(far.write_all(request)).unwrap();
        let serving = listener::requests(&self.gateway, near, &slot, stop);
        let before = idgate_core::work::counted();
        let allocated = allocation_counter::measure(|| drop(self.runtime.block_on(serving)));
        let steps = idgate_core::work::counted().wrapping_sub(before);
        let cost = steps + allocated.count_total * ALLOCATION + allocated.bytes_total / BYTES;
        let mut answer = String::new();
        self.runtime.block_on(far.read_to_string(&mut answer)).unwrap();
        (answer, cost)
    }

    /// The body of a response.
    fn get(&self, path: &str) -> String {
        let (answer, _) = self.send(&request("GET", path, "", b""));
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        answer.split_once("\r\n\r\n").unwrap().1.to_owned()
    }

    fn json(&self, path: &str) -> Value {
        serde_json::from_str(&self.get(path)).unwrap()
    }
}

/// A request that closes its connection.
fn request(method: &str, path: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\n\
         Content-Length: {}\r\n{headers}\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

fn post(path: &str, content_type: &str, body: &[u8]) -> Vec<u8> {
    request("POST", path, &format!("Content-Type: {content_type}\r\n"), body)
}

const FORM: &str = "application/x-www-form-urlencoded";
const JSON: &str = "application/json";

/// Posts each body to a path.
fn posts(path: &str, content_type: &'static str, make: fn(usize) -> Vec<u8>) -> Generator {
    let path = path.to_owned();
    Box::new(move |_, size| post(&path, content_type, &make(size)))
}

fn status(answer: &str) -> u16 {
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}

impl Row {
    fn costs(&self, world: &World, generate: &mut Generator, expected: Option<u16>) -> Costs {
        let sizes = [self.full / 4, self.full / 2, self.full];
        // Not counted: the first request initializes things for those that follow.
        world.send(&generate(world, sizes[0]));
        let costs = sizes.map(|size| {
            let (answer, cost) = world.send(&generate(world, size));
            let found = status(&answer);
            assert!(found < 500 && found != 429, "{}: {answer}", self.name);
            assert!(expected.is_none_or(|it| it == found), "{}: {answer}", self.name);
            cost
        });
        Costs(costs.to_vec())
    }

    /// The cost of every request in the row, valid ones first.
    fn all_costs(&mut self, world: &World) -> Vec<(&'static str, Costs)> {
        let mut valid = std::mem::replace(&mut self.valid, Box::new(|_, _| Vec::new()));
        let mut worst = std::mem::take(&mut self.worst);
        let expected = Some(self.status);
        let mut all = vec![("good", self.costs(world, &mut valid, expected))];
        for (title, generate) in &mut worst {
            all.push((title, self.costs(world, generate, None)));
        }
        (self.valid, self.worst) = (valid, worst);
        all
    }
}

fn rows(mode: RequestMode, world: &World) -> Vec<Row> {
    match mode {
        RequestMode::Inline => {
            let (session, _) = world.session(&["given_name"]);
            vec![
                answers::in_json(&session),
                answers::in_a_form(&session),
                heads::heads(&session),
                heads::pages(&session),
                heads::bodies_without_key(),
            ]
        }
        RequestMode::Jar => vec![requests::request_object(world), requests::response_jwe(world)],
    }
}

#[test]
fn every_open_route_is_linear_and_costs_at_most_three_times_a_valid_request() {
    let (mut table, mut wrong) = (String::new(), Vec::new());
    for mode in [RequestMode::Inline, RequestMode::Jar] {
        let world = World::new(mode);
        for mut row in rows(mode, &world) {
            let all = row.all_costs(&world);
            let good = all[0].1.clone();
            for (title, costs) in all {
                let line = costs.line(row.name, title, &good);
                eprintln!("{line}");
                table.extend([line.as_str(), "\n"]);
                let excess = costs.excess(&good, NOISE);
                wrong.extend(excess.map(|what| format!("{}, {title}: {what}", row.name)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}\n{table}", wrong.join("\n"));
}

#[test]
fn two_gateways_with_the_same_requests_have_the_same_costs() {
    let all = || -> Vec<_> {
        let costs = |mode| {
            let world = World::new(mode);
            let rows = rows(mode, &world).into_iter();
            rows.map(|mut row| (row.name, row.all_costs(&world))).collect::<Vec<_>>()
        };
        [RequestMode::Inline, RequestMode::Jar].into_iter().flat_map(costs).collect()
    };
    all();
    for ((row, one), (_, other)) in all().into_iter().zip(all()) {
        for ((title, one), (_, other)) in one.iter().zip(&other) {
            let same =
                one.0.iter().zip(&other.0).all(|(one, other)| one.abs_diff(*other) <= QUEUES);
            assert!(same, "{row}, {title}: {one:?}, {other:?}");
        }
    }
}

/// Checks the counter itself: it must see the work of the HTTP layer.
#[test]
fn a_longer_body_and_one_more_verification_cost_more() {
    let world = World::new(RequestMode::Inline);
    let costs = answers::in_a_form(&world.session(&["given_name"]).0).all_costs(&world);
    let good = &costs[0].1.0;
    // The presentation and its key binding have one signature each.
    assert!(good[0] > 2 * 60_000 && good[2] > good[0] + 300 * 1024, "{good:?}");
    let (_, Costs(to_nobody)) = costs.last().unwrap();
    assert!(to_nobody[2] < good[2] / 2, "{to_nobody:?}");
}
