//! The browser's own dialogue on the page: the gateway is the origin.

use idgate_testkit::openid4vp::{Answer, Request as Asked};

use super::*;
use crate::tenant::now_ms;

fn gateway() -> Gateway {
    let installation = installation().with("IDGATE_PROFILES", "1.0,draft");
    Gateway::trusting(installation.with("IDGATE_DC_API", "signed"), &sample_trust())
}

/// The last request that the page passes on, which is unsigned, as a page from `origin` has it.
fn passed_on(browser: &mut Browser, origin: &str) -> (String, Asked) {
    let requests = browser.get("/dc-api").expect_status(200).json();
    let last = requests["requests"].as_array().unwrap().last().unwrap().clone();
    let protocol = last["protocol"].as_str().unwrap();
    (protocol.to_owned(), Asked::of_browser(protocol, &last["data"], origin).unwrap())
}

fn answer(browser: &mut Browser, body: &Value) -> Response {
    let request = Request::post(format!("{}/dc-api", browser.path)).json(body);
    browser.send(request)
}

#[test]
fn a_page_asks_its_browser_and_brings_back_what_it_got() {
    let gateway = gateway();
    let mut tenant = gateway.tenant();
    for same_device in [false, true] {
        let mut request = request();
        request["same_device"] = json!(same_device);
        let created = tenant.create(&request);
        assert!(!members(&created.answer).contains(&"dc_api"), "the tenant did not ask");
        let mut browser = Browser::new(&gateway, &created);
        browser.take();
        assert!(browser.page().contains("id=\"dialogue\""));
        let origin = gateway.server.base_url.clone();
        let (protocol, asked) = passed_on(&mut browser, &origin);
        let credential =
            sample_wallet().answer_1_0(&asked, now_ms()).unwrap().credential(&protocol);
        let state = answer(&mut browser, &credential).expect_status(200).json();
        assert_eq!(state["state"], "done");
        let code = state["back"].as_str().unwrap().split("page_code=").nth(1).unwrap();
        let session = tenant.read(&created.id);
        assert_eq!(session["claims"]["pid"]["given_name"], "Erika");
        let details = &session["verification_details"];
        assert_eq!(details["origin"], origin);
        assert_eq!(details["page_code"], code.trim_end_matches("#top"));
        answer(&mut browser, &credential).expect_error(404, "not_found");
    }
}

#[test]
fn who_does_not_have_the_page_neither_asks_nor_answers() {
    let gateway = gateway();
    let mut tenant = gateway.tenant();
    let created = tenant.create(&request());
    let mut stranger = Browser::new(&gateway, &created);
    let taken = json!({ "state": "taken" });
    for refused in [stranger.get("/dc-api"), answer(&mut stranger, &json!({}))] {
        assert_eq!((refused.status, refused.json()), (403, taken.clone()), "nobody has it yet");
    }
    let mut browser = Browser::new(&gateway, &created);
    browser.take();
    let (protocol, asked) = passed_on(&mut browser, &gateway.server.base_url);
    let credential = sample_wallet().answer_1_0(&asked, now_ms()).unwrap().credential(&protocol);
    assert_eq!(answer(&mut stranger, &credential).status, 403);
    // Its cookie does not help a page from elsewhere.
    let from_elsewhere = Request::post(format!("{}/dc-api", browser.path)).json(&credential);
    let refused = browser.send(from_elsewhere.header("Origin", "https://evil.example"));
    assert_eq!((refused.status, refused.json()), (403, taken));
    assert_eq!(tenant.read(&created.id)["status"], "PENDING");
    answer(&mut browser, &credential).expect_status(200);
}

#[test]
fn a_copied_page_gets_an_answer_that_is_refused() {
    let gateway = gateway();
    let mut tenant = gateway.tenant();
    let created = tenant.create(&request());
    let mut browser = Browser::new(&gateway, &created);
    browser.take();
    let (protocol, asked) = passed_on(&mut browser, "https://evil.example");
    let credential = sample_wallet().answer_1_0(&asked, now_ms()).unwrap().credential(&protocol);
    let state = answer(&mut browser, &credential).expect_status(200).json();
    assert_eq!(state["state"], "refused");
    tenant.expect_failed(&created, "audience_mismatch");
}

#[test]
fn what_is_not_an_answer_changes_nothing_and_a_decline_ends_it() {
    let gateway = gateway();
    let mut tenant = gateway.tenant();
    let created = tenant.create(&request());
    let mut browser = Browser::new(&gateway, &created);
    browser.take();
    for bad in [json!({}), json!({ "protocol": "openid4vp-v1-unsigned", "data": {} })] {
        answer(&mut browser, &bad).expect_error(400, "invalid_response");
    }
    let text =
        Request::post(format!("{}/dc-api", browser.path)).header("Content-Type", "text/plain");
    browser.send(text.bytes("{}")).expect_error(400, "invalid_request");
    assert_eq!(browser.state(), "open");
    let (protocol, asked) = passed_on(&mut browser, &gateway.server.base_url);
    let declined = Answer::error(&asked, "access_denied", false).credential(&protocol);
    assert_eq!(answer(&mut browser, &declined).expect_status(200).json()["state"], "refused");
    assert_eq!(tenant.read(&created.id)["wallet_error"], "access_denied");
}

#[test]
fn a_session_of_drafts_has_no_dialogue() {
    let gateway = gateway();
    let mut tenant = gateway.tenant();
    let mut request = request();
    request["profile"] = json!("draft");
    let created = tenant.create(&request);
    let mut browser = Browser::new(&gateway, &created);
    browser.take();
    assert!(!browser.page().contains("id=\"dialogue\""));
    browser.get("/dc-api").expect_error(404, "not_found");
}
