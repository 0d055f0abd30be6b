//! A loopback server for tests. It answers every request with the same bytes, or as the test says.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

pub struct Loopback {
    address: SocketAddr,
    seen: Arc<Seen>,
    _serving: JoinSet<()>,
}

/// Makes the answer to the head of a request.
type Answer = Arc<dyn Fn(&str) -> Vec<u8> + Send + Sync>;

struct Seen {
    answer: Mutex<Answer>,
    connections: AtomicUsize,
    heads: Mutex<Vec<String>>,
    /// While it is closed, answers wait.
    gate: Semaphore,
}

impl Loopback {
    pub async fn start() -> Self {
        Self::at("127.0.0.1:0").await
    }

    /// Starts a server at an address of this machine.
    pub async fn at(address: &str) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Seen {
            answer: Mutex::new(Arc::new(|_| Vec::new())),
            connections: AtomicUsize::new(0),
            heads: Mutex::default(),
            gate: Semaphore::new(1),
        });
        let mut serving = JoinSet::new();
        serving.spawn(serve(listener, seen.clone()));
        Self { address, seen, _serving: serving }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn url(&self) -> String {
        format!("http://{}/list", self.address)
    }

    /// Answers with `body` from now on.
    pub fn give(&self, body: &[u8]) {
        self.give_with("200 OK", "", body);
    }

    /// Answers with this status, these header lines and `body` from now on.
    pub fn give_with(&self, status: &str, headers: &str, body: &[u8]) {
        self.give_bytes(answer(status, headers, body));
    }

    pub fn give_bytes(&self, bytes: Vec<u8>) {
        self.give_by(move |_| bytes.clone());
    }

    /// From now on answers with the result of `answer` for the head of a request.
    pub fn give_by(&self, answer: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) {
        *self.seen.answer.lock().unwrap() = Arc::new(answer);
    }

    /// From now on answers wait.
    pub fn close_gate(&self) {
        self.seen.gate.forget_permits(1);
    }

    pub fn open_gate(&self) {
        self.seen.gate.add_permits(1);
    }

    pub fn connections(&self) -> usize {
        self.seen.connections.load(Ordering::SeqCst)
    }

    pub fn last_head(&self) -> String {
        self.heads().pop().unwrap_or_default()
    }

    /// The head of each request.
    pub fn heads(&self) -> Vec<String> {
        self.seen.heads.lock().unwrap().clone()
    }
}

/// An answer with this status, these header lines and `body`.
pub fn answer(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\n\r\n");
    [head.as_bytes(), body].concat()
}

/// The value of the header `name` in the head of a request.
pub fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let mut fields = head.lines().filter_map(|line| line.split_once(':'));
    fields.find(|(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
}

async fn serve(listener: TcpListener, seen: Arc<Seen>) {
    let mut exchanges = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        seen.connections.fetch_add(1, Ordering::SeqCst);
        let seen = seen.clone();
        exchanges.spawn(async move { exchange(stream, &seen).await });
    }
}

async fn exchange(mut stream: TcpStream, seen: &Seen) {
    let Some(head) = read_head(&mut stream).await else { return };
    seen.heads.lock().unwrap().push(head.clone());
    let _open = seen.gate.acquire().await.unwrap();
    let answer = seen.answer.lock().unwrap().clone();
    let answer = answer(&head);
    // The client may close the connection before the end.
    let _ = stream.write_all(&answer).await;
    let _ = stream.shutdown().await;
}

/// The head of a request, to its empty line.
pub async fn read_head(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    Some(String::from_utf8(head).unwrap())
}
