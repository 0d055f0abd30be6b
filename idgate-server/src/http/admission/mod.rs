//! Admission: whether and when a connection or a request may proceed, and how long it may take.

pub(crate) mod connections;
pub(crate) mod linger;
pub(crate) mod memory;
pub(crate) mod rates;
pub(crate) mod time_limit;
pub(crate) mod turns;
