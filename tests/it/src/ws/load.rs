//! Many readers: some disconnect and reconnect, and some never read.

use std::net::{Ipv4Addr, SocketAddr};
use std::thread;
use std::time::Duration;

use idgate_testkit::patience::patience;
use idgate_testkit::seed::{Random, seed};
use socket2::{Domain, Socket, Type};

use super::*;
use crate::disk;
use crate::metrics::seen;
use crate::server::{Installation, eventually, free_address};
use crate::tenant::{Created, Gateway, form, request_for, sample_wallet};

/// Sessions that are read at the same time. Each reader disconnects 1000 times over all of them.
const SESSIONS: usize = 10;
const BREAKS: usize = 100;
/// Events of each session in addition to its own: more than a page, written during the test.
const EXTRA: i64 = 300;

#[test]
fn readers_that_reconnect_1000_times_get_every_event_once() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    let sessions: Vec<Created> =
        (0..SESSIONS).map(|_| tenant.create(&request_for(&["given_name"]))).collect();
    let (gateway, seed) = (&gateway, seed());
    let breaks = thread::scope(|scope| {
        let readers: Vec<_> = sessions
            .iter()
            .enumerate()
            .map(|(n, created)| {
                scope.spawn(move || read_in_pieces(gateway, created, Random::of_thread(seed, n)))
            })
            .collect();
        // Another process writes, as if each session had been held and released again and again.
        append_events(gateway, &sessions);
        let wallet = sample_wallet();
        for created in &sessions {
            tenant.post_answer(&created.id, &form(&wallet, created)).expect_status(200);
        }
        readers.into_iter().map(|reader| reader.join().unwrap()).sum::<usize>()
    });
    assert!(breaks >= 1000, "only {breaks}");
}

fn append_events(gateway: &Gateway, sessions: &[Created]) {
    let database = gateway.installation.data_dir().join("idgate.db");
    let mut main = rusqlite::Connection::open(database).unwrap();
    main.busy_timeout(patience()).unwrap();
    for seq in 3..3 + EXTRA {
        let transaction =
            main.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).unwrap();
        for created in sessions {
            let status = if seq % 2 == 0 { "PENDING" } else { "VERIFYING" };
            transaction
                .execute(
                    "UPDATE sessions SET events = events || json_array(?2, NULL, 0) || ',' \
                     WHERE id = ?1",
                    (&created.id, status),
                )
                .unwrap();
        }
        transaction.commit().unwrap();
    }
}

/// Reads a session to its end over connections that break at some byte. Returns how often they
/// broke.
fn read_in_pieces(gateway: &Gateway, created: &Created, mut random: Random) -> usize {
    let mut seen = Vec::new();
    let mut breaks = 0;
    loop {
        let after = u64::try_from(seen.len()).unwrap();
        let key = &gateway.client.api_key;
        let mut stream = Stream::open_after(gateway.server.address, &created.id, key, after);
        // Messages until the break, which is usually in the middle of one; the last time there is
        // no break.
        let whole = if breaks < BREAKS { random.below(5) } else { u64::MAX };
        for _ in 0..whole {
            match stream.next() {
                Got::Status(message) => seen.push(message),
                Got::Close(Some(1000)) => {
                    // The end came too early: start again from somewhere.
                    if breaks >= BREAKS {
                        check(gateway, created, &seen);
                        return breaks;
                    }
                    break;
                }
                // Too many at this moment: the gateway has not noticed all broken connections yet.
                // Or it waited too long for this reader.
                Got::Close(Some(1013 | 4408)) => break,
                other => panic!("{other:?}"),
            }
        }
        let part = random.index(100);
        stream.0.get_ref().set_read_timeout(Some(Duration::from_millis(1))).unwrap();
        let _ = stream.0.read(&mut vec![0; part]);
        breaks += 1;
        if breaks % 10 == 0 {
            seen.truncate(random.index(seen.len() + 1));
        }
    }
}

/// The received events equal the stored ones.
fn check(gateway: &Gateway, created: &Created, seen: &[Value]) {
    let stored = disk::events(&gateway.installation.data_dir(), &created.id);
    let seen: Vec<(i64, String)> = seen
        .iter()
        .map(|it| (it["seq"].as_i64().unwrap(), it["status"].as_str().unwrap().to_owned()))
        .collect();
    assert_eq!(seen, stored);
    assert!(stored.len() > usize::try_from(EXTRA).unwrap());
}

const STALLED: u16 = 500;

/// A gateway whose clock stands still, and its sessions.
fn frozen() -> (Gateway, Vec<Created>) {
    let gateway = Gateway::start_on(Installation::new().with_machine());
    gateway.installation.machine().freeze();
    let mut tenant = gateway.tenant();
    let sessions = (0..100).map(|_| tenant.create(&request_for(&["given_name"]))).collect();
    (gateway, sessions)
}

/// Lets new streams read their sessions for the first time.
fn look(gateway: &Gateway) {
    gateway.server.rest();
    gateway.installation.machine().jump(Duration::from_millis(10));
}

/// Readers of these sessions that never read.
fn stall(gateway: &Gateway, sessions: &[Created]) -> Vec<Stream> {
    let stalled = (0..STALLED).map(|n| {
        let from = Ipv4Addr::new(127, 0, 0, 2 + u8::try_from(n % 3).unwrap());
        stalled(gateway, from, &sessions[usize::from(n % 100)].id)
    });
    let stalled = stalled.collect();
    look(gateway);
    stalled
}

fn settle(gateway: &Gateway, sessions: &[Created]) {
    let (mut tenant, wallet) = (gateway.tenant(), sample_wallet());
    for created in sessions {
        tenant.post_answer(&created.id, &form(&wallet, created)).expect_status(200);
    }
}

#[test]
fn stalled_readers_from_three_addresses_do_not_affect_others() {
    let (gateway, sessions) = frozen();
    let stalled = stall(&gateway, &sessions);
    let mut tenant = gateway.tenant();
    let made = gateway.installation.run_json(&["admin-token", "create", "--json"]);
    let token = made["admin_token"].as_str().unwrap();
    let open = || seen(&mut gateway.http(), token, "idgate_ws_streams").unwrap();
    // All are open, and the client has no place left.
    eventually("all streams are open", || open() == u64::from(STALLED));
    let extra = tenant.create(&request_for(&["given_name"]));
    let one_more = Stream::open(gateway.server.address, &extra.id, &gateway.client.api_key);
    look(&gateway);
    assert_eq!(one_more.close(), Some(1013));
    for _ in 0..50 {
        tenant.create(&request_for(&["given_name"]));
    }
    assert_eq!(open(), u64::from(STALLED), "they are still there");
    // A writer that waited for a reader would wait forever, because no time passes.
    settle(&gateway, &sessions[..50]);
    tenant.create(&request_for(&["given_name"]));
    drop(stalled);
}

/// The system gives such a reader any port, for example the gateway's number.
#[test]
fn an_unread_answer_to_a_client_with_the_gateways_port_is_not_work() {
    let gateway = Gateway::start();
    let address = gateway.server.address;
    let own = SocketAddr::new(free_address().ip(), address.port());
    let client = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    client.bind(&own.into()).unwrap();
    client.connect(&address.into()).unwrap();
    let mut client = TcpStream::from(client);
    client.set_read_timeout(Some(patience())).unwrap();
    client.write_all(&Request::get("/healthz").encode(address)).unwrap();
    // The answer has arrived and stays unread.
    assert_eq!(client.peek(&mut [0]).unwrap(), 1);
    gateway.server.rest();
}

#[test]
#[ignore = "before a release: measures memory"]
fn stalled_readers_cost_little_memory() {
    let (gateway, sessions) = frozen();
    let (settled, open) = sessions.split_at(20);
    settle(&gateway, settled);
    let before = gateway.server.resident();
    let stalled = stall(&gateway, &sessions);
    settle(&gateway, &open[..50]);
    let grown = gateway.server.resident().saturating_sub(before);
    println!("{} KiB for {STALLED} readers", grown >> 10);
    assert!(grown <= 32 << 20, "{} KiB for {STALLED} readers", grown >> 10);
    drop(stalled);
}

/// A stream from this address whose reader never reads.
fn stalled(gateway: &Gateway, from: Ipv4Addr, session: &str) -> Stream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    // The smallest that the system allows.
    socket.set_recv_buffer_size(1).unwrap();
    socket.bind(&SocketAddr::from((from, 0)).into()).unwrap();
    socket.connect(&gateway.server.address.into()).unwrap();
    socket.set_read_timeout(Some(patience())).unwrap();
    let (host, key) = (gateway.server.address, &gateway.client.api_key);
    Stream::on(socket.into(), host, &format!("{session}/ws"), key).unwrap()
}
