//! Authorization of every endpoint: scopes, bad credentials of every kind, objects of other clients
//! and modes (decisions 10, 17). All tests are generated from one table.

pub(crate) mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufReader, Write};

use idgate_server::openapi;
use idgate_testkit::openid4vp::Request as Asked;
use serde_json::{Value, json};

use self::table::{Access, Endpoint, table};
use crate::http::{Http, Request, Response, connect, read_response};
use crate::server::{Installation, eventually};
use crate::tenant::{Gateway, Tenant, now_ms, request_for, wallet_with};

const SCOPES: [&str; 4] = ["session:create", "session:read", "audit:read", "api_keys:manage"];
/// An id that does not exist.
const NOBODYS: &str = "x_0000000000000000000000";

/// Credentials of every kind, and clients that own objects.
struct Cast {
    gateway: Gateway,
    /// One key per scope, and one key that lacks only that scope.
    only: BTreeMap<&'static str, String>,
    all_but: BTreeMap<&'static str, String>,
    /// Bad keys, by the fault that they have.
    bad_keys: Vec<(&'static str, String)>,
    stranger: String,
    live: String,
    admin: String,
    bad_tokens: Vec<(&'static str, String)>,
}

impl Cast {
    fn gather() -> Self {
        let installation = Installation::new()
            .with("IDGATE_PROFILES", "draft,1.0")
            .with("IDGATE_DC_API", "unsigned")
            .with("IDGATE_PAGE", "on");
        let stranger = installation.create_client("stranger", true).api_key;
        let live = installation.create_client("live", false).api_key;
        let gone = installation.create_client("gone", true);
        let (admin, revoked_admin) = (admin_token(&installation), admin_token(&installation));
        let unknown_admin = admin_token(&Installation::new()).1;
        let unknown_key = Installation::new().create_client("elsewhere", true).api_key;
        let gateway = Gateway::start_on(installation);
        let mut owner = gateway.tenant();
        let only = keys_for(|scope| json!([scope]), &mut owner);
        let but = |scope| SCOPES.into_iter().filter(|other| *other != scope).collect::<Vec<_>>();
        let all_but = keys_for(|scope| json!(but(scope)), &mut owner);
        let (revoked_id, revoked) = make_key(&mut owner, &json!({ "scopes": SCOPES }));
        let revoke = Request::delete(format!("/v1/api-keys/{revoked_id}"));
        owner.http.send(&revoke.bearer(&owner.api_key)).expect_status(204);
        let run = |arguments: &[&str]| assert_eq!(gateway.installation.run(arguments).code, 0);
        run(&["client", "revoke", &gone.client_id]);
        run(&["admin-token", "revoke", &revoked_admin.0]);
        let expired = expired_key(&mut owner);
        let malformed = one_letter_changed(&gateway.client.api_key);
        let bad_keys = vec![
            ("malformed", malformed),
            ("unknown", unknown_key),
            ("revoked", revoked),
            ("expired", expired),
            ("client revoked", gone.api_key),
            ("an admin token", admin.1.clone()),
        ];
        let bad_tokens = vec![
            ("malformed", one_letter_changed(&admin.1)),
            ("unknown", unknown_admin),
            ("revoked", revoked_admin.1),
            ("an API key", gateway.client.api_key.clone()),
        ];
        Self { gateway, only, all_but, bad_keys, stranger, live, admin: admin.1, bad_tokens }
    }

    fn tenant(&self, key: &str) -> Tenant {
        Tenant { http: self.gateway.http(), api_key: key.into() }
    }

    /// Creates an object for the owner of `key` and returns its id.
    fn object(&self, endpoint: &Endpoint, key: &str) -> String {
        endpoint
            .object
            .map_or_else(|| NOBODYS.into(), |make| make(&self.gateway, &mut self.tenant(key)))
    }

    fn own_object(&self, endpoint: &Endpoint) -> String {
        self.object(endpoint, &self.gateway.client.api_key)
    }
}

fn admin_token(installation: &Installation) -> (String, String) {
    let made = installation.run_json(&["admin-token", "create", "--json"]);
    let text = |member: &str| made[member].as_str().unwrap().to_owned();
    (text("id"), text("admin_token"))
}

fn make_key(owner: &mut Tenant, wish: &Value) -> (String, String) {
    let request = Request::post("/v1/api-keys").bearer(&owner.api_key).json(wish);
    let made = owner.http.send(&request).expect_status(201).json();
    (made["id"].as_str().unwrap().into(), made["api_key"].as_str().unwrap().into())
}

fn keys_for(
    scopes: impl Fn(&'static str) -> Value,
    owner: &mut Tenant,
) -> BTreeMap<&'static str, String> {
    let key = |scope| (scope, make_key(owner, &json!({ "scopes": scopes(scope) })).1);
    SCOPES.into_iter().map(key).collect()
}

fn expired_key(owner: &mut Tenant) -> String {
    let soon = idgate_core::UnixMillis(now_ms() + 1000).to_string();
    let (_, key) = make_key(owner, &json!({ "scopes": SCOPES, "expires_at": soon }));
    let probe = Request::get("/v1/sessions/x").bearer(&key);
    eventually("the key expires", || owner.http.send(&probe).status == 401);
    key
}

/// Right in form and length, with a checksum that no longer fits.
fn one_letter_changed(key: &str) -> String {
    let at = key.len() - 20;
    let other = if key[at..].starts_with('a') { "b" } else { "a" };
    format!("{}{other}{}", &key[..at], &key[at + 1..])
}

#[test]
fn every_route_has_a_row_and_every_row_a_route() {
    let routed: BTreeSet<(String, String)> = idgate_server::http::routes()
        .map(|(method, path)| (method.to_owned(), path.to_owned()))
        .collect();
    let rows: Vec<_> =
        table().iter().map(|row| (row.method.to_owned(), row.path.to_owned())).collect();
    assert_eq!(rows.len(), routed.len(), "a row is there twice");
    assert_eq!(rows.into_iter().collect::<BTreeSet<_>>(), routed);
}

#[test]
fn openapi_requires_the_same_credentials() {
    let document: Value = serde_json::from_str(openapi::BROWSERS.with_pages.json).unwrap();
    let anonymous = |path: &str| {
        let segments = path.split('/').map(|part| if part.starts_with('{') { "{}" } else { part });
        segments.collect::<Vec<_>>().join("/")
    };
    for row in table() {
        let items = document["paths"].as_object().unwrap();
        let item = items.iter().find(|(path, _)| anonymous(path) == anonymous(row.path));
        let operation =
            &item.unwrap_or_else(|| panic!("{}", row.path)).1[row.method.to_lowercase()];
        let security = operation["security"].as_array();
        let schemes: Vec<&str> = security
            .into_iter()
            .flatten()
            .flat_map(|scheme| scheme.as_object().unwrap().keys().map(String::as_str))
            .collect();
        let (scheme, statuses) = match row.access {
            Access::Tenant(scope) => {
                let text = operation["description"].as_str().unwrap_or_default();
                assert!(text.contains(&format!("`{scope}`")), "{} {}", row.method, row.path);
                (vec!["tenantKey"], vec!["401", "403"])
            }
            Access::Admin => (vec!["adminToken"], vec!["401"]),
            Access::Public => (vec![], vec![]),
        };
        assert!(schemes.starts_with(&scheme), "{} {}: {schemes:?}", row.method, row.path);
        assert_eq!(schemes.is_empty(), scheme.is_empty(), "{} {}", row.method, row.path);
        for status in statuses {
            assert!(operation["responses"].get(status).is_some(), "{} {}", row.method, row.path);
        }
    }
}

#[test]
fn a_key_needs_only_the_scope_of_the_endpoint() {
    let cast = Cast::gather();
    let mut http = cast.gateway.http();
    for row in table() {
        let Access::Tenant(scope) = row.access else { continue };
        for (other, key) in &cast.only {
            let answer = http.send(&row.request(&cast.own_object(&row)).bearer(key));
            if *other == scope {
                answer.expect_status(row.ok);
            } else {
                answer.expect_error(403, "insufficient_scope");
            }
        }
        let lacking = row.request(&cast.own_object(&row)).bearer(&cast.all_but[scope]);
        http.send(&lacking).expect_error(403, "insufficient_scope");
        // The operator's key has all scopes.
        let full = row.request(&cast.own_object(&row)).bearer(&cast.gateway.client.api_key);
        http.send(&full).expect_status(row.ok);
    }
}

#[test]
fn no_answer_shows_a_claim_to_a_key_that_may_not_read_sessions() {
    const VALUE: &str = "Friederike-7f3a9c";
    let cast = Cast::gather();
    let mut http = cast.gateway.http();
    let mut owner = cast.gateway.tenant();
    let wallet = wallet_with(&[("given_name", VALUE)]);
    let key = &cast.all_but["session:read"];
    let shows =
        |answer: &Response| answer.body.windows(VALUE.len()).any(|part| part == VALUE.as_bytes());
    for row in table() {
        let verified = owner.verified(&request_for(&["given_name"]), &wallet);
        assert!(shows(&owner.get(&verified.id)), "the value is in the answer to its reader");
        let id = match row.path.starts_with("/v1/sessions/{id}") {
            true => verified.id,
            false => cast.own_object(&row),
        };
        let answer = http.send(&row.request(&id).bearer(key));
        assert!(!shows(&answer), "{} {}: {answer:?}", row.method, row.path);
    }
    // The answer to a credential that a page relays.
    for (key, reads) in
        [(key, false), (&cast.only["session:create"], false), (&owner.api_key, true)]
    {
        let mut request = request_for(&["given_name"]);
        request["profile"] = json!("1.0");
        request["dc_api"] = json!({ "origins": ["https://shop.example"] });
        let created = cast.tenant(&cast.gateway.client.api_key).create(&request);
        let passed_on = created.answer["dc_api"]["requests"].as_array().unwrap().last().unwrap();
        let protocol = passed_on["protocol"].as_str().unwrap();
        let asked =
            Asked::of_browser(protocol, &passed_on["data"], "https://shop.example").unwrap();
        let answer = wallet.answer_1_0(&asked, now_ms()).unwrap().credential(protocol);
        let relay = Request::post(format!("/v1/sessions/{}/dc-api", created.id));
        let answer = http.send(&relay.bearer(key).json(&answer)).expect_status(200);
        assert_eq!(shows(&answer), reads, "{answer:?}");
        let session = answer.json();
        assert_eq!(session["status"], "VERIFIED");
        assert_eq!(session.get("verification_details").is_some(), reads, "{session}");
        assert!(session.get("claims_withheld").is_none(), "{session}");
    }
}

#[test]
fn a_credential_that_is_missing_or_bad_in_any_way_is_the_same_401() {
    let cast = Cast::gather();
    let mut http = cast.gateway.http();
    for row in table() {
        let (bad, code) = match row.access {
            Access::Tenant(_) => (&cast.bad_keys, "invalid_api_key"),
            Access::Admin => (&cast.bad_tokens, "invalid_admin_token"),
            Access::Public => continue,
        };
        let id = cast.own_object(&row);
        let missing = http.send(&row.request(&id)).expect_error(401, code);
        for (why, credential) in bad {
            let answer = http.send(&row.request(&id).bearer(credential));
            assert_eq!(answer.status, 401, "{} {}: {why}", row.method, row.path);
            let answer = answer.expect_error(401, code);
            assert_eq!(answer.header("www-authenticate"), Some("Bearer"), "{why}");
            assert_eq!(answer.body, missing.body, "{} {}: {why}", row.method, row.path);
        }
        if row.access == Access::Admin {
            http.send(&row.request(&id).bearer(&cast.admin)).expect_status(row.ok);
        }
    }
}

#[test]
fn objects_of_another_client_or_mode_are_404_like_unknown_ones() {
    let cast = Cast::gather();
    let mut http = cast.gateway.http();
    let mut asked = 0;
    for row in table().iter().filter(|row| row.names_an_object()) {
        if !matches!(row.access, Access::Tenant(_)) {
            continue;
        }
        let mut ask = |id: &str, key: &str| http.send(&row.request(id).bearer(key));
        let key = &cast.gateway.client.api_key;
        let nobodys = ask(NOBODYS, key).expect_error(404, "not_found");
        let theirs = cast.object(row, &cast.stranger);
        let in_live = cast.object(row, &cast.live);
        for id in [&theirs, &in_live] {
            let answer = ask(id, key).expect_error(404, "not_found");
            assert_eq!(answer.body, nobodys.body, "{} {}", row.method, row.path);
        }
        // A live client and a test client's object. Each object is still there for its owner.
        ask(&theirs, &cast.live).expect_error(404, "not_found");
        ask(&theirs, &cast.stranger).expect_status(row.ok);
        ask(&in_live, &cast.live).expect_status(row.ok);
        asked += 1;
    }
    assert!(asked >= 4, "{asked}");
}

#[test]
fn public_endpoints_ignore_credentials() {
    let cast = Cast::gather();
    let mut http = cast.gateway.http();
    for row in table().iter().filter(|row| row.access == Access::Public) {
        http.send(&row.request(&cast.own_object(row))).expect_status(row.ok);
        for (_, key) in &cast.bad_keys {
            http.send(&row.request(&cast.own_object(row)).bearer(key)).expect_status(row.ok);
        }
    }
}

#[test]
fn every_tenant_route_checks_in_the_same_order() {
    let cast = Cast::gather();
    let mut http = cast.gateway.http();
    let mut expect = |request: Request, status, code| {
        http.send(&request).expect_error(status, code);
    };
    for row in table() {
        let Access::Tenant(scope) = row.access else { continue };
        if !row.headers.is_empty() {
            // A faulty handshake is reported before anything else.
            continue;
        }
        let path = row.path.replace("{id}", NOBODYS);
        let bad_body = |method| Request::new(method, &*path).bytes("{");
        // Path, method, key, scope, body, object.
        expect(Request::new(row.method, format!("{path}/")).bytes("{"), 404, "not_found");
        expect(bad_body("PATCH"), 405, "method_not_allowed");
        expect(bad_body(row.method), 401, "invalid_api_key");
        expect(bad_body(row.method).bearer(&cast.all_but[scope]), 403, "insufficient_scope");
        let key = &cast.only[scope];
        if row.body.is_some() {
            expect(bad_body(row.method).bearer(key), 400, "invalid_request");
        } else if row.names_an_object() {
            expect(bad_body(row.method).bearer(key), 404, "not_found");
        }
    }
}

#[test]
fn a_body_over_64_kib_is_400_without_being_read() {
    let cast = Cast::gather();
    for row in table().iter().filter(|row| !row.takes_an_answer()) {
        let (Access::Tenant(scope), Some(_)) = (row.access, row.body) else { continue };
        let answer = announce(&cast, row, row.path, &cast.only[scope], 65_537);
        answer.expect_error(400, "invalid_request");
    }
    let mut http = Http::new(cast.gateway.server.address);
    http.send(&Request::get("/healthz")).expect_status(200);
}

#[test]
fn a_relayed_answer_over_1_mib_is_413_without_being_read() {
    let cast = Cast::gather();
    for row in table().iter().filter(|row| row.takes_an_answer()) {
        let Access::Tenant(scope) = row.access else { continue };
        let path = row.path.replace("{id}", &cast.own_object(row));
        let answer = announce(&cast, row, &path, &cast.only[scope], 1_048_577);
        answer.expect_error(413, "payload_too_large");
    }
}

/// Sends a head that announces a body of this length, without the body.
fn announce(cast: &Cast, row: &Endpoint, path: &str, key: &str, length: usize) -> Response {
    let head = format!(
        "{} {path} HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer {key}\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n",
        row.method
    );
    let mut stream = connect(cast.gateway.server.address).unwrap();
    stream.write_all(head.as_bytes()).unwrap();
    let answer = read_response(&mut BufReader::new(&stream), row.method).unwrap();
    assert_eq!(answer.header("connection"), Some("close"));
    answer
}
