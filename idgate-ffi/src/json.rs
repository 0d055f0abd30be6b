//! JSON of a caller, and the texts for JSON that cannot be read.

use serde::de::DeserializeOwned;

use crate::failure::Failure;
use crate::status::idgate_status::{self, IDGATE_MISUSE};

/// Reads a text. Messages about it contain names of members, never values.
pub(crate) fn read<T: DeserializeOwned>(
    json: &[u8],
    name: &str,
    status: idgate_status,
) -> Result<T, Failure> {
    serde_json::from_slice(json).map_err(|error| {
        let code = if status == IDGATE_MISUSE { "misuse" } else { "config" };
        Failure::new(status, code, describe(json, name, &error))
    })
}

fn describe(json: &[u8], name: &str, error: &serde_json::Error) -> String {
    const NAMES_ONLY: [&str; 3] = ["unknown field", "missing field", "duplicate field"];
    let (text, place) = (error.to_string(), place(json, error));
    let position = format!(" at line {} column {}", error.line(), error.column());
    let text = text.strip_suffix(&position).unwrap_or(&text);
    if !error.is_data() || NAMES_ONLY.iter().any(|it| text.starts_with(it)) {
        return format!("{name} cannot be read: {text}, at byte {place}");
    }
    // For other errors serde shows the value. For an unknown variant it also lists the allowed values.
    if text.starts_with("unknown variant")
        && let Some((_, known)) = text.rsplit_once("`, expected ")
    {
        return format!("{name}: the value before byte {place} must be {known}");
    }
    format!("{name}: the value before byte {place} has another type than is needed")
}

/// How many bytes of the text were read.
fn place(json: &[u8], error: &serde_json::Error) -> usize {
    let lines = json.split_inclusive(|byte| *byte == b'\n');
    let before: usize = lines.take(error.line().saturating_sub(1)).map(<[u8]>::len).sum();
    before.saturating_add(error.column())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code)]
    struct Given {
        nonce: String,
        at: u64,
        kind: Option<Kind>,
    }

    #[derive(Debug, Deserialize)]
    #[allow(dead_code)]
    enum Kind {
        One,
        Two,
    }

    #[test]
    fn read_errors_never_contain_values() {
        for (json, says) in [
            (r#"{"nonce":8472}"#, "byte 13"),
            ("{\n\"nonce\":8472}", "byte 14"),
            (r#"{"nonce":"x","at":"8472"}"#, "byte 24"),
            (r#"{"nonce":"x","at":-8472}"#, "byte 23"),
            (r#""8472""#, "byte 6"),
            (r#"{"nonces":"8472"}"#, "nonces"),
            (r#"{"at":1}"#, "nonce"),
            (r#"{"kind":"8472"}"#, "it: the value before byte 14 must be `One` or `Two`"),
            (r#"{"kind":"8472`, expected 8472"}"#, "`One` or `Two`"),
            (r#"{"kind":{"8472":1}}"#, "`One` or `Two`"),
            (r#"{"nonce":"x","at":"8472`, expected 8472"}"#, "byte 40"),
            ("{", "EOF"),
        ] {
            let message = read::<Given>(json.as_bytes(), "it", IDGATE_MISUSE).unwrap_err().message;
            assert!(!message.contains("8472"), "{message}");
            assert!(message.contains(says) && !message.contains("line"), "{message}");
        }
    }
}
