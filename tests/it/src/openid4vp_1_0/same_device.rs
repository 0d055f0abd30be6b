//! Same device under HAIP (H5.1): claims are read with the response code that the browser brought
//! back, or not at all.

use super::*;
use crate::tenant::members;

#[test]
fn claims_are_read_only_with_the_browsers_response_code() {
    let mut desk = Desk::start(HAIP);
    let created = desk.create(SD_JWT_VC);
    let asked = desk.request(&created, SD_JWT_VC);
    let redirect_uri = desk.settle(&desk.answer(&asked)).unwrap();
    assert!(redirect_uri.starts_with(REDIRECT_URI), "{redirect_uri}");
    for wrong in ["", "?response_code=", "?response_code=another"] {
        let session = desk.tenant.read(&format!("{}{wrong}", created.id));
        assert_eq!(session["status"], "VERIFIED");
        let shown = members(&session);
        assert!(!shown.contains(&"claims"), "{shown:?}");
        assert!(!shown.contains(&"verification_details"), "{shown:?}");
    }
    let session = desk.result(&created, Some(&redirect_uri));
    assert_eq!(session["claims"], claims(SD_JWT_VC));
}

#[test]
fn same_device_false_needs_no_response_code() {
    let mut desk = Desk::start(HAIP);
    let mut body = desk.body(SD_JWT_VC);
    body["same_device"] = false.into();
    let created = desk.tenant.create(&body);
    let asked = desk.request(&created, SD_JWT_VC);
    desk.settle(&desk.answer(&asked));
    assert_eq!(desk.tenant.read(&created.id)["claims"], claims(SD_JWT_VC));
}

#[test]
fn every_session_has_its_own_response_code_also_for_errors() {
    let mut desk = Desk::start(HAIP);
    let mut codes = Vec::new();
    for error in [false, true, false] {
        let created = desk.create(SD_JWT_VC);
        let asked = desk.request(&created, SD_JWT_VC);
        let answer = match error {
            true => Answer::error(&asked, "access_denied", true),
            false => desk.answer(&asked),
        };
        codes.push(desk.settle(&answer).unwrap());
    }
    codes.sort();
    codes.dedup();
    assert_eq!(codes.len(), 3);
}

#[test]
fn haip_without_a_redirect_uri_is_rejected() {
    let mut desk = Desk::start(HAIP);
    let body = json!({ "credentials": [credential(Format::SdJwtVc)] });
    desk.tenant.post_session(&body).expect_error(400, "invalid_request");
}
