//! Which URLs can be webhook endpoints (decisions 11). A URL is parsed once: the serialized form
//! that is checked is also stored, shown and connected to.

use idgate::has_usual_port;
use idgate_core::shell::{HOST_NAME_RULE, is_host_name};
use url::{Host, Url};

use crate::limits::MAX_WEBHOOK_URL_CHARS;

/// A URL that breaks none of the fixed rules.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct WebhookUrl(Url);

impl WebhookUrl {
    /// Parses a client's URL; one dot at the end of its host is dropped.
    ///
    /// # Errors
    /// The rule that it breaks.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        if text.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return Err("must not contain spaces or control characters");
        }
        let mut url =
            Url::parse(text).map_err(|_| "must be an absolute URL, for example https://…")?;
        if !matches!(url.scheme(), "https" | "http") {
            return Err("must begin with https://");
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("must not carry a user name or password");
        }
        if url.fragment().is_some() {
            return Err("must not have a fragment (`#`)");
        }
        let Some(host) = url.host_str() else { return Err("must name a host") };
        if url.domain().is_some_and(|name| !is_host_name(name)) {
            return Err(HOST_NAME_RULE);
        }
        if let Some(bare) = host.strip_suffix('.').map(str::to_owned) {
            url.set_host(Some(&bare)).map_err(|_| "must name a host")?;
        }
        if url.as_str().chars().count() > MAX_WEBHOOK_URL_CHARS {
            return Err("must have at most 2000 characters");
        }
        Ok(Self(url))
    }

    /// The URL.
    pub fn url(&self) -> &Url {
        &self.0
    }

    /// Its host as operators review it: lower case, punycode, IPv6 in brackets.
    pub fn host(&self) -> &str {
        self.0.host_str().unwrap_or_default()
    }

    /// Whether it is `http://`.
    pub fn is_plain(&self) -> bool {
        self.0.scheme() == "http"
    }

    /// The rule that the URL breaks, unless the operator allows its addresses. `own` is the
    /// gateway's own address.
    pub fn needs_allowance(&self, own: Option<&Url>) -> Option<&'static str> {
        match self.0.host() {
            Some(Host::Domain(name)) if name.contains('.') => {}
            Some(Host::Domain(_)) => return Some("must name a host with a dot in it"),
            _ => return Some("must name a host, not an IP address"),
        }
        if !has_usual_port(&self.0) {
            return Some("must have port 443 or 8443");
        }
        own.is_some_and(|own| self.has_host_of(own)).then_some("must not point to this gateway")
    }

    /// Whether it leads to the gateway itself, by host and port.
    pub fn is_own(&self, own: Option<&Url>) -> bool {
        own.is_some_and(|own| {
            self.has_host_of(own) && own.port_or_known_default() == self.0.port_or_known_default()
        })
    }

    /// The other host may end with a dot.
    fn has_host_of(&self, other: &Url) -> bool {
        let bare = other.host_str().map(|host| host.strip_suffix('.').unwrap_or(host));
        bare == self.0.host_str()
    }
}

/// The host that `text` names, in the form that endpoints have it; `None` if it names none.
pub fn host_named(text: &str) -> Option<String> {
    let bare_ipv6 = text.parse::<std::net::Ipv6Addr>().is_ok();
    let text = if bare_ipv6 { format!("[{text}]") } else { text.to_owned() };
    let more_than_a_host = |c| matches!(c, '/' | '\\' | '?' | '#' | '@');
    let port = text.rsplit_once(']').map_or(&*text, |(_, rest)| rest).contains(':');
    if text.contains(more_than_a_host) || port {
        return None;
    }
    let url = WebhookUrl::parse(&format!("https://{text}/")).ok()?;
    Some(url.host().to_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn own() -> Url {
        Url::parse("https://gateway.example").unwrap()
    }

    /// The serialized form, if no permission is needed.
    fn usable(text: &str) -> Result<String, &'static str> {
        let url = WebhookUrl::parse(text)?;
        match url.needs_allowance(Some(&own())) {
            Some(rule) => Err(rule),
            None => Ok(url.url().to_string()),
        }
    }

    #[test]
    fn a_url_is_stored_as_it_was_parsed() {
        for (text, stored) in [
            ("https://shop.example/hook?a=b", "https://shop.example/hook?a=b"),
            ("https://shop.example", "https://shop.example/"),
            ("HTTPS://Shop.Example./Hook", "https://shop.example/Hook"),
            ("https://shop.example:443/", "https://shop.example/"),
            ("https://shop.example:8443/", "https://shop.example:8443/"),
            ("https://bücher.example/", "https://xn--bcher-kva.example/"),
            ("https://shop.example\\@evil.example/", "https://shop.example/@evil.example/"),
            ("https://shop.example/a/../b", "https://shop.example/b"),
            ("https://gateway.example.evil.example/", "https://gateway.example.evil.example/"),
        ] {
            assert_eq!(usable(text).as_deref(), Ok(stored), "{text}");
        }
    }

    #[test]
    fn the_fixed_rules_hold_whatever_the_operator_allows() {
        let long = format!("https://shop.example/{}", "x".repeat(1980));
        let long_label = format!("https://{}.example/", "x".repeat(64));
        let long_name = format!("https://{}example/", "x.".repeat(124));
        for text in [
            "",
            "shop.example",
            "//shop.example/",
            "/hook",
            "ftp://shop.example/",
            "javascript:alert(1)",
            "data:text/plain,x",
            "file:///etc/passwd",
            "https://",
            "https:///",
            "https://user@shop.example/",
            "https://user:password@shop.example/",
            "https://:password@shop.example/",
            "https://shop.example/#fragment",
            "https://shop.example/#",
            "https://shop.example../",
            "https://shop..example/",
            "https://.shop.example/",
            "https://shop.example:99999/",
            "https://sh op.example/",
            " https://shop.example/",
            "https://shop.example/\n",
            "https://shop.example/\u{0}",
            "https://xn--a.example/",
            "https://xn--.example/",
            "https://[::1",
            "https://256.256.256.256/",
            "https://1.2.3.4.5/",
            "https://0x100000000/",
            "https://*.shop.example/",
            "https://a!b.example/",
            "https://a,b.example/",
            "https://a_b.example/",
            &long,
            &long_label,
            &long_name,
        ] {
            assert!(WebhookUrl::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn ip_addresses_other_ports_dotless_names_and_the_gateway_need_permission() {
        for text in [
            "https://127.0.0.1/",
            "https://127.1/",
            "https://2130706433/",
            "https://0x7f.1/",
            "https://0x7f000001/",
            "https://0177.0.0.1/",
            "https://0/",
            "https://8.8.8.8/",
            "https://%31%32%37.0.0.1/",
            "https://\u{ff11}\u{ff12}\u{ff17}.0.0.1/",
            "https://127.0.0.1./",
            "https://[::1]/",
            "https://[::ffff:127.0.0.1]/",
            "https://[2606:4700::1111]/",
            "https://localhost/",
            "https://shop/",
            "https://shop./",
            "https://shop.example:80/",
            "https://shop.example:8080/",
            "https://shop.example:22/",
            "https://shop.example:0/",
            "http://shop.example:8080/",
            "https://gateway.example/",
            "https://GATEWAY.example.:8443/x",
        ] {
            assert!(usable(text).is_err(), "{text}");
            assert!(WebhookUrl::parse(text).is_ok(), "{text}");
        }
        let own_port = |text: &str| WebhookUrl::parse(text).unwrap().is_own(Some(&own()));
        assert!(own_port("https://gateway.example/x") && own_port("https://gateway.example:443"));
        assert!(!own_port("https://gateway.example:8443") && !own_port("https://other.example"));
        let dotted = Url::parse("https://gateway.example./").unwrap();
        let url = WebhookUrl::parse("https://gateway.example/x").unwrap();
        assert!(url.is_own(Some(&dotted)) && url.needs_allowance(Some(&dotted)).is_some());
    }

    #[test]
    fn names_that_only_look_alike_are_different_hosts() {
        let host = |text: &str| WebhookUrl::parse(text).map(|url| url.host().to_owned());
        for twin in
            ["https://xn--shp-1na.example/", "https://shöp.example/", "https://ѕhop.example/"]
        {
            assert!(host(twin).is_ok_and(|host| host != "shop.example"), "{twin}");
        }
        // Punycode that decodes to ASCII is not a valid name (RUSTSEC-2024-0421).
        for twin in ["https://xn--shop-.example/", "https://xn--example-.com/"] {
            assert!(host(twin).is_err(), "{twin}");
        }
        // Every resolver treats width and case variants as the same name.
        assert_eq!(host("https://ｓｈｏｐ.example/").unwrap(), "shop.example");
        assert_eq!(host("https://SHOP.EXAMPLE/").unwrap(), "shop.example");
    }

    #[test]
    fn operators_can_name_hosts_in_any_form() {
        for (text, host) in [
            ("shop.example", "shop.example"),
            ("Shop.Example.", "shop.example"),
            ("bücher.example", "xn--bcher-kva.example"),
            ("127.0.0.1", "127.0.0.1"),
            ("127.1", "127.0.0.1"),
            ("localhost", "localhost"),
            ("::1", "[::1]"),
            ("[::1]", "[::1]"),
        ] {
            assert_eq!(host_named(text).as_deref(), Some(host), "{text}");
        }
        for text in [
            "",
            "https://shop.example",
            "shop.example/",
            "shop.example:443",
            "[::1]:443",
            "a@b",
            "a b",
            "*.shop.example",
            "a?b",
            "a#b",
            "xn--shop-.example",
        ] {
            assert_eq!(host_named(text), None, "{text}");
        }
    }
}
