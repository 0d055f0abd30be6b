//! A sandbox behind a tunnel: only the issuer and the gateway can be reached through it.

use super::*;

/// A sandbox behind a tunnel. Its name does not resolve here, so the wallet connects to the
/// listener behind it.
fn behind_a_tunnel() -> Sandbox {
    Sandbox::with(&["--base-url", "https://abc.tunnel.example", "--listen", "127.0.0.1:0"])
}

#[test]
fn behind_a_tunnel_phones_get_the_public_address_everywhere() {
    let sandbox = behind_a_tunnel();
    let phone = Phone::scan(&sandbox, &["pid"]);
    assert_eq!(phone.issuer, "https://abc.tunnel.example/vci");
    assert!(phone.tx_code.is_some(), "a public issuer requires a tx_code");
    let metadata = phone.metadata().to_string();
    assert!(!metadata.contains("127.0.0.1") && !metadata.contains("http://"), "{metadata}");
    // A proof must be for the public address, not for the listener behind the tunnel.
    let own = SigningKey::generate(Curve::P256).unwrap();
    let listener = format!("http://{}/vci/token", sandbox.gateway());
    let at = |url: &str, jti: &str| WalletJwt::dpop(&own, url, jti, None, now_ms()).sign(&own);
    let refused = json_of(phone.redeem(&[("DPoP", &at(&listener, "a"))]), 400);
    assert_eq!(refused["error"], "invalid_dpop_proof");
    let url = "https://abc.tunnel.example/vci/token";
    let token = json_of(phone.redeem(&[("DPoP", &at(url, "b"))]), 200);
    assert_eq!(token["token_type"], "DPoP");
    let token = token["access_token"].as_str().unwrap();
    let nonce = phone.nonce();
    let proof = WalletJwt::proof(&phone.key, &phone.issuer, &nonce, now_ms()).sign(&phone.key);
    let url = "https://abc.tunnel.example/vci/credential";
    let dpop = WalletJwt::dpop(&own, url, "c", Some(token), now_ms()).sign(&own);
    let answer = phone.post("credential", token, Some(&dpop), &phone.request_with(&proof));
    let answer = json_of(answer, 200);
    let issued = received_sd_jwt(answer["credentials"][0]["credential"].as_str().unwrap()).unwrap();
    let payload = issued.payload();
    assert_eq!(payload["iss"], "https://abc.tunnel.example/vci");
    let uri = &payload["status"]["status_list"]["uri"];
    assert_eq!(uri, "https://abc.tunnel.example/vci/status.jwt");
    for list in ["/vci/status.jwt", "/vci/status.cwt", "/vci/crl", "/vci/logo.png"] {
        assert_eq!(ask(phone.at, "GET", list, &[], "").status, 200, "{list}");
    }
    let without = sandbox.offer(&["pid", "--no-tx-code"]);
    let without: Value = serde_json::from_str(&without.stdout).unwrap();
    assert_eq!(without["tx_code"], Value::Null);
}

#[test]
fn a_tunnel_exposes_only_issuer_and_gateway() {
    let sandbox = behind_a_tunnel();
    let at = sandbox.gateway();
    for path in [
        "/metrics",
        "/v1/admin/metrics",
        "/api/offers",
        "/sessions",
        "/new",
        "/receive",
        "/issuers",
        "/webhooks",
        "/keys",
        "/console.js",
        "/console.css",
        "/files/ca.pem",
        "/files/iaca.pem",
        "/lists/pid.jwt",
        "/issuers/utopia/crl",
        "/vci",
        "/vci/",
        "/vci/offers",
        "/vci-attested/crl",
        "/.well-known/openid-credential-issuer",
    ] {
        assert_eq!(ask(at, "GET", path, &[], "").status, 404, "{path}");
    }
    for path in [
        "/api/offers",
        "/offers",
        "/withdraw",
        "/answer",
        "/sessions",
        "/keys",
        "/hosts",
        "/providers",
        "/webhooks",
        "/webhooks/test",
        "/webhooks/retry",
    ] {
        let refused = ask(at, "POST", path, &[], r#"{"type":"pid"}"#);
        assert_eq!(refused.status, 404, "{path}");
    }
    assert_eq!(ask(at, "GET", "/readyz", &[], "").status, 200);
    let metadata = "/.well-known/openid-credential-issuer/vci-attested";
    assert_eq!(ask(at, "GET", metadata, &[], "").status, 200);
    assert!(offers(&sandbox).is_empty(), "nothing was offered");
    // Without a tunnel, on this machine alone, the operator's routes are there.
    let local = Sandbox::start();
    assert_eq!(ask(local.gateway(), "GET", "/metrics", &[], "").status, 401);
}

#[test]
fn the_console_rejects_forwarded_requests() {
    let sandbox = Sandbox::start();
    let host = sandbox.page().to_string();
    for forwarded in ["X-Forwarded-For", "X-Forwarded-Host", "CF-Connecting-IP", "Cf-Ray"] {
        let headers = [("Host", &*host), (forwarded, "203.0.113.7")];
        for (method, path) in [("GET", "/"), ("GET", "/api/offers"), ("POST", "/api/offers")] {
            let refused = exchange(sandbox.page(), method, path, &headers, r#"{"type":"pid"}"#);
            assert_eq!(refused.status, 403, "{forwarded} {method} {path}: {refused:?}");
        }
    }
    let refused = exchange(sandbox.page(), "POST", "/api/offers", &[("Host", "a.example")], "{}");
    assert_eq!(refused.status, 421, "{refused:?}");
    let headers = [("Host", &*host), ("Origin", "https://evil.example")];
    let refused = exchange(sandbox.page(), "POST", "/api/offers", &headers, r#"{"type":"pid"}"#);
    assert_eq!(refused.status, 403, "{refused:?}");
    assert!(offers(&sandbox).is_empty());
}
