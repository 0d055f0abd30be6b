//! A person cancels on the page.

use super::*;

impl Browser {
    /// Presses "Cancel": a browser sends the form.
    fn cancels(&mut self) -> Response {
        let request = Request::post(format!("{}/cancel", self.path)).header("Accept", "text/html");
        let request = request.header("Origin", "null").header("Sec-Fetch-Site", "same-origin");
        let response = self.send(request);
        if let Some(cookie) = response.header("set-cookie") {
            self.cookie = cookie.split(';').next().map(str::to_owned);
        }
        response
    }
}

/// The entry of the audit log on the session's end.
fn end_of(gateway: &Gateway, created: &Created) -> Value {
    let export = gateway.installation.run(&["audit", "export"]).json();
    let mut entries = export["entries"].as_array().unwrap().iter();
    let is_end =
        |entry: &&Value| entry["session_id"] == created.id.as_str() && entry["status"] == "FAILED";
    entries.find(is_end).unwrap().clone()
}

#[test]
fn a_person_ends_the_session_and_the_tenant_sees_it() {
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
    // A wallet is late.
    let answer = form(&sample_wallet(), &created);
    tenant.post_answer(&created.id, &answer).expect_error(409, "session_not_pending");
    let failed = gateway.installation.run(&["audit", "verify"]);
    assert_eq!(failed.code, 0, "{failed:?}");
}

#[test]
fn a_page_that_no_browser_has_is_bound_and_cancelled_in_one_step() {
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
fn another_browser_and_another_site_cancel_nothing() {
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
fn a_settled_session_stays_as_it_is() {
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
fn a_cancel_is_limited_as_the_page_is() {
    let (gateway, created, mut browser) = exhausted();
    assert_eq!(browser.cancels().status, 429);
    assert_eq!(gateway.tenant().read(&created.id)["status"], "PENDING");
}
