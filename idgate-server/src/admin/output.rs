//! What a command says, and the rule that every name in it follows.

use serde_json::Value;

use crate::failure::Failure;

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
    pub(crate) fn new(json: Value, text: String) -> Self {
        Self { json, text, warnings: Vec::new(), code: 0 }
    }
}

/// Refuses names that a list could not show.
pub(crate) fn check_name(what: &str, name: &str, longest: usize) -> Result<(), Failure> {
    let length = name.chars().count();
    if name.trim().is_empty() || length > longest || name.chars().any(char::is_control) {
        return Err(Failure::Usage(format!(
            "{what} must have 1 to {longest} characters and no control characters"
        )));
    }
    Ok(())
}
