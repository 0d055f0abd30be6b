//! One tenant and its wallet on one connection.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use idgate_testkit::request_object::{JarLink, JarRequest};
use idgate_testkit::samples;
use idgate_testkit::wallet::{Body, Transcript, Wallet};
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader,
};
use tokio::net::{TcpSocket, TcpStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::HandshakeKind;
use tokio_rustls::rustls::pki_types::ServerName;

use super::floor::{Commit, REQUEST_OBJECTS};
use super::process::Server;

/// The server under test, and how the request reaches the wallet.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Profile {
    Floor(Commit),
    JarFloor(Commit),
    Inline,
    Jar,
    /// Sessions that are only created.
    CreateFloor(Commit),
    Create,
    /// The floor on PostgreSQL.
    SharedFloor(Commit),
    /// This number of gateways that share a PostgreSQL.
    Shared(usize),
}

impl Profile {
    /// Whether it is a floor, which accepts any answer.
    pub(super) const fn is_floor(self) -> bool {
        matches!(
            self,
            Self::Floor(_) | Self::JarFloor(_) | Self::CreateFloor(_) | Self::SharedFloor(_)
        )
    }

    /// Its name in JSON.
    pub(super) fn case(self) -> String {
        match self {
            Self::Floor(Commit::Each) => "server_floor_each".into(),
            Self::Floor(Commit::Group) => "server_floor_group".into(),
            Self::JarFloor(Commit::Each) => "server_jar_floor_each".into(),
            Self::JarFloor(Commit::Group) => "server_jar_floor_group".into(),
            Self::CreateFloor(Commit::Each) => "server_create_floor_each".into(),
            Self::CreateFloor(Commit::Group) => "server_create_floor_group".into(),
            Self::Inline => "server_inline".into(),
            Self::Jar => "server_jar".into(),
            Self::Create => "server_create".into(),
            Self::SharedFloor(Commit::Each) => "server_postgres_floor_each".into(),
            Self::SharedFloor(Commit::Group) => "server_postgres_floor_group".into(),
            Self::Shared(nodes) => format!("server_postgres_{nodes}"),
        }
    }

    const fn only_creates(self) -> bool {
        matches!(self, Self::CreateFloor(_) | Self::Create)
    }
}

/// The length of a form with a presentation of a dozen claims.
pub(super) const PRESENTATION_BYTES: usize = 2048;

/// The answer of a wallet to the floor, which only reads it.
const PRESENTATION: [u8; PRESENTATION_BYTES] = [b'x'; PRESENTATION_BYTES];

/// The same, encrypted and in base64.
const ENCRYPTED: [u8; 3072] = [b'x'; 3072];

/// A connection that stays open.
pub(super) struct Connection {
    address: SocketAddr,
    stream: BufReader<Box<dyn Stream>>,
    tls: Option<TlsConnector>,
    /// Whether its handshake resumed an earlier one.
    pub(super) is_resumed: bool,
}

/// A connection, encrypted or plain.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// A tenant with a wallet, and how long each of its requests took.
pub(super) struct Client {
    profile: Profile,
    connection: Connection,
    api_key: String,
    wallet: Wallet,
    request: Vec<u8>,
    did_document: Value,
    latencies: Vec<Duration>,
    /// API keys, used in turns.
    keys: Arc<[String]>,
    flows: usize,
    /// Whether each flow opens a new connection.
    reconnects: bool,
    resumed: usize,
}

impl Client {
    pub(super) async fn connect(server: &Server, profile: Profile) -> Result<Self, String> {
        let mut connection = server.connect().await?;
        let did_document = match profile {
            profile if profile != Profile::Jar => Value::Null,
            _ => {
                let (_, body) = connection.send("GET", "/.well-known/did.json", "", None).await?;
                serde_json::from_slice(&body).map_err(|error| error.to_string())?
            }
        };
        let sample = samples::issue_sample(now_ms());
        let request = json!({ "credentials": [{
            "format": "vc+sd-jwt", "issuer_id": samples::ISSUER,
            "claims": ["given_name", "family_name", "birthdate"],
        }] });
        Ok(Self {
            profile,
            connection,
            api_key: server.api_key.clone(),
            wallet: Wallet::new(sample.holder_key).with(sample.credential),
            request: request.to_string().into_bytes(),
            did_document,
            latencies: Vec::new(),
            keys: Arc::new([]),
            flows: 0,
            reconnects: false,
            resumed: 0,
        })
    }

    /// Makes each flow use the next of these tenants.
    pub(super) fn rotate(&mut self, keys: Arc<[String]>, first: usize) {
        (self.keys, self.flows) = (keys, first);
    }

    pub(super) fn set_wallet(&mut self, wallet: Wallet) {
        self.wallet = wallet;
    }

    /// Sets the TLS configuration for the next connections.
    pub(super) fn set_tls(&mut self, tls: Option<TlsConnector>) {
        self.connection.tls = tls;
    }

    pub(super) fn reconnect_each(&mut self) {
        self.reconnects = true;
    }

    /// The number of handshakes that resumed an earlier one.
    pub(super) const fn resumed(&self) -> usize {
        self.resumed
    }

    /// Opens a new connection: an idle one may have been closed.
    pub(super) async fn reconnect(&mut self) -> Result<(), String> {
        let tls = self.connection.tls.clone();
        self.connection = Connection::open_with(self.connection.address, tls).await?;
        self.resumed += usize::from(self.connection.is_resumed);
        Ok(())
    }

    pub(super) fn forget_latencies(&mut self) {
        self.latencies.clear();
    }

    /// The waits for answers since the last call, or since they were cleared.
    pub(super) fn waited(&mut self) -> Duration {
        self.latencies.drain(..).sum()
    }

    pub(super) fn into_latencies(self) -> Vec<Duration> {
        self.latencies
    }

    /// Create, answer, read.
    pub(super) async fn flow(&mut self) -> Result<(), String> {
        if let Some(key) = self.keys.iter().cycle().nth(self.flows % self.keys.len().max(1)) {
            self.api_key.clone_from(key);
        }
        self.flows += 1;
        if self.reconnects {
            self.reconnect().await?;
        }
        let body = self.request.clone();
        let created =
            self.json(201, "POST", "/v1/sessions", Some(("application/json", &body))).await?;
        if self.profile.only_creates() {
            return Ok(());
        }
        let text = |value: &Value, name: &str| {
            value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let (id, uri) = (text(&created, "session_id"), text(&created, "qr_code_url"));
        let answer = match self.profile {
            Profile::JarFloor(_) => {
                self.expect(200, "GET", &format!("{REQUEST_OBJECTS}{id}"), None).await?;
                form(&ENCRYPTED)
            }
            profile if profile.is_floor() => form(&PRESENTATION),
            Profile::Jar => self.answer_jar(&uri).await?,
            _ => self.answer_inline(&uri)?,
        };
        let body = Some((&*answer.content_type, &*answer.bytes));
        self.json(200, "POST", &format!("/v1/oid4vp/response/{id}"), body).await?;
        let session = self.json(200, "GET", &format!("/v1/sessions/{id}"), None).await?;
        match text(&session, "status").as_str() {
            "VERIFIED" if session.get("claims").is_some() => Ok(()),
            _ => Err(format!("not verified: {}", text(&session, "reason"))),
        }
    }

    fn answer_inline(&self, uri: &str) -> Result<Body, String> {
        let answer = self.wallet.answer_uri(uri, now_ms()).map_err(|error| error.to_string())?;
        Ok(answer.form_body())
    }

    async fn answer_jar(&mut self, uri: &str) -> Result<Body, String> {
        let link = JarLink::parse(uri).map_err(|error| error.to_string())?;
        let path = link.request_uri.splitn(4, '/').nth(3).unwrap_or_default();
        let jwt = self.expect(200, "GET", &format!("/{path}"), None).await?;
        let jwt = String::from_utf8_lossy(&jwt);
        let request = JarRequest::verify(&link, &jwt, &self.did_document, now_ms())
            .map_err(|error| error.to_string())?;
        let answer = self.wallet.answer_jar(&request, Transcript::OpenId4Vp, false, now_ms());
        Ok(answer.map_err(|error| error.to_string())?.form_body())
    }

    async fn json(
        &mut self,
        status: u16,
        method: &str,
        path: &str,
        body: Option<(&str, &[u8])>,
    ) -> Result<Value, String> {
        let body = self.expect(status, method, path, body).await?;
        serde_json::from_slice(&body).map_err(|error| error.to_string())
    }

    async fn expect(
        &mut self,
        status: u16,
        method: &str,
        path: &str,
        body: Option<(&str, &[u8])>,
    ) -> Result<Vec<u8>, String> {
        let start = super::now();
        let (have, answer) = self.connection.send(method, path, &self.api_key, body).await?;
        self.latencies.push(start.elapsed());
        if have == status {
            return Ok(answer);
        }
        Err(format!("{method} {path}: {have} {}", String::from_utf8_lossy(&answer)))
    }
}

fn form(bytes: &[u8]) -> Body {
    Body { content_type: "application/x-www-form-urlencoded".into(), bytes: bytes.into() }
}

impl Connection {
    pub(super) async fn open(address: SocketAddr) -> Result<Self, String> {
        Self::open_from(Ipv4Addr::LOCALHOST, address).await
    }

    /// The same from another address of this machine, as another peer.
    pub(super) async fn open_from(from: Ipv4Addr, address: SocketAddr) -> Result<Self, String> {
        let stream = connect_from(from, address).await.map_err(|error| error.to_string())?;
        Ok(Self::on(Box::new(stream), address))
    }

    fn on(stream: Box<dyn Stream>, address: SocketAddr) -> Self {
        Self { address, stream: BufReader::new(stream), tls: None, is_resumed: false }
    }

    /// The same, encrypted if there is a root to trust.
    pub(super) async fn open_with(
        address: SocketAddr,
        tls: Option<TlsConnector>,
    ) -> Result<Self, String> {
        let Some(connector) = tls else { return Self::open(address).await };
        let failed = |error: std::io::Error| error.to_string();
        let stream = connect_from(Ipv4Addr::LOCALHOST, address).await.map_err(failed)?;
        let name = ServerName::from(address.ip());
        let stream = connector.connect(name, stream).await.map_err(failed)?;
        let is_resumed = stream.get_ref().1.handshake_kind() == Some(HandshakeKind::Resumed);
        let connection = Self::on(Box::new(stream), address);
        Ok(Self { tls: Some(connector), is_resumed, ..connection })
    }

    /// Status and body of the answer.
    pub(super) async fn send(
        &mut self,
        method: &str,
        path: &str,
        bearer: &str,
        body: Option<(&str, &[u8])>,
    ) -> Result<(u16, Vec<u8>), String> {
        let mut request = format!("{method} {path} HTTP/1.1\r\nHost: {}\r\n", self.address);
        if !bearer.is_empty() {
            request.push_str(&format!("Authorization: Bearer {bearer}\r\n"));
        }
        if let Some((media_type, bytes)) = body {
            let length = bytes.len();
            request
                .push_str(&format!("Content-Type: {media_type}\r\nContent-Length: {length}\r\n"));
        }
        request.push_str("\r\n");
        let bytes = [request.as_bytes(), body.map_or(&[], |(_, bytes)| bytes)].concat();
        let failed = |error| format!("{method} {path}: {error}");
        self.stream.get_mut().write_all(&bytes).await.map_err(failed)?;
        self.receive().await.map_err(failed)
    }

    async fn receive(&mut self) -> std::io::Result<(u16, Vec<u8>)> {
        let mut status = String::new();
        self.stream.read_line(&mut status).await?;
        let mut length = 0;
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line).await?;
            let Some((name, value)) = line.split_once(':') else { break };
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().map_err(std::io::Error::other)?;
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).await?;
        let status = status.split(' ').nth(1).and_then(|code| code.parse().ok());
        Ok((status.ok_or_else(|| std::io::Error::other("no status"))?, body))
    }
}

/// A connection from an address of this machine.
pub(super) async fn connect_from(from: Ipv4Addr, to: SocketAddr) -> std::io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((from, 0).into())?;
    let stream = socket.connect(to).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

#[allow(clippy::disallowed_methods, reason = "a wallet needs the time")]
pub(super) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
