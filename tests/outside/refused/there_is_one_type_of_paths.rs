//! E0432: the path of a claim has one type, at the root.
pub use idgate_core::ClaimsPath;
