//! base64url and the hashes of `_sd_alg`.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use sha2::{Digest as _, Sha256, Sha384, Sha512};

/// A hash algorithm by its name in `_sd_alg` (RFC 9901 4.1.1).
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum HashAlg {
    /// `sha-256`, also the default without `_sd_alg`
    #[default]
    Sha256,
    /// `sha-384`
    Sha384,
    /// `sha-512`
    Sha512,
}

impl HashAlg {
    /// Its name in `_sd_alg`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sha256 => "sha-256",
            Self::Sha384 => "sha-384",
            Self::Sha512 => "sha-512",
        }
    }

    /// From its name in `_sd_alg`.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Sha256, Self::Sha384, Self::Sha512].into_iter().find(|alg| alg.name() == name)
    }

    /// The hash of `data`.
    pub fn hash(self, data: &[u8]) -> Vec<u8> {
        match self {
            Self::Sha256 => Sha256::digest(data).to_vec(),
            Self::Sha384 => Sha384::digest(data).to_vec(),
            Self::Sha512 => Sha512::digest(data).to_vec(),
        }
    }

    /// The hash of `text` as base64url: a disclosure's digest, or `sd_hash`.
    pub fn digest(self, text: &str) -> String {
        base64url(&self.hash(text.as_bytes()))
    }
}

/// `bytes` as base64url without padding (RFC 7515 2).
pub fn base64url(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The bytes of unpadded base64url text.
pub fn from_base64url(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}

/// `bytes` as padded base64 with the standard alphabet, the form in `x5c` (RFC 7515 4.1.6).
pub fn base64_standard(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// The bytes of padded base64 with the standard alphabet.
pub fn from_base64_standard(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_of_rfc_9901_4_2_3_is_reproduced() {
        let disclosure = "WyJfMjZiYzRMVC1hYzZxMktJNmNCVzVlcyIsICJmYW1pbHlfbmFtZSIsICJNw7ZiaXVzIl0";
        let digest = "X9yH0Ajrdm1Oij4tWso9UzzKJvPoDxwmuEcO3XAdRC0";
        assert_eq!(HashAlg::Sha256.digest(disclosure), digest);
    }

    #[test]
    fn padding_is_not_decoded() {
        assert_eq!(from_base64url("AA"), Some(vec![0]));
        assert_eq!(from_base64url("AA=="), None);
    }
}
