//! The QR code of a by-reference request turns: an address is valid while it is fresh, and
//! afterwards only for those who followed it in time.

use std::time::Duration;

use idgate_testkit::request_object::JarLink;

use super::*;

/// A gateway whose clock stands still: no address turns unless the test advances it.
fn gateway(turning: &str) -> Gateway {
    let installation = installation().with("OID4VP_REQUEST_MODE", "jar").with_machine();
    let installation = installation.with("IDGATE_PAGE_TURNING_QR", turning);
    let gateway = Gateway::trusting(installation, &sample_trust());
    gateway.installation.machine().freeze();
    gateway
}

/// The request address in a link, as a path.
fn address(gateway: &Gateway, link: &str) -> String {
    let link = JarLink::parse(link).unwrap();
    link.request_uri.strip_prefix(&gateway.server.base_url).unwrap().to_owned()
}

/// The link that the page shows now.
fn shown(browser: &mut Browser) -> String {
    browser.get("/state").json()["links"]["openid4vp"].as_str().unwrap().to_owned()
}

#[test]
fn an_address_without_the_turning_part_is_404_once_the_page_is_open() {
    let gateway = gateway("on");
    let mut tenant = gateway.tenant();
    let created = tenant.create(&request());
    let mut browser = Browser::new(&gateway, &created);
    let plain = address(&gateway, &created.uri);
    let open = format!("/v1/sessions/{}/open", created.id);
    let mut wallet = gateway.http();
    // Until the page is opened, the tenant's own link is valid.
    wallet.send(&Request::new("HEAD", &*plain)).expect_status(200);
    wallet.send(&Request::new("HEAD", &*open)).expect_status(302);
    assert_eq!(browser.send(Request::new("HEAD", browser.path.clone())).status, 200);
    wallet.send(&Request::get(&*plain)).expect_status(200);
    browser.page();
    wallet.send(&Request::get(&*plain)).expect_error(404, "not_found");
    wallet.send(&Request::get(&*open)).expect_error(404, "not_found");
    let post = Request::post(&*plain).header("Content-Type", "application/x-www-form-urlencoded");
    wallet.send(&post.bytes("")).expect_error(404, "not_found");

    let link = shown(&mut browser);
    let fresh = address(&gateway, &link);
    let part = fresh.split_once("?part=").unwrap().1.to_owned();
    wallet.send(&Request::get(&*fresh)).expect_status(200);
    let led = wallet.send(&Request::get(format!("{open}?part={part}"))).expect_status(302);
    assert!(led.header("location").unwrap().ends_with(&format!("%3Fpart%3D{part}")));
    for wrong in ["", "1.AAAA", &part[..part.len() - 1], &format!("{part}&part={part}")] {
        let refused = wallet.send(&Request::get(format!("{plain}?part={wrong}")));
        assert!([400, 404].contains(&refused.status), "{wrong}: {refused:?}");
    }
    // A part that is valid for one session does not open another.
    let other = tenant.create(&request());
    Browser::new(&gateway, &other).page();
    let plain = address(&gateway, &other.uri);
    let refused = wallet.send(&Request::get(format!("{plain}?part={part}")));
    refused.expect_error(404, "not_found");
}

#[test]
fn a_photographed_code_expires_after_15_s_unless_it_was_followed() {
    let gateway = gateway("on");
    let machine = gateway.installation.machine();
    let mut tenant = gateway.tenant();
    let [scanned, photographed, opened] = [(); 3].map(|()| tenant.create(&request()));
    let addresses = [&scanned, &photographed, &opened].map(|created| {
        let mut browser = Browser::new(&gateway, created);
        browser.page();
        address(&gateway, &shown(&mut browser))
    });
    let mut wallet = gateway.http();
    wallet.send(&Request::get(&*addresses[0])).expect_status(200);
    let part = addresses[2].split_once("?part=").unwrap().1;
    let open = format!("/v1/sessions/{}/open?part={part}", opened.id);
    wallet.send(&Request::get(&*open)).expect_status(302);
    let peeked = addresses[1].split_once("?part=").unwrap().1;
    let peeked = format!("/v1/sessions/{}/open?part={peeked}", photographed.id);
    wallet.send(&Request::new("HEAD", &*peeked)).expect_status(302);
    machine.jump(Duration::from_millis(15_500));
    let mut wallet = gateway.http();
    wallet.send(&Request::get(&*addresses[0])).expect_status(200);
    wallet.send(&Request::get(&*open)).expect_status(302);
    wallet.send(&Request::get(&*addresses[2])).expect_status(200);
    wallet.send(&Request::get(&*peeked)).expect_error(404, "not_found");
    wallet.send(&Request::get(&*addresses[1])).expect_error(404, "not_found");
    // The page itself shows another one by now.
    let mut browser = Browser::new(&gateway, &photographed);
    let fresh = address(&gateway, &shown(&mut browser));
    assert_ne!(fresh, addresses[1]);
    wallet.send(&Request::get(fresh)).expect_status(200);
}

#[test]
fn with_turning_off_the_code_stays_the_same() {
    let gateway = gateway("off");
    let mut tenant = gateway.tenant();
    let created = tenant.create(&request());
    let mut browser = Browser::new(&gateway, &created);
    assert!(browser.page().contains(&created.uri.replace('&', "&amp;")));
    assert_eq!(members(&browser.get("/state").json()), ["left_ms", "state"]);
    let mut wallet = gateway.http();
    wallet.send(&Request::get(address(&gateway, &created.uri))).expect_status(200);
}

#[test]
fn the_code_of_a_by_value_request_does_not_turn() {
    let (_gateway, mut tenant, created, mut browser) = opened(&request());
    browser.page();
    assert_eq!(members(&browser.get("/state").json()), ["left_ms", "state"]);
    let open = Request::get(format!("/v1/sessions/{}/open", created.id));
    tenant.http.send(&open).expect_status(302);
}

#[test]
fn without_javascript_no_code_is_shown_after_it_expires() {
    for (turning, seconds) in [("on", 5), ("off", 10)] {
        let gateway = gateway(turning);
        let created = gateway.tenant().create(&request());
        let page = Browser::new(&gateway, &created).page();
        let refresh = format!("<meta http-equiv=\"refresh\" content=\"{seconds};url=");
        assert!(page.contains(&refresh), "{turning}: {page}");
    }
}
