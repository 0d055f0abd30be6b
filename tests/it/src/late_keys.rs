//! A key that is revoked while one of its requests is being received changes nothing (decisions
//! 10).

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use crate::http::{Request, Response, connect, read_response};
use crate::machine::Machine;
use crate::server::Installation;
use crate::tenant::{Gateway, Tenant, request_for};

const KEYS: &str = "/v1/api-keys";
const ENDPOINT: &str = "/v1/webhook-endpoint";

/// A request whose key was accepted and whose body is still to come.
struct LetIn {
    connection: BufReader<TcpStream>,
    body: String,
}

impl LetIn {
    fn new(gateway: &Gateway, key: &str, line: &str, body: &Value) -> Self {
        let body = body.to_string();
        let head = format!(
            "{line} HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer {key}\r\n\
             Content-Type: application/json\r\nExpect: 100-continue\r\n\
             Content-Length: {}\r\n\r\n",
            body.len()
        );
        let mut connection = BufReader::new(connect(gateway.server.address).unwrap());
        connection.get_mut().write_all(head.as_bytes()).unwrap();
        // The server asks for the body after checking the key.
        let mut line = String::new();
        connection.read_line(&mut line).unwrap();
        assert!(line.starts_with("HTTP/1.1 100 "), "{line}");
        connection.read_line(&mut line).unwrap();
        Self { connection, body }
    }

    fn finish(mut self) -> Response {
        self.connection.get_mut().write_all(self.body.as_bytes()).unwrap();
        read_response(&mut self.connection, "POST").unwrap()
    }
}

/// A key with all scopes and perhaps an expiry: its id and its value.
fn key(tenant: &mut Tenant, expires_at: Option<u64>) -> (String, String) {
    let expires_at = expires_at.map(|at| idgate_core::UnixMillis(at).to_string());
    let scopes = ["session:create", "session:read", "audit:read", "api_keys:manage"];
    let wish = json!({ "scopes": scopes, "expires_at": expires_at });
    let request = Request::post(KEYS).bearer(&tenant.api_key).json(&wish);
    let made = tenant.http.send(&request).expect_status(201).json();
    let text = |member: &str| made[member].as_str().unwrap().to_owned();
    (text("id"), text("api_key"))
}

#[test]
fn a_key_revoked_during_its_request_changes_nothing() {
    let gateway = Gateway::start_on(Installation::new().with_machine());
    let machine = gateway.installation.machine();
    machine.freeze();
    let mut tenant = gateway.tenant();
    type Stop = fn(&mut Tenant, &Machine, &str, &str);
    let stops: [(&str, Option<u64>, Stop); 3] = [
        ("rotated", None, |tenant, _, id, key| {
            let rotate = Request::post(format!("{KEYS}/{id}/rotate")).bearer(key);
            tenant.http.send(&rotate).expect_status(200);
        }),
        ("revoked", None, |tenant, _, id, _| {
            let revoke = Request::delete(format!("{KEYS}/{id}")).bearer(&tenant.api_key);
            tenant.http.send(&revoke).expect_status(204);
        }),
        ("expired", Some(2000), |tenant, machine, _, key| {
            let probe = Request::get("/v1/sessions/x").bearer(key);
            tenant.http.send(&probe).expect_error(404, "not_found");
            machine.jump(Duration::from_secs(2));
            tenant.http.send(&probe).expect_error(401, "invalid_api_key");
        }),
    ];
    for (how, lives_for, stop) in stops {
        let expires_at = lives_for.map(|ms| machine.now_ms() + ms);
        let (id, key) = key(&mut tenant, expires_at);
        let wish = json!({ "scopes": ["session:read"] });
        let url = json!({ "url": "https://elsewhere.example/hook" });
        let post = LetIn::new(&gateway, &key, &format!("POST {KEYS}"), &wish);
        let put = LetIn::new(&gateway, &key, &format!("PUT {ENDPOINT}"), &url);
        let create = LetIn::new(&gateway, &key, "POST /v1/sessions", &request_for(&["given_name"]));
        stop(&mut tenant, machine, &id, &key);
        // A body that arrives within 20 ms counts as arriving with its head.
        gateway.server.pass(machine, Duration::from_millis(500));
        for late in [post, put, create] {
            let answer = late.finish();
            assert_eq!(answer.status, 401, "{how}: {answer:?}");
            answer.expect_error(401, "invalid_api_key");
        }
    }
    // The operator's key and the three that it created, and no endpoint.
    let list = tenant.http.send(&Request::get(KEYS).bearer(&tenant.api_key)).json();
    assert_eq!(list["api_keys"].as_array().unwrap().len(), 4);
    let endpoint = Request::get(ENDPOINT).bearer(&tenant.api_key);
    tenant.http.send(&endpoint).expect_error(404, "not_found");
}
