//! Colours, links and names that an operator sets for pages, and the `retry_uri` of a tenant.

use std::time::Duration;

use super::*;

/// A gateway whose operator has a name and links.
fn run_by(more: &[(&str, &str)]) -> Gateway {
    let installation = more.iter().fold(installation(), |all, (name, value)| all.with(name, value));
    Gateway::trusting(installation, &sample_trust())
}

fn set(gateway: &Gateway, more: &[&str]) -> crate::server::Output {
    let client = gateway.client.client_id.clone();
    let command = ["client", "set", &client].into_iter().chain(more.iter().copied());
    gateway.installation.run(&command.collect::<Vec<_>>())
}

#[test]
fn an_accent_becomes_a_readable_style_and_nothing_else() {
    let gateway = gateway();
    let created = gateway.tenant().create(&request());
    let mut browser = Browser::new(&gateway, &created);
    assert!(!browser.page().contains("theme.css"));
    browser.get("/theme.css").expect_error(404, "not_found");
    let told = set(&gateway, &["--accent", "#ffCC00"]);
    assert!(told.stdout.contains("accent: #ffcc00, shown as #"), "{told:?}");
    assert!(browser.page().contains(&format!("href=\"{}/theme.css\"", browser.path)));
    let style = browser.get("/theme.css").expect_status(200);
    assert_eq!(style.header("content-type"), Some("text/css; charset=utf-8"));
    assert_eq!(style.header("cache-control"), Some("no-store"));
    let style = String::from_utf8(style.body).unwrap();
    assert!(
        style.starts_with(":root{--accent:#") && style.contains("prefers-color-scheme:dark"),
        "{style}"
    );
    for bad in ["ffcc00", "#fc0", "red", "#ffcc00;}", ""] {
        assert_eq!(set(&gateway, &["--accent", bad]).code, 2, "{bad}");
    }
    assert_eq!(set(&gateway, &["--accent", "default"]).code, 0);
    assert!(!browser.page().contains("theme.css"));
    // Another browser does not get the colours either.
    browser.take();
    assert_eq!(set(&gateway, &["--accent", "#0b5d70"]).code, 0);
    assert_eq!(Browser::new(&gateway, &created).get("/theme.css").status, 403);
}

#[test]
fn the_page_names_the_operator_and_links_to_privacy_and_help() {
    let gateway = run_by(&[
        ("IDGATE_OPERATOR_NAME", "Hafen <ID> GmbH"),
        ("IDGATE_OPERATOR_PRIVACY_URL", "https://hafen.example/privacy"),
        ("IDGATE_OPERATOR_HELP_URL", "https://hafen.example/help"),
    ]);
    let created = gateway.tenant().create(&request());
    let mut browser = Browser::new(&gateway, &created);
    let page = browser.page();
    for shown in [
        "Hafen &lt;ID&gt; GmbH runs this page for shop.",
        "<a href=\"https://hafen.example/privacy\" rel=\"noreferrer\" target=\"_top\">Privacy</a>",
        "<a href=\"https://hafen.example/help\" rel=\"noreferrer\" target=\"_top\">Help</a>",
    ] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
    let own = ["--privacy-url", "https://shop.example/privacy"];
    assert_eq!(set(&gateway, &own).code, 0);
    let page = browser.page();
    assert!(page.contains("href=\"https://shop.example/privacy\""), "{page}");
    assert!(
        !page.contains("hafen.example/privacy") && page.contains("hafen.example/help"),
        "{page}"
    );
    for bad in
        ["http://shop.example", "shop.example", "javascript:alert(1)", "https://u:p@a.example"]
    {
        assert_eq!(set(&gateway, &["--help-url", bad]).code, 2, "{bad}");
    }
    assert_eq!(set(&gateway, &["--privacy-url", "default"]).code, 0);
    assert!(browser.page().contains("hafen.example/privacy"));
    // A page that another browser has shows nothing of the client.
    browser.take();
    let other = String::from_utf8(Browser::new(&gateway, &created).get("").body).unwrap();
    assert!(!other.contains("shop"), "{other}");
    assert!(other.contains("This page is run by Hafen &lt;ID&gt; GmbH."), "{other}");
    assert!(other.contains("href=\"https://hafen.example/help\""), "{other}");
}

#[test]
fn retry_uri_is_shown_and_never_has_a_code() {
    let gateway = gateway();
    let mut tenant = gateway.tenant();
    let again = "https://shop.example/again?order=1";
    let mut request = request();
    request["retry_uri"] = json!(again);
    let link = format!("href=\"{}\"", again.replace('&', "&amp;"));
    let created = tenant.create(&request);
    let mut browser = Browser::new(&gateway, &created);
    browser.take();
    assert!(!browser.page().contains(&link), "there is no retry link while a wallet can answer");
    let state = idgate_testkit::request::AuthorizationRequest::parse(&created.uri).unwrap().state;
    let declined = json!({ "error": "access_denied", "state": state });
    let answer = Request::post(format!("/v1/oid4vp/response/{}", created.id)).json(&declined);
    tenant.http.send(&answer).expect_status(200);
    let page = browser.page();
    assert!(page.contains(&link) && page.contains(">Try again</a>"), "{page}");
    assert!(page.contains("<a class=\"button second\" id=\"back\""), "{page}");
    assert!(!page.contains("start again at"), "{page}");
    // Not for a verified session, and not without `retry_uri`.
    let created = tenant.create(&request);
    let mut browser = Browser::new(&gateway, &created);
    browser.take();
    tenant.post_answer(&created.id, &form(&sample_wallet(), &created)).expect_status(200);
    assert!(!browser.page().contains(&link));
    request["retry_uri"] = json!("javascript:alert(1)");
    tenant.post_session(&request).expect_error(400, "invalid_request");
}

#[test]
fn the_pages_browser_can_retry_after_every_unverified_end() {
    let gateway = Gateway::trusting(installation().with_machine(), &sample_trust());
    let mut tenant = gateway.tenant();
    let again = "https://shop.example/again";
    let mut request = request();
    request["retry_uri"] = json!(again);
    let link = format!("href=\"{again}\"");
    let stale = |created: &Created| sample_wallet().answer_uri(&created.uri, 0).unwrap();
    // A credential that could not be confirmed.
    let created = tenant.create(&request);
    let mut browser = Browser::new(&gateway, &created);
    browser.take();
    tenant.post_answer(&created.id, &stale(&created).form_body()).expect_status(400);
    let page = browser.page();
    assert!(page.contains("data-state=\"refused\"") && page.contains(&link), "{page}");
    assert!(page.contains("another document"), "{page}");
    // A cancelled session has a link back if there is a way back.
    let created = tenant.create(&request);
    let mut browser = Browser::new(&gateway, &created);
    browser.cancels();
    let page = browser.page();
    assert!(page.contains("data-state=\"cancelled\"") && !page.contains(&link), "{page}");
    request.as_object_mut().unwrap().remove("redirect_uri");
    let created = tenant.create(&request);
    let mut browser = Browser::new(&gateway, &created);
    browser.cancels();
    assert!(browser.page().contains(&link));
    // The session got no answer, and no browser ever had the page.
    let [held, free] = [(); 2].map(|()| tenant.create(&request));
    let [mut held, mut free] = [held, free].map(|created| Browser::new(&gateway, &created));
    held.take();
    gateway.server.rest();
    gateway.installation.machine().jump(Duration::from_secs(901));
    let page = held.page();
    assert!(page.contains("data-state=\"over\"") && page.contains(&link), "{page}");
    let page = free.page();
    assert!(page.contains("data-state=\"over\"") && !page.contains(&link), "{page}");
}

#[test]
fn retry_uri_needs_a_page() {
    let gateway = Gateway::start();
    let mut request = request();
    request["retry_uri"] = json!("https://shop.example/again");
    let refused = gateway.tenant().post_session(&request).expect_status(400).json();
    assert_eq!(refused["error"], "invalid_request");
    let why = refused["message"].as_str().unwrap();
    assert!(why.starts_with("retry_uri: ") && why.contains("ask the operator for pages"), "{why}");
}

#[test]
fn serve_refuses_invalid_operator_names_and_links() {
    for (name, value) in [
        ("IDGATE_OPERATOR_NAME", "\u{7}"),
        ("IDGATE_OPERATOR_PRIVACY_URL", "http://hafen.example"),
        ("IDGATE_OPERATOR_HELP_URL", "hafen.example/help"),
    ] {
        let ran = installation().with(name, value).run(&["serve"]);
        assert_ne!(ran.code, 0, "{name}");
        assert!(ran.stderr.contains(name), "{ran:?}");
    }
}
