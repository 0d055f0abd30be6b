//! `redirect_uri`: the URI that a wallet sends the person to after its answer (OpenID4VP 8.2).

use alloc::string::String;

use url::Url;

use crate::limits::MAX_REDIRECT_URI_CHARS;

/// Schemes that a browser executes or reads instead of navigating.
const REFUSED_SCHEMES: [&str; 3] = ["javascript", "data", "file"];

/// Schemes that belong to neither an application nor the web: a link to one of them leads to no
/// page, or opens a program of the system.
const NOT_AN_APPLICATIONS: [&str; 17] = [
    "about",
    "blob",
    "chrome",
    "content",
    "data",
    "file",
    "filesystem",
    "ftp",
    "intent",
    "javascript",
    "mailto",
    "sms",
    "tel",
    "vbscript",
    "view-source",
    "ws",
    "wss",
];

/// Checks that `uri` is an absolute URI (RFC 3986 4.3, a fragment is allowed) that a wallet can
/// follow; the error is the broken rule.
pub(super) fn check_redirect_uri(uri: &str) -> Result<(), &'static str> {
    if uri.chars().count() > MAX_REDIRECT_URI_CHARS {
        return Err("must have at most 2000 characters");
    }
    let Some(scheme) = scheme(uri) else {
        return Err("must be an absolute URI, for example https://shop.example/done");
    };
    if !has_only_uri_characters(uri) {
        return Err("must be a URI; percent-encode characters that RFC 3986 does not have");
    }
    if REFUSED_SCHEMES.iter().any(|refused| scheme.eq_ignore_ascii_case(refused)) {
        return Err("must not be a javascript:, data: or file: URI");
    }
    let is_web = ["http", "https"].iter().any(|web| scheme.eq_ignore_ascii_case(web));
    if is_web && !(names_authority(uri) && Url::parse(uri).is_ok()) {
        return Err("must name a host");
    }
    Ok(())
}

/// Whether the URI is without TLS.
pub(super) fn is_http(uri: &str) -> bool {
    scheme(uri).is_some_and(|scheme| scheme.eq_ignore_ascii_case("http"))
}

/// Whether a link on a page can lead there: to the web, or to an application by its own scheme.
pub(super) fn is_link(uri: &str) -> bool {
    scheme(uri).map(str::to_ascii_lowercase).is_some_and(|scheme| {
        !NOT_AN_APPLICATIONS.contains(&&*scheme) && !scheme.starts_with("ms-")
    })
}

/// `redirect_uri` with the query parameter `response_code`, before any fragment.
pub(crate) fn with_response_code(redirect_uri: &str, code: &str) -> String {
    let (before, fragment) = match redirect_uri.find('#') {
        Some(at) => redirect_uri.split_at_checked(at).unwrap_or((redirect_uri, "")),
        None => (redirect_uri, ""),
    };
    let separator = match (before.contains('?'), before.ends_with(['?', '&'])) {
        (false, _) => "?",
        (true, false) => "&",
        (true, true) => "",
    };
    [before, separator, "response_code=", code, fragment].concat()
}

/// RFC 3986 3.1; at least one character must follow the colon.
fn scheme(uri: &str) -> Option<&str> {
    let (scheme, rest) = uri.split_once(':')?;
    let mut bytes = scheme.bytes();
    let starts = bytes.next().is_some_and(|first| first.is_ascii_alphabetic());
    let goes_on = bytes.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'));
    (starts && goes_on && !rest.is_empty()).then_some(scheme)
}

/// RFC 3986 2: reserved, unreserved and percent-encoded characters.
fn has_only_uri_characters(uri: &str) -> bool {
    let mut bytes = uri.bytes();
    while let Some(byte) = bytes.next() {
        let fits = match byte {
            b'%' => {
                let mut is_hex = || bytes.next().is_some_and(|digit| digit.is_ascii_hexdigit());
                is_hex() && is_hex()
            }
            _ => byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=".contains(&byte),
        };
        if !fits {
            return false;
        }
    }
    true
}

fn names_authority(uri: &str) -> bool {
    let rest = uri.split_once("://").map_or("", |(_, rest)| rest);
    !rest.is_empty() && !rest.starts_with(['/', '?', '#'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absolute_uris_are_accepted() {
        for good in [
            "https://shop.example/done",
            "http://127.0.0.1:9/cb?x=1&y=%20#top",
            "com.example.app:/done",
            "myapp://callback",
            "HTTPS://SHOP.EXAMPLE",
        ] {
            assert_eq!(check_redirect_uri(good), Ok(()), "{good}");
        }
        let long = format!("https://shop.example/{}", "a".repeat(1979));
        assert_eq!((long.len(), check_redirect_uri(&long)), (2000, Ok(())));
    }

    #[test]
    fn text_that_is_not_an_absolute_uri_is_refused() {
        for bad in [
            "",
            "/done",
            "shop.example/done",
            "//shop.example",
            "https:",
            "https://",
            "https:///x",
            "https:shop",
            "https://?x",
            ":x",
            "1a:x",
            " https://a",
            "https://a b",
            "https://a\n",
            "java\tscript:x",
            "https://é.example",
            "https://a/%zz",
            "https://a/%2",
            "https://[",
            "https://a:99999",
            "https://a/{b}",
        ] {
            assert!(check_redirect_uri(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn more_than_2000_characters_are_refused() {
        let long = format!("https://shop.example/{}", "a".repeat(1980));
        assert!(check_redirect_uri(&long).is_err_and(|rule| rule.contains("2000")));
    }

    #[test]
    fn uris_that_browsers_execute_or_read_are_refused() {
        for bad in
            ["javascript:alert(1)", "JaVaScRiPt://x", "DATA:text/html,x", "file:///etc", "File:x"]
        {
            assert!(
                check_redirect_uri(bad).is_err_and(|rule| rule.contains("javascript:")),
                "{bad}"
            );
        }
    }

    #[test]
    fn response_code_is_a_query_parameter_before_the_fragment() {
        for (uri, expected) in [
            ("https://a/b", "https://a/b?response_code=c"),
            ("https://a/b?x=1", "https://a/b?x=1&response_code=c"),
            ("https://a/b?", "https://a/b?response_code=c"),
            ("https://a/b?x&", "https://a/b?x&response_code=c"),
            ("https://a/b#f?g", "https://a/b?response_code=c#f?g"),
            ("https://a/b?x=1#f", "https://a/b?x=1&response_code=c#f"),
            ("app://cb", "app://cb?response_code=c"),
        ] {
            assert_eq!(with_response_code(uri, "c"), expected);
        }
    }
}
