//! Registration certificates: kept for a client, sent with its requests, compared with them.

use idgate_testkit::codec::base64url;
use serde_json::{Value, json};

use super::signing::{fetch, payload, started, wish};
use super::{Ca, certify};
use crate::tenant::now_ms;

/// As a registrar issues it; `exp` in seconds from now.
fn jwt(claims: &[&str], exp: i64) -> String {
    let now = i64::try_from(now_ms() / 1000).unwrap();
    let claims: Vec<Value> = claims.iter().map(|name| json!({ "path": [name] })).collect();
    let payload = json!({
        "sub": "VATUT-123", "iat": now - 60, "exp": now + exp,
        "credentials": [{ "format": "dc+sd-jwt",
            "meta": { "vct_values": [idgate_testkit::samples::VCT] }, "claim": claims }],
    });
    let header = json!({ "alg": "ES256", "typ": "rc-wrp+jwt" });
    let part = |json: &Value| base64url(json.to_string().as_bytes());
    [part(&header), part(&payload), base64url(&[7; 64])].join(".")
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
fn who_asks_for_more_is_told_or_refused() {
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
fn what_is_not_a_registration_certificate_in_force_is_refused() {
    let (gateway, _) = started("haip", &[]);
    let installation = &gateway.installation;
    let id = gateway.client.client_id.as_str();
    let expired = installation.file("expired.jwt", jwt(&["given_name"], -1));
    let other = installation.file("other.jwt", "no.jwt");
    let good = installation.file("good.jwt", jwt(&["given_name"], 3600));
    let nobody = "cli_0000000000000000000000";
    for (id, file, code, says) in [
        (id, &expired, 1, "has expired"),
        (id, &other, 1, "is not a compact JWT"),
        (nobody, &good, 4, nobody),
    ] {
        let add = ["client", "verifier-info", "add", id, file.to_str().unwrap()];
        let output = installation.run(&add);
        assert!(output.code == code && output.stderr.contains(says), "{output:?}");
    }
}

#[test]
fn a_request_by_value_carries_none_and_is_not_held_to_it() {
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
fn only_offers_under_the_hash_carry_it() {
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
