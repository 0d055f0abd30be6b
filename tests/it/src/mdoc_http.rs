//! mdoc with the real binary: a good answer is verified, and every single change to it is rejected
//! with its own code, in test-mode and in live sessions.

mod desk;
mod host;
mod list_signers;
mod listed_status;
mod lists;
mod modes;
mod offline;
mod revocation;
mod sessions;
mod trust;

use std::thread;

use serde_json::json;

use self::desk::Desk;
pub(crate) use self::host::Host;
use crate::mdoc_tamper::{ISSUER_ID, Row, VERIFIED, mdl_request, rows};
use crate::server::Installation;
use crate::stores;
use crate::tamper::one_of_each_outcome;
use crate::tenant::{members, now_ms, timestamp};

#[test]
fn a_tampered_mdoc_of_each_outcome_gives_its_code_over_http() {
    every_row_holds(&one_of_each_outcome(rows(), |row| row.expected));
}

#[test]
#[ignore = "before a release: every row over HTTP, which the everyday tier runs in-process"]
fn every_tampered_mdoc_gives_its_code_over_http() {
    let refusals = rows().filter(|row| row.expected.reason().is_some()).count();
    assert!(refusals >= 130, "{refusals} refusals");
    every_row_holds(&rows().collect::<Vec<_>>());
}

fn every_row_holds(table: &[&Row]) {
    let wrong: Vec<String> = thread::scope(|scope| {
        let lanes = [true, false].map(|test| stores::spawn(scope, move || mismatches(test, table)));
        lanes.into_iter().flat_map(|lane| lane.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "{} rows differ:\n{}", wrong.len(), wrong.join("\n"));
}

fn mismatches(test: bool, table: &[&Row]) -> Vec<String> {
    let mut desk = Desk::start(Installation::new(), test, &["--revocation", "off"]);
    let mut wrong = Vec::new();
    for Row { title, change, expected, .. } in table {
        let outcome = desk.outcome_of(*change);
        let expected = expected.reason().unwrap_or(VERIFIED);
        if outcome != expected {
            wrong.push(format!("{title} (test: {test}): expected {expected}, got {outcome}"));
        }
    }
    wrong
}

#[test]
fn row_titles_are_unique() {
    let mut titles: Vec<&str> = rows().map(|row| row.title).collect();
    titles.sort_unstable();
    let count = titles.len();
    titles.dedup();
    assert_eq!(titles.len(), count);
}

#[test]
fn verification_details_name_the_trust_anchor_and_the_device_proof() {
    let mut desk = Desk::start(Installation::new(), false, &["--revocation", "off"]);
    let created = desk.tenant.create(&mdl_request());
    let scenario = desk.scenario(&created);
    let before = now_ms();
    desk.tenant.post_answer(&created.id, &scenario.body()).expect_status(200);
    let session = desk.tenant.read(&created.id);
    let claims = json!({ "mdl": { "family_name": "Mustermann", "age_over_18": true } });
    assert_eq!((&session["status"], &session["claims"]), (&json!(VERIFIED), &claims));
    let details = &session["verification_details"];
    assert_eq!(members(details), ["credentials", "request_mode", "same_subject", "verified_at"]);
    let mut credential = details["credentials"][0].clone();
    let [from, until] = ["valid_from", "valid_until"]
        .map(|name| timestamp(&credential.as_object_mut().unwrap().remove(name).unwrap()));
    assert!(from <= before && before < until, "{details}");
    let issuer = credential.as_object_mut().unwrap().remove("issuer").unwrap();
    assert!(issuer.as_str().is_some_and(|issuer| issuer.contains("Utopia IACA")), "{issuer}");
    let expected = json!({
        "id": "mdl",
        "format": "mso_mdoc",
        "issuer_id": ISSUER_ID,
        "credential_type": "org.iso.18013.5.1.mDL",
        "alg": "ES256",
        "holder_binding": "device_signature",
        "trust": "x5chain",
        "trust_anchor_sha256": desk.authority.root_sha256(),
        "revocation": "off",
        "revocation_details": { "credential": "off", "signer": "off" },
        "session_transcript": "openid4vp-1.0",
    });
    assert_eq!(credential, expected);
}

#[test]
fn an_answer_is_bound_to_its_session() {
    let mut desk = Desk::start(Installation::new(), true, &["--revocation", "off"]);
    let [first, second] = [(); 2].map(|()| desk.tenant.create(&mdl_request()));
    let stolen = desk.scenario(&first).text();
    let mut answer = desk.scenario(&second).answer();
    answer.presentations = vec![stolen];
    let reply = desk.tenant.post_answer(&second.id, &answer.form_body());
    reply.expect_error(400, "invalid_presentation");
    desk.tenant.expect_failed(&second, "device_auth_invalid");
}

#[test]
fn the_wallet_gets_the_same_error_whatever_the_reason() {
    let mut desk = Desk::start(Installation::new(), true, &["--revocation", "off"]);
    let refusals = rows().filter(|row| row.expected.reason().is_some()).step_by(7);
    let mut bodies: Vec<Vec<u8>> = refusals
        .map(|row| {
            let created = desk.tenant.create(&mdl_request());
            let mut scenario = desk.scenario(&created);
            (row.change)(&mut scenario);
            desk.tenant.post_answer(&created.id, &scenario.body()).body
        })
        .collect();
    assert!(bodies.len() >= 8, "{} refusals", bodies.len());
    bodies.dedup();
    assert_eq!(bodies.len(), 1, "{bodies:?}");
}
