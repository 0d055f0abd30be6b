//! Finds what a data directory still lacks before a gateway on it is useful.

use std::path::Path;

use crate::sqlite::files::{main_path, open_for_reading};
use crate::types::StoreError;

/// What is missing, with the command for each. A directory that cannot be read counts as complete.
pub fn missing(dir: &Path) -> Vec<&'static str> {
    look(dir).unwrap_or_default()
}

fn look(dir: &Path) -> Result<Vec<&'static str>, StoreError> {
    let main = open_for_reading(&main_path(dir))?;
    let wanted = [
        (
            "SELECT EXISTS (SELECT 1 FROM clients WHERE revoked_at IS NULL)",
            "there is no client, so no session can be created; create one: idgate client create \
             NAME",
        ),
        (
            "SELECT EXISTS (SELECT 1 FROM trust_entries)",
            "there is no trust, so every request for a session is refused; add an issuer: \
             idgate trust add ISSUER_ID --jwk FILE --vct TYPE, or with --root FILE for mdoc",
        ),
    ];
    let mut missing = Vec::new();
    for (question, what) in wanted {
        let there: bool = main.query_row(question, [], |row| row.get(0))?;
        if !there {
            missing.push(what);
        }
    }
    Ok(missing)
}
