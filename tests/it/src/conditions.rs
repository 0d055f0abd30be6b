//! Conditions on a genuine presentation: claim filters, and credentials of the same person.

use idgate_testkit::keys::Curve;
use idgate_testkit::samples;
use idgate_testkit::wallet::Wallet;
use serde_json::{Value, json};

use crate::tenant::{Gateway, credential, form, now_ms, request_for, sample_wallet};

#[test]
fn claim_filters_decide_on_the_disclosed_value() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    for (filter, passes) in [
        (json!({ "format": "date", "formatMaximum": "2008-11-21" }), true),
        (json!({ "format": "date", "formatMaximum": "1984-08-11" }), false),
        (json!({ "const": "1984-08-12" }), true),
        (json!({ "enum": ["1984-08-11", "1984-08-13"] }), false),
        (json!({ "pattern": "^1984-" }), true),
        (json!({ "type": "number" }), false),
    ] {
        let mut request = request_for(&["birthdate"]);
        request["credentials"][0]["claim_filters"] = json!({ "birthdate": filter });
        let created = tenant.create(&request);
        let reply = tenant.post_answer(&created.id, &form(&sample_wallet(), &created));
        if passes {
            reply.expect_status(200);
            assert_eq!(tenant.read(&created.id)["status"], "VERIFIED", "{request}");
        } else {
            reply.expect_error(400, "invalid_presentation");
            tenant.expect_failed(&created, "claim_filter_mismatch");
        }
    }
}

#[test]
fn two_credentials_of_the_same_person_match() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    let created = tenant.create(&pair());
    // The same person with another spelling.
    let wallet = wallet_of_two("  MUSTERMANN ");
    let reply = tenant.post_answer(&created.id, &form(&wallet, &created));
    reply.expect_status(200);
    let session = tenant.read(&created.id);
    let claims = json!({ "a": { "nationalities": ["DE", "FR"] }, "b": { "nickname": "Rike" } });
    assert_eq!(session["claims"], claims);
    let groups = json!([{ "ids": ["a", "b"], "matched": true }]);
    assert_eq!(session["verification_details"]["same_subject"], groups);
}

#[test]
fn two_credentials_of_two_people_do_not_match() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    let created = tenant.create(&pair());
    let reply = tenant.post_answer(&created.id, &form(&wallet_of_two("Musterfrau"), &created));
    reply.expect_error(400, "invalid_presentation");
    tenant.expect_failed(&created, "subject_mismatch");
}

/// Two credentials that must belong to the same person.
fn pair() -> Value {
    json!({
        "credentials": [credential("a", &["nationalities"]), credential("b", &["nickname"])],
        "same_subject_groups": [["a", "b"]],
    })
}

/// Erika's identity, and a second credential with a nickname and this family name.
fn wallet_of_two(family_name: &str) -> Wallet {
    let second = samples::identity(&samples::holder_key(Curve::P256), now_ms())
        .salt_seed("second")
        .sd("family_name", family_name)
        .sd("nickname", "Rike");
    sample_wallet().with(second.issue(&samples::issuer_key(Curve::P256)))
}
