//! Admin tokens: what the operator's own programs prove themselves with. No tenant has one.

use std::fmt;

use idgate_core::{Entropy, EntropyUnavailable};
use zeroize::Zeroizing;

use crate::checksummed;

const PREFIX: &str = "adm_";

/// A well-formed admin token: `adm_`, and on as an API key.
pub struct AdminToken(Zeroizing<String>);

impl AdminToken {
    /// A fresh token.
    pub fn generate(entropy: &mut dyn Entropy) -> Result<Self, EntropyUnavailable> {
        checksummed::generate(PREFIX, entropy).map(Self)
    }

    /// A token from a request; `None` when it cannot be one, without any look-up.
    pub fn parse(text: &str) -> Option<Self> {
        checksummed::is_well_formed(PREFIX, text).then(|| Self(Zeroizing::new(text.to_owned())))
    }

    /// The SHA-256 under which the store knows it.
    pub fn digest(&self) -> [u8; 32] {
        checksummed::digest(&self.0)
    }

    /// The text, to be shown once. Keep it out of logs.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for AdminToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AdminToken(***)")
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::api_key::ApiKey;
    use crate::entropy::OsEntropy;

    #[test]
    fn a_token_is_no_key_and_a_key_no_token() {
        let token = AdminToken::generate(&mut OsEntropy).unwrap();
        let key = ApiKey::generate(true, &mut OsEntropy).unwrap();
        assert_eq!(AdminToken::parse(token.expose()).unwrap().digest(), token.digest());
        assert!(AdminToken::parse(key.expose()).is_none());
        assert!(ApiKey::parse(token.expose()).is_none());
        assert_eq!(format!("{token:?}"), "AdminToken(***)");
    }
}
