//! What one request or delivery did and how long each part took, for a collector of traces. Nothing
//! here when the operator names no collector: then no recording begins, and every function of this
//! module is one look at a variable of the task.
//!
//! A span has a name of ours and attributes of ours ([`Key`], [`Value`]): there is no way to put text
//! of a request into one, but for the host that is asked for a status or told of a result. Claims,
//! tokens, keys, and the ids of sessions, clients and people have no attribute.

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
