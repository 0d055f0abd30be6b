//! Claims with parts that are selectively disclosable.

use serde_json::Value;

/// A claim value; objects and arrays may have marked parts.
#[derive(Clone, Debug)]
pub enum Claim {
    /// A value that is disclosed as a whole.
    Value(Value),
    /// An object.
    Object(Vec<Member>),
    /// An array.
    Array(Vec<Element>),
}

/// A member of an object.
#[derive(Clone, Debug)]
pub struct Member {
    /// The claim name.
    pub name: String,
    /// The claim value.
    pub value: Claim,
    /// Whether the holder may withhold it.
    pub selective: bool,
}

/// An element of an array.
#[derive(Clone, Debug)]
pub struct Element {
    /// The element.
    pub value: Claim,
    /// Whether the holder may withhold it.
    pub selective: bool,
}

impl Claim {
    /// An object to add members to.
    pub fn object() -> Self {
        Self::Object(Vec::new())
    }

    /// An array to add elements to.
    pub fn array() -> Self {
        Self::Array(Vec::new())
    }

    /// With a member that is always visible. No effect unless this is an object.
    #[must_use]
    pub fn plain(self, name: &str, value: impl Into<Self>) -> Self {
        self.member(name, value.into(), false)
    }

    /// With a member that the holder may withhold. No effect unless this is an object.
    #[must_use]
    pub fn sd(self, name: &str, value: impl Into<Self>) -> Self {
        self.member(name, value.into(), true)
    }

    /// With an element that is always visible. No effect unless this is an array.
    #[must_use]
    pub fn plain_element(self, value: impl Into<Self>) -> Self {
        self.element(value.into(), false)
    }

    /// With an element that the holder may withhold. No effect unless this is an array.
    #[must_use]
    pub fn sd_element(self, value: impl Into<Self>) -> Self {
        self.element(value.into(), true)
    }

    fn member(mut self, name: &str, value: Self, selective: bool) -> Self {
        if let Self::Object(members) = &mut self {
            members.push(Member { name: name.into(), value, selective });
        }
        self
    }

    fn element(mut self, value: Self, selective: bool) -> Self {
        if let Self::Array(elements) = &mut self {
            elements.push(Element { value, selective });
        }
        self
    }
}

impl<T: Into<Value>> From<T> for Claim {
    fn from(value: T) -> Self {
        Self::Value(value.into())
    }
}
