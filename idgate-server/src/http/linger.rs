//! A socket that closes politely: after its last byte it goes on reading for a moment. Closing with
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

/// A stream whose shutdown waits until the peer has closed too, up to a bound.
pub(crate) struct Lingering<T> {
    stream: T,
    closing: Option<Closing>,
}

struct Closing {
    until: Pin<Box<Sleep>>,
    discarded: usize,
}

impl<T> Lingering<T> {
    pub(crate) fn new(stream: T) -> Self {
        Self { stream, closing: None }
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
        Pin::new(&mut self.stream).poll_write(cx, buf)
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
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
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
