//! The gateway is killed over and over while sessions settle. Every session is notified, signed,
//! under one id.

use std::collections::{BTreeMap, BTreeSet};

use idgate_testkit::seed::{Random, seed};

use super::notifying;
use super::receiver::Receiver;
use crate::http::Http;
use crate::server::eventually;
use crate::tenant::{Gateway, Tenant, answer_request, form, request_for, sample_wallet};

#[test]
fn no_notification_is_lost_when_the_gateway_is_killed() {
    let long = std::env::var_os("IDGATE_LONG").is_some();
    let (settles, kills): (usize, usize) = if long { (1000, 200) } else { (100, 10) };
    let mut random = Random::new(seed());
    let receiver = Receiver::start();
    let (Gateway { mut server, client, installation }, secret) = notifying(&receiver);
    let wallet = sample_wallet();
    let mut settled = BTreeSet::new();
    for _ in 0..kills {
        let told = receiver.all().len();
        let mut tenant =
            Tenant { http: Http::new(server.address), api_key: client.api_key.clone() };
        for _ in 0..settles / kills {
            let created = tenant.create(&request_for(&["given_name"]));
            // An answer may be lost with the server, but an acknowledged one is settled.
            let answer = answer_request(&created.id, &form(&wallet, &created));
            tenant.http.try_send(&answer).unwrap().expect_status(200);
            settled.insert(created.id);
        }
        // Before, between or after its notifications.
        let heard = told + random.index(settles / kills + 1);
        eventually("some are delivered", || receiver.all().len() >= heard);
        server.kill();
        server = installation.serve();
    }
    assert_eq!(settled.len(), settles);
    eventually("everything is delivered", || {
        let told: BTreeSet<String> = receiver.sessions().into_iter().collect();
        told.is_superset(&settled)
    });
    let mut ids: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for sent in receiver.all() {
        sent.verify(&secret);
        let session = sent.json()["sessionId"].as_str().unwrap().to_owned();
        ids.entry(session).or_default().insert(sent.header("webhook-id").to_owned());
    }
    assert!(ids.values().all(|ids| ids.len() == 1), "an id changed");
    let all: BTreeSet<&String> = ids.values().flatten().collect();
    assert_eq!(all.len(), ids.len(), "two sessions share an id");
    drop(server);
}
