//! Personal data, wallet data and keys are in no webhook, no list of failures and no log.

use idgate_testkit::request::AuthorizationRequest;

use super::receiver::Receiver;
use super::{FAILURES, approve, failures, permissive, put, retry};
use crate::http::Request;
use crate::server::eventually;
use crate::tenant::{Gateway, form, now_ms, request_for, wallet_with};

const GIVEN_NAME: &str = "Sentinel-given-Hk83mQ";
const FAMILY_NAME: &str = "Sentinel-family-Zp41cW";
const OWN_SECRET: &str = "Sentinel-secret-Jd77rX of a tenant";
const PATH: &str = "Sentinel-path-Lw20bT";
/// The receiver's own text, which must not be passed on either.
const RETORT: &str = "Sentinel-retort-Vn65yE";

#[test]
fn no_claim_nonce_state_or_secret_is_in_notifications_lists_or_logs() {
    let receiver = Receiver::start();
    let gateway = Gateway::start_on(permissive().with("IDGATE_LOG", "trace"));
    approve(&gateway, "127.0.0.1");
    let mut tenant = gateway.tenant();
    let url = receiver.url(&format!("/{PATH}?token={PATH}"));
    let mut secrets: Vec<String> = [GIVEN_NAME, FAMILY_NAME].map(String::from).into();
    for body in [
        serde_json::json!({ "url": url }),
        serde_json::json!({ "url": url, "signing_secret": OWN_SECRET }),
        serde_json::json!({ "url": url }),
    ] {
        let stored = put(&mut tenant, &body).expect_status(200).json();
        secrets.push(stored["signing_secret"].as_str().unwrap().to_owned());
    }
    receiver.answer(&format!("410 {RETORT}"), &format!("X-{RETORT}: {RETORT}\r\n"));
    let wallet = wallet_with(&[("given_name", GIVEN_NAME), ("family_name", FAMILY_NAME)]);
    for stale in [0, 3_600_000] {
        let created = tenant.create(&request_for(&["given_name", "family_name"]));
        let request = AuthorizationRequest::parse(&created.uri).unwrap();
        secrets.extend([request.nonce, request.state]);
        match stale {
            0 => tenant.post_answer(&created.id, &form(&wallet, &created)).expect_status(200),
            _ => {
                let answer = wallet.answer_uri(&created.uri, now_ms() - stale).unwrap();
                tenant.post_answer(&created.id, &answer.form_body()).expect_status(400)
            }
        };
    }
    eventually("both are given up", || failures(&mut tenant).len() == 2);
    let id = failures(&mut tenant)[0]["id"].as_str().unwrap().to_owned();
    retry(&mut tenant, &id).expect_status(200);
    receiver.wait_for(3);
    eventually("the retry is counted", || {
        failures(&mut tenant).iter().any(|failure| failure["attempts"] == 2)
    });
    let key = tenant.api_key.clone();
    let list = tenant.http.send(&Request::get(FAILURES).bearer(&key)).expect_status(200);
    let listed = String::from_utf8(list.body).unwrap();
    let told = format!("{:?}", receiver.all()).replace(PATH, "");
    let bodies: Vec<Vec<u8>> = receiver.all().into_iter().map(|sent| sent.body).collect();
    let bodies = String::from_utf8(bodies.concat()).unwrap();
    let Gateway { server, installation, .. } = gateway;
    server.terminate();
    assert!(server.wait().0.success());
    let log = installation.log();
    assert!(log.contains("a webhook was given up"), "{log}");
    for secret in &secrets {
        assert!(secret.len() >= 12, "too short to search for");
        for (text, what) in
            [(&told, "told"), (&bodies, "told"), (&listed, "listed"), (&log, "logged")]
        {
            assert!(!text.contains(secret.as_str()), "{what}: {} characters", secret.len());
        }
    }
    for (text, what) in [(&listed, "listed"), (&log, "logged")] {
        for foreign in [PATH, RETORT] {
            assert!(!text.contains(foreign), "{foreign} is {what}");
        }
    }
}
