//! Operator commands on one client: its keys, its quotas, its name and logo for people, and the
//! origins of its own pages.

use idgate_core::UnixMillis;

use super::{OperatorStore, record_if_possible};
use crate::api_keys::{self, KeyRow};
use crate::audit_append::{append, hold};
use crate::audit_chain::{AuditEvent, AuditKeys, AuditStatus, OPERATOR};
use crate::certificates;
use crate::db::{Db, Row, sql};
use crate::failure::Done;
use crate::keys::{self, ClientRecord, NewClient};
use crate::new_secrets;
use crate::quotas::OwnQuotas;
use crate::sql::{millis, number, unsigned};
use crate::types::{ApiKeyRecord, KeyValue, StoreError};
use idgate_base::api_key::ApiKey;

/// Commands about clients.
impl OperatorStore {
    /// Creates a client with one key. `scopes`: `None` means all.
    ///
    /// # Errors
    /// The database or the random number generator failed.
    pub fn create_client(
        &mut self,
        name: &str,
        livemode: bool,
        scopes: Option<&[String]>,
        now: UnixMillis,
    ) -> Result<NewClient, StoreError> {
        let (client, sealed) = new_secrets::client(livemode, self.sealer())?;
        let record = first_key(&client, scopes, now);
        let value = &KeyValue::of(&client.api_key);
        let id = client.client_id.as_str();
        let keys = self.audit_keys();
        self.change(async |db| {
            let insert =
                sql("INSERT INTO clients (id, name, livemode, signing_secret, created_at) \
                              VALUES ($1, $2, $3, $4, $5)");
            db.run(insert, &[&id, &name, &livemode, &sealed, &millis(now)]).await?;
            add_key(db, keys, &KeyRow { client_id: id, record: &record, value }).await
        })?;
        Ok(client)
    }

    /// All clients, newest first.
    ///
    /// # Errors
    /// The database failed.
    pub fn clients(&self) -> Result<Vec<ClientRecord>, StoreError> {
        self.read(async |db| {
            let sql = sql("SELECT id, name, livemode, created_at, revoked_at, \
                           (SELECT count(*) FROM api_keys WHERE client_id = clients.id \
                           AND api_keys.revoked_at IS NULL) \
                           FROM clients ORDER BY created_at DESC, {seq|rowid} DESC");
            db.all(sql, &[], client_record).await
        })
    }

    /// Revokes a client immediately: all its keys stop working, its certificate ends, and keys that
    /// wait for a certificate and registration certificates are erased. `false`: the client does
    /// not exist.
    ///
    /// # Errors
    /// The database failed. Or the keys were revoked, as the text then says, but the audit log was
    /// altered and cannot be appended to: that must not keep a key active.
    pub fn revoke_client(&mut self, id: &str, now: UnixMillis) -> Result<bool, StoreError> {
        let keys = self.audit_keys();
        let revoked = self.change(async |db| revoke_client(db, keys, id, now).await)?;
        let Some((recorded, ended)) = revoked else { return Ok(false) };
        if ended {
            self.cut_log();
        }
        recorded.map_err(|why| {
            StoreError::Failed(format!("every key of {id} is revoked, but {why}"))
        })?;
        Ok(true)
    }

    /// Creates one more key of a client, without a quota. `scopes`: `None` means all. The result
    /// `None`: the client does not exist or is revoked.
    ///
    /// # Errors
    /// The database or the random number generator failed.
    pub fn create_key(
        &mut self,
        client_id: &str,
        name: Option<&str>,
        scopes: Option<&[String]>,
        now: UnixMillis,
    ) -> Result<Option<(ApiKeyRecord, ApiKey)>, StoreError> {
        let keys = self.audit_keys();
        self.change(async |db| {
            hold(db, keys, client_id).await?;
            let mode = sql("SELECT livemode FROM clients WHERE id = $1 AND revoked_at IS NULL \
                            {FOR SHARE}");
            let livemode = db.one(mode, &[&client_id], |row| row.get(0)).await?;
            let Some(livemode) = livemode else { return Ok(None) };
            let (record, key) = new_secrets::api_key(livemode, name, scopes, now)?;
            let value = &KeyValue::of(&key);
            add_key(db, keys, &KeyRow { client_id, record: &record, value }).await?;
            Ok(Some((record, key)))
        })
    }

    /// All keys of a client, newest first. `None`: the client does not exist.
    ///
    /// # Errors
    /// The database failed.
    pub fn client_keys(&self, client_id: &str) -> Result<Option<Vec<ApiKeyRecord>>, StoreError> {
        self.read(async |db| api_keys::of_client(db, client_id).await)
    }

    /// Revokes a key immediately; if a client is named, only a key of that client. `false`: there
    /// is no such key. Repeating it changes nothing.
    ///
    /// # Errors
    /// The database failed. Or the key was revoked, as the text then says, but the audit log was
    /// altered: that must not keep a key active.
    pub fn revoke_key(
        &mut self,
        client_id: Option<&str>,
        id: &str,
        now: UnixMillis,
    ) -> Result<bool, StoreError> {
        let keys = self.audit_keys();
        let revoked = self.change(async |db| revoke_key(db, keys, client_id, id, now).await)?;
        let Some(recorded) = revoked else { return Ok(false) };
        recorded.map_err(|why| StoreError::Failed(format!("{id} is revoked, but {why}")))?;
        Ok(true)
    }

    /// Changes a client. `false`: no client has that id.
    ///
    /// # Errors
    /// The database failed.
    pub fn set_client(&mut self, id: &str, change: &ClientChange) -> Result<bool, StoreError> {
        let (logo, most) = (change.logo.as_ref(), change.max_keys.flatten().map(number));
        let (bytes, media_type) = (logo.map(|it| &it.bytes), logo.map(|it| it.media_type));
        let most_open = change.max_open_sessions.flatten().map(number);
        let (sets_keys, sets_open) =
            (change.max_keys.is_some(), change.max_open_sessions.is_some());
        let found = self.change(async |db| {
            let sql =
                sql("UPDATE clients SET name = coalesce($2, name), logo = coalesce($3, logo), \
                 logo_type = coalesce($4, logo_type), \
                 max_keys = CASE WHEN $5 THEN $6 ELSE max_keys END, \
                 max_open_sessions = CASE WHEN $7 THEN $8 ELSE max_open_sessions END \
                 WHERE id = $1");
            let name = &change.name;
            let found = db
                .run(
                    sql,
                    &[&id, name, &bytes, &media_type, &sets_keys, &most, &sets_open, &most_open],
                )
                .await?;
            set_face(db, id, change).await?;
            Ok(found)
        })?;
        Ok(found > 0)
    }

    /// The settings of a client. `None`: no client has that id.
    ///
    /// # Errors
    /// The database failed.
    pub fn client_settings(&self, id: &str) -> Result<Option<ClientSettings>, StoreError> {
        self.read(async |db| {
            let sql = sql(
                "SELECT name, logo_type, max_keys, max_open_sessions, accent, privacy_url, help_url \
                 FROM clients WHERE id = $1",
            );
            let found = db.one(sql, &[&id], ClientSettings::read).await?;
            let Some(settings) = found else { return Ok(None) };
            Ok(Some(ClientSettings { origins: keys::origins(db, id).await?, ..settings }))
        })
    }

    /// Adds an origin of a client's own pages. `false`: the client has it already. The client must
    /// exist.
    ///
    /// # Errors
    /// The database failed.
    pub fn add_origin(
        &mut self,
        client_id: &str,
        origin: &str,
        now: UnixMillis,
    ) -> Result<bool, StoreError> {
        let added = self.change(async |db| {
            let sql = sql("INSERT INTO client_origins (client_id, origin, added_at) \
                           VALUES ($1, $2, $3) ON CONFLICT DO NOTHING");
            db.run(sql, &[&client_id, &origin, &millis(now)]).await
        })?;
        Ok(added > 0)
    }

    /// Removes an origin. `false`: the client does not have it.
    ///
    /// # Errors
    /// The database failed.
    pub fn remove_origin(&mut self, client_id: &str, origin: &str) -> Result<bool, StoreError> {
        let removed = self.change(async |db| {
            let sql = sql("DELETE FROM client_origins WHERE client_id = $1 AND origin = $2");
            db.run(sql, &[&client_id, &origin]).await
        })?;
        Ok(removed > 0)
    }
}

/// A picture that is shown to people.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Logo {
    /// Its media type.
    pub media_type: &'static str,
    /// The file.
    pub bytes: Vec<u8>,
}

/// Changes to a client. `None`: the value stays.
#[derive(Clone, Debug, Default)]
pub struct ClientChange {
    /// Its name.
    pub name: Option<String>,
    /// Its logo.
    pub logo: Option<Logo>,
    /// The colour of its pages, `#rrggbb`. `Some(None)`: the default.
    pub accent: Option<Option<String>>,
    /// The privacy link of its pages. `Some(None)`: the operator's.
    pub privacy_url: Option<Option<String>>,
    /// The help link of its pages. `Some(None)`: the operator's.
    pub help_url: Option<Option<String>>,
    /// How many active keys it may have. `Some(None)`: the default.
    pub max_keys: Option<Option<u64>>,
    /// How many open sessions it may have. `Some(None)`: the default.
    pub max_open_sessions: Option<Option<u64>>,
}

/// The operator's settings for a client.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ClientSettings {
    /// Its name.
    pub name: String,
    /// The media type of its logo.
    pub logo_type: Option<String>,
    /// The colour of its pages.
    pub accent: Option<String>,
    /// The privacy link of its pages.
    pub privacy_url: Option<String>,
    /// The help link of its pages.
    pub help_url: Option<String>,
    /// Its own quotas.
    pub quotas: OwnQuotas,
    /// The origins of its own pages, in alphabetical order.
    pub origins: Vec<String>,
}

impl ClientSettings {
    /// Reads everything but the origins.
    fn read(row: &Row<'_>) -> Done<Self> {
        let quota = |at| -> Done<_> { Ok(row.get::<Option<i64>>(at)?.map(unsigned)) };
        Ok(Self {
            name: row.get(0)?,
            logo_type: row.get(1)?,
            accent: row.get(4)?,
            privacy_url: row.get(5)?,
            help_url: row.get(6)?,
            quotas: OwnQuotas { keys: quota(2)?, open_sessions: quota(3)? },
            origins: Vec::new(),
        })
    }
}

/// Sets how the pages of a client look, and their links.
async fn set_face(db: &Db<'_>, id: &str, change: &ClientChange) -> Done<()> {
    let sql = sql("UPDATE clients SET accent = CASE WHEN $2 THEN $3 ELSE accent END, \
                   privacy_url = CASE WHEN $4 THEN $5 ELSE privacy_url END, \
                   help_url = CASE WHEN $6 THEN $7 ELSE help_url END WHERE id = $1");
    let [accent, privacy, help] =
        [&change.accent, &change.privacy_url, &change.help_url].map(|one| one.clone().flatten());
    let sets = [&change.accent, &change.privacy_url, &change.help_url].map(Option::is_some);
    if sets.contains(&true) {
        let [sets_accent, sets_privacy, sets_help] = sets;
        db.run(sql, &[&id, &sets_accent, &accent, &sets_privacy, &privacy, &sets_help, &help])
            .await?;
    }
    Ok(())
}

fn client_record(row: &Row<'_>) -> Done<ClientRecord> {
    Ok(ClientRecord {
        id: row.get(0)?,
        name: row.get(1)?,
        livemode: row.get(2)?,
        created_at: row.time(3)?,
        revoked_at: row.time_if_any(4)?,
        keys: unsigned(row.get(5)?),
    })
}

/// The row of a client's first key.
fn first_key(client: &NewClient, scopes: Option<&[String]>, now: UnixMillis) -> ApiKeyRecord {
    ApiKeyRecord {
        id: client.key_id.clone(),
        name: None,
        scopes: scopes.map(<[String]>::to_vec),
        revoked: false,
        livemode: client.livemode,
        created_at: now,
        expires_at: None,
        last_used_at: None,
    }
}

async fn add_key(db: &Db<'_>, keys: &AuditKeys, key: &KeyRow<'_>) -> Done<()> {
    api_keys::insert_row(db, key).await?;
    let event = AuditEvent::of_client(AuditStatus::ApiKeyCreated, key.record.created_at)
        .about_key(&key.record.id)
        .with_scopes(key.record.scopes.as_deref());
    append(db, keys, key.client_id, event.by(OPERATOR)).await
}

/// `None`: the client does not exist. Otherwise, whether the revocation could be recorded, and
/// whether a certificate ended.
async fn revoke_client(
    db: &Db<'_>,
    keys: &AuditKeys,
    id: &str,
    now: UnixMillis,
) -> Done<Option<(Result<(), String>, bool)>> {
    wait_for_chain(db, id).await?;
    // A transaction that creates a session holds a lock on the client and then waits for the chain.
    let found = sql("SELECT revoked_at IS NULL FROM clients WHERE id = $1 {FOR NO KEY UPDATE}");
    let Some(is_new) = db.one(found, &[&id], |row| row.get::<bool>(0)).await? else {
        return Ok(None);
    };
    let stop = sql("UPDATE clients SET revoked_at = coalesce(revoked_at, $2) WHERE id = $1");
    db.run(stop, &[&id, &millis(now)]).await?;
    let stop = sql("UPDATE api_keys SET revoked_at = $2 WHERE client_id = $1 \
                    AND revoked_at IS NULL RETURNING id");
    let stopped = db.all(stop, &[&id, &millis(now)], |row| row.get::<String>(0)).await?;
    let event = |key: &String| {
        AuditEvent::of_client(AuditStatus::ApiKeyRevoked, now).about_key(key).by(OPERATOR)
    };
    let mut events: Vec<AuditEvent> = stopped.iter().map(event).collect();
    let ended = certificates::end(db, id, now).await?;
    if is_new {
        let open = sql("SELECT count FROM open_sessions WHERE client_id = $1");
        let open = db.one(open, &[&id], |row| row.get::<i64>(0)).await?.unwrap_or(0);
        let event = AuditEvent::of_client(AuditStatus::ClientRevoked, now).by(OPERATOR);
        events.push(event.with_open_sessions(unsigned(open)));
    }
    Ok(Some((record_if_possible(db, keys, id, events).await?, ended)))
}

/// A change of a client's keys first locks the head of its chain. It does so even if the chain was
/// altered, because that must not keep a key active.
async fn wait_for_chain(db: &Db<'_>, client_id: &str) -> Done<()> {
    let sql = sql("SELECT seq FROM audit_heads WHERE client_id = $1 {FOR UPDATE}");
    db.one(sql, &[&client_id], |_| Ok(())).await.map(drop)
}

/// `None`: there is no such key. Otherwise, whether the revocation could be recorded.
async fn revoke_key(
    db: &Db<'_>,
    keys: &AuditKeys,
    client_id: Option<&str>,
    id: &str,
    now: UnixMillis,
) -> Done<Option<Result<(), String>>> {
    let owner =
        sql("SELECT client_id FROM api_keys WHERE id = $1 AND client_id = coalesce($2, client_id)");
    let owner = db.one(owner, &[&id, &client_id], |row| row.get::<String>(0)).await?;
    let Some(owner) = owner else { return Ok(None) };
    wait_for_chain(db, &owner).await?;
    let stop = sql("UPDATE api_keys SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL");
    if db.run(stop, &[&id, &millis(now)]).await? == 0 {
        return Ok(Some(Ok(())));
    }
    let event = AuditEvent::of_client(AuditStatus::ApiKeyRevoked, now).about_key(id).by(OPERATOR);
    record_if_possible(db, keys, &owner, [event]).await.map(Some)
}
