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

use std::fmt;
use std::process::ExitCode;

use serde_json::{Value, json};

use crate::stdio;
use crate::store::StoreError;

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

/// Why a command did nothing.
#[derive(Debug, Eq, PartialEq)]
pub enum Failure {
    /// Something is wrong; the text says what and what to do.
    Error(String),
    /// The command was given a value that it does not take.
    Usage(String),
    /// There is no such object.
    NotFound(String),
    /// What is stored is not as it was.
    Integrity(String),
}

impl Failure {
    /// The exit code.
    pub const fn code(&self) -> u8 {
        match self {
            Self::Error(_) => 1,
            Self::Usage(_) => 2,
            Self::Integrity(_) => 3,
            Self::NotFound(_) => 4,
        }
    }
}

impl Failure {
    /// Tells people on stderr and, with `--json`, programs on stdout.
    pub fn report(&self, json: bool) -> ExitCode {
        stdio::to_stderr(format!("error: {self}\n"));
        if json {
            stdio::to_stdout(format!("{}\n", json!({ "error": self.to_string() })));
        }
        ExitCode::from(self.code())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Error(text)
            | Self::Usage(text)
            | Self::NotFound(text)
            | Self::Integrity(text) => f.write_str(text),
        }
    }
}

impl From<String> for Failure {
    fn from(text: String) -> Self {
        Self::Error(text)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Damaged(text) => Self::Integrity(text),
            error => Self::Error(error.to_string()),
        }
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
