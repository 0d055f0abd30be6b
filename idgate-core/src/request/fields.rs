//! Members of a session request by name and type. Every error has the field's path.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::codec::json::{Elements, Kind, Members, Value};
use crate::error::{ErrorCode, RequestError};
use crate::limits::{MAX_REQUEST_ELEMENTS, MAX_SHOWN_NAME_CHARS};
use crate::request::decimal::Decimal;
use crate::request::subject_path::is_claim_name;

/// A value and its path, for example `credentials[0].claims[2]`; empty for the root.
#[derive(Clone, Debug)]
pub(super) struct Field<'t, 'a> {
    pub(super) value: Value<'t, 'a>,
    pub(super) path: String,
}

impl<'t, 'a> Field<'t, 'a> {
    pub(super) fn new(value: Value<'t, 'a>, path: impl Into<String>) -> Self {
        Self { value, path: path.into() }
    }

    /// The error that this field violates `rule`.
    pub(super) fn invalid(&self, rule: impl Into<Cow<'static, str>>) -> RequestError {
        RequestError::new(ErrorCode::InvalidRequest, self.path.clone(), rule)
    }

    /// The error that the member `name` is not allowed. The path includes the name if its
    /// characters are ordinary, and otherwise ends at this field.
    pub(super) fn invalid_name(&self, name: &str, rule: &'static str) -> RequestError {
        let path =
            if is_claim_name(name) { self.path_of(&shortened(name)) } else { self.path.clone() };
        RequestError::new(ErrorCode::InvalidRequest, path, rule)
    }

    /// The path of the member `name`, present or not.
    pub(super) fn path_of(&self, name: &str) -> String {
        member_path(&self.path, name)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.value.get(name).is_some()
    }

    pub(super) fn member(&self, name: &str) -> Option<Self> {
        self.value.get(name).map(|value| Self::new(value, self.path_of(name)))
    }

    pub(super) fn required(&self, name: &str) -> Result<Self, RequestError> {
        self.member(name).ok_or_else(|| {
            RequestError::new(ErrorCode::InvalidRequest, self.path_of(name), "is required")
        })
    }

    /// Refuses members that the interface does not define.
    pub(super) fn refuse_unknown(&self, known: &[&str]) -> Result<(), RequestError> {
        for (name, _) in self.members()? {
            if !known.iter().any(|known| name.is(known)) {
                let path = self.path_of(&shortened(&name.unescape()));
                let rule = "is not a field of this request; remove it";
                return Err(RequestError::new(ErrorCode::UnknownField, path, rule));
            }
        }
        Ok(())
    }

    pub(super) fn members(&self) -> Result<Members<'t, 'a>, RequestError> {
        self.value.members().ok_or_else(|| self.invalid("must be a JSON object"))
    }

    /// The elements, at most [`MAX_REQUEST_ELEMENTS`], because each has its own path.
    pub(super) fn elements(&self) -> Result<Vec<Self>, RequestError> {
        let elements: Elements<'t, 'a> =
            self.value.elements().ok_or_else(|| self.invalid("must be an array"))?;
        if elements.clone().count() > MAX_REQUEST_ELEMENTS {
            return Err(self.invalid("has more than 1000 elements"));
        }
        let path = |n: usize| format!("{}[{n}]", self.path);
        Ok(elements.enumerate().map(|(n, value)| Self::new(value, path(n))).collect())
    }

    pub(super) fn string(&self) -> Result<Cow<'a, str>, RequestError> {
        self.value.as_str().ok_or_else(|| self.invalid("must be a string"))
    }

    pub(super) fn number(&self) -> Result<Decimal, RequestError> {
        let number = self.value.as_number().ok_or_else(|| self.invalid("must be a number"))?;
        Ok(Decimal::parse(number))
    }

    pub(super) fn is_object(&self) -> bool {
        self.value.kind() == Kind::Object
    }
}

pub(super) fn member_path(path: &str, name: &str) -> String {
    if path.is_empty() { String::from(name) } else { format!("{path}.{name}") }
}

/// A caller's name, cut to a length that is enough to find it.
fn shortened(name: &str) -> String {
    name.chars().take(MAX_SHOWN_NAME_CHARS).collect()
}
