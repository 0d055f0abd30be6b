//! Receivers that misbehave in every way at the same time, and one healthy receiver. The gateway's
//! clock moves only when the test moves it, so the verdict does not depend on the machine's load.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use super::receiver::Receiver;
use super::{approve, deliver, failures, permissive, put_url, settle};
use crate::server::eventually;
use crate::tenant::Gateway;

/// What both kernels may buffer between two sockets of one machine, in addition to what the gateway
/// takes.
const IN_BUFFERS: u64 = 8 * 1024 * 1024;

/// The behaviour of a receiver on a connection. Returns how many bytes it sent.
type Conduct = fn(&mut TcpStream, &Pace) -> u64;

struct Hostile {
    name: &'static str,
    scheme: &'static str,
    conduct: Conduct,
    /// Whether it uses all the time that an exchange may take.
    holds: bool,
    /// The error that the tenant reads if delivery fails; none: delivered.
    fails: bool,
}

const fn hostile(
    name: &'static str,
    scheme: &'static str,
    conduct: Conduct,
    holds: bool,
    fails: bool,
) -> Hostile {
    Hostile { name, scheme, conduct, holds, fails }
}

const HOSTILE: [Hostile; 8] = [
    hostile("drips a head", "http", drip_head, true, true),
    hostile("drips a body", "http", drip_body, true, true),
    hostile("has a body of 1 GiB", "http", huge_body, false, false),
    hostile("has 10 000 headers", "http", many_headers, false, true),
    hostile("has a gzip bomb", "http", gzip_bomb, false, false),
    hostile("switches protocols", "http", switch, false, true),
    hostile("never ends a handshake", "https", handshake, false, true),
    hostile("says nothing", "http", silence, true, true),
];

/// One hostile receiver's connections.
#[derive(Default)]
struct Seen {
    connections: AtomicU64,
    ended: AtomicU64,
    most_bytes: AtomicU64,
}

/// The progress of slow receivers: they send when the test says so.
#[derive(Default)]
struct Pace {
    drips: Mutex<u64>,
    more: Condvar,
}

impl Pace {
    fn drip(&self) {
        *self.drips.lock().unwrap() += 1;
        self.more.notify_all();
    }

    /// The number of drips so far, once it exceeds `seen`.
    fn wait(&self, seen: u64) -> u64 {
        *self.more.wait_while(self.drips.lock().unwrap(), |drips| *drips <= seen).unwrap()
    }

    fn now(&self) -> u64 {
        *self.drips.lock().unwrap()
    }
}

#[test]
fn hostile_receivers_are_cut_off_after_15_s_and_delay_no_one_else() {
    besiege();
}

#[test]
#[ignore = "before a release: measures memory"]
fn hostile_receivers_cost_little_memory() {
    let grown = besiege();
    println!("{grown} KiB");
    assert!(grown < 32 * 1024, "{grown} KiB");
}

/// Returns by how many KiB the gateway grew.
fn besiege() -> u64 {
    let gateway = Gateway::start_on(permissive().with_machine());
    let machine = gateway.installation.machine();
    approve(&gateway, "127.0.0.1");
    let well = Receiver::start();
    let good = gateway.installation.create_client("good", true);
    let mut good = gateway.tenant_of(&good);
    put_url(&mut good, &well.url("/")).expect_status(200);
    let before = gateway.server.resident_kib();
    let pace = Arc::<Pace>::default();
    let mut attacked: Vec<_> = HOSTILE
        .iter()
        .map(|hostile| {
            let (seen, port) = start(hostile.conduct, &pace);
            let client = gateway.installation.create_client(hostile.name, true);
            let mut tenant = gateway.tenant_of(&client);
            let url = format!("{}://127.0.0.1:{port}/", hostile.scheme);
            put_url(&mut tenant, &url).expect_status(200);
            (hostile, seen, tenant)
        })
        .collect();
    machine.freeze();
    for (_, _, tenant) in &mut attacked {
        settle(tenant);
        settle(tenant);
    }
    let begun = machine.now_ms();
    for (hostile, seen, _) in &attacked {
        deliver(&gateway, hostile.name, || seen.connections.load(Ordering::SeqCst) > 0);
    }
    for n in 1..=20 {
        settle(&mut good);
        deliver(&gateway, "the well receiver hears", || well.all().len() >= n);
    }
    // The healthy receiver has received everything, and the others hold their exchange until 15 s
    // are over.
    while machine.now_ms() - begun < 14_000 {
        pace.drip();
        gateway.server.rest();
        machine.jump(Duration::from_millis(500));
    }
    gateway.server.rest();
    let ended = |seen: &Seen| seen.ended.load(Ordering::SeqCst);
    for (hostile, seen, _) in attacked.iter().filter(|(hostile, ..)| hostile.holds) {
        assert_eq!(ended(seen), 0, "{}: given up too early", hostile.name);
    }
    machine.jump(Duration::from_millis(2000));
    for (hostile, seen, tenant) in &mut attacked {
        eventually(hostile.name, || {
            pace.drip();
            ended(seen) > 0
        });
        let bytes = seen.most_bytes.load(Ordering::SeqCst);
        assert!(bytes < IN_BUFFERS, "{}: {bytes} bytes", hostile.name);
        if !hostile.fails {
            assert!(failures(tenant).is_empty(), "{}", hostile.name);
        }
    }
    gateway.server.resident_kib().saturating_sub(before)
}

fn start(conduct: Conduct, pace: &Arc<Pace>) -> (Arc<Seen>, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let seen = Arc::new(Seen::default());
    let (shared, pace) = (seen.clone(), pace.clone());
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (seen, pace) = (shared.clone(), pace.clone());
            thread::spawn(move || {
                let mut stream = stream;
                seen.connections.fetch_add(1, Ordering::SeqCst);
                let bytes = conduct(&mut stream, &pace);
                seen.most_bytes.fetch_max(bytes, Ordering::SeqCst);
                seen.ended.fetch_add(1, Ordering::SeqCst);
            });
        }
    });
    (seen, port)
}

/// Sends until the gateway closes. Returns how many bytes.
fn flood(stream: &mut TcpStream, head: &[u8], block: &[u8], blocks: usize) -> u64 {
    let _ = stream.read(&mut [0; 4096]);
    let mut sent = 0;
    for bytes in std::iter::once(head).chain(std::iter::repeat_n(block, blocks)) {
        if stream.write_all(bytes).is_err() {
            return sent;
        }
        sent += u64::try_from(bytes.len()).unwrap();
    }
    sent + linger(stream)
}

/// Sends a little at each drip until the gateway closes. Returns how many bytes.
fn drip(stream: &mut TcpStream, pace: &Pace, head: &[u8], block: &[u8]) -> u64 {
    let _ = stream.read(&mut [0; 4096]);
    let (mut sent, mut drips) = (0, pace.now());
    let mut bytes = head;
    while stream.write_all(bytes).is_ok() {
        sent += u64::try_from(bytes.len()).unwrap();
        drips = pace.wait(drips);
        bytes = block;
    }
    sent
}

/// Waits until the gateway closes.
fn linger(stream: &mut TcpStream) -> u64 {
    while stream.read(&mut [0; 4096]).is_ok_and(|read| read > 0) {}
    0
}

fn drip_head(stream: &mut TcpStream, pace: &Pace) -> u64 {
    drip(stream, pace, b"HTTP/1.1 200 OK\r\nX: ", b"x")
}

fn drip_body(stream: &mut TcpStream, pace: &Pace) -> u64 {
    drip(stream, pace, b"HTTP/1.1 200 OK\r\nContent-Length: 4000\r\n\r\n", b"x")
}

fn huge_body(stream: &mut TcpStream, _: &Pace) -> u64 {
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n";
    flood(stream, head, &[b'x'; 64 * 1024], 16 * 1024)
}

fn many_headers(stream: &mut TcpStream, _: &Pace) -> u64 {
    flood(stream, b"HTTP/1.1 200 OK\r\n", b"X-Header: 1\r\n", 10_000)
}

fn gzip_bomb(stream: &mut TcpStream, _: &Pace) -> u64 {
    let head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 1048576\r\n\r\n\
                 \x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03";
    flood(stream, head, &[0; 64 * 1024], 16)
}

fn switch(stream: &mut TcpStream, pace: &Pace) -> u64 {
    let head = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n";
    drip(stream, pace, head, b"x")
}

/// TLS handshake records that belong to one message of 16 MiB.
fn handshake(stream: &mut TcpStream, pace: &Pace) -> u64 {
    let begin = b"\x16\x03\x03\x00\x04\x02\xff\xff\xff";
    drip(stream, pace, begin, b"\x16\x03\x03\x00\x01\x00")
}

fn silence(stream: &mut TcpStream, _: &Pace) -> u64 {
    linger(stream)
}
