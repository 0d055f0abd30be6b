//! Both request modes give the same claims and verification_details, for both formats.

use idgate_testkit::jwe::Enc;
use idgate_testkit::samples;
use idgate_testkit::wallet::Transcript;
use serde_json::{Value, json};

use super::Desk;
use crate::server::Installation;
use crate::tenant::{form, now_ms};

#[test]
fn both_profiles_give_the_same_claims_and_details() {
    let [inline, jar] = ["inline", "jar"].map(|mode| {
        let mut desk = Desk::start(Installation::new(), mode);
        let created = desk.tenant.create(&both_formats());
        let body = match mode {
            "inline" => form(&desk.wallet, &created),
            _ => {
                let jar = desk.fetch(&created);
                desk.answer(&jar).form_body()
            }
        };
        desk.tenant.post_answer(&created.id, &body).expect_status(200);
        let mut session = desk.tenant.read(&created.id);
        let details = &mut session["verification_details"];
        assert_eq!(details["request_mode"].take(), mode);
        assert!(details["verified_at"].take().is_string());
        for credential in details["credentials"].as_array_mut().unwrap() {
            // The two credentials were issued at different times.
            for date in ["valid_from", "valid_until", "trust_anchor_sha256"] {
                assert!(credential[date].take().is_string(), "{credential}");
            }
        }
        (session["claims"].take(), session["verification_details"].take())
    });
    assert_eq!(inline, jar);
    let expected = json!({
        "pid": { "given_name": "Erika" },
        "mdl": { "family_name": "Mustermann", "age_over_18": true },
    });
    assert_eq!(jar.0, expected);
    let holder_binding: Vec<&Value> =
        jar.1["credentials"].as_array().unwrap().iter().map(|c| &c["holder_binding"]).collect();
    assert_eq!(holder_binding, ["kb_jwt", "device_signature"]);
}

#[test]
fn every_content_encryption_transcript_and_device_proof_is_accepted() {
    let mut desk = Desk::jar();
    for enc in Enc::ALL {
        for (transcript, name) in
            [(Transcript::OpenId4Vp, "openid4vp-1.0"), (Transcript::Iso180137, "iso18013-7")]
        {
            for (device_mac, binding) in [(false, "device_signature"), (true, "device_mac")] {
                let created = desk.tenant.create(&both_formats());
                let jar = desk.fetch(&created);
                let answer =
                    desk.wallet.answer_jar(&jar, transcript, device_mac, now_ms()).unwrap();
                let body = answer.with_enc(enc).form_body();
                desk.tenant.post_answer(&created.id, &body).expect_status(200);
                let session = desk.tenant.read(&created.id);
                let mdl = &session["verification_details"]["credentials"][1];
                let proof = (&mdl["session_transcript"], &mdl["holder_binding"]);
                assert_eq!(proof, (&json!(name), &json!(binding)), "{enc:?}: {session}");
            }
        }
    }
}

fn both_formats() -> Value {
    json!({ "credentials": [
        { "id": "pid", "format": "vc+sd-jwt", "issuer_id": samples::ISSUER,
          "claims": ["given_name"] },
        { "id": "mdl", "format": "mso_mdoc", "issuer_id": samples::MDL_ISSUER,
          "claims": ["family_name", "age_over_18"] },
    ] })
}
