//! Both request modes, and sessions of one under a verifier in the other: the stored request mode
//! decides.

use idgate_core::error::{NotAnAnswer, NotFetched};
use idgate_core::{Asked, ErrorCode, Session};
use idgate_testkit::wallet::Transcript;
use serde_json::Value;

use super::harness::{CREATED, Gateway, NOW, asking, wallet};

fn inline_result(ids: &[&str]) -> (Value, Value) {
    let mut gateway = Gateway::inline();
    let mut session = gateway.create(&asking(ids));
    let link = session.invitation().qr_code_url;
    let answer = wallet().answer_uri(&link, NOW.0).unwrap();
    gateway.verified(&mut session, &answer.form_body())
}

fn jar_result(ids: &[&str]) -> (Value, Value) {
    let mut gateway = Gateway::jar();
    let (mut session, jar) = gateway.open(ids);
    let answer = wallet().answer_jar(&jar, Transcript::OpenId4Vp, false, NOW.0).unwrap();
    gateway.verified(&mut session, &answer.form_body())
}

/// The names of all members at every depth.
fn shape(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            Value::Object(members.iter().map(|(name, v)| (name.clone(), shape(v))).collect())
        }
        Value::Array(elements) => elements.iter().map(shape).collect(),
        _ => Value::Null,
    }
}

#[test]
fn both_profiles_give_the_same_claims_and_the_same_details_but_the_mode() {
    for ids in [&["pid"][..], &["mdl"], &["pid", "mdl"]] {
        let (inline_claims, mut inline_details) = inline_result(ids);
        let (jar_claims, mut jar_details) = jar_result(ids);
        assert_eq!(inline_claims, jar_claims, "{ids:?}");
        assert_eq!(shape(&inline_details), shape(&jar_details), "{ids:?}");
        assert_eq!(inline_details["request_mode"], "inline");
        assert_eq!(jar_details["request_mode"], "jar");
        inline_details["request_mode"] = Value::Null;
        jar_details["request_mode"] = Value::Null;
        assert_eq!(inline_details, jar_details, "{ids:?}");
        for credential in jar_details["credentials"].as_array().unwrap() {
            let (binding, transcript) = match credential["id"].as_str() {
                Some("pid") => ("kb_jwt", None),
                _ => ("device_signature", Some("openid4vp-1.0")),
            };
            assert_eq!(credential["holder_binding"], binding);
            assert_eq!(credential.get("session_transcript").and_then(Value::as_str), transcript);
        }
    }
}

/// As after a restart with the other setting: the session is restored from its snapshot.
fn stored(session: &Session) -> Session {
    Session::from_bytes(&session.to_bytes()).unwrap()
}

#[test]
fn a_verifier_in_jar_mode_finishes_inline_sessions() {
    let made = Gateway::inline().create(&asking(&["pid", "mdl"]));
    let answer = wallet().answer_uri(&made.invitation().qr_code_url, NOW.0).unwrap();
    let mut jar = Gateway::jar();
    let error =
        jar.verifier.request_object(&made, &Asked::get(made.id().as_str()), CREATED).unwrap_err();
    assert_eq!(error, NotFetched::NotFetchable);
    let (_, details) = jar.verified(&mut stored(&made), &answer.form_body());
    assert_eq!(details["request_mode"], "inline");
}

#[test]
fn a_verifier_in_inline_mode_serves_and_finishes_jar_sessions() {
    let made = Gateway::jar().create(&asking(&["pid", "mdl"]));
    let mut inline = Gateway::inline();
    let mut session = stored(&made);
    let jar = inline.fetch(&mut session);
    let answer = wallet().answer_jar(&jar, Transcript::Iso180137, true, NOW.0).unwrap();
    let plain = wallet().answer(&jar.request, NOW.0).unwrap().form_body();
    let refused = inline.post(&mut session, &plain).unwrap_err();
    assert!(matches!(refused, NotAnAnswer::Malformed(_)), "the session's profile decides");
    let (_, details) = inline.verified(&mut stored(&session), &answer.form_body());
    assert_eq!(details["request_mode"], "jar");
}

#[test]
fn an_encrypted_answer_to_an_inline_session_is_refused_whatever_the_verifier() {
    let (_, jar) = Gateway::jar().open(&["pid"]);
    let answer = wallet().answer_jar(&jar, Transcript::OpenId4Vp, false, NOW.0).unwrap();
    for mut gateway in [Gateway::inline(), Gateway::jar()] {
        let mut session = Gateway::inline().create(&asking(&["pid"]));
        let error = gateway.post(&mut session, &answer.form_body()).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidResponse);
    }
}
