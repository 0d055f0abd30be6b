//! Further wallet schemes of a gateway's links: `IDGATE_LINK_SCHEMES` (decisions 41).

use std::sync::Arc;

use idgate_core::Scheme;

use crate::limits::{MAX_LINK_SCHEME_CHARS, MAX_LINK_SCHEMES};

/// Schemes that a browser or a system handles itself, so that such a link never reaches a wallet.
const TAKEN: [&str; 29] = [
    "http",
    "https",
    "ws",
    "wss",
    "ftp",
    "javascript",
    "data",
    "file",
    "blob",
    "filesystem",
    "vbscript",
    "about",
    "view-source",
    "intent",
    "content",
    "chrome",
    "mailto",
    "tel",
    "sms",
    "ms",
    "search",
    "search-ms",
    "jar",
    "chrome-extension",
    "moz-extension",
    "itms",
    "itms-services",
    "android-app",
    "market",
];

/// A wallet scheme that the operator named.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FurtherScheme(Arc<str>);

impl FurtherScheme {
    /// The scheme, which is also its key in `deep_links` and its value of `?scheme=`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Schemes separated by commas; may be empty.
///
/// # Errors
/// The text says which scheme is wrong, and why.
pub(super) fn parse(text: &str) -> Result<Arc<[FurtherScheme]>, String> {
    let mut schemes: Vec<FurtherScheme> = Vec::new();
    for name in text.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        check(name)?;
        if schemes.iter().any(|scheme| scheme.as_str() == name) {
            return Err(format!("{name}: is listed twice; list each scheme once"));
        }
        schemes.push(FurtherScheme(name.into()));
    }
    if schemes.len() > MAX_LINK_SCHEMES {
        return Err(format!(
            "has {} schemes; at most {MAX_LINK_SCHEMES} are allowed",
            schemes.len()
        ));
    }
    Ok(schemes.into())
}

fn check(name: &str) -> Result<(), String> {
    if !is_scheme(name) {
        return Err(format!(
            "{name}: must be a URI scheme in lower case without ://, at most {MAX_LINK_SCHEME_CHARS} characters, \
             for example mdoc-openid4vp (RFC 3986 3.1)"
        ));
    }
    if Scheme::from_key(name).is_some() {
        return Err(format!("{name}: every session already has a link of this name; remove it"));
    }
    if TAKEN.contains(&name) || name.starts_with("ms-") {
        return Err(format!(
            "{name}: browsers and systems handle this scheme themselves, so its links never reach a wallet; remove it"
        ));
    }
    Ok(())
}

/// RFC 3986 3.1, in lower case.
fn is_scheme(name: &str) -> bool {
    let starts = name.starts_with(|first: char| first.is_ascii_lowercase());
    let goes_on = |byte: u8| {
        byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'+' | b'-' | b'.')
    };
    starts && name.len() <= MAX_LINK_SCHEME_CHARS && name.bytes().all(goes_on)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn named(text: &str) -> Vec<String> {
        parse(text).unwrap().iter().map(|scheme| scheme.as_str().to_owned()).collect()
    }

    #[test]
    fn schemes_are_separated_by_commas() {
        assert_eq!(named(""), [""; 0]);
        assert_eq!(
            named("mdoc-openid4vp, com.example+wallet,"),
            ["mdoc-openid4vp", "com.example+wallet"]
        );
    }

    #[test]
    fn a_scheme_is_one_of_rfc_3986_in_lower_case() {
        let long = "a".repeat(MAX_LINK_SCHEME_CHARS + 1);
        for bad in ["Wallet", "1wallet", "-wallet", "wal let", "wallet://", "wällt", "a_b", &long]
        {
            assert!(parse(bad).unwrap_err().contains("RFC 3986 3.1"), "{bad}");
        }
        assert_eq!(named(&"a".repeat(MAX_LINK_SCHEME_CHARS)).len(), 1);
    }

    #[test]
    fn a_key_of_deep_links_is_refused() {
        for key in ["openid4vp", "eudi-wallet", "haip", "av"] {
            assert!(parse(key).unwrap_err().contains("already has a link of this name"), "{key}");
        }
    }

    #[test]
    fn a_scheme_that_never_reaches_a_wallet_is_refused() {
        for taken in TAKEN.into_iter().chain(["ms-settings", "ms-word"]) {
            assert!(parse(taken).unwrap_err().contains("never reach a wallet"), "{taken}");
        }
    }

    #[test]
    fn a_scheme_is_named_once_and_the_list_is_bounded() {
        assert_eq!(
            parse("wallet,wallet").unwrap_err(),
            "wallet: is listed twice; list each scheme once"
        );
        let many = |count: usize| (0..count).map(|i| format!("w{i}")).collect::<Vec<_>>().join(",");
        assert_eq!(named(&many(MAX_LINK_SCHEMES)).len(), MAX_LINK_SCHEMES);
        assert!(parse(&many(MAX_LINK_SCHEMES + 1)).unwrap_err().contains("at most 16 are allowed"));
    }
}
