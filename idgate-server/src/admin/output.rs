//! The output of a command, and the rule for names in it.

use std::fmt::{Display, Write as _};

use serde_json::{Value, json};

use crate::config::rules;
use crate::failure::Failure;
use crate::stdio;

/// The output of a command.
#[derive(Debug, Default)]
pub struct Output {
    /// The JSON object.
    pub json: Value,
    /// The text; ends with a newline.
    pub text: String,
    /// Warnings on stderr.
    pub warnings: Vec<String>,
    /// The exit code: 0, or 3 for a failed check.
    pub code: u8,
}

impl Output {
    pub(crate) fn new(json: Value, text: String) -> Self {
        Self { json, text, ..Self::default() }
    }

    /// The output of a command that revoked the object with this id.
    pub(crate) fn revoked(member: &str, id: &str) -> Self {
        Self::new(json!({ member: id, "revoked": true }), format!("{id} is revoked\n"))
    }

    pub(crate) fn with_warning(mut self, warning: impl Into<String>) -> Self {
        self.warnings.push(warning.into());
        self
    }

    /// With exit code 3 if a check failed (decisions 2).
    pub(crate) fn failed_if(mut self, failed: bool) -> Self {
        self.code = if failed { 3 } else { 0 };
        self
    }
}

/// A list under construction: each row is a line of text and a JSON value.
#[derive(Default)]
pub(crate) struct Rows {
    pub(crate) text: String,
    pub(crate) json: Vec<Value>,
}

impl Rows {
    pub(crate) fn add(&mut self, line: impl Display, row: Value) {
        let _infallible = writeln!(self.text, "{line}");
        self.json.push(row);
    }

    /// An object with the rows as its member `name`.
    pub(crate) fn into_output(self, name: &str) -> Output {
        Output::new(json!({ name: self.json }), self.text)
    }
}

/// Text from a client, on one line of a terminal. A line break would make false rows, and other
/// control characters are commands.
pub(crate) fn on_one_line(text: &str) -> String {
    stdio::without_orders(text, &[])
}

/// Refuses names that a list cannot show.
pub(crate) fn check_name(what: &str, name: &str, longest: usize) -> Result<(), Failure> {
    rules::check_name(name, longest).map_err(|why| Failure::Usage(format!("{what} {why}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown_escaped() {
        let text = "bücher \\ \0\r\n\u{1b}[2K\u{7f}\u{9b}";
        assert_eq!(on_one_line(text), r"bücher \ \u{0}\r\n\u{1b}[2K\u{7f}\u{9b}");
    }
}
