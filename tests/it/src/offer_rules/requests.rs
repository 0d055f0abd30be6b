//! A strict wallet has no findings about a request, and its answer is verified.

use idgate_core::Profile;
use idgate_core::verify::WalletReply;
use idgate_testkit::codec::base64url;
use serde_json::json;

use super::harness::{Gateway, NOW, WAYS, Way, asking, result, wallet};

#[test]
fn every_request_passes_a_strict_wallet_and_its_answer_is_verified() {
    for way in WAYS {
        for ids in [&["pid"][..], &["mdl"], &["pid", "mdl"]] {
            let mut gateway = Gateway::of(way);
            let mut session = gateway.create(&asking(ids), &[]);
            let request = gateway.read(way, &session);
            let answer = wallet().answer_1_0(&request, NOW.0).unwrap();
            let reply = gateway.post(&mut session, &answer.body()).unwrap();
            let (claims, details) = result(&session);
            if ids.contains(&"pid") {
                assert_eq!(claims["pid"]["given_name"], "Erika", "{way:?}");
            }
            if ids.contains(&"mdl") {
                assert_eq!(claims["mdl"]["family_name"], "Mustermann", "{way:?}");
                let last = details["credentials"].as_array().unwrap().last().unwrap();
                assert_eq!(last["session_transcript"], "openid4vp-1.0");
                assert_eq!(last["holder_binding"], "device_signature");
            }
            let profile = if matches!(way, Way::Haip) { "haip" } else { "1.0" };
            assert_eq!(details["profile"], profile);
            let code = details["response_code"].as_str().unwrap();
            let uri = format!("https://shop.example/done?response_code={code}");
            assert_eq!(reply.body().unwrap(), json!({ "redirect_uri": uri }).to_string());
        }
    }
}

#[test]
fn the_response_code_is_the_callers_entropy_of_that_answer() {
    let mut gateway = Gateway::of(WAYS[0]);
    let mut code = || {
        let mut session = gateway.create(&asking(&["pid"]), &[]);
        let request = gateway.read(WAYS[0], &session);
        let answer = wallet().answer_1_0(&request, NOW.0).unwrap();
        let before = gateway.latest_entropy(16);
        let reply = gateway.post(&mut session, &answer.body()).unwrap();
        assert!(matches!(reply, WalletReply::Accepted { .. }));
        assert_ne!(gateway.latest_entropy(16), before);
        let code = result(&session).1["response_code"].as_str().unwrap().to_owned();
        (code, gateway.latest_entropy(16))
    };
    for _ in 0..2 {
        let (code, entropy) = code();
        assert_eq!(code, base64url(&entropy));
    }
}

#[test]
fn without_a_redirect_uri_the_reply_to_the_wallet_is_empty() {
    let way = WAYS[0];
    let mut gateway = Gateway::of(way);
    let mut asked = asking(&["pid"]);
    asked.as_object_mut().unwrap().remove("redirect_uri");
    let mut session = gateway.create(&asked, &[]);
    let request = gateway.read(way, &session);
    let answer = wallet().answer_1_0(&request, NOW.0).unwrap();
    let reply = gateway.post(&mut session, &answer.body()).unwrap();
    assert_eq!(reply, WalletReply::Accepted { redirect_uri: None, profile: Profile::V1_0 });
    assert_eq!(reply.body().unwrap(), "{}");
}
