//! When keys were last used: exact in memory, and stored at most once a minute, so that reads do
//! not turn into writes.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use idgate_core::UnixMillis;

/// How often a key's use is stored. A killed server loses no more than that.
const STORE_EVERY_MS: u64 = 60_000;
/// How many keys are remembered (2 MiB). A client can create, use and revoke keys without end.
const REMEMBERED: usize = 16_384;

/// The last use of each recently used key.
#[derive(Default)]
pub(super) struct KeyUses(Mutex<HashMap<String, Use>>);

#[derive(Clone, Copy)]
struct Use {
    latest: UnixMillis,
    stored: Option<UnixMillis>,
}

impl KeyUses {
    /// Notes a use at `now` of a key whose stored use is `stored`. Returns the uses to store now.
    #[must_use = "uses that are forgotten here must be stored"]
    pub(super) fn note(
        &self,
        key_id: &str,
        stored: Option<UnixMillis>,
        now: UnixMillis,
    ) -> Vec<(String, UnixMillis)> {
        let (mut uses, mut due) = (self.lock(), Vec::new());
        if !uses.contains_key(key_id) {
            if uses.len() >= REMEMBERED {
                due = unstored(&uses);
                uses.clear();
            }
            uses.insert(key_id.to_owned(), Use { latest: now, stored });
        }
        let Some(known) = uses.get_mut(key_id) else { return due };
        known.latest = known.latest.max(now);
        known.stored = known.stored.max(stored);
        if known.stored.is_none_or(|at| known.latest.since(at) >= STORE_EVERY_MS) {
            known.stored = Some(known.latest);
            due.push((key_id.to_owned(), known.latest));
        }
        due
    }

    /// The last use of a key whose stored use is `stored`.
    pub(super) fn latest(&self, key_id: &str, stored: Option<UnixMillis>) -> Option<UnixMillis> {
        let known = self.lock().get(key_id).map(|known| known.latest);
        known.max(stored)
    }

    /// The uses that are not stored yet.
    pub(super) fn unstored(&self) -> Vec<(String, UnixMillis)> {
        unstored(&self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Use>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn unstored(uses: &HashMap<String, Use>) -> Vec<(String, UnixMillis)> {
    let unstored = uses.iter().filter(|(_, known)| known.stored < Some(known.latest));
    unstored.map(|(key_id, known)| (key_id.clone(), known.latest)).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const NOW: UnixMillis = UnixMillis(1_790_000_000_000);

    #[test]
    fn a_key_use_is_stored_once_a_minute_and_exact_in_memory() {
        let uses = KeyUses::default();
        assert_eq!(uses.note("key_a", None, NOW), [("key_a".to_owned(), NOW)], "the first use");
        for later in [0, 1, 59_999] {
            assert!(uses.note("key_a", Some(NOW), NOW.plus(later)).is_empty());
            assert_eq!(uses.latest("key_a", Some(NOW)), Some(NOW.plus(later)));
        }
        assert_eq!(uses.unstored(), [("key_a".to_owned(), NOW.plus(59_999))]);
        let minute = NOW.plus(60_000);
        assert_eq!(uses.note("key_a", Some(NOW), minute), [("key_a".to_owned(), minute)]);
        assert!(uses.unstored().is_empty());
    }

    #[test]
    fn a_use_stored_by_an_earlier_run_counts() {
        let uses = KeyUses::default();
        assert!(uses.note("key_a", Some(NOW), NOW.plus(30_000)).is_empty());
        assert_eq!(uses.latest("key_b", Some(NOW)), Some(NOW));
        assert_eq!(uses.latest("key_c", None), None);
    }

    #[test]
    fn a_use_never_moves_backwards() {
        let uses = KeyUses::default();
        let _stored = uses.note("key_a", None, NOW);
        assert!(uses.note("key_a", None, NOW.minus(5)).is_empty());
        assert_eq!(uses.latest("key_a", None), Some(NOW));
    }

    #[test]
    fn at_most_16384_key_uses_are_remembered_and_evicted_ones_are_stored() {
        let uses = KeyUses::default();
        for n in 0..REMEMBERED {
            let key = format!("key_{n}");
            assert_eq!(uses.note(&key, None, NOW).len(), 1);
            assert!(uses.note(&key, Some(NOW), NOW.plus(1)).is_empty());
        }
        let due = uses.note("key_one_more", None, NOW);
        assert_eq!(due.len(), REMEMBERED + 1);
        assert_eq!(due.last().unwrap(), &("key_one_more".to_owned(), NOW));
        assert!(due.iter().take(REMEMBERED).all(|(_, at)| *at == NOW.plus(1)));
        assert_eq!(uses.lock().len(), 1);
    }
}
