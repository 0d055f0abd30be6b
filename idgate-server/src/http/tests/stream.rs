//! Status streams: timeouts, and failures of the store.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::http::StreamTimes;

/// The client's side of a stream.
struct Reader(TcpStream);

/// A frame from the gateway: opcode and payload.
type Frame = (u8, Vec<u8>);

const TEXT: u8 = 1;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

impl Reader {
    async fn open(edge: &Edge, made: &Made) -> Self {
        let mut stream = edge.connect().await;
        let head = format!(
            "GET {}/ws HTTP/1.1\r\nHost: g\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
             Sec-WebSocket-Protocol: svc-id-v1\r\n{}\r\n",
            made.path(),
            made.bearer
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n\r\n") {
            answer.push(stream.read_u8().await.unwrap());
        }
        assert!(answer.starts_with(b"HTTP/1.1 101 "), "{}", String::from_utf8_lossy(&answer));
        Self(stream)
    }

    /// The next frame; `None` if the gateway closed the connection.
    async fn frame(&mut self) -> Option<Frame> {
        let read = async {
            let opcode = self.0.read_u8().await.ok()? & 0x0F;
            let length = match self.0.read_u8().await.ok()? {
                126 => usize::from(self.0.read_u16().await.ok()?),
                length => usize::from(length),
            };
            let mut payload = vec![0; length];
            self.0.read_exact(&mut payload).await.ok()?;
            Some((opcode, payload))
        };
        in_time("a frame, or the end", read).await
    }

    /// The code of the close frame, skipping earlier frames.
    async fn code(&mut self) -> u16 {
        loop {
            let (opcode, payload) = self.frame().await.expect("a close frame");
            if opcode == CLOSE {
                return u16::from_be_bytes([payload[0], payload[1]]);
            }
        }
    }

    /// Reads the two events of a new session.
    async fn read_replay(&mut self) {
        for status in ["CREATED", "PENDING"] {
            let (opcode, text) = self.frame().await.unwrap();
            assert_eq!(opcode, TEXT);
            assert!(String::from_utf8(text).unwrap().contains(status));
        }
    }

    async fn send(&mut self, opcode: u8, payload: &[u8]) -> bool {
        let length = u8::try_from(payload.len()).unwrap();
        let head = [0x80 | opcode, 0x80 | length, 0, 0, 0, 0];
        self.0.write_all(&[&head, payload].concat()).await.is_ok()
    }
}

/// A gateway, and the times of its streams. Pings and pongs use its virtual clock.
async fn edge() -> (Edge, StreamTimes) {
    let edge = Edge::start().await;
    let times = edge.gateway().limits.streams.clone();
    (edge, times)
}

#[tokio::test]
async fn an_unanswered_ping_is_closed_with_4408() {
    let (edge, times) = edge().await;
    let mut reader = Reader::open(&edge, &edge.create().await).await;
    reader.read_replay().await;
    edge.clock.pass(times.ping).await;
    let (opcode, payload) = reader.frame().await.unwrap();
    assert_eq!(opcode, PING);
    // Neither an unsolicited pong nor the pong of another ping counts.
    assert!(
        reader.send(PONG, b"").await && reader.send(PONG, &[&payload[1..], b"x"].concat()).await
    );
    // The gateway has read them once it answers this ping.
    assert!(reader.send(PING, b"seen?").await);
    assert_eq!(reader.frame().await, Some((PONG, b"seen?".to_vec())));
    edge.clock.pass(times.pong).await;
    assert_eq!(reader.code().await, 4408);
}

#[tokio::test]
async fn bytes_that_never_become_a_frame_do_not_count_as_alive() {
    let (edge, times) = edge().await;
    let mut reader = Reader::open(&edge, &edge.create().await).await;
    reader.read_replay().await;
    edge.clock.pass(times.ping).await;
    assert_eq!(reader.frame().await.unwrap().0, PING);
    let frame = [&[0x8A, 0xFD, 0, 0, 0, 0][..], &[b'x'; 44]].concat();
    let pause = times.pong / u32::try_from(frame.len()).unwrap();
    for byte in frame {
        reader.0.write_all(&[byte]).await.unwrap();
        tokio::task::yield_now().await;
        edge.clock.pass(pause).await;
    }
    assert_eq!(reader.code().await, 4408);
}

#[tokio::test]
async fn a_client_that_answers_pings_stays_connected() {
    let (edge, times) = edge().await;
    let mut reader = Reader::open(&edge, &edge.create().await).await;
    reader.read_replay().await;
    for _ in 0..5 {
        edge.clock.until_waiting_for(times.ping, 1).await;
        edge.clock.pass(times.ping).await;
        let (opcode, payload) = reader.frame().await.unwrap();
        assert_eq!(opcode, PING);
        assert!(reader.send(PONG, &payload).await);
    }
}

#[tokio::test]
async fn a_flood_of_pings_is_1008() {
    let edge = Edge::start().await;
    let mut reader = Reader::open(&edge, &edge.create().await).await;
    reader.read_replay().await;
    let mut sent = 0;
    while sent < 1000 && reader.send(PING, b"p").await {
        sent += 1;
    }
    assert_eq!(reader.code().await, 1008);
}

#[tokio::test]
async fn a_key_that_another_process_revoked_is_closed_with_4401() {
    let edge = Edge::start().await;
    let mut reader = Reader::open(&edge, &edge.create().await).await;
    reader.read_replay().await;
    edge.store.revoke_keys();
    assert_eq!(reader.code().await, 4401);
}

#[tokio::test]
async fn a_store_that_fails_is_1011() {
    let edge = Edge::start().await;
    let mut reader = Reader::open(&edge, &edge.create().await).await;
    reader.read_replay().await;
    edge.store.set_mood(Mood::Broken);
    assert_eq!(reader.code().await, 1011);
}

#[tokio::test]
async fn a_panic_ends_its_own_stream_only() {
    let edge = Edge::start().await;
    let mut reader = Reader::open(&edge, &edge.create().await).await;
    reader.read_replay().await;
    edge.store.set_mood(Mood::Panicking);
    assert_eq!(reader.frame().await, None);
    edge.store.set_mood(Mood::Well);
    Reader::open(&edge, &edge.create().await).await.read_replay().await;
}

#[tokio::test]
async fn shutdown_closes_streams_with_1001_before_the_drain_is_over() {
    let edge = Edge::start().await;
    let made = edge.create().await;
    let mut reader = Reader::open(&edge, &made).await;
    reader.read_replay().await;
    let done = std::sync::Arc::new(AtomicBool::new(false));
    let stopping = tokio::spawn({
        let done = done.clone();
        async move {
            edge.running.shutdown().await;
            done.store(true, Ordering::SeqCst);
        }
    });
    assert_eq!(reader.code().await, 1001);
    // The gateway waits for the peer's close frame.
    assert!(!done.load(Ordering::SeqCst));
    assert!(reader.send(CLOSE, &1001u16.to_be_bytes()).await);
    drop(reader);
    in_time("it stops", stopping).await.unwrap();
}

#[tokio::test]
async fn streams_count_as_connections_and_give_their_places_back() {
    let limits = HttpLimits { connections_per_peer: 2, ..HttpLimits::default() };
    let edge = Edge::with(limits, &[]).await;
    let made = edge.create().await;
    let (mut one, mut two) = (Reader::open(&edge, &made).await, Reader::open(&edge, &made).await);
    one.read_replay().await;
    two.read_replay().await;
    let mut third = edge.connect().await;
    let _ = third.write_all(b"GET /healthz HTTP/1.1\r\nHost: g\r\n\r\n").await;
    assert!(!matches!(third.read(&mut [0; 16]).await, Ok(1..)), "a third connection is answered");
    drop(one);
    let back = async || {
        let mut stream = edge.connect().await;
        let _ = stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: g\r\n\r\n").await;
        matches!(stream.read(&mut [0; 16]).await, Ok(1..))
    };
    until("its place is free", back).await;
}

#[tokio::test]
async fn an_expiry_is_sent_once_it_is_stored() {
    let edge = Edge::start().await;
    let mut reader = Reader::open(&edge, &edge.create().await).await;
    reader.read_replay().await;
    edge.clock.advance(300_000);
    let (mut opcode, mut text) = reader.frame().await.unwrap();
    if opcode == PING {
        // The other session has expired, too.
        (opcode, text) = reader.frame().await.unwrap();
    }
    let message: serde_json::Value = serde_json::from_slice(&text).unwrap();
    assert_eq!(opcode, TEXT);
    let told = (&message["seq"], &message["status"], &message["reason"]);
    assert_eq!(told, (&3.into(), &"EXPIRED".into(), &"session_expired".into()));
    assert_eq!(message["occurred_at"], "2027-01-15T08:05:00.000Z");
    assert_eq!(reader.code().await, 1000);
}
