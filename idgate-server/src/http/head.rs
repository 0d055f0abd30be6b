//! Checks on every request head, beyond those of the parser.

use hyper::header::{HOST, HeaderMap, HeaderName, TRANSFER_ENCODING};
use hyper::http::request::Parts;
use hyper::http::uri::Authority;
use hyper::{Version, header::HeaderValue};

use super::error::HttpError;

/// Refuses a head that a proxy might have interpreted differently.
pub(crate) fn check(head: &Parts) -> Result<(), HttpError> {
    check_host(head)?;
    check_transfer_encoding(&head.headers)
}

/// The text of the only header with this name; `None` if it is missing, repeated or not text.
pub(crate) fn only<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

/// Exactly one valid `Host` (RFC 9112 3.2); HTTP/1.0 may omit it.
fn check_host(head: &Parts) -> Result<(), HttpError> {
    let mut values = head.headers.get_all(HOST).iter();
    let fits = match (values.next(), values.next()) {
        (None, _) => head.version < Version::HTTP_11,
        (Some(host), None) => is_host(host),
        (Some(_), Some(_)) => false,
    };
    if fits {
        return Ok(());
    }
    Err(HttpError::invalid_request("a request needs exactly one valid Host header").closing())
}

/// `uri-host [":" port]`: an authority without user information.
fn is_host(value: &HeaderValue) -> bool {
    // A comma may occur in a name, but a value with one is rather two joined headers.
    let text = value.to_str().ok().filter(|text| !text.contains(','));
    let Some(authority) = text.and_then(|text| text.parse::<Authority>().ok()) else {
        return false;
    };
    let port = authority.as_str().strip_prefix(authority.host()).map(|rest| rest.strip_prefix(':'));
    let port_fits = match port {
        Some(Some(digits)) => digits.is_empty() || authority.port_u16().is_some(),
        Some(None) => authority.as_str() == authority.host(),
        // User information comes before the host.
        None => false,
    };
    port_fits && !authority.host().is_empty()
}

/// Only `chunked` is decoded here; a body in another coding would be parsed as JSON.
fn check_transfer_encoding(headers: &HeaderMap) -> Result<(), HttpError> {
    let mut values = headers.get_all(TRANSFER_ENCODING).iter();
    let chunked = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"chunked");
    let fits = values.next().is_none_or(chunked) && values.next().is_none();
    if fits {
        return Ok(());
    }
    Err(HttpError::invalid_request("Transfer-Encoding must be chunked, or absent").closing())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_a_name_or_an_address_with_or_without_port() {
        for good in [
            "g",
            "gateway.example",
            "gateway.example:8443",
            "127.0.0.1:1",
            "[::1]:80",
            "[::1]",
            "g:",
        ] {
            assert!(is_host(&HeaderValue::from_static(good)), "{good}");
        }
        for bad in [
            "", " ", "a b", "a/b", "user@g", "g:port", "g:99999", "a,b", "http://g", "[::1", "g?x",
            "g#x", ":80",
        ] {
            assert!(!is_host(&HeaderValue::from_static(bad)), "{bad}");
        }
    }
}
