//! Set and read the webhook endpoint: URLs, secrets, modes.

use serde_json::{Value, json};

use super::receiver::Receiver;
use super::{ENDPOINT, client_of, endpoint, permissive, put, put_url};
use crate::disk;
use crate::http::Request;
use crate::tenant::{Gateway, members, timestamp};

#[test]
fn a_webhook_secret_is_shown_once() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    endpoint(&mut tenant).expect_error(404, "not_found");
    let first = put_url(&mut tenant, "HTTPS://Shop.Example./Hook").expect_status(200).json();
    assert_eq!(
        members(&first),
        ["client_id", "created_at", "host_review_note", "host_status", "signing_secret", "url"]
    );
    assert_eq!(first["client_id"], gateway.client.client_id);
    assert_eq!(first["url"], "https://shop.example/Hook");
    assert_eq!(
        (&first["host_status"], &first["host_review_note"]),
        (&json!("PENDING"), &Value::Null)
    );
    assert_eq!(first["signing_secret"], gateway.client.signing_secret);
    assert!(timestamp(&first["created_at"]) > 0);
    let read = endpoint(&mut tenant).expect_status(200).json();
    let mut without_secret = first.clone();
    without_secret.as_object_mut().unwrap().remove("signing_secret");
    assert_eq!(read, without_secret);
    // A later PUT generates a new secret, unless it supplies one.
    let second = put_url(&mut tenant, "https://shop.example/other").expect_status(200).json();
    let made = second["signing_secret"].as_str().unwrap();
    assert!(made.starts_with("whsec_") && made.len() == 50, "{made}");
    assert_ne!(second["signing_secret"], first["signing_secret"]);
    assert_eq!(second["created_at"], first["created_at"]);
    let own = json!({ "url": "https://shop.example/", "signing_secret": "0123456789abcdef" });
    assert_eq!(
        put(&mut tenant, &own).expect_status(200).json()["signing_secret"],
        "0123456789abcdef"
    );
    let log = Request::get("/v1/audit-log").bearer(&tenant.api_key);
    let log = tenant.http.send(&log).expect_status(200).json();
    let log = log["entries"].as_array().unwrap();
    let set = |entry: &&Value| entry["status"] == "WEBHOOK_ENDPOINT_SET";
    assert_eq!(log.iter().filter(set).count(), 3, "{log:?}");
    // Sealed at rest.
    let secrets = [made, "0123456789abcdef", &gateway.client.signing_secret[6..]];
    let secrets: Vec<Vec<u8>> = secrets.map(|secret| secret.as_bytes().to_vec()).into();
    let found = disk::files_with(&gateway.installation.data_dir(), &secrets);
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn each_client_and_mode_has_its_own_endpoint() {
    let gateway = Gateway::start();
    let live = client_of(&gateway, "live", true);
    put_url(&mut gateway.tenant(), "https://test.example/").expect_status(200);
    let mut live = gateway.tenant_of(&live);
    endpoint(&mut live).expect_error(404, "not_found");
    put_url(&mut live, "https://live.example/").expect_status(200);
    let of = |mut tenant| endpoint(&mut tenant).expect_status(200).json()["url"].clone();
    assert_eq!(of(gateway.tenant()), "https://test.example/");
    assert_eq!(of(live), "https://live.example/");
}

#[test]
fn urls_that_may_not_be_notified_are_refused() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    let long = format!("https://shop.example/{}", "x".repeat(2000));
    for url in [
        "",
        "shop.example",
        "http://shop.example/",
        "ftp://shop.example/",
        "https://shop/",
        "https://localhost/",
        "https://127.0.0.1/",
        "https://2130706433/",
        "https://0x7f.1/",
        "https://[::1]/",
        "https://8.8.8.8/",
        "https://169.254.169.254/latest/meta-data/",
        "https://shop.example:80/",
        "https://shop.example:8080/",
        "https://user@shop.example/",
        "https://user:password@shop.example/",
        "https://shop.example/#here",
        "https://xn--shop-.example/",
        &long,
    ] {
        let refused = put_url(&mut tenant, url);
        refused.expect_error(400, "invalid_webhook_endpoint");
    }
    for url in ["https://shop.example:8443/", "https://shop.example:443/", "https://a.b/"] {
        put_url(&mut tenant, url).expect_status(200);
    }
}

#[test]
fn endpoint_bodies_reject_unknown_members() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    let url = "https://shop.example/";
    for (body, code) in [
        (json!({}), "invalid_webhook_endpoint"),
        (json!({ "url": 1 }), "invalid_webhook_endpoint"),
        (json!({ "url": null }), "invalid_webhook_endpoint"),
        (json!({ "url": url, "signing_secret": "15 characters.." }), "invalid_webhook_endpoint"),
        (json!({ "url": url, "signing_secret": null }), "invalid_webhook_endpoint"),
        (json!({ "url": url, "host_status": "APPROVED" }), "unknown_field"),
        (json!([url]), "invalid_request"),
    ] {
        put(&mut tenant, &body).expect_error(400, code);
    }
    let key = tenant.api_key.clone();
    let send = |request: Request| request.bearer(&key);
    let json = send(Request::new("PUT", ENDPOINT)).header("Content-Type", "application/json");
    tenant.http.send(&json.bytes("{")).expect_error(400, "invalid_json");
    let text = send(Request::new("PUT", ENDPOINT)).header("Content-Type", "text/plain");
    tenant.http.send(&text.bytes("{}")).expect_error(400, "invalid_request");
    endpoint(&mut tenant).expect_error(404, "not_found");
}

#[test]
fn allowed_ranges_can_be_notified_but_never_the_gateway_itself() {
    let gateway = Gateway::start_on(permissive());
    let live = client_of(&gateway, "live", true);
    let receiver = Receiver::start();
    let mut tenant = gateway.tenant();
    put_url(&mut tenant, &receiver.url("/hook")).expect_status(200);
    let https = receiver.url("/hook").replace("http:", "https:");
    put_url(&mut tenant, &https).expect_status(200);
    // http is for test mode; addresses outside of the range stay forbidden.
    let mut live = gateway.tenant_of(&live);
    let refused = put_url(&mut live, &receiver.url("/hook"));
    refused.expect_error(400, "invalid_webhook_endpoint");
    put_url(&mut live, &https).expect_status(200);
    let port = receiver.address().port();
    for host in ["10.0.0.1", "[::1]", "0.0.0.0", "169.254.169.254", "8.8.8.8"] {
        let refused = put_url(&mut tenant, &format!("https://{host}:{port}/"));
        refused.expect_error(400, "invalid_webhook_endpoint");
    }
    for own in
        [gateway.server.base_url.clone(), gateway.server.base_url.replace("127.0.0.1", "127.1")]
    {
        for url in [own.clone(), own.replace("http:", "https:"), format!("{own}/v1/sessions")] {
            let refused = put_url(&mut tenant, &url);
            refused.expect_error(400, "invalid_webhook_endpoint");
        }
    }
}
