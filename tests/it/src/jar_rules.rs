//! The jar profile on the library, in virtual time: the tamper table, both profiles side by side,
//! mdoc transcripts and MACs, and what belongs to one session only.

mod harness;
mod mdoc;
mod mutation;
mod profiles;
mod sessions;
mod table;
