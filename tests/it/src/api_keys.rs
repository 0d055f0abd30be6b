//! A tenant manages its own API keys over HTTP (specification 2, 4, 5; decisions 10).

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::disk;
use crate::http::{Http, Request, Response};
use crate::server::{Installation, eventually};
use crate::tenant::{Gateway, members, request_for, timestamp};

const KEYS: &str = "/v1/api-keys";
const ALL: [&str; 4] = ["session:create", "session:read", "audit:read", "api_keys:manage"];

/// A client that uses this key.
struct Holder {
    http: Http,
    key: String,
}

impl Holder {
    fn of(gateway: &Gateway, key: &str) -> Self {
        Self { http: gateway.http(), key: key.into() }
    }

    fn send(&mut self, request: Request) -> Response {
        self.http.send(&request.bearer(&self.key))
    }

    fn create(&mut self, body: &Value) -> Response {
        self.send(Request::post(KEYS).json(body))
    }

    #[track_caller]
    fn created(&mut self, scopes: &[&str]) -> Value {
        self.create(&json!({ "scopes": scopes })).expect_status(201).json()
    }

    fn rotate(&mut self, id: &str) -> Response {
        self.send(Request::post(format!("{KEYS}/{id}/rotate")))
    }

    fn revoke(&mut self, id: &str) -> Response {
        self.send(Request::delete(format!("{KEYS}/{id}")))
    }

    #[track_caller]
    fn list(&mut self) -> Vec<Value> {
        let list = self.send(Request::get(KEYS)).expect_status(200).json();
        assert_eq!(members(&list), ["api_keys"]);
        list["api_keys"].as_array().unwrap().clone()
    }

    /// Whether the key is accepted.
    fn is_in(&mut self) -> bool {
        match self.send(Request::get("/v1/sessions/x")).status {
            401 => false,
            403 | 404 => true,
            other => panic!("{other}"),
        }
    }
}

fn text(value: &Value, member: &str) -> String {
    value[member].as_str().unwrap_or_else(|| panic!("no {member} in {value}")).into()
}

#[test]
fn a_key_is_made_listed_used_and_revoked() {
    let gateway = Gateway::start_on(Installation::new().with_machine());
    let mut owner = Holder::of(&gateway, &gateway.client.api_key);
    let wish = json!({ "scopes": ["session:read"], "name": "till", "expires_at": null });
    let made = owner.create(&wish).expect_status(201).json();
    let secret = ["api_key", "expires_at", "id", "last_used_at", "livemode", "name", "scopes"];
    assert_eq!(members(&made), secret);
    assert_eq!((&made["name"], &made["scopes"]), (&json!("till"), &json!(["session:read"])));
    assert_eq!((&made["expires_at"], &made["last_used_at"]), (&Value::Null, &Value::Null));
    let (id, value) = (text(&made, "id"), text(&made, "api_key"));
    assert!(id.starts_with("key_") && id.len() == 26 && value.starts_with("sk_test_"));
    // Newest first. The operator's key has no list of scopes.
    let list = owner.list();
    let shown =
        ["created_at", "expires_at", "id", "last_used_at", "livemode", "name", "revoked", "scopes"];
    assert!(list.iter().all(|key| members(key) == shown && key["livemode"] == false));
    assert_eq!((&list[0]["id"], &list[1]["scopes"]), (&json!(id), &Value::Null));
    assert_eq!((&list[0]["last_used_at"], &list[0]["revoked"]), (&Value::Null, &json!(false)));
    assert!(!json!(list).to_string().contains(&value[8..]));
    // The time of last use is exact to the request, although it is stored only once a minute.
    let mut holder = Holder::of(&gateway, &value);
    let mut last = 0;
    for _ in 0..3 {
        gateway.installation.machine().jump(Duration::from_millis(5));
        assert!(holder.is_in());
        let used = timestamp(&owner.list()[0]["last_used_at"]);
        assert!(used > last, "{used} after {last}");
        last = used;
    }
    owner.revoke(&id).expect_status(204);
    assert!(!holder.is_in());
    owner.revoke(&id).expect_status(204);
    owner.rotate(&id).expect_error(404, "not_found");
    // Active keys come first.
    let list = owner.list();
    assert_eq!((&list[0]["revoked"], &list[1]["revoked"]), (&json!(false), &json!(true)));
    assert_eq!(list[1]["id"], json!(id));
}

#[test]
fn rotation_keeps_everything_but_the_value() {
    let gateway = Gateway::start();
    let mut owner = Holder::of(&gateway, &gateway.client.api_key);
    let wish = json!({
        "scopes": ["audit:read"], "name": "n", "expires_at": "2999-12-31T23:59:59+00:00",
    });
    let made = owner.create(&wish).expect_status(201).json();
    let id = text(&made, "id");
    let mut old = Holder::of(&gateway, &text(&made, "api_key"));
    assert!(old.is_in());
    let rotated = owner.rotate(&id).expect_status(200).json();
    for same in ["id", "name", "scopes", "livemode", "expires_at"] {
        assert_eq!(rotated[same], made[same], "{same}");
    }
    assert_eq!(rotated["expires_at"], "2999-12-31T23:59:59.000Z");
    assert!(rotated["last_used_at"].is_string());
    assert!(!old.is_in());
    assert!(Holder::of(&gateway, &text(&rotated, "api_key")).is_in());
    assert_eq!(owner.list().len(), 2);
    // A key may rotate itself. A key with all scopes has no such member.
    let own = text(&owner.list()[1], "id");
    let rotated = owner.rotate(&own).expect_status(200).json();
    assert_eq!(
        members(&rotated),
        ["api_key", "expires_at", "id", "last_used_at", "livemode", "name"]
    );
    assert!(!owner.is_in());
    let mut owner = Holder::of(&gateway, &text(&rotated, "api_key"));
    assert!(owner.is_in());
    // It may also revoke itself.
    owner.revoke(&own).expect_status(204);
    assert!(!owner.is_in());
}

#[test]
fn a_key_cannot_create_a_key_with_more_scopes_than_its_own() {
    let gateway = Gateway::start();
    let mut owner = Holder::of(&gateway, &gateway.client.api_key);
    let manager = owner.created(&["api_keys:manage", "session:read"]);
    let mut manager = Holder::of(&gateway, &text(&manager, "api_key"));
    for scope in ALL {
        let body = json!({ "scopes": ["session:read", scope] });
        let answer = manager.create(&body);
        match scope {
            "session:read" => answer.expect_error(400, "invalid_scopes"),
            "api_keys:manage" => answer.expect_status(201),
            _ => answer.expect_error(403, "insufficient_scope"),
        };
    }
}

#[test]
fn an_invalid_key_request_is_400_with_its_code() {
    let gateway = Gateway::start();
    let mut owner = Holder::of(&gateway, &gateway.client.api_key);
    for (body, code) in [
        ("{", "invalid_json"),
        ("[]", "invalid_request"),
        ("{}", "invalid_scopes"),
        (r#"{"scopes":[]}"#, "invalid_scopes"),
        (r#"{"scopes":["audit:read","audit:read"]}"#, "invalid_scopes"),
        (r#"{"scopes":["everything"]}"#, "invalid_scopes"),
        (r#"{"scopes":["audit:read"],"expires_at":"2001-01-01T00:00:00Z"}"#, "invalid_expiry"),
        (r#"{"scopes":["audit:read"],"expires_at":"2999-01-01T00:00:00+02:00"}"#, "invalid_expiry"),
        (r#"{"scopes":["audit:read"],"name":7}"#, "invalid_request"),
        (r#"{"scopes":["audit:read"],"name":"a\u0000b"}"#, "invalid_request"),
        (r#"{"scopes":["audit:read"],"name":"till\nkey_1"}"#, "invalid_request"),
        (r#"{"scopes":["audit:read"],"name":"\u001b[2K"}"#, "invalid_request"),
        (r#"{"scopes":["audit:read"],"revoked":false}"#, "unknown_field"),
    ] {
        let request = Request::post(KEYS).header("Content-Type", "application/json");
        owner.send(request.bytes(body)).expect_error(400, code);
    }
    owner.send(Request::post(KEYS).bytes("{}")).expect_error(400, "invalid_request");
    assert_eq!(owner.list().len(), 1);
}

#[test]
fn an_expired_key_is_rejected() {
    let gateway = Gateway::start_on(Installation::new().with_machine());
    let machine = gateway.installation.machine();
    machine.freeze();
    let mut owner = Holder::of(&gateway, &gateway.client.api_key);
    let soon = idgate_core::UnixMillis(machine.now_ms() + 5000).to_string();
    let body = json!({ "scopes": ["session:read"], "expires_at": soon });
    let made = owner.create(&body).expect_status(201).json();
    assert_eq!(made["expires_at"], soon);
    let (id, mut holder) = (text(&made, "id"), Holder::of(&gateway, &text(&made, "api_key")));
    assert!(holder.is_in());
    machine.jump(Duration::from_millis(4990));
    assert!(holder.is_in());
    machine.jump(Duration::from_millis(10));
    assert!(!holder.is_in());
    owner.rotate(&id).expect_error(404, "not_found");
    assert_eq!(owner.list()[0]["revoked"], false);
    owner.revoke(&id).expect_status(204);
}

#[test]
fn key_changes_are_in_the_audit_log() {
    let gateway = Gateway::start();
    let mut owner = Holder::of(&gateway, &gateway.client.api_key);
    let made = owner.created(&["session:read"]);
    let id = text(&made, "id");
    owner.rotate(&id).expect_status(200);
    owner.revoke(&id).expect_status(204);
    owner.revoke(&id).expect_status(204);
    owner.rotate(&id).expect_status(404);
    let statuses = audited(&gateway);
    let want = ["API_KEY_CREATED", "API_KEY_CREATED", "API_KEY_ROTATED", "API_KEY_REVOKED"];
    assert_eq!(statuses, want);
}

/// The statuses in the client's audit log, oldest first.
fn audited(gateway: &Gateway) -> Vec<String> {
    let database = disk::open(&gateway.installation.data_dir().join("idgate.db"));
    let sql = "SELECT fields FROM audit_entries WHERE client_id = ?1 ORDER BY seq";
    let mut entries = database.prepare(sql).unwrap();
    let entries = entries.query_map([&gateway.client.client_id], |row| row.get::<_, String>(0));
    let status = |fields: String| {
        let fields: Value = serde_json::from_str(&fields).unwrap();
        text(&fields, "status")
    };
    entries.unwrap().map(|entry| status(entry.unwrap())).collect()
}

#[test]
fn no_api_key_is_in_plaintext_in_any_file() {
    let gateway = Gateway::start();
    let mut owner = Holder::of(&gateway, &gateway.client.api_key);
    let mut values = Vec::new();
    for _ in 0..20 {
        let made = owner.created(&["session:read"]);
        values.push(text(&made, "api_key"));
        values.push(text(&owner.rotate(&text(&made, "id")).json(), "api_key"));
    }
    let directory = gateway.installation.data_dir();
    let needles: Vec<Vec<u8>> = values.iter().map(|key| key.as_bytes()[8..40].to_vec()).collect();
    let files = disk::files_with(&directory, &needles);
    assert!(files.is_empty(), "in plain in {files:?}");
    let log = gateway.installation.log();
    assert!(values.iter().all(|value| !log.contains(&value[8..40])), "in the log");
}

/// How many requests each thread begins after the key is revoked.
const LATER: usize = 8;

/// Threads that keep using a key while it is revoked.
fn use_under_load(gateway: &Gateway, key: &str, revoke: impl FnOnce()) {
    let gone = AtomicBool::new(false);
    let before: Mutex<Vec<u16>> = Mutex::default();
    let later: Vec<u16> = thread::scope(|scope| {
        let users: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    let mut holder = Holder::of(gateway, key);
                    let mut later = Vec::new();
                    while later.len() < LATER {
                        let is_later = gone.load(Ordering::SeqCst);
                        let request = Request::post("/v1/sessions");
                        let request = request.json(&request_for(&["given_name"]));
                        let status = holder.send(request).status;
                        match is_later {
                            true => later.push(status),
                            false => before.lock().unwrap().push(status),
                        }
                    }
                    later
                })
            })
            .collect();
        // The threads must end even if the revocation panics.
        let revoked = catch_unwind(AssertUnwindSafe(|| {
            eventually("requests are under way", || before.lock().unwrap().len() > 50);
            revoke();
        }));
        gone.store(true, Ordering::SeqCst);
        revoked.unwrap_or_else(|failed| resume_unwind(failed));
        users.into_iter().flat_map(|user| user.join().unwrap()).collect()
    });
    assert!(later.iter().all(|status| *status == 401), "a revoked key opened something: {later:?}");
    assert!(before.into_inner().unwrap().contains(&201), "it never worked");
}

#[test]
fn no_request_with_a_revoked_key_succeeds_after_the_204() {
    let gateway = Gateway::start();
    let mut owner = Holder::of(&gateway, &gateway.client.api_key);
    let made = owner.created(&["session:create"]);
    let (id, key) = (text(&made, "id"), text(&made, "api_key"));
    use_under_load(&gateway, &key, || {
        owner.revoke(&id).expect_status(204);
    });
    // The same for the old value of a rotated key.
    let made = owner.created(&["session:create"]);
    let (id, key) = (text(&made, "id"), text(&made, "api_key"));
    use_under_load(&gateway, &key, || {
        owner.rotate(&id).expect_status(200);
    });
}

#[test]
fn an_operators_revocation_applies_to_the_next_request_under_load() {
    let gateway = Gateway::start();
    let key = gateway.client.api_key.clone();
    use_under_load(&gateway, &key, || {
        let revoke = ["client", "revoke", &gateway.client.client_id];
        assert_eq!(gateway.installation.run(&revoke).code, 0);
    });
}
