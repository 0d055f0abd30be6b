//! Randomness of the operating system.

pub(crate) use idgate_core::OsEntropy;
