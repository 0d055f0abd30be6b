//! The status stream as Server-Sent Events (decisions 26): the messages of the WebSocket, each with
//! its number as id, and the event `end` after a settled status. A stream that ends without `end`
//! was interrupted: a client that reconnects with the last id learns why.

use std::future::{Future, ready};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use tokio::sync::watch;
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::admission::connections::Busy;
use super::json::Object;
use super::status_event::message;
use crate::app::{StatusStream, StreamEnd};
use crate::limits::StreamTimes;
use crate::work::stop::stopped;
use idgate_store::StatusEvent;

/// The next chunk, and the talk that continues after it.
type Next = Pin<Box<dyn Future<Output = Option<(Bytes, Option<Talk>)>> + Send>>;

/// A comment that keeps the connection alive, and detects clients that are gone.
const BEAT: &[u8] = b":\n\n";

/// A stream to one client. It holds only the next chunk.
pub(crate) struct Events(Option<Next>);

struct Talk {
    stream: StatusStream,
    stop: watch::Receiver<bool>,
    looks: Interval,
    beats: Interval,
    /// There may be new events.
    more: bool,
    _busy: Busy,
}

impl Events {
    /// Starts with the events so far.
    ///
    /// # Errors
    /// Why the stream cannot start.
    pub(crate) async fn begin(
        mut stream: StatusStream,
        times: &StreamTimes,
        stop: watch::Receiver<bool>,
        busy: Busy,
    ) -> Result<Self, StreamEnd> {
        let first = match stream.next_events().await {
            Ok(events) => {
                let text = if events.is_empty() { BEAT.into() } else { text(&stream, &events) };
                let (looks, beats) = (every(times.look), every(times.ping));
                (text, Some(Talk { stream, stop, looks, beats, more: true, _busy: busy }))
            }
            Err(StreamEnd::Settled) => (end(&stream), None),
            Err(why) => return Err(why),
        };
        Ok(Self(Some(Box::pin(ready(Some(first))))))
    }

    /// The next chunk; `None` when the response ends.
    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let Some(next) = &mut self.0 else { return Poll::Ready(None) };
        let Some((bytes, talk)) = ready!(next.as_mut().poll(cx)) else {
            self.0 = None;
            return Poll::Ready(None);
        };
        self.0 = talk.map(|talk| Box::pin(talk.go_on()) as Next);
        Poll::Ready(Some(bytes))
    }
}

impl Talk {
    /// Waits for the next event.
    async fn go_on(mut self) -> Option<(Bytes, Option<Self>)> {
        loop {
            if self.more {
                match self.stream.next_events().await {
                    Ok(events) if events.is_empty() => self.more = false,
                    Ok(events) => return Some((text(&self.stream, &events), Some(self))),
                    Err(StreamEnd::Settled) => return Some((end(&self.stream), None)),
                    Err(StreamEnd::Fault(cause)) => {
                        tracing::error!(cause, "a stream failed");
                        return None;
                    }
                    Err(_) => return None,
                }
            }
            tokio::select! {
                biased;
                () = stopped(&mut self.stop) => return None,
                () = self.stream.changed() => self.more = true,
                _ = self.looks.tick() => self.more = true,
                _ = self.beats.tick() => return Some((BEAT.into(), Some(self))),
            }
        }
    }
}

/// A timer whose first tick comes after one period, not immediately.
fn every(time: std::time::Duration) -> Interval {
    let mut interval = interval(time);
    interval.reset();
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    interval
}

fn text(stream: &StatusStream, events: &[StatusEvent]) -> Bytes {
    let mut text = Vec::new();
    for event in events {
        text.extend_from_slice(format!("id: {}\ndata: ", event.seq).as_bytes());
        text.extend_from_slice(&message(stream, event));
        text.extend_from_slice(b"\n\n");
    }
    text.into()
}

fn end(stream: &StatusStream) -> Bytes {
    let data = Object::new().text("type", "end").text("session_id", stream.session_id().as_str());
    [b"event: end\ndata: ", data.finish().as_slice(), b"\n\n"].concat().into()
}
