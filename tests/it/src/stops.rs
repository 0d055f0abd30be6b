//! The shutdown of a server as its clients see it: every request that was sent is answered.

use std::io::{BufReader, ErrorKind, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::http::{Http, Request, connect, read_response};
use crate::machine::Machine;
use crate::server::{Installation, Server, eventually};
use crate::tenant::Gateway;

/// The number of busy clients during a shutdown, and of shutdowns.
const CLIENTS: usize = 16;
const STOPS: usize = 15;

/// The longest shutdown without a delay, which is less than the delay behind a proxy.
const STOPPING: Duration = Duration::from_secs(4);

/// Longer than a listener continues when its server stops. A silent connection then has a second.
const LISTENING: Duration = Duration::from_millis(60);
/// Many times shorter.
const MOMENT: Duration = Duration::from_millis(1);

/// Answers before a shutdown, of all clients together.
const BEFORE: usize = 4 * CLIENTS;

/// A client's observations until nothing listened any more.
#[derive(Default)]
struct Seen {
    answered: usize,
    /// The errors of requests that were sent and not answered.
    unanswered: Vec<String>,
}

/// Sends requests as fast as they are answered, on connections that it keeps or not.
fn keep_busy(address: SocketAddr, keeps: bool, answers: &AtomicUsize) -> Seen {
    let mut seen = Seen::default();
    let header = if keeps { "" } else { "Connection: close\r\n" };
    let request = format!("GET /healthz HTTP/1.1\r\nHost: g\r\n{header}\r\n");
    let mut connection: Option<BufReader<TcpStream>> = None;
    loop {
        let mut stream = match connection.take() {
            Some(stream) => stream,
            None => match connect(address) {
                Ok(stream) => BufReader::new(stream),
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => return seen,
                Err(error) => panic!("{error}"),
            },
        };
        let sent = stream.get_mut().write_all(request.as_bytes());
        match sent.and_then(|()| read_response(&mut stream, "GET")) {
            Ok(answer) => {
                seen.answered += 1;
                answers.fetch_add(1, Ordering::Relaxed);
                let stays = answer.header("connection").is_none_or(|value| value != "close");
                connection = stays.then_some(stream);
            }
            Err(error) => seen.unanswered.push(error.to_string()),
        }
    }
}

/// Lets a stopping server close its listener. Before that it accepts every connection that has
/// begun: time passes only in moments while there are any, and with many answers in between.
fn stop_listening(server: &Server, machine: &Machine, answers: &AtomicUsize) {
    let (mut before, mut has_rested) = (answers.load(Ordering::Relaxed), false);
    eventually("nothing listens", || {
        let now = answers.load(Ordering::Relaxed);
        if server.is_at_rest() {
            machine.jump(LISTENING);
            has_rested = true;
        } else if now > before + BEFORE {
            machine.jump(MOMENT);
            before = now;
        }
        has_rested && !server.listens()
    });
}

/// Stops a server while clients are busy. Returns what they saw.
fn stop_beside_busy_clients(installation: &Installation) -> Seen {
    let (server, machine) = (installation.serve(), installation.machine());
    let address = server.address;
    let (mut all, answers) = (Seen::default(), AtomicUsize::new(0));
    let server = thread::scope(|scope| {
        // Killed if this panics, so that the clients end.
        let server = server;
        let busy = |n| keep_busy(address, n % 4 != 0, &answers);
        let clients: Vec<_> = (0..CLIENTS).map(|n| scope.spawn(move || busy(n))).collect();
        eventually("the clients are busy", || answers.load(Ordering::Relaxed) > BEFORE);
        machine.freeze();
        server.terminate();
        stop_listening(&server, machine, &answers);
        // No time passes, so no connection sends its last request too late.
        for client in clients {
            let seen = client.join().unwrap();
            all.answered += seen.answered;
            all.unanswered.extend(seen.unanswered);
        }
        server
    });
    assert_eq!(server.ends_within(machine, STOPPING).code(), Some(0));
    machine.thaw();
    all
}

#[test]
fn a_shutdown_answers_every_request_of_busy_clients() {
    let installation = Installation::new().with("IDGATE_LOG", "warn").with_machine();
    let mut all = Seen::default();
    for _ in 0..STOPS {
        let seen = stop_beside_busy_clients(&installation);
        all.answered += seen.answered;
        all.unanswered.extend(seen.unanswered);
    }
    assert_eq!(all.unanswered, [""; 0], "of {} answered", all.answered);
    assert!(all.answered > STOPS * CLIENTS, "{}", all.answered);
}

/// The status of `GET /readyz`, and the `Connection` header of its last answer.
fn readiness(server: &Server) -> (u16, Option<String>) {
    let answer = Http::new(server.address).send(&Request::get("/readyz"));
    (answer.status, answer.header("connection").map(str::to_owned))
}

#[test]
fn a_draining_gateway_is_not_ready_but_still_answers() {
    let installation = Installation::new().with("IDGATE_DRAIN_DELAY", "2");
    let Gateway { server, installation, .. } = Gateway::start_on(installation.with_machine());
    // The store has a second for its probe.
    installation.machine().freeze();
    assert_eq!(readiness(&server), (200, None));
    expect_end_after(server, installation.machine(), Duration::from_secs(2));
}

/// Stops a server: it is not ready but still answers until this time has passed, give or take 100
/// ms, and then ends.
fn expect_end_after(server: Server, machine: &Machine, delay: Duration) {
    let tenth = Duration::from_millis(100);
    machine.freeze();
    server.terminate();
    eventually("not ready", || readiness(&server).0 == 503);
    assert_eq!(readiness(&server), (503, Some("close".into())));
    server.pass(machine, delay - tenth);
    assert_eq!(readiness(&server), (503, Some("close".into())));
    machine.jump(2 * tenth);
    assert_eq!(server.ends_within(machine, STOPPING).code(), Some(0));
}

#[test]
fn the_drain_delay_is_five_seconds_behind_a_proxy_and_none_without() {
    let behind = |proxy| Installation::new().with("IDGATE_BEHIND_TLS_PROXY", proxy).with_machine();
    let installation = behind("true");
    expect_end_after(installation.serve(), installation.machine(), Duration::from_secs(5));
    let installation = behind("false");
    let server = installation.serve();
    installation.machine().freeze();
    server.terminate();
    assert_eq!(server.ends_within(installation.machine(), STOPPING).code(), Some(0));
}
