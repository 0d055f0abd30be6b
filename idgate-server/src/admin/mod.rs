//! Operator commands. Each works on the data directory, beside a running server or without one.

pub mod admin_token;
pub mod audit;
pub mod backup;
pub mod client;
pub mod dead_letters;
pub mod doctor;
pub mod keys;
pub mod settings;
pub mod trust;
pub mod verify;
pub mod webhook_host;

use serde_json::Value;

pub use crate::failure::Failure;

/// What a command has to say.
#[derive(Debug, Default)]
pub struct Output {
    /// For programs.
    pub json: Value,
    /// For people; ends with a newline.
    pub text: String,
    /// For people, on stderr.
    pub warnings: Vec<String>,
    /// The exit code: 0, or 3 for a check that failed.
    pub code: u8,
}

impl Output {
    fn new(json: Value, text: String) -> Self {
        Self { json, text, warnings: Vec::new(), code: 0 }
    }
}

/// Refuses names that a list could not show.
fn check_name(what: &str, name: &str, longest: usize) -> Result<(), Failure> {
    let length = name.chars().count();
    if name.trim().is_empty() || length > longest || name.chars().any(char::is_control) {
        return Err(Failure::Usage(format!(
            "{what} must have 1 to {longest} characters and no control characters"
        )));
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) mod fixture {
    use idgate_core::time::UnixMillis;

    use crate::store::OperatorStore;

    pub(crate) const NOW: UnixMillis = UnixMillis(1_790_000_000_000);

    /// An empty data directory, as an operator's command opens it.
    pub(crate) fn store() -> (tempfile::TempDir, OperatorStore) {
        let dir = tempfile::tempdir().unwrap();
        let store = OperatorStore::open(dir.path(), None).unwrap();
        (dir, store)
    }
}
