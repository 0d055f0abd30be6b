//! What a call may bring; each number carries its reason.

/// Bytes of one input: far beyond any list, and far below what a wrong length usually says.
pub(crate) const MAX_INPUT: usize = 64 * 1024 * 1024;

/// Handles of one list: more signers than any verifier has.
pub(crate) const MAX_HANDLES: usize = 256;
