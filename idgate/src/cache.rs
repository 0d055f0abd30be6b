//! The cache of authenticated status sources, limited by count and by memory. Sources in use are
//! fetched again before they expire.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::limits::{
    AWAITED_MS, IN_USE_MS, MAX_CACHED_BYTES, MAX_CACHED_LISTS, MAX_FRESH_MS, STALE_GRACE_MS,
};
use crate::plan::{Plan, Span};
use idgate_core::revocation::VerifiedSource;
use idgate_core::verify::Scope;
use idgate_core::{IssuerId, Need, UnixMillis};

pub(super) type Key = (Need, Scope);

/// The copies for one need in one scope.
struct Entry {
    sources: Vec<Arc<VerifiedSource>>,
    kept_at: UnixMillis,
    /// When a presentation asked for it last.
    used_at: UnixMillis,
    plan: Plan,
    weight: usize,
    /// Increases with every entry. The entry with the smallest value is evicted first.
    age: u64,
}

impl Entry {
    /// When it has to be fetched again.
    fn fresh_until(&self) -> UnixMillis {
        let said = self.sources.iter().map(|source| source.fresh_until()).min();
        let most = self.kept_at.plus(MAX_FRESH_MS);
        said.unwrap_or(self.kept_at).min(most)
    }

    fn span(&self) -> Span {
        Span { from: self.kept_at, to: self.fresh_until() }
    }

    /// Whether it can be dropped: it has expired, and will not be fetched again.
    fn is_useless(&self, now: UnixMillis) -> bool {
        let awaited_ms = if self.is_in_use(now) { AWAITED_MS } else { 0 };
        self.sources.iter().all(|source| now >= end_of_grace(source).plus(awaited_ms))
    }

    fn is_in_use(&self, now: UnixMillis) -> bool {
        now < self.used_at.plus(IN_USE_MS)
    }
}

/// The due copies of one need, in every scope.
pub(super) struct Due {
    pub(super) need: Need,
    pub(super) kept: Vec<(Scope, Vec<Arc<VerifiedSource>>)>,
}

impl Due {
    /// The issuers whose credentials ask for it.
    pub(super) fn issuers(&self) -> Vec<IssuerId> {
        let scopes = self.kept.iter();
        let mut issuers: Vec<IssuerId> =
            scopes.flat_map(|(scope, _)| scope.issuers()).cloned().collect();
        issuers.sort_unstable();
        issuers.dedup();
        issuers
    }
}

#[derive(Default)]
pub(super) struct SourceCache {
    entries: HashMap<Key, Entry>,
    weight: usize,
    ages: u64,
}

impl SourceCache {
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The copies that a presentation may use at `now` without a new fetch.
    pub(super) fn fresh(&mut self, key: &Key, now: UnixMillis) -> Vec<Arc<VerifiedSource>> {
        let Some(entry) = self.entries.get_mut(key) else { return Vec::new() };
        entry.used_at = entry.used_at.max(now);
        if now >= entry.kept_at.plus(MAX_FRESH_MS) {
            return Vec::new();
        }
        self.serving(key, |source| now < source.fresh_until())
    }

    /// The copies that may be used at `now` while the source is down.
    pub(super) fn last_good(&self, key: &Key, now: UnixMillis) -> Vec<Arc<VerifiedSource>> {
        self.serving(key, |source| now < end_of_grace(source))
    }

    /// All cached copies, also expired ones.
    pub(super) fn kept(&self, key: &Key) -> Vec<Arc<VerifiedSource>> {
        self.serving(key, |_| true)
    }

    /// Replaces the copies of `key` with those that were fetched for a presentation.
    pub(super) fn put(&mut self, key: Key, sources: Vec<VerifiedSource>, now: UnixMillis) {
        self.replace(key, sources, now, now);
    }

    /// The same with later copies that were fetched ahead.
    pub(super) fn renew(
        &mut self,
        (need, old): (Need, &Scope),
        scope: Scope,
        sources: Vec<VerifiedSource>,
        now: UnixMillis,
    ) {
        let known = self.entries.get(&(need.clone(), old.clone()));
        // The copy may have been evicted in the meantime.
        let Some((used_at, before)) = known.map(|known| (known.used_at, known.span())) else {
            return;
        };
        self.remove(&(need.clone(), old.clone()));
        let key = (need, scope);
        self.replace(key.clone(), sources, used_at, now);
        if let Some(entry) = self.entries.get_mut(&key) {
            entry.plan = Plan::after(before, entry.span());
        }
    }

    /// Makes a plan for copies without one, and returns at most `most` needs in use that are due at
    /// `now`. `is_other` says whether the trust of a scope has changed since.
    pub(super) fn due(
        &mut self,
        now: UnixMillis,
        most: usize,
        is_other: impl Fn(&Scope) -> bool,
        mut draw: impl FnMut() -> u64,
    ) -> Vec<Due> {
        self.remove_useless(now);
        let mut due: BTreeMap<Need, (UnixMillis, Vec<Scope>)> = BTreeMap::new();
        for ((need, scope), entry) in &mut self.entries {
            if !entry.is_in_use(now) {
                continue;
            }
            let span = entry.span();
            let at = entry.plan.at(span, is_other(scope).then_some(now), &mut draw);
            if let Some(at) = at.filter(|at| *at <= now) {
                let (first, scopes) = due.entry(need.clone()).or_insert((at, Vec::new()));
                *first = at.min(*first);
                scopes.push(scope.clone());
            }
        }
        let mut due: Vec<_> = due.into_iter().collect();
        due.sort_by_key(|(_, (at, _))| *at);
        let sources = |need: &Need, scope: &Scope| {
            let entry = self.entries.get(&(need.clone(), scope.clone()));
            entry.map(|entry| entry.sources.clone()).unwrap_or_default()
        };
        due.into_iter()
            .take(most)
            .map(|(need, (_, scopes))| {
                let kept = scopes.into_iter().map(|scope| {
                    let sources = sources(&need, &scope);
                    (scope, sources)
                });
                Due { kept: kept.collect(), need }
            })
            .collect()
    }

    /// Records a failed renewal.
    pub(super) fn put_off(&mut self, need: &Need, scope: &Scope, now: UnixMillis, draw: u64) {
        if let Some(entry) = self.entries.get_mut(&(need.clone(), scope.clone())) {
            entry.plan.put_off(now, draw);
        }
    }

    fn replace(
        &mut self,
        key: Key,
        sources: Vec<VerifiedSource>,
        used_at: UnixMillis,
        now: UnixMillis,
    ) {
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
        let (plan, age) = (Plan::default(), self.ages);
        self.entries.insert(key, Entry { sources, kept_at: now, used_at, plan, weight, age });
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
        self.retain_entries(|_, entry| !entry.is_useless(now));
    }

    /// Drops the copies of all other scopes.
    pub(super) fn retain(&mut self, keep: impl Fn(&Scope) -> bool) {
        self.retain_entries(|(_, scope), _| keep(scope));
    }

    fn retain_entries(&mut self, keep: impl Fn(&Key, &Entry) -> bool) {
        self.entries.retain(|key, entry| keep(key, entry));
        self.weight = self.entries.values().map(|entry| entry.weight).sum();
    }
}

/// A day beyond its cache time, but never past its own end.
fn end_of_grace(source: &VerifiedSource) -> UnixMillis {
    let grace = source.fresh_until().plus(STALE_GRACE_MS);
    source.expires_at().map_or(grace, |end| end.min(grace))
}
