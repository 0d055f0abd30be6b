//! Randomness of the operating system.

pub use idgate_core::OsEntropy;
