//! `idgate migrate`

use serde_json::json;

use crate::admin::output::Output;
use crate::config::DataDir;
use crate::failure::Failure;

/// Updates the schema of the database. A data directory needs no such command: every program that
/// opens it does this.
///
/// # Errors
/// There is no database, it cannot be reached, or its schema is newer than this program can work with.
pub fn run(dir: &DataDir) -> Result<Output, Failure> {
    let Some(address) = &dir.database else {
        return Err(Failure::Error(
            "IDGATE_DATABASE_URL: is not set; a data directory needs no migration: the next start \
             updates it"
                .into(),
        ));
    };
    let (from, to) = idgate_store::migrate(address)?;
    let text = match from {
        _ if from >= to => format!("{address}: schema {from} is up to date\n"),
        0 => format!("{address}: created schema {to}\n"),
        _ => format!("{address}: updated schema {from} to {to}\n"),
    };
    Ok(Output::new(json!({ "from": from, "to": to }), text))
}
