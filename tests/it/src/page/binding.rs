//! One browser has a page: how it proves that, and what other browsers see.

use super::*;

/// Checks that another browser sees nothing of a page.
fn assert_tells_nothing(page: &str) {
    assert!(page.contains("This page is open in another browser"), "{page}");
    for hidden in ["shop", "First name", "openid4vp", "id=\"qr\"", "id=\"back\"", "/cancel"] {
        assert!(!page.contains(hidden), "{hidden}: {page}");
    }
}

#[test]
fn opening_a_page_binds_nothing_and_the_first_browser_to_act_gets_it() {
    let (gateway, _, created, mut first) = opened(&request());
    let mut second = Browser::new(&gateway, &created);
    for _ in 0..2 {
        assert!(first.get("").expect_status(200).header("set-cookie").is_none());
        assert!(second.page().contains("id=\"qr\""));
        assert_eq!(second.state(), "open");
    }
    first.take();
    assert!(first.page().contains("id=\"qr\""));
    let taken = second.get("");
    assert_eq!(taken.status, 403);
    assert_tells_nothing(&String::from_utf8(taken.body).unwrap());
    for answer in [
        second.get("/state"),
        second.post("/take"),
        second.get("/logo"),
        second.get("/open"),
        second.get("/dc-api"),
    ] {
        assert_eq!((answer.status, answer.json()), (403, json!({ "state": "taken" })));
        assert!(answer.header("set-cookie").is_none());
    }
    // It stays with the first browser, however often that one comes back.
    assert_eq!(first.take()["state"], "open");
    assert_eq!(first.state(), "open");
}

/// Takes the page without a cookie, with a key that the browser generated.
fn take_with(browser: &mut Browser, keys: &[&str]) -> Response {
    let request = Request::post(format!("{}/take", browser.path));
    let request = keys.iter().fold(request, |all, key| all.header("Idgate-Page-Key", *key));
    browser.send(request.header("Accept", "application/json"))
}

#[test]
fn a_page_can_be_taken_again_only_with_the_same_key() {
    let gateway = Gateway::trusting(installation().with("IDGATE_LOG", "trace"), &sample_trust());
    let created = gateway.tenant().create(&request());
    let mut browser = Browser::new(&gateway, &created);
    let (key, other) = ("Ab0123456789abcdefghi1", "Ab0123456789abcdefghi2");
    let cookies: Vec<_> = (0..3)
        .map(|_| {
            let taken = take_with(&mut browser, &[key]).expect_status(200);
            assert_eq!(taken.json()["state"], "open");
            taken.header("set-cookie").unwrap().split(';').next().unwrap().to_owned()
        })
        .collect();
    assert!(cookies.iter().all(|one| *one == cookies[0]), "{cookies:?}");
    assert!(cookies[0].ends_with(&format!("={key}")), "{cookies:?}");
    for keys in [&[other][..], &[]] {
        let refused = take_with(&mut browser, keys);
        assert_eq!((refused.status, refused.json()), (403, json!({ "state": "taken" })));
        assert!(refused.header("set-cookie").is_none());
    }
    // A key takes the page, and opens nothing by itself.
    assert_eq!(browser.get("").status, 403);
    browser.cookie = Some(cookies[0].clone());
    browser.page();
    assert!(take_with(&mut browser, &[other]).expect_status(200).header("set-cookie").is_none());
    let log = gateway.installation.log();
    assert!(!log.is_empty() && !log.contains(key) && !log.contains(other), "a key is in the log");
}

#[test]
fn a_malformed_page_key_takes_no_page() {
    let (gateway, _, created, mut browser) = opened(&request());
    for keys in [
        &[""][..],
        &["a"],
        &["Ab0123456789abcdefghi"],
        &["Ab0123456789abcdefghi12"],
        &["Ab0123456789abcdefghi-"],
        &["Ab0123456789abcdefgh; "],
        &["Ab0123456789abcdefghi1", "Ab0123456789abcdefghi1"],
        &["Ab0123456789abcdefghi1", "Ab0123456789abcdefghi2"],
    ] {
        let refused = take_with(&mut browser, keys);
        assert!(refused.header("set-cookie").is_none(), "{keys:?}");
        refused.expect_error(400, "invalid_request");
    }
    // No browser has it yet.
    Browser::new(&gateway, &created).take();
}

#[test]
fn the_cookie_is_host_only_page_only_and_http_only() {
    let (gateway, mut tenant, _, mut browser) = opened(&request());
    let taken = browser.post("/take").expect_status(200);
    let cookie = taken.header("set-cookie").unwrap();
    assert!(cookie.starts_with("__Host-idgate-"), "{cookie}");
    for attribute in ["Path=/", "Secure", "HttpOnly", "SameSite=Lax"] {
        assert!(cookie.split("; ").any(|part| part == attribute), "{attribute}: {cookie}");
    }
    assert!(!cookie.contains("Domain"), "{cookie}");
    let own = cookie.split(';').next().unwrap().to_owned();
    let (name, value) = own.split_once('=').unwrap();
    let wrong = [
        format!("{name}={}", value.chars().rev().collect::<String>()),
        format!("{name}="),
        format!("{own}; {own}"),
        format!("other={value}"),
    ];
    for cookie in wrong {
        browser.cookie = Some(cookie.clone());
        assert_eq!(browser.get("").status, 403, "{cookie}");
    }
    // For another session of the same tenant it opens nothing.
    let other = tenant.create(&request());
    let mut other = Browser::new(&gateway, &other);
    other.take();
    other.cookie = Some(own.clone());
    assert_eq!(other.get("").status, 403);
    browser.cookie = Some(format!("a=b; {own}"));
    browser.page();
}

#[test]
fn without_javascript_a_button_takes_the_page() {
    let (_gateway, mut tenant, created, mut browser) = opened(&request());
    let page = browser.page();
    assert!(page.contains("<noscript>") && page.contains("href=\"openid4vp://"), "{page}");
    tenant.post_answer(&created.id, &form(&sample_wallet(), &created)).expect_status(200);
    let page = browser.page();
    let button =
        format!("<form method=\"post\" action=\"{}/take\"><button>Back to shop", browser.path);
    assert!(page.contains(&button), "{page}");
    assert!(!page.contains("page_code"), "no browser has the page yet: {page}");
    let request = Request::post(format!("{}/take", browser.path)).header("Accept", "text/html");
    let led = browser.send(request).expect_status(303);
    assert_eq!(led.header("location"), Some(&*browser.path));
    browser.cookie =
        led.header("set-cookie").and_then(|it| it.split(';').next()).map(str::to_owned);
    let page = browser.page();
    assert!(page.contains("href=\"https://shop.example/back?order=1#top\""), "{page}");
    assert!(!page.contains("page_code"), "it was taken after the end: {page}");
}

/// A stranger with the address could wait until the person has answered, and then be taken for that
/// person.
#[test]
fn a_settled_page_without_a_browser_gives_no_code() {
    let (_gateway, mut tenant, created, mut browser) = opened(&request());
    tenant.post_answer(&created.id, &form(&sample_wallet(), &created)).expect_status(200);
    browser.take();
    assert_eq!(browser.get("/state").json()["back"], BACK);
    let session = tenant.read(&created.id);
    assert_eq!(session["status"], "VERIFIED");
    assert!(!members(&session["verification_details"]).contains(&"page_code"), "{session}");
}

#[test]
fn the_pages_browser_returns_the_page_code_to_the_tenant() {
    let (gateway, mut tenant, created, mut browser) = opened(&request());
    browser.take();
    let reply = tenant.post_answer(&created.id, &form(&sample_wallet(), &created));
    let wallets = reply.expect_status(200).json();
    let back = browser.get("/state").json()["back"].as_str().unwrap().to_owned();
    let code = back.strip_prefix("https://shop.example/back?order=1&page_code=").unwrap();
    let code = code.strip_suffix("#top").unwrap();
    assert_eq!(code.len(), 22);
    assert!(browser.page().contains(&back.replace('&', "&amp;")));
    let details = &tenant.read(&created.id)["verification_details"];
    assert_eq!(details["page_code"], code);
    // The wallet's own response code is another one.
    let response_code = details["response_code"].as_str().unwrap();
    assert_ne!(response_code, code);
    assert!(wallets["redirect_uri"].as_str().unwrap().contains(response_code));
    // A browser with only the link gets neither.
    let mut other = Browser::new(&gateway, &created);
    let taken = other.get("");
    assert_eq!(taken.status, 403);
    assert!(!String::from_utf8(taken.body).unwrap().contains(code));
}

#[test]
fn without_a_redirect_uri_there_is_no_response_code() {
    let (_gateway, mut tenant, created, mut browser) = opened(&request_for(&["given_name"]));
    browser.take();
    tenant.post_answer(&created.id, &form(&sample_wallet(), &created)).expect_status(200);
    assert_eq!(members(&browser.get("/state").json()), ["state"]);
    let details = &tenant.read(&created.id)["verification_details"];
    assert!(!members(details).contains(&"page_code"));
}

#[test]
fn a_same_device_page_has_no_page_code_and_no_qr_code() {
    let gateway = Gateway::trusting(installation().with("IDGATE_PROFILES", "1.0"), &sample_trust());
    let mut tenant = gateway.tenant();
    let mut request = request();
    request["same_device"] = json!(true);
    let created = tenant.create(&request);
    let mut browser = Browser::new(&gateway, &created);
    browser.take();
    let page = browser.page();
    assert!(!page.contains("id=\"qr\"") && page.contains("href=\"openid4vp://"), "{page}");
    let asked = crate::offers_http::read(&created);
    let answer = sample_wallet().answer_1_0(&asked, crate::tenant::now_ms()).unwrap();
    let reply = tenant.post_answer(&created.id, &answer.body()).expect_status(200).json();
    let code = reply["redirect_uri"].as_str().unwrap().split("response_code=").nth(1).unwrap();
    let code = code.trim_end_matches("#top");
    assert_eq!(browser.get("/state").json()["back"], BACK, "the link back has no code");
    let session = tenant.read(&format!("{}?response_code={code}", created.id));
    assert!(!members(&session["verification_details"]).contains(&"page_code"));
    // Only the wallet's response code allows reading the result.
    assert!(!members(&tenant.read(&created.id)).contains(&"claims"));
}

#[test]
fn a_page_can_be_framed_by_the_clients_origins_on_request() {
    let (gateway, _, _, mut browser) = opened(&request());
    let framers = |browser: &mut Browser, below: &str| {
        let page = browser.get(below).expect_status(200);
        let policy = page.header("content-security-policy").unwrap().to_owned();
        policy.rsplit("frame-ancestors ").next().unwrap().to_owned()
    };
    assert_eq!(framers(&mut browser, "?frame"), "'none'", "the client has no origins");
    let add = ["client", "origin", "add", &gateway.client.client_id, "https://shop.example"];
    assert_eq!(gateway.installation.run(&add).code, 0);
    assert_eq!(framers(&mut browser, ""), "'none'", "it does not ask");
    assert_eq!(framers(&mut browser, "?frame"), "https://shop.example");
    let taken = browser.post("/take?frame").expect_status(200);
    let cookie = taken.header("set-cookie").unwrap();
    assert!(cookie.ends_with("SameSite=None; Partitioned"), "{cookie}");
}
