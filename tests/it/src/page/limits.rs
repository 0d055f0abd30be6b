//! How often a page is asked for, by strangers and by the browser that has it.

use std::time::Duration;

use super::*;

/// A gateway with limits, whose clock does not move, and a session's page.
fn limited() -> (Gateway, Created) {
    let limited = installation().with("IDGATE_RATE_LIMITS", "on").with_machine();
    let gateway = Gateway::trusting(limited, &sample_trust());
    gateway.installation.machine().freeze();
    let created = gateway.tenant().create(&request());
    (gateway, created)
}

/// Asks until it is too much; how often it was not, and what it was told at the end.
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
fn strangers_who_know_the_address_do_not_lock_out_the_browser_that_has_the_page() {
    let (gateway, created) = limited();
    let (mut own, mut stranger) =
        (Browser::new(&gateway, &created), Browser::new(&gateway, &created));
    own.take();
    let (asked, refused) = exhaust(&mut stranger);
    // One was for taking it.
    assert_eq!(asked, 59);
    assert_eq!(refused.header("ratelimit-policy"), Some("\"page-token\";q=60;w=60"));
    own.page();
    assert_eq!(own.state(), "open");
    assert_eq!(own.get("/open").status, 302);
}

#[test]
fn the_browser_that_has_the_page_has_60_requests_a_minute_of_its_own() {
    let (gateway, created) = limited();
    let mut own = Browser::new(&gateway, &created);
    own.take();
    let (asked, refused) = exhaust(&mut own);
    assert_eq!(asked, 60);
    assert_eq!(refused.header("ratelimit-policy"), Some("\"page-browser\";q=60;w=60"));
    refused.expect_error(429, "rate_limited");
    // One a second comes back.
    gateway.installation.machine().jump(Duration::from_secs(3));
    assert_eq!(exhaust(&mut own).0, 3);
    // And uses up nothing of anybody else's.
    assert_eq!(Browser::new(&gateway, &created).get("").status, 403);
}

#[test]
fn a_cookie_or_key_that_is_not_the_pages_counts_as_none() {
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
fn a_browser_whose_reply_was_lost_takes_its_page_again_whatever_strangers_do() {
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
fn a_page_that_nobody_has_yet_is_limited_whatever_is_shown() {
    let (gateway, created) = limited();
    let mut browser = Browser::new(&gateway, &created);
    browser.cookie = Some("theme=dark".into());
    let (asked, refused) = exhaust(&mut browser);
    assert_eq!(asked, 60);
    refused.expect_error(429, "rate_limited");
}
