//! The rate limits of a page, for other browsers and for the browser that has it.

use std::net::Ipv4Addr;
use std::time::Duration;

use idgate_testkit::request_object::JarLink;
use idgate_testkit::wallet;

use super::*;
use crate::tenant::answer_request;

/// A gateway with limits, whose clock stands still, and a session's page.
fn limited() -> (Gateway, Created) {
    let limited = installation().with("IDGATE_RATE_LIMITS", "on").with_machine();
    let gateway = Gateway::trusting(limited, &sample_trust());
    gateway.installation.machine().freeze();
    let created = gateway.tenant().create(&request());
    (gateway, created)
}

/// Sends requests until the limit. Returns how many passed, and the last answer.
fn exhaust(browser: &mut Browser) -> (usize, Response) {
    for asked in 0..100 {
        let answer = browser.get("/state");
        if answer.status == 429 {
            return (asked, answer);
        }
    }
    panic!("there is no limit");
}

#[test]
fn other_browsers_cannot_lock_out_the_pages_browser() {
    let (gateway, created) = limited();
    let (mut own, mut stranger) =
        (Browser::new(&gateway, &created), Browser::new(&gateway, &created));
    own.take();
    let (asked, refused) = exhaust(&mut stranger);
    // One was used for taking the page.
    assert_eq!(asked, 59);
    assert_eq!(refused.header("ratelimit-policy"), Some("\"page-token\";q=60;w=60"));
    own.page();
    assert_eq!(own.state(), "open");
    assert_eq!(own.get("/open").status, 302);
}

#[test]
fn the_pages_browser_has_its_own_60_requests_a_minute() {
    let (gateway, created) = limited();
    let mut own = Browser::new(&gateway, &created);
    own.take();
    let (asked, refused) = exhaust(&mut own);
    assert_eq!(asked, 60);
    assert_eq!(refused.header("ratelimit-policy"), Some("\"page-browser\";q=60;w=60"));
    refused.expect_error(429, "rate_limited");
    // One request refills per second.
    gateway.installation.machine().jump(Duration::from_secs(3));
    assert_eq!(exhaust(&mut own).0, 3);
    // It does not use up anyone else's limit.
    assert_eq!(Browser::new(&gateway, &created).get("").status, 403);
}

#[test]
fn a_foreign_cookie_or_key_counts_as_none() {
    let (gateway, created) = limited();
    let mut own = Browser::new(&gateway, &created);
    own.take();
    let name = own.cookie.as_ref().unwrap().split('=').next().unwrap().to_owned();
    let mut forger = Browser::new(&gateway, &created);
    let mut asked = 0;
    let refused = loop {
        let made_up = format!("Ab0123456789abcdef{asked:04}");
        forger.cookie = Some(format!("{name}={made_up}"));
        let request = Request::get(format!("{}/state", forger.path));
        let answer = forger.send(request.header("Idgate-Page-Key", made_up));
        if answer.status == 429 {
            break answer;
        }
        assert_eq!(answer.status, 403);
        asked += 1;
    };
    assert_eq!(asked, 59);
    assert_eq!(refused.header("ratelimit-policy"), Some("\"page-token\";q=60;w=60"));
}

#[test]
fn other_browsers_do_not_keep_a_page_from_being_retaken() {
    let (gateway, created) = limited();
    let mut own = Browser::new(&gateway, &created);
    let key = "Ab0123456789abcdefghi1";
    let take = |browser: &mut Browser| {
        let request = Request::post(format!("{}/take", browser.path));
        let request = request.header("Idgate-Page-Key", key);
        browser.send(request.header("Accept", "application/json"))
    };
    take(&mut own).expect_status(200);
    exhaust(&mut Browser::new(&gateway, &created));
    take(&mut own).expect_status(200);
}

#[test]
fn a_free_page_is_limited_whatever_cookie_is_sent() {
    let (gateway, created) = limited();
    let mut browser = Browser::new(&gateway, &created);
    browser.cookie = Some("theme=dark".into());
    let (asked, refused) = exhaust(&mut browser);
    assert_eq!(asked, 60);
    refused.expect_error(429, "rate_limited");
}

/// The address of an attacker. The person's wallet has another address, or the same one.
const STRANGER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 9);
const ELSEWHERE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 8);

/// Sends until the limit. Returns how many requests passed, and the rejection.
fn until_limited(http: &mut Http, request: &Request) -> (usize, Response) {
    for passed in 0..100 {
        let answer = http.send(request);
        if answer.status == 429 {
            return (passed, answer);
        }
    }
    panic!("there is no limit");
}

#[test]
fn visits_with_a_photographed_code_do_not_delay_the_wallet() {
    let limited = installation().with("IDGATE_RATE_LIMITS", "on").with_machine();
    let gateway = Gateway::trusting(limited.with("OID4VP_REQUEST_MODE", "jar"), &sample_trust());
    let machine = gateway.installation.machine();
    machine.freeze();
    let created = gateway.tenant().create(&request());
    let mut browser = Browser::new(&gateway, &created);
    browser.page();
    let shown = |browser: &mut Browser| {
        let link = browser.get("/state").json()["links"]["openid4vp"].as_str().unwrap().to_owned();
        let link = JarLink::parse(&link).unwrap();
        Request::get(link.request_uri.strip_prefix(&gateway.server.base_url).unwrap())
    };
    let photographed = shown(&mut browser);
    machine.jump(Duration::from_secs(16));
    let address = gateway.server.address;
    let mut stranger = Http::from(address, STRANGER);
    let (passed, refused) = until_limited(&mut stranger, &photographed);
    assert_eq!(passed, 10);
    assert_eq!(refused.header("ratelimit-policy"), Some("\"request-session\";q=10;w=60"));
    let fresh = shown(&mut browser);
    for from in [ELSEWHERE, STRANGER] {
        let mut wallet = Http::from(address, from);
        for _ in 0..10 {
            wallet.send(&fresh).expect_status(200);
        }
        // Its own share is limited as well.
        assert_eq!(until_limited(&mut wallet, &fresh).0, 0);
    }
}

#[test]
fn all_networks_together_fetch_a_request_60_times_a_minute() {
    let limited = installation().with("IDGATE_RATE_LIMITS", "on").with_machine();
    let gateway = Gateway::trusting(limited.with("OID4VP_REQUEST_MODE", "jar"), &sample_trust());
    gateway.installation.machine().freeze();
    let created = gateway.tenant().create(&request());
    let link = JarLink::parse(&created.uri).unwrap();
    let path = link.request_uri.strip_prefix(&gateway.server.base_url).unwrap();
    let fetch = Request::get(path);
    let mut passed = 0;
    let refused = (10..).find_map(|host| {
        let mut http = Http::from(gateway.server.address, Ipv4Addr::new(127, 0, 0, host));
        let (of_one, refused) = until_limited(&mut http, &fetch);
        passed += of_one;
        (of_one < 10).then_some(refused)
    });
    assert_eq!(passed, 60);
    let policy = "\"request-session-total\";q=60;w=60";
    assert_eq!(refused.unwrap().header("ratelimit-policy"), Some(policy));
}

#[test]
fn invalid_answers_do_not_delay_the_wallet() {
    let (gateway, created) = limited();
    let address = gateway.server.address;
    let answer = sample_wallet().answer_uri(&created.uri, created.made_ms).unwrap();
    let junk = wallet::Answer { state: "other".into(), ..answer.clone() };
    let junk = answer_request(&created.id, &junk.form_body());
    let mut stranger = Http::from(address, STRANGER);
    stranger.send(&junk).expect_error(400, "state_mismatch");
    let (passed, refused) = until_limited(&mut stranger, &junk);
    assert_eq!(passed, 5);
    assert_eq!(refused.header("ratelimit-policy"), Some("\"response-session\";q=6;w=60"));
    // Not even if the wallet is in the same network.
    let mut wallet = Http::from(address, STRANGER);
    wallet.send(&answer_request(&created.id, &answer.form_body())).expect_status(200);
}

#[test]
fn one_network_cannot_keep_others_from_taking_a_page() {
    let (gateway, created) = limited();
    let mut stranger = Browser::new(&gateway, &created);
    stranger.http = Http::from(gateway.server.address, STRANGER);
    exhaust(&mut stranger);
    let mut own = Browser::new(&gateway, &created);
    own.take();
    own.page();
}
