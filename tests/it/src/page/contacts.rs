//! The contacts on the page, from the registration certificate of the request.

use super::*;
use crate::certificates::{Ca, certify, registration_with};

/// Registers the client with these additional members in the certificate.
fn register(gateway: &Gateway, more: &Value) {
    let mut payload = json!({ "sub": "VATUT-123", "credentials": [{ "format": "dc+sd-jwt",
        "meta": { "vct_values": [idgate_testkit::samples::VCT] },
        "claim": [{ "path": ["given_name"] }] }] });
    payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let file = gateway.installation.file("registration.jwt", registration_with(&payload));
    let add = ["client", "verifier-info", "add", &gateway.client.client_id, file.to_str().unwrap()];
    let added = gateway.installation.run(&add);
    assert_eq!(added.code, 0, "{added:?}");
}

/// The page of a new session.
fn page(gateway: &Gateway) -> String {
    let mut asked = request();
    asked["profile"] = "haip".into();
    let created = gateway.tenant().create(&asked);
    Browser::new(gateway, &created).page()
}

#[test]
fn the_page_links_to_data_deletion_and_the_supervisory_authority() {
    let installation = installation().with("IDGATE_PROFILES", "1.0,haip");
    let gateway = Gateway::trusting(installation, &sample_trust());
    certify(&gateway.installation, &Ca::new(), 90, &[]);
    let (erase, report) = ("Ask shop to delete your data", "Report this request to the authority");
    let shows = |page: &str| (page.contains(erase), page.contains(report));
    assert_eq!(shows(&page(&gateway)), (false, false));
    register(&gateway, &json!({}));
    assert_eq!(shows(&page(&gateway)), (false, false));
    register(
        &gateway,
        &json!({
            "support_uri": "https://shop.example/delete?a=1&b=\"",
            "supervisory_authority": { "email": "post@authority.example" },
        }),
    );
    let shown = page(&gateway);
    for link in [
        "<a href=\"https://shop.example/delete?a=1&amp;b=&quot;\" rel=\"noreferrer\" target=\"_top\">",
        "<a href=\"mailto:post@authority.example\" rel=\"noreferrer\" target=\"_top\">",
    ] {
        assert!(shown.contains(link), "{link}: {shown}");
    }
    assert_eq!(shows(&shown), (true, true));
    // A contact that is not a usable link is shown as text.
    register(
        &gateway,
        &json!({
            "support_uri": "javascript:alert(1)",
            "supervisory_authority": { "uri": "<b>Street 1</b>" },
        }),
    );
    let shown = page(&gateway);
    assert!(shown.contains(&format!("<span>{erase}: javascript:alert(1)</span>")), "{shown}");
    assert!(
        shown.contains(&format!("<span>{report}: &lt;b&gt;Street 1&lt;/b&gt;</span>")),
        "{shown}"
    );
    assert!(!shown.contains("href=\"javascript"), "{shown}");
    // A request without a certificate has no contacts.
    let created = gateway.tenant().create(&request());
    let plain = Browser::new(&gateway, &created).page();
    assert_eq!(shows(&plain), (false, false));
}
