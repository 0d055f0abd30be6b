//! The store in PostgreSQL conforms: one temporary cluster for all tests of a process, a database of its
//! own for each. Where there is no PostgreSQL, the tests say so and show nothing.

use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio_postgres::NoTls;

use super::*;
use crate::config::{Address, Environment, Quotas};
use crate::seal::InstanceKey;
use crate::store::postgres::{Threads, migrate_at};

/// The server of this process; `None`: this machine has no PostgreSQL.
static CLUSTER: LazyLock<Option<Cluster>> = LazyLock::new(Cluster::start);

/// A server that ends with this process.
struct Cluster {
    dir: PathBuf,
    threads: Threads,
    databases: AtomicUsize,
    /// Its end ends the server.
    _lifeline: std::process::ChildStdin,
}

/// Waits for the end of whoever started it, which closes its input.
const GUARD: &str = r#"
"$1/initdb" -D "$2/data" -U idgate -A trust -E UTF8 --locale=C --no-sync \
    --wal-segsize=1 >"$2/initdb.log" 2>&1 || exit 1
"$1/pg_ctl" -D "$2/data" -w -l "$2/log" -o "-k $2 -c listen_addresses='' -c fsync=off \
    -c max_connections=300 -c shared_buffers=64MB -c max_wal_size=32MB" start >/dev/null 2>&1 || exit 1
echo ready
read -r _
"$1/pg_ctl" -D "$2/data" -m immediate stop >/dev/null 2>&1
rm -rf "$2"
"#;

impl Cluster {
    fn start() -> Option<Self> {
        let Some(tools) = tools() else {
            eprintln!("skipped: this machine has no PostgreSQL (initdb was not found)");
            return None;
        };
        let dir = tempfile::Builder::new().prefix("idgate-pg-").tempdir().unwrap().keep();
        let mut command = Command::new("sh");
        if rustix::process::geteuid().is_root() {
            // It does not run as root.
            chown(&dir, Some(65534), Some(65534)).unwrap();
            command = Command::new("setpriv");
            command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "sh"]);
        }
        command.args(["-c", GUARD, "guard"]).arg(tools).arg(&dir).current_dir("/");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut said = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut said).unwrap();
        assert_eq!(
            said,
            "ready\n",
            "{}",
            std::fs::read_to_string(dir.join("log")).unwrap_or_default()
        );
        let lifeline = child.stdin.take().unwrap();
        // Left alone: it ends after this process.
        drop(child);
        let threads = Threads::start(1).unwrap();
        let (databases, _lifeline) = (AtomicUsize::new(0), lifeline);
        let cluster = Self { dir, threads, databases, _lifeline };
        cluster.run("postgres", "CREATE DATABASE idgate_template");
        migrate_at(&cluster.threads, &cluster.address("idgate_template")).unwrap();
        Some(cluster)
    }

    fn address(&self, database: &str) -> Address {
        let host = self.dir.to_str().unwrap().replace('/', "%2F");
        Address::parse(&format!("postgres://idgate@{host}/{database}")).unwrap()
    }

    fn run(&self, database: &str, sql: &str) {
        let (dir, database, sql) = (self.dir.clone(), database.to_owned(), sql.to_owned());
        let ran = self.threads.wait(async move {
            let ran = connect(dir, &database).await.batch_execute(&sql).await;
            ran.map_err(|error| StoreError::Failed(format!("{sql}: {error:?}")))
        });
        ran.unwrap();
    }

    fn ask(&self, database: &str, sql: &str) -> String {
        let (dir, database, sql) = (self.dir.clone(), database.to_owned(), sql.to_owned());
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

/// Where `initdb` is.
fn tools() -> Option<PathBuf> {
    let asked = Command::new("pg_config").arg("--bindir").output().ok();
    let asked = asked.and_then(|output| String::from_utf8(output.stdout).ok());
    let debians = (15..=20).rev().map(|version| format!("/usr/lib/postgresql/{version}/bin"));
    let folders = debians.chain(asked.map(|path| path.trim().to_owned()));
    let path = std::env::var("PATH").unwrap_or_default();
    let on_path = path.split(':').map(str::to_owned).collect::<Vec<_>>();
    folders.chain(on_path).map(PathBuf::from).find(|folder| folder.join("initdb").exists())
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
pub(in crate::store) struct Held(#[allow(dead_code)] tokio_postgres::Client);

/// A database.
pub(in crate::store) struct PostgresDatabase {
    cluster: &'static Cluster,
    name: String,
    pub(in crate::store) key: InstanceKey,
}

impl PostgresDatabase {
    pub(in crate::store) fn address(&self) -> Address {
        self.cluster.address(&self.name)
    }

    /// A gateway with this key, by the virtual clock.
    pub(in crate::store) fn open_with(
        &self,
        key: &InstanceKey,
        migrates: bool,
    ) -> Result<PostgresStore, StoreError> {
        PostgresStore::open_at(options(&self.address(), key, migrates), NOW)
    }

    /// A gateway, by the virtual clock, whose database is at that port of this machine.
    pub(in crate::store) fn open_through(&self, port: u16) -> PostgresStore {
        let address = format!("postgres://idgate@127.0.0.1:{port}/{}", self.name);
        let address = Address::parse(&address).unwrap();
        PostgresStore::open_at(options(&address, &self.key, false), NOW).unwrap()
    }

    /// Where its server listens.
    pub(in crate::store) fn socket(&self) -> PathBuf {
        self.cluster.dir.join(".s.PGSQL.5432")
    }

    /// A gateway whose results are due by the database's clock, as all are but those of tests.
    pub(in crate::store) fn open_by_its_clock(&self) -> PostgresStore {
        PostgresStore::open(options(&self.address(), &self.key, false), NOW).unwrap()
    }

    pub(in crate::store) fn run(&self, sql: &str) {
        self.cluster.run(&self.name, sql);
    }

    /// The first column of the first row.
    pub(in crate::store) fn ask(&self, sql: &str) -> String {
        self.cluster.ask(&self.name, sql)
    }

    /// Somebody who reads and does not end, until it is dropped.
    pub(in crate::store) fn hold(&self, sql: &str) -> Held {
        let (dir, name, sql) = (self.cluster.dir.clone(), self.name.clone(), sql.to_owned());
        let held = self.cluster.threads.wait(async move {
            let client = connect(dir, &name).await;
            client.batch_execute(&format!("BEGIN; {sql}")).await.unwrap();
            Ok(client)
        });
        Held(held.unwrap())
    }

    /// Whether these bytes are in the write-ahead log.
    pub(in crate::store) fn logs(&self, needle: &[u8]) -> bool {
        holds(&self.cluster.dir.join("data/pg_wal"), needle)
    }
}

impl Drop for PostgresDatabase {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let drop = format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name);
            self.cluster.run("postgres", &drop);
        }
    }
}

impl Backend for PostgresDatabase {
    type Store = PostgresStore;

    fn is_there() -> bool {
        CLUSTER.is_some()
    }

    fn new() -> Self {
        let cluster = CLUSTER.as_ref().unwrap();
        let name = format!("idgate_{}", cluster.databases.fetch_add(1, Ordering::Relaxed));
        let made = format!("CREATE DATABASE {name} TEMPLATE idgate_template STRATEGY file_copy");
        cluster.run("postgres", &made);
        Self { cluster, name, key: InstanceKey::generate().unwrap() }
    }

    fn open(&self, now: UnixMillis) -> PostgresStore {
        PostgresStore::open_at(options(&self.address(), &self.key, false), now).unwrap()
    }

    fn operator(&self) -> Box<OperatorStore> {
        Box::new(PostgresOperator::open(&self.address(), &self.key).unwrap())
    }

    fn set_mood(store: &PostgresStore, mood: Mood) {
        store.fault.set(mood);
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
        let database = self.cluster.dir.join("data").join(database);
        holds(database.parent().unwrap(), needle) || self.logs(needle)
    }
}

/// Whether a file below `folder` has these bytes.
fn holds(folder: &Path, needle: &[u8]) -> bool {
    let Ok(entries) = std::fs::read_dir(folder) else { return false };
    entries.flatten().any(|entry| {
        let path = entry.path();
        if path.is_dir() {
            return holds(&path, needle);
        }
        // What another test has just dropped is gone.
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
