//! Trusted lists where several gateways share a store: one of them fetches, and the new list is in
//! force at all of them.

use std::time::{Duration, Instant};

use super::{Desk, Lists, import, mdl_list, token};
use crate::http::Http;
use crate::mdoc_tamper::{Authority, VERIFIED, mdl_request};
use crate::server::Installation;
use crate::stores;
use crate::tenant::now_ms;

/// A list that is imported once is in force at both nodes, and an older one is refused.
#[test]
fn a_list_imported_at_one_node_is_in_force_at_another() {
    let Some(database) = stores::migrated() else { return };
    let installation = Installation::on(&database).with("IDGATE_ENVIRONMENT", "production");
    let client = installation.create_client("shop", false);
    let authority = Authority::new(now_ms());
    let file = installation.file("list.jwt", token(&mdl_list(7, &[&authority.root.der])));
    assert_eq!(import(&installation, file.to_str().unwrap(), &[]).code, 0);
    let second = installation.serve();
    let mut desk = Desk::serve(installation, client, authority);
    assert_eq!(desk.outcome(), VERIFIED);
    desk.tenant.http = Http::new(second.address);
    assert_eq!(desk.outcome(), VERIFIED);
    let installation = &desk.gateway.installation;
    let file = installation.file("list.jwt", token(&mdl_list(8, &[])));
    assert_eq!(import(installation, file.to_str().unwrap(), &[]).code, 0);
    for address in [desk.gateway.server.address, second.address] {
        desk.tenant.http = Http::new(address);
        let refused = desk.tenant.post_session(&mdl_request());
        assert_eq!((refused.status, refused.error()), (400, "unknown_issuer".into()));
    }
    let older = installation.file("list.jwt", token(&mdl_list(7, &[])));
    assert_eq!(import(installation, older.to_str().unwrap(), &[]).code, 3);
}

/// While one of two nodes fetches slowly, the other one looks for due lists and does not fetch.
#[test]
#[ignore = "before a release: waits for a minute"]
fn a_due_list_is_fetched_by_one_of_two_nodes_and_is_in_force_at_both() {
    let Some(cluster) = stores::cluster() else { return };
    let database = stores::migrated().unwrap();
    let lists = Lists::start();
    let installation = lists.reached_from(Installation::on(&database));
    let client = installation.create_client("shop", false);
    let authority = Authority::new(now_ms());
    lists.give("200 OK", token(&mdl_list(7, &[&authority.root.der])).as_bytes());
    assert_eq!(import(&installation, &lists.url, &[]).code, 0);
    let second = installation.serve();
    let mut desk = Desk::serve(installation, client, authority);
    let nodes = [desk.gateway.server.address, second.address];
    for node in nodes {
        desk.tenant.http = Http::new(node);
        assert_eq!(desk.outcome(), VERIFIED);
    }
    lists.give("200 OK", token(&mdl_list(8, &[])).as_bytes());
    // reason: drips
    lists.drip(|| std::thread::sleep(Duration::from_millis(4)));
    let before = lists.asked();
    let due = "INSERT INTO trusted_list_fetches (url, tried_at, failures) \
               SELECT url, 0, 0 FROM trusted_lists";
    cluster.run(&database, due);
    // Each node looks for due lists every 30 seconds.
    let begun = Instant::now();
    let renewed = "SELECT count(*) FROM trusted_lists WHERE sequence = 8";
    while cluster.run(&database, renewed) == "0" {
        assert!(begun.elapsed() < Duration::from_secs(75), "no node fetched it");
        std::thread::sleep(Duration::from_millis(100));
    }
    // By then the other node has also looked for due lists.
    std::thread::sleep(Duration::from_secs(31).saturating_sub(begun.elapsed()));
    assert_eq!(lists.asked(), before + 1);
    for node in nodes {
        desk.tenant.http = Http::new(node);
        let refused = desk.tenant.post_session(&mdl_request());
        assert_eq!((refused.status, refused.error()), (400, "unknown_issuer".into()));
    }
}
