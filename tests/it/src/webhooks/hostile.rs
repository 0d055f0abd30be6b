//! Receivers that do their worst, all at once, beside one that is well.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::receiver::Receiver;
use super::{approve, failures, permissive, put_url, settle};
use crate::tenant::Gateway;

/// What an exchange may take, and time to notice.
const LONGEST: Duration = Duration::from_secs(20);
/// What both kernels may hold between two sockets of one machine, besides what the gateway takes.
const IN_BUFFERS: u64 = 8 * 1024 * 1024;

/// What a receiver does with a connection; says how many bytes it got rid of.
type Conduct = fn(&mut TcpStream) -> u64;

struct Hostile {
    name: &'static str,
    scheme: &'static str,
    conduct: Conduct,
    /// What the tenant reads, if anything is given up or tried again; none: delivered.
    fails: bool,
}

const HOSTILE: [Hostile; 8] = [
    Hostile { name: "drips a head", scheme: "http", conduct: drip_head, fails: true },
    Hostile { name: "drips a body", scheme: "http", conduct: drip_body, fails: true },
    Hostile { name: "has a body of 1 GiB", scheme: "http", conduct: huge_body, fails: false },
    Hostile { name: "has 10 000 headers", scheme: "http", conduct: many_headers, fails: true },
    Hostile { name: "has a gzip bomb", scheme: "http", conduct: gzip_bomb, fails: false },
    Hostile { name: "switches protocols", scheme: "http", conduct: switch, fails: true },
    Hostile { name: "never ends a handshake", scheme: "https", conduct: handshake, fails: true },
    Hostile { name: "says nothing", scheme: "http", conduct: silence, fails: true },
];

/// One hostile receiver's connections.
#[derive(Default)]
struct Seen {
    connections: AtomicU64,
    longest_ms: AtomicU64,
    most_bytes: AtomicU64,
}

#[test]
fn hostile_receivers_cost_15_seconds_and_nobody_else_anything() {
    let gateway = Gateway::start_on(permissive());
    approve(&gateway, "127.0.0.1");
    let well = Receiver::start();
    let good = gateway.installation.create_client("good", true);
    let mut good = gateway.tenant_of(&good);
    put_url(&mut good, &well.url("/")).expect_status(200);
    let before = gateway.server.resident_kib();
    let attacked: Vec<_> = HOSTILE
        .iter()
        .map(|hostile| {
            let (seen, port) = start(hostile.conduct);
            let client = gateway.installation.create_client(hostile.name, true);
            let mut tenant = gateway.tenant_of(&client);
            let url = format!("{}://127.0.0.1:{port}/", hostile.scheme);
            put_url(&mut tenant, &url).expect_status(200);
            (hostile, seen, tenant)
        })
        .collect();
    let mut attacked = attacked;
    for (_, _, tenant) in &mut attacked {
        settle(tenant);
        settle(tenant);
    }
    // Meanwhile the well receiver hears at once.
    let began = Instant::now();
    for n in 1..=20 {
        settle(&mut good);
        well.wait_for(n);
    }
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    for (hostile, seen, tenant) in &mut attacked {
        let done = || seen.longest_ms.load(Ordering::SeqCst) > 0;
        let deadline = Instant::now() + LONGEST + LONGEST;
        while !done() {
            assert!(Instant::now() < deadline, "{}: no exchange ended", hostile.name);
            thread::sleep(Duration::from_millis(20));
        }
        let longest = Duration::from_millis(seen.longest_ms.load(Ordering::SeqCst));
        assert!(longest < LONGEST, "{}: {longest:?}", hostile.name);
        let bytes = seen.most_bytes.load(Ordering::SeqCst);
        assert!(bytes < IN_BUFFERS, "{}: {bytes} bytes", hostile.name);
        if !hostile.fails {
            assert!(failures(tenant).is_empty(), "{}", hostile.name);
        }
    }
    let grown = gateway.server.resident_kib().saturating_sub(before);
    assert!(grown < 32 * 1024, "{grown} KiB");
}

fn start(conduct: Conduct) -> (Arc<Seen>, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let seen = Arc::new(Seen::default());
    let shared = seen.clone();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let seen = shared.clone();
            thread::spawn(move || {
                let began = Instant::now();
                let mut stream = stream;
                seen.connections.fetch_add(1, Ordering::SeqCst);
                let bytes = conduct(&mut stream);
                let elapsed = u64::try_from(began.elapsed().as_millis()).unwrap().max(1);
                seen.most_bytes.fetch_max(bytes, Ordering::SeqCst);
                seen.longest_ms.fetch_max(elapsed, Ordering::SeqCst);
            });
        }
    });
    (seen, port)
}

/// Sends until the gateway is gone; says how many bytes.
fn flood(stream: &mut TcpStream, head: &[u8], block: &[u8], blocks: usize, pause: Duration) -> u64 {
    let _ = stream.read(&mut [0; 4096]);
    let mut sent = 0;
    for bytes in std::iter::once(head).chain(std::iter::repeat_n(block, blocks)) {
        if stream.write_all(bytes).is_err() {
            return sent;
        }
        sent += u64::try_from(bytes.len()).unwrap();
        thread::sleep(pause);
    }
    sent + linger(stream)
}

/// Waits until the gateway closes.
fn linger(stream: &mut TcpStream) -> u64 {
    while stream.read(&mut [0; 4096]).is_ok_and(|read| read > 0) {}
    0
}

const DRIP: Duration = Duration::from_millis(200);

fn drip_head(stream: &mut TcpStream) -> u64 {
    flood(stream, b"HTTP/1.1 200 OK\r\nX: ", b"x", 1000, DRIP)
}

fn drip_body(stream: &mut TcpStream) -> u64 {
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 4000\r\n\r\n";
    flood(stream, head, b"x", 1000, DRIP)
}

fn huge_body(stream: &mut TcpStream) -> u64 {
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n";
    flood(stream, head, &[b'x'; 64 * 1024], 16 * 1024, Duration::ZERO)
}

fn many_headers(stream: &mut TcpStream) -> u64 {
    flood(stream, b"HTTP/1.1 200 OK\r\n", b"X-Header: 1\r\n", 10_000, Duration::ZERO)
}

fn gzip_bomb(stream: &mut TcpStream) -> u64 {
    let head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 1048576\r\n\r\n\
                 \x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03";
    flood(stream, head, &[0; 64 * 1024], 16, Duration::ZERO)
}

fn switch(stream: &mut TcpStream) -> u64 {
    let head = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n";
    flood(stream, head, b"x", 1000, DRIP)
}

/// TLS handshake records that belong to one message of 16 MiB.
fn handshake(stream: &mut TcpStream) -> u64 {
    let begin = b"\x16\x03\x03\x00\x04\x02\xff\xff\xff";
    flood(stream, begin, b"\x16\x03\x03\x00\x01\x00", 1000, DRIP)
}

fn silence(stream: &mut TcpStream) -> u64 {
    linger(stream)
}
