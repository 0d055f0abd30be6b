//! Traces: what one request or delivery did, and how long each part took. If the operator
//! configures no collector, nothing is recorded, and every function of this module only checks a
//! task-local variable.
//!
//! Spans have fixed names and fixed attributes ([`Key`], [`Value`]). Text from a request cannot get
//! into one, except for the host that is asked for a status or notified of a result. There are no
//! attributes for claims, tokens, keys, or the ids of sessions, clients and people.

mod attribute;
mod cpu;
mod parent;
mod recording;
mod sampler;
mod tracer;

pub use self::attribute::{Key, Value};
pub use self::cpu::Stage;
pub use self::parent::Parent;
pub use self::recording::{
    Metered, Recording, Span, carried, current, join, outgoing, stage, stage_of_each,
};
pub use self::sampler::Sampler;
pub use self::tracer::{Counts, Kind, Lost, Record, Tracer};
