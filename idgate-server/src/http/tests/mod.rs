//! The HTTP layer over real sockets, with a real store.

mod auth;
mod bodies;
mod connections;
mod costs;
mod logs;
mod metrics;
mod rates;
mod request_object;
mod routing;
mod sessions;
mod status;
mod stream;
mod wallet;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use idgate_core::UnixMillis;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{Gateway, HttpLimits};
use crate::config::{Config, Settings};
use crate::serve::{RunningGateway, Variations, start_with};
use idgate_base::clock::VirtualClock;
use idgate_store::Mood;
use idgate_store::fixtures::TemporaryStore;
use idgate_testkit::patience::{in_time, until};

const NOW: UnixMillis = UnixMillis(1_800_000_000_000);
/// A gateway under test.
struct Edge {
    store: TemporaryStore,
    clock: VirtualClock,
    running: RunningGateway,
}

impl Edge {
    async fn start() -> Self {
        Self::with(HttpLimits::default(), &[]).await
    }

    async fn with(limits: HttpLimits, settings: &[(&str, &str)]) -> Self {
        let mut flags = BTreeMap::from([("listen".to_owned(), "127.0.0.1:0".to_owned())]);
        flags.extend(settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())));
        let settings = Settings::collect(&flags, std::iter::empty(), None).unwrap();
        let config = Config::new(&settings).unwrap();
        let store = TemporaryStore::default();
        let clock = VirtualClock::at(NOW);
        let shared = Arc::new(clock.clone());
        let variations = Variations { limits, ..Variations::default() };
        let running = start_with(&config, shared, store.shared(), variations).await.unwrap();
        Self { store, clock, running }
    }

    fn address(&self) -> SocketAddr {
        self.running.local_addr()
    }

    fn gateway(&self) -> &Gateway {
        &self.running.gateway
    }

    /// Bytes of memory that bodies hold.
    fn body_memory(&self) -> u64 {
        self.gateway().memory.used().used
    }

    /// Waits until this many requests are being answered.
    async fn until_answering(&self, count: usize) {
        let time = self.gateway().limits.request_timeout;
        self.clock.until_waiting_for(time, count).await;
    }

    /// Waits until this many bodies are being read.
    async fn until_reading(&self, count: usize) {
        let time = self.gateway().limits.body_timeout;
        self.clock.until_waiting_for(time, count).await;
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address()).await.unwrap()
    }

    /// One request on a connection of its own.
    async fn request(&self, method: &str, path: &str, headers: &str, body: &[u8]) -> Answer {
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\n\
             Content-Length: {}\r\n{headers}\r\n",
            body.len()
        );
        let mut stream = self.connect().await;
        stream.write_all(head.as_bytes()).await.unwrap();
        // The gateway may respond and close before it has read all of a refused body.
        let _ = stream.write_all(body).await;
        Answer::read(&mut stream).await
    }

    async fn get(&self, path: &str) -> Answer {
        self.request("GET", path, "", b"").await
    }
}

/// A new session, as its tenant sees it.
struct Made {
    bearer: String,
    id: String,
    qr_code_url: String,
}

impl Made {
    fn path(&self) -> String {
        format!("/v1/sessions/{}", self.id)
    }

    /// A parameter of the authorization request.
    fn parameter(&self, name: &str) -> String {
        let url = url::Url::parse(&self.qr_code_url).unwrap();
        url.query_pairs().find(|(key, _)| key == name).unwrap().1.into_owned()
    }
}

impl Edge {
    /// Creates a session with the older form of body.
    async fn create(&self) -> Made {
        let bearer = self.store.bearer(None);
        let headers = format!("{bearer}Content-Type: application/json\r\n");
        let body = br#"{"issuer_id":"issuer"}"#;
        let answer = self.request("POST", "/v1/sessions", &headers, body).await;
        assert_eq!(answer.status(), 201, "{answer:?}");
        let value = answer.json();
        let text = |name: &str| value[name].as_str().unwrap().to_owned();
        Made { bearer, id: text("session_id"), qr_code_url: text("qr_code_url") }
    }

    async fn read(&self, made: &Made) -> serde_json::Value {
        let answer = self.request("GET", &made.path(), &made.bearer, b"").await;
        assert_eq!(answer.status(), 200, "{answer:?}");
        answer.json()
    }
}

/// A response as text.
#[derive(Debug)]
struct Answer {
    head: String,
    body: String,
}

impl Answer {
    /// Reads until the gateway closes.
    async fn read(stream: &mut TcpStream) -> Self {
        let mut bytes = Vec::new();
        in_time("the connection ends", stream.read_to_end(&mut bytes)).await.unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").expect("an answer");
        Self { head: head.to_owned(), body: body.to_owned() }
    }

    fn status(&self) -> u16 {
        self.head.split(' ').nth(1).unwrap().parse().unwrap()
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (key, value) = line.split_once(": ")?;
            key.eq_ignore_ascii_case(name).then_some(value)
        })
    }

    fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// Checks the format of an error response and its common headers.
    #[track_caller]
    fn assert_error(&self, status: u16, code: &str) {
        assert_eq!(self.status(), status, "{self:?}");
        let value = self.json();
        let members: Vec<_> = value.as_object().unwrap().keys().collect();
        assert_eq!(members, ["error", "message"], "{self:?}");
        assert_eq!(value["error"], code);
        assert!(!value["message"].as_str().unwrap().is_empty());
        assert_eq!(self.header("content-type"), Some("application/json"));
        self.assert_common_headers();
    }

    #[track_caller]
    fn assert_common_headers(&self) {
        assert_eq!(self.header("cache-control"), Some("no-store"), "{self:?}");
        assert_eq!(self.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(self.header("x-request-id").unwrap().len(), 26);
        assert_eq!(self.header("server"), None);
    }
}
