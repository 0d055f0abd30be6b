//! Proof that a browser has a page: its cookie, or the key that its script generated.

use hyper::header::{COOKIE, HeaderMap, HeaderName};

use crate::app::PageKey;
use crate::http::error::HttpError;
use crate::http::head::only;

const PAGE_KEY: HeaderName = HeaderName::from_static("idgate-page-key");

/// The key that the script generated, so that its browser can take the page again after a lost
/// reply. Forms and other origins cannot send this header: the gateway answers no preflight for it.
pub(crate) fn key_of(headers: &HeaderMap) -> Result<Option<PageKey>, HttpError> {
    if !headers.contains_key(PAGE_KEY) {
        return Ok(None);
    }
    let key = only(headers, &PAGE_KEY).and_then(PageKey::made);
    key.map(Some)
        .ok_or_else(|| HttpError::invalid_request("Idgate-Page-Key must be 22 base62 characters"))
}

/// The value of a cookie; `None` if it occurs twice, because then its origin is unclear.
pub(crate) fn cookie_of(headers: &HeaderMap, name: &str) -> Option<String> {
    let lines = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
    let pairs =
        lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let mut values = pairs.filter(|(key, _)| *key == name).map(|(_, value)| value);
    let value = values.next()?;
    values.next().is_none().then(|| value.to_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    #[test]
    fn a_cookie_is_found_among_others_unless_it_occurs_twice() {
        let of = |lines: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(COOKIE, HeaderValue::from_static(line));
            }
            cookie_of(&headers, "__Host-a")
        };
        assert_eq!(of(&["x=1; __Host-a=b=c; y"]).as_deref(), Some("b=c"));
        assert_eq!(of(&["x=1", "__Host-a=b"]).as_deref(), Some("b"));
        for lines in [&[][..], &["a=1"], &["__Host-a=1; __Host-a=1"], &["__Host-a=1", "__Host-a=2"]]
        {
            assert_eq!(of(lines), None, "{lines:?}");
        }
    }
}
