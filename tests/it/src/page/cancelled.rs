//! A person cancels on the page.

use std::io::Read as _;
use std::net::TcpListener;

use idgate_testkit::keys::Curve;
use idgate_testkit::samples;
use idgate_testkit::status::status_claim;
use idgate_testkit::wallet::Wallet;

use super::*;
use crate::disk;
use crate::server::eventually;
use crate::stores;
use crate::tenant::{answer_request, now_ms};
use crate::webhooks::receiver::Receiver;
use crate::ws::Stream;

impl Browser {
    /// Presses "Cancel", which sends the form.
    pub(super) fn cancels(&mut self) -> Response {
        let request = Request::post(format!("{}/cancel", self.path)).header("Accept", "text/html");
        let request = request.header("Origin", "null").header("Sec-Fetch-Site", "same-origin");
        let response = self.send(request);
        if let Some(cookie) = response.header("set-cookie") {
            self.cookie = cookie.split(';').next().map(str::to_owned);
        }
        response
    }
}

/// The audit log's entry about the session's end.
fn end_of(gateway: &Gateway, created: &Created) -> Value {
    let export = gateway.installation.run(&["audit", "export"]).json();
    let mut entries = export["entries"].as_array().unwrap().iter();
    let is_end =
        |entry: &&Value| entry["session_id"] == created.id.as_str() && entry["status"] == "FAILED";
    entries.find(is_end).unwrap().clone()
}

#[test]
fn a_person_can_cancel_and_the_tenant_sees_it() {
    let (gateway, mut tenant, created, mut browser) = opened(&request());
    browser.take();
    let page = browser.page();
    assert!(page.contains(&format!("action=\"{}/cancel\"", browser.path)), "{page}");
    let led = browser.cancels().expect_status(303);
    assert_eq!(led.header("location"), Some(&*browser.path));
    let page = browser.page();
    assert!(page.contains("<title>Cancelled. Taking you back to shop</title>"), "{page}");
    assert!(page.contains("data-state=\"cancelled\"") && page.contains(" data-auto=\""), "{page}");
    assert!(page.contains(&format!("href=\"{BACK}\"")), "it brings no code: {page}");
    assert!(!page.contains("/cancel\""), "{page}");
    tenant.expect_failed(&created, "cancelled");
    let entry = end_of(&gateway, &created);
    assert_eq!((&entry["actor"], &entry["error_code"]), (&json!("person"), &json!("cancelled")));
    // A wallet answers too late.
    let answer = form(&sample_wallet(), &created);
    tenant.post_answer(&created.id, &answer).expect_error(409, "session_not_pending");
    let failed = gateway.installation.run(&["audit", "verify"]);
    assert_eq!(failed.code, 0, "{failed:?}");
}

#[test]
fn cancelling_binds_a_free_page_in_the_same_step() {
    let (_gateway, mut tenant, created, mut browser) = opened(&request());
    browser.page();
    let led = browser.cancels().expect_status(303);
    assert!(led.header("set-cookie").unwrap().contains("; Secure; HttpOnly; SameSite=Lax"));
    assert_eq!(browser.state(), "cancelled");
    tenant.expect_failed(&created, "cancelled");
    let mut other = Browser { http: browser.http, path: browser.path, cookie: None };
    assert_eq!(other.get("").status, 403);
}

#[test]
fn another_browser_or_site_cannot_cancel() {
    let (gateway, mut tenant, created, mut browser) = opened(&request());
    browser.take();
    let mut other = Browser::new(&gateway, &created);
    other.cancels().expect_status(403);
    let path = format!("{}/cancel", browser.path);
    for (origin, site) in [
        ("https://evil.example", None),
        ("https://evil.example", Some("cross-site")),
        ("null", Some("cross-site")),
        ("null", None),
    ] {
        let request = Request::post(&*path).header("Origin", origin);
        let request =
            site.into_iter().fold(request, |all, site| all.header("Sec-Fetch-Site", site));
        assert_eq!(browser.send(request).status, 403, "{origin} {site:?}");
    }
    assert_eq!(browser.send(Request::get(&*path)).status, 405);
    assert_eq!(
        (browser.state().as_str(), &tenant.read(&created.id)["status"]),
        ("open", &json!("PENDING"))
    );
    browser.cancels().expect_status(303);
}

#[test]
fn a_settled_session_cannot_be_cancelled() {
    let (_gateway, mut tenant, created, mut browser) = opened(&request());
    browser.take();
    tenant.post_answer(&created.id, &form(&sample_wallet(), &created)).expect_status(200);
    let late = browser.cancels().expect_status(409);
    let page = String::from_utf8(late.body).unwrap();
    assert!(page.contains("data-state=\"done\""), "{page}");
    let late = browser.post("/cancel").expect_status(409);
    assert_eq!(late.json()["state"], "done");
    assert_eq!(tenant.read(&created.id)["status"], "VERIFIED");
}

#[test]
fn cancel_requests_share_the_pages_rate_limit() {
    let (gateway, created, mut browser) = exhausted();
    assert_eq!(browser.cancels().status, 429);
    assert_eq!(gateway.tenant().read(&created.id)["status"], "PENDING");
}

#[test]
fn a_session_whose_answer_is_being_checked_is_not_cancelled() {
    let list = TcpListener::bind("127.0.0.1:0").unwrap();
    let uri = format!("http://{}/1", list.local_addr().unwrap());
    let gateway = Gateway::trusting(
        installation().with("IDGATE_FETCH_ALLOW_CIDRS", "127.0.0.1/32"),
        &sample_trust(),
    );
    let mut tenant = gateway.tenant();
    let created = tenant.create(&request());
    let holder = samples::holder_key(Curve::P256);
    let credential = samples::identity(&holder, now_ms()).plain("status", status_claim(0, &uri));
    let wallet = Wallet::new(holder).with(credential.issue(&samples::issuer_key(Curve::P256)));
    let answer = answer_request(&created.id, &form(&wallet, &created));
    let mut browser = Browser::new(&gateway, &created);
    let mut wallet = gateway.http();
    std::thread::scope(|scope| {
        let answered = stores::spawn(scope, || wallet.try_send(&answer));
        // The gateway requests the list and never gets it.
        let (mut asked, _) = list.accept().unwrap();
        assert!(asked.read(&mut [0; 64]).unwrap() > 0);
        // No browser has the page yet. The one that tried takes it, or it would not see the end.
        let late = browser.cancels().expect_status(409);
        assert!(late.header("set-cookie").is_some());
        let page = String::from_utf8(late.body).unwrap();
        assert!(page.contains("data-state=\"checking\"") && !page.contains("/cancel\""), "{page}");
        let late = browser.post("/cancel").expect_status(409);
        assert_eq!(late.json()["state"], "checking");
        assert_eq!(tenant.read(&created.id)["status"], "VERIFYING");
        drop((asked, list));
        drop(answered.join().unwrap());
    });
}

#[test]
fn a_cancellation_is_in_the_stream_the_webhook_and_the_metrics() {
    let receiver = Receiver::start();
    let installation = installation()
        .with("IDGATE_WEBHOOK_ALLOW_CIDRS", "127.0.0.0/8")
        .with("IDGATE_WEBHOOK_ALLOW_HTTP", "true");
    let live = installation.create_client("live", false);
    let token = installation.run_json(&["admin-token", "create", "--json"]);
    let token = token["admin_token"].as_str().unwrap();
    let gateway = Gateway::trusting(installation, &sample_trust());
    let mut tenant = gateway.tenant();
    let put = Request::new("PUT", "/v1/webhook-endpoint").bearer(&tenant.api_key);
    let put = put.json(&json!({ "url": receiver.url("/hook") }));
    tenant.http.send(&put).expect_status(200);
    gateway.installation.run_json(&["webhook-host", "approve", "127.0.0.1", "--json"]);
    let created = tenant.create(&request());
    let mut stream = Stream::open(gateway.server.address, &created.id, &tenant.api_key);
    Browser::new(&gateway, &created).cancels().expect_status(303);
    let said: Vec<Value> = (0..3).map(|_| stream.message()).collect();
    assert_eq!((&said[2]["status"], &said[2]["reason"]), (&json!("FAILED"), &json!("cancelled")));
    assert_eq!(stream.close(), Some(1000));
    receiver.wait_for(1);
    let sent = receiver.of_session(&created.id);
    assert_eq!((sent.len(), &sent[0].json()["status"]), (1, &json!("FAILED")));
    // Metrics count live sessions only.
    let created = gateway.tenant_of(&live).create(&request());
    Browser::new(&gateway, &created).cancels().expect_status(303);
    let sums = Request::get("/v1/admin/metrics?window_hours=1").bearer(token);
    let sums = tenant.http.send(&sums).expect_status(200).json();
    let expected = json!([{ "error_code": "cancelled", "count_estimated": 1 }]);
    assert_eq!(sums["by_error_code"], expected);
}

#[test]
fn the_key_of_a_cancelled_session_is_erased() {
    let gateway =
        Gateway::trusting(installation().with("OID4VP_REQUEST_MODE", "jar"), &sample_trust());
    let created = gateway.tenant().create(&request());
    let keys = || {
        let claims = disk::open(&gateway.installation.data_dir().join("claims.db"));
        let of_session = "SELECT count(*) FROM session_keys WHERE session_id = ?1";
        claims.query_row(of_session, [&created.id], |row| row.get::<_, i64>(0)).unwrap()
    };
    assert_eq!(keys(), 1);
    Browser::new(&gateway, &created).cancels().expect_status(303);
    eventually("the key is erased", || keys() == 0);
}

/// The older node could not read a session with this end, and would show another state than its
/// neighbour.
#[test]
fn an_older_node_disables_cancel_and_the_fetched_state() {
    let Some((cluster, url)) = stores::cluster().zip(stores::migrated()) else { return };
    let installation = Installation::on(&url).with("IDGATE_PAGE", "on");
    let installation = installation.with("OID4VP_REQUEST_MODE", "jar");
    let gateway = Gateway::trusting(installation, &sample_trust());
    cluster.run(
        &url,
        "INSERT INTO nodes (id, version, started_at, beat_at) \
         SELECT 'older', split_part(version, ' ', 1) || ' ' || split_part(version, ' ', 2), \
         started_at, beat_at + 86400000 FROM nodes LIMIT 1",
    );
    let mut tenant = gateway.tenant();
    let created = tenant.create(&request());
    let mut browser = Browser::new(&gateway, &created);
    let later = browser.cancels().expect_status(503);
    assert!(later.header("set-cookie").is_none() && later.header("retry-after").is_some());
    assert!(browser.page().contains("data-free"), "no browser has the page");
    assert_eq!(tenant.read(&created.id)["status"], "CREATED");
    browser.take();
    Browser::new(&gateway, &created).cancels().expect_status(403);
    let mut wallet = gateway.http();
    let path = fetched::address(&gateway, &mut browser);
    wallet.send(&Request::get(path)).expect_status(200);
    assert_eq!(browser.state(), "open");
    // Once it is gone, so is the reason.
    cluster.run(&url, "DELETE FROM nodes WHERE id = 'older'");
    browser.cancels().expect_status(303);
    tenant.expect_failed(&created, "cancelled");
}
