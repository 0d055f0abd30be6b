//! The endpoints, one row each. Add a row with each new route; without it the tests fail.

use idgate_testkit::request::AuthorizationRequest;
use serde_json::{Value, json};

use crate::http::Request;
use crate::server::eventually;
use crate::tenant::{Created, Gateway, Tenant, request_for, sample_wallet};

/// One method of one path.
#[derive(Clone, Copy)]
pub(crate) struct Endpoint {
    pub(crate) method: &'static str,
    /// The path in the router, where `{id}` is the name of an object.
    pub(crate) path: &'static str,
    pub(crate) access: Access,
    /// The answer to a request that passes every access check.
    pub(crate) ok: u16,
    /// Creates the required object, as its owner, and returns its id. It is the object in `{id}`,
    /// or another one.
    pub(crate) object: Option<fn(&Gateway, &mut Tenant) -> String>,
    /// A valid body.
    pub(crate) body: Option<fn() -> Value>,
    /// Further headers of a request.
    pub(crate) headers: &'static [(&'static str, &'static str)],
}

/// The required credential.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Access {
    /// An API key with this scope.
    Tenant(&'static str),
    /// An admin token.
    Admin,
    Public,
}

/// Every endpoint of this version.
pub(crate) fn table() -> Vec<Endpoint> {
    vec![
        tenant("POST", "/v1/sessions", "session:create", 201).with(session_request),
        tenant("GET", "/v1/sessions/{id}", "session:read", 200).of(session),
        tenant("DELETE", "/v1/sessions/{id}", "session:create", 204).of(session),
        // The wallet presents nothing, which settles the session.
        tenant("POST", "/v1/sessions/{id}/dc-api", "session:create", 200)
            .of(session_for_browsers)
            .with(relayed),
        tenant("GET", "/v1/sessions/{id}/ws", "session:read", 101).of(session).by(WEB_SOCKET),
        tenant("GET", "/v1/sessions/{id}/report", "audit:read", 200).of(refused),
        tenant("GET", "/v1/sessions/{id}/events", "session:read", 200).of(declined),
        public("GET", "/v1/sessions/{id}/open", 302).of(session),
        // Sessions in request mode inline have no Request Object.
        public("GET", "/v1/oid4vp/request/{id}", 404).of(session),
        public("POST", "/v1/oid4vp/request/{id}", 400).of(session),
        public("POST", "/v1/oid4vp/response/{id}", 400).of(session),
        public("GET", "/v/{id}", 200).of(page),
        public("POST", "/v/{id}/take", 303).of(page),
        public("POST", "/v/{id}/cancel", 200).of(page),
        // The page did not show that part, and no phone has the page.
        public("GET", "/v/{id}/on/{part}", 404).of(page),
        public("POST", "/v/{id}/on/{part}", 404).of(page),
        public("POST", "/v/{id}/back", 403).of(page),
        public("GET", "/v/{id}/state", 200).of(page),
        // No browser has taken the page.
        public("GET", "/v/{id}/dc-api", 403).of(page),
        public("POST", "/v/{id}/dc-api", 403).of(page).with(relayed),
        public("GET", "/v/{id}/open", 302).of(page),
        // The client has no logo.
        public("GET", "/v/{id}/logo", 404).of(page),
        public("GET", "/v/{id}/theme.css", 404).of(page),
        public("GET", "/v/page.js", 200),
        public("GET", "/v/page.css", 200),
        public("GET", "/v/icon.svg", 200),
        public("GET", "/.well-known/jwks.json", 200),
        public("GET", "/.well-known/did.json", 200),
        tenant("GET", "/v1/api-keys", "api_keys:manage", 200),
        tenant("POST", "/v1/api-keys", "api_keys:manage", 201).with(key_request),
        tenant("DELETE", "/v1/api-keys/{id}", "api_keys:manage", 204).of(key),
        tenant("POST", "/v1/api-keys/{id}/rotate", "api_keys:manage", 200).of(key),
        tenant("GET", "/v1/audit-log", "audit:read", 200),
        tenant("GET", "/v1/webhook-endpoint", "api_keys:manage", 200).of(webhook_endpoint),
        tenant("PUT", "/v1/webhook-endpoint", "api_keys:manage", 200).with(endpoint_request),
        tenant("DELETE", "/v1/webhook-endpoint", "api_keys:manage", 204).of(webhook_endpoint),
        // Its host was not reviewed.
        tenant("POST", "/v1/webhook-endpoint/test", "api_keys:manage", 400).of(webhook_endpoint),
        tenant("GET", "/v1/webhooks/pending", "audit:read", 200),
        tenant("GET", "/v1/webhooks/failures", "audit:read", 200),
        tenant("POST", "/v1/webhooks/failures/{id}/retry", "api_keys:manage", 200).of(failure),
        admin("GET", "/v1/admin/metrics", 200),
        admin("GET", "/metrics", 200),
        public("GET", "/api/openapi.json", 200),
        public("GET", "/api/openapi.yaml", 200),
        public("GET", "/api/openapi-3.0.yaml", 200),
        public("GET", "/healthz", 200),
        public("GET", "/readyz", 200),
    ]
}

pub(crate) const fn tenant(
    method: &'static str,
    path: &'static str,
    scope: &'static str,
    ok: u16,
) -> Endpoint {
    endpoint(method, path, Access::Tenant(scope), ok)
}

pub(crate) const fn admin(method: &'static str, path: &'static str, ok: u16) -> Endpoint {
    endpoint(method, path, Access::Admin, ok)
}

pub(crate) const fn public(method: &'static str, path: &'static str, ok: u16) -> Endpoint {
    endpoint(method, path, Access::Public, ok)
}

const fn endpoint(method: &'static str, path: &'static str, access: Access, ok: u16) -> Endpoint {
    Endpoint { method, path, access, ok, object: None, body: None, headers: &[] }
}

impl Endpoint {
    /// With an object of a tenant.
    const fn of(mut self, object: fn(&Gateway, &mut Tenant) -> String) -> Self {
        self.object = Some(object);
        self
    }

    /// With a JSON body.
    const fn with(mut self, body: fn() -> Value) -> Self {
        self.body = Some(body);
        self
    }

    /// With its own headers.
    const fn by(mut self, headers: &'static [(&'static str, &'static str)]) -> Self {
        self.headers = headers;
        self
    }

    /// Whether it is about an object that a client owns.
    pub(crate) fn names_an_object(&self) -> bool {
        self.path.contains("{id}")
    }

    /// Whether its body is a wallet's answer, which may be larger than a tenant's body.
    pub(crate) fn takes_an_answer(&self) -> bool {
        self.path.ends_with("/dc-api")
    }

    /// A request without faults, apart from its credential.
    pub(crate) fn request(&self, id: &str) -> Request {
        let request = Request::new(self.method, self.path.replace("{id}", id));
        let request = self
            .headers
            .iter()
            .fold(request, |request, (name, value)| request.header(name, *value));
        match self.body {
            Some(body) => request.json(&body()),
            None => request,
        }
    }
}

const WEB_SOCKET: &[(&str, &str)] = &[
    ("Connection", "Upgrade"),
    ("Upgrade", "websocket"),
    ("Sec-WebSocket-Version", "13"),
    ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ("Sec-WebSocket-Protocol", "svc-id-v1"),
];

fn relayed() -> Value {
    json!({ "protocol": "openid4vp-v1-unsigned", "data": { "error": "access_denied" } })
}

fn session_request() -> Value {
    request_for(&["given_name"])
}

fn session(_: &Gateway, tenant: &mut Tenant) -> String {
    tenant.create(&session_request()).id
}

/// A session whose page asks its browser.
fn session_for_browsers(_: &Gateway, tenant: &mut Tenant) -> String {
    let mut request = session_request();
    request["profiles"] = json!(["1.0"]);
    tenant.create(&request).id
}

/// A settled session, so that its stream ends.
fn declined(_: &Gateway, tenant: &mut Tenant) -> String {
    let created = tenant.create(&session_request());
    decline(tenant, &created);
    created.id
}

/// A session whose answer was rejected.
fn refused(_: &Gateway, tenant: &mut Tenant) -> String {
    let created = tenant.create(&session_request());
    let stale = sample_wallet().answer_uri(&created.uri, 0).unwrap();
    tenant.post_answer(&created.id, &stale.form_body()).expect_status(400);
    created.id
}

fn decline(tenant: &mut Tenant, created: &Created) {
    let request = AuthorizationRequest::parse(&created.uri).unwrap();
    let answer = Request::post(format!("/v1/oid4vp/response/{}", created.id))
        .json(&json!({ "error": "access_denied", "state": request.state }));
    tenant.http.send(&answer).expect_status(200);
}

fn page(_: &Gateway, tenant: &mut Tenant) -> String {
    let created = tenant.create(&session_request());
    let url = created.answer["page_url"].as_str().unwrap();
    url.rsplit('/').next().unwrap().into()
}

fn key_request() -> Value {
    json!({ "scopes": ["api_keys:manage"] })
}

fn key(_: &Gateway, tenant: &mut Tenant) -> String {
    let request = Request::post("/v1/api-keys").bearer(&tenant.api_key).json(&key_request());
    let made = tenant.http.send(&request).expect_status(201).json();
    made["id"].as_str().unwrap().into()
}

fn endpoint_request() -> Value {
    json!({ "url": "https://shop.example/hook" })
}

fn put_endpoint(tenant: &mut Tenant, url: &str) {
    let request = Request::new("PUT", "/v1/webhook-endpoint").bearer(&tenant.api_key);
    tenant.http.send(&request.json(&json!({ "url": url }))).expect_status(200);
}

fn webhook_endpoint(_: &Gateway, tenant: &mut Tenant) -> String {
    put_endpoint(tenant, "https://shop.example/hook");
    String::new()
}

/// A dead letter, because the operator rejects its host.
fn failure(gateway: &Gateway, tenant: &mut Tenant) -> String {
    let host = "rejected.example";
    put_endpoint(tenant, &format!("https://{host}/"));
    let reject = ["webhook-host", "reject", host, "--note", "n"];
    assert_eq!(gateway.installation.run(&reject).code, 0);
    let created = tenant.create(&session_request());
    decline(tenant, &created);
    let list = Request::get("/v1/webhooks/failures").bearer(&tenant.api_key);
    let mut found = None;
    eventually("the delivery fails", || {
        let list = tenant.http.send(&list).expect_status(200).json();
        let failures = list["failures"].as_array().unwrap().iter();
        let mut of_session =
            failures.filter(|failure| failure["session_id"] == created.id.as_str());
        found = of_session.next().map(|failure| failure["id"].as_str().unwrap().to_owned());
        found.is_some()
    });
    found.unwrap()
}
