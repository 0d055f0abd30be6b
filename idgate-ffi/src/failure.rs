//! What goes wrong: a status, a stable code, a text for people, and for requests the field. Texts
//! never carry claim values, tokens, keys or nonces.

use core::fmt;

use idgate_core::error::{
    ConfigError, CreateError, NotAnAnswer, NotFetched, RequestError, VerifyError,
};
use idgate_core::shell::TrustMaterialError;

use crate::status::idgate_status::{self, *};

/// An error: free it with idgate_error_free.
#[allow(non_camel_case_types)]
pub struct idgate_error {
    _private: [u8; 0],
}

/// What went wrong.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: idgate_status,
    pub(crate) code: &'static str,
    pub(crate) path: String,
    /// Of the rule that a presentation breaks; else empty.
    pub(crate) clause: &'static str,
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn new(
        status: idgate_status,
        code: &'static str,
        message: impl fmt::Display,
    ) -> Self {
        Self { status, code, path: String::new(), clause: "", message: message.to_string() }
    }

    pub(crate) fn misuse(message: impl fmt::Display) -> Self {
        Self::new(IDGATE_MISUSE, "misuse", message)
    }

    pub(crate) fn config(message: impl fmt::Display) -> Self {
        Self::new(IDGATE_CONFIG, "config", message)
    }

    /// A JSON text of the caller that is not what it should be. The values in it stay out of the
    /// text, the names of members do not.
    pub(crate) fn unreadable(status: idgate_status, name: &str, error: &serde_json::Error) -> Self {
        const NAMES_ONLY: [&str; 3] = ["unknown field", "missing field", "duplicate field"];
        let text = error.to_string();
        let code = if status == IDGATE_MISUSE { "misuse" } else { "config" };
        if !error.is_data() || NAMES_ONLY.iter().any(|it| text.starts_with(it)) {
            return Self::new(status, code, format_args!("{name} cannot be read: {text}"));
        }
        // Of what else is wrong with data serde shows the value; behind one of a few, what it may be.
        if text.starts_with("unknown variant")
            && let Some((_, known)) = text.rsplit_once("`, expected ")
        {
            return Self::new(status, code, format_args!("{name}: a value is none of {known}"));
        }
        let (line, column) = (error.line(), error.column());
        let what = "a value of another type is needed";
        Self::new(status, code, format_args!("{name}: {what} at line {line} column {column}"))
    }

    pub(crate) fn unavailable(message: impl fmt::Display) -> Self {
        Self::new(IDGATE_UNAVAILABLE, "unavailable", message)
    }

    pub(crate) fn nothing(message: impl fmt::Display) -> Self {
        Self::new(IDGATE_NOTHING, "nothing", message)
    }

    pub(crate) fn internal(message: impl fmt::Display) -> Self {
        Self::new(IDGATE_INTERNAL, "internal_error", message)
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::config(error)
    }
}

impl From<TrustMaterialError> for Failure {
    fn from(error: TrustMaterialError) -> Self {
        Self::config(error)
    }
}

impl From<RequestError> for Failure {
    fn from(error: RequestError) -> Self {
        let mut failure = Self::new(IDGATE_BAD_REQUEST, error.code.as_str(), &error);
        failure.path = error.path;
        failure
    }
}

impl From<CreateError> for Failure {
    fn from(error: CreateError) -> Self {
        match error {
            CreateError::Request(error) => error.into(),
            other => Self::unavailable(other),
        }
    }
}

impl From<NotAnAnswer> for Failure {
    fn from(error: NotAnAnswer) -> Self {
        match &error {
            NotAnAnswer::Entropy(_) => Self::unavailable(error),
            _ => Self::new(IDGATE_BAD_RESPONSE, error.code().as_str(), error),
        }
    }
}

impl From<NotFetched> for Failure {
    fn from(error: NotFetched) -> Self {
        match &error {
            NotFetched::Signer(_) => Self::unavailable(error),
            _ => Self::new(IDGATE_BAD_RESPONSE, error.code().as_str(), error),
        }
    }
}

impl From<VerifyError> for Failure {
    fn from(error: VerifyError) -> Self {
        let mut failure = Self::new(IDGATE_REFUSED, error.reason.as_str(), &error);
        failure.clause = error.check.clause();
        failure
    }
}

#[cfg(test)]
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
    fn what_cannot_be_read_is_described_without_its_values() {
        for (json, says) in [
            (r#"{"nonce":8472}"#, "line 1 column 13"),
            (r#"{"nonce":"x","at":"8472"}"#, "line 1 column 24"),
            (r#"{"nonce":"x","at":-8472}"#, "line 1 column 23"),
            (r#""8472""#, "line 1 column 6"),
            (r#"{"nonces":"8472"}"#, "nonces"),
            (r#"{"at":1}"#, "nonce"),
            (r#"{"kind":"8472"}"#, "it: a value is none of `One` or `Two` at line 1 column 14"),
            (r#"{"kind":"8472`, expected 8472"}"#, "none of `One` or `Two`"),
            (r#"{"kind":{"8472":1}}"#, "none of `One` or `Two`"),
            (r#"{"nonce":"x","at":"8472`, expected 8472"}"#, "line 1 column 40"),
            ("{", "EOF"),
        ] {
            let error = serde_json::from_str::<Given>(json).unwrap_err();
            let failure = Failure::unreadable(IDGATE_MISUSE, "it", &error);
            assert!(!failure.message.contains("8472"), "{}", failure.message);
            assert!(failure.message.contains(says), "{}", failure.message);
        }
    }
}
