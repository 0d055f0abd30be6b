//! `idgate copy`

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use idgate_core::UnixMillis;
use serde_json::{Value, json};

use crate::admin::output::Output;
use crate::config::DataDir;
use crate::failure::Failure;

/// The options of `idgate copy`.
#[derive(Args, Debug)]
pub struct CopyOptions {
    /// The data directory of a stopped gateway
    #[arg(long, value_name = "DIR")]
    pub from: PathBuf,
}

/// Copies a data directory into the database of the settings.
///
/// # Errors
/// Why the directory or the database cannot be used.
pub fn run(options: &CopyOptions, dir: &DataDir, now: UnixMillis) -> Result<Output, Failure> {
    let (Some(address), Some(key)) = (&dir.database, &dir.instance_key) else {
        return Err(Failure::Error(
            "IDGATE_DATABASE_URL: is not set; set it to the database that the directory is to be copied into"
                .into(),
        ));
    };
    let copied = idgate_store::copy(&options.from, address, key, now)?;
    let from = options.from.display();
    let mut text = String::new();
    for (table, rows) in &copied.rows {
        let _ = writeln!(text, "{table}: {rows} rows");
    }
    let _ = writeln!(
        text,
        "{from} was copied into {address} and compared row by row; {} audit entries are intact in both.\n\
         Start the gateways with IDGATE_DATABASE_URL, and destroy {from} when they serve.",
        copied.entries
    );
    let rows: serde_json::Map<String, Value> =
        copied.rows.iter().map(|(table, rows)| ((*table).to_owned(), json!(rows))).collect();
    let json = json!({
        "rows": rows, "audit_entries": copied.entries, "lost_claims": copied.lost_claims
    });
    let mut output = Output::new(json, text);
    if copied.lost_claims > 0 {
        output.warnings.push(format!(
            "claims of {} sessions could still be read, and were not copied; next time, wait 30 \
             seconds after the gateway has stopped",
            copied.lost_claims
        ));
    }
    Ok(output)
}
