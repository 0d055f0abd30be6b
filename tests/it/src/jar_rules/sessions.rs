//! The binding to one session: its key, its answer, its end.

use idgate_core::error::{NotAnAnswer, NotFetched};
use idgate_core::verify::WalletReply;
use idgate_core::{Asked, ErrorCode, Profile, Session};
use idgate_testkit::codec::base64url;
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::wallet::{JarAnswer, Transcript};

use super::harness::{Gateway, NOW, wallet};

#[test]
fn an_answer_to_another_session_changes_nothing_in_either() {
    let mut gateway = Gateway::jar();
    let (mut mine, _) = gateway.open(&["pid"]);
    let (mut other, for_other) = gateway.open(&["pid"]);
    let answer = wallet().answer_jar(&for_other, Transcript::OpenId4Vp, false, NOW.0).unwrap();
    let before = (mine.to_bytes(), other.to_bytes());
    let error = gateway.post(&mut mine, &answer.form_body()).unwrap_err();
    assert_eq!(error, NotAnAnswer::DecryptionFailed);
    assert!((mine.to_bytes(), other.to_bytes()) == before);
    gateway.verified(&mut other, &answer.form_body());
}

/// With both requests an attacker can encrypt the other session's answer to this key, but its state
/// and its proof still name the other request.
#[test]
fn an_answer_to_another_session_encrypted_to_this_key_is_refused() {
    let mut gateway = Gateway::jar();
    let (mut mine, for_mine) = gateway.open(&["pid"]);
    let (_, for_other) = gateway.open(&["pid"]);
    let mut answer = wallet().answer_jar(&for_other, Transcript::OpenId4Vp, false, NOW.0).unwrap();
    answer.encryption = JarAnswer::encryption(&for_mine, answer.encryption.enc, "thief");
    let error = gateway.post(&mut mine, &answer.form_body()).unwrap_err();
    assert_eq!(error, NotAnAnswer::StateMismatch);
    answer.payload.insert("state".into(), for_mine.request.state.as_str().into());
    let definition = for_mine.request.definition_id.as_str();
    answer.payload["presentation_submission"]["definition_id"] = definition.into();
    assert_eq!(gateway.refused(&mut mine, &answer.form_body()), "nonce_mismatch");
}

#[test]
fn an_answer_encrypted_to_another_key_is_refused() {
    let mut gateway = Gateway::jar();
    let (mut session, jar) = gateway.open(&["pid"]);
    let mut answer = wallet().answer_jar(&jar, Transcript::OpenId4Vp, false, NOW.0).unwrap();
    answer.encryption.recipient = SigningKey::from_seed(Curve::P256, "mine").public_sec1();
    let error = gateway.post(&mut session, &answer.form_body()).unwrap_err();
    assert_eq!(error.code(), ErrorCode::DecryptionFailed);
    assert_eq!(session.status_at(NOW).as_str(), "PENDING");
}

#[test]
fn a_replay_after_the_settlement_is_rejected_and_finds_no_key() {
    let mut gateway = Gateway::jar();
    let (mut session, jar) = gateway.open(&["pid"]);
    let answer = wallet().answer_jar(&jar, Transcript::OpenId4Vp, false, NOW.0).unwrap();
    gateway.verified(&mut session, &answer.form_body());
    let error = gateway.post(&mut session, &answer.form_body()).unwrap_err();
    assert_eq!(error, NotAnAnswer::SessionClosed);
    let error = gateway
        .verifier
        .request_object(&session, &Asked::get(session.id().as_str()), NOW)
        .unwrap_err();
    assert_eq!(error, NotFetched::NotFetchable);
}

#[test]
fn a_wallet_may_answer_before_the_fetch_is_committed() {
    let mut gateway = Gateway::jar();
    let mut created = gateway.create(&super::harness::asking(&["pid"]));
    let before_fetch = created.clone();
    let jar = gateway.fetch(&mut created);
    let answer = wallet().answer_jar(&jar, Transcript::OpenId4Vp, false, NOW.0).unwrap();
    let mut session = before_fetch;
    assert_eq!(session.status_at(NOW).as_str(), "CREATED");
    gateway.verified(&mut session, &answer.form_body());
}

/// The session survives a restart between fetch and answer, because everything it needs is stored.
#[test]
fn a_session_restored_from_its_snapshot_accepts_the_answer() {
    let mut gateway = Gateway::jar();
    let (session, jar) = gateway.open(&["mdl"]);
    let mut stored = Session::from_bytes(&session.to_bytes()).unwrap();
    let answer = wallet().answer_jar(&jar, Transcript::OpenId4Vp, true, NOW.0).unwrap();
    gateway.verified(&mut stored, &answer.form_body());
}

/// Nonce, state and the session's private key are in the snapshot until the end, and not
/// afterwards.
#[test]
fn a_settled_sessions_snapshot_has_no_secret() {
    let mut gateway = Gateway::jar();
    let holds = |session: &Session, secret: &str| {
        String::from_utf8(session.to_bytes().to_vec()).unwrap().contains(secret)
    };
    let scalar_of = |session: &Session| -> String {
        let json: serde_json::Value = serde_json::from_slice(&session.to_bytes()).unwrap();
        json["offers"][0]["encryption_key"]["d"].as_str().unwrap().into()
    };
    let (mut verified, jar) = gateway.open(&["pid"]);
    let (mut failed, for_failed) = gateway.open(&["pid"]);
    let (mut noted, for_noted) = gateway.open(&["pid"]);
    let (expired, _) = gateway.open(&["pid"]);
    let secrets = [&verified, &failed, &noted, &expired].map(&scalar_of);
    assert_eq!(secrets[0].len(), base64url(&[0; 32]).len());

    let good = wallet().answer_jar(&jar, Transcript::OpenId4Vp, false, NOW.0).unwrap();
    gateway.verified(&mut verified, &good.form_body());
    let mut forged = wallet().answer_jar(&for_failed, Transcript::OpenId4Vp, false, NOW.0).unwrap();
    forged.payload.insert("vp_token".into(), "forged~".into());
    gateway.refused(&mut failed, &forged.form_body());
    let error = JarAnswer::error(&for_noted, "access_denied");
    assert_eq!(
        gateway.post(&mut noted, &error.form_body()),
        Ok(WalletReply::ErrorNoted { redirect_uri: None, profile: Profile::Draft })
    );
    let expired = expired.expired(expired.expires_at()).unwrap().session;

    for (session, secret) in [verified, failed, noted, expired].iter().zip(&secrets) {
        assert!(session.phase().clone() != idgate_core::shell::Phase::Pending);
        assert!(!holds(session, secret));
        assert!(!holds(session, "encryption_key"));
        for request in [&jar, &for_failed, &for_noted] {
            assert!(!holds(session, &request.request.nonce));
            assert!(!holds(session, &request.request.state));
        }
    }
}
