//! Writes our own values as JSON.

use alloc::string::String;

use serde::Serialize;

/// The JSON text of `value`: strings, numbers, lists of them, objects of them, and values that were
/// JSON before. All these can be written as JSON.
pub(crate) fn json_text(value: &(impl Serialize + ?Sized)) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_escaped() {
        assert_eq!(json_text("a\"b\n"), r#""a\"b\n""#);
        assert_eq!(json_text(&["a", ""]), r#"["a",""]"#);
    }
}
