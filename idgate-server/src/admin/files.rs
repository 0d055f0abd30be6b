//! Files in options of commands.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::shell::{PinnedSigner, pem_or_der};

use crate::failure::Failure;

/// Reads a file of at most `limit` bytes.
pub(super) fn read_at_most(path: &Path, limit: u64) -> Result<Vec<u8>, Failure> {
    let cannot = |error: std::io::Error| in_file(path, format!("cannot be read: {error}"));
    if std::fs::metadata(path).map_err(cannot)?.len() > limit {
        return Err(in_file(path, format!("is larger than {} MiB", limit >> 20)));
    }
    std::fs::read(path).map_err(cannot)
}

/// The blocks of `label` in these PEM files, and the DER of the others, each with its file.
pub(super) fn blocks<'p>(
    paths: &'p [PathBuf],
    label: &str,
    read: impl Fn(&Path) -> Result<Vec<u8>, Failure>,
) -> Result<Vec<(&'p Path, Vec<u8>)>, Failure> {
    let mut blocks = Vec::new();
    for path in paths {
        let found = pem_or_der(&read(path)?, label).map_err(|why| in_file(path, why))?;
        blocks.extend(found.into_iter().map(|der| (path.as_path(), der)));
    }
    Ok(blocks)
}

/// The certificates in these files, as pinned signers.
pub(super) fn signers(
    paths: &[PathBuf],
    read: impl Fn(&Path) -> Result<Vec<u8>, Failure>,
) -> Result<Vec<PinnedSigner>, Failure> {
    let signer = |(path, der): (&Path, Vec<u8>)| {
        PinnedSigner::from_der(&PROVIDER, &der).map_err(|why| in_file(path, why))
    };
    blocks(paths, "CERTIFICATE", read)?.into_iter().map(signer).collect()
}

/// An error about a file.
pub(super) fn in_file(path: &Path, why: impl Display) -> Failure {
    Failure::Error(format!("{}: {why}", path.display()))
}
