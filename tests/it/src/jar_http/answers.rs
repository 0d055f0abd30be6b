//! The answers that the response endpoint accepts in request mode jar, and those that it rejects
//! without a change.

use idgate_testkit::wallet::{Body, JarAnswer};
use serde_json::{Map, Value, json};

use super::Desk;
use crate::tenant::members;

#[test]
fn form_and_json_bodies_are_accepted() {
    let mut desk = Desk::jar();
    for encode in [Body::form, Body::json] {
        for repeat_state in [false, true] {
            let created = desk.create();
            let jar = desk.fetch(&created);
            let mut body = parameters(&[("response", &desk.answer(&jar).jwe())]);
            if repeat_state {
                body.insert("state".into(), jar.request.state.as_str().into());
            }
            let reply = desk.tenant.post_answer(&created.id, &encode(&body)).expect_status(200);
            assert_eq!(reply.json(), json!({ "status": "ok" }));
            assert_eq!(desk.status(&created), "VERIFIED");
        }
    }
}

#[test]
fn another_sessions_answer_another_keys_answer_and_a_replay_change_nothing() {
    let mut desk = Desk::jar();
    let [a, b, bystander] = [(); 3].map(|()| desk.create());
    let (jar_a, jar_b) = (desk.fetch(&a), desk.fetch(&b));
    let before = desk.tenant.read(&bystander.id);
    let for_a = desk.answer(&jar_a).form_body();
    desk.tenant.post_answer(&b.id, &for_a).expect_error(400, "decryption_failed");
    // The right answer, encrypted to the key of another session.
    let mut answer = desk.answer(&jar_b);
    answer.encryption = JarAnswer::encryption(&jar_a, answer.encryption.enc, "other");
    let other_key = answer.form_body();
    desk.tenant.post_answer(&b.id, &other_key).expect_error(400, "decryption_failed");
    // Another session's answer, encrypted to the right key.
    let mut answer = desk.answer(&jar_a);
    answer.encryption = JarAnswer::encryption(&jar_b, answer.encryption.enc, "other");
    desk.tenant.post_answer(&b.id, &answer.form_body()).expect_error(400, "state_mismatch");
    for created in [&a, &b] {
        assert_eq!(desk.status(created), "PENDING");
    }
    desk.tenant.post_answer(&a.id, &for_a).expect_status(200);
    let settled = desk.tenant.read(&a.id);
    desk.tenant.post_answer(&a.id, &for_a).expect_error(409, "session_not_pending");
    assert_eq!(desk.tenant.read(&a.id), settled);
    assert_eq!(desk.status(&b), "PENDING");
    assert_eq!(desk.tenant.read(&bystander.id), before);
    let for_b = desk.answer(&jar_b).form_body();
    desk.tenant.post_answer(&b.id, &for_b).expect_status(200);
}

#[test]
fn an_answer_that_is_not_a_valid_jwe_leaves_the_session_unchanged() {
    let mut desk = Desk::jar();
    let created = desk.create();
    let jar = desk.fetch(&created);
    let good = desk.answer(&jar);
    let (jwe, state) = (good.jwe(), jar.request.state.clone());
    let plain = Body::form(&good.payload);
    let outer = |state: &str| Body::form(&parameters(&[("response", &jwe), ("state", state)]));
    let mut inner = good.clone();
    inner.payload.insert("state".into(), "another".into());
    let mut without = good.clone();
    without.payload.remove("state");
    let cut = Body::form(&parameters(&[("response", &jwe[..jwe.len() - 1])]));
    let both = Body::form(&parameters(&[("response", &jwe), ("vp_token", "x"), ("state", &state)]));
    for (title, body, code) in [
        ("a plain vp_token", plain, "invalid_response"),
        ("an outer state of another session", outer("another"), "state_mismatch"),
        ("an inner state of another session", inner.form_body(), "state_mismatch"),
        ("no inner state", without.form_body(), "invalid_response"),
        ("a cut tag", cut, "decryption_failed"),
        ("response together with vp_token", both, "invalid_response"),
        ("an empty response", Body::form(&parameters(&[("response", "")])), "invalid_response"),
        ("no JWE", Body::form(&parameters(&[("response", "abc")])), "decryption_failed"),
    ] {
        let reply = desk.tenant.post_answer(&created.id, &body);
        assert_eq!((reply.status, &*reply.error()), (400, code), "{title}");
        assert_eq!(desk.status(&created), "PENDING", "{title}");
    }
    desk.tenant.post_answer(&created.id, &outer(&state)).expect_status(200);
}

#[test]
fn every_decryption_failure_has_one_message() {
    let mut desk = Desk::jar();
    let created = desk.create();
    let jar = desk.fetch(&created);
    let jwe = desk.answer(&jar).jwe();
    let parts: Vec<&str> = jwe.split('.').collect();
    let changed = |at: usize| {
        let mut parts = parts.clone();
        parts[at] = "AAAA";
        parts.join(".")
    };
    let messages: Vec<String> = [changed(0), changed(1), changed(2), changed(3), changed(4)]
        .iter()
        .map(|jwe| {
            let body = Body::form(&parameters(&[("response", jwe)]));
            let reply = desk.tenant.post_answer(&created.id, &body);
            reply.expect_error(400, "decryption_failed").message()
        })
        .collect();
    assert!(messages.iter().all(|message| *message == messages[0]), "{messages:?}");
    assert_eq!(desk.status(&created), "PENDING");
}

#[test]
fn a_plain_or_encrypted_wallet_error_ends_the_session() {
    let mut desk = Desk::jar();
    for encrypted in [true, false] {
        let created = desk.create();
        let jar = desk.fetch(&created);
        let error = JarAnswer::error(&jar, "access_denied");
        let body = if encrypted { error.form_body() } else { Body::form(&error.payload) };
        let reply = desk.tenant.post_answer(&created.id, &body).expect_status(200);
        assert_eq!(reply.json(), json!({ "status": "ok" }));
        desk.tenant.expect_failed(&created, "wallet_error");
    }
}

#[test]
fn a_rejected_answer_ends_the_session_without_detail_to_the_wallet() {
    let mut desk = Desk::jar();
    let created = desk.create();
    let jar = desk.fetch(&created);
    let mut answer = desk.answer(&jar);
    let token = answer.payload["vp_token"].as_str().unwrap().to_owned();
    answer.payload.insert("vp_token".into(), token[..token.len() - 4].into());
    let reply = desk.tenant.post_answer(&created.id, &answer.form_body());
    let reply = reply.expect_error(400, "invalid_presentation");
    let session = desk.tenant.read(&created.id);
    assert_eq!(session["status"], "FAILED");
    assert!(!reply.message().contains(session["reason"].as_str().unwrap()));
    assert_eq!(members(&session), ["expires_at", "livemode", "reason", "session_id", "status"]);
}

fn parameters(pairs: &[(&str, &str)]) -> Map<String, Value> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect()
}
