//! One session for draft and 1.0 wallets: each finds its own request, and one answer is accepted.

use idgate_testkit::request::AuthorizationRequest;
use idgate_testkit::request_object::{JarLink, JarRequest};
use idgate_testkit::wallet::Transcript;

use super::*;
use crate::tenant::members;

impl Desk {
    /// A gateway that speaks HAIP and the draft profile.
    fn of_two_profiles() -> Self {
        let installation = HAIP.installation().with("IDGATE_PROFILES", "haip,draft");
        Self::start_on(installation, HAIP)
    }

    /// The same, with drafts by value.
    fn with_drafts_by_value() -> Self {
        let installation = HAIP.installation().with("IDGATE_PROFILES", "haip,draft");
        Self::start_on(installation.with("OID4VP_REQUEST_MODE", "inline"), HAIP)
    }

    fn create_in_both(&mut self, formats: &[Format]) -> Created {
        let mut body = self.body(formats);
        body["profiles"] = json!(["haip", "draft"]);
        body["same_device"] = false.into();
        self.tenant.create(&body)
    }

    /// The HAIP request, behind the links of its wallets.
    fn new_request(&mut self, created: &Created, formats: &[Format]) -> Asked {
        let links = &created.answer["deep_links"];
        let after = |link: &Value| link.as_str().unwrap().split_once("://").unwrap().1.to_owned();
        assert_eq!(after(&links["haip"]), after(&links["eudi-wallet"]));
        assert_eq!(after(&links["haip"]), after(&json!(created.uri)));
        let (asked, findings) = self.read(links["haip"].as_str().unwrap(), formats, None);
        assert!(findings.is_empty(), "{findings}");
        asked
    }

    /// The request of the draft profile, and its answer.
    fn old_answer(&mut self, created: &Created) -> (String, Body) {
        let link = created.answer["deep_links"]["openid4vp"].as_str().unwrap();
        let link = JarLink::parse(link).unwrap();
        let jwt = self.fetch(&link.request_uri, None).jwt;
        let document = self.did_document();
        let jar = JarRequest::verify(&link, &jwt, &document, now_ms()).unwrap();
        let answer = self.wallet.answer_jar(&jar, Transcript::OpenId4Vp, false, now_ms()).unwrap();
        (jar.request.response_uri.clone(), answer.form_body())
    }
}

#[test]
fn draft_and_1_0_wallets_answer_through_their_own_links() {
    let mut desk = Desk::of_two_profiles();
    for formats in [SD_JWT_VC, MDOC, BOTH] {
        let created = desk.create_in_both(formats);
        let asked = desk.new_request(&created, formats);
        let (old_uri, old_body) = desk.old_answer(&created);
        desk.settle(&desk.answer(&asked));
        let session = desk.tenant.read(&created.id);
        assert_eq!(session["claims"], claims(formats));
        assert_eq!(session["verification_details"]["profile"], "haip");
        desk.post(&old_uri, &old_body).expect_error(409, "session_not_pending");

        let created = desk.create_in_both(formats);
        let asked = desk.new_request(&created, formats);
        let (old_uri, old_body) = desk.old_answer(&created);
        let reply = desk.post(&old_uri, &old_body).expect_status(200).json();
        assert_eq!(reply["status"], "ok");
        let session = desk.tenant.read(&created.id);
        assert_eq!(session["claims"], claims(formats));
        assert_eq!(session["verification_details"]["profile"], "draft");
        let late = desk.answer(&asked);
        desk.post(&late.response_uri, &late.body()).expect_error(409, "session_not_pending");
    }
}

#[test]
fn a_session_can_have_haip_by_reference_and_draft_by_value() {
    let mut desk = Desk::with_drafts_by_value();
    for formats in [SD_JWT_VC, MDOC] {
        for by_draft in [false, true] {
            let created = desk.create_in_both(formats);
            assert_eq!(desk.tenant.read(&created.id)["status"], "PENDING", "one is out at once");
            let asked = desk.new_request(&created, formats);
            let link = created.answer["deep_links"]["openid4vp"].as_str().unwrap();
            let draft = AuthorizationRequest::parse(link).unwrap();
            let old = desk.wallet.answer(&draft, now_ms()).unwrap().form_body();
            let new = desk.answer(&asked);
            assert_ne!(draft.response_uri, new.response_uri);
            // Neither fits the other request, and nothing changes.
            desk.post(&new.response_uri, &old).expect_error(400, "invalid_response");
            desk.post(&draft.response_uri, &new.body()).expect_error(400, "invalid_response");
            if by_draft {
                desk.post(&draft.response_uri, &old).expect_status(200);
                desk.post(&new.response_uri, &new.body()).expect_error(409, "session_not_pending");
            } else {
                desk.settle(&new);
                desk.post(&draft.response_uri, &old).expect_error(409, "session_not_pending");
            }
            let session = desk.tenant.read(&created.id);
            assert_eq!(session["claims"], claims(formats));
            let details = &session["verification_details"];
            let mode = if by_draft { "inline" } else { "jar" };
            assert_eq!(details["request_mode"], mode);
            let profile = if by_draft { "draft" } else { "haip" };
            assert_eq!(details["profile"], profile);
        }
    }
}

#[test]
fn a_draft_answer_of_a_haip_session_is_read_with_the_code_too() {
    let mut desk = Desk::of_two_profiles();
    let mut body = desk.body(SD_JWT_VC);
    body["profiles"] = json!(["haip", "draft"]);
    let created = desk.tenant.create(&body);
    let (uri, answer) = desk.old_answer(&created);
    let reply = desk.post(&uri, &answer).expect_status(200).json();
    for wrong in ["", "?response_code=", "?response_code=another"] {
        let session = desk.tenant.read(&format!("{}{wrong}", created.id));
        assert_eq!(session["status"], "VERIFIED");
        let shown = members(&session);
        assert!(!shown.contains(&"claims"), "{shown:?}");
        assert!(!shown.contains(&"verification_details"), "{shown:?}");
    }
    let session = desk.result(&created, reply["redirect_uri"].as_str());
    assert_eq!(session["claims"], claims(SD_JWT_VC));
}

#[test]
fn an_answer_to_one_request_does_not_fit_the_other() {
    let mut desk = Desk::of_two_profiles();
    let created = desk.create_in_both(SD_JWT_VC);
    let asked = desk.new_request(&created, SD_JWT_VC);
    let (old_uri, old_body) = desk.old_answer(&created);
    assert_ne!(old_uri, asked.response_uri);
    let new = desk.answer(&asked);
    desk.post(&old_uri, &new.body()).expect_error(400, "decryption_failed");
    desk.post(&new.response_uri, &old_body).expect_error(400, "decryption_failed");
    assert_eq!(desk.tenant.read(&created.id)["status"], "PENDING");
    desk.settle(&new);
}

#[test]
fn a_profile_that_is_not_enabled_is_refused() {
    let mut desk = Desk::start(HAIP);
    for profiles in [json!(["draft"]), json!(["haip", "1.0"]), json!(["2.0"])] {
        let mut body = desk.body(SD_JWT_VC);
        body["profiles"] = profiles;
        desk.tenant.post_session(&body).expect_error(400, "unsupported_profile");
    }
}
