//! A strict wallet has no findings about a request, and its answer is verified.

use idgate_core::Profile;
use idgate_core::verify::WalletReply;
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
