//! What the browser shows that has a page.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use idgate_core::EntropyUnavailable;
use idgate_core::shell::random_id;
use zeroize::Zeroizing;

use crate::digest::sha256;
use idgate_base::entropy::OsEntropy;

/// Characters of a token, and of what a browser shows: 22 of base62 carry 128 bits.
const TOKEN_CHARS: usize = 22;

/// What the browser shows that has a page. It has no `Debug`: it belongs into no log.
pub struct PageKey(Zeroizing<String>);

impl PageKey {
    /// What a browser made itself: as long as a fresh one, and of the same characters.
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

/// Whether what a browser shows is what the page's own browser has.
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
    fn a_key_is_as_long_as_a_fresh_one_and_of_its_characters() {
        let fresh = PageKey::fresh().ok();
        assert!(fresh.is_some_and(|key| PageKey::made(key.expose()).is_some()));
        for text in
            ["", "a", "Ab0123456789abcdefghi", "Ab0123456789abcdefghi12", "Ab0123456789abcdefghi-"]
        {
            assert!(PageKey::made(text).is_none(), "{text}");
        }
    }
}
