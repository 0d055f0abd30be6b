//! The spans of one request or delivery. They are collected until it ends, because which trace they
//! belong to is known late: once the caller is known, or the session.

use std::future::Future;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::cpu::{Cpu, Meter, is_for_trace};
use super::tracer::{Kind, Record, Tracer};
use super::{Key, Parent, Stage, Value};
use crate::clock::Timeline;
use crate::limits::SPANS_OF_A_REQUEST;

tokio::task_local! {
    /// What this task works for, if it is recorded.
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
    /// What its stages take; `None` where its own trace is not drawn: what is measured costs something.
    cpu: Option<Arc<Cpu>>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    trace_id: [u8; 16],
    /// What its root belongs to.
    parent: Option<[u8; 8]>,
    sampled: bool,
    /// Whether somebody asks who may: the owner of a good key, or whoever has a session.
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

    /// Runs `work` with this as what the task works for.
    pub async fn around<F: Future>(self: &Arc<Self>, work: F) -> F::Output {
        let current = Current { recording: self.clone(), span: self.root };
        self.measured(CURRENT.scope(current, work)).await
    }

    /// Runs `work` as what is of no other stage.
    async fn measured<F: Future>(&self, work: F) -> F::Output {
        match self.meter(Stage::Request) {
            Some(meter) => meter.run_each(work).await,
            None => work.await,
        }
    }

    fn meter(&self, stage: Stage) -> Option<Meter> {
        Some(Meter { cpu: self.cpu.clone()?, stage })
    }

    /// Whose it is, is known: it is part of the trace of `parent`, if there is one. Only the first counts.
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

    /// Ends it. What runs on behind it is recorded as it ends.
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

    /// Ends it without a trace.
    pub fn forget(&self) {
        let mut state = self.state();
        (state.is_over, state.sampled) = (true, false);
        state.ended = Vec::new();
    }

    fn parent_for_others(&self, span_id: [u8; 8]) -> Parent {
        let State { trace_id, sampled, .. } = *self.state();
        Parent { trace_id, span_id, sampled }
    }

    /// The id of one more span; `None`: it has as many as it may.
    fn next(&self) -> Option<[u8; 8]> {
        let mut state = self.state();
        if state.begun >= SPANS_OF_A_REQUEST {
            return None;
        }
        state.begun = state.begun.saturating_add(1);
        // Next to the drawn one: no other draws there but by a chance of one in 2^58.
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

/// Whoever hung up left it without an end. Of strangers, who may do so without end, nothing stays.
impl Drop for Recording {
    fn drop(&mut self) {
        if self.state().is_admitted {
            self.end("abandoned".to_owned(), Vec::new(), true);
        }
    }
}

/// A part of what the task works for, from its making until it is dropped.
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
    /// Begins one, if the task is recorded.
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

    /// Says something of it.
    pub fn set(&mut self, key: Key, value: impl FnOnce() -> Option<Value>) {
        if let Some(open) = &mut self.0
            && let Some(value) = value()
        {
            open.attributes.push((key, value));
        }
    }

    /// Runs `work` as its part: what begins within belongs to it.
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

/// Runs `work` as a stage of what the task works for.
pub fn stage<T>(stage: Stage, work: impl FnOnce() -> T) -> T {
    Metered::of(stage).run(work)
}

/// The same for what waits.
pub async fn stage_of_each<F: Future>(stage: Stage, work: F) -> F::Output {
    match Metered::of(stage).0 {
        Some(meter) => meter.run_each(work).await,
        None => work.await,
    }
}

/// Counts for a stage of what the task works for, on another thread.
#[derive(Debug)]
pub struct Metered(Option<Meter>);

impl Metered {
    /// Of this task's, if that is recorded.
    pub fn of(stage: Stage) -> Self {
        let meter = CURRENT.try_with(|current| {
            let stage = if is_for_trace() { Stage::Trace } else { stage };
            current.recording.meter(stage)
        });
        Self(meter.ok().flatten())
    }

    /// Runs `work` as a part of the stage.
    pub fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        match &self.0 {
            Some(meter) => meter.run(work),
            None => work(),
        }
    }
}

/// Says of what the task works for, if it is recorded, that it is of somebody who is known, and part of the
/// trace of `parent` if there is one.
pub fn join(parent: impl FnOnce() -> Option<Parent>) {
    let _ = CURRENT.try_with(|current| current.recording.join(parent()));
}

/// What others belong to that this task asks or tells: the span that it is in.
pub fn outgoing() -> Option<Parent> {
    CURRENT.try_with(|current| current.recording.parent_for_others(current.span)).ok()
}

/// The span that this task is in, if it is recorded and sampled.
pub fn current() -> Option<Parent> {
    outgoing().filter(|parent| parent.sampled)
}

/// `work` for a task of its own, as a part of what this one works for.
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
