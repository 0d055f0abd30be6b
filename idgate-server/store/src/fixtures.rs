//! A store in a temporary directory, for tests of the layers above it. Clients, keys and trust are
//! created with the operator's functions.

use std::ops::Deref;
use std::sync::Arc;

use idgate_core::shell::Jwk;
use idgate_core::{Session, UnixMillis};
use tempfile::TempDir;

use super::lanes::LaneKey;
use super::wait::Wait as _;
use crate::db::{Db, at_once, sql};
use crate::environment::Environment;
use crate::gateway::Store;
use crate::keys::NewClient;
use crate::operator::OperatorStore;
use crate::quotas::Quotas;
use crate::sqlite::StoreOptions;
use crate::stored_session::Stored;
use crate::trust::TrustChange;
use crate::types::Caller;
use idgate_base::api_key::ApiKey;

/// The key of the issuer `issuer`.
pub const ISSUER_JWK: &str = r#"{"kty":"EC","crv":"P-256","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4","y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"}"#;
/// Earlier than any time in a test.
const LONG_AGO: UnixMillis = UnixMillis(0);

/// A live and a test client, and one issuer, `issuer`, whose legacy form asks for `given_name`.
pub struct TemporaryStore {
    store: Arc<Store>,
    live: NewClient,
    test: NewClient,
    dir: TempDir,
}

impl Default for TemporaryStore {
    fn default() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut operator = OperatorStore::open(dir.path(), None).unwrap();
        let live = operator.create_client("live", true, None, LONG_AGO).unwrap();
        let test = operator.create_client("test", false, None, LONG_AGO).unwrap();
        let options = StoreOptions {
            instance_key: None,
            environment: Environment::Development,
            quotas: Quotas::default(),
        };
        let store = Arc::new(Store::open(dir.path(), options, LONG_AGO).unwrap());
        let store = Self { store, live, test, dir };
        store.trust_key("issuer", ISSUER_JWK);
        store
    }
}

impl Deref for TemporaryStore {
    type Target = Store;

    fn deref(&self) -> &Store {
        &self.store
    }
}

impl TemporaryStore {
    /// The store, as the gateway holds it.
    pub fn shared(&self) -> Arc<Store> {
        self.store.clone()
    }

    /// Trusts an issuer by its JWK.
    pub fn trust_key(&self, issuer_id: &str, jwk: &str) {
        let change = TrustChange {
            claims: Some(vec!["given_name".into()]),
            keys: vec![(Jwk::parse(jwk.as_bytes()).unwrap().key, None)],
            ..TrustChange::default()
        };
        self.operator().add_trust(issuer_id, &change, LONG_AGO).unwrap().unwrap();
    }

    /// The live client, as the owner of its first key.
    pub fn caller(&self) -> Caller {
        self.authenticate(&self.live.api_key.digest(), LONG_AGO).wait().unwrap().unwrap()
    }

    /// A new key of the live client with these scopes, as an `Authorization` header line.
    pub fn bearer(&self, scopes: Option<&[&str]>) -> String {
        let scopes = scopes.map(|list| list.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>());
        let id = &self.live.client_id;
        let made = self.operator().create_key(id, None, scopes.as_deref(), LONG_AGO);
        header(&made.unwrap().unwrap().1)
    }

    /// The key of the test client.
    pub fn test_bearer(&self) -> String {
        header(&self.test.api_key)
    }

    /// A new admin token, as an `Authorization` header line.
    pub fn admin_bearer(&self) -> String {
        let (_, token) = self.operator().create_admin_token(None, LONG_AGO).unwrap();
        format!("Authorization: Bearer {}\r\n", token.expose())
    }

    /// Revokes all keys of the live client, as an operator does from another process.
    pub fn revoke_keys(&self) {
        assert!(self.operator().revoke_client(&self.live.client_id, LONG_AGO).unwrap());
    }

    /// Replaces the gateway's signing key in the way of an operator's command.
    pub fn rotate_gateway_key(&self) {
        self.operator().rotate_gateway_key(LONG_AGO).unwrap();
    }

    /// Blocks all reads of lists until the returned value is dropped.
    pub fn hold_lists(&self) -> Vec<std::sync::mpsc::Sender<()>> {
        let threads = self.store.sqlite().readers.listers();
        let (began, begins) = std::sync::mpsc::channel();
        let hold = |_| {
            let (held, release) = std::sync::mpsc::channel::<()>();
            let began = began.clone();
            let holding = self.store.sqlite().readers.read_long(LaneKey::GATEWAY, move |_| {
                began.send(()).unwrap();
                let _dropped = release.recv();
                Ok(())
            });
            // The task is dropped when its caller stops waiting.
            tokio::spawn(holding);
            held
        };
        let all = (0..threads).map(hold).collect();
        // A thread that is still free would otherwise take another client's turn first.
        begins.iter().take(threads).for_each(drop);
        all
    }

    /// Makes all sessions unreadable.
    pub fn damage_sessions(&self) {
        let main = rusqlite::Connection::open(self.dir.path().join("idgate.db")).unwrap();
        main.execute("UPDATE sessions SET record = x'00'", []).unwrap();
    }

    /// All sessions, including settled ones.
    pub fn sessions(&self) -> Vec<Session> {
        let main = rusqlite::Connection::open(self.dir.path().join("idgate.db")).unwrap();
        let sql = sql("SELECT id, client_id, livemode, record FROM sessions");
        let all = at_once(Db::sqlite(&main).all(sql, &[], Stored::read)).unwrap();
        all.iter().map(|stored| stored.open(&self.store.sqlite().env.sealer).unwrap()).collect()
    }

    fn operator(&self) -> OperatorStore {
        OperatorStore::open(self.dir.path(), None).unwrap()
    }
}

fn header(key: &ApiKey) -> String {
    format!("Authorization: Bearer {}\r\n", key.expose())
}
