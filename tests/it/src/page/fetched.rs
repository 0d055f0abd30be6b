//! A by-reference page shows that a wallet has the request once it was fetched, not when it was
//! only followed or opened.

use super::*;

fn gateway() -> Gateway {
    Gateway::trusting(installation().with("OID4VP_REQUEST_MODE", "jar"), &sample_trust())
}

/// The path of the request in the page's code.
pub(super) fn address(gateway: &Gateway, browser: &mut Browser) -> String {
    let link = browser.get("/state").json()["links"]["openid4vp"].as_str().unwrap().to_owned();
    let link = idgate_testkit::request_object::JarLink::parse(&link).unwrap();
    link.request_uri.strip_prefix(&gateway.server.base_url).unwrap().to_owned()
}

#[test]
fn the_page_shows_fetched_once_a_wallet_has_the_request() {
    let gateway = gateway();
    let mut tenant = gateway.tenant();
    let created = tenant.create(&request());
    let mut browser = Browser::new(&gateway, &created);
    browser.page();
    browser.take();
    let (mut wallet, path) = (gateway.http(), address(&gateway, &mut browser));
    // Neither a HEAD request nor following a link changes anything.
    wallet.send(&Request::new("HEAD", &*path)).expect_status(200);
    let part = path.split_once("?part=").unwrap().1;
    let open = format!("/v1/sessions/{}/open?part={part}", created.id);
    wallet.send(&Request::get(open)).expect_status(302);
    assert_eq!(
        (browser.state(), tenant.read(&created.id)["status"].as_str()),
        ("open".into(), Some("PENDING"))
    );
    wallet.send(&Request::get(path)).expect_status(200);
    assert_eq!(browser.state(), "fetched");
    let page = browser.page();
    assert!(page.contains("<title>Continue in your wallet</title>"), "{page}");
    assert!(!page.contains("id=\"qr\""), "{page}");
    assert!(page.contains(&format!("href=\"{}?code\"", browser.path)), "{page}");
    // The wallet may belong to someone else, so the code is shown on request.
    let page = String::from_utf8(browser.get("?code").expect_status(200).body).unwrap();
    assert!(page.contains("id=\"qr\"") && page.contains("data-state=\"fetched\""), "{page}");
    let again = address(&gateway, &mut browser);
    wallet.send(&Request::get(again)).expect_status(200);
    assert_eq!(tenant.read(&created.id)["status"], "PENDING");
}

#[test]
fn long_polling_reports_the_fetch() {
    let gateway = Gateway::trusting(
        installation().with("OID4VP_REQUEST_MODE", "jar").with_machine(),
        &sample_trust(),
    );
    let created = gateway.tenant().create(&request());
    let mut browser = Browser::new(&gateway, &created);
    browser.page();
    browser.take();
    let path = address(&gateway, &mut browser);
    gateway.installation.machine().freeze();
    let state = format!("{}/state?seen=open", browser.path);
    let waiting = Asked::new(gateway.server.address, browser.with_cookie(Request::get(state)));
    gateway.server.rest();
    assert!(!waiting.is_answered(), "it is answered before anything changes");
    gateway.http().send(&Request::get(path)).expect_status(200);
    assert_eq!(waiting.answer().expect_status(200).json()["state"], "fetched");
}

#[test]
fn a_by_value_page_has_no_fetched_state() {
    let (_gateway, _, created, mut browser) = opened(&request());
    browser.page();
    browser.take();
    let page = browser.page();
    assert!(page.contains(&created.uri.replace('&', "&amp;")), "{page}");
    assert_eq!(browser.state(), "open");
    // With `?code`, the code is the usual one.
    let page = String::from_utf8(browser.get("?code").expect_status(200).body).unwrap();
    assert!(page.contains("data-state=\"open\""), "{page}");
}
