//! Open status streams. A tenant's server has one for each session that it shows.

use std::net::{Ipv4Addr, SocketAddr};

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::flow::connect_from;
use super::process::Server;
use super::waits::session_request;

/// Streams of one session (`docs/overload.md`).
const OF_A_SESSION: usize = 5;
/// Connections from one address, below its limit.
const OF_AN_ADDRESS: usize = 100;

/// A masked pong for an empty ping, which is what the gateway sends.
const PONG: [u8; 6] = [0x8a, 0x80, 0, 0, 0, 0];
const PING: u8 = 0x89;

/// Open streams. Dropping this closes them.
pub(super) struct Streams(JoinSet<std::io::Result<()>>);

impl Streams {
    /// Opens this number of streams, of sessions that stay open.
    pub(super) async fn open(server: &Server, count: usize) -> Result<Self, String> {
        let mut streams = JoinSet::new();
        let mut connection = server.connect().await?;
        let request = session_request();
        let mut session = String::new();
        for n in 0..count {
            if n % OF_A_SESSION == 0 {
                let body = Some(("application/json", request.as_bytes()));
                let made = connection.send("POST", "/v1/sessions", &server.api_key, body).await?;
                let made: Value =
                    serde_json::from_slice(&made.1).map_err(|error| error.to_string())?;
                let id = made.get("session_id").and_then(Value::as_str);
                session = id.ok_or_else(|| format!("no session: {made}"))?.to_owned();
            }
            let place = u32::try_from(n / OF_AN_ADDRESS).map_err(|error| error.to_string())?;
            let from = Ipv4Addr::from_bits(Ipv4Addr::new(127, 0, 1, 1).to_bits() + place);
            let stream = upgrade(from, server.address, &session, &server.api_key);
            let stream = stream.await.map_err(|error| format!("a stream: {error}"))?;
            streams.spawn(listen(stream));
        }
        Ok(Self(streams))
    }

    /// # Errors
    /// One has ended.
    pub(super) fn check(&mut self) -> Result<(), String> {
        match self.0.try_join_next() {
            None => Ok(()),
            Some(ended) => Err(format!("a stream ended: {ended:?}")),
        }
    }
}

async fn upgrade(
    from: Ipv4Addr,
    to: SocketAddr,
    session: &str,
    key: &str,
) -> std::io::Result<TcpStream> {
    let mut stream = connect_from(from, to).await?;
    let head = format!(
        "GET /v1/sessions/{session}/ws HTTP/1.1\r\nHost: {to}\r\nUpgrade: websocket\r\n\
         Connection: keep-alive, Upgrade\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
         Sec-WebSocket-Protocol: svc-id-v1, {key}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await?;
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        answer.push(stream.read_u8().await?);
    }
    match answer.starts_with(b"HTTP/1.1 101 ") {
        true => Ok(stream),
        false => Err(std::io::Error::other(String::from_utf8_lossy(&answer).into_owned())),
    }
}

/// Reads all messages, and answers pings.
async fn listen(mut stream: TcpStream) -> std::io::Result<()> {
    loop {
        let (first, length) = (stream.read_u8().await?, stream.read_u8().await?);
        let length = if length == 126 { stream.read_u16().await? } else { length.into() };
        let mut payload = vec![0; length.into()];
        stream.read_exact(&mut payload).await?;
        if first == PING {
            let mut pong = PONG.to_vec();
            if let (Some(masked), Ok(length)) = (pong.get_mut(1), u8::try_from(payload.len())) {
                *masked |= length;
            }
            // With a mask of zeros the payload is the received one.
            pong.extend(payload);
            stream.write_all(&pong).await?;
        }
    }
}
