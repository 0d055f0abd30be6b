//! A further instance key is required from the first value that is sealed with it, and not before.

use std::net::TcpListener;

use super::{NEW, OLD, Stage, both, expect_refused, only};
use crate::server::Installation;
use crate::stores;

/// A key that is lost before it seals anything is not missed.
#[test]
fn in_a_directory_an_unused_key_can_be_removed() {
    let stage = Stage::set(Installation::in_directory());
    let main = stage.installation.data_dir().join("idgate.db");
    taken_away(stage, |sql| {
        rusqlite::Connection::open(&main).unwrap().execute_batch(sql).unwrap();
    });
}

#[test]
fn in_a_database_an_unused_key_can_be_removed() {
    let Some(database) = stores::migrated() else { return };
    let cluster = stores::cluster().unwrap();
    taken_away(Stage::set(Installation::on(&database)), |sql| {
        cluster.run(&database, sql);
    });
}

fn taken_away(mut stage: Stage, run_sql: impl Fn(&str)) {
    let installation = &mut stage.installation;
    // Commands that only read, that fail, or that store nothing sealed leave the old key
    // sufficient.
    both(installation);
    for (command, is_refused) in [
        (&["client", "list"][..], false),
        (&["client", "revoke", "cli_nope"], true),
        (&["client", "key", "revoke", "key_nope"], true),
        (&["admin-token", "revoke", "adm_nope"], true),
        (&["trust", "remove", "nope"], true),
        (&["dead-letters", "retry", "whf_nope"], true),
        (&["webhook-host", "approve", "a.example"], false),
        (&["webhook-host", "reset", "a.example"], false),
    ] {
        let done = installation.run(command);
        assert_eq!(done.code != 0, is_refused, "{command:?}: {done:?}");
        only(installation, OLD);
        let listed = installation.run(&["client", "list"]);
        assert_eq!(listed.code, 0, "after {command:?}: {listed:?}");
        both(installation);
    }
    // So does a gateway that fails to start, or that stops before it sealed anything.
    both(installation);
    refuse_to_serve(installation);
    installation.serve().stop();
    only(installation, OLD);
    assert_eq!(installation.run(&["client", "list"]).code, 0);
    // A value that is sealed with it is not given up.
    both(installation);
    assert_eq!(installation.run(&["client", "create", "late"]).code, 0);
    only(installation, OLD);
    let refused = installation.run(&["keys", "reseal"]);
    expect_refused(&refused, "IDGATE_INSTANCE_KEYS to both");
    // A required key that seals nothing any more is given up.
    run_sql(
        "CREATE TABLE noted AS SELECT name, sealed FROM instance WHERE name LIKE 'key_check %'",
    );
    installation.set("IDGATE_INSTANCE_KEYS", &format!("{OLD},{NEW}"));
    installation.set("IDGATE_INSTANCE_KEY", "");
    assert_eq!(installation.run_json(&["keys", "reseal", "--json"])["unreadable"], 0);
    run_sql("INSERT INTO instance (name, sealed) SELECT name, sealed FROM noted; DROP TABLE noted");
    only(installation, OLD);
    expect_refused(&installation.run(&["client", "list"]), "IDGATE_INSTANCE_KEYS to both");
    assert_eq!(installation.run_json(&["keys", "reseal", "--json"])["unreadable"], 0);
    assert_eq!(installation.run(&["client", "list"]).code, 0);
    both(installation);
    assert_eq!(stage.reseal()["unreadable"], 0);
    stage.expect_new_alone();
}

/// A start that creates the gateway's signing key seals it, even if the start then fails.
#[test]
fn in_a_directory_a_key_that_seals_the_signing_key_is_required() {
    signing_key_sealed(Installation::in_directory());
}

#[test]
fn in_a_database_a_key_that_seals_the_signing_key_is_required() {
    let Some(database) = stores::migrated() else { return };
    signing_key_sealed(Installation::on(&database));
}

fn signing_key_sealed(mut installation: Installation) {
    only(&mut installation, OLD);
    installation.create_client("shop", true);
    both(&mut installation);
    refuse_to_serve(&mut installation);
    for key in [OLD, NEW] {
        only(&mut installation, key);
        expect_refused(&installation.run(&["client", "list"]), "IDGATE_INSTANCE_KEYS to both");
    }
    both(&mut installation);
    assert_eq!(installation.run_json(&["keys", "reseal", "--json"])["unreadable"], 0);
    only(&mut installation, NEW);
    installation.serve().stop();
}

/// Another program has the port.
fn refuse_to_serve(installation: &mut Installation) {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    installation.set("IDGATE_LISTEN", &taken.local_addr().unwrap().to_string());
    expect_refused(&installation.run(&["serve"]), "Address already in use");
    installation.set("IDGATE_LISTEN", "127.0.0.1:0");
}
