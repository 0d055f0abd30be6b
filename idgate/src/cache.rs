//! Status sources that were authenticated before, bounded by count and by memory.

use std::collections::HashMap;
use std::sync::Arc;

use crate::limits::{MAX_CACHED_BYTES, MAX_CACHED_LISTS, MAX_FRESH_MS, STALE_GRACE_MS};
use idgate_core::revocation::VerifiedSource;
use idgate_core::verify::Scope;
use idgate_core::{Need, UnixMillis};

type Key = (Need, Scope);

/// What came of one need in one scope.
struct Entry {
    sources: Vec<Arc<VerifiedSource>>,
    kept_at: UnixMillis,
    weight: usize,
    /// Counts up with every entry: the least goes first.
    age: u64,
}

#[derive(Default)]
pub(super) struct SourceCache {
    entries: HashMap<Key, Entry>,
    weight: usize,
    ages: u64,
}

impl SourceCache {
    /// Those that need not be fetched again at `now`.
    pub(super) fn fresh(&self, key: &Key, now: UnixMillis) -> Vec<Arc<VerifiedSource>> {
        let is_old = |entry: &Entry| now >= entry.kept_at.plus(MAX_FRESH_MS);
        if self.entries.get(key).is_some_and(is_old) {
            return Vec::new();
        }
        self.serving(key, |source| now < source.fresh_until())
    }

    /// Those that serve at `now` while the source is down.
    pub(super) fn last_good(&self, key: &Key, now: UnixMillis) -> Vec<Arc<VerifiedSource>> {
        self.serving(key, |source| now < end_of_grace(source))
    }

    /// Replaces what was known about `key`.
    pub(super) fn put(&mut self, key: Key, sources: Vec<VerifiedSource>, now: UnixMillis) {
        self.remove(&key);
        self.remove_useless(now);
        let sources: Vec<_> = sources.into_iter().map(Arc::new).collect();
        let weight = sources.iter().map(|source| source.weight()).sum();
        if weight > MAX_CACHED_BYTES {
            return;
        }
        while self.entries.len() >= MAX_CACHED_LISTS
            || self.weight.saturating_add(weight) > MAX_CACHED_BYTES
        {
            let Some(oldest) = self.oldest() else { break };
            self.remove(&oldest);
        }
        self.ages = self.ages.saturating_add(1);
        self.weight = self.weight.saturating_add(weight);
        self.entries.insert(key, Entry { sources, kept_at: now, weight, age: self.ages });
    }

    fn serving(
        &self,
        key: &Key,
        serves: impl Fn(&VerifiedSource) -> bool,
    ) -> Vec<Arc<VerifiedSource>> {
        let sources = self.entries.get(key).map(|entry| &*entry.sources).unwrap_or_default();
        sources.iter().filter(|source| serves(source)).cloned().collect()
    }

    fn oldest(&self) -> Option<Key> {
        let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.age);
        oldest.map(|(key, _)| key.clone())
    }

    fn remove(&mut self, key: &Key) {
        if let Some(entry) = self.entries.remove(key) {
            self.weight = self.weight.saturating_sub(entry.weight);
        }
    }

    fn remove_useless(&mut self, now: UnixMillis) {
        let over = |entry: &Entry| entry.sources.iter().all(|source| now >= end_of_grace(source));
        self.entries.retain(|_, entry| !over(entry));
        self.weight = self.entries.values().map(|entry| entry.weight).sum();
    }
}

/// A day beyond its cache time, but never past its own end.
fn end_of_grace(source: &VerifiedSource) -> UnixMillis {
    let grace = source.fresh_until().plus(STALE_GRACE_MS);
    source.expires_at().map_or(grace, |end| end.min(grace))
}
