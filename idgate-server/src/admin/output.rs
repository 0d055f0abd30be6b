//! What a command says, and the rule that every name in it follows.

use serde_json::Value;

use crate::failure::Failure;
use crate::stdio;

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

/// What somebody else has written, as one line of a terminal shows it: a line break in it would make rows
/// that are not there, other control characters are commands.
pub(crate) fn on_one_line(text: &str) -> String {
    stdio::without_orders(text, &[])
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown_escaped() {
        let text = "bücher \\ \0\r\n\u{1b}[2K\u{7f}\u{9b}";
        assert_eq!(on_one_line(text), r"bücher \ \u{0}\r\n\u{1b}[2K\u{7f}\u{9b}");
    }
}
