//! Credentials whose status list is unavailable, and lists that are fetched before they expire,
//! with the real binary and a real list host.

use std::time::Duration;

use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::samples::{self, ISSUER};
use idgate_testkit::status::{StatusJwt, StatusList, status_claim};
use idgate_testkit::time::numeric_date;
use idgate_testkit::wallet::Wallet;
use serde_json::{Value, json};

use crate::mdoc_http::Host;
use crate::metrics::seen;
use crate::server::{Installation, eventually, free_address};
use crate::tenant::{Gateway, Tenant, form, now_ms, request_for};

const JWT: &str = "application/statuslist+jwt";
const HOUR: u64 = 3600;

/// A gateway that trusts the sample issuer and may fetch lists from loopback, and a tenant.
struct Desk {
    gateway: Gateway,
    tenant: Tenant,
    token: String,
}

fn issuer_key() -> SigningKey {
    samples::issuer_key(Curve::P256)
}

/// A list that revokes index 1, made at `made_ms`.
fn list(uri: &str, made_ms: u64) -> StatusJwt {
    StatusJwt::new(&StatusList::new(1, 8).with(1, 1), uri, numeric_date(made_ms))
}

fn sign(list: StatusJwt) -> Vec<u8> {
    list.sign(&issuer_key()).into_bytes()
}

impl Desk {
    fn start(options: &[&str]) -> Self {
        Self::start_on(Installation::new(), options)
    }

    /// `options` are those of `trust add` for the issuer.
    fn start_on(installation: Installation, options: &[&str]) -> Self {
        let installation = installation.with("IDGATE_FETCH_ALLOW_CIDRS", "127.0.0.0/8");
        let made = installation.run_json(&["admin-token", "create", "--json"]);
        let token = made["admin_token"].as_str().unwrap().to_owned();
        let gateway = Gateway::start_on(installation);
        let desk = Self { tenant: gateway.tenant(), gateway, token };
        desk.set(options);
        desk
    }

    fn set(&self, options: &[&str]) {
        let add = [&["trust", "add", ISSUER][..], options].concat();
        let done = self.gateway.installation.run(&add);
        assert_eq!(done.code, 0, "{done:?}");
    }

    /// The session created with this choice, if any, and answered with the credential at `idx` of
    /// the list at `uri`.
    fn session(&mut self, choice: Option<&str>, (idx, uri): (u64, &str)) -> Value {
        let mut asked = request_for(&["given_name"]);
        if let Some(choice) = choice {
            asked["on_unknown_revocation"] = json!(choice);
        }
        let created = self.tenant.create(&asked);
        let holder = samples::holder_key(Curve::P256);
        let credential = samples::identity(&holder, created.made_ms);
        let credential = credential.plain("status", status_claim(idx, uri)).issue(&issuer_key());
        let wallet = Wallet::new(holder).with(credential);
        self.tenant.post_answer(&created.id, &form(&wallet, &created));
        self.tenant.read(&created.id)
    }

    /// `unknown`, `good`, or the reason of a rejection.
    fn outcome(&mut self, choice: Option<&str>, of: (u64, &str)) -> String {
        let session = self.session(choice, of);
        let settled = &session["verification_details"]["credentials"][0]["revocation"];
        let outcome = session["reason"].as_str().or(settled.as_str());
        outcome.unwrap_or_default().into()
    }

    fn seen(&mut self, line: &str) -> Option<u64> {
        seen(&mut self.tenant.http, &self.token, line)
    }
}

#[test]
fn an_unavailable_status_list_is_accepted_reported_and_counted_if_the_operator_allows_it() {
    let mut desk = Desk::start(&["--on-unknown-revocation", "accept"]);
    let host = Host::start();
    let counted = "idgate_revocation_unknown_accepted_total";
    assert_eq!(desk.seen(counted), Some(0));
    let session = desk.session(None, (0, &host.uri("/missing")));
    assert_eq!(session["status"], "VERIFIED");
    assert_eq!(session["claims"]["pid"], json!({ "given_name": "Erika" }));
    let details = &session["verification_details"]["credentials"][0];
    assert_eq!(details["revocation"], "unknown");
    let both = json!({ "credential": "unknown", "signer": "not_published" });
    assert_eq!(details["revocation_details"], both);
    let nowhere = format!("http://{}/list", free_address());
    assert_eq!(desk.outcome(None, (0, &nowhere)), "unknown");
    assert_eq!(desk.seen(counted), Some(2));
    eventually("the log has it", || {
        desk.gateway
            .installation
            .log()
            .contains("accepted credentials whose revocation status is unknown")
    });
    // An available list decides as usual, and is not counted.
    let uri = host.uri("/list");
    host.put("/list", JWT, sign(list(&uri, now_ms())));
    assert_eq!(desk.outcome(None, (0, &uri)), "good");
    assert_eq!(desk.outcome(None, (1, &uri)), "credential_revoked");
    assert_eq!(desk.seen(counted), Some(2));
}

#[test]
fn an_expired_status_list_is_unknown_and_an_invalid_one_is_rejected() {
    let mut desk = Desk::start(&["--on-unknown-revocation", "accept"]);
    let host = Host::start();
    let uri = |path: &str| host.uri(path);
    let now = numeric_date(now_ms());
    let over = |path: &str| list(&uri(path), now_ms() - 7_200_000).with("exp", json!(now - HOUR));
    host.put("/over", JWT, sign(over("/over")));
    assert_eq!(desk.outcome(None, (0, &uri("/over"))), "unknown");
    assert_eq!(desk.outcome(None, (1, &uri("/over"))), "revocation_unknown", "it was revoked");
    let good = |path: &str| list(&uri(path), now_ms());
    let cases = [
        ("/forged", good("/forged").sign(&samples::holder_key(Curve::P256)).into_bytes()),
        ("/sub", sign(list("https://other.example/", now_ms()))),
        ("/type", sign(good("/type").with_header("typ", json!("JWT")))),
        ("/coding", sign(good("/coding").with("status_list", json!({"bits": 1, "lst": "AAAA"})))),
        ("/html", b"<html>".to_vec()),
    ];
    for (path, content) in cases {
        host.put(path, JWT, content);
        assert_eq!(desk.outcome(None, (0, &uri(path))), "revocation_unknown", "{path}");
    }
    host.put("/short", JWT, sign(good("/short")));
    assert_eq!(desk.outcome(None, (1000, &uri("/short"))), "revocation_unknown");
    let elsewhere = host.redirect("/moved", "ftp://status.example/list");
    assert_eq!(desk.outcome(None, (0, &elsewhere)), "revocation_unknown");
}

#[test]
fn a_request_can_refuse_unknown_status_and_accept_it_only_if_the_operator_allows() {
    let mut desk = Desk::start(&[]);
    let host = Host::start();
    let missing = host.uri("/missing");
    let refused = "revocation_unknown";
    for (option, none, refuse) in
        [("refuse", refused, refused), ("accept", "unknown", refused), ("tenant", refused, refused)]
    {
        desk.set(&["--on-unknown-revocation", option]);
        assert_eq!(desk.outcome(None, (0, &missing)), none, "{option}");
        assert_eq!(desk.outcome(Some("refuse"), (0, &missing)), refuse, "{option}");
    }
    assert_eq!(desk.outcome(Some("accept"), (0, &missing)), "unknown");
    desk.set(&["--on-unknown-revocation", "refuse"]);
    let mut asked = request_for(&["given_name"]);
    asked["on_unknown_revocation"] = json!("accept");
    let answer = desk.tenant.post_session(&asked);
    let message = answer.message();
    for part in ["on_unknown_revocation", ISSUER, "refuse"] {
        assert!(message.contains(part), "{message}");
    }
    answer.expect_error(400, "invalid_request");
    asked["on_unknown_revocation"] = json!("tenant");
    desk.tenant.post_session(&asked).expect_error(400, "invalid_request");
}

/// A change by the operator applies to sessions that were created before.
#[test]
fn an_operators_refusal_applies_to_open_sessions() {
    let mut desk = Desk::start(&["--on-unknown-revocation", "tenant"]);
    let host = Host::start();
    let mut asked = request_for(&["given_name"]);
    asked["on_unknown_revocation"] = json!("accept");
    let created = desk.tenant.create(&asked);
    desk.set(&["--on-unknown-revocation", "refuse"]);
    let holder = samples::holder_key(Curve::P256);
    let credential = samples::identity(&holder, created.made_ms);
    let credential = credential.plain("status", status_claim(0, &host.uri("/missing")));
    let wallet = Wallet::new(holder).with(credential.issue(&issuer_key()));
    desk.tenant.post_answer(&created.id, &form(&wallet, &created));
    desk.tenant.expect_failed(&created, "revocation_unknown");
}

#[test]
fn an_entry_that_requires_a_status_rejects_an_unknown_one() {
    let mut desk = Desk::start(&["--revocation", "required"]);
    let host = Host::start();
    assert_eq!(desk.outcome(None, (0, &host.uri("/missing"))), "revocation_unknown");
    let add = ["trust", "add", ISSUER, "--on-unknown-revocation", "accept"];
    let refused = desk.gateway.installation.run(&add);
    assert_ne!(refused.code, 0, "{refused:?}");
    assert!(refused.stderr.contains("exclude each other"), "{refused:?}");
}

/// The test controls the time: see [`crate::machine`].
#[test]
fn a_status_list_is_refreshed_before_it_expires() {
    let installation = Installation::new().with_machine();
    let mut desk = Desk::start_on(installation, &[]);
    let machine = desk.gateway.installation.machine().clone();
    let host = Host::start();
    let uri = host.uri("/list");
    let publish = |made_ms: u64, bad: usize| {
        let list = StatusList::new(1, 8).with(bad, 1);
        let list = StatusJwt::new(&list, &uri, numeric_date(made_ms)).with("ttl", json!(HOUR));
        host.put("/list", JWT, sign(list));
    };
    publish(machine.now_ms(), 1);
    assert_eq!(desk.outcome(None, (0, &uri)), "good");
    assert_eq!(desk.outcome(None, (0, &uri)), "good");
    assert_eq!(host.asked("/list"), 1);
    let waited = r#"idgate_status_presentations_total{waited="true"}"#;
    let unaided = r#"idgate_status_presentations_total{waited="false"}"#;
    assert_eq!((desk.seen(waited), desk.seen(unaided)), (Some(1), Some(1)));
    // It is refreshed in the last three eighths of the hour, in the last eighth at the latest.
    publish(machine.now_ms() + 1000 * HOUR * 7 / 8, 2);
    machine.jump(Duration::from_secs(HOUR * 7 / 8));
    host.wait_until_asked("/list", 2);
    let renewed = r#"idgate_status_renewals_total{outcome="renewed"}"#;
    eventually("it is counted", || desk.seen(renewed) == Some(1));
    // The first copy has expired then.
    machine.jump(Duration::from_secs(HOUR / 6));
    assert_eq!(desk.outcome(None, (1, &uri)), "good");
    assert_eq!(desk.outcome(None, (2, &uri)), "credential_revoked");
    assert_eq!(host.asked("/list"), 2);
    assert_eq!((desk.seen(waited), desk.seen(unaided)), (Some(1), Some(3)));
}
