//! Runs the cases on PostgreSQL: one temporary cluster for all tests of a process, and a database
//! for each test. Without PostgreSQL on the machine the tests say so and check nothing.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use tokio_postgres::NoTls;

use super::*;
use crate::address::Address;
use crate::environment::Environment;
use crate::postgres::PostgresStore;
use crate::postgres::{Threads, migrate_at};
use crate::quotas::Quotas;
use crate::seal::InstanceKey;
use crate::tests::cluster::{Cluster, SOCKET};
use idgate_base::clock::VirtualClock;

/// The template of all test databases.
const TEMPLATE: &str = "idgate_template";

/// The server of this process. `None`: this machine has no PostgreSQL.
static SERVER: LazyLock<Option<Server>> = LazyLock::new(Server::start);

/// The cluster of this process, with the template database.
struct Server {
    cluster: Cluster,
    threads: Threads,
    databases: AtomicUsize,
}

impl Server {
    fn start() -> Option<Self> {
        let (cluster, threads) = (Cluster::start()?, Threads::start(1).unwrap());
        cluster.create(TEMPLATE, "template1");
        let server = Self { cluster, threads, databases: AtomicUsize::new(0) };
        migrate_at(&server.threads, &server.address(TEMPLATE)).unwrap();
        Some(server)
    }

    fn address(&self, database: &str) -> Address {
        Address::parse(&self.cluster.url(database)).unwrap()
    }

    fn dir(&self) -> PathBuf {
        self.cluster.dir().to_owned()
    }

    fn run(&self, database: &str, sql: &str) {
        let (dir, database, sql) = (self.dir(), database.to_owned(), sql.to_owned());
        let ran = self.threads.wait(async move {
            let ran = connect(dir, &database).await.batch_execute(&sql).await;
            ran.map_err(|error| StoreError::Failed(format!("{sql}: {error:?}")))
        });
        ran.unwrap();
    }

    fn ask(&self, database: &str, sql: &str) -> String {
        let (dir, database, sql) = (self.dir(), database.to_owned(), sql.to_owned());
        let asked = self.threads.wait(async move {
            let answer = connect(dir, &database).await.simple_query(&sql).await.unwrap();
            Ok(answer.iter().find_map(|message| match message {
                tokio_postgres::SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
                _ => None,
            }))
        });
        asked.unwrap().unwrap()
    }
}

async fn connect(dir: PathBuf, database: &str) -> tokio_postgres::Client {
    let mut config = tokio_postgres::Config::new();
    config.host_path(dir).user("idgate").dbname(database);
    let (client, connection) = config.connect(NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

fn options<'o>(
    address: &'o Address,
    instance_key: &'o InstanceKey,
    migrates: bool,
) -> PostgresOptions<'o> {
    let (environment, quotas) = (Environment::Development, Quotas::default());
    PostgresOptions { address, instance_key, environment, quotas, migrates }
}

/// Holds a transaction open.
pub(crate) struct Held(#[allow(dead_code)] tokio_postgres::Client);

/// A database.
pub(crate) struct PostgresDatabase {
    server: &'static Server,
    name: String,
    pub(crate) key: InstanceKey,
}

impl PostgresDatabase {
    pub(crate) fn address(&self) -> Address {
        self.server.address(&self.name)
    }

    /// A gateway with this key, on the virtual clock.
    pub(crate) fn open_with(&self, key: &InstanceKey, migrates: bool) -> Result<Store, StoreError> {
        PostgresStore::open_at(options(&self.address(), key, migrates), NOW).map(Store::from)
    }

    /// A gateway whose database is at that port of this machine. Only `clock` decides that
    /// something takes too long.
    pub(crate) fn open_through(&self, port: u16, clock: &VirtualClock) -> Store {
        let address = format!("postgres://idgate@127.0.0.1:{port}/{}", self.name);
        self.open_waiting_by(clock, &Address::parse(&address).unwrap())
    }

    /// The same for a database at this address.
    pub(crate) fn open_waiting_by(&self, clock: &VirtualClock, address: &Address) -> Store {
        let (clock, options) = (Arc::new(clock.clone()), options(address, &self.key, false));
        PostgresStore::open_waiting_by(clock, options, NOW).unwrap().into()
    }

    /// The server's socket.
    pub(crate) fn socket(&self) -> PathBuf {
        self.server.dir().join(SOCKET)
    }

    /// A gateway that uses the database's clock for the expiry of results, as every gateway does
    /// except in tests.
    pub(crate) fn open_by_its_clock(&self) -> Store {
        Store::connect(options(&self.address(), &self.key, false), NOW).unwrap()
    }

    pub(crate) fn run(&self, sql: &str) {
        self.server.run(&self.name, sql);
    }

    /// How many sessions wait for a lock.
    pub(crate) fn waiting(&self) -> usize {
        let sql = "SELECT count(*) FROM pg_stat_activity \
                   WHERE wait_event_type = 'Lock' AND datname = current_database()";
        self.ask(sql).parse().unwrap()
    }

    /// The first column of the first row.
    pub(crate) fn ask(&self, sql: &str) -> String {
        self.server.ask(&self.name, sql)
    }

    /// How many parameters and columns a statement has.
    pub(crate) fn prepare(&self, sql: &str) -> Result<(usize, usize), String> {
        let (dir, name, sql) = (self.server.dir(), self.name.clone(), sql.to_owned());
        let prepared = self.server.threads.wait(async move {
            let prepared = connect(dir, &name).await.prepare(&sql).await;
            Ok(prepared.map(|it| (it.params().len(), it.columns().len())))
        });
        prepared.unwrap().map_err(|error| format!("{error:?}"))
    }

    /// A reader whose transaction stays open until this value is dropped.
    pub(crate) fn hold(&self, sql: &str) -> Held {
        let (dir, name, sql) = (self.server.dir(), self.name.clone(), sql.to_owned());
        let held = self.server.threads.wait(async move {
            let client = connect(dir, &name).await;
            client.batch_execute(&format!("BEGIN; {sql}")).await.unwrap();
            Ok(client)
        });
        Held(held.unwrap())
    }

    /// Whether these bytes are in the write-ahead log.
    pub(crate) fn logs(&self, needle: &[u8]) -> bool {
        holds(&self.server.dir().join("data/pg_wal"), needle)
    }
}

impl Drop for PostgresDatabase {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let drop = format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name);
            self.server.run("postgres", &drop);
        }
    }
}

impl Backend for PostgresDatabase {
    fn is_there() -> bool {
        SERVER.is_some()
    }

    fn new() -> Self {
        let server = SERVER.as_ref().unwrap();
        let name = format!("idgate_{}", server.databases.fetch_add(1, Ordering::Relaxed));
        let made = format!("CREATE DATABASE {name} TEMPLATE {TEMPLATE} STRATEGY file_copy");
        server.run("postgres", &made);
        Self { server, name, key: InstanceKey::generate().unwrap() }
    }

    fn open(&self, now: UnixMillis) -> Store {
        // Tests create databases at the same time on busy machines, so a connection may take a
        // while.
        let open = || {
            PostgresStore::open_at(options(&self.address(), &self.key, false), now).map(Store::from)
        };
        let again = |_| match open() {
            Err(StoreError::Unavailable(_)) => None,
            opened => Some(opened.unwrap()),
        };
        (0..3).find_map(again).unwrap_or_else(|| open().unwrap())
    }

    fn operator(&self) -> Box<OperatorStore> {
        Box::new(OperatorStore::connect(&self.address(), &self.key).unwrap())
    }

    fn damage(&self, what: Damage<'_>) {
        let (table, change, id) = match what {
            Damage::Session(id) => ("sessions", "record = '\\x00' WHERE id", id),
            Damage::AuditHead(id) => ("audit_heads", "mac = sha256('') WHERE client_id", id),
        };
        self.run(&format!("UPDATE {table} SET {change} = '{id}'"));
    }

    fn holds(&self, needle: &[u8]) -> bool {
        self.run("CHECKPOINT");
        let database = self.ask("SELECT pg_relation_filepath('sessions')");
        let database = self.server.dir().join("data").join(database);
        holds(database.parent().unwrap(), needle) || self.logs(needle)
    }
}

/// Whether a file below `folder` contains these bytes.
fn holds(folder: &Path, needle: &[u8]) -> bool {
    let Ok(entries) = std::fs::read_dir(folder) else { return false };
    entries.flatten().any(|entry| {
        let path = entry.path();
        if path.is_dir() {
            return holds(&path, needle);
        }
        // A file may be gone because another test has just dropped its database.
        let bytes = std::fs::read(&path).unwrap_or_default();
        contains(&bytes, needle)
    })
}

fn contains(bytes: &[u8], needle: &[u8]) -> bool {
    let Some((first, _)) = needle.split_first() else { return true };
    let starts = bytes.iter().enumerate().filter(|(_, byte)| *byte == first);
    starts.into_iter().any(|(at, _)| bytes[at..].starts_with(needle))
}

conforms!(PostgresDatabase);
