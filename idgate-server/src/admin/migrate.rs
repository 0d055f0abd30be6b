//! `idgate migrate`

use serde_json::json;

use crate::admin::output::Output;
use crate::config::DataDir;
use crate::failure::Failure;

/// Brings the schema of the database up to date. A data directory needs no such command: whatever
/// opens it does that.
///
/// # Errors
/// There is no database, it cannot be reached, or its schema is newer than this program can work with.
pub fn run(dir: &DataDir) -> Result<Output, Failure> {
    let Some(address) = &dir.database else {
        return Err(Failure::Error(
            "IDGATE_DATABASE_URL: is not set; a data directory is brought up to date by whatever \
             opens it"
                .into(),
        ));
    };
    let (from, to) = idgate_store::migrate(address)?;
    let text = match from {
        _ if from >= to => format!("{address}: schema {from}, nothing to do\n"),
        0 => format!("{address}: schema {to} is made\n"),
        _ => format!("{address}: schema {from} is now {to}\n"),
    };
    Ok(Output::new(json!({ "from": from, "to": to }), text))
}
