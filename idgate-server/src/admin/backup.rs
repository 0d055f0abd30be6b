//! `idgate backup`

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use crate::admin::output::Output;
use crate::failure::Failure;
use crate::store;

/// Where the backup goes.
#[derive(Args, Debug)]
pub struct BackupOptions {
    /// The file to make; one that exists is refused
    pub file: PathBuf,
}

/// Backs up the data directory `dir`.
///
/// # Errors
/// What is in the way.
pub fn run(options: &BackupOptions, dir: &Path) -> Result<Output, Failure> {
    let made = store::back_up(dir, &options.file)?;
    let file = options.file.display().to_string();
    let text = format!(
        "{file}: {} bytes, schema {}, SHA-256 {}\n\
         Keep the instance key as well, in another place: without it nothing sealed can be opened.\n",
        made.bytes, made.schema, made.sha256
    );
    let json = json!({
        "file": file, "bytes": made.bytes, "sha256": made.sha256, "schema": made.schema
    });
    Ok(Output::new(json, text))
}
