//! The store of the tests' gateways: a separate data directory for each, or, with
//! `IDGATE_TEST_STORE=postgres`, a separate database.

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, Scope, ScopedJoinHandle};

use crate::at_rest::is_at_rest_and;
use crate::postgres::cluster::Cluster;
use crate::server::Installation;

/// Tests about data directories, which use one whatever the store.
const ABOUT_FILES: &[&str] = &[
    "api_keys::key_changes_are_in_the_audit_log",
    "api_keys::no_api_key_is_in_plaintext",
    "at_start::",
    "audit::operator::",
    "auth::no_secret_is_in_plaintext",
    "bad_requests::bad_creation_requests",
    "certificates::an_unusable_certificate",
    "clock_steps::",
    "crash::",
    "damage::",
    "demo::",
    "fairness::",
    "full_disk::",
    "idempotency::",
    "jar_http::discovery::",
    "jar_http::request_object::concurrent_fetches",
    "jar_http::session_key::",
    "late_keys::",
    "limbo::",
    "logs::a_fault_is_logged",
    "metrics::",
    "operator::",
    "operator_files::",
    "own_faults::",
    "page::cancelled::the_key",
    "page::handover::outcome::deleting_a_session",
    "page::refusals::a_gateway_fault",
    "postgres::",
    "purge::",
    "race::of_64_concurrent_answers",
    "reports::a_report_survives",
    "session_end::a_session_has_the_wallets_error_code",
    "strangers::readiness",
    "upgrade::",
    "webhooks::endpoint::a_webhook_secret",
    "webhooks::names::",
    "webhooks::removal::the_next_endpoint",
    "ws::load::",
];

/// Tests that compare times of their own machine with due times, which a database takes from its own
/// clock. They use a data directory as well.
const ABOUT_DUE_TIMES: &[&str] = &[
    "webhooks::a_failed_delivery_is_retried_after_five_seconds",
    "webhooks::pending::pending_notifications_show_held",
];

/// The same on all nodes.
pub(crate) const KEY: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
/// A migrated database, the template of others.
const MIGRATED: &str = "migrated";

/// The server of this process.
static CLUSTER: LazyLock<Option<Cluster>> = LazyLock::new(Cluster::start);
static DATABASES: AtomicUsize = AtomicUsize::new(0);

/// Whether the tests of this thread use PostgreSQL.
pub(crate) fn is_postgres() -> bool {
    match std::env::var("IDGATE_TEST_STORE").as_deref() {
        Ok("postgres") => !wants_files(),
        Ok("sqlite") | Err(_) => false,
        Ok(other) => panic!("IDGATE_TEST_STORE is sqlite or postgres, not {other:?}"),
    }
}

/// Store settings for a new installation, if the tests use a store other than files.
pub(crate) fn settings() -> Vec<(String, String)> {
    if !is_postgres() {
        return Vec::new();
    }
    let url = migrated().expect("IDGATE_TEST_STORE=postgres wants PostgreSQL on this machine");
    let settings = [("IDGATE_DATABASE_URL", url.as_str()), ("IDGATE_INSTANCE_KEY", KEY)];
    settings.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}

/// Runs on a thread that belongs to this test as well: its name gives it the same store.
pub(crate) fn spawn<'s, T: Send + 's>(
    scope: &'s Scope<'s, '_>,
    work: impl FnOnce() -> T + Send + 's,
) -> ScopedJoinHandle<'s, T> {
    let name = thread::current().name().unwrap_or_default().to_owned();
    thread::Builder::new().name(name).spawn_scoped(scope, work).unwrap()
}

/// By the name of the test, which is its thread's name.
fn wants_files() -> bool {
    let current = thread::current();
    let test = current.name().filter(|name| *name != "main");
    let test = test.expect("IDGATE_TEST_STORE=postgres wants a thread for each test");
    ABOUT_FILES.iter().chain(ABOUT_DUE_TIMES).any(|about| test.starts_with(about))
}

/// The server. `None`: this machine has none.
pub(crate) fn cluster() -> Option<&'static Cluster> {
    CLUSTER.as_ref()
}

/// Whether PostgreSQL executes nothing for this database, and opens no connection. An answer that it
/// has sent counts as done: its reader is awake.
pub(crate) fn is_idle(url: &str) -> bool {
    let Some((folder, database)) = place_of(url) else { return true };
    let Ok(pids) = fs::read_to_string(folder.join("data/postmaster.pid")) else { return true };
    let postmaster: u32 = pids.lines().next().unwrap().parse().unwrap();
    let own = format!("postgres: idgate {database} ");
    // A new connection wakes it.
    is_at_rest_and(postmaster, || {
        let children = fs::read_to_string(format!("/proc/{postmaster}/task/{postmaster}/children"));
        let Ok(children) = children else { return false };
        children.split_whitespace().all(|pid| is_idle_for(pid.parse().unwrap(), &own))
    })
}

/// Whether a process of the server, whose title begins with `own` if it is for our database, executes
/// nothing for that database.
fn is_idle_for(pid: u32, own: &str) -> bool {
    let title = || fs::read_to_string(format!("/proc/{pid}/cmdline"));
    let says_idle = || title().is_ok_and(|it| it.trim_end_matches([' ', '\0']).ends_with("] idle"));
    match title() {
        Ok(title) if title.starts_with(own) => is_at_rest_and(pid, says_idle),
        // Without a title it is new, and may be for our database.
        Ok(title) => title.starts_with("postgres: "),
        Err(_) => true,
    }
}

/// The folder of the server's socket, if it has one, and the name of the database.
fn place_of(url: &str) -> Option<(PathBuf, &str)> {
    let (host, path) = url.strip_prefix("postgres://idgate@")?.split_once('/')?;
    let folder = PathBuf::from(host.replace("%2F", "/"));
    folder.is_absolute().then_some((folder, path.split('?').next()?))
}

/// A new, empty database.
pub(crate) fn empty() -> Option<String> {
    cluster().map(|cluster| made_after(cluster, "template1"))
}

/// A new database with the schema.
pub(crate) fn migrated() -> Option<String> {
    static READY: LazyLock<()> = LazyLock::new(|| {
        let cluster = cluster().unwrap();
        cluster.create(MIGRATED, "template1");
        let url = cluster.url(MIGRATED);
        let installation = Installation::on(&url);
        installation.run_json(&["migrate", "--json"]);
    });
    let cluster = cluster()?;
    LazyLock::force(&READY);
    Some(made_after(cluster, MIGRATED))
}

/// A copy of that database, which must not be in use.
pub(crate) fn copy_of(url: &str) -> String {
    let (_, name) = url.rsplit_once('/').unwrap();
    let name = name.split('?').next().unwrap();
    made_after(cluster().unwrap(), name)
}

fn made_after(cluster: &Cluster, template: &str) -> String {
    let name = format!("gateway_{}", DATABASES.fetch_add(1, Ordering::Relaxed));
    cluster.create(&name, template);
    cluster.url(&name)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;
    use crate::server::eventually;

    #[test]
    fn a_database_is_idle_unless_a_statement_of_its_own_is_under_way() {
        let Some(url) = migrated() else { return };
        let database = place_of(&url).unwrap().1;
        let other = format!("{database}0_other");
        cluster().unwrap().create(&other, "template1");
        let psql = |database: &str, sql: &str| -> Command {
            let mut command = cluster().unwrap().tool("psql");
            command.args(["-qAt", "-d", database, "-c", sql]);
            command
        };
        let of_it = "FROM pg_stat_activity WHERE datname = current_database() \
                     AND state = 'active' AND query LIKE 'SELECT pg_sleep%'";
        let asleep = |database: &str| {
            let mut sleep = psql(database, "SELECT pg_sleep(86400)");
            let sleep = sleep.stderr(Stdio::null()).spawn().unwrap();
            let count = format!("SELECT count(*) {of_it}");
            eventually("it sleeps", || psql(database, &count).output().unwrap().stdout == b"1\n");
            sleep
        };
        let woken = |database: &str, mut sleep: std::process::Child| {
            let end = format!("SELECT pg_terminate_backend(pid) {of_it}");
            assert!(psql(database, &end).stdout(Stdio::null()).status().unwrap().success());
            assert!(!sleep.wait().unwrap().success());
        };
        let (own, foreign) = (asleep(database), asleep(&other));
        assert!(!is_idle(&url));
        woken(database, own);
        eventually("nothing is under way", || is_idle(&url));
        assert!(!is_idle(&cluster().unwrap().url(&other)));
        woken(&other, foreign);
    }
}
