//! `idgate doctor --live`: what a container asks itself. TLS in-process: `tls`.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::thread;
use std::time::{Duration, Instant};

use crate::server::{Installation, Output};

/// A health check that takes longer is none.
const LONGEST: Duration = Duration::from_secs(5);

/// Asks where the gateway is said to be.
fn ask(installation: &Installation, listen: impl ToString) -> Output {
    let started = Instant::now();
    let output = installation.run(&["doctor", "--live", "--json", "--listen", &listen.to_string()]);
    assert!(started.elapsed() < LONGEST, "{:?}", started.elapsed());
    output
}

#[track_caller]
fn refused(output: &Output, why: &str) {
    let report = output.json();
    assert_eq!((output.code, &report["ok"]), (3, &false.into()), "{output:?}");
    assert_eq!(report["checks"].as_array().unwrap().len(), 1, "{report}");
    assert!(report["checks"][0]["message"].as_str().unwrap().contains(why), "{report}");
}

/// A program that is no gateway: what it does with each connection.
fn other(does: impl Fn(std::net::TcpStream) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || listener.incoming().flatten().for_each(does));
    address
}

#[test]
fn a_gateway_that_runs_is_alive_and_one_that_ended_is_not() {
    let installation = Installation::new();
    let server = installation.serve();
    let output = ask(&installation, server.address);
    assert_eq!((output.code, &output.json()["ok"]), (0, &true.into()), "{output:?}");
    // As it is told to listen: on all addresses, of which this machine's own is one.
    let listen = format!("0.0.0.0:{}", server.address.port());
    let behind = Installation::new()
        .with("IDGATE_LISTEN", &listen)
        .with("IDGATE_BASE_URL", "https://gateway.example")
        .with("IDGATE_BEHIND_TLS_PROXY", "true");
    let output = behind.run(&["doctor", "--live"]);
    assert_eq!(output.code, 0, "{output:?}");
    let installation = Installation::at_one_address();
    let server = installation.serve();
    let address = server.address;
    assert_eq!(ask(&installation, address).code, 0);
    server.stop();
    refused(&ask(&installation, address), "no connection");
}

#[test]
fn one_that_takes_connections_and_never_answers_is_not_alive() {
    let kept = TcpListener::bind("127.0.0.1:0").unwrap();
    refused(&ask(&Installation::new(), kept.local_addr().unwrap()), "no answer within 3 s");
}

/// Each byte comes in time, and the answer never does.
#[test]
fn one_that_answers_byte_by_byte_is_not_waited_for() {
    let address = other(|mut stream| {
        for byte in b"HTTP/1.1 200 OK".iter().cycle() {
            thread::sleep(Duration::from_millis(200));
            if stream.write_all(&[*byte]).is_err() {
                return;
            }
        }
    });
    refused(&ask(&Installation::new(), address), "no answer within 3 s");
}

#[test]
fn another_program_at_its_place_is_not_taken_for_it() {
    for answer in ["HTTP/1.1 503 Service Unavailable\r\n\r\n", "SSH-2.0-other\r\n", ""] {
        let address = other(move |mut stream| {
            let _ = stream.read(&mut [0; 1024]);
            let _ = stream.write_all(answer.as_bytes());
        });
        refused(&ask(&Installation::new(), address), "something else");
    }
}

#[test]
fn settings_that_do_not_say_where_it_is_are_told() {
    refused(&ask(&Installation::new(), "127.0.0.1:0"), "name a port");
    refused(&ask(&Installation::new(), "everywhere"), "IDGATE_LISTEN");
    assert_eq!(Installation::new().run(&["doctor", "--live", "--deep"]).code, 2);
}
