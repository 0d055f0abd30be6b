//! Files that an operator names.

use std::fmt::Display;
use std::path::Path;

use crate::failure::Failure;

/// The file, when it has at most `limit` bytes.
pub(super) fn read_at_most(path: &Path, limit: u64) -> Result<Vec<u8>, Failure> {
    let cannot = |error: std::io::Error| in_file(path, format!("cannot be read: {error}"));
    if std::fs::metadata(path).map_err(cannot)?.len() > limit {
        return Err(in_file(path, format!("is larger than {} MiB", limit >> 20)));
    }
    std::fs::read(path).map_err(cannot)
}

/// What is wrong with a file.
pub(super) fn in_file(path: &Path, why: impl Display) -> Failure {
    Failure::Error(format!("{}: {why}", path.display()))
}
