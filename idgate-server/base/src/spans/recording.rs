//! The spans of one request or delivery. They are collected until it ends, because their trace is
//! known only once the caller or the session is known.

use std::future::Future;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::cpu::{Cpu, Meter, is_for_trace};
use super::tracer::{Kind, Record, Tracer};
use super::{Key, Parent, Stage, Value};
use crate::clock::Timeline;
use crate::limits::SPANS_OF_A_REQUEST;

tokio::task_local! {
    /// The recording that this task belongs to, if any.
    static CURRENT: Current;
}

#[derive(Clone)]
struct Current {
    recording: Arc<Recording>,
    span: [u8; 8],
}

/// The spans of one request or delivery.
#[derive(Debug)]
pub struct Recording {
    tracer: Arc<Tracer>,
    timeline: Timeline,
    kind: Kind,
    root: [u8; 8],
    /// The CPU time of its stages; `None` if its own trace is not sampled, because measuring has a
    /// cost.
    cpu: Option<Arc<Cpu>>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    trace_id: [u8; 16],
    /// The parent of its root span.
    parent: Option<[u8; 8]>,
    sampled: bool,
    /// Whether the caller is admitted: it has a valid key, or names an existing session.
    is_admitted: bool,
    begun: u64,
    ended: Vec<Record>,
    is_over: bool,
}

impl Recording {
    pub(super) fn new(
        tracer: Arc<Tracer>,
        kind: Kind,
        trace_id: [u8; 16],
        root: [u8; 8],
    ) -> Arc<Self> {
        let sampled = tracer.samples(trace_id, None);
        let state = State {
            trace_id,
            parent: None,
            sampled,
            is_admitted: false,
            begun: 0,
            ended: Vec::new(),
            is_over: false,
        };
        let timeline = Timeline::begin();
        let cpu = sampled.then(Arc::default);
        Arc::new(Self { tracer, timeline, kind, root, cpu, state: Mutex::new(state) })
    }

    /// Runs `work` with this recording as the task's current one.
    pub async fn around<F: Future>(self: &Arc<Self>, work: F) -> F::Output {
        let current = Current { recording: self.clone(), span: self.root };
        self.measured(CURRENT.scope(current, work)).await
    }

    /// Counts `work` for [`Stage::Request`].
    async fn measured<F: Future>(&self, work: F) -> F::Output {
        match self.meter(Stage::Request) {
            Some(meter) => meter.run_each(work).await,
            None => work.await,
        }
    }

    fn meter(&self, stage: Stage) -> Option<Meter> {
        Some(Meter { cpu: self.cpu.clone()?, stage })
    }

    /// The caller is known now: joins the trace of `parent`, if there is one. Only the first parent
    /// counts.
    pub fn join(&self, parent: Option<Parent>) {
        let mut state = self.state();
        state.is_admitted = true;
        if let Some(parent) = parent
            && state.parent.is_none()
        {
            (state.trace_id, state.parent) = (parent.trace_id, Some(parent.span_id));
            state.sampled = self.tracer.samples(parent.trace_id, Some(&parent));
        }
    }

    /// Ends the recording. Spans that are still open are recorded when they end.
    pub fn end(&self, name: String, mut attributes: Vec<(Key, Value)>, failed: bool) {
        attributes.extend(self.cpu.iter().flat_map(|cpu| cpu.attributes()));
        let mut state = self.state();
        if mem::replace(&mut state.is_over, true) {
            return;
        }
        let mut records = mem::take(&mut state.ended);
        records.push(Record {
            trace_id: [0; 16],
            span_id: self.root,
            parent: state.parent,
            parent_is_remote: state.parent.is_some(),
            name,
            kind: self.kind,
            started: self.timeline.began(),
            ended: self.timeline.now(),
            attributes,
            failed,
        });
        let (trace_id, sampled) = (state.trace_id, state.sampled);
        drop(state);
        if sampled {
            records.iter_mut().for_each(|record| record.trace_id = trace_id);
            self.tracer.queue(records);
        }
    }

    /// Ends the recording without a trace.
    pub fn forget(&self) {
        let mut state = self.state();
        (state.is_over, state.sampled) = (true, false);
        state.ended = Vec::new();
    }

    fn parent_for_others(&self, span_id: [u8; 8]) -> Parent {
        let State { trace_id, sampled, .. } = *self.state();
        Parent { trace_id, span_id, sampled }
    }

    /// The id of another span; `None` once the recording has its maximum of spans.
    fn next(&self) -> Option<[u8; 8]> {
        let mut state = self.state();
        if state.begun >= SPANS_OF_A_REQUEST {
            return None;
        }
        state.begun = state.begun.saturating_add(1);
        // Derived from the random root id; a collision with another root is a chance of one in
        // 2^58.
        let id = u64::from_be_bytes(self.root).wrapping_add(state.begun);
        (id != 0).then(|| id.to_be_bytes())
    }

    fn add(&self, mut record: Record) {
        let mut state = self.state();
        if !state.is_over {
            return state.ended.push(record);
        }
        if state.sampled {
            record.trace_id = state.trace_id;
            drop(state);
            self.tracer.queue([record]);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A client that disconnected leaves a recording without an end. Recordings of strangers are then
/// dropped, because strangers can do that endlessly.
impl Drop for Recording {
    fn drop(&mut self) {
        if self.state().is_admitted {
            self.end("abandoned".to_owned(), Vec::new(), true);
        }
    }
}

/// A part of the task's recording, from its creation until it is dropped.
#[derive(Debug)]
pub struct Span(Option<Box<Open>>);

#[derive(Debug)]
struct Open {
    recording: Arc<Recording>,
    id: [u8; 8],
    parent: [u8; 8],
    name: &'static str,
    kind: Kind,
    started: u64,
    attributes: Vec<(Key, Value)>,
}

impl Span {
    /// Starts a span, if the task is recorded.
    pub fn begin(name: &'static str, kind: Kind) -> Self {
        let begun = CURRENT.try_with(|Current { recording, span }| {
            let id = recording.next()?;
            let (recording, started) = (recording.clone(), recording.timeline.now());
            let (parent, attributes) = (*span, Vec::new());
            let open = Open { recording, id, parent, name, kind, started, attributes };
            Some(Box::new(open))
        });
        Self(begun.ok().flatten())
    }

    /// Sets an attribute.
    pub fn set(&mut self, key: Key, value: impl FnOnce() -> Option<Value>) {
        if let Some(open) = &mut self.0
            && let Some(value) = value()
        {
            open.attributes.push((key, value));
        }
    }

    /// Runs `work` inside the span: spans started within it are its children.
    pub async fn around<F: Future>(&self, work: F) -> F::Output {
        match &self.0 {
            Some(open) => {
                let current = Current { recording: open.recording.clone(), span: open.id };
                CURRENT.scope(current, work).await
            }
            None => work.await,
        }
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        let Some(open) = self.0.take() else { return };
        let Open { recording, id, parent, name, kind, started, attributes } = *open;
        recording.add(Record {
            trace_id: [0; 16],
            span_id: id,
            parent: Some(parent),
            parent_is_remote: false,
            name: name.to_owned(),
            kind,
            started,
            ended: recording.timeline.now(),
            attributes,
            failed: false,
        });
    }
}

/// Runs `work` as a stage of the task's recording.
pub fn stage<T>(stage: Stage, work: impl FnOnce() -> T) -> T {
    Metered::of(stage).run(work)
}

/// The same for a future.
pub async fn stage_of_each<F: Future>(stage: Stage, work: F) -> F::Output {
    match Metered::of(stage).0 {
        Some(meter) => meter.run_each(work).await,
        None => work.await,
    }
}

/// Counts for a stage of the task's recording on another thread.
#[derive(Debug)]
pub struct Metered(Option<Meter>);

impl Metered {
    /// For this task's recording, if there is one.
    pub fn of(stage: Stage) -> Self {
        let meter = CURRENT.try_with(|current| {
            let stage = if is_for_trace() { Stage::Trace } else { stage };
            current.recording.meter(stage)
        });
        Self(meter.ok().flatten())
    }

    /// Runs `work` as part of the stage.
    pub fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        match &self.0 {
            Some(meter) => meter.run(work),
            None => work(),
        }
    }
}

/// Marks the task's recording, if there is one, as belonging to a known caller, and joins the trace
/// of `parent` if there is one.
pub fn join(parent: impl FnOnce() -> Option<Parent>) {
    let _ = CURRENT.try_with(|current| current.recording.join(parent()));
}

/// The current span, as the parent for outgoing requests.
pub fn outgoing() -> Option<Parent> {
    CURRENT.try_with(|current| current.recording.parent_for_others(current.span)).ok()
}

/// The current span of this task, if the task is recorded and sampled.
pub fn current() -> Option<Parent> {
    outgoing().filter(|parent| parent.sampled)
}

/// `work` for a separate task, as a part of this task's recording.
pub fn carried<F: Future>(work: F) -> impl Future<Output = F::Output> {
    let current = CURRENT.try_with(Clone::clone).ok();
    async move {
        match current {
            Some(current) => {
                let recording = current.recording.clone();
                recording.measured(CURRENT.scope(current, work)).await
            }
            None => work.await,
        }
    }
}
