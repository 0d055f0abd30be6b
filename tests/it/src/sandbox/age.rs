//! The European proof of age, requested with one line and answered by the built-in wallet.

use super::*;

fn asked() -> Value {
    json!({ "credentials": [{ "preset": "eu_age", "issuer_id": "eu-av", "age": 18 }] })
}

#[test]
fn the_sandbox_wallet_action_decides_a_proof_of_age() {
    let sandbox = Sandbox::start();
    let mut tenant = sandbox.tenant();
    for (deed, expected) in [
        ("accept", "VERIFIED"),
        ("decline", "wallet_error"),
        ("forge", "issuer_signature_invalid"),
        ("expired", "credential_expired"),
        ("revoked", "credential_revoked"),
        ("wrong-nonce", "device_auth_invalid"),
    ] {
        let made = tenant.create(&asked());
        let link = made.answer["deep_links"]["av"].as_str().unwrap();
        let answered = sandbox.wallet(&[link, "--do", deed]);
        let session = tenant.read(&made.id);
        assert_eq!(outcome(&session), expected, "{deed}: {answered:?}");
        if deed == "accept" {
            assert_eq!(session["claims"], json!({ "credential_1": { "age_over_18": true } }));
        }
    }
}

#[test]
fn the_console_requests_a_proof_of_age_by_preset() {
    let sandbox = Sandbox::start();
    let made = sandbox.press("/sessions", &[("ask", "age"), ("profile", "1.0")]);
    assert!(made.head.contains("location: /sessions/ses_"), "{made:?}");
    let list = sandbox.get("/").body;
    let (_, newest) = list.split_once("<li id=\"row-").unwrap();
    let shown = sandbox.get(&format!("/sessions/{}", newest.split('"').next().unwrap())).body;
    assert!(shown.contains("eu.europa.ec.av.1") && shown.contains("age_over_18"), "{shown}");
}
