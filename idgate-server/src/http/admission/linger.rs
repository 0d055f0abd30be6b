//! A socket with two rules. It gives up on a peer that does not read. And on closing it keeps
//! reading for a moment after its last byte: closing with unread input resets the connection, so a
//! peer still sending an oversized body would never see the 413 that explains why (RFC 9112 9.6).

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use crate::limits::{LINGER_PACE_BYTES, LINGER_SILENCE, LINGER_TIME, MAX_DISCARDED_BYTES};
use idgate_base::clock::{self, Clock};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// Bytes per read.
const SCRATCH: usize = 16 * 1024;

/// A stream whose writes must make progress, and whose shutdown waits, up to a bound, until the
/// peer has closed, too.
pub(crate) struct Lingering<T> {
    stream: T,
    /// How long writes may make no progress.
    patience: Duration,
    clock: Arc<dyn Clock>,
    /// Runs while writes make no progress.
    stalled: Option<clock::Sleep>,
    closing: Option<Closing>,
}

struct Closing {
    since: Instant,
    until: Pin<Box<Sleep>>,
    silent_until: Pin<Box<Sleep>>,
    discarded: usize,
}

impl Closing {
    fn new() -> Self {
        let sleep = |time| Box::pin(tokio::time::sleep(time));
        let (until, silent_until) = (sleep(LINGER_TIME), sleep(LINGER_SILENCE));
        Self { since: Instant::now(), until, silent_until, discarded: 0 }
    }

    /// Whether reading has ended.
    fn is_over(&mut self, cx: &mut Context<'_>) -> bool {
        self.discarded >= MAX_DISCARDED_BYTES
            || self.until.as_mut().poll(cx).is_ready()
            || self.silent_until.as_mut().poll(cx).is_ready()
    }

    fn heard(&mut self, bytes: usize) {
        self.discarded = self.discarded.saturating_add(bytes);
        let seconds = self.discarded.checked_div(LINGER_PACE_BYTES).unwrap_or(0);
        let earned =
            Duration::from_secs(u64::try_from(seconds).unwrap_or(u64::MAX)).min(LINGER_TIME);
        let silent = Instant::now().checked_add(LINGER_SILENCE);
        let paced = self.since.checked_add(LINGER_SILENCE.saturating_add(earned));
        if let Some(until) = silent.min(paced) {
            self.silent_until.as_mut().reset(until);
        }
    }
}

impl<T> Lingering<T> {
    pub(crate) fn new(stream: T, clock: Arc<dyn Clock>, patience: Duration) -> Self {
        Self { stream, patience, clock, stalled: None, closing: None }
    }

    /// The result of a write, or an error after too long without progress.
    fn in_time(
        &mut self,
        written: Poll<io::Result<usize>>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let (clock, patience) = (&self.clock, self.patience);
        let stalled = self.stalled.get_or_insert_with(|| clock.sleep(patience));
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
        let closing = this.closing.get_or_insert_with(Closing::new);
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

/// Reads and discards until the peer closes or falls silent, or a time or size bound is reached.
fn discard<T: AsyncRead + Unpin>(
    stream: &mut T,
    closing: &mut Closing,
    cx: &mut Context<'_>,
) -> Poll<()> {
    let mut scratch = [0u8; SCRATCH];
    while !closing.is_over(cx) {
        let mut buf = ReadBuf::new(&mut scratch);
        match Pin::new(&mut *stream).poll_read(cx, &mut buf) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(Ok(())) if !buf.filled().is_empty() => {
                closing.heard(buf.filled().len());
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
    use idgate_base::clock::VirtualClock;

    const PATIENCE: Duration = Duration::from_secs(15);

    #[tokio::test]
    async fn a_peer_that_reads_nothing_is_disconnected() {
        let clock = VirtualClock::default();
        let (near, _far) = tokio::io::duplex(16);
        let mut stream = Lingering::new(near, Arc::new(clock.clone()), PATIENCE);
        let writing = tokio::spawn(async move { stream.write_all(&[0; 64]).await });
        clock.until_waiting_for(PATIENCE, 1).await;
        clock.pass(PATIENCE).await;
        assert_eq!(writing.await.unwrap().unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn a_peer_that_reads_slowly_stays_connected() {
        let clock = VirtualClock::default();
        let (near, mut far) = tokio::io::duplex(16);
        let mut stream = Lingering::new(near, Arc::new(clock.clone()), PATIENCE);
        let writing = tokio::spawn(async move { stream.write_all(&[0; 160]).await });
        for _ in 0..9 {
            clock.until_waiting_for(PATIENCE, 1).await;
            clock.pass(PATIENCE - Duration::from_millis(1)).await;
            // This makes room for the next 16 bytes.
            far.read_exact(&mut [0; 16]).await.unwrap();
            tokio::task::yield_now().await;
        }
        far.read_exact(&mut [0; 16]).await.unwrap();
        writing.await.unwrap().unwrap();
    }
}
