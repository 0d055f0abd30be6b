//! Reads requests: form or JSON, and headers.

use hyper::HeaderMap;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE};
use hyper::http::request::Parts;
use idgate_core::shell::json::Tape;
use serde_json::{Map, Value};

use super::refusal::Refusal;

/// The fields of a form; none may be repeated (RFC 6749 3.2).
pub(super) struct Form(Vec<(String, String)>);

impl Form {
    /// # Errors
    /// The media type is wrong, or a field is repeated.
    pub(super) fn read(head: &Parts, body: &[u8]) -> Result<Self, Refusal> {
        if media_type(&head.headers) != "application/x-www-form-urlencoded" {
            let rule = "the body must be application/x-www-form-urlencoded";
            return Err(Refusal::new("invalid_request", rule));
        }
        let fields: Vec<(String, String)> = form_urlencoded::parse(body).into_owned().collect();
        let mut names: Vec<&str> = fields.iter().map(|(name, _)| &**name).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        if names.len() != count {
            return Err(Refusal::new("invalid_request", "a parameter is repeated"));
        }
        Ok(Self(fields))
    }

    /// A field without a value counts as absent (RFC 6749 3.1).
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let field = self.0.iter().find(|(own, value)| own == name && !value.is_empty());
        field.map(|(_, value)| value.as_str())
    }
}

/// Reads a body that is one JSON object.
///
/// # Errors
/// With the code `error`: it is something else, or has a repeated member.
pub(super) fn object(body: &[u8], error: &'static str) -> Result<Map<String, Value>, Refusal> {
    let malformed = || Refusal::new(error, "the body is not a JSON object");
    Tape::default().parse(body).map_err(|_| malformed())?;
    serde_json::from_slice(body).map_err(|_| malformed())
}

/// The single header with this name; `None` if there is none.
///
/// # Errors
/// It is repeated, or not text.
pub(super) fn only<'h>(headers: &'h HeaderMap, name: &str) -> Result<Option<&'h str>, ()> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(Some).map_err(|_| ()),
        (Some(_), Some(_)) => Err(()),
    }
}

/// The access token and its scheme, in canonical spelling.
///
/// # Errors
/// There is none, or it is in the query.
pub(super) fn access_token(head: &Parts) -> Result<(&'static str, &str), Refusal> {
    let query = head.uri.query().unwrap_or_default();
    if form_urlencoded::parse(query.as_bytes()).any(|(name, _)| name == "access_token") {
        let rule = "an access token in the query is not accepted";
        return Err(Refusal::new("invalid_request", rule));
    }
    let Ok(Some(value)) = only(&head.headers, AUTHORIZATION.as_str()) else {
        return Err(Refusal::no_token());
    };
    let (scheme, token) = value.split_once(' ').ok_or_else(Refusal::no_token)?;
    let known = ["Bearer", "DPoP"].into_iter().find(|known| known.eq_ignore_ascii_case(scheme));
    Ok((known.ok_or_else(Refusal::no_token)?, token.trim()))
}

fn media_type(headers: &HeaderMap) -> String {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let value = value.and_then(|value| value.split(';').next()).unwrap_or_default();
    value.trim().to_ascii_lowercase()
}
