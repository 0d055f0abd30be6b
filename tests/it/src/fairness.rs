//! One client at full speed on 200 connections and a well-behaved one, for each tenant route, with
//! the real binary. Every request of the well-behaved client is answered, and memory does not grow.
//! `idgate-bench server` measures how long it waits.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use idgate_store::OperatorStore;
use serde_json::json;

use crate::http::{Http, Request};
use crate::server::{Client, Installation};
use crate::tenant::{Gateway, Tenant, request_for, sample_trust};

const CONNECTIONS: usize = 200;
/// Requests of the well-behaved client during each flood.
const SAMPLES: usize = 60;
/// How often a well-behaved client sends requests, within its limits.
const PAUSE: Duration = Duration::from_millis(20);
/// The address of the well-behaved client. Connections are limited per address, so the two must not
/// share one.
const ELSEWHERE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
/// The resident memory that the flood may add.
const MEMORY_KIB: u64 = 96 * 1024;

/// A gateway with rate limits, a hostile client with as many keys as allowed, and a well-behaved
/// one.
struct Neighbours {
    gateway: Gateway,
    good: Client,
    hostile: Client,
}

impl Neighbours {
    fn new() -> Self {
        let installation = Installation::new().with("IDGATE_RATE_LIMITS", "on").with_machine();
        let good = installation.create_client("good", false);
        let gateway = Gateway::trusting(installation, &sample_trust());
        let hostile = gateway.installation.create_client("hostile", false);
        let mut store =
            OperatorStore::open_existing(&gateway.installation.data_dir(), None).unwrap();
        for _ in 1..100 {
            let now = idgate_core::UnixMillis(crate::tenant::now_ms());
            store.create_key(&hostile.client_id, None, None, now).unwrap();
        }
        Self { gateway, good, hostile }
    }

    /// Serves the well-behaved client while the hostile one sends `request` on all its connections.
    fn besiege(&self, request: &(dyn Fn() -> Request + Sync)) {
        let (stop, answers) = (AtomicBool::new(false), AtomicU64::new(0));
        let server = &self.gateway.server;
        let (address, before) = (server.address, server.descriptors());
        thread::scope(|scope| {
            for _ in 0..CONNECTIONS {
                thread::Builder::new()
                    .stack_size(128 * 1024)
                    .spawn_scoped(scope, || {
                        flood(address, &self.hostile.api_key, request, &stop, &answers)
                    })
                    .unwrap();
            }
            let _stopping = Stopping(&stop);
            crate::server::eventually("the flood is there", || {
                answers.load(Ordering::Relaxed) > 200
            });
            self.serve_the_good_one(&answers);
        });
        // They share one address, which may not have twice as many connections.
        crate::server::eventually("the flood is gone", || {
            server.descriptors() < before + CONNECTIONS / 8
        });
    }

    /// Sends the well-behaved client's requests: it creates sessions, reads them and reads its
    /// audit log. All are answered, and the flood continues all the time.
    fn serve_the_good_one(&self, answers: &AtomicU64) {
        let mut tenant = self.gateway.tenant_of(&self.good);
        tenant.http = Http::from(self.gateway.server.address, ELSEWHERE);
        let before = answers.load(Ordering::Relaxed);
        for n in 0..SAMPLES {
            self.gateway.installation.machine().jump(PAUSE);
            ask(&mut tenant, n);
        }
        let at_the_end = answers.load(Ordering::Relaxed);
        assert!(at_the_end > before, "only the well-behaved client was answered");
    }
}

/// Ends the flood even if the work panics, because the scope waits for its threads.
struct Stopping<'a>(&'a AtomicBool);

impl Drop for Stopping<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Sends one request of the well-behaved client until it is answered.
fn ask(tenant: &mut Tenant, n: usize) {
    let (request, expected) = match n % 3 {
        0 => (Request::post("/v1/sessions").json(&request_for(&["given_name"])), 201),
        1 => (Request::get("/v1/sessions/x"), 404),
        _ => (Request::get("/v1/audit-log?limit=5"), 200),
    };
    let request = request.bearer(&tenant.api_key);
    // A connection may be closed just when it is used again; then the request is repeated.
    let first = tenant.http.try_send(&request);
    first.unwrap_or_else(|_| tenant.http.send(&request)).expect_status(expected);
}

fn flood(
    address: SocketAddr,
    key: &str,
    request: &dyn Fn() -> Request,
    stop: &AtomicBool,
    answers: &AtomicU64,
) {
    let mut http = Http::new(address);
    while !stop.load(Ordering::Relaxed) {
        if http.try_send(&request().bearer(key)).is_ok() {
            answers.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[test]
#[ignore = "before a release: measures memory"]
fn one_client_at_full_speed_affects_neither_others_nor_memory() {
    let neighbours = Neighbours::new();
    let create = || Request::post("/v1/sessions").json(&request_for(&["given_name"]));
    let key = || Request::post("/v1/api-keys").json(&json!({ "scopes": ["session:read"] }));
    let before = neighbours.gateway.server.resident_kib();
    let floods: [(&str, &(dyn Fn() -> Request + Sync)); 8] = [
        ("create", &create),
        ("read", &|| Request::get("/v1/sessions/x")),
        ("delete", &|| Request::delete("/v1/sessions/x")),
        ("list keys", &|| Request::get("/v1/api-keys")),
        ("make keys", &key),
        ("rotate", &|| Request::post("/v1/api-keys/key_x/rotate")),
        ("audit log", &|| Request::get("/v1/audit-log?limit=100")),
        ("failures", &|| Request::get("/v1/webhooks/failures")),
    ];
    for (name, request) in floods {
        println!("{name}");
        neighbours.besiege(request);
    }
    let grown = neighbours.gateway.server.resident_kib().saturating_sub(before);
    println!("{grown} KiB more");
    assert!(grown <= MEMORY_KIB, "{grown} KiB more");
}
