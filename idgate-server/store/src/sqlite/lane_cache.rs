//! Known names of keys and sessions. Reads wait in lanes that take turns. If a made-up name gave
//! its sender a lane, an attacker would have as many turns as names. So a name that was never found
//! waits in the one lane for unknown names. The cache only decides about waiting.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, Hash, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;
use rusqlite::types::FromSql;

use crate::lanes::LaneKey;
use crate::sql::number;
use crate::types::StoreError;

/// At least this many of the latest names are known, and at most twice as many: 5 MiB. A forgotten
/// session or key waits with unknown names once, and is known again.
const KNOWN: usize = 65_536;

/// The lanes of recently used names.
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
    /// The lane of the owner of this name, or the lane for unknown names.
    pub(crate) fn lane(&self, name: impl Hash) -> LaneKey {
        let name = self.hasher.hash_one(name);
        let names = self.names();
        let known = names.young.get(&name).or_else(|| names.old.get(&name));
        known.copied().unwrap_or(LaneKey::STRANGERS)
    }

    /// Notes a name that was found, with the lane of its owner.
    pub(crate) fn note(&self, name: impl Hash, whose: LaneKey) {
        let name = self.hasher.hash_one(name);
        let mut names = self.names();
        if names.young.len() >= KNOWN && !names.young.contains_key(&name) {
            names.old = std::mem::take(&mut names.young);
        }
        names.young.insert(name, whose);
    }

    /// Removes a name that no longer exists.
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

/// The lane for requests with a client's API key, before the key is checked.
pub(crate) fn key_lane(client_id: &str) -> LaneKey {
    LaneKey::of(("key", client_id))
}

/// The lane for looking up an admin token.
pub(crate) fn admin_lane(id: &str) -> LaneKey {
    LaneKey::of(("admin", id))
}

/// The lane for the wallets of a client. A client's QR codes can be scanned by anyone, and those
/// requests only slow down each other.
pub(crate) fn wallet_lane(client_id: &str) -> LaneKey {
    LaneKey::of(("wallet", client_id))
}

/// The active keys and tokens, the most recently used ones: names known before a restart are known
/// after it.
pub(crate) fn keys(main: &Connection) -> Result<LaneCache, StoreError> {
    let known = LaneCache::default();
    let keys = "SELECT digest, client_id FROM api_keys WHERE revoked_at IS NULL \
                ORDER BY last_used_at DESC LIMIT ?1";
    note_all::<[u8; 32]>(&known, main, keys, key_lane)?;
    let tokens = "SELECT digest, id FROM admin_tokens WHERE revoked_at IS NULL LIMIT ?1";
    note_all::<[u8; 32]>(&known, main, tokens, admin_lane)?;
    Ok(known)
}

/// The open sessions, those that expire last.
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

/// Notes names with the lanes of their owners, which a statement returns.
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
    fn a_name_is_unknown_before_it_is_found_and_after_it_is_removed() {
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
    fn the_latest_names_are_known_and_memory_is_bounded() {
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
