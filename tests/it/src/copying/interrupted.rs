//! Interrupted copies: killed, replaced by another copy, or interfered with by a command or a
//! starting gateway.

use std::fs;

use idgate_testkit::seed::{Random, seed};

use super::{Moving, expect_refused};
use crate::killed::run_killed;
use crate::server::{Installation, eventually};
use crate::stores;

/// More statements than a copy executes.
const ENOUGH: u32 = 10_000;

/// Runs SQL in the database at `event`, so that the test acts in the middle of a copy.
fn when(database: &str, event: &str, what: &str) {
    let sql = format!(
        "CREATE FUNCTION middle() RETURNS trigger LANGUAGE plpgsql AS \
         $$ BEGIN {what}; RETURN NULL; END $$; \
         CREATE TRIGGER middle AFTER {event} FOR EACH STATEMENT EXECUTE FUNCTION middle()"
    );
    stores::cluster().unwrap().run(database, &sql);
}

#[test]
fn a_superseded_copy_writes_nothing_more() {
    let Some(cluster) = stores::cluster() else { return };
    let mut moving = Moving::new();
    let listed = moving.listed();
    for event in ["INSERT ON clients", "INSERT ON webhook_deliveries"] {
        let database = stores::migrated().unwrap();
        moving.enter(&database);
        let taken = "UPDATE instance SET sealed = set_byte(sealed, 0, 255 - get_byte(sealed, 0)) \
                     WHERE name = 'copying_from'";
        when(&database, event, taken);
        expect_refused(&moving.copy(), 1, "another `idgate copy` into the database began");
        expect_refused(&moving.installation.run(&["client", "list"]), 1, "run `idgate copy` again");
        cluster.run(&database, "DROP FUNCTION middle CASCADE");
        assert_eq!(moving.copy().code, 0);
        moving.expect_same(&listed);
    }
}

/// A statement takes longer than the gateway's limit, and a command runs in between.
#[test]
fn commands_cannot_change_a_directory_during_its_copy() {
    let Some(cluster) = stores::cluster() else { return };
    let mut moving = Moving::new();
    let listed = moving.listed();
    let database = stores::migrated().unwrap();
    let beside = Installation::in_directory();
    let beside = beside.with("IDGATE_DATA_DIR", &moving.from());
    let beside = beside.with("IDGATE_INSTANCE_KEY", stores::KEY);
    moving.enter(&database);
    // Near the beginning, and at the very end when everything was compared.
    for event in ["INSERT ON webhook_deliveries", "DELETE ON instance"] {
        // Without waiting for the lock, which has its own timeout.
        let waits = "WHILE NOT pg_try_advisory_xact_lock(1) LOOP PERFORM pg_sleep(0.05); END LOOP";
        when(&database, event, waits);
        let mut holder = cluster.session(&database);
        holder.run("SELECT pg_advisory_lock(1)");
        let copied = std::thread::scope(|scope| {
            let copying = scope.spawn(|| moving.copy());
            let of_it = "FROM pg_stat_activity WHERE state = 'active' \
                         AND pid <> pg_backend_pid() AND datname = current_database()";
            eventually("it is in the middle", || {
                let sleeping = format!("SELECT count(*) {of_it} AND wait_event = 'PgSleep'");
                cluster.run(&database, &sleeping) == "1"
            });
            let late = beside.run(&["client", "create", "late"]);
            expect_refused(&late, 1, "database is locked");
            if event.starts_with("INSERT") {
                // An aborted copy leaves the directory as it was.
                cluster.run(&database, &format!("SELECT pg_terminate_backend(pid) {of_it}"));
            } else {
                let long = "clock_timestamp() - query_start > interval '11 s'";
                let long = format!("SELECT count(*) {of_it} AND {long}");
                eventually("its statement is long", || cluster.run(&database, &long) == "1");
            }
            drop(holder);
            copying.join().unwrap()
        });
        assert_eq!(copied.code == 0, event.starts_with("DELETE"), "{copied:?}");
        cluster.run(&database, "DROP FUNCTION middle CASCADE");
    }
    moving.expect_same(&listed);
    moving.expect_moved();
    let afterwards = beside.run(&["client", "create", "late"]);
    assert_eq!(afterwards.code, 0, "{afterwards:?}");
}

/// A copy waits for a transaction that is writing, and then finds that the database is not empty.
#[test]
fn a_copy_does_not_truncate_rows_that_are_being_written() {
    let Some(cluster) = stores::cluster() else { return };
    let mut moving = Moving::new();
    let database = stores::migrated().unwrap();
    moving.enter(&database);
    let mut writer = cluster.session(&database);
    writer.run("BEGIN; INSERT INTO webhook_hosts VALUES ('h.example', 'APPROVED', NULL, 1)");
    let refused = std::thread::scope(|scope| {
        let copying = scope.spawn(|| moving.copy());
        eventually("it waits", || copying.is_finished() || cluster.waiting(&database) > 0);
        writer.run("COMMIT");
        copying.join().unwrap()
    });
    expect_refused(&refused, 1, "the database is not empty");
    assert_eq!(cluster.run(&database, "SELECT count(*) FROM webhook_hosts"), "1");
}

#[test]
fn a_gateway_that_starts_during_a_copy_does_not_serve() {
    let Some(cluster) = stores::cluster() else { return };
    let database = stores::migrated().unwrap();
    when(
        &database,
        "INSERT ON nodes",
        "INSERT INTO instance VALUES ('copying_from', '') ON CONFLICT DO NOTHING",
    );
    let installation = Installation::on(&database);
    expect_refused(&installation.run(&["serve"]), 1, "run `idgate copy` again");
    assert_eq!(cluster.run(&database, "SELECT count(*) FROM nodes"), "0");
}

/// After how many statements each copy is killed.
fn stride() -> usize {
    if std::env::var_os("IDGATE_LONG").is_some() { 5 } else { 67 }
}

#[test]
fn a_copy_killed_at_any_statement_is_finished_by_the_next_one() {
    let Some(cluster) = stores::cluster() else { return };
    let mut moving = Moving::new();
    let listed = moving.listed();
    let (mut killed, mut begun) = (0, 0);
    for at in (10..ENOUGH).step_by(stride()) {
        let database = stores::migrated().unwrap();
        moving.enter(&database);
        let arguments = ["copy", "--from", &moving.from()];
        let output = run_killed(&moving.installation, &arguments, at);
        if output.code == 0 {
            break;
        }
        assert_eq!(output.code, -1, "{output:?}");
        killed += 1;
        let marked =
            cluster.run(&database, "SELECT count(*) FROM instance WHERE name = 'copying_from'");
        if marked == "1" {
            for early in [["client", "list"].as_slice(), &["serve"]] {
                expect_refused(&moving.installation.run(early), 1, "run `idgate copy` again");
            }
            begun += 1;
        }
        let copied = moving.copy();
        if copied.stderr.contains("was copied into the database already") {
            // It was killed after its last change.
            moving.expect_same(&listed);
            break;
        }
        assert_eq!(copied.code, 0, "killed at {at}: {copied:?}");
        moving.expect_same(&listed);
    }
    assert!(killed > 3 && begun > 2, "{killed} {begun}");
    moving.expect_moved();
}

/// Like a crash of the machine: at any time, not only between statements.
#[test]
fn a_copy_killed_at_random_times_and_repeated_is_complete() {
    let Some(database) = stores::migrated() else { return };
    let mut moving = Moving::new();
    let listed = moving.listed();
    moving.enter(&database);
    let mut random = Random::new(seed());
    for most in [30, 60, 90, 120, 150] {
        let mut command = moving.installation.command(&["copy", "--from", &moving.from()]);
        let null = || fs::File::options().write(true).open("/dev/null").unwrap();
        let mut child = command.stdout(null()).stderr(null()).spawn().unwrap();
        // reason: its progress does not matter; the next copy finishes whatever it began
        std::thread::sleep(std::time::Duration::from_millis(random.below(most)));
        let _ = child.kill();
        child.wait().unwrap();
    }
    eventually("it is copied", || {
        let copied = moving.copy();
        copied.code == 0 || copied.stderr.contains("was copied into the database already")
    });
    moving.expect_same(&listed);
    moving.expect_moved();
}

#[test]
fn an_unfinished_copy_cannot_be_finished_from_another_directory() {
    let Some(database) = stores::migrated() else { return };
    let (mut moving, mut other) = (Moving::new(), Moving::new());
    moving.enter(&database);
    let arguments = ["copy", "--from", &moving.from()];
    let output = run_killed(&moving.installation, &arguments, 200);
    assert_eq!(output.code, -1, "{output:?}");
    other.enter(&database);
    expect_refused(&other.copy(), 1, "an unfinished copy of another data directory");
    assert_eq!(moving.copy().code, 0);
}
