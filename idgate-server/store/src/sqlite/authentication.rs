//! The owner of an API key, read with the numbers of trust, keys and certificates in force.

use idgate_core::ids::{SessionId, TenantId};
use idgate_core::time::UnixMillis;
use rusqlite::{Connection, OptionalExtension as _};

use super::SqliteStore;
use crate::api_keys::power::scopes as scopes_of;
use crate::db::{Db, at_once};
use crate::keys;
use crate::sql::{millis, time};
use crate::sqlite::lane_cache::{admin_lane, key_lane};
use crate::sqlite::readers::Reader;
use crate::sqlite::session_rows;
use crate::types::{Caller, Read, SessionFound, StoreError};
use idgate_base::clock::Moment;

impl SqliteStore {
    /// A key that is about to be good.
    pub(crate) fn know_key(&self, digest: &[u8; 32], client_id: &str) {
        self.known_keys.note(*digest, key_lane(client_id));
    }

    pub(crate) fn authenticate(
        &self,
        digest: &[u8; 32],
        now: UnixMillis,
    ) -> Read<'_, Option<Caller>> {
        let (digest, found) = (*digest, self.by_key(*digest, now, |_, _| ()));
        Box::pin(async move {
            let found = self.note_key(digest, now, found.await?);
            Ok(found.map(|(caller, ())| caller))
        })
    }

    pub(crate) fn authenticate_for(
        &self,
        digest: &[u8; 32],
        session: &SessionId,
        now: UnixMillis,
    ) -> Read<'_, Option<(Caller, SessionFound)>> {
        let (digest, id, sealer) = (*digest, session.clone(), self.env.sealer.clone());
        let found = self.by_key(digest, now, move |reader, caller| {
            session_rows::read_with_result(reader, &sealer, caller, &id, now)
        });
        Box::pin(async move {
            let Some((caller, session)) = self.note_key(digest, now, found.await?) else {
                return Ok(None);
            };
            Ok(Some((caller, session)))
        })
    }

    pub(crate) fn admin(&self, digest: &[u8; 32]) -> Read<'_, Option<String>> {
        let digest = *digest;
        let read = move |reader: &Reader| at_once(keys::admin(&Db::sqlite(&reader.main), &digest));
        let found = self.readers.read(self.known_keys.lane(digest), read);
        Box::pin(async move {
            let found = found.await?;
            match &found {
                Some(id) => self.known_keys.note(digest, admin_lane(id)),
                None => self.known_keys.forget(digest),
            }
            Ok(found)
        })
    }

    /// Reads who has a key and when that was last used, and what else `read` reads for them.
    fn by_key<T: Send + 'static>(
        &self,
        digest: [u8; 32],
        now: UnixMillis,
        read: impl FnOnce(&Reader, &Caller) -> T + Send + 'static,
    ) -> Read<'static, Option<(Caller, Option<UnixMillis>, T)>> {
        let numbers = self.numbers.clone();
        self.readers.read(self.known_keys.lane(digest), move |reader: &Reader| {
            numbers.with(&reader.main, |since, _| {
                let found = authenticate(&reader.main, &digest, since, now)?;
                Ok(found.map(|(caller, last_used)| {
                    let read = read(reader, &caller);
                    (caller, last_used, read)
                }))
            })
        })
    }

    /// Notes that a key was used, or that it opens nothing.
    fn note_key<T>(
        &self,
        digest: [u8; 32],
        now: UnixMillis,
        found: Option<(Caller, Option<UnixMillis>, T)>,
    ) -> Option<(Caller, T)> {
        let Some((caller, last_used, read)) = found else {
            self.known_keys.forget(digest);
            return None;
        };
        self.known_keys.note(digest, key_lane(caller.client_id.as_str()));
        let due = self.env.uses.note(&caller.key_id, last_used, now);
        if !due.is_empty() {
            self.touch(due);
        }
        Some((caller, read))
    }

    /// Stores the uses of keys, and waits for nothing.
    pub(super) fn touch(&self, uses: Vec<(String, UnixMillis)>) {
        // Queued already: the answer is not needed, and a full queue loses only this one time.
        drop(self.writer.submit(move |batch| {
            uses.iter().try_for_each(|(key_id, at)| store_use(batch.main, key_id, *at))
        }));
    }
}

/// The owner of the key with this digest, and when the key was last used as far as stored.
fn authenticate(
    main: &Connection,
    digest: &[u8; 32],
    since: Moment,
    now: UnixMillis,
) -> Result<Option<(Caller, Option<UnixMillis>)>, StoreError> {
    let row = main
        .prepare_cached(
            "SELECT k.id, k.client_id, k.livemode, k.scopes, k.last_used_at \
             FROM api_keys AS k JOIN clients AS c ON c.id = k.client_id \
             WHERE k.digest = ?1 AND k.revoked_at IS NULL AND c.revoked_at IS NULL \
             AND (k.expires_at IS NULL OR k.expires_at > ?2) AND k.livemode = c.livemode",
        )?
        .query_row((digest, millis(now)), |row| {
            let caller = Caller {
                key_id: row.get(0)?,
                digest: *digest,
                client_id: TenantId::new(row.get::<_, String>(1)?),
                livemode: row.get(2)?,
                scopes: None,
                since,
            };
            let last_used = row.get::<_, Option<i64>>(4)?.map(time);
            Ok((caller, row.get::<_, Option<String>>(3)?, last_used))
        })
        .optional()?;
    let Some((mut caller, scopes, last_used)) = row else { return Ok(None) };
    caller.scopes = scopes_of(&caller.key_id, scopes)?;
    Ok(Some((caller, last_used)))
}

/// Notes the use of a key; it never moves backwards.
fn store_use(main: &Connection, key_id: &str, now: UnixMillis) -> Result<(), StoreError> {
    main.prepare_cached(
        "UPDATE api_keys SET last_used_at = ?2 \
         WHERE id = ?1 AND (last_used_at IS NULL OR last_used_at < ?2)",
    )?
    .execute((key_id, millis(now)))?;
    Ok(())
}
