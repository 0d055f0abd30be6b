//! Dotted claim names from the credential root, for example `address.country`.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::ids::ClaimPath;
use crate::limits::MAX_DEPTH;

/// A path of member names; never empty.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(transparent)]
pub(crate) struct SubjectPath(Vec<String>);

impl SubjectPath {
    /// Parses dotted names; each is a claim name, and there are at most as many as JSON may nest.
    pub(crate) fn parse(dotted: &str) -> Option<Self> {
        let names: Vec<String> = dotted.split('.').map(String::from).collect();
        let fits = names.len() <= MAX_DEPTH && names.iter().all(|name| is_claim_name(name));
        fits.then_some(Self(names))
    }

    /// The path of a claim at the credential root.
    pub(crate) fn top_level(name: &str) -> Self {
        Self(vec![String::from(name)])
    }

    /// The names, outermost first.
    pub(crate) fn segments(&self) -> &[String] {
        &self.0
    }
}

/// `path` as JSONPath from the credential root: `$.address.country`, `$.nationalities[*]`. Dot
/// notation ends where a name begins with a digit or has other characters: `$['18_plus']`.
pub(crate) fn json_path(path: &ClaimPath) -> String {
    let mut text = String::from("$");
    for component in path.components() {
        match component {
            None => text.push_str("[*]"),
            Some(name)
                if is_claim_name(name) && !name.starts_with(|c: char| c.is_ascii_digit()) =>
            {
                text.push('.');
                text.push_str(name);
            }
            Some(name) => {
                text.push_str("['");
                text.push_str(&name.replace('\\', r"\\").replace('\'', r"\'"));
                text.push_str("']");
            }
        }
    }
    text
}

/// Whether `name` matches `^[A-Za-z0-9_]+$`, the rule for names in `claims`.
pub(crate) fn is_claim_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn names_are_split_at_dots() {
        assert_eq!(
            SubjectPath::parse("address.country").unwrap().segments(),
            ["address", "country"]
        );
        assert_eq!(SubjectPath::parse("family_name"), Some(SubjectPath::top_level("family_name")));
    }

    #[test]
    fn other_texts_than_dotted_claim_names_are_refused() {
        for bad in ["", ".", "a.", ".a", "a..b", "a b", "a-b", "a[0]", "é", "a'", "a\n"] {
            assert_eq!(SubjectPath::parse(bad), None, "{bad:?}");
        }
        let deep = |n: usize| vec!["a"; n].join(".");
        assert!(SubjectPath::parse(&deep(MAX_DEPTH)).is_some());
        assert_eq!(SubjectPath::parse(&deep(MAX_DEPTH + 1)), None);
    }

    #[test]
    fn json_path_quotes_names_that_begin_with_a_digit() {
        for (dotted, expected) in [
            ("given_name", "$.given_name"),
            ("address.country", "$.address.country"),
            ("18_plus", "$['18_plus']"),
            ("ages.18.value", "$.ages['18'].value"),
            ("_18", "$._18"),
        ] {
            let path = SubjectPath::parse(dotted).unwrap();
            let path = ClaimPath::of_claims(path.segments().iter().map(String::as_str));
            assert_eq!(json_path(&path), expected);
        }
    }

    #[test]
    fn json_path_of_a_claims_path_quotes_other_names_and_stars_null() {
        for (path, expected) in [
            (r#"["nationalities",null]"#, "$.nationalities[*]"),
            (r#"["a",null,"b c"]"#, "$.a[*]['b c']"),
            (r#"["it's","a\\b"]"#, r"$['it\'s']['a\\b']"),
        ] {
            assert_eq!(json_path(&ClaimPath::from_json(path).unwrap()), expected);
        }
    }
}
