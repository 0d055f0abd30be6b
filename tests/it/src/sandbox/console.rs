//! The console by its URLs, like a browser without JavaScript.

use super::*;
use crate::server::eventually;

const ISSUER: &str = "https://issuer.example";
const IACA: &str = "https://iaca.example";
const TABS: [&str; 6] = ["", "/answer", "/checks", "/events", "/webhooks", "/curl"];
const SECTIONS: [&str; 7] =
    ["/", "/sessions", "/new", "/receive", "/issuers", "/webhooks", "/keys"];

/// A sandbox, and a session of its test client that its wallet answered.
fn answered(format: &str, issuer_id: &str, deed: &str) -> (Sandbox, Tenant, String) {
    let sandbox = Sandbox::start();
    let mut tenant = sandbox.tenant();
    let made = tenant.create(&request(format, issuer_id, "1.0"));
    let fields = [("session", &*made.id), ("do", deed), ("from", "utopia")];
    assert_eq!(sandbox.press("/answer", &fields).status, 303);
    (sandbox, tenant, made.id)
}

fn tab(sandbox: &Sandbox, id: &str, below: &str) -> String {
    let answer = sandbox.get(&format!("/sessions/{id}{below}"));
    assert_eq!(answer.status, 200, "{below}: {answer:?}");
    answer.body
}

#[track_caller]
fn has(page: &str, parts: &[&str]) {
    for part in parts {
        assert!(page.contains(part), "no {part} in {page}");
    }
}

#[test]
fn without_a_session_each_console_section_explains_itself() {
    let sandbox = Sandbox::start();
    for (path, parts) in [
        ("/", &["No sessions yet", "curl -s", "Create a session here"][..]),
        ("/sessions", &["No sessions yet"]),
        ("/new", &["Create the session", "Answer the link", "The same with curl"]),
        (
            "/receive",
            &["A phone cannot reach", "idgate sandbox --lan", "New offer", "No offers yet"],
        ),
        ("/issuers", &["Utopia Registry", "Arcadia Registry", "Withdraw", "/files/ca.pem"]),
        ("/webhooks", &["Nothing has arrived yet", "Send a test event"]),
        ("/keys", &["Set up a shell", "1. Ask", "2. Answer", "3. Read", "Show"]),
    ] {
        let page = sandbox.get(path);
        assert_eq!(page.status, 200, "{path}");
        has(&page.body, parts);
        has(&page.body, &["For development only. Sample issuers: nothing they say is true."]);
        has(&page.body, &["Anyone on this computer can answer.", "aria-current=\"page\""]);
    }
}

#[test]
fn a_verified_session_has_its_request_result_report_events_and_calls() {
    let (sandbox, mut tenant, id) = answered("mso_mdoc", IACA, "accept");
    has(&tab(&sandbox, &id, ""), &["POST /v1/sessions", "What the wallet reads (DCQL)"]);
    let answer = tab(&sandbox, &id, "/answer");
    has(&answer, &["Your server can read this for another", "Mustermann", "elementIdentifier"]);
    has(&answer, &["The gateway’s reply: 200"]);
    let checks = tab(&sandbox, &id, "/checks");
    has(&checks, &["passed.", "ISO/IEC 18013-5", "The gateway does not store the report"]);
    assert!(!checks.contains("> fail<"), "{checks}");
    let report = Request::get(format!("/v1/sessions/{id}/report")).bearer(&tenant.api_key);
    assert_eq!(tenant.http.send(&report).status, 404, "the gateway has no report");
    has(&tab(&sandbox, &id, "/events"), &["PENDING", "VERIFIED", "Audit entry", "chain intact"]);
    has(&tab(&sandbox, &id, "/curl"), &["Read the session", "Create the same session again"]);
    eventually("the notification is among the session's", || {
        tab(&sandbox, &id, "/webhooks").contains("signature good")
    });
}

#[test]
fn a_refused_session_names_the_failed_rule_with_its_clause() {
    let (sandbox, _, id) = answered("vc+sd-jwt", ISSUER, "forge");
    let checks = tab(&sandbox, &id, "/checks");
    has(&checks, &["issuer_signature_invalid", "<tr class=\"failed\">", "RFC 9901 7.1 step 2"]);
    has(&checks, &["The wallet received only the error <code>", "1 failed</small>"]);
    has(&tab(&sandbox, &id, "/events"), &["FAILED", "issuer_signature_invalid"]);
    has(&tab(&sandbox, &id, "/curl"), &["Read why it was refused"]);
    assert!(!tab(&sandbox, &id, "").contains("id=\"acts\""), "nothing is left to do");
}

#[test]
fn a_declined_session_names_the_error_of_the_wallet() {
    let (sandbox, _, id) = answered("vc+sd-jwt", ISSUER, "decline");
    has(&sandbox.get("/").body, &["wallet_error: access_denied"]);
    has(&tab(&sandbox, &id, "/answer"), &["access_denied", "What the wallet sent"]);
    has(&tab(&sandbox, &id, "/checks"), &["There was nothing to check."]);
}

#[test]
fn an_open_session_has_six_actions_with_their_outcome() {
    let sandbox = Sandbox::start();
    let made = sandbox.tenant().create(&request("mso_mdoc", IACA, "haip"));
    let page = tab(&sandbox, &made.id, "");
    assert_eq!(page.matches("class=\"deed\"").count(), 6, "{page}");
    has(
        &page,
        &["Presents the requested credentials.", "→ VERIFIED", "→ FAILED device_auth_invalid"],
    );
    has(&page, &["HAIP 1.0, by reference, encrypted", "min left", "Open the page for people"]);
    has(&page, &["idgate sandbox wallet", "Show the code for your own wallet", "class=\"qr\""]);
    has(&tab(&sandbox, &made.id, "/answer"), &["No wallet has answered yet."]);
    has(&tab(&sandbox, &made.id, "/checks"), &["No answer yet."]);
    has(&tab(&sandbox, &made.id, "/webhooks"), &["No notification yet."]);
}

#[test]
fn an_unknown_session_is_404_with_a_link_back() {
    let (sandbox, mut tenant, id) = answered("vc+sd-jwt", ISSUER, "accept");
    let unknown = sandbox.get("/sessions/ses_0123456789abcdefABCDEF");
    assert_eq!(unknown.status, 404);
    has(&unknown.body, &["There is no such session", "All sessions"]);
    for none in ["/sessions/x", "/sessions/ses_1/nothing", "/sessions/ses_%22", "/live", "/x"] {
        let answer = sandbox.get(none);
        assert_eq!((answer.status, &*answer.body), (404, "there is nothing here\n"), "{none}");
    }
    let delete = Request::new("DELETE", format!("/v1/sessions/{id}")).bearer(&tenant.api_key);
    tenant.http.send(&delete).expect_status(204);
    let gone = sandbox.get(&format!("/sessions/{id}/answer"));
    assert!(gone.status == 404 && !gone.body.contains("Erika"), "{gone:?}");
    let pressed = sandbox.press("/answer", &[("session", "ses_\"x"), ("do", "accept")]);
    assert_eq!(pressed.status, 303);
    has(&sandbox.get("/sessions").body, &["Not done.", "there is no such session"]);
}

#[test]
fn other_methods_and_unknown_buttons_are_refused() {
    let sandbox = Sandbox::start();
    let host = sandbox.page().to_string();
    for method in ["PUT", "DELETE", "PATCH", "OPTIONS"] {
        let refused = exchange(sandbox.page(), method, "/sessions", &[("Host", &host)], "");
        assert_eq!(refused.status, 405, "{method}");
        assert!(refused.head.contains("allow: get, head, post"), "{refused:?}");
    }
    assert_eq!(sandbox.press("/nothing", &[]).status, 404);
    assert_eq!(sandbox.press("/sessions/ses_1", &[]).status, 404);
    sandbox.press("/sessions", &[("ask", "passport")]);
    has(&sandbox.get("/new").body, &["Not done.", "there is no such sample"]);
    sandbox.press("/sessions", &[("ask", "identity"), ("profile", "1.0"), ("claims", "x y, x")]);
    has(&sandbox.get("/new").body, &["Not done."]);
    sandbox.press("/webhooks/retry", &[("failure", "whf_/../x")]);
    has(&sandbox.get("/webhooks").body, &["Not done.", "there is no such notification"]);
}

#[test]
fn keys_are_shown_only_on_post() {
    let (sandbox, _, id) = answered("vc+sd-jwt", ISSUER, "accept");
    let keys = [sandbox.text("api_key"), sandbox.text("signing_secret")];
    let tabs = TABS.map(|below| format!("/sessions/{id}{below}"));
    for path in tabs.iter().map(String::as_str).chain(SECTIONS) {
        let page = sandbox.get(path).body;
        assert!(keys.iter().all(|key| !page.contains(key)), "{path}");
    }
    let shown = sandbox.press("/keys", &[]);
    assert_eq!(shown.status, 200);
    assert!(shown.head.contains("cache-control: no-store"), "{}", shown.head);
    has(&shown.body, &keys);
    has(&shown.body, &[&format!("export API_KEY={}", keys[0])]);
}

/// URLs end up in histories and logs.
#[test]
fn console_pages_have_no_claims_in_urls_and_no_inline_or_remote_code() {
    let (sandbox, _, id) = answered("vc+sd-jwt", ISSUER, "accept");
    let tabs = TABS.map(|below| format!("/sessions/{id}{below}"));
    let mut has_claims = false;
    for path in tabs.iter().map(String::as_str).chain(SECTIONS) {
        let answer = sandbox.get(path);
        let page = answer.body;
        has_claims |= page.contains("Erika");
        for attribute in ["href=\"", "action=\"", "src=\""] {
            for address in page.split(attribute).skip(1) {
                let address = address.split('"').next().unwrap();
                assert!(!address.contains("Erika"), "{path}: {address}");
                let own = address.starts_with('/') || address.is_empty();
                let of_gateway = address.starts_with(sandbox.text("base_url"));
                let is_link = address.starts_with("openid4vp:");
                assert!(own || of_gateway || is_link, "{path}: {address}");
            }
        }
        for inline in ["<style", " style=", " onclick", " onload", "<script>"] {
            assert!(!page.contains(inline), "{path}: {inline}");
        }
        let policy =
            "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'";
        assert!(answer.head.contains(policy), "{path}: {}", answer.head);
        assert!(answer.head.contains("cache-control: no-store"), "{path}");
    }
    for (path, kind) in [
        ("/console.css", "text/css"),
        ("/console.js", "text/javascript"),
        ("/icon.svg", "image/svg+xml"),
    ] {
        let answer = sandbox.get(path);
        assert!(answer.status == 200 && answer.head.contains(kind), "{path}: {}", answer.head);
        assert!(!answer.body.contains("://") || path == "/icon.svg", "{path} names another place");
    }
    assert!(has_claims, "the answer's tab shows them");
}

#[test]
fn the_console_shows_another_clients_session_without_its_claims() {
    let sandbox = Sandbox::start();
    let folder = std::fs::read_dir(sandbox.temporary.path()).unwrap().next().unwrap().unwrap();
    let folder = folder.path().to_str().unwrap().to_owned();
    let create = ["client", "create", "other", "--test", "--json", "--data-dir", &folder];
    let created = output(&mut sandbox.installation.command(&create));
    let api_key = created.json()["api_key"].as_str().unwrap().to_owned();
    let mut other = Tenant { http: Http::new(sandbox.gateway()), api_key };
    let made = other.create(&request("vc+sd-jwt", ISSUER, "1.0"));
    sandbox.press("/answer", &[("session", &made.id), ("do", "accept")]);
    assert_eq!(outcome(&other.read(&made.id)), "VERIFIED");
    let answer = tab(&sandbox, &made.id, "/answer");
    has(&answer, &["Another client made this session."]);
    has(&tab(&sandbox, &made.id, "/checks"), &["passed."]);
}

#[test]
fn a_session_from_an_earlier_start_says_what_is_no_longer_available() {
    let folder = tempfile::TempDir::new().unwrap();
    let data = folder.path().join("sandbox");
    let flags = ["--data-dir", data.to_str().unwrap()];
    let mut sandbox = Sandbox::with(&flags);
    let made = sandbox.tenant().create(&request("vc+sd-jwt", ISSUER, "1.0"));
    sandbox.press("/answer", &[("session", &made.id), ("do", "accept")]);
    let pid = sandbox.child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    assert!(sandbox.child.wait().unwrap().success());
    let sandbox = Sandbox::with(&flags);
    has(&sandbox.get("/").body, &["SD-JWT VC of https://issuer.example", &made.id]);
    has(&tab(&sandbox, &made.id, ""), &["The request is no longer here."]);
    has(&tab(&sandbox, &made.id, "/checks"), &["The report is no longer here."]);
}

#[test]
fn the_test_event_button_shows_the_outcome() {
    let sandbox = Sandbox::start();
    assert_eq!(sandbox.press("/webhooks/test", &[]).status, 303);
    let page = sandbox.get("/webhooks").body;
    has(&page, &["the endpoint accepted the test event whf_", "signature good"]);
}

#[test]
fn a_same_device_session_is_read_with_the_response_code() {
    let sandbox = Sandbox::start();
    let fields = [("ask", "identity"), ("profile", "1.0"), ("same_device", "true")];
    sandbox.press("/sessions", &fields);
    let list = sandbox.get("/").body;
    let (_, newest) = list.split_once("<li id=\"row-").unwrap();
    let id = newest.split('"').next().unwrap().to_owned();
    sandbox.press("/answer", &[("session", &id), ("do", "accept")]);
    has(&tab(&sandbox, &id, "/answer"), &["Erika", "response_code"]);
}

/// The gateway creates it in another code path, and only once however often it is requested.
#[test]
fn a_session_with_an_idempotency_key_shows_its_request() {
    let sandbox = Sandbox::start();
    let mut tenant = sandbox.tenant();
    let post = Request::new("POST", "/v1/sessions").bearer(&tenant.api_key);
    let post = post.header("Idempotency-Key", "order-1");
    let post = post.json(&request("vc+sd-jwt", ISSUER, "1.0"));
    let made = tenant.http.send(&post).expect_status(201).json();
    let again = tenant.http.send(&post).expect_status(201).json();
    assert_eq!(made["session_id"], again["session_id"]);
    has(&tab(&sandbox, made["session_id"].as_str().unwrap(), ""), &["POST /v1/sessions"]);
    assert_eq!(sandbox.get("/").body.matches("<li id=\"row-").count(), 1);
}
