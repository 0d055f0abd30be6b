//! Whether the page itself sent a request, not a page of another site in the same browser.

use hyper::header::{HeaderMap, HeaderName, HeaderValue, ORIGIN};

use crate::http::call::Call;

/// The header in which browsers report a request's origin relation.
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

pub(super) fn is_from_here(call: &Call<'_>) -> bool {
    is_of(&call.head.headers, call.gateway.app.own_origin().as_deref())
}

/// Browsers report it in one of two headers, because forms of a page without a referrer have the
/// origin `null`. Programs send neither, and have no cookie that another site could abuse.
fn is_of(headers: &HeaderMap, own: Option<&str>) -> bool {
    let site = headers.get(SEC_FETCH_SITE).map(HeaderValue::as_bytes);
    match headers.get(ORIGIN).map(HeaderValue::as_bytes) {
        Some(b"null") => site == Some(b"same-origin"),
        Some(origin) => own.is_some_and(|own| own.as_bytes() == origin),
        None => site.is_none_or(|site| site == b"same-origin"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_of_another_site_is_recognized() {
        let own = Some("https://gate.example");
        for (origin, site, is) in [
            (Some("https://gate.example"), Some("same-origin"), true),
            (Some("https://gate.example"), None, true),
            (Some("null"), Some("same-origin"), true),
            (None, Some("same-origin"), true),
            (None, None, true),
            (Some("null"), None, false),
            (Some("null"), Some("cross-site"), false),
            (Some("https://evil.example"), None, false),
            (Some("https://evil.example"), Some("same-origin"), false),
            (None, Some("same-site"), false),
            (None, Some("cross-site"), false),
            (None, Some("none"), false),
        ] {
            let mut headers = HeaderMap::new();
            for (name, value) in [(ORIGIN, origin), (SEC_FETCH_SITE, site)] {
                headers.extend(value.map(|value| (name, HeaderValue::from_static(value))));
            }
            assert_eq!(is_of(&headers, own), is, "{origin:?} {site:?}");
        }
    }
}
