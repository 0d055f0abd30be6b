//! Several gateways on one PostgreSQL with the real binary. Without PostgreSQL on the machine the
//! tests say so and check nothing.

mod away;
mod chaos;
#[path = "../../../idgate-server/store/src/tests/cluster.rs"]
pub(crate) mod cluster;
mod files;
mod nodes;
#[allow(dead_code, reason = "the store's own tests lose more")]
#[path = "../../../idgate-server/store/src/tests/proxy.rs"]
mod proxy;
mod race;
mod rates;
mod rolling;
mod server;
mod statements;
mod streams;
mod tls;

use std::io::Write as _;
use std::process::Stdio;
use std::thread;

use serde_json::json;

use crate::http::Http;
use crate::server::{Installation, eventually};
use crate::stores;
use crate::tenant::{Gateway, Tenant, request_for, sample_trust, sample_wallet};

const OTHER_KEY: &str = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";

#[test]
fn results_and_revocations_are_seen_by_both_nodes() {
    let Some(database) = stores::empty() else { return };
    let installation = Installation::on(&database);
    let migrated = installation.run_json(&["migrate", "--json"]);
    assert_eq!(migrated["from"], 0, "{migrated}");
    let gateway = Gateway::trusting(installation, &sample_trust());
    let second = gateway.installation.serve();
    let mut tenant = gateway.tenant();
    let mut elsewhere =
        Tenant { http: Http::new(second.address), api_key: gateway.client.api_key.clone() };
    let created = tenant.verified(&request_for(&["given_name"]), &sample_wallet());
    let (here, there) = (tenant.read(&created.id), elsewhere.read(&created.id));
    assert_eq!(here["status"], "VERIFIED", "{here}");
    assert_eq!(here["claims"], there["claims"]);
    assert_eq!(there["status"], "VERIFIED");
    let installation = &gateway.installation;
    let intact = installation.run_json(&["audit", "verify", "--json"]);
    assert_eq!(intact["intact"], true, "{intact}");
    installation.run_json(&["client", "revoke", &gateway.client.client_id, "--json"]);
    for tenant in [&mut tenant, &mut elsewhere] {
        tenant.get(&created.id).expect_status(401);
    }
    assert!(!installation.unused_data_dir().exists(), "nothing is stored outside the database");
}

/// One of them migrates, and the others wait for it.
#[test]
fn concurrent_migrations_run_once() {
    let Some(database) = stores::empty() else { return };
    let from: Vec<i64> = std::thread::scope(|scope| {
        let migrate = || {
            let migrated = Installation::on(&database).run_json(&["migrate", "--json"]);
            migrated["from"].as_i64().unwrap()
        };
        let asking: Vec<_> = (0..6).map(|_| scope.spawn(migrate)).collect();
        asking.into_iter().map(|asking| asking.join().unwrap()).collect()
    });
    assert_eq!(from.iter().filter(|from| **from == 0).count(), 1, "{from:?}");
    let doctor = Installation::on(&database).run_json(&["doctor", "--json"]);
    assert_eq!(doctor["ok"], true, "{doctor}");
}

/// Longer than any other statement waits for a lock, which is five seconds.
#[test]
fn a_migration_waits_for_a_running_one() {
    let Some(database) = stores::empty() else { return };
    let cluster = stores::cluster().unwrap();
    let mut other = cluster.tool("psql");
    other.args(["-XqAt", "-d", &database]).stdin(Stdio::piped()).stdout(Stdio::null());
    let mut other = other.spawn().unwrap();
    let mut begin = other.stdin.take().unwrap();
    // The lock of a migration: "idgate" in ASCII.
    writeln!(begin, "SELECT pg_advisory_lock(x'696467617465'::bigint);").unwrap();
    let count = |which: &str| {
        let locks = "pg_locks JOIN pg_stat_activity USING (pid) WHERE locktype = 'advisory' \
                     AND datname = current_database()";
        cluster.run(&database, &format!("SELECT count(*) FROM {locks} AND {which}"))
    };
    eventually("another one is under way", || count("granted") == "1");
    let migrated = thread::scope(|scope| {
        let migrate = scope.spawn(|| Installation::on(&database).run(&["migrate", "--json"]));
        let waited = "NOT granted AND clock_timestamp() - query_start > interval '5500 ms'";
        eventually("it waits for longer", || migrate.is_finished() || count(waited) == "1");
        // It ends when its input is closed.
        drop(begin);
        migrate.join().unwrap()
    });
    assert_eq!(migrated.code, 0, "{migrated:?}");
    assert!(other.wait().unwrap().success());
}

#[test]
fn a_node_creates_no_schema_or_key_and_refuses_another_key() {
    let Some(database) = stores::empty() else { return };
    let keyless = Installation::on(&database).with("IDGATE_INSTANCE_KEY", "").run(&["serve"]);
    assert_eq!(keyless.code, 1, "{keyless:?}");
    assert!(keyless.stderr.contains("openssl rand -base64 32"), "{keyless:?}");
    let installation = Installation::on(&database);
    for command in [["client", "list"].as_slice(), &["serve"]] {
        let older = installation.run(command);
        assert_eq!(older.code, 1, "{older:?}");
        assert!(older.stderr.contains("idgate migrate"), "{older:?}");
    }
    drop(installation.serve_by(installation.command(&["serve", "--migrate"])));
    assert_eq!(installation.run_json(&["client", "list", "--json"]), json!({ "clients": [] }));
    let other = Installation::on(&database).with("IDGATE_INSTANCE_KEY", OTHER_KEY);
    let other = other.run(&["client", "list"]);
    assert_eq!(other.code, 1, "{other:?}");
    assert!(other.stderr.contains("the same on all nodes"), "{other:?}");
    let backup = installation.run(&["backup", "copy.db"]);
    assert_eq!(backup.code, 1, "{backup:?}");
    assert!(backup.stderr.contains("--no-unlogged-table-data"), "{backup:?}");
    let doctor = installation.run_json(&["doctor", "--json"]);
    assert_eq!(doctor["ok"], true, "{doctor}");
}
