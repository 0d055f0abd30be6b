//! Many readers: those that come and go, and those that never read.

use std::net::{Ipv4Addr, SocketAddr};
use std::thread;
use std::time::{Duration, Instant};

use socket2::{Domain, Socket, Type};

use super::*;
use crate::disk;
use crate::tenant::{Created, Gateway, form, request_for, sample_wallet};

/// Sessions that are read at once; each reader breaks off 1000 times among them all.
const SESSIONS: usize = 10;
const BREAKS: usize = 100;
/// Events of each session besides its own: more than a page, and written meanwhile.
const EXTRA: i64 = 300;

/// A small generator (Knuth's MMIX constants), so that a failure can be repeated.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

#[test]
fn readers_that_break_off_1000_times_miss_nothing_and_see_nothing_twice() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    let sessions: Vec<Created> =
        (0..SESSIONS).map(|_| tenant.create(&request_for(&["given_name"]))).collect();
    let gateway = &gateway;
    let breaks = thread::scope(|scope| {
        let readers: Vec<_> = sessions
            .iter()
            .zip(1..)
            .map(|(created, seed)| {
                scope.spawn(move || read_in_pieces(gateway, created, Random(seed)))
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
    main.busy_timeout(Duration::from_secs(20)).unwrap();
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

/// Reads a session to its end over connections that break off at some byte; gives how often.
fn read_in_pieces(gateway: &Gateway, created: &Created, mut random: Random) -> usize {
    let mut seen = Vec::new();
    let mut breaks = 0;
    loop {
        let after = u64::try_from(seen.len()).unwrap();
        let key = &gateway.client.api_key;
        let mut stream = Stream::open_after(gateway.server.address, &created.id, key, after);
        // Messages until the break, most often in the middle of one; the last time none.
        let whole = if breaks < BREAKS { random.below(5) } else { u64::MAX };
        for _ in 0..whole {
            match stream.next() {
                Got::Status(message) => seen.push(message),
                Got::Close(Some(1000)) => {
                    // To the end too early: again from somewhere.
                    if breaks >= BREAKS {
                        check(gateway, created, &seen);
                        return breaks;
                    }
                    break;
                }
                // Too many for the moment: those that broke off are not all noticed yet.
                Got::Close(Some(1013)) => break,
                other => panic!("{other:?}"),
            }
        }
        let part = usize::try_from(random.below(100)).unwrap();
        stream.0.get_ref().set_read_timeout(Some(Duration::from_millis(1))).unwrap();
        let _ = stream.0.read(&mut vec![0; part]);
        breaks += 1;
        if breaks % 10 == 0 {
            seen.truncate(usize::try_from(random.below(after + 1)).unwrap());
        }
    }
}

/// What was seen is what is stored.
fn check(gateway: &Gateway, created: &Created, seen: &[Value]) {
    let stored = disk::events(&gateway.installation.data_dir(), &created.id);
    let seen: Vec<(i64, String)> = seen
        .iter()
        .map(|it| (it["seq"].as_i64().unwrap(), it["status"].as_str().unwrap().to_owned()))
        .collect();
    assert_eq!(seen, stored);
    assert!(stored.len() > usize::try_from(EXTRA).unwrap());
}

#[test]
fn stalled_readers_from_three_addresses_cost_little_and_harm_nobody() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    let sessions: Vec<Created> =
        (0..100).map(|_| tenant.create(&request_for(&["given_name"]))).collect();
    let before = (gateway.server.resident(), median_create(&gateway));
    let stalled: Vec<Stream> = (0..500u16)
        .map(|n| {
            let from = Ipv4Addr::new(127, 0, 0, 2 + u8::try_from(n % 3).unwrap());
            stalled(&gateway, from, &sessions[usize::from(n % 100)].id)
        })
        .collect();
    // All are open, and the client has no place left.
    let extra = tenant.create(&request_for(&["given_name"]));
    let key = &gateway.client.api_key;
    assert_eq!(Stream::open(gateway.server.address, &extra.id, key).close(), Some(1013));
    let wallet = sample_wallet();
    for created in &sessions[..50] {
        tenant.post_answer(&created.id, &form(&wallet, created)).expect_status(200);
    }
    let after = (gateway.server.resident(), median_create(&gateway));
    let grown = after.0.saturating_sub(before.0);
    assert!(grown <= 32 << 20, "{} KiB for 500 readers", grown >> 10);
    // Generous, because other tests run at the same time; a writer that waits is far beyond it.
    let bearable = before.1 * 5 + Duration::from_millis(20);
    assert!(after.1 <= bearable, "a create takes {:?} instead of {:?}", after.1, before.1);
    drop(stalled);
}

/// A stream from this address whose reader never reads.
fn stalled(gateway: &Gateway, from: Ipv4Addr, session: &str) -> Stream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    // The smallest that the system allows.
    socket.set_recv_buffer_size(1).unwrap();
    socket.bind(&SocketAddr::from((from, 0)).into()).unwrap();
    socket.connect(&gateway.server.address.into()).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let (host, key) = (gateway.server.address, &gateway.client.api_key);
    Stream::on(socket.into(), host, &format!("{session}/ws"), key).unwrap()
}

fn median_create(gateway: &Gateway) -> Duration {
    let mut tenant = gateway.tenant();
    let mut times: Vec<Duration> = (0..51)
        .map(|_| {
            let since = Instant::now();
            tenant.create(&request_for(&["given_name"]));
            since.elapsed()
        })
        .collect();
    times.sort();
    times[25]
}
