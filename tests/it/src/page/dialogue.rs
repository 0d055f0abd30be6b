//! The browser's own dialogue on the page: here the gateway is the origin.

use idgate_testkit::openid4vp::{Answer, Request as Asked};

use super::*;
use crate::tenant::now_ms;

fn gateway() -> Gateway {
    let installation = installation().with("IDGATE_PROFILES", "1.0,draft");
    Gateway::trusting(installation.with("IDGATE_DC_API", "signed"), &sample_trust())
}

/// The same with rate limits. Time stands still, so no limit refills.
fn limited() -> Gateway {
    let limited = installation().with("IDGATE_PROFILES", "1.0").with("IDGATE_RATE_LIMITS", "on");
    let limited = limited.with("IDGATE_DC_API", "signed").with_machine();
    let gateway = Gateway::trusting(limited, &sample_trust());
    gateway.installation.machine().freeze();
    gateway
}

/// The last request, which is unsigned, as a page on `origin` passes it on.
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
fn a_page_asks_its_browser_and_posts_the_answer() {
    let gateway = gateway();
    let mut tenant = gateway.tenant();
    for same_device in [false, true] {
        let mut request = request();
        request["same_device"] = json!(same_device);
        let created = tenant.create(&request);
        assert!(!members(&created.answer).contains(&"dc_api"), "the tenant did not ask");
        let mut browser = Browser::new(&gateway, &created);
        browser.take();
        assert!(browser.page().contains("id=\"choose\""));
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
        answer(&mut browser, &credential).expect_error(409, "session_not_pending");
        browser.get("/dc-api").expect_error(404, "not_found");
    }
}

#[test]
fn a_by_reference_session_stays_created_until_its_page_asks_or_answers() {
    let installation = installation().with("IDGATE_PROFILES", "1.0,draft");
    let installation = installation.with("OID4VP_REQUEST_MODE", "jar");
    let gateway = Gateway::trusting(installation.with("IDGATE_DC_API", "signed"), &sample_trust());
    let mut tenant = gateway.tenant();
    let created = tenant.create(&request());
    let mut browser = Browser::new(&gateway, &created);
    browser.take();
    assert!(browser.page().contains("id=\"choose\""));
    let peek = Request::new("HEAD", format!("{}/dc-api", browser.path));
    assert_eq!(browser.send(peek).status, 200);
    assert_eq!(tenant.read(&created.id)["status"], "CREATED");
    let origin = gateway.server.base_url.clone();
    let (protocol, asked) = passed_on(&mut browser, &origin);
    assert_eq!(tenant.read(&created.id)["status"], "PENDING");
    // Repeating it changes nothing.
    assert_eq!(passed_on(&mut browser, &origin).0, protocol);
    let credential = sample_wallet().answer_1_0(&asked, now_ms()).unwrap().credential(&protocol);
    assert_eq!(answer(&mut browser, &credential).expect_status(200).json()["state"], "done");
    assert_eq!(tenant.read(&created.id)["status"], "VERIFIED");
    // A request that the tenant passes to its own page is pending immediately.
    let mut own = request();
    own["dc_api"] = json!({ "origins": ["https://shop.example"] });
    let created = tenant.create(&own);
    assert_eq!(tenant.read(&created.id)["status"], "PENDING");
}

#[test]
fn only_the_browser_that_has_the_page_asks_and_answers() {
    let gateway = gateway();
    let mut tenant = gateway.tenant();
    let created = tenant.create(&request());
    let mut stranger = Browser::new(&gateway, &created);
    let taken = json!({ "state": "taken" });
    for refused in [stranger.get("/dc-api"), answer(&mut stranger, &json!({}))] {
        assert_eq!((refused.status, refused.json()), (403, taken.clone()), "no browser has it yet");
    }
    let mut browser = Browser::new(&gateway, &created);
    browser.take();
    let (protocol, asked) = passed_on(&mut browser, &gateway.server.base_url);
    let credential = sample_wallet().answer_1_0(&asked, now_ms()).unwrap().credential(&protocol);
    assert_eq!(answer(&mut stranger, &credential).status, 403);
    // Its cookie does not help a page on another origin.
    let from_elsewhere = Request::post(format!("{}/dc-api", browser.path)).json(&credential);
    let refused = browser.send(from_elsewhere.header("Origin", "https://evil.example"));
    assert_eq!((refused.status, refused.json()), (403, taken));
    assert_eq!(tenant.read(&created.id)["status"], "PENDING");
    answer(&mut browser, &credential).expect_status(200);
}

#[test]
fn an_answer_from_a_copied_page_is_rejected() {
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
fn an_invalid_answer_changes_nothing_and_a_decline_ends_the_session() {
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
    assert_eq!(answer(&mut browser, &declined).expect_status(200).json()["state"], "declined");
    assert_eq!(tenant.read(&created.id)["wallet_error"], "access_denied");
}

#[test]
fn an_invalid_answer_gives_its_browser_no_code() {
    let gateway = gateway();
    let mut tenant = gateway.tenant();
    let mut request = request();
    (request["same_device"], request["profiles"]) = (json!(true), json!(["1.0"]));
    let created = tenant.create(&request);
    let mut browser = Browser::new(&gateway, &created);
    browser.take();
    answer(&mut browser, &json!({})).expect_error(400, "invalid_response");
    let asked = crate::offers_http::read(&created);
    let by_link = sample_wallet().answer_1_0(&asked, now_ms()).unwrap();
    tenant.post_answer(&created.id, &by_link.body()).expect_status(200);
    let state = browser.get("/state").expect_status(200).json();
    assert_eq!(state["state"], "done");
    assert!(!state["back"].as_str().unwrap().contains("page_code"), "{state}");
}

#[test]
fn a_draft_session_has_no_browser_dialogue() {
    let gateway = gateway();
    let mut tenant = gateway.tenant();
    let mut request = request();
    request["profile"] = json!("draft");
    let created = tenant.create(&request);
    let mut browser = Browser::new(&gateway, &created);
    browser.take();
    assert!(!browser.page().contains("id=\"choose\""));
    browser.get("/dc-api").expect_error(404, "not_found");
}

#[test]
fn a_page_accepts_six_answers_a_minute_and_no_oversized_one() {
    let gateway = limited();
    let mut tenant = gateway.tenant();
    let (created, other) = (tenant.create(&request()), tenant.create(&request()));
    let mut browser = Browser::new(&gateway, &created);
    browser.take();
    let (protocol, asked) = passed_on(&mut browser, &gateway.server.base_url);
    let large = json!({ "protocol": "x".repeat(1024 * 1024), "data": {} });
    answer(&mut browser, &large).expect_error(413, "payload_too_large");
    browser.http = gateway.http();
    // It counted as the first of six.
    for _ in 1..6 {
        answer(&mut browser, &json!({})).expect_error(400, "invalid_response");
    }
    let credential =
        sample_wallet().answer_1_0(&asked, created.made_ms).unwrap().credential(&protocol);
    let refused = answer(&mut browser, &credential);
    assert_eq!(refused.header("ratelimit-policy"), Some("\"response-session\";q=6;w=60"));
    assert!(refused.header("retry-after").is_some());
    refused.expect_error(429, "rate_limited");
    assert_eq!(tenant.read(&created.id)["status"], "PENDING");
    // It can still see its page, and another session can be answered.
    assert_eq!(browser.state(), "open");
    let mut browser = Browser::new(&gateway, &other);
    browser.take();
    let (protocol, asked) = passed_on(&mut browser, &gateway.server.base_url);
    let credential =
        sample_wallet().answer_1_0(&asked, other.made_ms).unwrap().credential(&protocol);
    answer(&mut browser, &credential).expect_status(200);
}

#[test]
fn answers_from_other_browsers_are_not_read_or_counted() {
    let gateway = limited();
    let mut tenant = gateway.tenant();
    let created = tenant.create(&request());
    let mut browser = Browser::new(&gateway, &created);
    browser.take();
    for _ in 0..8 {
        let mut stranger = Browser::new(&gateway, &created);
        assert_eq!(answer(&mut stranger, &json!({})).status, 403);
    }
    let (protocol, asked) = passed_on(&mut browser, &gateway.server.base_url);
    let credential =
        sample_wallet().answer_1_0(&asked, created.made_ms).unwrap().credential(&protocol);
    answer(&mut browser, &credential).expect_status(200);
}

/// Planted in a credential, and searched for in everything that the page's browser and the log
/// received.
#[test]
fn no_claim_is_in_the_pages_responses_or_in_the_log() {
    const PLANTED: &str = "Sentinel-given-Q7f3xZ";
    let installation =
        installation().with("IDGATE_PROFILES", "1.0,draft").with("IDGATE_LOG", "trace");
    let gateway = Gateway::trusting(installation.with("IDGATE_DC_API", "signed"), &sample_trust());
    let mut tenant = gateway.tenant();
    let created = tenant.create(&request());
    let mut browser = Browser::new(&gateway, &created);
    browser.take();
    let (protocol, asked) = passed_on(&mut browser, &gateway.server.base_url);
    let wallet = crate::tenant::wallet_with(&[("given_name", PLANTED)]);
    let credential = wallet.answer_1_0(&asked, now_ms()).unwrap().credential(&protocol);
    let mut told = Vec::new();
    let mut note = |answer: Response| {
        told.extend(answer.header("set-cookie").unwrap_or_default().bytes());
        told.extend(answer.header("location").unwrap_or_default().bytes());
        told.extend(answer.body);
    };
    note(answer(&mut browser, &credential).expect_status(200));
    for below in ["", "/state", "/state?seen=open", "/dc-api", "/open", "/logo"] {
        note(browser.get(below));
    }
    note(browser.post("/take"));
    let mut stranger = Browser::new(&gateway, &created);
    for below in ["", "/state", "/dc-api", "/open"] {
        note(stranger.get(below));
    }
    assert_eq!(tenant.read(&created.id)["claims"]["pid"]["given_name"], PLANTED);
    let code = tenant.read(&created.id)["verification_details"]["page_code"].to_string();
    let cookie = browser.cookie.clone().unwrap();
    let Gateway { server, installation, .. } = gateway;
    server.terminate();
    assert!(server.wait().0.success());
    let log = installation.log();
    assert!(log.contains("/v/{id}/dc-api"), "there is a log, and it is about these requests");
    for secret in
        [PLANTED, code.trim_matches('"'), cookie.split('=').nth(1).unwrap(), &browser.path]
    {
        assert!(secret.len() >= 12, "too short to search for");
        assert!(!log.contains(secret), "a secret of {} characters is logged", secret.len());
    }
    let told = String::from_utf8_lossy(&told);
    assert!(told.contains("done") && !told.contains(PLANTED), "{told}");
    // Nor is it there encoded as in a disclosure.
    let encoded = idgate_testkit::codec::base64url(format!(",\"{PLANTED}\"]").as_bytes());
    assert!(!told.contains(&encoded[4..encoded.len() - 4]), "{told}");
}
