//! When keys were last used: exact in memory, in the database at most once a minute, so that
//! reading does not become writing.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use idgate_core::time::UnixMillis;

/// How often the use of a key is stored. A killed server forgets no more.
const STORE_EVERY_MS: u64 = 60_000;

/// The last use of each key that was used since the store was opened.
#[derive(Default)]
pub(super) struct Uses(Mutex<HashMap<String, Use>>);

#[derive(Clone, Copy)]
struct Use {
    latest: UnixMillis,
    stored: Option<UnixMillis>,
}

impl Uses {
    /// Notes a use at `now` of a key whose stored use is `stored`; says whether to store it.
    pub(super) fn note(&self, key_id: &str, stored: Option<UnixMillis>, now: UnixMillis) -> bool {
        let mut uses = self.lock();
        if !uses.contains_key(key_id) {
            uses.insert(key_id.to_owned(), Use { latest: now, stored });
        }
        let Some(known) = uses.get_mut(key_id) else { return false };
        known.latest = known.latest.max(now);
        known.stored = known.stored.max(stored);
        let due = known.stored.is_none_or(|at| known.latest.since(at) >= STORE_EVERY_MS);
        if due {
            known.stored = Some(known.latest);
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
        let uses = self.lock();
        let unstored = uses.iter().filter(|(_, known)| known.stored < Some(known.latest));
        unstored.map(|(key_id, known)| (key_id.clone(), known.latest)).collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Use>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: UnixMillis = UnixMillis(1_790_000_000_000);

    #[test]
    fn a_use_is_stored_at_most_once_a_minute_and_known_exactly() {
        let uses = Uses::default();
        assert!(uses.note("key_a", None, NOW), "the first use");
        for later in [0, 1, 59_999] {
            assert!(!uses.note("key_a", Some(NOW), NOW.plus(later)));
            assert_eq!(uses.latest("key_a", Some(NOW)), Some(NOW.plus(later)));
        }
        assert_eq!(uses.unstored(), [("key_a".to_owned(), NOW.plus(59_999))]);
        assert!(uses.note("key_a", Some(NOW), NOW.plus(60_000)));
        assert!(uses.unstored().is_empty());
    }

    #[test]
    fn what_an_earlier_run_stored_counts() {
        let uses = Uses::default();
        assert!(!uses.note("key_a", Some(NOW), NOW.plus(30_000)));
        assert_eq!(uses.latest("key_b", Some(NOW)), Some(NOW));
        assert_eq!(uses.latest("key_c", None), None);
    }

    #[test]
    fn a_use_never_moves_backwards() {
        let uses = Uses::default();
        uses.note("key_a", None, NOW);
        uses.note("key_a", None, NOW.minus(5));
        assert_eq!(uses.latest("key_a", None), Some(NOW));
    }
}
