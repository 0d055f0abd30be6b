//! The key that proves that a browser has a page.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use idgate_core::EntropyUnavailable;
use idgate_core::shell::random_id;
use zeroize::Zeroizing;

use crate::digest::sha256;
use idgate_base::entropy::OsEntropy;

/// Characters of a token and of a page key: 22 base62 characters carry 128 bits.
const TOKEN_CHARS: usize = 22;

/// The key of the browser that has a page. It has no `Debug`, so that it does not get into logs.
pub struct PageKey(Zeroizing<String>);

impl PageKey {
    /// Parses a key that a browser generated: the length and characters of a fresh one.
    pub fn made(text: &str) -> Option<Self> {
        is_of_base62(text).then(|| Self(Zeroizing::new(text.to_owned())))
    }

    pub(in crate::app) fn fresh() -> Result<Self, EntropyUnavailable> {
        random_id("", &mut OsEntropy).map(|key| Self(Zeroizing::new(key)))
    }

    /// The text. Keep it out of logs.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

/// Whether the shown key is that of the page's own browser.
pub(in crate::app) fn is_key_of(own: &[u8; 32], shown: &str) -> bool {
    verify_slices_are_equal(own, &sha256(shown.as_bytes())).is_ok()
}

pub(super) fn is_of_base62(text: &str) -> bool {
    text.len() == TOKEN_CHARS && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browsers_own_key_must_have_the_format_of_a_fresh_one() {
        let fresh = PageKey::fresh().ok();
        assert!(fresh.is_some_and(|key| PageKey::made(key.expose()).is_some()));
        for text in
            ["", "a", "Ab0123456789abcdefghi", "Ab0123456789abcdefghi12", "Ab0123456789abcdefghi-"]
        {
            assert!(PageKey::made(text).is_none(), "{text}");
        }
    }
}
