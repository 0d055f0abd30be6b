//! The format, generation and stored form of API keys and signing secrets.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use idgate_core::{Entropy, EntropyUnavailable};
use zeroize::Zeroizing;

use crate::checksummed;

const LIVE: &str = "sk_live_";
const TEST: &str = "sk_test_";

/// The scopes that a key can carry (specification 7).
pub const SCOPES: [&str; 4] = ["session:create", "session:read", "audit:read", "api_keys:manage"];

/// A well-formed API key: `sk_live_` or `sk_test_`, 32 random base62 characters, and the CRC-32 of
/// all of it in six more. Only the store knows whether it belongs to a client.
pub struct ApiKey {
    text: Zeroizing<String>,
    livemode: bool,
}

impl ApiKey {
    /// A fresh key.
    pub fn generate(livemode: bool, entropy: &mut dyn Entropy) -> Result<Self, EntropyUnavailable> {
        let text = checksummed::generate(if livemode { LIVE } else { TEST }, entropy)?;
        Ok(Self { text, livemode })
    }

    /// Parses a key from a request, without a lookup; `None` if it is malformed.
    pub fn parse(text: &str) -> Option<Self> {
        let livemode = text.starts_with(LIVE);
        let prefix = if livemode { LIVE } else { TEST };
        checksummed::is_well_formed(prefix, text)
            .then(|| Self { text: Zeroizing::new(text.to_owned()), livemode })
    }

    /// Its SHA-256, by which the store finds it.
    pub fn digest(&self) -> [u8; 32] {
        checksummed::digest(&self.text)
    }

    /// The mode in its prefix.
    pub fn livemode(&self) -> bool {
        self.livemode
    }

    /// The text, to be shown once. Keep it out of logs.
    pub fn expose(&self) -> &str {
        &self.text
    }

    /// Its last four characters, to recognize it in a list.
    pub fn hint(&self) -> &str {
        self.text.get(self.text.len().saturating_sub(4)..).unwrap_or("")
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(***)")
    }
}

/// A fresh webhook signing secret: `whsec_` and base64 of 32 bytes.
pub fn signing_secret(entropy: &mut dyn Entropy) -> Result<Zeroizing<String>, EntropyUnavailable> {
    let mut bytes = Zeroizing::new([0u8; 32]);
    entropy.fill(&mut *bytes)?;
    let encoded = Zeroizing::new(STANDARD.encode(*bytes));
    Ok(Zeroizing::new(["whsec_", &encoded].concat()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use crate::entropy::OsEntropy;

    #[test]
    fn the_prefix_names_the_mode() {
        for livemode in [true, false] {
            let key = ApiKey::generate(livemode, &mut OsEntropy).unwrap();
            let parsed = ApiKey::parse(key.expose()).expect("a generated key parses");
            assert_eq!((parsed.livemode(), parsed.digest()), (livemode, key.digest()));
            assert!(key.expose().ends_with(key.hint()) && key.hint().len() == 4);
        }
    }

    #[test]
    fn another_prefix_is_refused() {
        let key = ApiKey::generate(true, &mut OsEntropy).unwrap();
        let other = checksummed::generate("adm_", &mut OsEntropy).unwrap();
        for text in [&key.expose().replace(LIVE, TEST), &*other, "sk_other_", ""] {
            assert!(ApiKey::parse(text).is_none(), "{text:?}");
        }
    }

    #[test]
    fn debug_shows_nothing_of_the_key() {
        let key = ApiKey::generate(true, &mut OsEntropy).unwrap();
        assert_eq!(format!("{key:?}"), "ApiKey(***)");
    }

    #[test]
    fn a_signing_secret_holds_32_bytes() {
        let secret = signing_secret(&mut OsEntropy).unwrap();
        let bytes = STANDARD.decode(secret.strip_prefix("whsec_").unwrap()).unwrap();
        assert_eq!(bytes.len(), 32);
        assert_ne!(*signing_secret(&mut OsEntropy).unwrap(), *secret);
    }
}
