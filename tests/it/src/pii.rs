//! Personal data and keys never reach the log, at any level.

use idgate_testkit::request::AuthorizationRequest;
use idgate_testkit::wallet::{Body, Wallet};
use serde_json::{Map, json};

use crate::http::Request;
use crate::server::Installation;
use crate::tenant::{Created, Gateway, Tenant, form, now_ms, request_for, wallet_with};
use crate::ws::{self, Got, Stream, frame};

const GIVEN_NAME: &str = "Sentinel-given-Q7f3xZ";
const FAMILY_NAME: &str = "Sentinel-family-W2k9vB";
const REDIRECT: &str = "https://rp.example/Sentinel-redirect-T5";
/// Sent by callers in places where a careless server would log it.
const INTRUDER: &str = "Sentinel-intruder-H4";

#[test]
fn no_value_token_nonce_or_key_is_logged_at_any_level() {
    for format in ["text", "json"] {
        let installation =
            Installation::new().with("IDGATE_LOG", "trace").with("IDGATE_LOG_FORMAT", format);
        let gateway = Gateway::start_on(installation);
        let mut tenant = gateway.tenant();
        let wallet = wallet_with(&[("given_name", GIVEN_NAME), ("family_name", FAMILY_NAME)]);
        let mut secrets = vec![GIVEN_NAME.to_owned(), FAMILY_NAME.into(), INTRUDER.into()];
        secrets.extend([
            gateway.client.api_key[8..].into(),
            gateway.client.signing_secret[6..].into(),
        ]);
        secrets.push("Sentinel-redirect-T5".into());
        secrets.extend(run(&mut tenant, &wallet));
        stream(&gateway, &mut tenant);
        intrude(&mut tenant);
        let Gateway { server, installation, .. } = gateway;
        server.terminate();
        let (status, stdout) = server.wait();
        assert!(status.success());
        let log = installation.log();
        // There is a log, and it covers these requests.
        assert!(log.contains("/v1/oid4vp/response/{id}"), "{log}");
        for secret in secrets {
            assert!(secret.len() >= 12, "too short to search for");
            let at = log.find(&secret).map(|at| log[..at].lines().count());
            assert_eq!(at, None, "{format}: a secret of {} characters is logged", secret.len());
            assert!(!stdout.contains(&secret));
        }
    }
}

/// A verification, a rejection, a replay and a wallet error. Returns the values that must stay
/// secret.
fn run(tenant: &mut Tenant, wallet: &Wallet) -> Vec<String> {
    let mut request = request_for(&["given_name", "family_name"]);
    request["redirect_uri"] = REDIRECT.into();
    let [verified, refused, noted] = [(); 3].map(|()| tenant.create(&request));
    let mut secrets = Vec::new();
    let good = wallet.answer_uri(&verified.uri, now_ms()).unwrap();
    let reply = tenant.post_answer(&verified.id, &good.form_body()).expect_status(200).json();
    let response_code = reply["redirect_uri"].as_str().unwrap().rsplit('=').next().unwrap();
    secrets.push(response_code.to_owned());
    tenant.post_answer(&verified.id, &good.json_body()).expect_status(409);
    assert_eq!(tenant.read(&verified.id)["claims"]["pid"]["given_name"], GIVEN_NAME);
    let stale = wallet.answer_uri(&refused.uri, now_ms() - 3_600_000).unwrap();
    tenant.post_answer(&refused.id, &stale.form_body()).expect_status(400);
    let state = AuthorizationRequest::parse(&noted.uri).unwrap().state;
    let error = json!({ "error": "access_denied", "error_description": INTRUDER, "state": state });
    let error: Map<_, _> = error.as_object().unwrap().clone();
    tenant.post_answer(&noted.id, &Body::form(&error)).expect_status(200);
    for token in [&good.presentations[0], &stale.presentations[0]] {
        // Header, payload and signature of the JWTs, and each disclosure.
        secrets.extend(token.split(['~', '.']).filter(|p| !p.is_empty()).map(String::from));
    }
    for Created { uri, .. } in [&verified, &refused, &noted] {
        let request = AuthorizationRequest::parse(uri).unwrap();
        secrets.extend([request.nonce, request.state]);
    }
    tenant.delete(&verified.id).expect_status(204);
    secrets
}

/// A stream whose key is sent as a subprotocol, and frames with content.
fn stream(gateway: &Gateway, tenant: &mut Tenant) {
    let created = tenant.create(&request_for(&["given_name"]));
    let mut stream = Stream::open(gateway.server.address, &created.id, &tenant.api_key);
    assert_eq!(stream.statuses(2), ["CREATED", "PENDING"]);
    stream.send(&frame(0x89, INTRUDER.as_bytes()));
    assert_eq!(stream.next(), Got::Pong(INTRUDER.into()));
    stream.send(&frame(0x81, INTRUDER.as_bytes()));
    assert_eq!(stream.close(), Some(1008));
}

/// Requests with content in every place that a log line could include.
fn intrude(tenant: &mut Tenant) {
    let key = tenant.api_key.clone();
    for request in [
        Request::get(format!("/{INTRUDER}")),
        Request::get(format!("/v1/sessions/{INTRUDER}")).bearer(&key),
        Request::get(format!("/v1/sessions/ses_x/open?scheme={INTRUDER}")),
        Request::get("/healthz").header("User-Agent", INTRUDER).header("X-Request-Id", INTRUDER),
        Request::get("/v1/sessions/x").bearer(INTRUDER),
        Request::get("/v1/sessions/x").header("X-Forwarded-For", INTRUDER),
        Request::post("/v1/sessions").bearer(&key).json(&json!({ "credentials": INTRUDER })),
        Request::post("/v1/sessions").bearer(&key).json(&json!({ INTRUDER: 1 })),
        Request::post("/v1/sessions").bearer(&key).json(&json!({ "issuer_id": INTRUDER })),
        ws::upgrade("x").header("Sec-WebSocket-Protocol", format!("svc-id-v1, {INTRUDER}")),
        ws::upgrade("x").header("Sec-WebSocket-Protocol", format!("svc-id-v1, sk_{INTRUDER}")),
        ws::upgrade("x").header("Sec-WebSocket-Protocol", INTRUDER).bearer(&key),
        Request::post("/v1/oid4vp/response/x").header("Content-Type", INTRUDER).bytes(INTRUDER),
        Request::post("/v1/oid4vp/response/x")
            .header("Content-Type", "application/json")
            .bytes(format!("{{\"vp_token\":\"{INTRUDER}\"")),
    ] {
        tenant.http.send(&request);
    }
    let created = tenant.create(&request_for(&["given_name"]));
    let mut answer = form(&wallet_with(&[]), &created);
    answer.bytes.extend(format!("&{INTRUDER}={INTRUDER}&state={INTRUDER}").bytes());
    tenant.post_answer(&created.id, &answer).expect_status(400);
}
