//! The names that are known: of keys and of sessions. Reads wait in lanes that take turns, and whoever
//! could choose a lane by making up a name would have as many turns as it has names. So a name that
//! nobody was ever let in with waits in the one lane of strangers. What is known decides about waiting
//! and about nothing else.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, Hash, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;

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

/// The keys and tokens that are good, the latest used ones: after a start nobody who was known is a
/// stranger.
pub(crate) fn keys(main: &Connection) -> Result<LaneCache, StoreError> {
    let known = LaneCache::default();
    let limit = number(KNOWN);
    let mut statement = main.prepare(
        "SELECT digest, client_id FROM api_keys WHERE revoked_at IS NULL \
         ORDER BY last_used_at DESC LIMIT ?1",
    )?;
    let mut rows = statement.query([limit])?;
    while let Some(row) = rows.next()? {
        known.note(row.get::<_, [u8; 32]>(0)?, key_lane(&row.get::<_, String>(1)?));
    }
    let mut statement =
        main.prepare("SELECT digest, id FROM admin_tokens WHERE revoked_at IS NULL LIMIT ?1")?;
    let mut rows = statement.query([limit])?;
    while let Some(row) = rows.next()? {
        known.note(row.get::<_, [u8; 32]>(0)?, admin_lane(&row.get::<_, String>(1)?));
    }
    Ok(known)
}

/// The sessions that are open, those that are so for longest.
pub(crate) fn sessions(main: &Connection) -> Result<LaneCache, StoreError> {
    let known = LaneCache::default();
    let mut statement = main.prepare(
        "SELECT id, client_id FROM sessions WHERE settled_at IS NULL \
         ORDER BY coalesce(lease_until, expires_at) DESC LIMIT ?1",
    )?;
    let mut rows = statement.query([number(KNOWN)])?;
    while let Some(row) = rows.next()? {
        let (id, client_id): (String, String) = (row.get(0)?, row.get(1)?);
        known.note(&*id, wallet_lane(&client_id));
    }
    let mut statement = main.prepare(
        "SELECT offers.id, client_id FROM offers JOIN sessions ON sessions.id = session_id LIMIT ?1",
    )?;
    let mut rows = statement.query([i64::try_from(KNOWN).unwrap_or(i64::MAX)])?;
    while let Some(row) = rows.next()? {
        let (id, client_id): (String, String) = (row.get(0)?, row.get(1)?);
        known.note(&*id, wallet_lane(&client_id));
    }
    Ok(known)
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
