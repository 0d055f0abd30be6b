//! The owner of an API key or admin token, and the keys that a client manages itself.

use idgate_core::{SessionId, TenantId, UnixMillis};

use super::{Engine, Store};
use crate::api_keys;
use crate::cursor::List;
use crate::keys;
use crate::lanes::LaneKey;
use crate::types::{
    ApiKeyPage, ApiKeyRecord, Caller, KeyMade, KeyRevoked, KeyRotated, KeyValue, NewApiKey,
    PageError, Read, SessionFound, Write,
};

const LIST: List = List("cursor api-keys");

/// Authentication.
impl Store {
    /// Checks key, client, expiry and mode in one indexed read. Nothing is cached, so a revocation
    /// takes effect immediately. `digest` is the SHA-256 of the key.
    pub fn authenticate(&self, digest: &[u8; 32], now: UnixMillis) -> Read<'_, Option<Caller>> {
        let found = self.owner(digest, None, now);
        Box::pin(async move { Ok(found.await?.map(|(caller, _)| caller)) })
    }

    /// Like [`Store::authenticate`], with the caller's session of that id, read as
    /// [`Store::callers_session`] does. Both come from one snapshot. If the session cannot be read,
    /// the key is still good: the error is in the second value.
    pub fn authenticate_for(
        &self,
        digest: &[u8; 32],
        session: &SessionId,
        now: UnixMillis,
    ) -> Read<'_, Option<(Caller, SessionFound)>> {
        let found = self.owner(digest, Some(session), now);
        Box::pin(async move {
            let Some((caller, session)) = found.await? else { return Ok(None) };
            let session = self.env.fault.read(Box::pin(async { session })).await;
            Ok(Some((caller, session)))
        })
    }

    fn owner(
        &self,
        digest: &[u8; 32],
        session: Option<&SessionId>,
        now: UnixMillis,
    ) -> Read<'_, Option<(Caller, SessionFound)>> {
        match &self.engine {
            Engine::Sqlite(store) => store.authenticate(digest, session, now),
            Engine::Postgres(store) => store.authenticate(digest, session, now),
        }
    }

    /// The id of the admin token with this digest unless it is revoked. One indexed read; nothing
    /// is cached.
    pub fn admin(&self, digest: &[u8; 32]) -> Read<'_, Option<String>> {
        match &self.engine {
            Engine::Sqlite(store) => store.admin(digest),
            Engine::Postgres(store) => {
                store.read(*digest, |digest, db, _| Box::pin(keys::admin(db, digest)))
            }
        }
    }

    /// The origins of a client's own pages, in alphabetical order. One indexed read; nothing is
    /// cached.
    pub fn origins(&self, client_id: &TenantId) -> Read<'_, Vec<String>> {
        let read = self.read(LaneKey::of(client_id), client_id.clone(), |client_id, db, _| {
            Box::pin(keys::origins(db, client_id.as_str()))
        });
        self.env.fault.read(read)
    }
}

/// The keys of a client.
impl Store {
    /// The active keys of this client and mode, newest first, then the newest of those that were
    /// revoked or expired. At most 200, unless more are active. `last_used_at` is exact.
    pub fn api_keys(&self, caller: &Caller, now: UnixMillis) -> Read<'_, Vec<ApiKeyRecord>> {
        let with = (caller.clone(), now);
        self.read_long(LaneKey::of(&caller.client_id), with, |(caller, now), db, env| {
            Box::pin(async move {
                let keys = api_keys::newest(db, caller, *now).await?;
                Ok(keys.into_iter().map(|key| env.with_exact_use(key)).collect())
            })
        })
    }

    /// At most `limit` keys of this client and mode, newest first, from `cursor` on, including
    /// revoked and expired ones.
    pub fn api_key_page(
        &self,
        caller: &Caller,
        cursor: Option<&str>,
        limit: usize,
        now: UnixMillis,
    ) -> Read<'_, ApiKeyPage, PageError> {
        let with = (caller.clone(), limit);
        let page = self.list_page(
            LIST,
            caller,
            (cursor, now),
            (with, |with, db, env| {
                Box::pin(async move {
                    let ((caller, limit), before) = with;
                    let (keys, last) = api_keys::page(db, caller, *before, *limit).await?;
                    Ok((keys.into_iter().map(|key| env.with_exact_use(key)).collect(), last))
                })
            }),
        );
        Box::pin(async move {
            let (keys, next_cursor) = page.await?;
            Ok(ApiKeyPage { keys, next_cursor })
        })
    }

    /// Adds a key.
    pub fn create_api_key(&self, caller: &Caller, key: NewApiKey) -> Write<'_, KeyMade> {
        self.know_key(caller, &key.value);
        self.record_surely(
            caller,
            (caller.clone(), key),
            |(caller, key), db, env| Box::pin(api_keys::insert(db, caller, key, env.quotas)),
            |(_, key), db, _| {
                Box::pin(async move {
                    let stored = api_keys::with_value(db, &key.record.id, &key.value).await?;
                    Ok(stored.map(|_| KeyMade::Yes))
                })
            },
        )
    }

    /// Revokes a key immediately. Repeating it changes nothing.
    pub fn revoke_api_key(
        &self,
        caller: &Caller,
        id: &str,
        now: UnixMillis,
    ) -> Write<'_, KeyRevoked> {
        self.record_surely(
            caller,
            (caller.clone(), id.to_owned(), now),
            |(caller, id, now), db, _| Box::pin(api_keys::revoke(db, caller, id, *now)),
            |(_, id, _), db, _| {
                Box::pin(async move {
                    Ok(api_keys::is_revoked(db, id).await?.then_some(KeyRevoked::Yes))
                })
            },
        )
    }

    /// Gives a key a new value. The old value stops working in the same transaction.
    pub fn rotate_api_key(
        &self,
        caller: &Caller,
        id: &str,
        value: KeyValue,
        now: UnixMillis,
    ) -> Write<'_, KeyRotated> {
        self.know_key(caller, &value);
        let rotated = self.record_surely(
            caller,
            (caller.clone(), id.to_owned(), value, now),
            |(caller, id, value, now), db, _| {
                Box::pin(api_keys::rotate(db, caller, (id, value), *now))
            },
            |(_, id, value, _), db, _| {
                Box::pin(async move {
                    Ok(api_keys::with_value(db, id, value).await?.map(KeyRotated::Yes))
                })
            },
        );
        Box::pin(async move {
            Ok(match rotated.await? {
                KeyRotated::Yes(key) => KeyRotated::Yes(self.env.with_exact_use(key)),
                refused => refused,
            })
        })
    }

    /// Removes at most `limit` keys that were revoked or expired at or before `before`.
    pub fn remove_ended_keys(&self, before: UnixMillis, limit: usize) -> Write<'_, usize> {
        self.write(LaneKey::GATEWAY, (before, limit), |(before, limit), db, _| {
            Box::pin(api_keys::remove_ended(db, *before, *limit))
        })
    }

    /// Notes a key that is about to become active, so that its first request does not wait in the
    /// lane for unknown keys.
    fn know_key(&self, caller: &Caller, value: &KeyValue) {
        if let Engine::Sqlite(store) = &self.engine {
            store.know_key(value.digest(), caller.client_id.as_str());
        }
    }
}
