//! Limits of what a call may pass in, each with its reason.

/// Bytes of one input: far beyond any list, and far below what a wrong length usually says.
pub(crate) const MAX_INPUT: usize = 64 * 1024 * 1024;

/// Elements of one array: more claims or address ranges than any caller has.
pub(crate) const MAX_LIST: usize = 1024;

/// Bytes of one struct: many times what any has, and far below what a wrong size usually says.
pub(crate) const MAX_STRUCT: usize = 4096;

/// Signers of one verifier.
pub(crate) const MAX_SIGNERS: usize = 256;
