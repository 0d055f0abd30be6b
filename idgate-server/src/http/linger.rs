//! A socket that gives up on a peer that reads nothing, and that closes politely: after its last byte it goes on reading for a moment. Closing with
//! unread input resets the connection, and a peer that still sends an oversized body would then
//! never see the 413 that explains why (RFC 9112 9.6).

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// Long enough for the peer to read an answer.
const LINGER: Duration = Duration::from_secs(2);
/// Twice the largest body: whoever sends more is not waiting for an answer.
const MAX_DISCARDED: usize = 2 * 1024 * 1024;

/// A stream whose writes must make progress, and whose shutdown waits until the peer has closed
/// too, up to a bound.
pub(crate) struct Lingering<T> {
    stream: T,
    /// How long the peer may take nothing of what is written.
    patience: Duration,
    /// Runs while it takes nothing.
    stalled: Option<Pin<Box<Sleep>>>,
    closing: Option<Closing>,
}

struct Closing {
    until: Pin<Box<Sleep>>,
    discarded: usize,
}

impl<T> Lingering<T> {
    pub(crate) fn new(stream: T, patience: Duration) -> Self {
        Self { stream, patience, stalled: None, closing: None }
    }

    /// The outcome of a write, unless there has been none for too long.
    fn in_time(
        &mut self,
        written: Poll<io::Result<usize>>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let patience = self.patience;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
        ready!(stalled.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Lingering<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Lingering<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.in_time(written, cx)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.closing.is_none() {
            ready!(Pin::new(&mut this.stream).poll_shutdown(cx))?;
        }
        let closing = this.closing.get_or_insert_with(|| Closing {
            until: Box::pin(tokio::time::sleep(LINGER)),
            discarded: 0,
        });
        discard(&mut this.stream, closing, cx).map(Ok)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.in_time(written, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

/// Reads and forgets until the peer closes, the time is over, or it was too much.
fn discard<T: AsyncRead + Unpin>(
    stream: &mut T,
    closing: &mut Closing,
    cx: &mut Context<'_>,
) -> Poll<()> {
    let mut scratch = [0u8; 4096];
    while closing.discarded < MAX_DISCARDED && closing.until.as_mut().poll(cx).is_pending() {
        let mut buf = ReadBuf::new(&mut scratch);
        match Pin::new(&mut *stream).poll_read(cx, &mut buf) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(Ok(())) if !buf.filled().is_empty() => {
                closing.discarded = closing.discarded.saturating_add(buf.filled().len());
            }
            Poll::Ready(_) => return Poll::Ready(()),
        }
    }
    Poll::Ready(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[tokio::test]
    async fn a_peer_that_reads_nothing_is_given_up() {
        let (near, _far) = tokio::io::duplex(16);
        let mut stream = Lingering::new(near, Duration::from_millis(50));
        let error = stream.write_all(&[0; 64]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn a_peer_that_reads_slowly_is_not() {
        let (near, mut far) = tokio::io::duplex(16);
        let mut stream = Lingering::new(near, Duration::from_millis(200));
        let reading = tokio::spawn(async move {
            for _ in 0..10 {
                tokio::time::sleep(Duration::from_millis(40)).await;
                far.read_exact(&mut [0; 16]).await.unwrap();
            }
        });
        stream.write_all(&[0; 160]).await.unwrap();
        reading.await.unwrap();
    }
}
