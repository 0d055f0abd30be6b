//! Exports spans to the collector (OTLP 1.x over HTTP, in protobuf) in batches, and retries as the
//! collector asks. Requests never wait for it.

mod collector;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep;

use self::collector::{Collector, Taken};
use crate::config::Traces;
use crate::work::stop::stopped;
use idgate_base::clock::Stopwatch;
use idgate_base::spans::{Lost, Record, Tracer};

/// How long a span waits for others.
const GATHERING: Duration = Duration::from_secs(1);
/// Before the first retry; each next pause is twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause, even if the collector asks for more.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// The most attempts for a batch: half a minute, enough for a collector that restarts.
const TRIES: u32 = 6;
/// Minimum interval between two log lines.
const TELL_US: u64 = 60_000_000;
/// Time for waiting spans when the gateway stops.
const LAST_BATCHES: Duration = Duration::from_secs(2);

/// The exporter of one gateway.
pub struct SpanExport {
    tracer: Arc<Tracer>,
    collector: Collector,
    resource: Vec<(String, String)>,
    /// The time since the last log line; spans lost since then are counted without a line.
    told: Option<Stopwatch>,
    untold: u64,
}

impl SpanExport {
    /// Sends the spans of `tracer` to the collector in `traces`, over TLS with the system's roots
    /// and those in `extra_ca`.
    ///
    /// # Errors
    /// TLS cannot be set up; the text says what to do.
    pub fn new(
        tracer: Arc<Tracer>,
        traces: &Traces,
        extra_ca: Option<&std::path::Path>,
    ) -> Result<Self, String> {
        let collector = Collector::new(traces, extra_ca)?;
        let resource = traces.resource.clone();
        Ok(Self { tracer, collector, resource, told: None, untold: 0 })
    }

    /// Runs until `stop` says so or its sender is gone; then sends the waiting spans within a
    /// bounded time. It does not repeat a request that the collector has not answered yet.
    pub async fn run(mut self, mut stop: watch::Receiver<bool>) {
        let mut left = Vec::new();
        let mut stopping = stop.clone();
        let late = async {
            stopped(&mut stopping).await;
            sleep(LAST_BATCHES).await;
        };
        let is_late = tokio::select! {
            () = self.work(&mut left, &mut stop) => false,
            () = late => true,
        };
        if is_late {
            let count = left.len().saturating_add(self.rest());
            self.lose(count, Lost::Unreachable, "the gateway stopped");
        }
        self.tell("the gateway stopped");
    }

    /// Sends spans until the gateway stops, and then the rest. Keeps its current batch in `batch`,
    /// so that it survives when this future is dropped.
    async fn work(&mut self, batch: &mut Vec<Record>, stop: &mut watch::Receiver<bool>) {
        loop {
            let gathered = tokio::select! {
                () = self.tracer.filled() => true,
                () = sleep(GATHERING) => false,
                () = stopped(stop) => return self.finish(batch).await,
            };
            loop {
                *batch = self.tracer.take();
                if batch.is_empty() {
                    break;
                }
                self.deliver(batch, stop).await;
                if !batch.is_empty() {
                    return self.finish(batch).await;
                }
                // The gathering time is not over yet.
                if !gathered {
                    break;
                }
            }
        }
    }

    /// Sends a batch until it is accepted, refused, or given up; then it is empty. A stop ends the
    /// pause between two attempts, and leaves the batch.
    async fn deliver(&mut self, batch: &mut Vec<Record>, stop: &mut watch::Receiver<bool>) {
        let mut pause = FIRST_PAUSE;
        for attempt in 1..=TRIES {
            let Err((why, after)) = self.send(batch).await else { return };
            if attempt == TRIES {
                let count = std::mem::take(batch).len();
                self.lose(count, Lost::Unreachable, &why);
                return;
            }
            tokio::select! {
                () = sleep(after.unwrap_or(pause).min(LONGEST_PAUSE)) => {}
                () = stopped(stop) => return,
            }
            pause = pause.saturating_mul(2);
        }
    }

    /// Sends a batch once. Afterwards it is empty, unless it should be sent again.
    ///
    /// # Errors
    /// It should be sent again, for this reason and not before this time.
    async fn send(&mut self, batch: &mut Vec<Record>) -> Result<(), (String, Option<Duration>)> {
        let message = wire::message(batch, &self.resource);
        match self.collector.send(message).await {
            Taken::Yes { refused, why } => {
                let refused = refused.min(batch.len());
                let exported = batch.len().saturating_sub(refused);
                self.tracer.exported(u64::try_from(exported).unwrap_or(u64::MAX));
                if refused > 0 {
                    self.lose(refused, Lost::Refused, &why);
                }
            }
            Taken::Never(why) => self.lose(batch.len(), Lost::Refused, &why),
            Taken::NotNow { why, after } => return Err((why, after)),
        }
        batch.clear();
        Ok(())
    }

    /// Sends everything that waits, each batch once.
    async fn finish(&mut self, batch: &mut Vec<Record>) {
        loop {
            if batch.is_empty() {
                *batch = self.tracer.take();
            }
            if batch.is_empty() {
                return;
            }
            if let Err((why, _)) = self.send(batch).await {
                // The next batch would fail, too.
                let count = std::mem::take(batch).len().saturating_add(self.rest());
                self.lose(count, Lost::Unreachable, &why);
                return;
            }
        }
    }

    /// Discards the waiting spans; returns how many there were.
    fn rest(&self) -> usize {
        let batches = std::iter::repeat_with(|| self.tracer.take().len());
        batches.take_while(|count| *count > 0).fold(0, usize::saturating_add)
    }

    fn lose(&mut self, count: usize, how: Lost, why: &str) {
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        self.tracer.lose(count, how);
        self.untold = self.untold.saturating_add(count);
        if self.told.is_none_or(|told| told.elapsed_us() > TELL_US) {
            self.tell(why);
        }
    }

    fn tell(&mut self, why: &str) {
        if self.untold > 0 {
            tracing::warn!(count = self.untold, why, "spans did not reach the collector");
            (self.untold, self.told) = (0, Some(Stopwatch::new()));
        }
    }
}
