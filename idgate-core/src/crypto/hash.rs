//! Hash algorithms by their "Named Information" names (RFC 9901 4.1.1), and hash values.

use core::fmt;

use serde::{Deserialize, Serialize};

/// A hash algorithm of the SHA-2 family.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[non_exhaustive]
pub enum HashAlg {
    /// SHA-256
    #[serde(rename = "sha-256")]
    Sha256,
    /// SHA-384
    #[serde(rename = "sha-384")]
    Sha384,
    /// SHA-512
    #[serde(rename = "sha-512")]
    Sha512,
}

impl HashAlg {
    /// Returns the algorithm with this name, for example `sha-256`; case-sensitive.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        match name {
            "sha-256" => Some(Self::Sha256),
            "sha-384" => Some(Self::Sha384),
            "sha-512" => Some(Self::Sha512),
            _ => None,
        }
    }

    /// Length of a value in bytes.
    #[allow(clippy::len_without_is_empty, reason = "no digest is empty")]
    pub const fn len(self) -> usize {
        match self {
            Self::Sha256 => 32,
            Self::Sha384 => 48,
            Self::Sha512 => 64,
        }
    }
}

/// A digest, stored on the stack.
#[derive(Clone, Copy, Eq, PartialEq)]
pub struct HashValue {
    bytes: [u8; 64],
    len: usize,
}

impl HashValue {
    /// Creates a digest from a provider's output; input longer than any hash is truncated.
    pub fn new(value: &[u8]) -> Self {
        let mut bytes = [0; 64];
        let len = value.len().min(64);
        for (to, from) in bytes.iter_mut().zip(value) {
            *to = *from;
        }
        Self { bytes, len }
    }

    /// The digest.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or(&self.bytes)
    }
}

impl fmt::Debug for HashValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HashValue({} bytes)", self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_algorithms_are_unknown() {
        assert_eq!(HashAlg::from_name("sha-384"), Some(HashAlg::Sha384));
        for other in
            ["", "SHA-256", "sha256", "sha-1", "sha-256-128", "sha3-256", "md5", "sha-256 "]
        {
            assert_eq!(HashAlg::from_name(other), None, "{other}");
        }
    }

    #[test]
    fn keeps_a_digest_of_every_length() {
        for len in [0, 32, 48, 64] {
            assert_eq!(HashValue::new(&[7; 64][..len]).as_bytes(), &[7; 64][..len]);
        }
        assert_eq!(HashValue::new(&[7; 65]).as_bytes(), [7; 64]);
    }
}
