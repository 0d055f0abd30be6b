//! The page for people (decisions 27) over real sockets: what it shows to whom, what it never
//! shows, and its links.

mod binding;
mod cancelled;
mod contacts;
mod dialogue;
mod face;
mod fetched;
mod handover;
mod limits;
mod purpose;
mod refusals;
mod turning;

use serde_json::{Value, json};

use crate::http::{Asked, Http, Request, Response};
use crate::server::Installation;
use crate::tenant::{
    Created, Gateway, Tenant, form, members, request_for, sample_trust, sample_wallet,
};

const BACK: &str = "https://shop.example/back?order=1#top";

fn installation() -> Installation {
    Installation::new().with("IDGATE_PAGE", "on")
}

fn gateway() -> Gateway {
    Gateway::trusting(installation(), &sample_trust())
}

/// A request with a way back.
fn request() -> Value {
    let mut request = request_for(&["given_name"]);
    request["redirect_uri"] = json!(BACK);
    request
}

/// A browser that opens one page.
struct Browser {
    http: Http,
    path: String,
    cookie: Option<String>,
}

impl Browser {
    fn new(gateway: &Gateway, created: &Created) -> Self {
        let url = created.answer["page_url"].as_str().unwrap();
        let path = url.strip_prefix(&gateway.server.base_url).unwrap().to_owned();
        Self { http: gateway.http(), path, cookie: None }
    }

    fn with_cookie(&self, request: Request) -> Request {
        match &self.cookie {
            Some(cookie) => request.header("Cookie", cookie),
            None => request,
        }
    }

    fn send(&mut self, request: Request) -> Response {
        let request = self.with_cookie(request);
        self.http.send(&request)
    }

    fn get(&mut self, below: &str) -> Response {
        self.send(Request::get(format!("{}{below}", self.path)))
    }

    #[track_caller]
    fn page(&mut self) -> String {
        let page = self.get("").expect_status(200);
        assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
        String::from_utf8(page.body).unwrap()
    }

    fn post(&mut self, below: &str) -> Response {
        let request = Request::post(format!("{}{below}", self.path));
        self.send(request.header("Accept", "application/json"))
    }

    /// Takes the page, like its script.
    #[track_caller]
    fn take(&mut self) -> Value {
        let taken = self.post("/take").expect_status(200);
        if let Some(cookie) = taken.header("set-cookie") {
            self.cookie = cookie.split(';').next().map(str::to_owned);
        }
        taken.json()
    }

    fn state(&mut self) -> String {
        self.get("/state").json()["state"].as_str().unwrap().into()
    }
}

/// A gateway, its tenant, and the browser of a session of `request`.
fn opened(request: &Value) -> (Gateway, Tenant, Created, Browser) {
    let gateway = gateway();
    let mut tenant = gateway.tenant();
    let created = tenant.create(request);
    let browser = Browser::new(&gateway, &created);
    (gateway, tenant, created, browser)
}

/// The same with rate limits and a clock that stands still, after the limit is reached.
fn exhausted() -> (Gateway, Created, Browser) {
    let limited = installation().with("IDGATE_RATE_LIMITS", "on").with_machine();
    let gateway = Gateway::trusting(limited, &sample_trust());
    let created = gateway.tenant().create(&request());
    let mut browser = Browser::new(&gateway, &created);
    gateway.installation.machine().freeze();
    while browser.get("").status == 200 {}
    (gateway, created, browser)
}

#[test]
fn sessions_have_pages_only_if_the_operator_enables_them() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    let created = tenant.create(&request());
    assert!(!members(&created.answer).contains(&"page_url"));
    for path in ["/v/0123456789abcdefABCDEF", "/v/page.js", "/v/page.css", "/v/icon.svg"] {
        let answer = crate::http::exchange(
            gateway.server.address,
            format!("GET {path} HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\r\n").as_bytes(),
        );
        assert!(answer.starts_with("HTTP/1.1 404"), "{path}: {answer}");
    }
}

#[test]
fn the_page_names_client_and_claims_and_links_to_wallets() {
    let (gateway, mut tenant, created, mut browser) = opened(&request());
    let page = browser.page();
    for shown in [
        "<h1 tabindex=\"-1\">shop asks to see your details</h1>",
        "<li>First name</li>",
        "Test mode",
        "<svg ",
    ] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
    let link = created.answer["deep_links"]["openid4vp"].as_str().unwrap().replace('&', "&amp;");
    assert!(page.contains(&format!("href=\"{link}\"")), "{page}");
    let other = format!("{}/open?scheme=haip", browser.path);
    assert!(page.contains(&format!("href=\"{other}\"")), "{page}");
    let led = browser.send(Request::get(other)).expect_status(302);
    assert_eq!(led.header("location"), created.answer["deep_links"]["haip"].as_str());
    browser.get("/open?scheme=mailto").expect_error(404, "not_found");
    assert!(!page.contains("<script>") && !page.contains(" style=") && !page.contains("<style"));
    // Its address names no session, nor does another page's.
    assert!(
        !created.answer["page_url"]
            .as_str()
            .unwrap()
            .contains(created.id.trim_start_matches("ses_"))
    );
    let other = tenant.create(&request());
    assert_ne!(other.answer["page_url"], created.answer["page_url"]);
    let name = ["client", "set", &gateway.client.client_id, "--name", "<b>A & \"B\"</b>"];
    assert_eq!(gateway.installation.run(&name).code, 0);
    let page = browser.page();
    assert!(page.contains("&lt;b&gt;A &amp; &quot;B&quot;&lt;/b&gt; asks"), "{page}");
}

#[test]
fn ages_documents_and_unknown_claims_have_readable_names() {
    let gateway = gateway();
    let mut tenant = gateway.tenant();
    let created = tenant.create(&request_for(&["given_name", "age_over_18", "loyalty_level"]));
    let page = Browser::new(&gateway, &created).page();
    for shown in ["<li>That you are 18 or older</li>", "<li>loyalty_level</li>"] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
}

#[test]
fn the_page_names_claims_by_their_paths_not_by_the_tenants_names() {
    let gateway = Gateway::trusting(installation().with("IDGATE_PROFILES", "1.0"), &sample_trust());
    let mut tenant = gateway.tenant();
    let mut asked = crate::tenant::credential("pid", &["age_over_18", "town"]);
    asked["claim_paths"] = json!({
        "age_over_18": ["personal_administrative_number"], "town": ["address", "locality"],
    });
    let request = json!({ "credentials": [asked] });
    let created = tenant.create(&request);
    let page = Browser::new(&gateway, &created).page();
    for (shown, is_there) in [
        ("<li>Personal number</li>", true),
        ("<li>Town of residence</li>", true),
        ("18 or older", false),
    ] {
        assert_eq!(page.contains(shown), is_there, "{shown}: {page}");
    }
}

#[test]
fn the_page_uses_the_browsers_language() {
    let (_gateway, _, _, mut browser) = opened(&request());
    for (accepted, code, first_name) in [
        ("en-GB", "en", "First name"),
        ("de-AT, en;q=0.5", "de", "Vorname"),
        ("fr", "fr", "Prénom"),
        ("es-MX;q=0.9, sv", "es", "Nombre"),
        ("it", "it", "Nome"),
        ("nl-BE", "nl", "Voornaam"),
        ("pl", "pl", "Imię"),
        ("pt-BR", "pt", "Nome próprio"),
        ("ja", "en", "First name"),
    ] {
        let asked = Request::get(browser.path.clone()).header("Accept-Language", accepted);
        let page = String::from_utf8(browser.send(asked).expect_status(200).body).unwrap();
        assert!(page.contains(&format!("<html lang=\"{code}\">")), "{accepted}");
        assert!(page.contains(&format!("<li>{first_name}</li>")), "{accepted}");
    }
}

#[test]
fn a_chosen_language_overrides_the_browsers_and_stays_in_links() {
    let (_gateway, _, _, mut browser) = opened(&request());
    let path = browser.path.clone();
    let asked = Request::get(format!("{path}?lang=pl")).header("Accept-Language", "de");
    let page = String::from_utf8(browser.send(asked).expect_status(200).body).unwrap();
    for shown in [
        "<html lang=\"pl\">",
        "<li>Imię</li>",
        &format!("href=\"{path}/open?lang=pl&amp;scheme=haip\""),
        &format!("href=\"{path}?lang=pt\" lang=\"pt\" hreflang=\"pt\">Português<"),
        &format!(
            "href=\"{path}?lang=pl\" lang=\"pl\" hreflang=\"pl\" aria-current=\"true\">Polski<"
        ),
    ] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
    assert_eq!(page.matches(" hreflang=").count(), 8, "{page}");
    for (query, code) in [("?lang=sv", "de"), ("?lang=", "de"), ("?lang=PL", "de")] {
        let asked = Request::get(format!("{path}{query}")).header("Accept-Language", "de");
        let page = String::from_utf8(browser.send(asked).expect_status(200).body).unwrap();
        assert!(page.contains(&format!("<html lang=\"{code}\">")), "{query}");
    }
    browser.get("?lang=pl&lang=de").expect_error(400, "invalid_request");
}

#[test]
fn an_age_only_request_asks_for_the_age() {
    let gateway = gateway();
    let mut tenant = gateway.tenant();
    let created = tenant.create(&request_for(&["age_over_18"]));
    let page = Browser::new(&gateway, &created).page();
    assert!(page.contains(">shop asks whether you are 18 or older</h1>"), "{page}");
    assert!(page.contains("<title>shop asks whether you are 18 or older</title>"), "{page}");
}

#[test]
fn a_page_loads_only_from_the_gateway_and_runs_no_other_code() {
    let (_gateway, _, _, mut browser) = opened(&request());
    let mut bytes = 0;
    for path in
        [browser.path.clone(), "/v/page.js".into(), "/v/page.css".into(), "/v/icon.svg".into()]
    {
        let answer = browser.send(Request::get(path)).expect_status(200);
        let policy = answer.header("content-security-policy").unwrap();
        assert!(
            policy.starts_with("default-src 'none';") && !policy.contains("unsafe"),
            "{policy}"
        );
        assert!(policy.ends_with("frame-ancestors 'none'"), "{policy}");
        assert_eq!(answer.header("permissions-policy"), Some("digital-credentials-get=(self)"));
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert!(answer.header("access-control-allow-origin").is_none());
        bytes += answer.body.len();
    }
    assert!(bytes <= 48 * 1024, "{bytes}");
    assert_eq!(browser.get("").header("cache-control"), Some("no-store"));
}

#[test]
fn a_by_reference_page_stays_within_its_size_budget() {
    let installation = installation().with("OID4VP_REQUEST_MODE", "jar");
    let gateway = Gateway::trusting(installation, &sample_trust());
    let names: Vec<_> = (1..=8).map(|n| format!("claim_number_{n}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let created = gateway.tenant().create(&request_for(&names));
    let mut browser = Browser::new(&gateway, &created);
    let shared = ["/v/page.js", "/v/page.css", "/v/icon.svg"];
    let shared = shared.map(|path| browser.send(Request::get(path)).expect_status(200).body.len());
    let bytes = browser.page().len() + shared.iter().sum::<usize>();
    assert!(bytes <= 32 * 1024, "{bytes}");
}

#[test]
fn a_large_by_value_page_stays_within_its_size_budget() {
    let gateway = gateway();
    let mut tenant = gateway.tenant();
    let names: Vec<_> = (1..=8).map(|n| format!("claim_number_{n}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let created = tenant.create(&request_for(&names));
    let mut browser = Browser::new(&gateway, &created);
    let page = browser.page();
    assert!(page.contains("<section class=\"way large\">"), "{page}");
    let shared = ["/v/page.js", "/v/page.css", "/v/icon.svg"];
    let shared = shared.map(|path| browser.send(Request::get(path)).expect_status(200).body.len());
    let bytes = page.len() + shared.iter().sum::<usize>();
    assert!(bytes <= 48 * 1024, "{bytes}");
}

#[test]
fn the_page_shows_the_clients_logo() {
    let (gateway, _, _, mut browser) = opened(&request());
    browser.get("/logo").expect_error(404, "not_found");
    assert!(!browser.page().contains("<img"));
    let png = [&[0x89_u8, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a][..], &[0xff; 8]].concat();
    let file = gateway.installation.file("logo.png", &png);
    let set = ["client", "set", &gateway.client.client_id, "--logo", file.to_str().unwrap()];
    assert_eq!(gateway.installation.run(&set).code, 0);
    let logo = browser.get("/logo").expect_status(200);
    assert_eq!((logo.header("content-type"), &logo.body), (Some("image/png"), &png));
    assert!(browser.page().contains(&format!("src=\"{}/logo\"", browser.path)));
}

#[test]
fn an_unknown_page_link_is_a_readable_page() {
    let (_gateway, mut tenant, created, mut browser) = opened(&request());
    let known = browser.path.clone();
    for token in ["0123456789abcdefABCDEF", "short", "0123456789abcdefABCDE.", &created.id] {
        browser.path = format!("/v/{token}");
        let gone = browser.get("");
        assert_eq!(gone.status, 404, "{token}");
        assert!(String::from_utf8_lossy(&gone.body).contains("This link does not work"), "{token}");
        browser.get("/state").expect_error(404, "not_found");
        browser.post("/take").expect_error(404, "not_found");
    }
    browser.path = known;
    browser.page();
    tenant.delete(&created.id).expect_status(204);
    assert_eq!(browser.get("").status, 404);
    browser.get("/state").expect_error(404, "not_found");
}

#[test]
fn the_page_shows_each_outcome_and_never_claims() {
    let gateway = gateway();
    let mut tenant = gateway.tenant();
    let mut seen = String::new();
    for (verifies, state, title, way) in [
        (true, "done", "Thank you. Taking you back to shop", "Continue to shop"),
        (false, "declined", "Nothing was shared", "Back to shop"),
    ] {
        let created = tenant.create(&request());
        let mut browser = Browser::new(&gateway, &created);
        browser.take();
        assert_eq!(browser.state(), "open");
        if verifies {
            let answer = form(&sample_wallet(), &created);
            tenant.post_answer(&created.id, &answer).expect_status(200);
        } else {
            let state =
                idgate_testkit::request::AuthorizationRequest::parse(&created.uri).unwrap().state;
            let declined = json!({ "error": "access_denied", "state": state });
            let answer =
                Request::post(format!("/v1/oid4vp/response/{}", created.id)).json(&declined);
            tenant.http.send(&answer).expect_status(200);
        }
        assert_eq!(browser.state(), state);
        let page = browser.page();
        assert!(page.contains(&format!("<h1 tabindex=\"-1\">{title}</h1>")), "{page}");
        assert!(page.contains(&format!("<title>{title}</title>")), "{page}");
        assert!(page.contains(way), "{page}");
        seen += &(page + &browser.get("/state").json().to_string());
        if verifies {
            assert_eq!(tenant.read(&created.id)["claims"]["pid"]["given_name"], "Erika");
        }
    }
    assert!(!seen.contains("Erika") && !seen.contains("access_denied"), "{seen}");
}

#[test]
fn the_page_is_notified_of_changes() {
    let gateway = Gateway::trusting(installation().with_machine(), &sample_trust());
    let mut tenant = gateway.tenant();
    let created = tenant.create(&request());
    let mut browser = Browser::new(&gateway, &created);
    browser.take();
    // It waits for a change, not for a timeout.
    gateway.installation.machine().freeze();
    let path = format!("{}/state?seen=open", browser.path);
    let waiting = Asked::new(gateway.server.address, browser.with_cookie(Request::get(path)));
    gateway.server.rest();
    assert!(!waiting.is_answered(), "it is answered before anything changes");
    tenant.post_answer(&created.id, &form(&sample_wallet(), &created)).expect_status(200);
    assert_eq!(waiting.answer().expect_status(200).json()["state"], "done");
}

#[test]
fn a_page_is_limited_to_60_requests_a_minute_without_affecting_others() {
    let limited = installation().with("IDGATE_RATE_LIMITS", "on").with_machine();
    let gateway = Gateway::trusting(limited, &sample_trust());
    let mut tenant = gateway.tenant();
    let (first, second) = (tenant.create(&request()), tenant.create(&request()));
    let mut browser = Browser::new(&gateway, &first);
    gateway.installation.machine().freeze();
    let mut asked = 0;
    let limited = loop {
        let answer = browser.get("");
        if answer.status != 200 {
            break answer;
        }
        asked += 1;
    };
    assert_eq!(asked, 60);
    assert_eq!(limited.header("ratelimit-policy"), Some("\"page-token\";q=60;w=60"));
    assert!(limited.header("retry-after").is_some());
    limited.expect_error(429, "rate_limited");
    Browser::new(&gateway, &second).page();
}
