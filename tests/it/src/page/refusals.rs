//! What people see if the page is unavailable: a readable page in their language, with the same
//! security headers. And what the page's script receives.

use super::*;

/// The Accept header that browsers send for documents.
const DOCUMENT: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

impl Browser {
    /// The response when a person opens `below`.
    fn opens(&mut self, below: &str, language: &str) -> Response {
        let request = Request::get(format!("{}{below}", self.path));
        self.shows(request.header("Accept-Language", language))
    }

    fn shows(&mut self, request: Request) -> Response {
        self.send(request.header("Accept", DOCUMENT))
    }

    /// The response to the page's script.
    fn fetches(&mut self, below: &str) -> Response {
        let request = Request::get(format!("{}{below}", self.path));
        self.send(request.header("Accept", "application/json"))
    }
}

/// Checks for a readable page with this title, status and the security headers.
#[track_caller]
fn assert_words(answer: Response, status: u16, title: &str) -> String {
    assert_guarded(&answer);
    assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"));
    let text = String::from_utf8(answer.body).unwrap();
    assert_eq!(answer.status, status, "{text}");
    assert!(text.contains(&format!("<h1 tabindex=\"-1\">{title}</h1>")), "{text}");
    for code in ["rate_limited", "not_found", "method_not_allowed", "invalid_request", "internal"] {
        assert!(!text.contains(code), "{text}");
    }
    text
}

/// Checks for the same security headers as on the page.
#[track_caller]
fn assert_guarded(answer: &Response) {
    let policy = answer.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none';"), "{policy}");
    assert!(policy.ends_with("frame-ancestors 'none'"), "{policy}");
    assert_eq!(answer.header("permissions-policy"), Some("digital-credentials-get=(self)"));
    assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
    assert_eq!(answer.header("cross-origin-resource-policy"), Some("same-origin"));
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
}

#[test]
fn a_rate_limited_page_is_readable_and_the_script_gets_an_error() {
    let (_gateway, _, mut browser) = exhausted();
    for (language, title) in [
        ("en", "One moment, please"),
        ("de-AT", "Einen Moment bitte"),
        ("fr", "Un instant, s’il vous plaît"),
        ("es", "Un momento, por favor"),
        ("it", "Un momento, per favore"),
        ("nl", "Een ogenblik geduld"),
        ("pl", "Chwileczkę"),
        ("pt", "Um momento, por favor"),
    ] {
        let told = browser.opens("", language);
        let after = told.header("retry-after").unwrap().to_owned();
        assert!(after.parse::<u64>().unwrap() > 0);
        let text = assert_words(told, 429, title);
        assert!(text.contains(&format!("href=\"{}\"", browser.path)), "{text}");
        assert!(text.contains(&format!(" data-again=\"{after}\"")), "{text}");
        assert!(!text.contains("shop"), "{text}");
    }
    let told = browser.opens("?frame", "en");
    let text = assert_words(told, 429, "One moment, please");
    assert!(text.contains(&format!("href=\"{}?frame\"", browser.path)), "{text}");
    let told = browser.fetches("/state");
    assert_guarded(&told);
    assert!(told.header("retry-after").is_some());
    told.expect_error(429, "rate_limited");
}

#[test]
fn page_errors_are_readable_pages() {
    let (_gateway, mut tenant, created, mut browser) = opened(&request());
    for (below, status) in [
        ("/open?scheme=mailto", 404),
        ("/open?scheme=haip&scheme=haip", 400),
        ("?frame&frame", 400),
        ("/nothing", 404),
        ("/", 404),
    ] {
        assert_words(browser.opens(below, "en"), status, "This link does not work");
    }
    let posted = browser.shows(Request::post(browser.path.clone()));
    assert_eq!(posted.header("allow"), Some("GET, HEAD"));
    assert_words(posted, 405, "This link does not work");
    let state = idgate_testkit::request::AuthorizationRequest::parse(&created.uri).unwrap().state;
    let declined = json!({ "error": "access_denied", "state": state });
    let answer = Request::post(format!("/v1/oid4vp/response/{}", created.id)).json(&declined);
    tenant.http.send(&answer).expect_status(200);
    assert_words(browser.opens("/open", "de"), 404, "Dieser Link funktioniert nicht");
    let told = browser.fetches("/open");
    assert_guarded(&told);
    told.expect_error(404, "not_found");
}

#[test]
fn another_browser_sees_that_the_page_is_taken() {
    let (gateway, _, created, mut first) = opened(&request());
    first.take();
    let mut second = Browser::new(&gateway, &created);
    for below in ["", "/open", "/logo"] {
        assert_words(second.opens(below, "en"), 403, "This page is open in another browser");
    }
    let taking = Request::post(format!("{}/take", second.path));
    assert_words(second.shows(taking), 403, "This page is open in another browser");
}

#[test]
fn a_gateway_fault_is_a_readable_page_without_its_cause() {
    let (gateway, _, _, mut browser) = opened(&request());
    let database = gateway.installation.data_dir().join("idgate.db");
    let database = rusqlite::Connection::open(database).unwrap();
    database.execute_batch("ALTER TABLE pages RENAME TO elsewhere").unwrap();
    for (language, title) in [("en", "One moment, please"), ("it", "Un momento, per favore")] {
        let text = assert_words(browser.opens("", language), 500, title);
        assert!(text.contains(&format!("href=\"{}\"", browser.path)), "{text}");
        assert!(!text.contains("pages"), "{text}");
    }
    let told = browser.fetches("");
    assert_guarded(&told);
    told.expect_error(500, "internal_error");
}

#[test]
fn without_pages_errors_are_json() {
    let gateway = Gateway::start();
    let request = format!(
        "GET /v/0123456789abcdefABCDEF HTTP/1.1\r\nHost: g\r\nAccept: {DOCUMENT}\r\n\
         Connection: close\r\n\r\n"
    );
    let answer = crate::http::exchange(gateway.server.address, request.as_bytes());
    assert!(answer.starts_with("HTTP/1.1 404") && answer.contains("\"not_found\""), "{answer}");
}
