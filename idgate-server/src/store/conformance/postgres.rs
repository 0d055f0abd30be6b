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
use crate::config::{Environment, Quotas};
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
"$1/initdb" -D "$2/data" -U idgate -A trust -E UTF8 --locale=C --no-sync >"$2/initdb.log" 2>&1 || exit 1
"$1/pg_ctl" -D "$2/data" -w -l "$2/log" -o "-k $2 -c listen_addresses='' -c fsync=off \
    -c max_connections=300 -c shared_buffers=64MB -c max_prepared_transactions=0" start >/dev/null 2>&1 || exit 1
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
            let mut config = tokio_postgres::Config::new();
            config.host_path(dir).user("idgate").dbname(&database);
            let (client, connection) = config.connect(NoTls).await.unwrap();
            let connection = tokio::spawn(connection);
            let ran = client.batch_execute(&sql).await;
            drop(client);
            connection.await.unwrap().unwrap();
            ran.map_err(|error| StoreError::Failed(format!("{sql}: {error:?}")))
        });
        ran.unwrap();
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

/// A database.
pub(in crate::store) struct PostgresDatabase {
    cluster: &'static Cluster,
    name: String,
    key: InstanceKey,
}

impl PostgresDatabase {
    pub(in crate::store) fn address(&self) -> Address {
        self.cluster.address(&self.name)
    }

    fn run(&self, sql: &str) {
        self.cluster.run(&self.name, sql);
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
        let address = self.address();
        let options = PostgresOptions {
            address: &address,
            instance_key: &self.key,
            environment: Environment::Development,
            quotas: Quotas::default(),
            migrates: false,
        };
        PostgresStore::open_at(options, now).unwrap()
    }

    fn operator(&self) -> Box<OperatorStore> {
        panic!("to be written")
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
        holds(&self.cluster.dir.join("data"), needle)
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

#[tokio::test]
async fn trial() {
    use super::super::temporary::TemporaryStore;
    use idgate_core::crypto::aws_lc_rs::PROVIDER;
    use idgate_core::{PresentationRequest, Verifier};
    let sqlite = TemporaryStore::default();
    let db = PostgresDatabase::new();
    let caller = sqlite.caller();
    db.run(&format!("INSERT INTO clients (id, name, livemode, signing_secret, created_at) VALUES ('{}', 'x', true, '', 0)", caller.client_id.as_str()));
    let store = db.open(NOW);
    let trust = sqlite.trust().wait().unwrap();
    let new = |now| {
        let request =
            PresentationRequest::parse(br#"{"issuer_id":"issuer"}"#, &trust, true).unwrap();
        let verifier = Verifier::builder(PROVIDER)
            .inline("http://localhost")
            .trust(trust.clone())
            .build()
            .unwrap();
        verifier
            .create_session(request, caller.client_id.clone(), true, &mut OsEntropy, now)
            .unwrap()
    };
    let made = new(NOW);
    let session = made.session.clone();
    assert_eq!(store.create_session(&caller, made).await.unwrap(), Made::Yes);
    let mut watch = store.watch(session.id());
    let commits: Vec<_> = (0..64)
        .map(|n| store.commit(verify(&session, NOW.plus(n), "{\"a\":\"SENTINEL\"}"), None))
        .collect();
    let mut yes = 0;
    for commit in commits {
        yes += usize::from(commit.await.unwrap() == Committed::Yes);
    }
    assert_eq!(yes, 1);
    watch.changed().await;
    assert_eq!(store.gauges(NOW).wait().unwrap().claims_rows, 1);
    let read = |now| store.callers_session(&caller, session.id(), now).wait().unwrap().unwrap();
    assert!(read(NOW.plus(5)).result_at(NOW.plus(5)).is_some());
    assert!(read(NOW.plus(31000)).result_at(NOW).is_none());
    assert!(db.holds(session.id().as_str().as_bytes()) && !db.holds(b"SENTINEL"));
    assert_eq!(store.purge_results(NOW.plus(31_000)).wait().unwrap(), 1);
    assert_eq!(store.gauges(NOW).wait().unwrap().claims_rows, 0);
    let page = store.events(&caller, session.id(), 0, 10).wait().unwrap().unwrap();
    assert!(page.settled && page.events.len() == 2, "{page:?}");
    assert!(store.delete_session(&caller, session.id(), NOW).await.unwrap());
    assert!(!store.delete_session(&caller, session.id(), NOW).await.unwrap());
    let once =
        |n: u8| Once { key: [1; 32], body: [7; 32], answer: zeroize::Zeroizing::new(vec![n]) };
    let made: Vec<_> =
        (0..16).map(|n| store.create_session_once(&caller, new(NOW), once(n))).collect();
    let mut first = 0;
    for made in made {
        match made.await.unwrap() {
            MadeOnce::Yes => first += 1,
            MadeOnce::Earlier(_) => {}
            MadeOnce::NoRoom => panic!(),
        }
    }
    assert_eq!(first, 1);
    let due = store.due_sessions(NOW.plus(86_400_000), 10).wait().unwrap();
    assert_eq!(due.len(), 1);
    assert!(store.probe().await.is_ok());
    // Another node.
    let other = db.open(NOW);
    let made = new(NOW);
    let session = made.session.clone();
    let mut watch = other.watch(session.id());
    assert_eq!(store.create_session(&caller, made).await.unwrap(), Made::Yes);
    tokio::time::timeout(std::time::Duration::from_millis(900), watch.changed())
        .await
        .unwrap_or(());
    let before = std::time::Instant::now();
    assert_eq!(
        store.commit(session.expired(session.expires_at()).unwrap(), None).await.unwrap(),
        Committed::Yes
    );
    watch.changed().await;
    eprintln!("told after {:?}", before.elapsed());
    assert_eq!(store.remove_settled(NOW.plus(86_400_000), 10).await.unwrap(), 1);
}
