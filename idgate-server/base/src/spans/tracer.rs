//! The shared state of all recordings of a gateway: the sampler, and the queue to the collector.
//! Spans that do not fit into the queue are dropped and counted, so that requests never wait for a
//! collector.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use idgate_core::Entropy as _;
use tokio::sync::Notify;

use super::{Key, Parent, Recording, Sampler, Value};
use crate::entropy::OsEntropy;
use crate::limits::{MAX_WAITING_SPANS, SPANS_IN_A_BATCH};

/// The kind of a span.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// Work inside the gateway.
    Internal,
    /// Answering a request.
    Server,
    /// Sending a request to another system.
    Client,
}

/// A finished span.
#[derive(Clone, Debug)]
pub struct Record {
    /// Its trace.
    pub trace_id: [u8; 16],
    /// Its own id.
    pub span_id: [u8; 8],
    /// The id of its parent.
    pub parent: Option<[u8; 8]>,
    /// Whether the parent belongs to another process or another request.
    pub parent_is_remote: bool,
    /// Method and template, or a fixed name.
    pub name: String,
    /// Its kind.
    pub kind: Kind,
    /// Nanoseconds since 1970.
    pub started: u64,
    /// Nanoseconds since 1970.
    pub ended: u64,
    /// Its attributes.
    pub attributes: Vec<(Key, Value)>,
    /// Whether it failed through a fault of the gateway or of the system that it asked.
    pub failed: bool,
}

/// Why spans did not reach the collector.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Lost {
    /// The queue was full.
    Queue,
    /// The collector refused them.
    Refused,
    /// The collector could not be reached in time.
    Unreachable,
}

/// Counts of spans since this process started.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Counts {
    /// Accepted by the collector.
    pub exported: u64,
    /// As [`Lost::Queue`].
    pub queue: u64,
    /// As [`Lost::Refused`].
    pub refused: u64,
    /// As [`Lost::Unreachable`].
    pub unreachable: u64,
}

/// Creates recordings, and keeps finished spans for the exporter.
#[derive(Debug)]
pub struct Tracer {
    sampler: Sampler,
    waiting: Mutex<VecDeque<Record>>,
    /// A batch is full.
    filled: Notify,
    exported: AtomicU64,
    queue: AtomicU64,
    refused: AtomicU64,
    unreachable: AtomicU64,
}

impl Tracer {
    /// A tracer that records what `sampler` selects.
    pub fn new(sampler: Sampler) -> Arc<Self> {
        Arc::new(Self {
            sampler,
            waiting: Mutex::default(),
            filled: Notify::new(),
            exported: AtomicU64::new(0),
            queue: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            unreachable: AtomicU64::new(0),
        })
    }

    /// Starts a recording with a trace of its own, until it joins another; `None` if the system has
    /// no random bytes for its ids.
    pub fn begin(self: &Arc<Self>, kind: Kind) -> Option<Arc<Recording>> {
        let mut bytes = [0; 24];
        OsEntropy.fill(&mut bytes).ok()?;
        let (trace_id, span_id) = (*bytes.first_chunk()?, *bytes.last_chunk()?);
        let is_none = trace_id == [0; 16] || span_id == [0; 8];
        (!is_none).then(|| Recording::new(self.clone(), kind, trace_id, span_id))
    }

    pub(super) fn samples(&self, trace_id: [u8; 16], parent: Option<&Parent>) -> bool {
        self.sampler.takes(trace_id, parent)
    }

    /// Queues the spans of a recording, as far as they fit.
    pub(super) fn queue(&self, records: impl IntoIterator<Item = Record>) {
        let mut lost = 0u64;
        let mut waiting = self.waiting();
        for record in records {
            if waiting.len() < MAX_WAITING_SPANS {
                waiting.push_back(record);
            } else {
                lost = lost.saturating_add(1);
            }
        }
        let is_batch = waiting.len() >= SPANS_IN_A_BATCH;
        drop(waiting);
        self.lose(lost, Lost::Queue);
        if is_batch {
            self.filled.notify_one();
        }
    }

    /// The next batch; empty if nothing waits.
    pub fn take(&self) -> Vec<Record> {
        let mut waiting = self.waiting();
        let count = waiting.len().min(SPANS_IN_A_BATCH);
        waiting.drain(..count).collect()
    }

    /// Resolves when a batch is full.
    pub async fn filled(&self) {
        self.filled.notified().await;
    }

    /// Counts spans as accepted by the collector.
    pub fn exported(&self, count: u64) {
        self.exported.fetch_add(count, Ordering::Relaxed);
    }

    /// Counts spans as lost.
    pub fn lose(&self, count: u64, why: Lost) {
        let counter = match why {
            Lost::Queue => &self.queue,
            Lost::Refused => &self.refused,
            Lost::Unreachable => &self.unreachable,
        };
        counter.fetch_add(count, Ordering::Relaxed);
    }

    /// The counts so far.
    pub fn counts(&self) -> Counts {
        Counts {
            exported: self.exported.load(Ordering::Relaxed),
            queue: self.queue.load(Ordering::Relaxed),
            refused: self.refused.load(Ordering::Relaxed),
            unreachable: self.unreachable.load(Ordering::Relaxed),
        }
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<Record>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::Span;
    use super::*;

    #[test]
    fn spans_that_do_not_fit_are_dropped_and_counted() {
        let tracer = Tracer::new(Sampler { follows_parent: true, ratio: 1.0 });
        let count = MAX_WAITING_SPANS.checked_add(9).unwrap();
        for _ in 0..count {
            tracer.begin(Kind::Server).unwrap().end("POST /v1/sessions".into(), Vec::new(), false);
        }
        assert_eq!(tracer.counts(), Counts { queue: 9, ..Counts::default() });
        let batches: Vec<usize> = std::iter::repeat_with(|| tracer.take().len())
            .take_while(|length| *length > 0)
            .collect();
        assert!(batches.iter().all(|length| *length == SPANS_IN_A_BATCH));
        assert_eq!(batches.iter().sum::<usize>(), MAX_WAITING_SPANS);
    }

    #[tokio::test]
    async fn a_request_has_a_maximum_of_spans_and_keeps_those_that_end_later() {
        let tracer = Tracer::new(Sampler { follows_parent: true, ratio: 1.0 });
        let recording = tracer.begin(Kind::Server).unwrap();
        let late = recording.around(async {
            (0..200).for_each(|_| drop(Span::begin("commit", Kind::Client)));
            drop(Span::begin("lost", Kind::Client));
        });
        late.await;
        recording.end("GET /healthz".into(), Vec::new(), false);
        let spans = tracer.take();
        let most = usize::try_from(crate::limits::SPANS_OF_A_REQUEST).unwrap();
        assert_eq!(spans.len(), most.checked_add(1).unwrap());
        let root = spans.last().unwrap();
        assert!(root.parent.is_none());
        assert!(spans.iter().all(|span| span.trace_id == root.trace_id));
        let other = tracer.begin(Kind::Server).unwrap();
        let late = other.around(async { Span::begin("verify", Kind::Internal) }).await;
        other.end("POST /v1/sessions".into(), Vec::new(), false);
        drop(late);
        let [root, late] = tracer.take().try_into().unwrap();
        assert_eq!((late.parent, late.trace_id), (Some(root.span_id), root.trace_id));
        let forgotten = tracer.begin(Kind::Server).unwrap();
        let late = forgotten.around(async { Span::begin("verify", Kind::Internal) }).await;
        forgotten.forget();
        drop((late, forgotten));
        assert!(tracer.take().is_empty());
    }

    #[tokio::test]
    async fn a_disconnected_client_leaves_a_span_if_it_is_known() {
        let tracer = Tracer::new(Sampler { follows_parent: true, ratio: 1.0 });
        let recording = tracer.begin(Kind::Server).unwrap();
        recording.around(async { drop(Span::begin("authenticate", Kind::Internal)) }).await;
        drop(recording);
        assert!(tracer.take().is_empty());
        let parent = Parent { trace_id: [1; 16], span_id: [2; 8], sampled: true };
        for parent in [None, Some(parent)] {
            let recording = tracer.begin(Kind::Server).unwrap();
            recording.join(parent);
            drop(recording);
            let [left] = tracer.take().try_into().unwrap();
            assert_eq!((&*left.name, left.failed), ("abandoned", true));
            assert_eq!(left.parent, parent.map(|parent| parent.span_id));
        }
    }
}
