//! Why a command failed, and how that is reported.

use std::fmt;
use std::process::ExitCode;

use serde_json::json;

use crate::stdio;
use idgate_store::StoreError;

/// Why a command failed.
#[derive(Debug, Eq, PartialEq)]
pub enum Failure {
    /// Something is wrong; the text says what, and what to do.
    Error(String),
    /// The command line is wrong.
    Usage(String),
    /// There is no such object.
    NotFound(String),
    /// Stored data was changed or damaged.
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
    /// Reports to people on stderr and, with `--json`, to programs on stdout.
    pub fn report(&self, json: bool) -> ExitCode {
        stdio::to_stderr(stdio::for_people(&format!("error: {self}\n")));
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
