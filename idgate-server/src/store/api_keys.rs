//! The keys of a client, as the client itself manages them.

use idgate_core::time::UnixMillis;
use rusqlite::{Connection, OptionalExtension as _, Row, named_params};
use serde_json::json;

use super::sqlite::SqliteStore;
use super::writer::Batch;
use super::{Caller, StoreError, Write, keys, millis, time};
use crate::api_key::ApiKey;
use crate::audit::{AuditEvent, AuditStatus};

/// What a client does with its keys.
pub trait ApiKeyStore {
    /// The keys of this client and mode, newest first, revoked ones included. `last_used_at` is
    /// exact.
    fn api_keys(&self, caller: &Caller) -> Result<Vec<ApiKeyRecord>, StoreError>;

    /// Adds a key. `false`: the caller's own key, or its client, was revoked meanwhile; nothing is
    /// stored.
    fn create_api_key(&self, caller: &Caller, key: NewApiKey) -> Write<'_, bool>;

    /// Stops a key at once; doing it again changes nothing. `false`: this client has none of that
    /// id.
    fn revoke_api_key(&self, caller: &Caller, id: &str, now: UnixMillis) -> Write<'_, bool>;

    /// Gives a key another value; the old one dies in the same transaction. `None`: this client
    /// has no good key of that id, or the caller's own was revoked meanwhile.
    fn rotate_api_key(
        &self,
        caller: &Caller,
        id: &str,
        value: KeyValue,
        now: UnixMillis,
    ) -> Write<'_, Option<ApiKeyRecord>>;
}

/// A key as its client sees it (specification 2).
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ApiKeyRecord {
    /// `key_…`
    pub id: String,
    /// What the client calls it.
    pub name: Option<String>,
    /// `None`: all.
    pub scopes: Option<Vec<String>>,
    /// Whether it is stopped for good.
    pub revoked: bool,
    /// Its mode.
    pub livemode: bool,
    /// When it was made.
    pub created_at: UnixMillis,
    /// From when on it is no good; `None`: never.
    pub expires_at: Option<UnixMillis>,
    /// The latest successful authentication.
    pub last_used_at: Option<UnixMillis>,
}

/// A key to be stored.
#[derive(Clone, Debug)]
pub struct NewApiKey {
    /// What the client will see of it.
    pub record: ApiKeyRecord,
    /// What is kept of its text.
    pub value: KeyValue,
}

/// What is kept of a key's text.
#[derive(Clone)]
pub struct KeyValue {
    digest: [u8; 32],
    hint: String,
}

impl KeyValue {
    /// Of this key.
    pub fn of(key: &ApiKey) -> Self {
        Self { digest: key.digest(), hint: key.hint().to_owned() }
    }

    /// Its SHA-256.
    pub fn digest(&self) -> &[u8; 32] {
        &self.digest
    }
}

impl std::fmt::Debug for KeyValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("KeyValue(***)")
    }
}

impl ApiKeyStore for SqliteStore {
    fn api_keys(&self, caller: &Caller) -> Result<Vec<ApiKeyRecord>, StoreError> {
        let mut records = self.readers.read(|reader| list(&reader.main, caller))?;
        for record in &mut records {
            record.last_used_at = self.uses.latest(&record.id, record.last_used_at);
        }
        Ok(records)
    }

    fn create_api_key(&self, caller: &Caller, key: NewApiKey) -> Write<'_, bool> {
        let caller = caller.clone();
        self.writer.submit(move |batch| insert(batch, &caller, &key))
    }

    fn revoke_api_key(&self, caller: &Caller, id: &str, now: UnixMillis) -> Write<'_, bool> {
        let (caller, id) = (caller.clone(), id.to_owned());
        self.writer.submit(move |batch| revoke(batch, &caller, &id, now))
    }

    fn rotate_api_key(
        &self,
        caller: &Caller,
        id: &str,
        value: KeyValue,
        now: UnixMillis,
    ) -> Write<'_, Option<ApiKeyRecord>> {
        let (caller, id) = (caller.clone(), id.to_owned());
        let rotated = self.writer.submit(move |batch| rotate(batch, &caller, &id, &value, now));
        Box::pin(async move {
            let mut record = rotated.await?;
            if let Some(record) = &mut record {
                record.last_used_at = self.uses.latest(&record.id, record.last_used_at);
            }
            Ok(record)
        })
    }
}

const COLUMNS: &str =
    "id, name, scopes, revoked_at IS NOT NULL, livemode, created_at, expires_at, last_used_at";

fn list(main: &Connection, caller: &Caller) -> Result<Vec<ApiKeyRecord>, StoreError> {
    let mut statement = main.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM api_keys WHERE client_id = ?1 AND livemode = ?2 \
         ORDER BY created_at DESC, rowid DESC"
    ))?;
    let rows =
        statement.query_map((caller.client_id.as_str(), caller.livemode), |row| Ok(record(row)))?;
    rows.map(|row| row?).collect()
}

/// The caller was authenticated before this transaction: a key that was revoked in between must not
/// leave another behind.
fn insert(batch: &mut Batch<'_>, caller: &Caller, key: &NewApiKey) -> Result<bool, StoreError> {
    let record = &key.record;
    let inserted = batch
        .main
        .prepare_cached(
            "INSERT INTO api_keys (id, client_id, digest, hint, name, scopes, livemode, \
             created_at, expires_at) \
             SELECT :id, k.client_id, :digest, :hint, :name, :scopes, k.livemode, :created_at, \
             :expires_at FROM api_keys AS k JOIN clients AS c ON c.id = k.client_id \
             WHERE k.id = :caller AND k.revoked_at IS NULL AND c.revoked_at IS NULL",
        )?
        .execute(named_params! {
            ":id": record.id,
            ":digest": key.value.digest,
            ":hint": key.value.hint,
            ":name": record.name,
            ":scopes": record.scopes.as_ref().map(|scopes| json!(scopes).to_string()),
            ":created_at": millis(record.created_at),
            ":expires_at": record.expires_at.map(millis),
            ":caller": caller.key_id,
        })?;
    if inserted > 0 {
        record_change(batch, caller, AuditStatus::ApiKeyCreated, record.created_at)?;
    }
    Ok(inserted > 0)
}

fn revoke(
    batch: &mut Batch<'_>,
    caller: &Caller,
    id: &str,
    now: UnixMillis,
) -> Result<bool, StoreError> {
    let owner = (id, caller.client_id.as_str(), caller.livemode);
    let revoked: Option<bool> = batch
        .main
        .prepare_cached(
            "SELECT revoked_at IS NOT NULL FROM api_keys \
             WHERE id = ?1 AND client_id = ?2 AND livemode = ?3",
        )?
        .query_row(owner, |row| row.get(0))
        .optional()?;
    if revoked == Some(false) {
        batch
            .main
            .prepare_cached("UPDATE api_keys SET revoked_at = ?2 WHERE id = ?1")?
            .execute((id, millis(now)))?;
        record_change(batch, caller, AuditStatus::ApiKeyRevoked, now)?;
    }
    Ok(revoked.is_some())
}

fn rotate(
    batch: &mut Batch<'_>,
    caller: &Caller,
    id: &str,
    value: &KeyValue,
    now: UnixMillis,
) -> Result<Option<ApiKeyRecord>, StoreError> {
    if !keys::is_in_force(batch.main, caller)? {
        return Ok(None);
    }
    let rotated = batch
        .main
        .prepare_cached(&format!(
            "UPDATE api_keys SET digest = :digest, hint = :hint \
             WHERE id = :id AND client_id = :client_id AND livemode = :livemode \
             AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > :now) \
             AND EXISTS (SELECT 1 FROM clients \
                         WHERE clients.id = api_keys.client_id AND revoked_at IS NULL) \
             RETURNING {COLUMNS}"
        ))?
        .query_row(
            named_params! {
                ":digest": value.digest,
                ":hint": value.hint,
                ":id": id,
                ":client_id": caller.client_id.as_str(),
                ":livemode": caller.livemode,
                ":now": millis(now),
            },
            |row| Ok(record(row)),
        )
        .optional()?;
    if rotated.is_some() {
        record_change(batch, caller, AuditStatus::ApiKeyRotated, now)?;
    }
    rotated.transpose()
}

fn record_change(
    batch: &mut Batch<'_>,
    caller: &Caller,
    status: AuditStatus,
    now: UnixMillis,
) -> Result<(), StoreError> {
    batch.audit(caller.client_id.as_str(), AuditEvent::of_client(status, now))
}

/// A row of [`COLUMNS`].
fn record(row: &Row<'_>) -> Result<ApiKeyRecord, StoreError> {
    let id: String = row.get(0)?;
    let scopes: Option<String> = row.get(2)?;
    let scopes = scopes.map(|scopes| serde_json::from_str(&scopes)).transpose();
    let unreadable = |_| StoreError::Failed(format!("the scopes of {id} cannot be read"));
    Ok(ApiKeyRecord {
        name: row.get(1)?,
        scopes: scopes.map_err(unreadable)?,
        revoked: row.get(3)?,
        livemode: row.get(4)?,
        created_at: time(row.get(5)?),
        expires_at: row.get::<_, Option<i64>>(6)?.map(time),
        last_used_at: row.get::<_, Option<i64>>(7)?.map(time),
        id,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use idgate_core::webhook::SigningSecret;

    use super::*;
    use crate::config::Environment;
    use crate::entropy::OsEntropy;
    use crate::store::{
        AuditStore as _, EndpointStore as _, EndpointWish, OperatorStore, Store as _, StoreOptions,
    };

    const NOW: UnixMillis = UnixMillis(1_790_000_000_000);

    struct Fixture {
        dir: tempfile::TempDir,
        store: Option<SqliteStore>,
        key: ApiKey,
        caller: Caller,
    }

    impl Fixture {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let mut operator = OperatorStore::open(dir.path(), None).unwrap();
            let client = operator.create_client("shop", true, None, NOW).unwrap();
            let store = open(&dir, NOW);
            let caller = store.authenticate(&client.api_key.digest(), NOW).unwrap().unwrap();
            Self { dir, store: Some(store), key: client.api_key, caller }
        }

        fn store(&self) -> &SqliteStore {
            self.store.as_ref().unwrap()
        }

        fn works(&self, key: &ApiKey, now: UnixMillis) -> bool {
            self.store().authenticate(&key.digest(), now).unwrap().is_some()
        }

        fn stored_use(&self) -> Option<UnixMillis> {
            let main = Connection::open(self.dir.path().join("idgate.db")).unwrap();
            let at = main.query_row(
                "SELECT last_used_at FROM api_keys WHERE id = ?1",
                [&self.caller.key_id],
                |row| row.get::<_, Option<i64>>(0),
            );
            at.unwrap().map(time)
        }
    }

    fn open(dir: &tempfile::TempDir, now: UnixMillis) -> SqliteStore {
        let options = StoreOptions { instance_key: None, environment: Environment::Development };
        SqliteStore::open(dir.path(), options, now).unwrap()
    }

    fn new_key(id: &str, expires_at: Option<UnixMillis>) -> (ApiKey, NewApiKey) {
        let key = ApiKey::generate(true, &mut OsEntropy).unwrap();
        let record = ApiKeyRecord {
            id: id.into(),
            name: Some("n".into()),
            scopes: Some(vec!["session:read".into()]),
            revoked: false,
            livemode: true,
            created_at: NOW,
            expires_at,
            last_used_at: None,
        };
        let value = KeyValue::of(&key);
        (key, NewApiKey { record, value })
    }

    #[tokio::test]
    async fn rotation_changes_the_value_and_nothing_else() {
        let fixture = Fixture::new();
        let (old, new) = new_key("key_b", Some(NOW.plus(1000)));
        let record = new.record.clone();
        assert!(fixture.store().create_api_key(&fixture.caller, new).await.unwrap());
        let next = ApiKey::generate(true, &mut OsEntropy).unwrap();
        let rotate = |id: &'static str, now| {
            fixture.store().rotate_api_key(&fixture.caller, id, KeyValue::of(&next), now)
        };
        assert_eq!(rotate("key_b", NOW).await.unwrap(), Some(record));
        assert!(fixture.works(&next, NOW) && !fixture.works(&old, NOW));
        assert_eq!(rotate("key_b", NOW.plus(1000)).await.unwrap(), None, "expired");
        assert_eq!(rotate("key_none", NOW).await.unwrap(), None);
        fixture.store().revoke_api_key(&fixture.caller, "key_b", NOW).await.unwrap();
        assert_eq!(rotate("key_b", NOW).await.unwrap(), None, "revoked");
        // What changed something is in the audit log, in order, and nothing else is.
        fixture.store().revoke_api_key(&fixture.caller, "key_b", NOW).await.unwrap();
        let page = fixture.store().audit_page(&fixture.caller, None, 10, NOW).unwrap();
        let entries = page.entries.into_iter().filter_map(|listed| listed.entry);
        let statuses: Vec<String> = entries.map(|entry| entry.status).collect();
        let want = ["API_KEY_REVOKED", "API_KEY_ROTATED", "API_KEY_CREATED", "API_KEY_CREATED"];
        assert_eq!(statuses, want);
    }

    #[tokio::test]
    async fn a_revoked_caller_leaves_no_key_behind() {
        let fixture = Fixture::new();
        let id = fixture.caller.key_id.clone();
        assert!(fixture.store().revoke_api_key(&fixture.caller, &id, NOW).await.unwrap());
        let (key, new) = new_key("key_b", None);
        assert!(!fixture.store().create_api_key(&fixture.caller, new).await.unwrap());
        assert!(!fixture.works(&key, NOW) && !fixture.works(&fixture.key, NOW));
    }

    #[tokio::test]
    async fn a_revoked_caller_takes_over_no_key_and_no_endpoint() {
        let fixture = Fixture::new();
        let store = fixture.store();
        let (other, new) = new_key("key_b", None);
        assert!(store.create_api_key(&fixture.caller, new).await.unwrap());
        let own = fixture.caller.key_id.clone();
        assert!(store.revoke_api_key(&fixture.caller, &own, NOW).await.unwrap());
        // Both were authenticated before, and arrive now.
        let next = ApiKey::generate(true, &mut OsEntropy).unwrap();
        let rotated = store.rotate_api_key(&fixture.caller, "key_b", KeyValue::of(&next), NOW);
        assert_eq!(rotated.await.unwrap(), None);
        assert!(fixture.works(&other, NOW) && !fixture.works(&next, NOW));
        let wish = EndpointWish {
            url: "https://elsewhere.example/".into(),
            host: "elsewhere.example".into(),
            secret: None,
            fresh: SigningSecret::new("a secret of some length").unwrap(),
        };
        assert!(store.put_webhook_endpoint(&fixture.caller, wish, NOW).await.unwrap().is_none());
        assert!(store.webhook_endpoint(&fixture.caller).unwrap().is_none());
    }

    #[tokio::test]
    async fn the_last_use_is_exact_in_answers_and_survives_an_orderly_end() {
        let mut fixture = Fixture::new();
        let shown =
            |fixture: &Fixture| fixture.store().api_keys(&fixture.caller).unwrap()[0].last_used_at;
        fixture.store().probe().await.unwrap();
        assert_eq!(fixture.stored_use(), Some(NOW));
        assert!(fixture.works(&fixture.key, NOW.plus(59_999)));
        fixture.store().probe().await.unwrap();
        assert_eq!(fixture.stored_use(), Some(NOW));
        assert_eq!(shown(&fixture), Some(NOW.plus(59_999)));
        fixture.store = None;
        assert_eq!(fixture.stored_use(), Some(NOW.plus(59_999)));
        fixture.store = Some(open(&fixture.dir, NOW));
        assert_eq!(shown(&fixture), Some(NOW.plus(59_999)));
    }
}
