//! Indexes into a trust entry, so that the certificates of a long trusted list are not searched for
//! each credential. The result is the same as that of a full search.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::borrow::Borrow;
use core::fmt;

use super::TrustEntry;
use crate::trust::anchors::TrustAnchor;
use crate::trust::listing::{ListedBy, TrustServiceProvider};
use crate::trust::pinned_signer::PinnedSigner;

/// The index of an entry that can no longer change. A copy of an entry may change, so it has no
/// index and is searched in full.
#[derive(Default)]
pub(in crate::trust) struct Places(Option<Known>);

struct Known {
    roots: OfRoots,
    sd_jwt_roots: OfRoots,
    /// By their DER.
    pinned_signers: Index<Arc<[u8]>>,
    sd_jwt_signers: Index<Arc<[u8]>>,
    /// By each provider's place in its list; `None`: named by the operator.
    status_roots: Index<Option<usize>>,
    status_signers: Index<Option<usize>>,
}

struct OfRoots {
    names: Index<Vec<u8>>,
    hashes: Index<[u8; 32]>,
}

type Index<K> = BTreeMap<K, Vec<usize>>;

impl fmt::Debug for Places {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Places")
    }
}

impl Clone for Places {
    fn clone(&self) -> Self {
        Self(None)
    }
}

impl Places {
    /// Builds the index of an entry that no longer changes.
    pub(in crate::trust) fn of(entry: &TrustEntry) -> Self {
        let der = |signer: &PinnedSigner| Vec::from([signer.shared_der()]);
        Self(Some(Known {
            roots: OfRoots::of(&entry.roots),
            sd_jwt_roots: OfRoots::of(&entry.sd_jwt_roots),
            pinned_signers: index(&entry.pinned_signers, der),
            sd_jwt_signers: index(&entry.sd_jwt_signers, der),
            status_roots: index(&entry.status_roots, |root| providers(root.providers())),
            status_signers: index(&entry.status_signers, |signer| providers(signer.providers())),
        }))
    }
}

/// The part of an entry that may matter in sessions of a mode: a subset of what
/// [`TrustEntry::roots_for`] and similar methods return, in their order. Without an index it is all
/// of it.
impl TrustEntry {
    /// Roots for mdocs with one of these names.
    pub(in crate::trust) fn roots_named(
        &self,
        names: &[Vec<u8>],
        livemode: bool,
    ) -> impl Iterator<Item = &TrustAnchor> {
        let named = pick(&self.roots, self.known().map(|known| &known.roots.names), names);
        self.serving(named.into_iter(), livemode)
    }

    /// Roots for SD-JWT VC issuers with one of these names.
    pub(in crate::trust) fn sd_jwt_roots_named(
        &self,
        names: &[Vec<u8>],
        livemode: bool,
    ) -> impl Iterator<Item = &TrustAnchor> {
        let known = self.known().map(|known| &known.sd_jwt_roots.names);
        self.serving(pick(&self.sd_jwt_roots, known, names).into_iter(), livemode)
    }

    /// Roots for mdocs, or for SD-JWT VC issuers, with this hash.
    pub(crate) fn roots_hashed(
        &self,
        of_mdoc: bool,
        sha256: &[u8; 32],
        livemode: bool,
    ) -> impl Iterator<Item = &TrustAnchor> {
        let (roots, known) = match of_mdoc {
            true => (&self.roots, self.known().map(|known| &known.roots)),
            false => (&self.sd_jwt_roots, self.known().map(|known| &known.sd_jwt_roots)),
        };
        let hashed = pick(roots, known.map(|known| &known.hashes), [sha256]);
        self.serving(hashed.into_iter(), livemode)
    }

    /// Signers of mdocs, or of SD-JWT VCs, with this certificate.
    pub(crate) fn signers_with(
        &self,
        of_mdoc: bool,
        der: &[u8],
        livemode: bool,
    ) -> impl Iterator<Item = &PinnedSigner> {
        let (signers, known) = match of_mdoc {
            true => (&self.pinned_signers, self.known().map(|known| &known.pinned_signers)),
            false => (&self.sd_jwt_signers, self.known().map(|known| &known.sd_jwt_signers)),
        };
        let named = pick(signers, known, [der]).into_iter();
        named.filter(move |signer| signer.serves_mode(livemode))
    }

    /// Whether a sandbox's root has one of these names, or a sandbox's signer is this certificate.
    pub(in crate::trust) fn leads_to_sample(
        &self,
        of_mdoc: bool,
        names: &[Vec<u8>],
        leaf: &[u8],
    ) -> bool {
        let is_sample = |signer: &PinnedSigner| signer.is_sample() && signer.der() == leaf;
        let in_test_mode = false;
        let is_named = match of_mdoc {
            true => self.roots_named(names, in_test_mode).any(|root| is_named(root, names)),
            false => self.sd_jwt_roots_named(names, in_test_mode).any(|root| is_named(root, names)),
        };
        is_named || self.signers_with(of_mdoc, leaf, in_test_mode).any(is_sample)
    }

    /// Roots for status lists that the operator named, or that a list names for one of these
    /// providers.
    pub(crate) fn status_roots_of(
        &self,
        by: Option<&ListedBy>,
        livemode: bool,
    ) -> impl Iterator<Item = &TrustAnchor> {
        let known = self.known().map(|known| &known.status_roots);
        let named = pick(&self.status_roots, known, &of(by)).into_iter();
        named.filter(move |root| root.serves_mode(livemode))
    }

    /// The same for signers of status lists.
    pub(crate) fn status_signers_of(
        &self,
        by: Option<&ListedBy>,
        livemode: bool,
    ) -> impl Iterator<Item = &PinnedSigner> {
        let known = self.known().map(|known| &known.status_signers);
        let named = pick(&self.status_signers, known, &of(by)).into_iter();
        named.filter(move |signer| signer.serves_mode(livemode))
    }

    fn known(&self) -> Option<&Known> {
        self.places.0.as_ref()
    }
}

fn is_named(root: &TrustAnchor, names: &[Vec<u8>]) -> bool {
    root.is_sample() && names.iter().any(|name| name == root.name())
}

impl OfRoots {
    fn of(roots: &[TrustAnchor]) -> Self {
        Self {
            names: index(roots, |root| Vec::from([root.name().to_vec()])),
            hashes: index(roots, |root| Vec::from([root.sha256()])),
        }
    }
}

/// Those that the operator named, and those of the providers.
fn of(by: Option<&ListedBy>) -> Vec<Option<usize>> {
    let providers = by.into_iter().flat_map(|by| &by.providers);
    providers.map(|provider| Some(provider.place)).chain([None]).collect()
}

fn providers<'p>(all: impl Iterator<Item = &'p TrustServiceProvider>) -> Vec<Option<usize>> {
    let listed: Vec<_> = all.map(|provider| Some(provider.place)).collect();
    if listed.is_empty() { Vec::from([None]) } else { listed }
}

fn index<K: Ord, T>(all: &[T], keys: impl Fn(&T) -> Vec<K>) -> Index<K> {
    let mut index = Index::<K>::new();
    for (place, one) in all.iter().enumerate() {
        for key in keys(one) {
            index.entry(key).or_default().push(place);
        }
    }
    index
}

fn pick<'e, 'k, T, K, Q>(
    all: &'e [T],
    index: Option<&Index<K>>,
    keys: impl IntoIterator<Item = &'k Q>,
) -> Vec<&'e T>
where
    K: Borrow<Q> + Ord,
    Q: Ord + ?Sized + 'k,
{
    let Some(index) = index else { return all.iter().collect() };
    let places = keys.into_iter().filter_map(|key| index.get(key)).flatten();
    let places: BTreeSet<usize> = places.copied().collect();
    places.into_iter().filter_map(|place| all.get(place)).collect()
}
