//! A cache of signers whose path was validated before. The same certificate, for the same entry,
//! format, document type and mode, has the same path until a relevant date passes. This saves
//! parsing it and one signature check.
//!
//! Only signers that passed every check are kept, and data that a presenter can vary is not part of
//! the key. So a presenter cannot change the cache. Nor can a presenter displace entries, except
//! with certificates that a trusted root issued.

#[cfg(all(test, feature = "aws-lc-rs"))]
#[allow(clippy::unwrap_used)]
mod tests;

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use std::sync::{Mutex, PoisonError};

use super::anchors::TrustAnchor;
use super::entry::TrustEntry;
use super::listing::Listing;
use super::path::{VerifiedPath, authenticate_chain, authenticate_sd_jwt_chain};
use crate::crypto::CryptoProvider;
use crate::error::VerifyError;
use crate::limits::{MAX_CERTIFICATES, MAX_KNOWN_SIGNER_BYTES, MAX_KNOWN_SIGNERS};
use crate::time::UnixMillis;

/// The signers that a trust snapshot has verified. Entries are not removed one by one: when the
/// younger generation is full, the older one is dropped.
#[derive(Default)]
pub(crate) struct KnownSigners {
    // Locked for a lookup or an insertion, never during a signature check.
    generations: Mutex<Generations>,
}

#[derive(Default)]
struct Generations {
    young: BTreeMap<Key, Known>,
    old: BTreeMap<Key, Known>,
}

/// SHA-256 of certificate, entry, format, document type and mode.
type Key = [u8; 32];

#[derive(Clone)]
struct Known {
    path: Arc<VerifiedPath>,
    stable: Stable,
}

/// The period around a time in which no date of the signer or of a root passes: within it, path
/// validation has the same outcome.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Stable {
    from: UnixMillis,
    /// Inclusive.
    until: UnixMillis,
}

/// The purpose that a signer is authenticated for.
#[derive(Clone, Copy)]
pub(crate) struct Purpose<'p> {
    pub(crate) issuer: &'p TrustEntry,
    /// `None`: an SD-JWT VC, whose roots are separate.
    pub(crate) doc_type: Option<&'p str>,
    pub(crate) livemode: bool,
}

impl Purpose<'_> {
    /// Authenticates the signer at the start of `chain`, from the cache where possible.
    /// [`Self::issuer`] must always be the same entry of the same snapshot.
    ///
    /// # Errors
    /// Those of [`authenticate_chain`].
    pub(crate) fn authenticate(
        self,
        known: Option<&KnownSigners>,
        provider: &CryptoProvider,
        chain: &[&[u8]],
        now: UnixMillis,
    ) -> Result<Arc<VerifiedPath>, VerifyError> {
        match known {
            Some(known) => known.authenticate(provider, chain, self, now),
            None => self.path(provider, chain, now).map(Arc::new),
        }
    }

    fn path(
        self,
        provider: &CryptoProvider,
        chain: &[&[u8]],
        now: UnixMillis,
    ) -> Result<VerifiedPath, VerifyError> {
        let Self { issuer, doc_type, livemode } = self;
        match doc_type {
            Some(doc_type) => authenticate_chain(provider, chain, issuer, doc_type, livemode, now),
            None => authenticate_sd_jwt_chain(provider, chain, issuer, livemode, now),
        }
    }
}

impl KnownSigners {
    fn authenticate(
        &self,
        provider: &CryptoProvider,
        chain: &[&[u8]],
        purpose: Purpose<'_>,
        now: UnixMillis,
    ) -> Result<Arc<VerifiedPath>, VerifyError> {
        let key = match chain {
            [leaf, rest @ ..]
                if rest.len() < MAX_CERTIFICATES && leaf.len() <= MAX_KNOWN_SIGNER_BYTES =>
            {
                Some(key(provider, leaf, purpose))
            }
            _ => None,
        };
        if let Some(path) = key.and_then(|key| self.find(&key, now)) {
            return Ok(path);
        }
        let path = Arc::new(purpose.path(provider, chain, now)?);
        // If there is an intermediate, the outcome also depends on the other certificates that the
        // presenter sent.
        if let Some(key) = key.filter(|_| path.is_below_root) {
            let Purpose { issuer, doc_type, livemode } = purpose;
            let stable = match doc_type {
                Some(_) => Stable::around(now, &path, issuer.roots_for(livemode)),
                None => Stable::around(now, &path, issuer.sd_jwt_roots_for(livemode)),
            };
            self.keep(key, Known { path: path.clone(), stable });
        }
        Ok(path)
    }

    fn find(&self, key: &Key, now: UnixMillis) -> Option<Arc<VerifiedPath>> {
        let mut generations = self.generations.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = generations.young.get(key) {
            return known.stable.includes(now).then(|| known.path.clone());
        }
        let known = generations.old.remove(key).filter(|known| known.stable.includes(now))?;
        generations.insert(*key, known.clone());
        Some(known.path)
    }

    fn keep(&self, key: Key, known: Known) {
        self.generations.lock().unwrap_or_else(PoisonError::into_inner).insert(key, known);
    }
}

impl Generations {
    fn insert(&mut self, key: Key, known: Known) {
        if self.young.len() >= MAX_KNOWN_SIGNERS {
            self.old = core::mem::take(&mut self.young);
        }
        self.young.insert(key, known);
    }
}

impl Stable {
    fn around<'r>(
        now: UnixMillis,
        path: &VerifiedPath,
        roots: impl Iterator<Item = &'r TrustAnchor>,
    ) -> Self {
        let last = |not_after: UnixMillis| not_after.plus(999);
        let mut stable = Self { from: path.not_before, until: last(path.not_after) };
        for root in roots {
            for (first_of_next, is_past) in [
                (root.not_before(), root.not_before() <= now),
                (last(root.not_after()).plus(1), last(root.not_after()) < now),
            ] {
                stable.end_at(first_of_next, is_past);
            }
            for turn in root.listing().into_iter().flat_map(Listing::turns) {
                stable.end_at(turn, turn <= now);
            }
        }
        stable
    }

    /// `first_of_next`: from then on the outcome may differ.
    fn end_at(&mut self, first_of_next: UnixMillis, is_past: bool) {
        if is_past {
            self.from = self.from.max(first_of_next);
        } else {
            self.until = self.until.min(UnixMillis(first_of_next.0.saturating_sub(1)));
        }
    }

    fn includes(&self, now: UnixMillis) -> bool {
        self.from <= now && now <= self.until
    }
}

/// Each part follows its length, so that no two inputs are equal.
fn key(provider: &CryptoProvider, leaf: &[u8], purpose: Purpose<'_>) -> Key {
    let doc_type = purpose.doc_type.unwrap_or_default();
    let parts = [purpose.issuer.issuer_id.as_str().as_bytes(), doc_type.as_bytes(), leaf];
    let length = |part: &[u8]| part.len().saturating_add(size_of::<usize>());
    let mut text = Vec::with_capacity(parts.into_iter().map(length).sum::<usize>() + 1);
    text.push(u8::from(purpose.livemode) | u8::from(purpose.doc_type.is_some()) << 1);
    for part in parts {
        text.extend_from_slice(&part.len().to_be_bytes());
        text.extend_from_slice(part);
    }
    provider.sha256(&text)
}

impl fmt::Debug for KnownSigners {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let generations = self.generations.lock().unwrap_or_else(PoisonError::into_inner);
        write!(f, "KnownSigners({})", generations.young.len() + generations.old.len())
    }
}
