//! A webhook receiver on loopback, seen from both sides of the socket.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use idgate_core::UnixMillis;
use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::limits::WEBHOOK_TOLERANCE_MS;
use idgate_core::shell::webhook::{Received, SigningSecret};
use serde_json::Value;

use crate::server::eventually;
use crate::tenant::now_ms;

/// A receiver that stores everything it receives. It serves until the test process ends.
pub(crate) struct Receiver {
    address: SocketAddr,
    seen: Arc<Mutex<Seen>>,
}

struct Seen {
    answer: String,
    sent: Vec<Sent>,
}

/// A request as it arrived.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) request_line: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    pub(crate) at_ms: u64,
}

impl Receiver {
    pub(crate) fn start() -> Self {
        Self::start_at(Ipv4Addr::LOCALHOST.into())
    }

    pub(crate) fn start_at(host: IpAddr) -> Self {
        let listener = TcpListener::bind((host, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Seen { answer: String::new(), sent: Vec::new() }));
        let shared = seen.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let seen = shared.clone();
                thread::spawn(move || exchange(stream, &seen));
            }
        });
        let receiver = Self { address, seen };
        receiver.answer("200 OK", "");
        receiver
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Answers like this from now on.
    pub(crate) fn answer(&self, status: &str, headers: &str) {
        let text = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: 0\r\n\r\n");
        self.seen.lock().unwrap().answer = text;
    }

    pub(crate) fn all(&self) -> Vec<Sent> {
        self.seen.lock().unwrap().sent.clone()
    }

    pub(crate) fn of_session(&self, id: &str) -> Vec<Sent> {
        self.all().into_iter().filter(|sent| sent.json()["sessionId"] == id).collect()
    }

    /// The sessions that it was notified of, in order.
    pub(crate) fn sessions(&self) -> Vec<String> {
        let session = |sent: &Sent| sent.json()["sessionId"].as_str().unwrap().to_owned();
        self.all().iter().map(session).collect()
    }

    #[track_caller]
    pub(crate) fn wait_for(&self, count: usize) {
        eventually("the receiver is notified", || self.all().len() >= count);
    }
}

impl Sent {
    #[track_caller]
    pub(crate) fn header(&self, name: &str) -> &str {
        let mut values = self.headers.iter().filter(|(have, _)| have.eq_ignore_ascii_case(name));
        let value = values.next().unwrap_or_else(|| panic!("no {name}: {:?}", self.headers));
        assert!(values.next().is_none(), "{name} twice");
        &value.1
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// Both signatures are valid now.
    #[track_caller]
    pub(crate) fn verify(&self, secret: &str) {
        let secret = SigningSecret::new(secret).unwrap();
        let now = UnixMillis(self.at_ms);
        let received = Received { body: &self.body, now, tolerance_ms: WEBHOOK_TOLERANCE_MS };
        let (timestamp, signature) = (self.header("x-timestamp"), self.header("x-signature"));
        received.verify(&PROVIDER, &secret, timestamp, signature).unwrap();
        let [id, timestamp, signature] =
            ["webhook-id", "webhook-timestamp", "webhook-signature"].map(|name| self.header(name));
        received.verify_standard(&PROVIDER, &secret, id, timestamp, signature).unwrap();
    }
}

fn exchange(stream: TcpStream, seen: &Mutex<Seen>) {
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    if stream.read_line(&mut line).is_err() || line.is_empty() {
        return;
    }
    let request_line = line.trim_end().to_owned();
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).is_err() {
            return;
        }
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.push((name.to_owned(), value.to_owned()));
    }
    let mut sent = Sent { request_line, headers, body: Vec::new(), at_ms: now_ms() };
    sent.body = vec![0; sent.header("content-length").parse().unwrap()];
    if stream.read_exact(&mut sent.body).is_err() {
        return;
    }
    let mut seen = seen.lock().unwrap();
    seen.sent.push(sent);
    let answer = seen.answer.clone();
    drop(seen);
    let _ = stream.get_mut().write_all(answer.as_bytes());
}
