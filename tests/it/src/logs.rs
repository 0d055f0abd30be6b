//! Logging cannot harm the gateway: it serves and stops whatever stderr is, and unauthenticated
//! requests do not fill the volume.

use std::fs::File;
use std::io::{self, Write as _};
use std::net::TcpListener;
use std::os::fd::AsFd as _;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::at_rest::ends_within;
use crate::http::{Http, Request};
use crate::server::{Client, Installation, eventually, free_address};
use crate::tenant::{
    Gateway, Tenant, answer_request, form, request_for, sample_trust, sample_wallet,
};

/// Far longer than stopping takes, and far shorter than the drain timeout.
const PROMPT: Duration = Duration::from_secs(10);

/// An installation whose server logs as much as possible.
struct Talkative {
    installation: Installation,
    client: Client,
    admin_token: String,
}

impl Talkative {
    fn new() -> Self {
        let installation = Installation::new().with("IDGATE_LOG", "trace").with_machine();
        let client = installation.create_client("shop", true);
        installation.trust(&sample_trust(), &[]);
        let made = installation.run_json(&["admin-token", "create", "--json"]);
        let admin_token = made["admin_token"].as_str().unwrap().to_owned();
        Self { installation, client, admin_token }
    }

    /// Serves with `stderr`: creates sessions, checks that lost lines are counted, and stops with
    /// SIGTERM.
    fn serves_and_stops(&self, what: &str, stderr: impl Into<Stdio>, loses: bool) {
        let server = self.installation.serve_with_stderr(stderr);
        let mut tenant =
            Tenant { http: Http::new(server.address), api_key: self.client.api_key.clone() };
        let lost = || {
            let request = Request::get("/metrics").bearer(&self.admin_token);
            let text = Http::new(server.address).send(&request).expect_status(200).body;
            let text = String::from_utf8(text).unwrap();
            let value = text.lines().find_map(|line| line.strip_prefix(LOST)).unwrap();
            value.trim().parse::<u64>().unwrap()
        };
        // Many times the capacity of a pipe.
        for _ in 0..500 {
            tenant.create(&request_for(&["given_name"]));
        }
        if loses {
            eventually(&format!("{what}: lines are lost"), || lost() > 0);
        }
        tenant.create(&request_for(&["given_name"]));
        let machine = self.installation.machine();
        machine.freeze();
        server.terminate();
        drop(tenant);
        assert_eq!(server.ends_within(machine, PROMPT).code(), Some(0), "{what}");
        machine.thaw();
    }
}

const LOST: &str = "idgate_log_dropped_lines_total";

#[test]
fn logging_to_a_full_volume_neither_stops_nor_blocks_the_server() {
    let full = File::options().write(true).open("/dev/full").unwrap();
    Talkative::new().serves_and_stops("a full volume", full, true);
}

#[test]
fn logging_to_a_closed_pipe_neither_stops_nor_blocks_the_server() {
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    Talkative::new().serves_and_stops("a closed pipe", writer, true);
}

#[test]
fn logging_to_an_unread_pipe_neither_stops_nor_blocks_the_server() {
    let (reader, writer) = io::pipe().unwrap();
    Talkative::new().serves_and_stops("an unread pipe", writer, false);
    drop(reader);
}

/// A pipe without room for a single byte.
fn stuffed_pipe() -> (io::PipeReader, io::PipeWriter) {
    let (reader, mut writer) = io::pipe().unwrap();
    rustix::io::ioctl_fionbio(writer.as_fd(), true).unwrap();
    for size in [4096, 1] {
        while writer.write(&vec![b'x'; size]).is_ok() {}
    }
    rustix::io::ioctl_fionbio(writer.as_fd(), false).unwrap();
    (reader, writer)
}

#[test]
fn sigterm_works_whatever_stdout_and_stderr_are() {
    let (_unread, writer) = stuffed_pipe();
    let (closed, broken) = io::pipe().unwrap();
    drop(closed);
    for output in [writer, broken] {
        let address = free_address();
        let installation = Installation::new().with("IDGATE_LISTEN", &address.to_string());
        let installation = installation.with_machine();
        let mut command = installation.command(&["serve"]);
        let mut child = command.stdout(output.try_clone().unwrap()).stderr(output).spawn().unwrap();
        eventually("it serves", || std::net::TcpStream::connect(address).is_ok());
        Http::new(address).send(&Request::get("/healthz")).expect_status(200);
        let (pid, machine) = (child.id().to_string(), installation.machine());
        machine.freeze();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        assert_eq!(ends_within(&mut child, None, machine, PROMPT).code(), Some(0));
    }
}

#[test]
fn a_start_that_fails_ends_whatever_stdout_and_stderr_are() {
    let (_unread, writer) = stuffed_pipe();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let installation = Installation::new().with("IDGATE_LISTEN", &address).with_machine();
    let machine = installation.machine();
    machine.freeze();
    let mut command = installation.command(&["serve", "--json"]);
    let mut child = command.stdout(writer.try_clone().unwrap()).stderr(writer).spawn().unwrap();
    assert_eq!(ends_within(&mut child, None, machine, PROMPT).code(), Some(1));
}

#[test]
fn a_fault_is_logged_even_among_many_unauthenticated_requests() {
    let gateway = Gateway::start();
    let address = gateway.server.address;
    let created = gateway.tenant().create(&request_for(&["given_name"]));
    let answer = answer_request(&created.id, &form(&sample_wallet(), &created));
    let database = gateway.installation.data_dir().join("idgate.db");
    let held = rusqlite::Connection::open(database).unwrap();
    held.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let requests = "GET /nope HTTP/1.1\r\nHost: g\r\n\r\n".repeat(400);
    let flood = || crate::http::exchange(address, requests.as_bytes());
    flood();
    let answering = thread::spawn(move || Http::new(address).send(&answer));
    while !answering.is_finished() {
        flood();
    }
    answering.join().unwrap().expect_error(503, "temporarily_unavailable");
    held.execute_batch("ROLLBACK").unwrap();
    eventually("the cause is logged", || {
        let log = gateway.installation.log();
        let faults =
            log.lines().filter(|line| line.contains("ERROR") && line.contains("status=503"));
        faults.filter(|line| line.contains("cause=")).count() == 1
    });
}

#[test]
fn unauthenticated_requests_are_sampled_and_do_not_fill_the_log() {
    let gateway = Gateway::start();
    let address = gateway.server.address;
    let requests = "GET /nope HTTP/1.1\r\nHost: g\r\n\r\n".repeat(40)
        + &"GET /v1/sessions/x HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer x\r\n\r\n".repeat(10)
        + "GET /healthz HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\r\n";
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..50 {
                    let answers = crate::http::exchange(address, requests.as_bytes());
                    assert_eq!(answers.matches("HTTP/1.1 ").count(), 51, "{answers}");
                }
            });
        }
    });
    // A tenant's action is logged nevertheless.
    let created = gateway.tenant().create(&request_for(&["given_name"]));
    assert!(created.id.starts_with("ses_"));
    let Gateway { server, installation, .. } = gateway;
    server.stop();
    let log = installation.log();
    // 20,400 requests: 30 have a line, plus one line for each second.
    assert!(log.len() < 64 * 1024, "{} bytes", log.len());
    assert!(log.contains(r#"route="/v1/sessions" status=201"#), "{log}");
    let summed = |status: &str| {
        let lines = log.lines().filter(|line| line.contains("without a line of their own"));
        let lines = lines.filter(|line| line.contains(&format!("status={status} ")));
        let counts =
            lines.filter_map(|line| line.split("count=").nth(1)?.trim().parse::<u64>().ok());
        counts.sum::<u64>()
    };
    let (missing, refused) = (summed("404"), summed("401"));
    assert!(missing > 15_000 && refused > 3_500, "{missing} {refused}: {log}");
}
