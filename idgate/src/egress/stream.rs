//! A connection with a limit on received bytes, whether they are in an endless handshake, in heads
//! or in bodies.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// A connection, plain or TLS.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// A socket of which a limited number of bytes can be read.
pub(super) struct Capped {
    inner: TcpStream,
    left: u64,
}

impl Capped {
    pub(super) fn new(inner: TcpStream, limit: u64) -> Self {
        Self { inner, left: limit }
    }
}

impl AsyncRead for Capped {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.left == 0 {
            return Poll::Ready(Err(io::Error::other("the peer sent too many bytes")));
        }
        let room = usize::try_from(self.left).unwrap_or(usize::MAX).min(buf.remaining());
        let mut part = ReadBuf::new(buf.initialize_unfilled_to(room));
        let polled = Pin::new(&mut self.inner).poll_read(cx, &mut part);
        let taken = part.filled().len();
        buf.advance(taken);
        self.left = self.left.saturating_sub(u64::try_from(taken).unwrap_or(u64::MAX));
        polled
    }
}

impl AsyncWrite for Capped {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}
