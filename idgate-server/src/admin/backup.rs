//! `idgate backup`

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use crate::admin::output::Output;
use crate::config::DataDir;
use crate::failure::Failure;

/// The options of `idgate backup`.
#[derive(Args, Debug)]
pub struct BackupOptions {
    /// The file to create; an existing file is refused
    pub file: PathBuf,
}

/// Backs up the data directory.
///
/// # Errors
/// Why there is no backup, or how to back up a database instead.
pub fn run(options: &BackupOptions, dir: &DataDir) -> Result<Output, Failure> {
    if dir.database.is_some() {
        return Err(Failure::Error(
            "IDGATE_DATABASE_URL: is set; back up PostgreSQL with its own tools: `pg_dump \
             --no-unlogged-table-data`, or a base backup. Without that option, pg_dump also copies \
             sealed results, which must not be in a backup, and delays their erasure. Keep the \
             instance key as well, in another place."
                .into(),
        ));
    }
    let made = idgate_store::back_up(&dir.path, &options.file)?;
    let file = options.file.display().to_string();
    let text = format!(
        "{file}: {} bytes, schema {}, SHA-256 {}\n\
         Keep the instance key as well, in another place: without it, no sealed value can be opened.\n",
        made.bytes, made.schema, made.sha256
    );
    let json = json!({
        "file": file, "bytes": made.bytes, "sha256": made.sha256, "schema": made.schema
    });
    Ok(Output::new(json, text))
}
