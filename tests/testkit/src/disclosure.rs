//! Disclosures, and the places of their values in the credential (RFC 9901 4.2).

use serde_json::Value;

use crate::codec::{HashAlg, base64url, from_base64url};

/// One step from the credential's root to a value.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Segment {
    /// A member of an object.
    Name(String),
    /// An element of an array, by the issuer's index.
    Index(usize),
}

/// A disclosure and the place of its value.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Disclosure {
    /// The path from the root to the value. Empty if it has no place.
    pub path: Vec<Segment>,
    /// The base64url text that is hashed and presented.
    pub text: String,
}

impl Disclosure {
    /// The disclosure of an object member: `[salt, name, value]`.
    pub fn of_member(path: Vec<Segment>, salt: &str, name: &str, value: Value) -> Self {
        Self { path, text: encode(&Value::from(vec![salt.into(), name.into(), value])) }
    }

    /// The disclosure of an array element: `[salt, value]`.
    pub fn of_element(path: Vec<Segment>, salt: &str, value: Value) -> Self {
        Self { path, text: encode(&Value::from(vec![salt.into(), value])) }
    }

    /// A disclosure with any text, well-formed or not, without a place.
    pub fn of_text(json_text: &str) -> Self {
        Self { path: Vec::new(), text: base64url(json_text.as_bytes()) }
    }

    /// Its digest.
    pub fn digest(&self, hash: HashAlg) -> String {
        hash.digest(&self.text)
    }

    /// The array that the text encodes.
    pub fn json(&self) -> Option<Value> {
        serde_json::from_slice(&from_base64url(&self.text)?).ok()
    }

    /// The claim at the credential's root that it belongs to.
    pub fn root_claim(&self) -> Option<&str> {
        match self.path.first()? {
            Segment::Name(name) => Some(name),
            Segment::Index(_) => None,
        }
    }
}

fn encode(json: &Value) -> String {
    base64url(json.to_string().as_bytes())
}
