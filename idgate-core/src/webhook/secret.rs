//! The secret that a receiver shares with the sender.

use alloc::string::String;
use core::fmt;

use zeroize::Zeroizing;

use crate::limits::MIN_WEBHOOK_SECRET_CHARS;

/// A secret that signs notifications, wiped when dropped.
#[derive(Clone)]
pub struct SigningSecret(Zeroizing<String>);

impl SigningSecret {
    /// Creates a secret from its text. The UTF-8 bytes are the key of `X-Signature`.
    ///
    /// # Errors
    /// It has fewer than 16 characters.
    pub fn new(text: impl Into<String>) -> Result<Self, ShortSecret> {
        let text = Zeroizing::new(text.into());
        if text.chars().take(MIN_WEBHOOK_SECRET_CHARS).count() < MIN_WEBHOOK_SECRET_CHARS {
            return Err(ShortSecret);
        }
        Ok(Self(text))
    }

    /// The text. Keep it out of logs.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SigningSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningSecret(***)")
    }
}

/// The error for a signing secret that is too short.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(clippy::exhaustive_structs)] // carries nothing, ever
pub struct ShortSecret;

impl fmt::Display for ShortSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a signing secret needs 16 characters or more")
    }
}

impl core::error::Error for ShortSecret {}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use alloc::format;

    use super::*;

    #[test]
    fn a_secret_has_16_characters_whatever_their_bytes() {
        assert_eq!(SigningSecret::new("123456789012345").unwrap_err(), ShortSecret);
        assert_eq!(SigningSecret::new("ééééééééé").unwrap_err(), ShortSecret);
        assert_eq!(SigningSecret::new("1234567890123456").unwrap().expose().len(), 16);
        let secret = SigningSecret::new("a secret of the receiver").unwrap();
        assert_eq!(format!("{secret:?}"), "SigningSecret(***)");
    }
}
