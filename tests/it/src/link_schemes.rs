//! Additional link schemes that the operator configures (decisions 41).

use crate::http::Request;
use crate::server::Installation;
use crate::tenant::{Created, Gateway, request_for, sample_trust};

const NAMED: &str = "mdoc-openid4vp,com.example+wallet";

fn gateway() -> Gateway {
    let installation = Installation::new()
        .with("IDGATE_PROFILES", "draft,1.0")
        .with("IDGATE_LINK_SCHEMES", NAMED)
        .with("IDGATE_PAGE", "on");
    Gateway::trusting(installation, &sample_trust())
}

fn link<'c>(created: &'c Created, key: &str) -> &'c str {
    created.answer["deep_links"][key].as_str().unwrap()
}

#[test]
fn a_session_has_a_link_for_each_configured_scheme() {
    let gateway = gateway();
    let mut tenant = gateway.tenant();
    let mut asked = request_for(&["given_name"]);
    asked["profiles"] = serde_json::json!(["draft", "1.0"]);
    let created = tenant.create(&asked);
    // This is the request for newer wallets, which the general link does not carry.
    let newer = link(&created, "haip").strip_prefix("haip-vp://?").unwrap();
    assert_ne!(newer, link(&created, "openid4vp").strip_prefix("openid4vp://?").unwrap());
    for scheme in NAMED.split(',') {
        assert_eq!(link(&created, scheme), format!("{scheme}://?{newer}"));
        let query = scheme.replace('+', "%2B");
        let open = format!("/v1/sessions/{}/open?scheme={query}", created.id);
        let followed = tenant.http.send(&Request::get(&*open)).expect_status(302);
        assert_eq!(followed.header("location"), Some(link(&created, scheme)));
        let page = created.answer["page_url"].as_str().unwrap();
        let path = &page[page.find("/v/").unwrap()..];
        let shown = tenant.http.send(&Request::get(path).header("accept", "text/html"));
        let shown = String::from_utf8(shown.expect_status(200).body).unwrap();
        assert!(shown.contains(&format!("/open?scheme={query}\">{scheme}://</a>")), "{shown}");
        let open = format!("{path}/open?scheme={query}");
        let followed = tenant.http.send(&Request::get(&*open)).expect_status(302);
        assert_eq!(followed.header("location"), Some(link(&created, scheme)));
    }
    let other = format!("/v1/sessions/{}/open?scheme=mdoc", created.id);
    tenant.http.send(&Request::get(&*other)).expect_error(404, "not_found");
}

#[test]
fn serve_refuses_a_link_scheme_that_browsers_handle() {
    for (bad, why) in [
        ("https", "never reach a wallet"),
        ("javascript", "never reach a wallet"),
        ("ms-settings", "never reach a wallet"),
        ("haip", "already has a link of this name"),
        ("Wallet", "RFC 3986 3.1"),
    ] {
        let ran = Installation::new().with("IDGATE_LINK_SCHEMES", bad).run(&["serve"]);
        assert_ne!(ran.code, 0, "{bad}");
        assert!(ran.stderr.contains("IDGATE_LINK_SCHEMES") && ran.stderr.contains(why), "{ran:?}");
    }
}
