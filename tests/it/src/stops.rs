//! The end of a server as its clients see it: whatever was sent is answered.

use std::io::{BufReader, ErrorKind, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use crate::http::{Http, Request, connect, read_response};
use crate::server::{Installation, Server, eventually};
use crate::tenant::Gateway;

/// Busy clients beside one that stops the server, and how often it does.
const CLIENTS: usize = 16;
const STOPS: usize = 15;

/// What a client saw until nobody listened any more.
#[derive(Default)]
struct Seen {
    answered: usize,
    /// What became of requests that were sent and not answered.
    unanswered: Vec<String>,
}

/// Sends requests as fast as they are answered, on connections that it keeps or does not keep.
fn keep_busy(address: SocketAddr, keeps: bool) -> Seen {
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
                let stays = answer.header("connection").is_none_or(|value| value != "close");
                connection = stays.then_some(stream);
            }
            Err(error) => seen.unanswered.push(error.to_string()),
        }
    }
}

/// Stops a server beside busy clients; gives what they saw.
fn stop_beside_busy_clients(installation: &Installation) -> Seen {
    let server = installation.serve();
    let address = server.address;
    let mut all = Seen::default();
    thread::scope(|scope| {
        let clients: Vec<_> =
            (0..CLIENTS).map(|n| scope.spawn(move || keep_busy(address, n % 4 != 0))).collect();
        thread::sleep(Duration::from_millis(200));
        server.terminate();
        for client in clients {
            let seen = client.join().unwrap();
            all.answered += seen.answered;
            all.unanswered.extend(seen.unanswered);
        }
    });
    assert_eq!(server.wait().0.code(), Some(0));
    all
}

#[test]
fn a_stop_leaves_no_request_of_a_busy_client_unanswered() {
    let installation = Installation::new().with("IDGATE_LOG", "warn");
    let mut all = Seen::default();
    for _ in 0..STOPS {
        let seen = stop_beside_busy_clients(&installation);
        all.answered += seen.answered;
        all.unanswered.extend(seen.unanswered);
    }
    assert_eq!(all.unanswered, [""; 0], "of {} answered", all.answered);
    assert!(all.answered > STOPS * CLIENTS, "{}", all.answered);
}

/// Whether `GET /readyz` says that the server is ready, and its last answer's `Connection`.
fn readiness(server: &Server) -> (u16, Option<String>) {
    let answer = Http::new(server.address).send(&Request::get("/readyz"));
    (answer.status, answer.header("connection").map(str::to_owned))
}

#[test]
fn a_gateway_that_is_to_stop_is_not_ready_and_answers_until_the_drain_delay_is_over() {
    let installation = Installation::new().with("IDGATE_DRAIN_DELAY", "2");
    let Gateway { server, installation: _directory, .. } = Gateway::start_on(installation);
    assert_eq!(readiness(&server), (200, None));
    server.terminate();
    let begun = Instant::now();
    eventually("not ready", || readiness(&server).0 == 503);
    assert_eq!(readiness(&server), (503, Some("close".into())));
    let mut last = Duration::ZERO;
    while let Ok(mut stream) = TcpStream::connect(server.address) {
        if stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: g\r\n\r\n").is_ok() {
            last = begun.elapsed();
        }
        thread::sleep(Duration::from_millis(20));
    }
    assert!(last > Duration::from_millis(1800), "{last:?}");
    assert_eq!(server.wait().0.code(), Some(0));
}

#[test]
fn the_drain_delay_is_five_seconds_behind_a_proxy_and_none_without() {
    for (behind, expected) in [("true", 5..12), ("false", 0..5)] {
        let installation = Installation::new().with("IDGATE_BEHIND_TLS_PROXY", behind);
        let server = installation.serve();
        server.terminate();
        let begun = Instant::now();
        server.wait();
        assert!(expected.contains(&begun.elapsed().as_secs()), "{behind}: {:?}", begun.elapsed());
    }
}
