//! Claims path pointers (OpenID4VP 7): the place of a claim in the payload of an SD-JWT VC.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::codec::json::{Kind, Tape, Value};
use crate::limits::{MAX_CLAIM_NAME_CHARS, MAX_DEPTH};

/// Member names of SD-JWT itself: never names of claims (RFC 9901 4.2.1).
pub(crate) const RESERVED_NAMES: &[&str] = &["_sd", "_sd_alg", "..."];

/// A path of member names, with `null` for every element of an array: `["address","locality"]`,
/// `["nationalities",null]`. It is never empty and begins with a name. Numbers are not allowed:
/// hidden elements shift the others, so that an index has no meaning.
///
/// ```
/// use idgate_core::ClaimPath;
///
/// let path = ClaimPath::from_json(r#"["nationalities", null]"#).unwrap();
/// assert_eq!(path.to_string(), r#"["nationalities",null]"#);
/// assert!(ClaimPath::from_json(r#"["nationalities", 0]"#).is_err());
/// ```
#[derive(Clone, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(try_from = "Vec<Option<String>>")]
pub struct ClaimPath(Vec<Option<String>>);

impl ClaimPath {
    /// Parses the JSON text.
    ///
    /// # Errors
    /// The rule that the path breaks, for example `must be an array of member names and null`.
    pub fn from_json(text: &str) -> Result<Self, &'static str> {
        let mut tape = Tape::default();
        let id = tape.parse(text.as_bytes()).map_err(|_| "must be valid JSON")?;
        Self::from_value(tape.value(id))
    }

    /// Parses a JSON value.
    pub(crate) fn from_value(value: Value<'_, '_>) -> Result<Self, &'static str> {
        const RULE: &str = "must be an array of member names and null";
        let mut components = Vec::new();
        for component in value.elements().ok_or(RULE)?.take(MAX_DEPTH.saturating_add(1)) {
            components.push(match component.kind() {
                Kind::Null => None,
                Kind::String => component.as_str().map(String::from),
                Kind::Number => {
                    return Err("must not have numbers: hidden elements move the others; use null");
                }
                _ => return Err(RULE),
            });
        }
        Self::try_from(components)
    }

    /// Builds the path from claim names that were already checked, outermost first.
    pub(crate) fn of_claims<'n>(names: impl IntoIterator<Item = &'n str>) -> Self {
        Self(names.into_iter().map(|name| Some(String::from(name))).collect())
    }

    /// The components of the path; `None` is every element of an array.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn components(&self) -> impl ExactSizeIterator<Item = Option<&str>> {
        self.0.iter().map(Option::as_deref)
    }

    /// Whether the path can select several values, which are returned as an array.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn selects_several(&self) -> bool {
        self.0.iter().any(Option::is_none)
    }
}

impl TryFrom<Vec<Option<String>>> for ClaimPath {
    type Error = &'static str;

    fn try_from(components: Vec<Option<String>>) -> Result<Self, Self::Error> {
        if !matches!(components.first(), Some(Some(_))) {
            return Err("must begin with a member name");
        }
        if components.len() > MAX_DEPTH {
            return Err("must have at most 32 components");
        }
        for name in components.iter().flatten() {
            if RESERVED_NAMES.contains(&name.as_str()) {
                return Err("must not have _sd, _sd_alg or ..., which are never claims");
            }
            if name.is_empty() || name.chars().count() > MAX_CLAIM_NAME_CHARS {
                return Err("must have names of 1 to 255 characters");
            }
        }
        Ok(Self(components))
    }
}

/// The JSON text of the path.
impl core::fmt::Display for ClaimPath {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| core::fmt::Error)?)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_names_and_null_are_accepted_and_keep_their_text() {
        for text in [r#"["a"]"#, r#"["a","b",null,"c"]"#, r#"["http://x.example/é \"q\""]"#] {
            let path = ClaimPath::from_json(text).unwrap();
            assert_eq!(path.to_string(), text);
            assert_eq!(serde_json::from_str::<ClaimPath>(text).unwrap(), path);
        }
        let path = ClaimPath::from_json(r#"["degrees",null,"type"]"#).unwrap();
        let components: Vec<_> = path.components().collect();
        assert_eq!(components, [Some("degrees"), None, Some("type")]);
        assert!(path.selects_several());
        assert!(!ClaimPath::of_claims(["a", "b"]).selects_several());
    }

    #[test]
    fn numbers_are_refused_because_hidden_elements_shift_the_others() {
        for text in [r#"["nationalities",1]"#, r#"["a",0]"#, r#"["a",1.5]"#, r#"[0]"#] {
            assert!(ClaimPath::from_json(text).unwrap_err().contains("numbers"), "{text}");
        }
    }

    #[test]
    fn values_other_than_arrays_of_names_and_null_are_refused() {
        for text in [r#""a""#, "{}", "null", r#"["a",true]"#, r#"["a",["b"]]"#, r#"["a",{}]"#] {
            assert!(ClaimPath::from_json(text).unwrap_err().contains("array of"), "{text}");
        }
        assert_eq!(ClaimPath::from_json("["), Err("must be valid JSON"));
    }

    #[test]
    fn a_path_begins_with_a_name() {
        for text in ["[]", "[null]", r#"[null,"a"]"#] {
            assert!(ClaimPath::from_json(text).unwrap_err().contains("begin"), "{text}");
            assert!(serde_json::from_str::<ClaimPath>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn names_are_limited_and_never_reserved() {
        for name in ["", "_sd", "_sd_alg", "...", &"é".repeat(MAX_CLAIM_NAME_CHARS + 1)] {
            let text = serde_json::to_string(&["a", name]).unwrap();
            assert!(ClaimPath::from_json(&text).is_err(), "{name}");
        }
        let of_depth = |n: usize| ClaimPath::try_from(vec![Some(String::from("a")); n]);
        assert!(of_depth(MAX_DEPTH).is_ok());
        assert!(of_depth(MAX_DEPTH + 1).is_err());
        let longest = serde_json::to_string(&["é".repeat(MAX_CLAIM_NAME_CHARS)]).unwrap();
        assert!(ClaimPath::from_json(&longest).is_ok());
    }
}
