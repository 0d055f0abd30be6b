//! The names that are known: of keys and of sessions. Reads wait in lanes that take turns, and whoever
//! could choose a lane by making up a name would have as many turns as it has names. So a name that
//! nobody was ever let in with waits in the one lane of strangers. What is known decides about waiting
//! and about nothing else.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, Hash, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;
use rusqlite::types::FromSql;

use crate::lanes::LaneKey;
use crate::sql::number;
use crate::types::StoreError;

/// So many of the latest names are known for sure, and twice as many at most: 5 MiB. A session or a
/// key that is forgotten waits as a stranger once, and is known again.
const KNOWN: usize = 65_536;

/// The lanes of the latest names.
#[derive(Default)]
pub(crate) struct LaneCache {
    hasher: RandomState,
    names: Mutex<Names>,
}

#[derive(Default)]
struct Names {
    young: HashMap<u64, LaneKey>,
    old: HashMap<u64, LaneKey>,
}

impl LaneCache {
    /// The lane of the owner of this name, or that of strangers.
    pub(crate) fn lane(&self, name: impl Hash) -> LaneKey {
        let name = self.hasher.hash_one(name);
        let names = self.names();
        let known = names.young.get(&name).or_else(|| names.old.get(&name));
        known.copied().unwrap_or(LaneKey::STRANGERS)
    }

    /// A name that was found, and the lane of its owner.
    pub(crate) fn note(&self, name: impl Hash, whose: LaneKey) {
        let name = self.hasher.hash_one(name);
        let mut names = self.names();
        if names.young.len() >= KNOWN && !names.young.contains_key(&name) {
            names.old = std::mem::take(&mut names.young);
        }
        names.young.insert(name, whose);
    }

    /// A name that is nobody's any more.
    pub(crate) fn forget(&self, name: impl Hash) {
        let name = self.hasher.hash_one(name);
        let mut names = self.names();
        names.young.remove(&name);
        names.old.remove(&name);
    }

    fn names(&self) -> MutexGuard<'_, Names> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where requests wait until their key is known to be good.
pub(crate) fn key_lane(client_id: &str) -> LaneKey {
    LaneKey::of(("key", client_id))
}

/// Where admin tokens are looked up.
pub(crate) fn admin_lane(id: &str) -> LaneKey {
    LaneKey::of(("admin", id))
}

/// Where the wallets of a client wait: who holds its QR codes is in its way nowhere else.
pub(crate) fn wallet_lane(client_id: &str) -> LaneKey {
    LaneKey::of(("wallet", client_id))
}

/// The good keys and tokens, the latest used ones: what was known before a start is known after it.
pub(crate) fn keys(main: &Connection) -> Result<LaneCache, StoreError> {
    let known = LaneCache::default();
    let keys = "SELECT digest, client_id FROM api_keys WHERE revoked_at IS NULL \
                ORDER BY last_used_at DESC LIMIT ?1";
    note_all::<[u8; 32]>(&known, main, keys, key_lane)?;
    let tokens = "SELECT digest, id FROM admin_tokens WHERE revoked_at IS NULL LIMIT ?1";
    note_all::<[u8; 32]>(&known, main, tokens, admin_lane)?;
    Ok(known)
}

/// The sessions that are open, those that are so for longest.
pub(crate) fn sessions(main: &Connection) -> Result<LaneCache, StoreError> {
    let known = LaneCache::default();
    let sessions = "SELECT id, client_id FROM sessions WHERE settled_at IS NULL \
                    ORDER BY coalesce(lease_until, expires_at) DESC LIMIT ?1";
    note_all::<String>(&known, main, sessions, wallet_lane)?;
    let offers = "SELECT offers.id, client_id FROM offers \
                  JOIN sessions ON sessions.id = session_id LIMIT ?1";
    note_all::<String>(&known, main, offers, wallet_lane)?;
    Ok(known)
}

/// Notes names with the lanes of their owners, which a statement gives.
fn note_all<N: FromSql + Hash>(
    known: &LaneCache,
    main: &Connection,
    select: &str,
    lane: fn(&str) -> LaneKey,
) -> Result<(), StoreError> {
    let mut statement = main.prepare(select)?;
    let mut rows = statement.query([number(KNOWN)])?;
    while let Some(row) = rows.next()? {
        known.note(row.get::<_, N>(0)?, lane(&row.get::<_, String>(1)?));
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_strangers_until_it_is_found_and_once_it_is_nobodys() {
        let known = LaneCache::default();
        assert_eq!(known.lane("ses_a"), LaneKey::STRANGERS);
        known.note("ses_a", wallet_lane("cli_a"));
        known.note("ses_b", wallet_lane("cli_a"));
        assert_eq!(known.lane("ses_a"), known.lane("ses_b"));
        assert_ne!(known.lane("ses_a"), LaneKey::STRANGERS);
        known.forget("ses_a");
        assert_eq!(known.lane("ses_a"), LaneKey::STRANGERS);
    }

    #[test]
    fn the_latest_are_known_and_memory_is_bounded() {
        let known = LaneCache::default();
        for n in 0..5 * KNOWN {
            known.note(n, LaneKey::of("cli_a"));
        }
        let is_known = |n: usize| known.lane(n) != LaneKey::STRANGERS;
        assert!((4 * KNOWN..5 * KNOWN).all(is_known) && !is_known(0));
        let names = known.names();
        assert!(names.young.len() + names.old.len() <= 2 * KNOWN);
    }
}
