//! Registration certificates: stored for a client, sent with its requests, compared with them.

use idgate_testkit::codec::{base64url, from_base64url};
use serde_json::{Value, json};

use std::time::Duration;

use super::signing::{fetch, payload, started, wish};
use super::{Ca, certify, certify_party, metrics};
use crate::server::{Installation, Output, eventually};
use crate::tenant::{Gateway, Tenant, now_ms};

/// A certificate issued by a registrar. `exp` is in seconds from now.
pub(super) fn jwt(claims: &[&str], exp: i64) -> String {
    jwt_of(now_ms(), claims, exp)
}

/// The same, issued at `now_ms`.
fn jwt_of(now_ms: u64, claims: &[&str], exp: i64) -> String {
    let now = i64::try_from(now_ms / 1000).unwrap();
    let claims: Vec<Value> = claims.iter().map(|name| json!({ "path": [name] })).collect();
    jwt_with(&json!({
        "sub": "VATUT-123", "iat": now - 60, "exp": now + exp,
        "credentials": [{ "format": "dc+sd-jwt",
            "meta": { "vct_values": [idgate_testkit::samples::VCT] }, "claim": claims }],
    }))
}

/// A registration certificate with this payload.
pub(crate) fn jwt_with(payload: &Value) -> String {
    let header = json!({ "alg": "ES256", "typ": "rc-wrp+jwt" });
    let part = |json: &Value| base64url(json.to_string().as_bytes());
    [part(&header), part(payload), base64url(&[7; 64])].join(".")
}

pub(super) fn add(installation: &Installation, id: &str, jwt: &str, more: &[&str]) -> Output {
    let file = installation.file("registration.jwt", jwt);
    let add = ["client", "verifier-info", "add", id, file.to_str().unwrap()];
    installation.run(&[&add[..], more].concat())
}

/// Whether a new session's request carries a registration certificate.
fn is_sent(tenant: &mut Tenant) -> bool {
    let created = tenant.create(&wish());
    payload(&fetch(tenant, &created)).get("verifier_info").is_some()
}

/// The findings of `doctor` about registration certificates: status and message.
pub(super) fn told(installation: &Installation) -> Vec<(String, String)> {
    let doctor: Value =
        serde_json::from_str(&installation.run(&["doctor", "--json"]).stdout).unwrap();
    let checks = doctor["checks"].as_array().unwrap().iter();
    let text = |check: &Value, member: &str| check[member].as_str().unwrap().to_owned();
    checks
        .filter(|check| check["check"] == "registrations")
        .map(|check| (text(check, "status"), text(check, "message")))
        .collect()
}

#[test]
fn a_registration_of_another_party_is_not_sent() {
    let ((gateway, mut tenant), ca) = (started("haip", &[]), Ca::new());
    let installation = &gateway.installation;
    let id = gateway.client.client_id.as_str();
    certify_party(installation, &ca, "VATUT-123", &[]);
    let text = jwt(&["given_name"], 3600);
    assert_eq!(add(installation, id, &text, &[]).code, 0);
    assert!(is_sent(&mut tenant));
    let renewed = certify_party(installation, &ca, "VATUT-999", &[]);
    assert!(renewed.stderr.contains(id) && renewed.stderr.contains("VATUT-123"), "{renewed:?}");
    assert!(!is_sent(&mut tenant));
    assert!(installation.log().contains("names another relying party"));
    let told = told(installation);
    assert!(told.iter().any(|(status, what)| status == "failed" && what.contains("VATUT-123")));
    // A new certificate is compared immediately.
    assert_eq!(add(installation, id, &text, &["--strict"]).code, 1);
    let back = certify_party(installation, &ca, "VATUT-123", &[]);
    assert!(!back.stderr.contains("VATUT-123"), "{back:?}");
    assert!(is_sent(&mut tenant));
    assert_eq!(add(installation, id, &text, &["--strict"]).code, 0);
    certify_party(installation, &ca, "VATUT-999", &[]);
    let refused = tenant.post_session(&wish()).expect_error(400, "unsupported_profile");
    assert!(refused.message().contains("of another"), "{}", refused.message());
}

#[test]
fn a_registration_must_be_for_the_party_of_the_signing_certificate() {
    let ((gateway, mut tenant), ca) = (started("haip", &[]), Ca::new());
    let installation = &gateway.installation;
    let id = gateway.client.client_id.as_str();
    certify_party(installation, &ca, "VATUT-1", &[]);
    let text = jwt(&["given_name"], 3600);
    let refused = add(installation, id, &text, &[]);
    assert!(refused.code == 1 && refused.stderr.contains("another party"), "{refused:?}");
    certify_party(installation, &ca, "VATUT-123", &["--client", id]);
    assert_eq!(add(installation, id, &text, &[]).code, 0);
    // The gateway's certificate does not sign for this client.
    let gateways = certify_party(installation, &ca, "VATUT-2", &[]);
    assert!(!gateways.stderr.contains(id), "{gateways:?}");
    assert!(is_sent(&mut tenant));
    certify_party(installation, &ca, "VATUT-3", &["--client", id]);
    assert!(!is_sent(&mut tenant));
}

#[test]
fn an_expired_registration_is_not_sent_and_rejects_sessions_if_strict() {
    let installation = Installation::new().with("IDGATE_PROFILES", "haip").with_machine();
    let (gateway, ca) = (Gateway::start_on(installation), Ca::new());
    let (installation, mut tenant) = (&gateway.installation, gateway.tenant());
    let machine = installation.machine();
    let text = || jwt_of(machine.now_ms(), &["given_name"], 3600);
    let id = gateway.client.client_id.as_str();
    certify(installation, &ca, 90, &[]);
    assert_eq!(add(installation, id, &text(), &[]).code, 0);
    assert!(is_sent(&mut tenant));
    machine.jump(Duration::from_secs(3600));
    assert!(!is_sent(&mut tenant));
    assert!(installation.log().contains("has expired and is not sent"));
    assert!(
        told(installation)
            .iter()
            .any(|(status, what)| { status == "failed" && what.contains("expired at") })
    );
    assert_eq!(add(installation, id, &text(), &["--strict"]).code, 0);
    tenant.create(&wish());
    machine.jump(Duration::from_secs(3600));
    tenant.post_session(&wish()).expect_error(400, "unsupported_profile");
}

#[test]
fn an_expiring_registration_is_in_doctor_log_and_metrics() {
    let ((gateway, _), ca) = (started("haip", &[]), Ca::new());
    let installation = &gateway.installation;
    certify(installation, &ca, 90, &[]);
    let id = gateway.client.client_id.as_str();
    assert_eq!(add(installation, id, &jwt(&["given_name"], 20 * 86_400), &[]).code, 0);
    let told = told(installation);
    assert!(told.iter().any(|(status, what)| status == "warning" && what.contains("ends on")));
    let body = metrics(installation, gateway.server.address);
    let name = "idgate_certificate_expiry_seconds{of=\"registration\"} ";
    let seconds: i64 =
        body.lines().find_map(|line| line.strip_prefix(name)).unwrap().parse().unwrap();
    assert!((19 * 86_400..=20 * 86_400).contains(&seconds), "{seconds}");
    let Gateway { server, installation, .. } = gateway;
    drop(server);
    let _server = installation.serve();
    let soon = "a registration certificate expires soon";
    eventually("its end is in the log", || installation.log().contains(soon));
}

#[test]
fn a_long_list_of_unregistered_claims_is_shortened() {
    let ((gateway, mut tenant), ca) = (started("haip", &[]), Ca::new());
    let installation = &gateway.installation;
    certify(installation, &ca, 90, &[]);
    let id = gateway.client.client_id.as_str();
    assert_eq!(add(installation, id, &jwt(&["family_name"], 3600), &[]).code, 0);
    let mut asked = wish();
    let names: Vec<String> = (0..20).map(|n| format!("n{n}_{}", "x".repeat(200))).collect();
    asked["credentials"][0]["claims"] = json!(names);
    for _ in 0..3 {
        tenant.create(&asked);
    }
    let log = installation.log();
    let lines: Vec<&str> =
        log.lines().filter(|line| line.contains("asks for more than is registered")).collect();
    let [line] = lines[..] else { panic!("{lines:?}") };
    assert!(line.contains("n4_") && !line.contains("n5_"), "{line}");
    assert!(line.contains("and 15 more") && !line.contains(&"x".repeat(65)), "{line}");
}

#[test]
fn a_registration_certificate_goes_to_wallets_until_it_is_removed() {
    let ((gateway, mut tenant), ca) = (started("haip", &[]), Ca::new());
    let installation = &gateway.installation;
    certify(installation, &ca, 90, &[]);
    let id = gateway.client.client_id.as_str();
    let text = jwt(&["given_name"], 3600);
    let file = installation.file("registration.jwt", &text);
    let add = ["client", "verifier-info", "add", id, file.to_str().unwrap(), "--json"];
    assert_eq!(installation.run_json(&add)["subject"], "VATUT-123");
    let created = tenant.create(&wish());
    let sent = payload(&fetch(&mut tenant, &created))["verifier_info"].clone();
    assert_eq!(sent, json!([{ "format": "registration_cert", "data": text }]));
    let removed = installation.run(&["client", "verifier-info", "remove", id]);
    assert_eq!(removed.code, 0, "{removed:?}");
    let created = tenant.create(&wish());
    assert!(payload(&fetch(&mut tenant, &created)).get("verifier_info").is_none());
    let again = installation.run(&["client", "verifier-info", "remove", id]);
    assert_eq!(again.code, 4, "{again:?}");
}

#[test]
fn requests_beyond_the_registration_are_reported_or_rejected() {
    let ((gateway, mut tenant), ca) = (started("haip", &[]), Ca::new());
    let installation = &gateway.installation;
    certify(installation, &ca, 90, &[]);
    let id = gateway.client.client_id.as_str();
    let file = installation.file("registration.jwt", jwt(&["family_name"], 3600));
    let add = ["client", "verifier-info", "add", id, file.to_str().unwrap()];
    assert_eq!(installation.run(&add).code, 0);
    tenant.create(&wish());
    assert!(installation.log().contains("asks for more than is registered"));
    let doctor = installation.run_json(&["doctor", "--json"]);
    let checks = doctor["checks"].as_array().unwrap();
    let found = checks.iter().find(|check| check["check"] == "registrations").unwrap();
    assert_eq!(found["status"], "warning", "{found}");
    assert!(found["message"].as_str().unwrap().contains("given_name"), "{found}");
    assert_eq!(installation.run(&[&add[..], &["--strict"]].concat()).code, 0);
    let refused = tenant.post_session(&wish()).expect_error(400, "invalid_request");
    assert!(refused.message().contains("given_name"), "{}", refused.message());
}

#[test]
fn an_invalid_or_expired_registration_certificate_is_rejected_at_import() {
    let (gateway, _) = started("haip", &[]);
    let installation = &gateway.installation;
    let id = gateway.client.client_id.as_str();
    let expired = installation.file("expired.jwt", jwt(&["given_name"], -1));
    let other = installation.file("other.jwt", "no.jwt");
    let good = installation.file("good.jwt", jwt(&["given_name"], 3600));
    let large = installation.file("large.jwt", vec![b'.'; (1 << 20) + 1]);
    let nobody = "cli_0000000000000000000000";
    for (id, file, code, says) in [
        (id, &expired, 1, "has expired"),
        (id, &other, 1, "is not a compact JWT"),
        (id, &large, 1, "larger than 1 MiB"),
        (nobody, &good, 4, nobody),
    ] {
        let add = ["client", "verifier-info", "add", id, file.to_str().unwrap()];
        let output = installation.run(&add);
        assert!(output.code == code && output.stderr.contains(says), "{output:?}");
    }
}

#[test]
fn a_by_value_request_has_no_registration_certificate_and_is_not_limited_by_it() {
    let settings = [("OID4VP_REQUEST_MODE", "inline"), ("IDGATE_CLIENT_ID", "x509_hash")];
    let ((gateway, mut tenant), ca) = (started("1.0", &settings), Ca::new());
    let installation = &gateway.installation;
    certify(installation, &ca, 90, &[]);
    let id = gateway.client.client_id.as_str();
    let file = installation.file("registration.jwt", jwt(&["family_name"], 3600));
    let add = ["client", "verifier-info", "add", id, file.to_str().unwrap(), "--strict"];
    assert_eq!(installation.run(&add).code, 0);
    let created = tenant.create(&wish());
    assert!(created.uri.contains("dcql_query="), "{}", created.uri);
    assert!(!created.uri.contains("verifier_info"), "{}", created.uri);
    assert!(!installation.log().contains("asks for more than is registered"));
    let doctor = installation.run_json(&["doctor", "--json"]);
    let checks = doctor["checks"].as_array().unwrap();
    let found = checks.iter().find(|check| check["check"] == "registrations").unwrap();
    assert_eq!(found["status"], "ok", "{found}");
}

#[test]
fn only_offers_with_x509_hash_carry_the_registration_certificate() {
    for (client_id, carried) in [("did", false), ("x509_san_dns", false), ("x509_hash", true)] {
        let settings = [
            ("OID4VP_REQUEST_MODE", "jar"),
            ("IDGATE_CLIENT_ID", client_id),
            ("IDGATE_BASE_URL", "https://gateway.example"),
        ];
        let ((gateway, mut tenant), ca) = (started("1.0", &settings), Ca::new());
        let installation = &gateway.installation;
        certify(installation, &ca, 90, &[]);
        let id = gateway.client.client_id.as_str();
        let file = installation.file("registration.jwt", jwt(&["given_name"], 3600));
        let add = ["client", "verifier-info", "add", id, file.to_str().unwrap()];
        assert_eq!(installation.run(&add).code, 0);
        let created = tenant.create(&wish());
        let claims = payload(&fetch(&mut tenant, &created));
        assert_eq!(claims.get("verifier_info").is_some(), carried, "{client_id}");
    }
}

/// The requests that a page passes to its browser: each name under which they are signed, and
/// whether a registration certificate is included.
fn signed_for_pages(dc_api: &Value) -> Vec<(String, bool)> {
    let requests = dc_api["requests"].as_array().unwrap();
    let decoded = |part: &Value| -> Value {
        serde_json::from_slice(&from_base64url(part.as_str().unwrap()).unwrap()).unwrap()
    };
    let signer = |said: &Value| {
        let name = said["client_id"].as_str().unwrap();
        (name.split(':').next().unwrap().to_owned(), said.get("verifier_info").is_some())
    };
    let of_one = |data: &Value| match data["request"].as_str() {
        Some(jwt) => vec![signer(&decoded(&json!(jwt.split('.').nth(1).unwrap())))],
        None => {
            let signatures = data["request"]["signatures"].as_array().into_iter().flatten();
            signatures.map(|one| signer(&decoded(&one["protected"]))).collect()
        }
    };
    requests.iter().flat_map(|request| of_one(&request["data"])).collect()
}

fn asked_by_page() -> Value {
    let mut asked = wish();
    asked["dc_api"] = json!({ "origins": ["https://shop.example"] });
    asked
}

#[test]
fn browser_requests_with_x509_hash_carry_the_registration_certificate() {
    for (mode, client_id, dc_api, carried) in [
        ("inline", "x509_hash", "signed", true),
        ("jar", "x509_hash", "signed", true),
        ("inline", "did", "multisigned", true),
        ("inline", "did", "signed", false),
        ("inline", "x509_hash", "unsigned", false),
    ] {
        let settings = [
            ("OID4VP_REQUEST_MODE", mode),
            ("IDGATE_CLIENT_ID", client_id),
            ("IDGATE_DC_API", dc_api),
        ];
        let case = format!("{mode} {client_id} {dc_api}");
        let ((gateway, mut tenant), ca) = (started("1.0", &settings), Ca::new());
        let installation = &gateway.installation;
        certify(installation, &ca, 90, &[]);
        let id = gateway.client.client_id.as_str();
        assert_eq!(add(installation, id, &jwt(&["family_name"], 3600), &[]).code, 0);
        let created = tenant.create(&asked_by_page());
        for (name, has_it) in signed_for_pages(&created.answer["dc_api"]) {
            assert_eq!(has_it, carried && name == "x509_hash", "{case}: {name}");
        }
        let told = told(installation);
        let warned = told.iter().any(|(_, what)| what.contains("asks for more"));
        assert_eq!(warned, carried, "{case}: {told:?}");
        let log = installation.log();
        assert_eq!(log.contains("asks for more than is registered"), carried, "{case}");
        assert_eq!(add(installation, id, &jwt(&["family_name"], 3600), &["--strict"]).code, 0);
        assert_eq!(tenant.post_session(&asked_by_page()).status, if carried { 400 } else { 201 });
    }
}

#[test]
fn requests_without_x509_hash_are_not_limited_by_the_registration_certificate() {
    let settings = [("IDGATE_CLIENT_ID", "did"), ("IDGATE_DC_API", "multisigned")];
    let (gateway, mut tenant) = started("1.0", &settings);
    let id = gateway.client.client_id.as_str();
    let strict = add(&gateway.installation, id, &jwt(&["family_name"], 3600), &["--strict"]);
    assert_eq!(strict.code, 0);
    let created = tenant.create(&asked_by_page());
    let signed = signed_for_pages(&created.answer["dc_api"]);
    assert!(signed.iter().all(|(name, has_it)| name != "x509_hash" && !has_it), "{signed:?}");
}

#[test]
fn the_gateways_page_never_asks_beyond_the_registration_certificate() {
    let settings =
        [("IDGATE_CLIENT_ID", "x509_hash"), ("IDGATE_DC_API", "signed"), ("IDGATE_PAGE", "on")];
    let ((gateway, mut tenant), ca) = (started("1.0", &settings), Ca::new());
    let installation = &gateway.installation;
    certify(installation, &ca, 90, &[]);
    let id = gateway.client.client_id.as_str();
    let text = jwt(&["family_name"], 3600);
    assert_eq!(add(installation, id, &text, &["--strict"]).code, 0);
    tenant.create(&wish());
    let none = told(installation).iter().any(|(_, what)| what.contains("(0 sessions)"));
    assert!(none, "the request to browsers was made");
    assert_eq!(add(installation, id, &text, &[]).code, 0);
    tenant.create(&wish());
    assert!(told(installation).iter().any(|(_, what)| what.contains("asks for more")));
}
