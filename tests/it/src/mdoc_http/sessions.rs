//! Sessions that ask for more than one credential, and for ages.

use idgate_testkit::samples::{self, issue_mdl};
use idgate_testkit::wallet::Wallet;
use serde_json::{Value, json};

use super::VERIFIED;
use super::desk::{Desk, add_root};
use crate::mdoc_tamper::{Authority, mdl};
use crate::server::Installation;
use crate::tenant::{credential, form, now_ms, sample_trust, sample_wallet, wallet_with};

/// A test-mode server that trusts the sample SD-JWT VC issuer as well.
fn desk() -> Desk {
    let installation = Installation::new();
    let client = installation.create_client("shop", true);
    installation.trust(&sample_trust(), &[]);
    let sample = issue_mdl(now_ms());
    let authority = Authority { root: sample.root, signer: sample.signer };
    add_root(&installation, &authority, &[]);
    Desk::serve(installation, client, authority)
}

/// Erika's identity, or another one, together with her driving licence.
fn with_licence(desk: &Desk, wallet: Wallet) -> Wallet {
    let mut document = issue_mdl(now_ms()).document;
    // The root was created when the server started; the signer's key is the same.
    let leaf = idgate_testkit::mdoc::Cbor::Bytes(desk.authority.signer.der.clone());
    document.issuer_signed.unprotected.set(33, leaf);
    wallet.with_mdoc(document)
}

#[test]
fn one_answer_can_have_both_formats() {
    let mut desk = desk();
    let request = json!({ "credentials": [
        credential("pid", &["given_name"]), mdl(&["family_name", "document_number"]),
    ] });
    let created = desk.tenant.create(&request);
    let wallet = with_licence(&desk, sample_wallet());
    assert_eq!(desk.settle(&created, &form(&wallet, &created)), VERIFIED);
    let session = desk.tenant.read(&created.id);
    let claims = json!({
        "pid": { "given_name": "Erika" },
        "mdl": { "family_name": "Mustermann", "document_number": "UT-0815-4711" },
    });
    assert_eq!(session["claims"], claims);
    let formats: Vec<&Value> = session["verification_details"]["credentials"]
        .as_array()
        .unwrap()
        .iter()
        .map(|credential| &credential["format"])
        .collect();
    assert_eq!(formats, ["vc+sd-jwt", "mso_mdoc"]);
}

#[test]
fn an_sd_jwt_vc_does_not_satisfy_an_mdoc_query_or_the_reverse() {
    let mut desk = desk();
    let request = json!({ "credentials": [
        credential("pid", &["given_name"]), mdl(&["family_name"]),
    ] });
    let created = desk.tenant.create(&request);
    let wallet = with_licence(&desk, sample_wallet());
    let mut answer = wallet.answer_uri(&created.uri, now_ms()).unwrap();
    answer.presentations.reverse();
    assert_eq!(desk.settle(&created, &answer.form_body()), "malformed_presentation");
    let created = desk.tenant.create(&request);
    let mut answer = wallet.answer_uri(&created.uri, now_ms()).unwrap();
    let entries = answer.presentation_submission["descriptor_map"].as_array_mut().unwrap();
    entries[1]["format"] = json!("vc+sd-jwt");
    assert_eq!(desk.settle(&created, &answer.form_body()), "submission_mismatch");
}

#[test]
fn same_person_matching_works_across_formats() {
    let mut desk = desk();
    let request = json!({
        "credentials": [credential("pid", &["nationalities"]), mdl(&["document_number"])],
        "same_subject_groups": [["pid", "mdl"]],
    });
    for (wallet, expected) in [
        (sample_wallet(), VERIFIED),
        (wallet_with(&[("family_name", "  MUSTERMANN ")]), VERIFIED),
        (wallet_with(&[("family_name", "Musterfrau")]), "subject_mismatch"),
        (wallet_with(&[("birthdate", "1984-08-13")]), "subject_mismatch"),
    ] {
        let created = desk.tenant.create(&request);
        let wallet = with_licence(&desk, wallet);
        assert_eq!(desk.settle(&created, &form(&wallet, &created)), expected);
        if expected == VERIFIED {
            let session = desk.tenant.read(&created.id);
            // A claim that only the comparison needed is not returned.
            assert_eq!(session["claims"]["mdl"], json!({ "document_number": "UT-0815-4711" }));
            let groups = json!([{ "ids": ["pid", "mdl"], "matched": true }]);
            assert_eq!(session["verification_details"]["same_subject"], groups);
        }
    }
}

#[test]
fn the_nearest_age_statement_decides() {
    let mut desk = desk();
    // The sample licence states 16 and 21, and not 65.
    for (asked, over, decided_by) in [
        ("age_over_21", true, None),
        ("age_over_18", true, Some("age_over_21")),
        ("age_over_70", false, Some("age_over_65")),
    ] {
        let created = desk.tenant.create(&json!({ "credentials": [mdl(&[asked])] }));
        let wallet = with_licence(&desk, Wallet::new(samples::holder_key(CURVE)));
        assert_eq!(desk.settle(&created, &form(&wallet, &created)), VERIFIED, "{asked}");
        let session = desk.tenant.read(&created.id);
        assert_eq!(session["claims"], json!({ "mdl": { asked: over } }));
        let credential = &session["verification_details"]["credentials"][0];
        let expected = decided_by.map(|by| json!({ asked: by }));
        assert_eq!(credential.get("decided_by"), expected.as_ref(), "{asked}");
    }
}

const CURVE: idgate_testkit::keys::Curve = idgate_testkit::keys::Curve::P256;

#[test]
fn an_age_filter_decides_on_the_derived_value() {
    let mut desk = desk();
    for (filter, expected) in [(true, VERIFIED), (false, "claim_filter_mismatch")] {
        let mut asked = mdl(&["age_over_18"]);
        asked["claim_filters"] = json!({ "age_over_18": { "const": filter } });
        let created = desk.tenant.create(&json!({ "credentials": [asked] }));
        let wallet = with_licence(&desk, Wallet::new(samples::holder_key(CURVE)));
        assert_eq!(desk.settle(&created, &form(&wallet, &created)), expected);
    }
}

#[test]
fn unsupported_mdoc_requests_are_rejected_at_creation() {
    let mut desk = desk();
    let twice = json!({ "credentials": [mdl(&["family_name"]), {
        "id": "again", "format": "mso_mdoc", "issuer_id": super::ISSUER_ID,
        "claims": ["given_name"],
    }] });
    desk.tenant.post_session(&twice).expect_error(400, "invalid_request");
    let mut named = credential("org.iso.18013.5.1.mDL", &["given_name"]);
    let clash = json!({ "credentials": [named.clone(), mdl(&["family_name"])] });
    desk.tenant.post_session(&clash).expect_error(400, "invalid_request");
    named["id"] = json!("pid");
    named["doc_type"] = json!("org.iso.18013.5.1.mDL");
    let mixed = json!({ "credentials": [named] });
    desk.tenant.post_session(&mixed).expect_error(400, "invalid_request");
    let mut keyless = mdl(&["family_name"]);
    keyless["issuer_id"] = json!(samples::ISSUER);
    let keyless = json!({ "credentials": [keyless] });
    desk.tenant.post_session(&keyless).expect_error(400, "unknown_issuer");
}
