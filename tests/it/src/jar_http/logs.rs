//! Nothing that request mode jar protects is logged at any level.

use idgate_testkit::wallet::Body;
use serde_json::{Map, Value};

use super::{Desk, request_path, text};
use crate::http::Request;
use crate::server::Installation;

const WALLET_NONCE: &str = "Sentinel-wallet-nonce-K3";

#[test]
fn no_request_object_answer_or_key_is_logged() {
    let mut desk = Desk::start(Installation::new().with("IDGATE_LOG", "trace"), "jar");
    let [verified, refused] = [(); 2].map(|()| desk.create());
    let mut secrets = vec![WALLET_NONCE.to_owned()];
    for created in [&verified, &refused] {
        let form = Request::post(request_path(created))
            .header("Content-Type", "application/x-www-form-urlencoded")
            .bytes(format!("wallet_nonce={WALLET_NONCE}"));
        let jwt = text(&desk.tenant.http.send(&form).expect_status(200));
        let jar = desk.verify(created, &jwt);
        secrets.extend(jwt.split('.').map(String::from));
        secrets.extend([jar.request.nonce.clone(), jar.request.state.clone()]);
        let answer = desk.answer(&jar);
        let jwe = answer.jwe();
        let token = answer.payload["vp_token"].as_str().unwrap();
        secrets.extend(jwe.split('.').chain(token.split(['~', '.'])).map(String::from));
        let body = if created.id == verified.id {
            answer.form_body()
        } else {
            let cut = Value::from(&jwe[..jwe.len() - 4]);
            Body::form(&Map::from_iter([("response".to_owned(), cut)]))
        };
        desk.tenant.post_answer(&created.id, &body);
    }
    let rotated = desk.gateway.installation.run(&["keys", "rotate"]);
    assert_eq!(rotated.code, 0, "{rotated:?}");
    desk.gateway.server.terminate();
    let installation = desk.gateway.installation;
    desk.gateway.server.wait();
    let log = installation.log();
    assert!(log.contains("/v1/oid4vp/request/{id}"), "{log}");
    for secret in secrets.iter().filter(|secret| secret.len() >= 12) {
        assert!(!log.contains(secret), "a secret of {} characters is logged", secret.len());
    }
}
