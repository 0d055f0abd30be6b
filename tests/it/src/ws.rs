//! Live events over a WebSocket, with a client that can also send what no client should.

mod frames;
mod handshake;
mod load;
mod streams;

use std::io::{self, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

use serde_json::Value;

use crate::http::{Request, connect, read_response};

const MASK: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];

/// The client's side of a stream.
#[derive(Debug)]
pub(crate) struct Stream<T = TcpStream>(BufReader<T>);

/// A frame from the gateway.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Got {
    Status(Value),
    Ping(Vec<u8>),
    Pong(Vec<u8>),
    Close(Option<u16>),
}

/// The upgrade request of a session's stream, without protocol and key.
pub(crate) fn upgrade(session: &str) -> Request {
    Request::get(format!("/v1/sessions/{session}/ws"))
        .header("Upgrade", "websocket")
        .header("Connection", "Upgrade")
        .header("Sec-WebSocket-Version", "13")
        .header("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")
}

/// A masked frame whose first byte is `first`, in the shortest form.
pub(crate) fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![first];
    match payload.len() {
        length @ 0..=125 => frame.push(0x80 | length as u8),
        length @ 126..=65535 => {
            frame.push(0x80 | 126);
            frame.extend((length as u16).to_be_bytes());
        }
        length => {
            frame.push(0x80 | 127);
            frame.extend((length as u64).to_be_bytes());
        }
    }
    frame.extend(MASK);
    frame.extend(payload.iter().zip(MASK.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    frame
}

impl Stream {
    /// The stream from the first event, with the key as a subprotocol.
    #[track_caller]
    pub(crate) fn open(address: SocketAddr, session: &str, key: &str) -> Self {
        Self::open_after(address, session, key, 0)
    }

    /// The stream after an event.
    #[track_caller]
    pub(crate) fn open_after(address: SocketAddr, session: &str, key: &str, after: u64) -> Self {
        let connection = connect(address).unwrap();
        Self::on(connection, address, &format!("{session}/ws?after={after}"), key).unwrap()
    }

    /// The stream at `target`, a path below `/v1/sessions/`, on this connection.
    fn on(connection: TcpStream, host: SocketAddr, target: &str, key: &str) -> io::Result<Self> {
        Self::over(BufReader::new(connection), host, target, key)
    }
}

impl<T: Read + Write> Stream<T> {
    /// The same on a connection of any kind.
    pub(crate) fn over(
        mut connection: BufReader<T>,
        host: SocketAddr,
        target: &str,
        key: &str,
    ) -> io::Result<Self> {
        let request = Request::get(format!("/v1/sessions/{target}"))
            .header("Upgrade", "websocket")
            .header("Connection", "keep-alive, Upgrade")
            .header("Sec-WebSocket-Version", "13")
            .header("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")
            .header("Sec-WebSocket-Protocol", format!("svc-id-v1, {key}"));
        connection.get_mut().write_all(&request.encode(host))?;
        let response = read_response(&mut connection, "GET")?;
        if response.status == 101 {
            return Ok(Self(connection));
        }
        Err(io::Error::other(format!("{response:?}")))
    }

    /// Sends these bytes. The gateway may have closed already.
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        let _ = self.0.get_mut().write_all(bytes);
    }

    /// The next frame that is not a ping. The gateway sends a ping after 20 seconds; the client
    /// answers it.
    #[track_caller]
    pub(crate) fn next(&mut self) -> Got {
        loop {
            match self.try_next().unwrap_or_else(|error| panic!("no frame: {error}")) {
                Got::Ping(payload) => self.send(&frame(0x8A, &payload)),
                got => return got,
            }
        }
    }

    fn try_next(&mut self) -> io::Result<Got> {
        let [first, length] = self.bytes()?;
        let length = match length {
            0..=125 => usize::from(length),
            126 => usize::from(u16::from_be_bytes(self.bytes()?)),
            _ => return Err(io::Error::other("a masked or huge frame from the gateway")),
        };
        let mut payload = vec![0; length];
        self.0.read_exact(&mut payload)?;
        Ok(match first {
            0x81 => Got::Status(serde_json::from_slice(&payload)?),
            0x88 => Got::Close(payload.first_chunk().map(|code| u16::from_be_bytes(*code))),
            0x89 => Got::Ping(payload),
            0x8A => Got::Pong(payload),
            _ => return Err(io::Error::other(format!("a frame that begins with {first:#x}"))),
        })
    }

    fn bytes<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.0.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// The next message.
    #[track_caller]
    pub(crate) fn message(&mut self) -> Value {
        match self.next() {
            Got::Status(message) => message,
            other => panic!("no message: {other:?}"),
        }
    }

    /// The statuses of the next `count` messages.
    #[track_caller]
    pub(crate) fn statuses(&mut self, count: usize) -> Vec<String> {
        (0..count).map(|_| self.message()["status"].as_str().unwrap().to_owned()).collect()
    }

    /// The code of the next close frame. Answers it and waits for the end of the connection.
    #[track_caller]
    pub(crate) fn close(mut self) -> Option<u16> {
        let Got::Close(code) = self.next() else { panic!("no close frame") };
        let payload = code.map(u16::to_be_bytes);
        self.send(&frame(0x88, payload.as_ref().map_or(&[], |code| code)));
        match self.0.read_to_end(&mut Vec::new()) {
            Ok(count) => assert_eq!(count, 0, "something follows the close frame"),
            // A reset is an end, too, if the gateway did not read everything.
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::ConnectionReset),
        }
        code
    }
}
