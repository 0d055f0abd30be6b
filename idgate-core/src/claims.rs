//! Reading claims as the caller's types.

use alloc::string::String;
use core::fmt;

use serde::Deserialize;

/// Claims that do not have the expected form. The text has names of claims and no values.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ClaimsError(String);

impl ClaimsError {
    pub(crate) fn no_credential() -> Self {
        Self("the result has no credential with that id".into())
    }
}

impl fmt::Display for ClaimsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for ClaimsError {}

/// Reads claims without quoting them: error texts of serde contain values.
pub(crate) fn read_claims<'c, T: Deserialize<'c>>(claims: &'c str) -> Result<T, ClaimsError> {
    serde_json::from_str(claims).map_err(|error| {
        let text = alloc::string::ToString::to_string(&error);
        let said = text.split(" at line ").next().unwrap_or_default();
        // This text names a member of `T`. Every other text may quote the issuer's data.
        ClaimsError(match said.starts_with("missing field `") {
            true => alloc::format!("the claims do not fit: {said}"),
            false => "the claims do not fit: one has a different type than expected".into(),
        })
    })
}
