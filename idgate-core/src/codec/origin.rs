//! The web origin of a base URL, and of a page (RFC 6454 6.2).

use alloc::string::String;

use url::{Host, Url};

use crate::codec::base64url;
use crate::limits::{MAX_HOST_LABEL_BYTES, MAX_HOST_NAME_BYTES, MAX_ORIGIN_BYTES};

/// A base URL must be an origin, because every link is the origin and a path. Plain http is for
/// loopback only, where the connection cannot be intercepted.
pub(crate) fn of_base_url(base_url: &str) -> Result<String, &'static str> {
    let Some((_, authority)) = base_url.split_once("://") else {
        return Err("must be absolute, for example https://verifier.example");
    };
    if authority.contains('@') {
        return Err("must have no user information");
    }
    if authority.contains(['/', '?', '#', '\\']) {
        return Err("must have no path, query or fragment, and no trailing slash");
    }
    if base_url.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err("must have no white space");
    }
    let url = Url::parse(base_url).map_err(|_| "is not a URL")?;
    if url.domain().is_some_and(|name| !is_host_name(name)) {
        return Err(HOST_NAME_RULE);
    }
    match url.scheme() {
        "https" => {}
        "http" if is_loopback(&url) => {}
        "http" => {
            return Err("must be https; http is for loopback only: localhost, 127.0.0.1 or [::1]");
        }
        _ => return Err("must be https"),
    }
    Ok(url.origin().ascii_serialization())
}

/// The rule of [`is_host_name`].
pub const HOST_NAME_RULE: &str = "must name a host: letters, digits and hyphens with dots between";

/// Whether this is a host name (RFC 1123 2.1): labels of letters, digits and hyphens separated by
/// dots, optionally with a final dot. Hosts in URLs may have other characters, which would have a
/// different meaning in a header that lists origins, for example `*`.
pub fn is_host_name(name: &str) -> bool {
    let is_label = |label: &str| {
        matches!(label.len(), 1..=MAX_HOST_LABEL_BYTES)
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let name = name.strip_suffix('.').unwrap_or(name);
    name.len() <= MAX_HOST_NAME_BYTES && name.split('.').all(is_label)
}

/// The host name of a URL; none if it is an address.
pub(crate) fn host_name(url: &str) -> Option<String> {
    match Url::parse(url).ok()?.host()? {
        Host::Domain(name) => Some(name.into()),
        Host::Ipv4(_) | Host::Ipv6(_) => None,
    }
}

/// The origin of a page, or of an application, as browsers and wallets write it (OpenID4VP A.2).
pub(crate) fn of_page(text: &str) -> Result<String, &'static str> {
    /// SHA-256 of the certificate that signs the application.
    const HASH_LEN: usize = 32;
    if text.len() > MAX_ORIGIN_BYTES {
        return Err("must have at most 300 characters");
    }
    if let Some(hash) = text.strip_prefix("android:apk-key-hash:") {
        let good = base64url::decode(hash).is_ok_and(|hash| hash.len() == HASH_LEN);
        let rule =
            "must have the SHA-256 of a certificate in base64url after android:apk-key-hash:";
        return good.then(|| text.into()).ok_or(rule);
    }
    of_base_url(text.strip_suffix('/').unwrap_or(text))
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_urls_are_https_origins_or_http_on_loopback() {
        for (good, expected) in [
            ("https://gateway.example", "https://gateway.example"),
            ("https://Gateway.Example:443", "https://gateway.example"),
            ("https://gateway.example:8443", "https://gateway.example:8443"),
            ("http://localhost:8080", "http://localhost:8080"),
            ("http://127.0.0.1:1", "http://127.0.0.1:1"),
            ("http://127.9.9.9", "http://127.9.9.9"),
            ("http://[::1]:8080", "http://[::1]:8080"),
        ] {
            assert_eq!(of_base_url(good).as_deref(), Ok(expected));
        }
    }

    #[test]
    fn the_name_of_a_host_is_not_an_address() {
        for (url, host) in [
            ("https://Gateway.example:8443", Some("gateway.example")),
            ("http://localhost:8080", Some("localhost")),
            ("https://192.0.2.7", None),
            ("https://[2001:db8::1]:8443", None),
            ("gateway.example", None),
        ] {
            assert_eq!(host_name(url).as_deref(), host, "{url}");
        }
    }

    #[test]
    fn pages_have_their_origin_as_browsers_write_it() {
        let app = format!("android:apk-key-hash:{}", "A".repeat(43));
        for (good, expected) in [
            ("https://shop.example", "https://shop.example"),
            ("https://Shop.Example:443/", "https://shop.example"),
            ("https://shop.example:8443", "https://shop.example:8443"),
            ("https://b\u{fc}cher.example", "https://xn--bcher-kva.example"),
            ("https://192.0.2.7", "https://192.0.2.7"),
            ("https://shop.localhost", "https://shop.localhost"),
            ("http://localhost:3000", "http://localhost:3000"),
            ("http://127.0.0.1:3000", "http://127.0.0.1:3000"),
            ("http://[::1]:3000", "http://[::1]:3000"),
            (&app, &app),
        ] {
            assert_eq!(of_page(good).as_deref(), Ok(expected), "{good}");
        }
        let long = format!("https://{}.example", "a".repeat(300));
        for (bad, why) in [
            ("https://shop.example//", "no path"),
            ("https://shop.example/buy", "no path"),
            ("https://shop.example?x", "no path"),
            ("https://me@shop.example", "user information"),
            ("http://shop.example", "must be https"),
            ("http://shop.localhost", "must be https"),
            ("origin:https://shop.example", "must be https"),
            ("null", "absolute"),
            ("", "absolute"),
            ("/", "absolute"),
            ("https://*", "must name a host"),
            ("https://*.shop.example", "must name a host"),
            ("https://'self'", "must name a host"),
            ("https://a;script-src x", "white space"),
            ("https://a;script-src", "must name a host"),
            ("https://a,b", "must name a host"),
            ("https://shop_1.example", "must name a host"),
            ("https://shop..example", "must name a host"),
            ("android:apk-key-hash:AAAA", "SHA-256"),
            ("android:apk-key-hash:", "SHA-256"),
            (&long, "300 characters"),
        ] {
            assert!(of_page(bad).is_err_and(|text| text.contains(why)), "{bad}");
        }
    }

    #[test]
    fn other_base_urls_are_refused() {
        for (bad, why) in [
            ("gateway.example", "absolute"),
            ("", "absolute"),
            ("https://", "not a URL"),
            ("https://[", "not a URL"),
            ("https://a.example:99999", "not a URL"),
            ("https://gateway.example/", "no path"),
            ("https://gateway.example/v1", "no path"),
            ("https://gateway.example?x", "no path"),
            ("https://gateway.example#x", "no path"),
            ("https://gateway.example\\v1", "no path"),
            ("https://user@gateway.example", "user information"),
            ("https://user:pass@gateway.example", "user information"),
            (" https://gateway.example", "white space"),
            ("https://gateway.example\n", "white space"),
            ("http://gateway.example", "http is for loopback"),
            ("http://192.168.1.1", "http is for loopback"),
            ("http://localhost.example", "http is for loopback"),
            ("http://gateway.localhost", "http is for loopback"),
            ("ftp://127.0.0.1", "must be https"),
            ("https://*", "must name a host"),
            ("https://gateway.example;x", "must name a host"),
        ] {
            assert!(of_base_url(bad).is_err_and(|text| text.contains(why)), "{bad}");
        }
    }
}
