//! Counts the signatures that a verification verifies.

use idgate_core::crypto::counting::verified;

/// How many signatures `work` verifies, including those of certificates.
pub(super) fn verified_in(work: impl FnOnce()) -> usize {
    let before = verified();
    work();
    verified() - before
}
