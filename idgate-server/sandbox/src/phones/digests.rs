//! Secrets that strangers may present, stored as digests: none is in memory in clear, and their
//! number is bounded.

use std::collections::BTreeMap;

use idgate_testkit::codec::{HashAlg, base64url};

/// SHA-256 of a secret.
pub(super) type Digest = Vec<u8>;

/// The digest under which a secret is stored.
pub(super) fn digest(secret: &str) -> Digest {
    HashAlg::Sha256.hash(secret.as_bytes())
}

/// A new secret of 256 random bits.
///
/// # Errors
/// The system has no random bytes.
pub(super) fn secret() -> Result<String, String> {
    random::<32>().map(|bytes| base64url(&bytes))
}

/// Random bytes.
///
/// # Errors
/// The system has none.
pub(super) fn random<const N: usize>() -> Result<[u8; N], String> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| format!("no random bytes: {error}"))?;
    Ok(bytes)
}

/// There is no room for one more.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Full;

/// Values by the digest of their secret, each until it expires, up to a maximum number.
#[derive(Debug)]
pub(super) struct Bounded<T> {
    most: usize,
    kept: BTreeMap<Digest, (u64, T)>,
}

impl<T> Bounded<T> {
    pub(super) const fn new(most: usize) -> Self {
        Self { most, kept: BTreeMap::new() }
    }

    /// Stores a value until `until_ms`.
    ///
    /// # Errors
    /// There is no room, even without expired values.
    pub(super) fn keep(
        &mut self,
        key: Digest,
        value: T,
        until_ms: u64,
        now_ms: u64,
    ) -> Result<(), Full> {
        if self.kept.len() >= self.most {
            self.kept.retain(|_, (until, _)| *until > now_ms);
        }
        if self.kept.len() >= self.most {
            return Err(Full);
        }
        self.kept.insert(key, (until_ms, value));
        Ok(())
    }

    /// The value, unless it has expired.
    pub(super) fn get(&self, key: &Digest, now_ms: u64) -> Option<&T> {
        self.kept.get(key).filter(|(until, _)| *until > now_ms).map(|(_, value)| value)
    }

    /// The value for a change, unless it has expired.
    pub(super) fn get_mut(&mut self, key: &Digest, now_ms: u64) -> Option<&mut T> {
        self.kept.get_mut(key).filter(|(until, _)| *until > now_ms).map(|(_, value)| value)
    }

    /// Removes a value.
    pub(super) fn remove(&mut self, key: &Digest) {
        self.kept.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_set_accepts_another_only_once_one_has_expired() {
        let mut set = Bounded::new(2);
        assert_eq!(set.keep(digest("a"), 1, 10, 0), Ok(()));
        assert_eq!(set.keep(digest("b"), 2, 20, 0), Ok(()));
        assert_eq!(set.keep(digest("c"), 3, 30, 9), Err(Full));
        assert_eq!(set.get(&digest("a"), 9), Some(&1));
        assert_eq!(set.get(&digest("a"), 10), None, "it has expired");
        assert_eq!(set.keep(digest("c"), 3, 30, 10), Ok(()));
        assert_eq!(set.get(&digest("c"), 10), Some(&3));
    }
}
