//! A person takes the page from a computer to a phone, and back.

mod limits;
mod nodes;
mod outcome;
mod refusals;

use std::time::Duration;

use super::*;

/// No code is valid for longer.
const TURNED: Duration = Duration::from_millis(15_500);

/// A gateway whose clock stands still: no code turns unless the test advances it.
fn still(installation: Installation) -> Gateway {
    let gateway = Gateway::trusting(installation.with_machine(), &sample_trust());
    gateway.installation.machine().freeze();
    gateway
}

/// A request whose page can be handed over to a phone.
fn request() -> Value {
    let mut request = super::request();
    request["same_device"] = json!(true);
    request["handover"] = json!(true);
    request
}

/// A gateway, its tenant, a session, and the computer's browser that has the page.
fn on_computer_of(gateway: Gateway) -> (Gateway, Tenant, Created, Browser) {
    let mut tenant = gateway.tenant();
    let created = tenant.create(&request());
    let mut computer = Browser::new(&gateway, &created);
    computer.page();
    computer.take();
    (gateway, tenant, created, computer)
}

fn on_computer() -> (Gateway, Tenant, Created, Browser) {
    on_computer_of(still(installation()))
}

/// The same by reference.
fn by_reference() -> (Gateway, Tenant, Created, Browser) {
    on_computer_of(still(installation().with("OID4VP_REQUEST_MODE", "jar")))
}

impl Browser {
    /// The path in the handover code that the page shows.
    #[track_caller]
    fn code(&mut self) -> String {
        let state = self.get("/state").json();
        let address = state["phone"].as_str().unwrap();
        assert!(state["qr"]["path"].is_string(), "{state}");
        address[address.find("/v/").unwrap()..].to_owned()
    }

    fn keep_cookie(&mut self, response: &Response) {
        if let Some(cookie) = response.header("set-cookie") {
            self.cookie = cookie.split(';').next().map(str::to_owned);
        }
    }

    /// Opens the address in a code.
    fn scans(&mut self, code: &str) -> Response {
        let response = self.send(Request::get(code).header("Accept", "text/html"));
        self.keep_cookie(&response);
        response
    }

    /// Presses a button of a page without a referrer.
    fn presses(&mut self, action: &str) -> Response {
        let request = Request::post(action).header("Accept", "text/html");
        let request = request.header("Origin", "null").header("Sec-Fetch-Site", "same-origin");
        let response = self.send(request);
        self.keep_cookie(&response);
        response
    }

    /// Opens the code, and presses its button.
    fn takes_over(&mut self, code: &str) -> Response {
        let page = self.scans(code).expect_status(200);
        self.presses(&action(&String::from_utf8(page.body).unwrap()))
    }

    /// Presses "Bring it back".
    fn brings_back(&mut self) -> Response {
        self.presses(&format!("{}/back", self.path))
    }
}

/// The action of the only form on a page.
#[track_caller]
fn action(page: &str) -> String {
    let forms: Vec<_> = page.split("<form method=\"post\" action=\"").skip(1).collect();
    let [form] = forms[..] else { panic!("{page}") };
    form.split('"').next().unwrap().replace("&amp;", "&")
}

/// A phone that took over the page.
fn handed_over(gateway: &Gateway, created: &Created, computer: &mut Browser) -> Browser {
    let mut phone = Browser::new(gateway, created);
    let led = phone.takes_over(&computer.code()).expect_status(303);
    assert_eq!(led.header("location"), Some(&*phone.path));
    phone
}

fn text(response: Response) -> String {
    String::from_utf8(response.body).unwrap()
}

#[test]
fn only_the_pages_browser_gets_a_handover_code() {
    let gateway = still(installation());
    let created = gateway.tenant().create(&request());
    let mut computer = Browser::new(&gateway, &created);
    let page = computer.page();
    assert!(page.contains("id=\"qr\" hidden") && !page.contains("stroke-dasharray"), "{page}");
    assert_eq!(members(&computer.get("/state").json()), ["left_ms", "state"]);
    // Without JavaScript a button takes the page.
    assert!(page.contains("<button>Show the code</button></form></noscript>"), "{page}");
    let led = computer.presses(&format!("{}/take", computer.path)).expect_status(303);
    assert!(led.header("set-cookie").is_some());
    let page = computer.page();
    for shown in [
        "Continue on the phone that has your wallet: scan the code with its camera.",
        "aria-label=\"QR code that opens this page on your phone\"",
        "stroke-dasharray",
        "<b>Why on the phone?</b> shop asks you to finish on the device",
        // It turns even without JavaScript.
        "<meta http-equiv=\"refresh\" content=\"5;url=",
        "The code renews itself every few seconds.",
    ] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
    assert!(!page.contains("hidden><rect") && !page.contains("Show the code<"), "{page}");
    computer.code();
    let mut other = Browser::new(&gateway, &created);
    assert!(!members(&other.get("/state").json()).contains(&"phone"));
}

#[test]
fn a_session_without_handover_has_neither_code_nor_address() {
    let gateway = still(installation());
    let mut without = request();
    without["handover"] = json!(false);
    let created = gateway.tenant().create(&without);
    let mut computer = Browser::new(&gateway, &created);
    computer.take();
    let page = computer.page();
    assert!(page.contains("Open this page on the phone that has your wallet."), "{page}");
    assert!(!page.contains("id=\"qr\""), "{page}");
    assert_eq!(members(&computer.get("/state").json()), ["back", "left_ms", "state"]);
    // The part from another session's code does not work.
    let (_gateway, _, _, mut other) = on_computer_of(gateway);
    let part = other.code().rsplit('/').next().unwrap().to_owned();
    let mut phone = Browser { http: other.http, path: computer.path, cookie: None };
    let code = format!("{}/on/{part}", phone.path);
    assert_eq!(phone.scans(&code).status, 404);
}

#[test]
fn opening_a_handover_code_changes_nothing_and_shows_no_claims() {
    let (gateway, mut tenant, created, mut computer) = on_computer();
    let code = computer.code();
    let before = tenant.read(&created.id);
    // Like a preview of the link, or a person who only looks.
    for method in ["GET", "HEAD", "GET"] {
        let mut preview = Browser::new(&gateway, &created);
        preview.send(Request::new(method, &*code)).expect_status(200);
    }
    let mut phone = Browser::new(&gateway, &created);
    let opened = phone.scans(&code).expect_status(200);
    assert!(opened.header("content-security-policy").unwrap().ends_with("frame-ancestors 'none'"));
    let page = text(opened);
    assert!(page.contains(">shop asks to see your details</h1>"), "{page}");
    assert!(page.contains("Continue only if you started at shop yourself"), "{page}");
    assert!(page.contains("<button>Continue on this phone</button>"), "{page}");
    assert_eq!(page.matches("<button").count(), 1, "{page}");
    for hidden in ["First name", "openid4vp", &created.id, "id=\"qr\"", "/cancel", BACK] {
        assert!(!page.contains(hidden), "{hidden}: {page}");
    }
    assert_eq!(tenant.read(&created.id), before);
    assert_eq!((computer.state(), computer.code()), ("open".into(), code.clone()));
    // The page's address still belongs to another browser.
    assert_eq!(phone.get("").status, 403);
    handed_over(&gateway, &created, &mut computer);
}

#[test]
fn a_phone_takes_over_the_page_and_the_computer_shows_it() {
    let (gateway, mut tenant, created, mut computer) = on_computer();
    let mut phone = Browser::new(&gateway, &created);
    let led = phone.takes_over(&computer.code()).expect_status(303);
    let cookie = led.header("set-cookie").unwrap();
    assert!(cookie.starts_with("__Host-idgate-"), "{cookie}");
    assert!(cookie.contains("; Secure; HttpOnly; SameSite=Lax"), "{cookie}");
    let page = phone.page();
    for shown in ["data-state=\"open\"", "Open my wallet", "<li>First name</li>", "/cancel\""] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
    assert!(!page.contains("id=\"qr\""), "there is nothing to go on to: {page}");
    assert_eq!(phone.state(), "open");

    assert_eq!(members(&computer.get("/state").json()), ["left_ms", "state"]);
    assert_eq!(computer.state(), "moved");
    let page = computer.page();
    for shown in [
        "<title>Continue on your phone</title>",
        "shop will be waiting for you on the phone as well.",
        "Open on your phone",
        "<button class=\"second\">Bring it back to this computer</button>",
    ] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
    for hidden in ["openid4vp", "id=\"qr\"", "/cancel\"", BACK] {
        assert!(!page.contains(hidden), "{hidden}: {page}");
    }
    let page = text(computer.get("?code").expect_status(200));
    assert!(!page.contains("openid4vp") && !page.contains("id=\"qr\""), "{page}");
    for below in ["/open", "/dc-api"] {
        assert_eq!(computer.get(below).status, 403, "{below}");
    }
    let refused = computer.post("/take");
    assert_eq!((refused.status, refused.json()), (403, json!({ "state": "taken" })));
    assert_eq!(tenant.read(&created.id)["status"], "PENDING");
    // A browser that has or had the page is redirected to it.
    for browser in [&mut phone, &mut computer] {
        let led = browser.scans("/v/x/on/1.x".replace("/v/x", &browser.path).as_str());
        assert_eq!((led.status, led.header("location")), (303, Some(&*browser.path)));
    }
}

#[test]
fn long_polling_reports_the_handover_and_the_return() {
    let (gateway, _, created, mut computer) = on_computer();
    let waiting = |browser: &mut Browser, seen: &str| {
        let state = Request::get(format!("{}/state?seen={seen}", browser.path));
        Asked::new(gateway.server.address, browser.with_cookie(state))
    };
    let told = waiting(&mut computer, "open");
    gateway.server.rest();
    assert!(!told.is_answered(), "it is answered before anything changes");
    let mut phone = handed_over(&gateway, &created, &mut computer);
    gateway.installation.machine().thaw();
    assert_eq!(told.answer().expect_status(200).json()["state"], "moved");
    let told = waiting(&mut phone, "open");
    computer.brings_back().expect_status(303);
    assert_eq!(told.answer().status, 403);
}

#[test]
fn a_page_returns_to_the_computer_and_can_be_handed_over_again() {
    let (gateway, _, created, mut computer) = on_computer();
    let first = computer.code();
    let mut phone = handed_over(&gateway, &created, &mut computer);
    let led = computer.brings_back().expect_status(303);
    assert_eq!(led.header("location"), Some(&*computer.path));
    assert_eq!(computer.state(), "open");
    assert_eq!(phone.get("").status, 403);
    // Pressing it twice keeps the page there.
    computer.brings_back().expect_status(303);
    let again = computer.code();
    assert_ne!(again, first, "in the same turn, too");
    assert_eq!(phone.scans(&first).status, 404, "it is used up");
    let mut other = Browser::new(&gateway, &created);
    assert_eq!(other.scans(&first).status, 404, "it is used up");
    phone.takes_over(&again).expect_status(303);
    assert_eq!((phone.state(), computer.state()), ("open".into(), "moved".into()));
}

#[test]
fn pressing_the_handover_button_twice_takes_the_page_once() {
    let (gateway, _, created, mut computer) = on_computer();
    let mut phone = Browser::new(&gateway, &created);
    let page = text(phone.scans(&computer.code()).expect_status(200));
    // The reply to the first press is lost; the cookie is from the question page.
    let cookie = phone.cookie.clone();
    phone.presses(&action(&page)).expect_status(303);
    phone.cookie = cookie;
    phone.presses(&action(&page)).expect_status(303);
    assert_eq!((phone.state(), computer.state()), ("open".into(), "moved".into()));
    computer.brings_back().expect_status(303);
}

#[test]
fn the_handover_page_offers_the_language_choice() {
    let (gateway, _, created, mut computer) = on_computer();
    let mut phone = Browser::new(&gateway, &created);
    let page = text(phone.scans(&computer.code()).expect_status(200));
    let german = page.split("href=\"").find(|rest| rest.contains("lang=\"de\"")).unwrap();
    let german = german.split('"').next().unwrap().replace("&amp;", "&");
    // The code has turned in the meantime.
    gateway.installation.machine().jump(TURNED);
    let mut phone = Browser { http: gateway.http(), ..phone };
    let page = text(phone.scans(&german).expect_status(200));
    assert!(page.contains("<button>Auf diesem Telefon weitermachen</button>"), "{page}");
    let led = phone.presses(&action(&page)).expect_status(303);
    assert_eq!(led.header("location"), Some(&*format!("{}?lang=de", phone.path)));
}

#[test]
fn a_page_with_a_handover_code_stays_within_its_size_budget() {
    let (_gateway, _, _, mut computer) = by_reference();
    let shared = ["/v/page.js", "/v/page.css", "/v/icon.svg"];
    let shared = shared.map(|path| computer.send(Request::get(path)).expect_status(200).body.len());
    let bytes = computer.page().len() + shared.iter().sum::<usize>();
    assert!(bytes <= 32 * 1024, "{bytes}");
}
