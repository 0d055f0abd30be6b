//! A registration certificate in requests of ISO/IEC TS 18013-7 Annex C.

use idgate_testkit::iso_mdoc::IsoMdocRequest;
use idgate_testkit::mdoc::{MDL, MDL_NAME_SPACE};
use idgate_testkit::samples;
use idgate_testkit::wallet::Wallet;
use serde_json::{Value, json};

use super::registration::{add, jwt_with, told};
use super::signing::started;
use super::{Ca, certify};
use crate::http::Request;
use crate::tenant::{Created, Gateway, Tenant, now_ms};

const SHOP: &str = "https://shop.example";

/// A gateway that signs browser requests and trusts the issuer of licences, and a wallet with a
/// licence.
struct Desk {
    gateway: Gateway,
    tenant: Tenant,
    wallet: Wallet,
    ca: Ca,
}

impl Desk {
    fn start(settings: &[(&str, &str)]) -> Self {
        let own = [("IDGATE_CLIENT_ID", "did"), ("IDGATE_DC_API", "signed")];
        let ((gateway, tenant), ca) = (started("1.0", &[&own[..], settings].concat()), Ca::new());
        let installation = &gateway.installation;
        let licence = samples::issue_mdl(now_ms());
        let root = installation.file("iaca.der", &licence.root.der);
        let root = root.to_str().unwrap();
        let trusted = ["trust", "add", samples::MDL_ISSUER, "--root", root, "--revocation", "off"];
        let added = installation.run(&trusted);
        assert_eq!(added.code, 0, "{added:?}");
        certify(installation, &ca, 90, &[]);
        let document = licence.document;
        let wallet = Wallet::new(document.device_key.clone()).with_mdoc(document);
        Self { gateway, tenant, wallet, ca }
    }

    /// Registers the client for this element of a licence.
    fn register(&self, element: &str, more: &[&str]) -> String {
        let text = jwt_with(&json!({ "sub": "VATUT-123", "credentials": [{
            "format": "mso_mdoc", "meta": { "doctype_value": MDL },
            "claims": [{ "path": [MDL_NAME_SPACE, element] }] }] }));
        let id = self.gateway.client.client_id.as_str();
        let added = add(&self.gateway.installation, id, &text, more);
        assert_eq!(added.code, 0, "{added:?}");
        text
    }
}

fn wish() -> Value {
    json!({
        "credentials": [{ "format": "mso_mdoc", "issuer_id": samples::MDL_ISSUER,
            "claims": ["family_name"] }],
        "dc_api": { "origins": [SHOP] },
    })
}

/// The last request that the shop's page passes on.
#[track_caller]
fn passed_on(created: &Created) -> IsoMdocRequest {
    let last = created.answer["dc_api"]["requests"].as_array().unwrap().last().unwrap();
    assert_eq!(last["protocol"], "org-iso-mdoc");
    IsoMdocRequest::read(&last["data"], SHOP).unwrap()
}

/// Checks that the leaf of the signing chain is the gateway's.
fn signed_by(chain: Option<Vec<idgate_testkit::openid4vp::Certificate>>, ca: &Ca) -> bool {
    let own = idgate_testkit::openid4vp::Certificate::read(&ca.leaf());
    chain.is_some_and(|chain| chain.first() == own.as_ref())
}

#[test]
fn a_signed_second_edition_device_request_carries_the_registration() {
    let mut desk = Desk::start(&[]);
    let first = passed_on(&desk.tenant.create(&wish()));
    assert_eq!((&first.registration, &first.reader_auth_all), (&None, &None), "1.0 without one");
    let text = desk.register("family_name", &["--intended-use", "licence", "--strict"]);
    let mut asked = wish();
    asked["intended_use"] = "licence".into();
    let created = desk.tenant.create(&asked);
    let request = passed_on(&created);
    assert_eq!(request.registration, Some(text));
    assert!(signed_by(request.reader(), &desk.ca) && signed_by(request.reader_of_all(), &desk.ca));
    let credential = desk.wallet.answer_iso_mdoc(&request).unwrap().credential();
    let relay = Request::post(format!("/v1/sessions/{}/dc-api", created.id));
    let relay = relay.bearer(&desk.tenant.api_key).json(&credential);
    let session = desk.tenant.http.send(&relay).expect_status(200).json();
    assert_eq!(session["status"], "VERIFIED", "{session}");
}

#[test]
fn more_than_is_registered_is_refused_before_a_browser_sees_it() {
    let mut desk = Desk::start(&[]);
    desk.register("given_name", &["--strict"]);
    let refused = desk.tenant.post_session(&wish()).expect_error(400, "invalid_request");
    assert!(refused.message().contains("family_name"), "{}", refused.message());
    desk.register("given_name", &[]);
    assert!(passed_on(&desk.tenant.create(&wish())).registration.is_some());
    let told = told(&desk.gateway.installation);
    assert!(told.iter().any(|(_, what)| what.contains("asks for more")), "{told:?}");
}

#[test]
fn a_first_edition_device_request_carries_no_registration() {
    let mut desk = Desk::start(&[("IDGATE_DC_API_ISO", "1.0")]);
    desk.register("given_name", &["--strict"]);
    let request = passed_on(&desk.tenant.create(&wish()));
    assert_eq!((&request.registration, &request.reader_auth_all), (&None, &None));
    assert!(signed_by(request.reader(), &desk.ca));
}
