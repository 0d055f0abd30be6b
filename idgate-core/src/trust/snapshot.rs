//! All trust entries at one moment.

use alloc::collections::BTreeMap;
use alloc::sync::{Arc, Weak};
use core::hash::{Hash, Hasher};

use super::TrustEntry;
use super::entry::Places;
use super::known_signers::KnownSigners;
use crate::ids::IssuerId;

/// All trust entries at one moment. Reloading creates a new snapshot; a session records which one
/// decided. It caches verified signers in bounded memory, so share one snapshot, also between
/// threads.
#[derive(Clone, Debug, Default)]
pub struct TrustSnapshot {
    version: u64,
    /// The entries cannot change, so the cached signers stay correct.
    entries: Arc<BTreeMap<IssuerId, TrustEntry>>,
    known_signers: Arc<KnownSigners>,
}

impl TrustSnapshot {
    /// Creates a snapshot of `entries`; a later entry of the same name replaces an earlier one.
    /// Sessions record the `version` that decided.
    pub fn new(version: u64, entries: impl IntoIterator<Item = TrustEntry>) -> Self {
        let placed = |mut entry: TrustEntry| {
            entry.places = Places::of(&entry);
            (entry.issuer_id.clone(), entry)
        };
        let entries = Arc::new(entries.into_iter().map(placed).collect());
        Self { version, entries, known_signers: Arc::default() }
    }

    /// Returns the same entries with another version.
    pub(crate) fn numbered(&self, version: u64) -> Self {
        Self { version, ..self.clone() }
    }

    /// The identity of this trust, independent of its version.
    pub(crate) fn same(&self) -> SameTrust {
        SameTrust(Arc::downgrade(&self.entries))
    }

    /// The version that its creator gave it.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The entry of that name.
    pub fn entry(&self, issuer_id: &IssuerId) -> Option<&TrustEntry> {
        self.entries.get(issuer_id)
    }

    /// The cached signers of `entry`, if it belongs to this snapshot.
    pub(crate) fn known_signers(&self, entry: &TrustEntry) -> Option<&KnownSigners> {
        let own = self.entries.get(&entry.issuer_id);
        own.is_some_and(|own| core::ptr::eq(own, entry)).then_some(&*self.known_signers)
    }

    /// All entries, by name.
    pub fn entries(&self) -> impl Iterator<Item = &TrustEntry> {
        self.entries.values()
    }
}

/// Equal only for the same entries. It does not keep the entries alive, but other entries are never
/// mistaken for them: their address is not reused while this value exists.
#[derive(Clone, Debug)]
pub(crate) struct SameTrust(Weak<BTreeMap<IssuerId, TrustEntry>>);

impl PartialEq for SameTrust {
    fn eq(&self, other: &Self) -> bool {
        self.0.ptr_eq(&other.0)
    }
}

impl Eq for SameTrust {}

impl Hash for SameTrust {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.as_ptr().hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_trusts_with_the_same_version_are_different() {
        let (one, other) = (TrustSnapshot::new(1, []), TrustSnapshot::new(1, []));
        assert_eq!(one.same(), one.numbered(2).same());
        assert_ne!(one.same(), other.same());
        let gone = one.same();
        drop(one);
        assert_ne!(gone, TrustSnapshot::new(1, []).same(), "its address is not used again");
    }
}
