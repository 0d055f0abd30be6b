//! A connection that carries frames. Cancelling a wait loses nothing in either direction, and the
//! buffers hold only a few frames.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use super::Close;
use super::frame::{self, Incoming, Opcode};

/// More than the largest control frame, so that a second read is rarely needed.
const READ: usize = 256;

pub(super) struct Socket<T> {
    stream: T,
    received: Vec<u8>,
    unsent: Vec<u8>,
}

/// Why the conversation ends.
#[derive(Debug)]
pub(super) enum End {
    /// The peer gets a close frame.
    Close(Close),
    /// The connection broke, or the peer left without a close frame.
    Gone,
}

impl From<io::Error> for End {
    fn from(_: io::Error) -> Self {
        Self::Gone
    }
}

impl From<Close> for End {
    fn from(close: Close) -> Self {
        Self::Close(close)
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> Socket<T> {
    pub(super) fn new(stream: T) -> Self {
        Self { stream, received: Vec::new(), unsent: Vec::new() }
    }

    /// The peer's next frame. Cancelling the wait loses nothing.
    pub(super) async fn receive(&mut self) -> Result<Incoming, End> {
        loop {
            if let Some(frame) = frame::take(&mut self.received)? {
                return Ok(frame);
            }
            let mut chunk = [0; READ];
            let count = self.stream.read(&mut chunk).await?;
            if count == 0 {
                return Err(End::Gone);
            }
            self.received.extend(chunk.iter().take(count));
        }
    }

    /// Appends a frame to the send buffer.
    pub(super) fn queue(&mut self, opcode: Opcode, payload: &[u8]) {
        frame::write(&mut self.unsent, opcode, payload);
    }

    /// Sends the buffer; a peer that does not read it within `patience` is too slow.
    pub(super) async fn send(&mut self, patience: Duration) -> Result<(), End> {
        let flushed = tokio::time::timeout(patience, self.flush()).await;
        Ok(flushed.map_err(|_late| Close::TooSlow)??)
    }

    /// Sends a close frame, waits up to `patience` for the peer's, and ends the connection.
    pub(super) async fn close(mut self, close: Close, patience: Duration) {
        let (code, reason) = close.code();
        let code = code.map(u16::to_be_bytes);
        let code = code.as_ref().map_or(&[][..], |code| code.as_slice());
        self.queue(Opcode::Close, &[code, reason.as_bytes()].concat());
        let farewell = async {
            self.flush().await?;
            // A peer that closed first waits for the end of the connection (RFC 6455 7.1.1).
            let mut closed = matches!(close, Close::Answered(_));
            while !closed {
                closed = matches!(self.receive().await?, Incoming::Close(_));
            }
            Ok::<_, End>(())
        };
        // Nothing more is expected from a peer that broke the protocol or left.
        let _ = tokio::time::timeout(patience, farewell).await;
        let _ = self.stream.shutdown().await;
    }

    async fn flush(&mut self) -> io::Result<()> {
        while !self.unsent.is_empty() {
            match self.stream.write(&self.unsent).await? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                count => drop(self.unsent.drain(..count)),
            }
        }
        self.unsent = Vec::new();
        self.stream.flush().await
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use idgate_testkit::patience::in_time;

    const SOON: Duration = Duration::from_millis(50);

    #[tokio::test]
    async fn a_peer_that_reads_nothing_is_too_slow_and_still_gets_the_close_code() {
        let (near, mut far) = tokio::io::duplex(16);
        let mut socket = Socket::new(near);
        socket.queue(Opcode::Text, &[b'x'; 64]);
        let end = socket.send(SOON).await.unwrap_err();
        assert!(matches!(end, End::Close(Close::TooSlow)), "{end:?}");
        // The frame being sent is finished before the close frame begins.
        let closing = tokio::spawn(socket.close(Close::TooSlow, Duration::from_secs(5)));
        let mut text = vec![0; 66];
        far.read_exact(&mut text).await.unwrap();
        assert_eq!((text[0], text[1]), (0x81, 64));
        let mut head = [0; 4];
        far.read_exact(&mut head).await.unwrap();
        assert_eq!((head[0], u16::from_be_bytes([head[2], head[3]])), (0x88, 1013));
        drop(far);
        closing.await.unwrap();
    }

    #[tokio::test]
    async fn closing_waits_for_the_peer_for_a_bounded_time() {
        let (near, _far) = tokio::io::duplex(1024);
        let closed = Socket::new(near).close(Close::Settled, SOON);
        in_time("it closes", closed).await;
    }

    #[tokio::test]
    async fn a_peer_that_closed_first_does_not_wait() {
        let (near, mut far) = tokio::io::duplex(1024);
        let patience = Duration::from_secs(3600);
        let closing = tokio::spawn(Socket::new(near).close(Close::Answered(None), patience));
        let mut rest = Vec::new();
        let end = in_time("it closes", far.read_to_end(&mut rest)).await;
        assert_eq!((end.unwrap(), rest), (2, vec![0x88, 0]));
        closing.await.unwrap();
    }

    #[tokio::test]
    async fn a_cancelled_wait_loses_nothing() {
        let (near, mut far) = tokio::io::duplex(1024);
        let mut socket = Socket::new(near);
        for byte in [0x89, 0x81, 0, 0, 0, 0, b'p'] {
            assert!(tokio::time::timeout(SOON, socket.receive()).await.is_err());
            far.write_all(&[byte]).await.unwrap();
        }
        assert_eq!(socket.receive().await.unwrap(), Incoming::Ping(b"p".to_vec()));
        drop(far);
        assert!(matches!(socket.receive().await, Err(End::Gone)));
    }
}
