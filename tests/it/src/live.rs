//! `idgate doctor --live`: the check that a container runs on itself. TLS is tested in `tls`.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use crate::at_rest::{ends_within, is_at_rest};
use crate::server::{Installation, Output, eventually};

/// How long the check waits for an answer.
const LONGEST: Duration = Duration::from_secs(3);

/// Checks a gateway at this listen address.
fn ask(installation: &Installation, listen: impl ToString) -> Output {
    installation.run(&["doctor", "--live", "--json", "--listen", &listen.to_string()])
}

/// Checks a program that accepts the request, sends `bytes` over the whole time, and never finishes
/// its answer.
fn ask_in_vain(bytes: &[u8]) -> Output {
    let installation = Installation::new().with_machine();
    let machine = installation.machine();
    machine.freeze();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = listener.local_addr().unwrap().to_string();
    let mut command = installation.command(&["doctor", "--live", "--json", "--listen", &listen]);
    let mut asking = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (mut stream, _) = listener.accept().unwrap();
    assert!(stream.read(&mut [0; 1024]).unwrap() > 0);
    let pid = asking.id();
    let waits = || eventually("it waits for the answer", || is_at_rest(pid));
    waits();
    let steps = u32::try_from(bytes.len() + 1).unwrap();
    for byte in bytes {
        machine.jump(LONGEST / steps);
        stream.write_all(&[*byte]).unwrap();
        waits();
    }
    machine.jump(LONGEST - LONGEST / steps * (steps - 1));
    ends_within(&mut asking, None, machine, Duration::ZERO);
    Output::of(asking.wait_with_output().unwrap())
}

#[track_caller]
fn refused(output: &Output, why: &str) {
    let report = output.json();
    assert_eq!((output.code, &report["ok"]), (3, &false.into()), "{output:?}");
    assert_eq!(report["checks"].as_array().unwrap().len(), 1, "{report}");
    assert!(report["checks"][0]["message"].as_str().unwrap().contains(why), "{report}");
}

/// A program that is not a gateway, with its behaviour for each connection.
fn other(does: impl Fn(std::net::TcpStream) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || listener.incoming().flatten().for_each(does));
    address
}

#[test]
fn the_live_check_tells_a_running_gateway_from_a_stopped_one() {
    let installation = Installation::new();
    let server = installation.serve();
    let output = ask(&installation, server.address);
    assert_eq!((output.code, &output.json()["ok"]), (0, &true.into()), "{output:?}");
    // It listens on all addresses, including the machine's own.
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
fn the_live_check_fails_for_a_gateway_that_never_answers() {
    refused(&ask_in_vain(b""), "no answer within 3 s");
}

/// Each byte comes in time, and the answer never ends.
#[test]
fn the_live_check_does_not_wait_for_a_slow_answer() {
    refused(&ask_in_vain(b"HTTP/1.1 200 OK"), "no answer within 3 s");
}

#[test]
fn the_live_check_fails_for_another_program_on_the_port() {
    for answer in ["HTTP/1.1 503 Service Unavailable\r\n\r\n", "SSH-2.0-other\r\n", ""] {
        let address = other(move |mut stream| {
            let _ = stream.read(&mut [0; 1024]);
            let _ = stream.write_all(answer.as_bytes());
        });
        refused(&ask(&Installation::new(), address), "not that of a healthy idgate");
    }
}

#[test]
fn the_live_check_names_missing_settings() {
    refused(&ask(&Installation::new(), "127.0.0.1:0"), "name a port");
    refused(&ask(&Installation::new(), "everywhere"), "IDGATE_LISTEN");
    assert_eq!(Installation::new().run(&["doctor", "--live", "--deep"]).code, 2);
}
