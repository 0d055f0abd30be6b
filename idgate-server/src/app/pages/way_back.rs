//! The tenant's address with a code that the tenant can check.

/// Adds a query parameter to `uri`, before any fragment. `code` needs no encoding.
pub(super) fn with_code(uri: &str, name: &str, code: &str) -> String {
    let (before, fragment) = match uri.split_once('#') {
        Some((before, fragment)) => (before, Some(fragment)),
        None => (uri, None),
    };
    let separator = match before.split_once('?') {
        None => "?",
        Some((_, query)) if query.is_empty() || query.ends_with('&') => "",
        Some(_) => "&",
    };
    let mut all = [before, separator, name, "=", code].concat();
    if let Some(fragment) = fragment {
        all.extend(["#", fragment]);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_is_in_the_query_before_any_fragment() {
        for (uri, with) in [
            ("https://a/b", "https://a/b?page_code=c"),
            ("https://a/b?x=1", "https://a/b?x=1&page_code=c"),
            ("https://a/b?", "https://a/b?page_code=c"),
            ("https://a/b?x&", "https://a/b?x&page_code=c"),
            ("https://a/b#f?g", "https://a/b?page_code=c#f?g"),
            ("app://cb", "app://cb?page_code=c"),
        ] {
            assert_eq!(with_code(uri, "page_code", "c"), with);
        }
    }
}
