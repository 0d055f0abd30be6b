//! A tenant with a running server, and the wallets that answer it.

use std::time::{SystemTime, UNIX_EPOCH};

use idgate_core::UnixMillis;
use idgate_testkit::keys::Curve;
use idgate_testkit::samples;
use idgate_testkit::wallet::{Body, Wallet};
use serde_json::{Value, json};

use crate::http::{Http, Request, Response};
use crate::server::{Client, Installation, Server};
use crate::tamper::scenario::Trust;

/// A tenant's view of a server: one API key, one connection.
#[derive(Debug)]
pub(crate) struct Tenant {
    pub(crate) http: Http,
    pub(crate) api_key: String,
}

/// A session as it was created.
#[derive(Clone, Debug)]
pub(crate) struct Created {
    pub(crate) id: String,
    pub(crate) uri: String,
    pub(crate) answer: Value,
    /// When it was created, by the server's clock. Its wallet answers as of this time: a clock of
    /// its own would run ahead of one that the test has stopped.
    pub(crate) made_ms: u64,
}

/// An installation that trusts the sample issuer, one client, and the server.
#[derive(Debug)]
pub(crate) struct Gateway {
    // Dropped before its directory.
    pub(crate) server: Server,
    pub(crate) client: Client,
    pub(crate) installation: Installation,
}

impl Gateway {
    pub(crate) fn start() -> Self {
        Self::start_on(Installation::new())
    }

    pub(crate) fn start_on(installation: Installation) -> Self {
        Self::trusting(installation, &sample_trust())
    }

    pub(crate) fn trusting(installation: Installation, trust: &Trust) -> Self {
        let client = installation.create_client("shop", true);
        installation.trust(trust, &[]);
        let server = installation.serve();
        Self { server, client, installation }
    }

    pub(crate) fn tenant(&self) -> Tenant {
        self.tenant_of(&self.client)
    }

    pub(crate) fn tenant_of(&self, client: &Client) -> Tenant {
        Tenant { http: self.http(), api_key: client.api_key.clone() }
    }

    pub(crate) fn http(&self) -> Http {
        self.server.http()
    }
}

impl Tenant {
    pub(crate) fn at(server: &Server, api_key: &str) -> Self {
        Self { http: server.http(), api_key: api_key.to_owned() }
    }

    #[track_caller]
    pub(crate) fn create(&mut self, request: &Value) -> Created {
        let answer = self.post_session(request).expect_status(201).json();
        Created { made_ms: self.http.now_ms(), ..Created::of(answer) }
    }

    pub(crate) fn post_session(&mut self, request: &Value) -> Response {
        let request = Request::post("/v1/sessions").bearer(&self.api_key).json(request);
        self.http.send(&request)
    }

    pub(crate) fn get(&mut self, id: &str) -> Response {
        self.http.send(&Request::get(format!("/v1/sessions/{id}")).bearer(&self.api_key))
    }

    /// The session as `SessionStatus`.
    #[track_caller]
    pub(crate) fn read(&mut self, id: &str) -> Value {
        self.get(id).expect_status(200).json()
    }

    pub(crate) fn delete(&mut self, id: &str) -> Response {
        self.http.send(&Request::delete(format!("/v1/sessions/{id}")).bearer(&self.api_key))
    }

    /// Posts a wallet's answer.
    pub(crate) fn post_answer(&mut self, id: &str, body: &Body) -> Response {
        self.http.send(&answer_request(id, body))
    }

    /// The session is FAILED for `reason`, and has no other result.
    #[track_caller]
    pub(crate) fn expect_failed(&mut self, created: &Created, reason: &str) {
        let session = self.read(&created.id);
        let mut expected = vec!["expires_at", "livemode", "reason", "session_id", "status"];
        if reason == "wallet_error" {
            expected.push("wallet_error");
        }
        assert_eq!(members(&session), expected);
        assert_eq!((&session["status"], &session["reason"]), (&json!("FAILED"), &json!(reason)));
    }

    /// The session created under an idempotency key, the first time or again.
    #[track_caller]
    pub(crate) fn once(&mut self) -> String {
        let post = Request::post("/v1/sessions").bearer(&self.api_key);
        let post = post.header("Idempotency-Key", "once").json(&request_for(&["given_name"]));
        let made = self.http.send(&post).expect_status(201).json();
        made["session_id"].as_str().unwrap().to_owned()
    }

    /// A session of `request`, answered by `wallet` and VERIFIED.
    #[track_caller]
    pub(crate) fn verified(&mut self, request: &Value, wallet: &Wallet) -> Created {
        let created = self.create(request);
        self.post_answer(&created.id, &form(wallet, &created)).expect_status(200);
        created
    }
}

impl Created {
    pub(crate) fn of(answer: Value) -> Self {
        let text = |member: &str| answer[member].as_str().unwrap_or_default().to_owned();
        Self { id: text("session_id"), uri: text("qr_code_url"), answer, made_ms: now_ms() }
    }
}

pub(crate) fn answer_request(id: &str, body: &Body) -> Request {
    Request::post(format!("/v1/oid4vp/response/{id}")).answer(body)
}

/// The sample wallet's answer to a session, as a form.
#[track_caller]
pub(crate) fn form(wallet: &Wallet, created: &Created) -> Body {
    wallet.answer_uri(&created.uri, created.made_ms).unwrap().form_body()
}

/// Trust in the sample issuer's P-256 key.
pub(crate) fn sample_trust() -> Trust {
    Trust {
        issuer_id: samples::ISSUER.into(),
        vct: vec![samples::VCT.into()],
        keys: vec![samples::issuer_key(Curve::P256).public_jwk()],
        sd_jwt_roots: Vec::new(),
        revocation: "if_published",
    }
}

/// A wallet with Erika Mustermann's identity.
pub(crate) fn sample_wallet() -> Wallet {
    let sample = samples::issue_sample(now_ms());
    Wallet::new(sample.holder_key).with(sample.credential)
}

/// A wallet whose credential has these values instead of Erika's.
pub(crate) fn wallet_with(values: &[(&str, &str)]) -> Wallet {
    let holder = samples::holder_key(Curve::P256);
    let credential = values
        .iter()
        .fold(samples::identity(&holder, now_ms()), |made, (name, value)| made.sd(name, *value));
    Wallet::new(holder).with(credential.issue(&samples::issuer_key(Curve::P256)))
}

/// A request for one credential of the sample issuer, with the id `pid`.
pub(crate) fn request_for(claims: &[&str]) -> Value {
    json!({ "credentials": [credential("pid", claims)] })
}

pub(crate) fn credential(id: &str, claims: &[&str]) -> Value {
    json!({ "id": id, "format": "vc+sd-jwt", "issuer_id": samples::ISSUER, "claims": claims })
}

pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    u64::try_from(since.as_millis()).unwrap()
}

/// The names of an object's members, sorted.
pub(crate) fn members(value: &Value) -> Vec<&str> {
    let members = value.as_object().unwrap_or_else(|| panic!("no object: {value}"));
    members.keys().map(String::as_str).collect()
}

/// RFC 3339, UTC, milliseconds and `Z` (decisions 4).
#[track_caller]
pub(crate) fn timestamp(value: &Value) -> u64 {
    let text = value.as_str().unwrap_or_default();
    assert!(text.len() == 24 && text.ends_with('Z') && text.contains('.'), "{value}");
    UnixMillis::parse_rfc3339(text).unwrap_or_else(|| panic!("{value}")).0
}
