//! The mdoc tamper table: a good answer, one change at a time, and the expected outcome. It is
//! data: `mdoc_http` runs it over HTTP, `cases` in-process.

// The table runs in tests only.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod device;
mod issuer;
mod items;
pub mod scenario;
mod structure;
pub mod v1_0;

pub use self::scenario::{Authority, ISSUER_ID, Scenario, mdl, mdl_request};

/// One change to a good answer.
pub type Row = crate::tamper::Row<Scenario>;

/// The status of a session whose answer was accepted.
pub const VERIFIED: &str = "VERIFIED";

/// Every row.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    [structure::ROWS, issuer::ROWS, items::ROWS, device::ROWS].into_iter().flatten()
}
