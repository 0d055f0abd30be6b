//! The store of the tests' gateways: a separate data directory for each, or, with
//! `IDGATE_TEST_STORE=postgres`, a separate database.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, Scope, ScopedJoinHandle};

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

/// The same on all nodes.
pub(crate) const KEY: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
/// A migrated database, the template of others.
const MIGRATED: &str = "migrated";

/// The server of this process.
static CLUSTER: LazyLock<Option<Cluster>> = LazyLock::new(Cluster::start);
static DATABASES: AtomicUsize = AtomicUsize::new(0);

/// Store settings for a new installation, if the tests use a store other than files.
pub(crate) fn settings() -> Vec<(String, String)> {
    match std::env::var("IDGATE_TEST_STORE").as_deref() {
        Ok("postgres") if !is_about_files() => {}
        Ok("postgres" | "sqlite") | Err(_) => return Vec::new(),
        Ok(other) => panic!("IDGATE_TEST_STORE is sqlite or postgres, not {other:?}"),
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
fn is_about_files() -> bool {
    let current = thread::current();
    let test = current.name().filter(|name| *name != "main");
    let test = test.expect("IDGATE_TEST_STORE=postgres wants a thread for each test");
    ABOUT_FILES.iter().any(|about| test.starts_with(about))
}

/// The server. `None`: this machine has none.
pub(crate) fn cluster() -> Option<&'static Cluster> {
    CLUSTER.as_ref()
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
