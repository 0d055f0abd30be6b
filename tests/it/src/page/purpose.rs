//! The tenant's purpose on the page.

use super::*;

fn asking(purpose: Value) -> Value {
    let mut request = request();
    request["purpose"] = purpose;
    request
}

#[test]
fn the_page_quotes_the_clients_purpose() {
    let gateway = gateway();
    let mut tenant = gateway.tenant();
    let purpose = json!({ "en": "To open <b>your</b> account", "de": "Für Ihr Konto" });
    let created = tenant.create(&asking(purpose));
    let mut browser = Browser::new(&gateway, &created);
    let shown = |page: &str, text: &str| assert!(page.contains(text), "{text}: {page}");
    let own = "<b>Reason given by shop:</b> <span>To open &lt;b&gt;your&lt;/b&gt; account</span>";
    shown(&browser.page(), own);
    let text = |answer: crate::http::Response| String::from_utf8(answer.body).unwrap();
    let german = text(browser.get("?lang=de"));
    shown(&german, "<b>shop nennt als Grund:</b> <span>Für Ihr Konto</span>");
    // If the tenant gave no text in the person's language, the page names the language of the text
    // that it shows.
    let french = text(browser.get("?lang=fr"));
    shown(&french, "<span lang=\"en\">To open &lt;b&gt;your&lt;/b&gt; account</span>");
    // It is only for people: neither the wallet's request nor the result has it.
    assert!(!created.uri.contains("account"), "{}", created.uri);
    assert!(!tenant.read(&created.id).to_string().contains("account"));
}

#[test]
fn a_purpose_is_accepted_in_every_page_language() {
    let gateway = gateway();
    let mut tenant = gateway.tenant();
    let created = tenant.create(&request());
    let page = Browser::new(&gateway, &created).page();
    let mut languages: Vec<&str> =
        page.split("hreflang=\"").skip(1).map(|rest| &rest[..2]).collect();
    languages.push("en");
    assert!(languages.len() > 7, "{languages:?}");
    let texts = languages.iter().map(|code| ((*code).to_owned(), json!(format!("why, {code}"))));
    let purpose = Value::Object(texts.collect());
    let created = tenant.create(&asking(purpose));
    let mut browser = Browser::new(&gateway, &created);
    for code in languages {
        let page = String::from_utf8(browser.get(&format!("?lang={code}")).body).unwrap();
        assert!(page.contains(&format!("<span>why, {code}</span>")), "{page}");
    }
}

#[test]
fn a_purpose_without_english_or_in_an_unknown_language_is_rejected() {
    let gateway = gateway();
    let mut tenant = gateway.tenant();
    for (purpose, code) in [
        (json!({ "de": "Für Ihr Konto" }), "invalid_request"),
        (json!({ "en": "x".repeat(301) }), "invalid_request"),
        (json!({ "en": "a", "sv": "b" }), "unknown_field"),
        (json!("To open an account"), "invalid_request"),
    ] {
        tenant.post_session(&asking(purpose)).expect_error(400, code);
    }
    assert!(!Browser::new(&gateway, &tenant.create(&request())).page().contains("Reason given"));
}

#[test]
fn without_pages_a_purpose_is_rejected() {
    let gateway = Gateway::trusting(installation().with("IDGATE_PAGE", "off"), &sample_trust());
    let refused = gateway.tenant().post_session(&asking(json!({ "en": "a" })));
    refused.expect_error(400, "invalid_request");
}
