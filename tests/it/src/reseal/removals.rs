//! The record of removed audit entries is signed with the instance key as well.

use idgate_core::UnixMillis;
use idgate_store::Address;
use idgate_store::OperatorStore;
use idgate_store::seal::InstanceKey;
use serde_json::json;

use super::{NEW, OLD, both, only};
use crate::server::{Installation, eventually};
use crate::stores;
use crate::tenant::now_ms;

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// A client's oldest entries are past the retention and removed, and then another key replaces the
/// one that signed the removal record.
#[track_caller]
fn expect_known_after_a_reseal(mut installation: Installation, mut store: Box<OperatorStore>) {
    let past = |days: u64| UnixMillis(now_ms() - days * DAY_MS);
    let client = store.create_client("shop", true, None, past(90)).unwrap();
    for days in [80, 1] {
        store.create_key(&client.client_id, None, None, past(days)).unwrap().unwrap();
    }
    drop(store);
    installation.set("IDGATE_AUDIT_RETENTION", "30");
    let report = |installation: &Installation| {
        let report = installation.run_json(&["audit", "verify", "--json"]);
        (report["intact"].clone(), report["removed"].clone())
    };
    let server = installation.serve();
    eventually("what is old is removed", || report(&installation).1 == 2);
    server.stop();
    both(&mut installation);
    assert_eq!(installation.run_json(&["keys", "reseal", "--json"])["unreadable"], 0);
    only(&mut installation, NEW);
    assert_eq!(report(&installation), (json!(true), json!(2)));
}

#[test]
fn in_a_directory_removal_records_verify_after_a_reseal() {
    let mut installation = Installation::in_directory();
    only(&mut installation, OLD);
    let key = InstanceKey::parse(OLD).unwrap();
    let store = OperatorStore::open(&installation.data_dir(), Some(&key)).unwrap();
    expect_known_after_a_reseal(installation, Box::new(store));
}

#[test]
fn in_a_database_removal_records_verify_after_a_reseal() {
    let Some(database) = stores::migrated() else { return };
    let key = InstanceKey::parse(OLD).unwrap();
    let store = OperatorStore::connect(&Address::parse(&database).unwrap(), &key).unwrap();
    expect_known_after_a_reseal(Installation::on(&database), Box::new(store));
}
