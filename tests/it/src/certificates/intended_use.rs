//! Several registration certificates of a client, each for an intended use that sessions name.

use serde_json::{Value, json};

use super::registration::{add, jwt, jwt_with, told};
use super::signing::{fetch, payload, started, wish};
use super::{Ca, certify, certify_party, metrics};
use crate::server::{Installation, Output};
use crate::tenant::{Gateway, Tenant};

/// A creation request for that intended use. `None`: it names none.
fn wish_for(intended_use: Option<&str>) -> Value {
    let mut wish = wish();
    if let Some(name) = intended_use {
        wish["intended_use"] = name.into();
    }
    wish
}

/// The `verifier_info` of a new session for that intended use.
#[track_caller]
fn sent(tenant: &mut Tenant, intended_use: Option<&str>) -> Value {
    let created = tenant.create(&wish_for(intended_use));
    payload(&fetch(tenant, &created))["verifier_info"].clone()
}

fn only(jwt: &str) -> Value {
    json!([{ "format": "registration_cert", "data": jwt }])
}

fn list(installation: &Installation, id: &str) -> Vec<Value> {
    let list = ["client", "verifier-info", "list", id, "--json"];
    installation.run_json(&list)["registrations"].as_array().unwrap().clone()
}

fn remove(installation: &Installation, id: &str, more: &[&str]) -> Output {
    installation.run(&[&["client", "verifier-info", "remove", id][..], more].concat())
}

/// A gateway whose client is registered for `default`, `age` and `bank`, with the certificates.
fn registered() -> (Gateway, Tenant, [String; 3]) {
    let ((gateway, tenant), ca) = (started("haip", &[]), Ca::new());
    certify(&gateway.installation, &ca, 90, &[]);
    let texts = [(&["given_name"][..], 3600), (&["given_name", "birth_date"], 3600)];
    let [first, age] = texts.map(|(claims, exp)| jwt(claims, exp));
    let bank = jwt(&["family_name"], 20 * 86_400);
    let (installation, id) = (&gateway.installation, gateway.client.client_id.as_str());
    assert_eq!(add(installation, id, &first, &[]).code, 0);
    assert_eq!(add(installation, id, &age, &["--intended-use", "age"]).code, 0);
    assert_eq!(add(installation, id, &bank, &["--intended-use", "bank", "--strict"]).code, 0);
    (gateway, tenant, [first, age, bank])
}

#[test]
fn a_session_carries_exactly_the_certificate_of_its_use_or_the_default() {
    let (gateway, mut tenant, [first, age, _]) = registered();
    assert_eq!(sent(&mut tenant, None), only(&first));
    assert_eq!(sent(&mut tenant, Some("default")), only(&first));
    assert_eq!(sent(&mut tenant, Some("age")), only(&age));
    // After a change of the default, sessions without an intended use get the new one from the next
    // request on.
    let id = gateway.client.client_id.as_str();
    let more = ["--intended-use", "age", "--default"];
    assert_eq!(add(&gateway.installation, id, &age, &more).code, 0);
    assert_eq!(sent(&mut tenant, None), only(&age));
    assert_eq!(sent(&mut tenant, Some("default")), only(&first));
}

#[test]
fn an_unregistered_intended_use_is_rejected_with_the_registered_ones() {
    let (gateway, mut tenant, _) = registered();
    let refused = tenant.post_session(&wish_for(Some("shop")));
    let refused = refused.expect_error(400, "invalid_request");
    let message = refused.message();
    assert!(
        message.contains("intended_use") && message.contains("default, age, bank"),
        "{message}"
    );
    let other = gateway.installation.create_client("other", true);
    let mut other = gateway.tenant_of(&other);
    let refused = other.post_session(&wish_for(Some("age")));
    let refused = refused.expect_error(400, "invalid_request");
    assert!(!refused.message().contains("bank"), "another client's are its own: {refused:?}");
}

#[test]
fn the_chosen_registration_certificate_decides_what_is_rejected() {
    let (gateway, mut tenant, _) = registered();
    let refused = tenant.post_session(&wish_for(Some("bank")));
    let refused = refused.expect_error(400, "invalid_request");
    assert!(refused.message().contains("given_name"), "{}", refused.message());
    let mut asked = wish_for(Some("age"));
    asked["credentials"][0]["claims"] = json!(["given_name", "birth_date"]);
    tenant.create(&asked);
    asked.as_object_mut().unwrap().remove("intended_use");
    tenant.create(&asked);
    let log = gateway.installation.log();
    let lines = log.lines().filter(|line| line.contains("asks for more than is registered"));
    let lines: Vec<_> = lines.collect();
    let named = |name: &str| lines.iter().filter(|line| line.contains(name)).count();
    let counts = (named("\"bank\""), named("\"age\""), named("\"default\""));
    assert_eq!(counts, (1, 0, 1), "{lines:?}");
    // `doctor` compares each session with the certificate of its intended use.
    let told = told(&gateway.installation);
    let about = |what: &str| told.iter().filter(|(_, said)| said.contains(what)).count();
    assert_eq!(about("asks for more"), 1, "{told:?}");
    assert_eq!(about("for age asked for no more than is registered (1 sessions)"), 1, "{told:?}");
    assert_eq!(about("for bank asked for no more than is registered (0 sessions)"), 1, "{told:?}");
}

#[test]
fn the_first_expiry_of_all_registrations_is_reported() {
    let (gateway, _, _) = registered();
    let told = told(&gateway.installation);
    let ends = told.iter().filter(|(status, said)| status == "warning" && said.contains("ends on"));
    let ends: Vec<_> = ends.map(|(_, said)| said.as_str()).collect();
    assert_eq!(ends.len(), 3, "{told:?}");
    assert!(ends.iter().any(|said| said.contains("for bank ends on")), "{ends:?}");
    let body = metrics(&gateway.installation, gateway.server.address);
    let name = "idgate_certificate_expiry_seconds{of=\"registration\"} ";
    let seconds: i64 =
        body.lines().find_map(|line| line.strip_prefix(name)).unwrap().parse().unwrap();
    assert!(seconds <= 3600, "{seconds}");
}

#[test]
fn the_default_registration_is_listed_first_and_removed_last() {
    let (gateway, mut tenant, [first, ..]) = registered();
    let (installation, id) = (&gateway.installation, gateway.client.client_id.as_str());
    let rows = list(installation, id);
    let shown: Vec<_> = rows
        .iter()
        .map(|row| {
            (row["intended_use"].as_str().unwrap(), row["default"] == true, row["strict"] == true)
        })
        .collect();
    assert_eq!(shown, [("default", true, false), ("age", false, false), ("bank", false, true)]);
    assert_eq!((&rows[0]["subject"], &rows[0]["in_force"]), (&json!("VATUT-123"), &json!(true)));
    let text = installation.run(&["client", "verifier-info", "list", id]).stdout;
    assert!(text.lines().next().unwrap().starts_with("default  VATUT-123"), "{text}");
    for (more, code, says) in [
        (&[][..], 2, "default, age, bank"),
        (&["--intended-use", "default"], 1, "with --default first"),
        (&["--intended-use", "shop"], 4, "for shop"),
    ] {
        let refused = remove(installation, id, more);
        assert!(refused.code == code && refused.stderr.contains(says), "{refused:?}");
        assert_eq!(list(installation, id).len(), 3, "nothing changed");
    }
    for name in ["age", "bank"] {
        assert_eq!(remove(installation, id, &["--intended-use", name]).code, 0);
    }
    assert_eq!(sent(&mut tenant, None), only(&first));
    tenant.post_session(&wish_for(Some("age"))).expect_error(400, "invalid_request");
    assert_eq!(remove(installation, id, &[]).code, 0);
    assert_eq!(sent(&mut tenant, None), Value::Null);
    assert_eq!(list(installation, id), [] as [Value; 0]);
}

#[test]
fn an_intended_use_has_1_to_64_allowed_characters() {
    let (gateway, _, _) = registered();
    let (installation, id) = (&gateway.installation, gateway.client.client_id.as_str());
    let text = jwt(&["given_name"], 3600);
    for bad in ["", "Age", "a.b", "a b", "\u{e9}t\u{e9}", &"a".repeat(65)] {
        let refused = add(installation, id, &text, &["--intended-use", bad]);
        assert_eq!(refused.code, 2, "{bad}: {refused:?}");
    }
    let expired = jwt(&["given_name"], -1);
    assert_eq!(add(installation, id, &expired, &["--intended-use", "age"]).code, 1);
    assert_eq!(list(installation, id).len(), 3);
    assert_eq!(list(installation, id)[1]["in_force"], true);
    let longest = "a0_-".repeat(16);
    assert_eq!(add(installation, id, &text, &["--intended-use", &longest]).code, 0);
    assert_eq!(list(installation, id).len(), 4);
}

/// A registration certificate for a service of VATUT-123.
fn of_service(service: &str) -> String {
    jwt_with(&json!({ "sub": "VATUT-123", "srv_id": service, "credentials": [] }))
}

#[test]
fn a_registration_must_match_the_service_of_the_access_certificate() {
    let ((gateway, mut tenant), ca) = (started("haip", &[]), Ca::new());
    let (installation, id) = (&gateway.installation, gateway.client.client_id.as_str());
    certify_party(installation, &ca, "VATUT-123", &[]);
    let unnamed = add(installation, id, &of_service("shop"), &[]);
    assert!(unnamed.code == 0 && unnamed.stderr.contains("srv_id was not compared"));
    certify_party(installation, &ca, "VATUT-123/OU=shop", &[]);
    let shop = add(installation, id, &of_service("shop"), &[]);
    assert!(shop.code == 0 && !shop.stderr.contains("was not compared"), "{shop:?}");
    let bank = add(installation, id, &of_service("bank"), &[]);
    assert!(bank.code == 1 && bank.stderr.contains("ARF RPRC_17a"), "{bank:?}");
    assert_eq!(list(installation, id)[0]["service"], "shop", "nothing changed");
    assert!(sent(&mut tenant, None).is_array());
    let renewed = certify_party(installation, &ca, "VATUT-123/OU=bank", &[]);
    assert!(renewed.stderr.contains("is no longer sent"), "{renewed:?}");
    assert!(sent(&mut tenant, None).is_null());
    let told = told(installation);
    assert!(told.iter().any(|(status, said)| status == "failed" && said.contains("service")));
}

#[test]
fn a_registration_without_timestamps_causes_a_warning() {
    let ((gateway, _), ca) = (started("haip", &[]), Ca::new());
    let installation = &gateway.installation;
    let imported = certify_party(installation, &ca, "VATUT-123", &[]);
    assert!(imported.stderr.contains("RFC 6962 3.3"), "{imported:?}");
    let doctor = installation.run_json(&["doctor", "--json"]);
    let mut checks = doctor["checks"].as_array().unwrap().iter();
    let warned = checks.any(|check| {
        check["check"] == "certificates"
            && check["status"] == "warning"
            && check["message"].as_str().unwrap().contains("RFC 6962 3.3")
    });
    assert!(warned, "{doctor}");
    let listed = installation.run_json(&["keys", "list", "--json"]);
    assert_eq!(listed["certificates"][0]["timestamps"], false);
}
