//! E0432: parts that only a shell needs promise nothing.
pub use idgate_core::shell::TrustEntry;
