//! Handovers share the page's rate limits.

use super::*;

/// A gateway with limits, and the computer's browser that has the page.
fn limited() -> (Gateway, Tenant, Created, Browser) {
    on_computer_of(still(installation().with("IDGATE_RATE_LIMITS", "on")))
}

/// Sends requests until the limit. Returns how many passed.
fn exhaust(browser: &mut Browser, below: &str, policy: &str) -> usize {
    for asked in 0..100 {
        let answer = browser.get(below);
        if answer.status == 429 {
            assert_eq!(answer.header("ratelimit-policy"), Some(policy));
            return asked;
        }
    }
    panic!("there is no limit");
}

#[test]
fn handover_codes_open_60_times_a_minute_without_limiting_the_computer() {
    let (gateway, _, created, mut computer) = limited();
    let mut stranger = Browser::new(&gateway, &created);
    let policy = "\"page-token\";q=60;w=60";
    // Two were used for the page and for taking it.
    assert_eq!(exhaust(&mut stranger, "/on/1.AAAAAAAAAAAAAAAA", policy), 58);
    assert_eq!(stranger.presses(&format!("{}/on/1.A?seen=1.A", stranger.path)).status, 429);
    assert_eq!(computer.state(), "open");
}

#[test]
fn computer_and_phone_have_separate_rate_limits() {
    let (gateway, _, created, mut computer) = limited();
    let mut phone = handed_over(&gateway, &created, &mut computer);
    assert_eq!(exhaust(&mut phone, "/state", "\"page-phone\";q=60;w=60"), 60);
    // Both are in one network. After this time its limit and a few of the phone's requests have
    // refilled.
    gateway.installation.machine().jump(Duration::from_secs(6));
    computer.http = gateway.http();
    computer.brings_back().expect_status(303);
    exhaust(&mut computer, "/state", "\"page-browser\";q=60;w=60");
    assert_eq!(computer.brings_back().status, 429);
}
