//! Transaction data that names an SD-JWT VC and an mdoc: the SD-JWT VC can sign and must, the mdoc
//! cannot and need not (OpenID4VP 8.4, B.3.3).

use idgate_testkit::codec::{HashAlg, from_base64url};
use idgate_testkit::wallet::{KbJwt, Presentation, present};

use super::*;

/// The answer with the hash of this text in the SD-JWT VC's key binding.
fn agreeing(desk: &Desk, asked: &Asked, text: &str) -> Answer {
    let mut parameters = desk.answer(asked).parameters;
    let presentation = Presentation::choosing(&desk.wallet.credentials()[0], |_| true);
    let mut proof = KbJwt::new(desk.wallet.key(), &presentation, &asked.parties(), now_ms());
    proof
        .set("transaction_data_hashes", json!([base64url(&HashAlg::Sha256.hash(text.as_bytes()))]));
    parameters["vp_token"]["pid"] = json!([present(&presentation, Some(&proof.sign()))]);
    let Value::Object(vp_token) = parameters["vp_token"].take() else { panic!("{asked:?}") };
    Answer::new(asked, vp_token)
}

#[test]
fn transaction_data_for_both_formats_names_only_the_sd_jwt_to_the_wallet() {
    let mut desk = Desk::start(HAIP);
    let mut body = desk.body(BOTH);
    let payment = json!({ "type": "com.example.payment", "credential_ids": ["licence", "pid"],
        "amount": "10.00" });
    body["transaction_data"] = json!([payment]);
    for agrees in [true, false] {
        let created = desk.tenant.create(&body);
        let (asked, _) = desk.read(&created.uri, BOTH, None);
        let [text] = asked.parameters["transaction_data"].as_array().unwrap().as_slice() else {
            panic!("{:?}", asked.parameters)
        };
        let text = text.as_str().unwrap().to_owned();
        let sent: Value = serde_json::from_slice(&from_base64url(&text).unwrap()).unwrap();
        assert_eq!((&sent["credential_ids"], &sent["amount"]), (&json!(["pid"]), &json!("10.00")));
        if !agrees {
            let answer = desk.answer(&asked);
            let refused = desk.post(&answer.response_uri, &answer.body());
            refused.expect_error(400, "invalid_presentation");
            let session = desk.tenant.read(&created.id);
            assert_eq!(session["reason"], "transaction_data_mismatch");
            continue;
        }
        let redirect_uri = desk.settle(&agreeing(&desk, &asked, &text));
        let session = desk.result(&created, redirect_uri.as_deref());
        let shown = &session["verification_details"]["credentials"];
        assert_eq!(shown[0]["transaction_data"], json!([payment]), "{session}");
        assert_eq!(shown[1].get("transaction_data"), None);
    }
}

#[test]
fn transaction_data_is_rejected_for_drafts_and_for_mdocs_alone() {
    let installation = HAIP.installation().with("IDGATE_PROFILES", "haip,draft");
    let mut desk = Desk::start_on(installation, HAIP);
    let asking = |ids: Value| json!([{ "type": "com.example.payment", "credential_ids": ids }]);
    let mut body = desk.body(BOTH);
    body["transaction_data"] = asking(json!(["licence"]));
    let refused = desk.tenant.post_session(&body);
    assert!(refused.message().contains("transaction_data[0].credential_ids"), "{refused:?}");
    refused.expect_error(400, "invalid_request");
    body["transaction_data"] = asking(json!(["pid"]));
    body["profiles"] = json!(["haip", "draft"]);
    let refused = desk.tenant.post_session(&body);
    assert!(refused.message().contains("draft"), "{refused:?}");
    refused.expect_error(400, "invalid_request");
}
