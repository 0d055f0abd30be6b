//! Session streams and node metrics with several nodes on one database.

use std::net::SocketAddr;
use std::thread;

use serde_json::Value;

use super::nodes::Nodes;
use crate::http::{Http, Request};
use crate::server::eventually;
use crate::tenant::{Created, Tenant, form, request_for, sample_wallet};
use crate::ws::{Got, Stream};

/// Everything that a stream sends except pings, and its close code.
fn all(mut stream: Stream) -> (Vec<Value>, Option<u16>) {
    let mut messages = Vec::new();
    loop {
        match stream.next() {
            Got::Status(message) => messages.push(message),
            Got::Close(code) => return (messages, code),
            Got::Ping(_) | Got::Pong(_) => {}
        }
    }
}

fn statuses(messages: &[Value]) -> Vec<&str> {
    messages.iter().map(|message| message["status"].as_str().unwrap()).collect()
}

#[test]
fn a_stream_is_the_same_on_every_node_even_without_notifications() {
    let Some(nodes) = Nodes::start(2) else { return };
    let [here, there]: [SocketAddr; 2] = nodes.addresses().try_into().unwrap();
    let key = &nodes.client.api_key;
    let mut tenant = Tenant { http: Http::new(here), api_key: key.clone() };
    for deaf in [false, true] {
        let created: Created = tenant.create(&request_for(&["given_name"]));
        let streams = [here, there].map(|node| Stream::open(node, &created.id, key));
        if deaf {
            // It listens again a second later; until then it polls.
            let listening = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
                             WHERE query LIKE 'LISTEN%'";
            assert_eq!(nodes.cluster.run(&nodes.url(), listening), "2");
        }
        tenant.post_answer(&created.id, &form(&sample_wallet(), &created)).expect_status(200);
        let [at_its_node, elsewhere] = streams.map(all);
        assert_eq!(at_its_node, elsewhere);
        assert_eq!(statuses(&elsewhere.0), ["CREATED", "PENDING", "VERIFIED"]);
        // A disconnected reader resumes at the other node after its last event.
        let seq = elsewhere.0[1]["seq"].as_u64().unwrap();
        let (rest, code) = all(Stream::open_after(there, &created.id, key, seq));
        assert_eq!((statuses(&rest), code), (vec!["VERIFIED"], elsewhere.1));
    }
}

#[test]
fn each_node_reports_its_connection_pool() {
    let Some(nodes) = Nodes::start(2) else { return };
    let installation = &nodes.nodes[0].installation;
    let token = installation.run_json(&["admin-token", "create", "--json"]);
    let token = token["admin_token"].as_str().unwrap();
    let connections = |address: SocketAddr, state: &str| -> u64 {
        let answer = Http::new(address).send(&Request::get("/metrics").bearer(token));
        let text = String::from_utf8(answer.expect_status(200).body).unwrap();
        let name = format!("idgate_database_connections{{state=\"{state}\"}} ");
        let value = text.lines().find_map(|line| line.strip_prefix(&name));
        value.unwrap_or_else(|| panic!("{state}: {text}")).parse().unwrap()
    };
    let [busy, other]: [SocketAddr; 2] = nodes.addresses().try_into().unwrap();
    for (address, state) in [busy, other].into_iter().zip(["waiting", "idle"]) {
        connections(address, state);
    }
    thread::scope(|scope| {
        // The statements to find here wait on connections of their own; a client's writes share
        // one.
        let mut holder = nodes.cluster.session(&nodes.url());
        holder.run("BEGIN; LOCK TABLE api_keys");
        for _ in 0..3 {
            let api_key = nodes.client.api_key.clone();
            scope.spawn(move || {
                let mut tenant = Tenant { http: Http::new(busy), api_key };
                tenant.create(&request_for(&["given_name"]));
            });
        }
        eventually("they wait in the database", || connections(busy, "busy") >= 3);
        assert!(connections(other, "busy") < 3);
    });
    assert!(connections(busy, "idle") >= 3);
}
