//! Every trust entry at one moment.

use alloc::collections::BTreeMap;
use alloc::sync::{Arc, Weak};
use core::hash::{Hash, Hasher};

use super::TrustEntry;
use super::entry::Places;
use super::known_signers::KnownSigners;
use crate::ids::IssuerId;

/// Every trust entry at one moment. Reloading makes a new one; a session records which decided.
/// It remembers the signers that it met, in bounded memory: share one, also over threads.
#[derive(Clone, Debug, Default)]
pub struct TrustSnapshot {
    version: u64,
    /// They cannot change: what is known of them stays right.
    entries: Arc<BTreeMap<IssuerId, TrustEntry>>,
    known_signers: Arc<KnownSigners>,
}

impl TrustSnapshot {
    /// A snapshot of `entries`; a later entry of the same name replaces an earlier one. Sessions record
    /// the `version` that decided.
    pub fn new(version: u64, entries: impl IntoIterator<Item = TrustEntry>) -> Self {
        let placed = |mut entry: TrustEntry| {
            entry.places = Places::of(&entry);
            (entry.issuer_id.clone(), entry)
        };
        let entries = Arc::new(entries.into_iter().map(placed).collect());
        Self { version, entries, known_signers: Arc::default() }
    }

    /// The same entries under another number.
    pub(crate) fn numbered(&self, version: u64) -> Self {
        Self { version, ..self.clone() }
    }

    /// Which trust this is, whatever its number.
    pub(crate) fn same(&self) -> SameTrust {
        SameTrust(Arc::downgrade(&self.entries))
    }

    /// The number its maker gave it.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The entry of that name.
    pub fn entry(&self, issuer_id: &IssuerId) -> Option<&TrustEntry> {
        self.entries.get(issuer_id)
    }

    /// The signers that `entry` was presented with, if it is one of this snapshot.
    pub(crate) fn known_signers(&self, entry: &TrustEntry) -> Option<&KnownSigners> {
        let own = self.entries.get(&entry.issuer_id);
        own.is_some_and(|own| core::ptr::eq(own, entry)).then_some(&*self.known_signers)
    }

    /// All entries, by name.
    pub fn entries(&self) -> impl Iterator<Item = &TrustEntry> {
        self.entries.values()
    }
}

/// Equal for the same entries alone. It does not keep them, but no others are ever mistaken for them: their
/// address is not given out again while it is there.
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
    fn two_trusts_of_one_number_are_told_apart() {
        let (one, other) = (TrustSnapshot::new(1, []), TrustSnapshot::new(1, []));
        assert_eq!(one.same(), one.numbered(2).same());
        assert_ne!(one.same(), other.same());
        let gone = one.same();
        drop(one);
        assert_ne!(gone, TrustSnapshot::new(1, []).same(), "its address is not used again");
    }
}
