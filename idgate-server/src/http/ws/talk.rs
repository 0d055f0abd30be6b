//! The conversation: events are sent as they are committed, pings check the peer, and every end has
//! its close code.

use std::convert::Infallible;
use std::future::ready;
use std::sync::Arc;

use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

use super::Close;
use super::frame::{Incoming, Opcode};
use super::socket::{End, Socket};
use crate::app::{StatusStream, StreamEnd};
use crate::http::status_event::message;
use crate::limits::MAX_FRAMES_PER_PING;
use crate::limits::StreamTimes;
use crate::work::stop::stopped;
use idgate_base::clock::{Clock, Sleep};

/// A connection that becomes a stream once its 101 is sent.
pub(crate) struct Upgrade {
    pub(crate) connection: OnUpgrade,
    pub(crate) stream: StatusStream,
    pub(crate) times: StreamTimes,
    pub(crate) clock: Arc<dyn Clock>,
}

impl Upgrade {
    /// Streams until either side ends it, or `stop` says so.
    pub(crate) async fn run(self, stop: watch::Receiver<bool>) {
        let Self { connection, stream, times, clock } = self;
        // An error means that the connection broke before the 101 was sent.
        let Ok(upgraded) = connection.await else { return };
        let session_id = stream.session_id().clone();
        let patience = times.close;
        let mut talk = Talk::new(Socket::new(TokioIo::new(upgraded)), stream, times, clock, stop);
        let Err(end) = talk.run().await;
        let Talk { socket, stream, .. } = talk;
        // Free the place now, so that a client that reconnects immediately finds it.
        drop(stream);
        let close = match end {
            End::Close(close) => close,
            End::Gone => return tracing::debug!(%session_id, "a stream broke off"),
        };
        tracing::debug!(%session_id, code = close.code().0, "a stream ended");
        socket.close(close, patience).await;
    }
}

struct Talk<T> {
    socket: Socket<T>,
    stream: StatusStream,
    times: StreamTimes,
    clock: Arc<dyn Clock>,
    stop: watch::Receiver<bool>,
    heart: Heart,
}

/// Tracks whether the peer is alive.
struct Heart {
    /// Until the next ping; after a ping, until the deadline for its pong.
    timer: Sleep,
    pings: u64,
    awaiting: bool,
    /// Frames from the peer since the last ping.
    frames: u32,
}

impl<T: AsyncRead + AsyncWrite + Unpin> Talk<T> {
    fn new(
        socket: Socket<T>,
        stream: StatusStream,
        times: StreamTimes,
        clock: Arc<dyn Clock>,
        stop: watch::Receiver<bool>,
    ) -> Self {
        let timer = clock.sleep(times.ping);
        let heart = Heart { timer, pings: 0, awaiting: false, frames: 0 };
        Self { socket, stream, times, clock, stop, heart }
    }

    async fn run(&mut self) -> Result<Infallible, End> {
        // The first tick is immediate.
        let mut looks = interval(self.times.look);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut more = false;
        loop {
            tokio::select! {
                biased;
                () = stopped(&mut self.stop) => return Err(Close::ShuttingDown.into()),
                () = self.stream.changed() => more = true,
                _ = looks.tick() => more = true,
                () = self.heart.timer.as_mut() => self.beat().await?,
                frame = self.socket.receive() => self.answer(frame?).await?,
                // Last, and one page at a time, so that the peer's frames are read in between.
                () = ready(()), if more => more = self.tell().await?,
            }
        }
    }

    /// Sends one page of new events; `false` if there were none.
    async fn tell(&mut self) -> Result<bool, End> {
        let events = self.stream.next_events().await.map_err(close_for)?;
        for event in &events {
            self.socket.queue(Opcode::Text, &message(&self.stream, event));
        }
        self.socket.send(self.times.write).await?;
        Ok(!events.is_empty())
    }

    /// Sends a ping, or gives up if the peer did not answer the last one.
    async fn beat(&mut self) -> Result<(), End> {
        if self.heart.awaiting {
            return Err(Close::NoPong.into());
        }
        let pings = self.heart.pings.wrapping_add(1);
        let timer = self.clock.sleep(self.times.pong);
        self.heart = Heart { timer, pings, awaiting: true, frames: 0 };
        self.send(Opcode::Ping, &pings.to_be_bytes()).await
    }

    async fn answer(&mut self, frame: Incoming) -> Result<(), End> {
        self.heart.frames = self.heart.frames.saturating_add(1);
        if self.heart.frames > MAX_FRAMES_PER_PING {
            return Err(Close::BadFrame.into());
        }
        match frame {
            Incoming::Close(code) => Err(Close::Answered(code).into()),
            Incoming::Ping(payload) => self.send(Opcode::Pong, &payload).await,
            Incoming::Pong(payload) => {
                // Unsolicited pongs are allowed and mean nothing (RFC 6455 5.5.3).
                if self.heart.awaiting && payload == self.heart.pings.to_be_bytes() {
                    self.heart.awaiting = false;
                    self.heart.timer = self.clock.sleep(self.times.ping);
                }
                Ok(())
            }
        }
    }

    async fn send(&mut self, opcode: Opcode, payload: &[u8]) -> Result<(), End> {
        self.socket.queue(opcode, payload);
        self.socket.send(self.times.write).await
    }
}

fn close_for(end: StreamEnd) -> Close {
    match end {
        StreamEnd::Settled => Close::Settled,
        StreamEnd::Deleted => Close::Deleted,
        StreamEnd::KeyGone => Close::KeyGone,
        StreamEnd::AfterTheLast => Close::AfterTheLast,
        StreamEnd::TooMany => Close::TooMany,
        StreamEnd::Fault(cause) => {
            tracing::error!(cause, "a stream failed");
            Close::Internal
        }
    }
}
