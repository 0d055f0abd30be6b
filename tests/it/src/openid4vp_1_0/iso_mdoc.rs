//! ISO/IEC TS 18013-7 Annex C over HTTP: the request that a page passes on, and the answer that its
//! server relays.

use idgate_testkit::iso_mdoc::{IsoMdocAnswer, IsoMdocRequest, PROTOCOL};
use idgate_testkit::openid4vp::{Certificate, check_path};

use super::*;

const SHOP: &str = "https://shop.example";

fn desk(dc_api: &str) -> Desk {
    Desk::start_on(HAIP.installation().with("IDGATE_DC_API", dc_api), HAIP)
}

impl Desk {
    fn for_the_shop(&self, formats: &[Format]) -> Value {
        let mut body = self.body(formats);
        body["dc_api"] = json!({ "origins": [SHOP] });
        body
    }

    fn relay(&mut self, created: &Created, credential: &Value) -> Response {
        let relay = Request::post(format!("/v1/sessions/{}/dc-api", created.id));
        self.tenant.http.send(&relay.bearer(&self.tenant.api_key).json(credential))
    }

    fn answered(&self, request: &IsoMdocRequest) -> IsoMdocAnswer {
        self.wallet.answer_iso_mdoc(request).unwrap()
    }
}

/// The last request, as a page on `origin` passes it on.
#[track_caller]
fn passed_on(created: &Created, origin: &str) -> IsoMdocRequest {
    let last = created.answer["dc_api"]["requests"].as_array().unwrap().last().unwrap();
    assert_eq!(last["protocol"], PROTOCOL);
    IsoMdocRequest::read(&last["data"], origin).unwrap()
}

#[test]
fn what_a_page_brings_back_is_the_result() {
    for dc_api in ["unsigned", "signed", "multisigned"] {
        let mut desk = desk(dc_api);
        let created = desk.tenant.create(&desk.for_the_shop(MDOC));
        let request = passed_on(&created, SHOP);
        match request.reader() {
            Some(chain) => {
                let anchor = Certificate::read(&desk.anchor).unwrap();
                assert!(dc_api != "unsigned" && check_path(&chain, &anchor, now_ms()));
            }
            None => assert_eq!(dc_api, "unsigned"),
        }
        let credential = desk.answered(&request).credential();
        let session = desk.relay(&created, &credential).expect_status(200).json();
        assert_eq!(session["status"], "VERIFIED", "{dc_api}");
        assert_eq!(session["claims"], claims(MDOC));
        let details = &session["verification_details"];
        assert_eq!(details["request_mode"], "dc_api");
        assert_eq!((&details["profile"], &details["origin"]), (&json!("haip"), &json!(SHOP)));
        assert_eq!(details["credentials"][0]["session_transcript"], "iso18013-7-annex-c");
        assert_eq!(desk.tenant.read(&created.id), session);
        desk.relay(&created, &credential).expect_error(409, "session_not_pending");
    }
}

#[test]
fn an_undecryptable_answer_changes_nothing_and_a_forged_one_ends_the_session() {
    let mut desk = desk("unsigned");
    let created = desk.tenant.create(&desk.for_the_shop(MDOC));
    let copied = passed_on(&created, "https://shop.example.evil.example");
    let elsewhere = desk.answered(&copied).credential();
    desk.relay(&created, &elsewhere).expect_error(400, "decryption_failed");
    let unknown = json!({"protocol": "org.iso.mdoc", "data": {"response": "g"}});
    desk.relay(&created, &unknown).expect_error(400, "invalid_response");
    assert_eq!(desk.tenant.read(&created.id)["status"], "PENDING");
    let mut forged = desk.answered(&passed_on(&created, SHOP));
    forged.transcript = copied.transcript();
    desk.relay(&created, &forged.credential()).expect_error(400, "invalid_presentation");
    desk.tenant.expect_failed(&created, "device_auth_invalid");
}

#[test]
fn a_page_whose_wallet_declines_ends_the_session() {
    let mut desk = desk("unsigned");
    let created = desk.tenant.create(&desk.for_the_shop(MDOC));
    let declined = json!({"protocol": PROTOCOL, "data": {"error": "access_denied"}});
    let session = desk.relay(&created, &declined).expect_status(200).json();
    assert_eq!(
        (&session["status"], &session["wallet_error"]),
        (&json!("FAILED"), &json!("access_denied"))
    );
}

#[test]
fn iso_mdoc_requests_are_for_mdocs_only_and_signed_ones_for_one_origin() {
    let mut desk = desk("signed");
    let protocols = |created: &Created| -> Vec<String> {
        let requests = created.answer["dc_api"]["requests"].as_array().unwrap();
        requests.iter().map(|one| one["protocol"].as_str().unwrap().to_owned()).collect()
    };
    let of_openid4vp = ["openid4vp-v1-signed", "openid4vp-v1-unsigned"];
    for formats in [SD_JWT_VC, BOTH] {
        let created = desk.tenant.create(&desk.for_the_shop(formats));
        assert_eq!(protocols(&created), of_openid4vp);
    }
    let mut body = desk.for_the_shop(MDOC);
    body["dc_api"]["origins"] = json!([SHOP, "https://other.example"]);
    let refused = desk.tenant.post_session(&body);
    assert!(String::from_utf8_lossy(&refused.body).contains("dc_api.origins"));
    refused.expect_error(400, "invalid_request");
    body["dc_api"]["iso_mdoc"] = false.into();
    let created = desk.tenant.create(&body);
    assert_eq!(protocols(&created), of_openid4vp);
    body["dc_api"]["iso_mdoc"] = "no".into();
    desk.tenant.post_session(&body).expect_error(400, "invalid_request");
}

/// The key is stored sealed and separately from the session until the session settles.
#[test]
fn a_restarted_gateway_reads_the_iso_mdoc_answer() {
    let mut desk = desk("signed");
    let created = desk.tenant.create(&desk.for_the_shop(MDOC));
    let credential = desk.answered(&passed_on(&created, SHOP)).credential();
    let mut desk = desk.with(&[]);
    let session = desk.relay(&created, &credential).expect_status(200).json();
    assert_eq!(session["claims"], claims(MDOC));
}
