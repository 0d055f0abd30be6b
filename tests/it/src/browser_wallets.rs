//! Wallets that run in a browser call the wallet routes by script (decisions 35).

use crate::http::{Request, Response};
use crate::server::Installation;
use crate::tenant::{
    Created, Gateway, answer_request, form, request_for, sample_trust, sample_wallet,
};

const WALLET: &str = "https://wallet.example";

fn gateway(origins: &str) -> Gateway {
    let installation = Installation::new().with("IDGATE_WALLET_ORIGINS", origins);
    Gateway::trusting(installation, &sample_trust())
}

fn from(origin: &str, request: Request) -> Request {
    request.header("Origin", origin)
}

fn preflight(origin: &str, path: &str) -> Request {
    let request = from(origin, Request::new("OPTIONS", path));
    request
        .header("Access-Control-Request-Method", "POST")
        .header("Access-Control-Request-Headers", "content-type")
}

fn allowed(response: &Response) -> Option<&str> {
    response.header("access-control-allow-origin")
}

fn paths(created: &Created) -> [String; 2] {
    ["request", "response"].map(|route| format!("/v1/oid4vp/{route}/{}", created.id))
}

#[test]
fn a_wallet_page_on_a_listed_origin_fetches_and_answers() {
    let gateway = gateway("https://wallet.example, https://other.example");
    let mut tenant = gateway.tenant();
    let created = tenant.create(&request_for(&["given_name"]));
    let mut http = gateway.http();
    for (path, methods) in paths(&created).iter().zip(["GET, HEAD, POST", "POST"]) {
        let asked = http.send(&preflight(WALLET, path)).expect_status(204);
        assert_eq!(allowed(&asked), Some(WALLET), "{path}");
        assert_eq!(asked.header("access-control-allow-methods"), Some(methods));
        assert_eq!(asked.header("access-control-allow-headers"), Some("Content-Type"));
        assert_eq!(asked.header("access-control-allow-credentials"), None);
        assert_eq!(asked.header("vary"), Some("origin"));
    }
    // A rejection is as readable as an answer.
    let fetched = http.send(&from(WALLET, Request::get(&*paths(&created)[0])));
    assert_eq!((fetched.status, allowed(&fetched)), (404, Some(WALLET)));
    let answer = answer_request(&created.id, &form(&sample_wallet(), &created));
    let answered = http.send(&from(WALLET, answer.clone())).expect_status(200);
    assert_eq!((allowed(&answered), answered.header("vary")), (Some(WALLET), Some("origin")));
    let late = http.send(&from(WALLET, answer));
    assert_eq!((late.status, allowed(&late)), (409, Some(WALLET)));
    assert_eq!(tenant.read(&created.id)["status"], "VERIFIED");
}

#[test]
fn a_wallet_page_on_another_origin_can_read_nothing() {
    let gateway = gateway(WALLET);
    let created = gateway.tenant().create(&request_for(&["given_name"]));
    let mut http = gateway.http();
    for path in paths(&created) {
        for origin in ["https://evil.example", "null", "https://wallet.example.evil.example"] {
            let asked = http.send(&preflight(origin, &path)).expect_status(204);
            assert_eq!((allowed(&asked), asked.header("vary")), (None, Some("origin")), "{origin}");
        }
        let twice = from(WALLET, preflight("https://evil.example", &path));
        assert_eq!(allowed(&http.send(&twice)), None);
        // A cache must not give a page the answer that was meant for another origin.
        let without = http.send(&Request::get(&*path));
        assert_eq!((allowed(&without), without.header("vary")), (None, Some("origin")));
    }
}

#[test]
fn a_star_allows_every_origin() {
    let gateway = gateway("*");
    let created = gateway.tenant().create(&request_for(&["given_name"]));
    let asked = gateway.http().send(&preflight("https://any.example", &paths(&created)[1]));
    let asked = asked.expect_status(204);
    assert_eq!((allowed(&asked), asked.header("vary")), (Some("*"), None));
}

#[test]
fn too_many_preflights_are_429_and_readable() {
    let limited = Installation::new().with("IDGATE_WALLET_ORIGINS", WALLET);
    let limited = limited.with("IDGATE_RATE_LIMITS", "on").with_machine();
    let gateway = Gateway::trusting(limited, &sample_trust());
    gateway.installation.machine().freeze();
    let created = gateway.tenant().create(&request_for(&["given_name"]));
    let mut http = gateway.http();
    let preflight = preflight(WALLET, &paths(&created)[1]);
    for _ in 0..6 {
        http.send(&preflight).expect_status(204);
    }
    let refused = http.send(&preflight);
    assert_eq!((refused.status, allowed(&refused)), (429, Some(WALLET)));
    // They take nothing from the wallet's own limit, whatever its network.
    let answer = answer_request(&created.id, &form(&sample_wallet(), &created));
    http.send(&from(WALLET, answer)).expect_status(200);
}

#[test]
fn no_cors_headers_on_other_routes_or_without_the_setting() {
    let with = gateway(WALLET);
    let mut http = with.http();
    for path in ["/v1/sessions", "/v1/sessions/ses_1", "/healthz", "/.well-known/jwks.json"] {
        let asked = http.send(&preflight(WALLET, path));
        assert_eq!((asked.status, allowed(&asked)), (405, None), "{path}");
    }
    let without = Gateway::start();
    let created = without.tenant().create(&request_for(&["given_name"]));
    for path in paths(&created) {
        let asked = without.http().send(&preflight(WALLET, &path));
        assert_eq!((asked.status, allowed(&asked)), (405, None), "{path}");
        assert_eq!(asked.header("vary"), None);
    }
}

#[test]
fn serve_does_not_start_with_an_invalid_wallet_origin() {
    for bad in ["null", "https://wallet.example/", "https://*.example", "*,https://a.example"] {
        let installation = Installation::new().with("IDGATE_WALLET_ORIGINS", bad);
        let output = installation.run(&["serve"]);
        assert_ne!(output.code, 0, "{bad}");
        assert!(output.stderr.contains("IDGATE_WALLET_ORIGINS"), "{output:?}");
    }
}
