//! Disclosures by digest (RFC 9901 4.2.3). They are sorted, not hashed: matching is n log n for any
//! input, and needs no randomness.

use alloc::vec::Vec;
use core::cmp::Ordering;

use super::{RESERVED_NAMES, malformed};
use crate::codec::base64url;
use crate::codec::json::{NodeId, Tape, Text, Value};
use crate::crypto::{CryptoProvider, HashAlg};
use crate::error::{Check, VerifyError};
use crate::work;

/// Every disclosure under the digest of its text.
pub(crate) struct DisclosureIndex {
    /// The digests as base64url, `digest_len` bytes each, in the order of the presentation.
    digests: Vec<u8>,
    digest_len: usize,
    /// Sorted by digest.
    sorted: Vec<Entry>,
}

#[derive(Clone, Copy)]
struct Entry {
    /// The first eight bytes of the digest text: decides nearly every comparison.
    prefix: u64,
    /// Position in the presentation.
    position: u32,
    value: NodeId,
    used: bool,
}

/// The content of a disclosure.
#[derive(Clone, Copy)]
pub(crate) enum Revealed<'t, 'a> {
    /// `[salt, name, value]`
    Member(Text<'a>, Value<'t, 'a>),
    /// `[salt, value]`
    Element(Value<'t, 'a>),
}

impl DisclosureIndex {
    /// Hashes each disclosure's text, the base64url as received (RFC 9901 4.2.3).
    pub(crate) fn new(
        disclosures: &[(&str, NodeId)],
        alg: HashAlg,
        provider: &CryptoProvider,
    ) -> Result<Self, VerifyError> {
        let digest_len = (alg.len() * 4).div_ceil(3);
        let mut digests = Vec::with_capacity(disclosures.len() * digest_len);
        let mut sorted = Vec::with_capacity(disclosures.len());
        for (position, (text, value)) in (0u32..).zip(disclosures) {
            let mut buffer = [0; 86];
            let hash = provider.hash(alg, text.as_bytes());
            let digest = base64url::encode_into(hash.as_bytes(), &mut buffer).unwrap_or_default();
            digests.extend_from_slice(digest.as_bytes());
            sorted.push(Entry { prefix: prefix(digest), position, value: *value, used: false });
        }
        let mut index = Self { digests, digest_len, sorted: Vec::new() };
        sorted.sort_unstable_by(|a, b| {
            work::comparison(0);
            a.prefix.cmp(&b.prefix).then_with(|| index.digest(a).cmp(index.digest(b)))
        });
        let twice = sorted.windows(2).any(|pair| match pair {
            [a, b] => a.prefix == b.prefix && index.digest(a) == index.digest(b),
            _ => false,
        });
        if twice {
            return Err(malformed(Check::DigestsUnique, "a disclosure is presented twice"));
        }
        index.sorted = sorted;
        Ok(index)
    }

    fn digest(&self, entry: &Entry) -> &[u8] {
        let start = usize::try_from(entry.position).unwrap_or(usize::MAX) * self.digest_len;
        self.digests.get(start..start + self.digest_len).unwrap_or_default()
    }

    fn position(&self, digest: &str) -> Option<usize> {
        let wanted = prefix(digest);
        let order = |entry: &Entry| {
            work::comparison(0);
            match entry.prefix.cmp(&wanted) {
                Ordering::Equal => self.digest(entry).cmp(digest.as_bytes()),
                other => other,
            }
        };
        self.sorted.binary_search_by(order).ok()
    }

    /// The value disclosed under `digest`.
    pub(crate) fn find(&self, digest: &str) -> Option<NodeId> {
        self.position(digest).and_then(|at| self.sorted.get(at)).map(|entry| entry.value)
    }

    /// Like [`Self::find`], but only once: a second reference is refused immediately, so that no
    /// value is walked twice and nested references cannot multiply the work.
    pub(crate) fn take(&mut self, digest: &str) -> Result<Option<NodeId>, VerifyError> {
        let found = self.position(digest).and_then(|at| self.sorted.get_mut(at));
        let Some(entry) = found else { return Ok(None) };
        if entry.used {
            return Err(malformed(Check::DigestsUnique, "a digest appears twice"));
        }
        entry.used = true;
        Ok(Some(entry.value))
    }

    /// Whether every disclosure is referenced (RFC 9901 7.1 step 4).
    pub(crate) fn all_used(&self) -> bool {
        self.sorted.iter().all(|entry| entry.used)
    }
}

/// Reads a disclosure's array (RFC 9901 4.2.1, 4.2.2).
pub(crate) fn reveal<'t, 'a>(
    tape: &'t Tape<'a>,
    id: NodeId,
) -> Result<Revealed<'t, 'a>, VerifyError> {
    let bad = |detail| malformed(Check::DisclosureFormat, detail);
    let mut items = tape.value(id).elements().ok_or_else(|| bad("a disclosure is not an array"))?;
    let salt = items.next().and_then(Value::as_text);
    if salt.is_none() {
        return Err(bad("a disclosure's salt is not a string"));
    }
    match (items.next(), items.next(), items.next()) {
        (Some(value), None, None) => Ok(Revealed::Element(value)),
        (Some(name), Some(value), None) => {
            let name = name.as_text().ok_or_else(|| bad("a disclosed name is not a string"))?;
            if RESERVED_NAMES.iter().any(|reserved| name.is(reserved)) {
                return Err(malformed(Check::DisclosedName, "a disclosed name is reserved"));
            }
            Ok(Revealed::Member(name, value))
        }
        _ => Err(bad("a disclosure does not have two or three elements")),
    }
}

/// The first eight bytes as a number that sorts like the text.
pub(crate) fn prefix(digest: &str) -> u64 {
    digest.as_bytes().first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes))
}
