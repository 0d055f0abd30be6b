//! The keys of clients.

use idgate_core::time::UnixMillis;
use rusqlite::Connection;

use super::super::api_keys::{self, insert, revoke, rotate};
use super::super::cursor::List;
use super::super::db::{Db, at_once};
use super::super::interface::{
    ApiKeyPage, ApiKeyRecord, ApiKeyStore, Caller, KeyMade, KeyRevoked, KeyRotated, KeyValue,
    NewApiKey, PageError, Read, Write,
};
use super::super::known::key_lane;
use super::super::lanes::Whose;
use super::super::readers::Reader;
use super::SqliteStore;

const LIST: List = List("cursor api-keys");

impl SqliteStore {
    fn with_exact_uses(&self, mut records: Vec<ApiKeyRecord>) -> Vec<ApiKeyRecord> {
        for record in &mut records {
            record.last_used_at = self.uses.latest(&record.id, record.last_used_at);
        }
        records
    }
}

impl ApiKeyStore for SqliteStore {
    fn api_keys(&self, caller: &Caller, now: UnixMillis) -> Read<'_, Vec<ApiKeyRecord>> {
        let (whose, caller) = (Whose::of(&caller.client_id), caller.clone());
        let read = move |reader: &Reader| {
            at_once(api_keys::newest(&Db::sqlite(&reader.main), &caller, now))
        };
        let listed = self.readers.read_long(whose, read);
        Box::pin(async move { Ok(self.with_exact_uses(listed.await?)) })
    }

    fn api_key_page(
        &self,
        caller: &Caller,
        cursor: Option<&str>,
        limit: usize,
        now: UnixMillis,
    ) -> Read<'_, ApiKeyPage, PageError> {
        let of_caller = caller.clone();
        let read = move |main: &Connection, before| {
            at_once(api_keys::page(&Db::sqlite(main), &of_caller, before, limit))
        };
        let page = self.page(LIST, &caller.client_id, (cursor, now), read);
        Box::pin(async move {
            let (keys, next_cursor) = page.await?;
            Ok(ApiKeyPage { keys: self.with_exact_uses(keys), next_cursor })
        })
    }

    fn create_api_key(&self, caller: &Caller, key: NewApiKey) -> Write<'_, KeyMade> {
        let (whose, caller, quotas) = (Whose::of(&caller.client_id), caller.clone(), self.quotas);
        self.known_keys.note(*key.value.digest(), key_lane(caller.client_id.as_str()));
        self.writer.submit_for(whose, move |batch| {
            let made = at_once(insert(&Db::sqlite(batch.main), &caller, &key, quotas))?;
            batch.record(&caller, made)
        })
    }

    fn revoke_api_key(&self, caller: &Caller, id: &str, now: UnixMillis) -> Write<'_, KeyRevoked> {
        let (whose, caller, id) = (Whose::of(&caller.client_id), caller.clone(), id.to_owned());
        self.writer.submit_for(whose, move |batch| {
            let revoked = at_once(revoke(&Db::sqlite(batch.main), &caller, &id, now))?;
            batch.record(&caller, revoked)
        })
    }

    fn rotate_api_key(
        &self,
        caller: &Caller,
        id: &str,
        value: KeyValue,
        now: UnixMillis,
    ) -> Write<'_, KeyRotated> {
        let (whose, caller, id) = (Whose::of(&caller.client_id), caller.clone(), id.to_owned());
        self.known_keys.note(*value.digest(), key_lane(caller.client_id.as_str()));
        let rotated = self.writer.submit_for(whose, move |batch| {
            let rotated = at_once(rotate(&Db::sqlite(batch.main), &caller, (&id, &value), now))?;
            batch.record(&caller, rotated)
        });
        Box::pin(async move {
            let mut rotated = rotated.await?;
            if let KeyRotated::Yes(record) = &mut rotated {
                record.last_used_at = self.uses.latest(&record.id, record.last_used_at);
            }
            Ok(rotated)
        })
    }

    fn remove_ended_keys(&self, before: UnixMillis, limit: usize) -> Write<'_, usize> {
        self.writer.submit(move |batch| {
            at_once(api_keys::remove_ended(&Db::sqlite(batch.main), before, limit))
        })
    }
}
