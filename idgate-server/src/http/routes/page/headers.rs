//! Security headers for everything that belongs to a page.

use hyper::header::{
    CONTENT_SECURITY_POLICY, HeaderMap, HeaderName, HeaderValue, REFERRER_POLICY, VARY,
};

const PERMISSIONS_POLICY: HeaderName = HeaderName::from_static("permissions-policy");
const CROSS_ORIGIN_RESOURCE_POLICY: HeaderName =
    HeaderName::from_static("cross-origin-resource-policy");

/// Only resources of this gateway are loaded or run.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      img-src 'self'; form-action 'self'; base-uri 'none'; \
                      require-trusted-types-for 'script'; frame-ancestors";

/// Adds the headers. `framers` are the origins that may frame the page.
pub(super) fn add(headers: &mut HeaderMap, framers: &[String]) {
    let framers = match framers {
        [] => "'none'".to_owned(),
        some => some.iter().filter(|origin| is_of_web(origin)).fold(String::new(), |all, one| {
            if all.is_empty() { one.clone() } else { [&all, " ", one].concat() }
        }),
    };
    let framers = if framers.is_empty() { "'none'" } else { &framers };
    if let Ok(policy) = HeaderValue::from_str(&format!("{POLICY} {framers}")) {
        headers.insert(CONTENT_SECURITY_POLICY, policy);
    }
    headers.insert(PERMISSIONS_POLICY, HeaderValue::from_static("digital-credentials-get=(self)"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(CROSS_ORIGIN_RESOURCE_POLICY, HeaderValue::from_static("same-origin"));
    headers.insert(VARY, HeaderValue::from_static("Accept, Accept-Language, Cookie"));
}

/// Whether the origin can be in the header. Native apps have origins, but no frames. A text that
/// could be read as several origins is left out, although origins are checked when the client is
/// changed.
fn is_of_web(origin: &str) -> bool {
    let rest = origin.strip_prefix("https://").or_else(|| origin.strip_prefix("http://"));
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-:[]".contains(&byte);
    rest.is_some_and(|rest| !rest.is_empty() && rest.bytes().all(is_plain))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn ancestors(framers: &[&str]) -> String {
        let mut headers = HeaderMap::new();
        let framers: Vec<_> = framers.iter().map(|one| (*one).to_owned()).collect();
        add(&mut headers, &framers);
        let policy = headers.get(CONTENT_SECURITY_POLICY).unwrap().to_str().unwrap();
        policy.rsplit("frame-ancestors ").next().unwrap().to_owned()
    }

    #[test]
    fn a_page_is_framed_by_web_origins_only() {
        assert_eq!(ancestors(&[]), "'none'");
        assert_eq!(
            ancestors(&["https://a.example", "https://b.example"]),
            "https://a.example https://b.example"
        );
        assert_eq!(ancestors(&["android:apk-key-hash:AA"]), "'none'");
        assert_eq!(
            ancestors(&["android:apk-key-hash:AA", "https://a.example"]),
            "https://a.example"
        );
        for odd in
            ["https://*", "https://'self'", "https://a;script-src x", "https://a b", "https://"]
        {
            assert_eq!(ancestors(&[odd]), "'none'", "{odd}");
            assert_eq!(ancestors(&[odd, "https://a.example"]), "https://a.example", "{odd}");
        }
    }
}
