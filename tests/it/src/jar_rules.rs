//! Request mode jar with the library, in virtual time: the tamper table, both request modes, mdoc
//! transcripts and MACs, and the binding to one session.

mod harness;
mod mdoc;
mod mutation;
mod profiles;
mod sessions;
mod table;
