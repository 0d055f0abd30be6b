//! A server on loopback that answers every request with the same bytes, for tests.

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

struct Seen {
    answer: Mutex<Vec<u8>>,
    connections: AtomicUsize,
    last_head: Mutex<String>,
    /// Closed: answers wait.
    gate: Semaphore,
}

impl Loopback {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Seen {
            answer: Mutex::default(),
            connections: AtomicUsize::new(0),
            last_head: Mutex::default(),
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
        let length = body.len();
        let head = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\n\r\n");
        self.give_bytes([head.as_bytes(), body].concat());
    }

    pub fn give_bytes(&self, bytes: Vec<u8>) {
        *self.seen.answer.lock().unwrap() = bytes;
    }

    /// Answers wait from now on.
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
        self.seen.last_head.lock().unwrap().clone()
    }
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
    *seen.last_head.lock().unwrap() = head;
    let _open = seen.gate.acquire().await.unwrap();
    let answer = seen.answer.lock().unwrap().clone();
    // The client may have enough before the end.
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
