//! Origins of wallets that are pages in a browser: `IDGATE_WALLET_ORIGINS`.

use idgate_core::shell::DcApiPages;

/// The origins whose scripts may fetch requests and post answers (Fetch standard, "CORS protocol").
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct WalletOrigins {
    any: bool,
    listed: Vec<String>,
}

impl WalletOrigins {
    /// Parses origins separated by commas, or `*`; an empty text means none.
    ///
    /// # Errors
    /// The text says which origin is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.trim() == "*" {
            return Ok(Self { any: true, listed: Vec::new() });
        }
        let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
        let listed = items.map(origin).collect::<Result<_, _>>()?;
        Ok(Self { any: false, listed })
    }

    /// Whether there are any.
    pub fn is_empty(&self) -> bool {
        !self.any && self.listed.is_empty()
    }

    /// The value of `Access-Control-Allow-Origin` for a page from `origin`: `*`, this origin, or
    /// none.
    pub fn allowed<'o>(&self, origin: &'o str) -> Option<&'o str> {
        if self.any {
            return Some("*");
        }
        self.listed.iter().any(|listed| listed == origin).then_some(origin)
    }

    /// Whether answers depend on the origin of the page.
    pub fn vary(&self) -> bool {
        !self.any
    }
}

/// An origin of the web as browsers write it.
fn origin(text: &str) -> Result<String, String> {
    if text == "*" {
        return Err("must be either * alone or a list of origins".into());
    }
    match DcApiPages::origin(text) {
        Ok(origin) if origin == text && origin.starts_with("http") => Ok(origin),
        _ => Err(format!(
            "{text}: must be the origin of a wallet as browsers write it, for example https://wallet.example; \
             http is for loopback only"
        )),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_listed_origins_are_allowed_and_no_others() {
        let some = WalletOrigins::parse("https://a.example, https://b.example:8443,").unwrap();
        assert_eq!(some.allowed("https://a.example"), Some("https://a.example"));
        assert_eq!(some.allowed("https://b.example:8443"), Some("https://b.example:8443"));
        for other in ["https://b.example", "http://a.example", "https://a.example/", "null", ""] {
            assert_eq!(some.allowed(other), None, "{other}");
        }
        assert!(some.vary() && !some.is_empty());
    }

    #[test]
    fn a_star_allows_every_page_and_nothing_allows_none() {
        let any = WalletOrigins::parse("*").unwrap();
        assert_eq!((any.allowed("https://a.example"), any.allowed("null")), (Some("*"), Some("*")));
        assert!(!any.vary());
        let none = WalletOrigins::parse(" ").unwrap();
        assert!(none.is_empty() && none.allowed("https://a.example").is_none());
    }

    #[test]
    fn text_that_browsers_never_send_as_an_origin_is_refused() {
        for bad in [
            "null",
            "https://a.example/",
            "https://A.example",
            "https://*.example",
            "a.example",
            "http://a.example",
            "https://a.example,*",
            "https://user@a.example",
            "android:apk-key-hash:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        ] {
            assert!(WalletOrigins::parse(bad).is_err(), "{bad}");
        }
    }
}
