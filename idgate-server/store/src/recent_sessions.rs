//! The open sessions that this gateway stored last, in memory as they are stored: sealed, each with
//! its sealed key. Their wallets' requests then need no read of the database.
//!
//! A copy may be out of date: an operator's command or another gateway may have changed the row. So
//! a transition that is decided by a copy is stored only if everything that it was decided by is
//! still the same ([`crate::recall::Basis`]). A copy leaves when a change of its session is handed
//! to the store, and at the latest when its session expires. The copy of the new state counts once
//! it is committed: until then another change may become the next revision.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use idgate_core::UnixMillis;

use crate::limits::RECENT_SESSION_BYTES;
use crate::stored_session::Stored;

/// Open sessions in memory.
pub(super) struct RecentSessions {
    generations: Mutex<Generations>,
    room: usize,
}

/// A session as it is stored.
pub(super) struct Kept {
    pub(super) stored: Stored,
    /// The sealed key, if the session's answers are encrypted.
    pub(super) key: Option<Vec<u8>>,
    /// The names that wallets use.
    pub(super) names: Vec<String>,
    pub(super) expires_at: UnixMillis,
    pub(super) is_committed: AtomicBool,
}

/// The copy of a state that is being stored. Unless it is committed, it leaves with this.
pub(super) struct Keeping<'r> {
    recent: &'r RecentSessions,
    kept: Arc<Kept>,
}

/// The memory for a copy in addition to its bytes.
const COPY_BYTES: usize = 256;
/// The memory for each name in addition to its text.
const NAME_BYTES: usize = 96;

/// When the younger generation is full, it replaces the older one. So the copies made last remain,
/// and there is never more than twice the room.
#[derive(Default)]
struct Generations {
    young: Generation,
    old: Generation,
}

#[derive(Default)]
struct Generation {
    /// By each name that wallets use.
    kept: HashMap<String, Arc<Kept>>,
    bytes: usize,
}

impl Default for RecentSessions {
    fn default() -> Self {
        Self::with_room(RECENT_SESSION_BYTES)
    }
}

impl RecentSessions {
    fn with_room(room: usize) -> Self {
        Self { generations: Mutex::default(), room }
    }

    /// Keeps a session that is being stored. `None`: it is too large.
    pub(super) fn keep(&self, kept: Kept) -> Option<Keeping<'_>> {
        let (bytes, kept) = (kept.bytes(), Arc::new(kept));
        if bytes > self.room {
            return None;
        }
        let mut generations = self.generations();
        let Generations { young, old } = &mut *generations;
        young.remove(&kept.stored.id);
        old.remove(&kept.stored.id);
        let full = young.bytes.saturating_add(bytes) > self.room;
        let outdated = full.then(|| std::mem::replace(old, std::mem::take(young)));
        young.insert(kept.clone());
        drop(generations);
        // Others need not wait until all of it is freed.
        drop(outdated);
        Some(Keeping { recent: self, kept })
    }

    /// The open session that wallets know by this name.
    pub(super) fn find(&self, name: &str) -> Option<Arc<Kept>> {
        let generations = self.generations();
        let Generations { young, old } = &*generations;
        let kept = young.kept.get(name).or_else(|| old.kept.get(name))?;
        kept.is_committed.load(Ordering::Acquire).then(|| kept.clone())
    }

    /// Forgets a session. Returns the copy that was kept.
    pub(super) fn forget(&self, id: &str) -> Option<Arc<Kept>> {
        let mut generations = self.generations();
        let old = generations.old.remove(id);
        generations.young.remove(id).or(old)
    }

    /// Forgets the sessions that have expired at `now`.
    pub(super) fn forget_expired(&self, now: UnixMillis) {
        let mut generations = self.generations();
        generations.young.remove_expired(now);
        generations.old.remove_expired(now);
    }

    /// Forgets this copy, and not one that has replaced it.
    fn forget_copy(&self, copy: &Arc<Kept>) {
        let mut generations = self.generations();
        let Generations { young, old } = &mut *generations;
        for generation in [young, old] {
            let id = &copy.stored.id;
            if generation.kept.get(id).is_some_and(|kept| Arc::ptr_eq(kept, copy)) {
                generation.remove(id);
            }
        }
    }

    fn generations(&self) -> MutexGuard<'_, Generations> {
        self.generations.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Keeping<'_> {
    /// The state is committed.
    pub(super) fn committed(self) {
        self.kept.is_committed.store(true, Ordering::Release);
    }
}

impl Drop for Keeping<'_> {
    fn drop(&mut self) {
        if !self.kept.is_committed.load(Ordering::Acquire) {
            self.recent.forget_copy(&self.kept);
        }
    }
}

impl Kept {
    fn bytes(&self) -> usize {
        // Each name is in the copy and in the map.
        let names =
            self.names.iter().map(|name| name.len().saturating_mul(2).saturating_add(NAME_BYTES));
        let parts = [
            COPY_BYTES,
            self.stored.id.len(),
            self.stored.client_id.len(),
            self.stored.record.len(),
            self.key.as_ref().map_or(0, Vec::len),
        ];
        parts.into_iter().chain(names).fold(0, usize::saturating_add)
    }
}

impl Generation {
    fn insert(&mut self, kept: Arc<Kept>) {
        self.bytes = self.bytes.saturating_add(kept.bytes());
        for name in &kept.names {
            self.kept.insert(name.clone(), kept.clone());
        }
    }

    fn remove(&mut self, id: &str) -> Option<Arc<Kept>> {
        let kept = self.kept.remove(id)?;
        self.bytes = self.bytes.saturating_sub(kept.bytes());
        for name in &kept.names {
            self.kept.remove(name);
        }
        Some(kept)
    }

    fn remove_expired(&mut self, now: UnixMillis) {
        let expired = self.kept.values().filter(|kept| kept.expires_at <= now);
        let expired: Vec<String> = expired.map(|kept| kept.stored.id.clone()).collect();
        for id in expired {
            self.remove(&id);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const ENDS: UnixMillis = UnixMillis(1_000);

    /// A session of 1000 bytes with two names.
    fn kept(number: u8) -> Kept {
        let id = format!("ses_{number:02}");
        let names = vec![id.clone(), format!("off_{number:02}")];
        let client_id = "cli".into();
        Kept {
            stored: Stored { id, client_id, livemode: true, record: vec![number; 500] },
            key: Some(vec![number; 19]),
            names,
            expires_at: ENDS,
            is_committed: AtomicBool::new(false),
        }
    }

    fn commit(recent: &RecentSessions, number: u8) {
        recent.keep(kept(number)).unwrap().committed();
    }

    fn has(recent: &RecentSessions, number: u8) -> bool {
        let Kept { names, .. } = kept(number);
        let found = names.iter().filter(|name| recent.find(name).is_some()).count();
        assert!(found == 0 || found == names.len(), "under all its names or none");
        found > 0
    }

    #[test]
    fn the_latest_sessions_remain_and_memory_is_bounded() {
        assert_eq!(kept(1).bytes(), 1_000);
        let recent = RecentSessions::with_room(3_000);
        (0..9).for_each(|number| commit(&recent, number));
        let found: Vec<u8> = (0..9).filter(|number| has(&recent, *number)).collect();
        assert_eq!(found, [3, 4, 5, 6, 7, 8]);
        // Those that left make room.
        for number in 6..9 {
            assert!(recent.forget(&kept(number).stored.id).is_some());
        }
        (20..23).for_each(|number| commit(&recent, number));
        assert!((3..6).chain(20..23).all(|number| has(&recent, number)));
        assert_eq!(recent.generations().young.bytes, 3_000);
    }

    #[test]
    fn a_session_is_counted_once_and_a_larger_one_than_the_room_is_not_kept() {
        let recent = RecentSessions::with_room(3_000);
        (0..9).for_each(|_| commit(&recent, 1));
        assert_eq!(recent.generations().young.bytes, 1_000);
        let mut large = kept(2);
        large.stored.record = vec![0; 3_001];
        assert!(recent.keep(large).is_none());
        assert!(has(&recent, 1) && !has(&recent, 2));
    }

    #[test]
    fn a_session_leaves_when_it_expires() {
        let recent = RecentSessions::with_room(1_500);
        (1..3).for_each(|number| commit(&recent, number));
        recent.forget_expired(ENDS.minus(1));
        assert!(has(&recent, 1) && has(&recent, 2));
        recent.forget_expired(ENDS);
        assert!(!has(&recent, 1) && !has(&recent, 2));
        assert_eq!(recent.generations().young.bytes, 0);
    }

    #[test]
    fn a_copy_counts_once_it_is_committed_and_leaves_if_it_is_not() {
        let recent = RecentSessions::default();
        let keeping = recent.keep(kept(1)).unwrap();
        assert!(!has(&recent, 1));
        drop(keeping);
        assert!(recent.forget(&kept(1).stored.id).is_none());
        // A later copy is not affected by the end of an earlier one.
        let earlier = recent.keep(kept(1)).unwrap();
        commit(&recent, 1);
        drop(earlier);
        assert!(has(&recent, 1));
        let earlier = recent.keep(kept(2)).unwrap();
        let later = recent.keep(kept(2)).unwrap();
        earlier.committed();
        assert!(!has(&recent, 2), "the later copy has taken its place");
        later.committed();
        assert!(has(&recent, 2));
    }
}
