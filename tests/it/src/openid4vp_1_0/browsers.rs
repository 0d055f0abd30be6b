//! Through the browser of a page (A, H5.2), under HAIP and with both formats.

use super::*;

const SHOP: &str = "https://shop.example";

#[test]
fn claims_answered_through_a_browser_are_read_without_a_code() {
    let installation = HAIP.installation().with("IDGATE_DC_API", "multisigned");
    let mut desk = Desk::start_on(installation, HAIP);
    let mut body = desk.body(BOTH);
    body["dc_api"] = json!({ "origins": ["https://other.example", SHOP] });
    for at in 0..3 {
        let created = desk.tenant.create(&body);
        let request = &created.answer["dc_api"]["requests"][at];
        let protocol = request["protocol"].as_str().unwrap();
        let asked = Asked::of_browser(protocol, &request["data"], SHOP).unwrap();
        let credential = desk.answer(&asked).credential(protocol);
        assert!(credential["data"]["response"].is_string(), "{protocol} is not encrypted");
        let relay = Request::post(format!("/v1/sessions/{}/dc-api", created.id));
        let relay = relay.bearer(&desk.tenant.api_key).json(&credential);
        let session = desk.tenant.http.send(&relay).expect_status(200).json();
        assert_eq!(session["claims"], claims(BOTH), "{protocol}");
        assert_eq!(desk.tenant.read(&created.id), session);
        let details = &session["verification_details"];
        assert_eq!(details["request_mode"], "dc_api");
        assert_eq!((&details["profile"], &details["origin"]), (&json!("haip"), &json!(SHOP)));
        let licence = &details["credentials"][1];
        assert_eq!(licence["session_transcript"], "openid4vp-1.0-dc-api");
    }
}
