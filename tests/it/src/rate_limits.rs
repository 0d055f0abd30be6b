//! Rate limits of the real binary (decisions 15). Other tests show exact bursts in virtual time.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::thread;
use std::time::Duration;

use crate::http::{Http, Request, connect};
use crate::server::{Installation, Server};
use crate::tenant::{Gateway, request_for};

/// Memory of the whole process, including the limits.
const MAX_RSS_KIB: u64 = 128 * 1024;
/// Requests that are sent before their answers are read.
const PIPELINED: u32 = 250;
const THREADS: u32 = 4;

fn limited() -> Installation {
    Installation::new().with("IDGATE_RATE_LIMITS", "on").with_machine()
}

/// A gateway whose clock stands still, so no limit refills.
fn frozen(installation: Installation) -> Gateway {
    let gateway = Gateway::start_on(installation);
    gateway.installation.machine().freeze();
    gateway
}

fn behind_a_proxy() -> Installation {
    limited().with("IDGATE_TRUSTED_PROXIES", "127.0.0.1").with("IDGATE_LOG", "warn")
}

#[test]
fn a_rate_limited_client_gets_retry_after() {
    let gateway = frozen(limited());
    let mut tenant = gateway.tenant();
    let mut created = 0;
    let refused = loop {
        let answer = tenant.post_session(&request_for(&["given_name"]));
        if answer.status == 429 {
            break answer;
        }
        answer.expect_status(201);
        created += 1;
    };
    // 25 immediately in test mode, and 5 more per second.
    assert_eq!(created, 25);
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(refused.header("ratelimit"), Some("\"create\";r=0;t=1"));
    assert_eq!(refused.header("ratelimit-policy"), Some("\"create\";q=25;w=5"));
    refused.expect_error(429, "rate_limited");
    gateway.installation.machine().jump(Duration::from_secs(1));
    for _ in 0..5 {
        tenant.create(&request_for(&["given_name"]));
    }
    tenant.post_session(&request_for(&["given_name"])).expect_error(429, "rate_limited");
    // Other requests and other clients have their own limits.
    tenant.get("ses_x").expect_error(404, "not_found");
    let other = gateway.installation.create_client("other", true);
    gateway.tenant_of(&other).create(&request_for(&["given_name"]));
}

#[test]
fn key_guessing_is_limited_without_affecting_key_owners() {
    let gateway = frozen(limited());
    let mut stranger = gateway.http();
    let guess = Request::get("/v1/sessions/x").header("X-Forwarded-For", "192.0.2.1");
    let mut refused = 0;
    while stranger.send(&guess).status == 401 {
        refused += 1;
        assert!(refused < 100, "never limited");
    }
    assert_eq!(refused, 30);
    // If the interface has no 429 there, the connection is closed. The limit is per address.
    let closed = (0..100).any(|_| {
        let answer = stranger.send(&Request::get("/v1/audit-log")).expect_status(401);
        answer.header("connection") == Some("close")
    });
    assert!(closed);
    gateway.tenant().create(&request_for(&["given_name"]));
}

/// Guesses twenty times from each of the networks. Returns how many guesses were not limited.
fn guesses(http: &mut Http, networks: impl Iterator<Item = String>) -> u64 {
    let mut passed = 0;
    for network in networks {
        for host in 0..20 {
            let peer = format!("{network}::{host:x}");
            let guess = Request::get("/v1/sessions/x").header("X-Forwarded-For", &peer);
            passed += u64::from(http.send(&guess).status == 401);
        }
    }
    passed
}

#[test]
fn ipv6_limits_cover_whole_56_and_48_networks() {
    let gateway = frozen(behind_a_proxy());
    let mut http = gateway.http();
    // A /64 has 30, which none of these uses up; a /56 has 120, a /48 has 480.
    let of_56 = guesses(&mut http, (0..15).map(|n| format!("2001:db8:1:1{n:02x}")));
    let of_48 = of_56 + guesses(&mut http, (2..35).map(|n| format!("2001:db8:1:{n:02x}00")));
    assert_eq!((of_56, of_48), (120, 480));
    // And 4 or 16 more with every second.
    gateway.installation.machine().jump(Duration::from_secs(2));
    let of_56 = guesses(&mut http, (0..15).map(|n| format!("2001:db8:1:1{n:02x}")));
    let of_48 = of_56 + guesses(&mut http, (2..35).map(|n| format!("2001:db8:1:{n:02x}00")));
    assert_eq!((of_56, of_48), (8, 32));
    // The next /48 is another party.
    assert_eq!(guesses(&mut http, std::iter::once("2001:db8:2:100".to_owned())), 20);
}

/// Sends one request without a key for each of the peers from `first` to `last`.
fn knock(address: SocketAddr, first: u32, last: u32) {
    let mut stream = connect(address).unwrap();
    let mut received = Vec::new();
    for start in (first..last).step_by(PIPELINED as usize) {
        let peers = start..(start + PIPELINED).min(last);
        let mut expected = peers.len();
        let mut requests = String::new();
        for peer in peers {
            let peer = Ipv4Addr::from_bits(0x0b00_0000 + peer);
            requests.push_str(&format!(
                "GET /v1/sessions/x HTTP/1.1\r\nHost: g\r\nX-Forwarded-For: {peer}\r\n\r\n"
            ));
        }
        stream.write_all(requests.as_bytes()).unwrap();
        while expected > 0 {
            let mut buffer = [0; 65536];
            let read = stream.read(&mut buffer).unwrap();
            assert!(read > 0, "the connection ended");
            received.extend_from_slice(&buffer[..read]);
            expected -= take_answers(&mut received);
        }
    }
}

/// Takes whole answers from the front, which must all be 401. Returns how many.
fn take_answers(received: &mut Vec<u8>) -> usize {
    // Every answer is a head and the same body, which ends in the only brace.
    let last = received.iter().rposition(|byte| *byte == b'}').map_or(0, |at| at + 1);
    let text = String::from_utf8(received.drain(..last).collect()).unwrap();
    let answers = text.matches("HTTP/1.1 ").count();
    assert_eq!(text.matches("HTTP/1.1 401 ").count(), answers, "{text}");
    answers
}

fn peak_rss_kib(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// This many peers follow one that has used up its limit. Returns the gateway, and how many
/// requests that one then has.
fn knock_by(peers: u32) -> (Gateway, usize) {
    let gateway = frozen(behind_a_proxy());
    let address = gateway.server.address;
    let guess = || Request::get("/v1/sessions/x").header("X-Forwarded-For", "198.51.100.1");
    let mut http = gateway.http();
    while http.send(&guess()).status == 401 {}
    thread::scope(|scope| {
        let share = peers / THREADS;
        for n in 0..THREADS {
            scope.spawn(move || knock(address, n * share, (n + 1) * share));
        }
    });
    let passed = (0..40).take_while(|_| http.send(&guess()).status == 401).count();
    gateway.tenant().create(&request_for(&["given_name"]));
    (gateway, passed)
}

#[test]
fn a_limited_peer_stays_limited_when_many_others_follow() {
    assert_eq!(knock_by(20_000).1, 0);
}

#[test]
#[ignore = "before a release: measures memory"]
fn any_number_of_peers_uses_bounded_memory() {
    let long = std::env::var_os("IDGATE_LONG").is_some();
    let peers = if long { 1_000_000 } else { 100_000 };
    let (gateway, passed) = knock_by(peers);
    let rss = peak_rss_kib(&gateway.server);
    println!("{rss} KiB after {peers} peers");
    assert!(rss <= MAX_RSS_KIB, "{rss} KiB after {peers} peers");
    assert_eq!(passed, 0);
}
