//! A session with several offers: each accepts its own answers only, and one answer settles the
//! session.

use idgate_core::error::NotAnAnswer;
use idgate_core::shell::Offer;
use idgate_core::verify::WalletReply;
use idgate_core::{Profile, Session, UnixMillis};
use idgate_testkit::openid4vp::Request;
use idgate_testkit::request_object::{JarLink, JarRequest};
use idgate_testkit::wallet::{Body, Transcript};

use super::harness::{CREATED, Gateway, NOW, Way, asking, did_document, result, scheme, wallet};

/// A session in `haip` and `draft`, in this order, and an answer to each.
fn both() -> (Gateway, Session, Request, Body, Body) {
    let mut gateway = Gateway::of(Way::Haip);
    let session = gateway.create(&asking(&["pid"]), &[Profile::Haip, Profile::Draft]);
    let request = gateway.read(Way::Haip, &session);
    let haip = wallet().answer_1_0(&request, NOW.0).unwrap().body();
    let draft = draft_answer(&gateway, &session);
    (gateway, session, request, haip, draft)
}

fn draft_answer(gateway: &Gateway, session: &Session) -> Body {
    let link = JarLink::parse(&session.deep_link(scheme(Profile::Draft))).unwrap();
    let jwt = gateway.request_object(session, offer(session, Profile::Draft));
    let request = JarRequest::verify(&link, &jwt, &did_document(), CREATED.0).unwrap();
    let answer = wallet().answer_jar(&request, Transcript::OpenId4Vp, false, NOW.0).unwrap();
    answer.form_body()
}

fn offer(session: &Session, profile: Profile) -> &Offer {
    session.offers().find(|offer| offer.profile() == profile).unwrap()
}

#[test]
fn either_offer_is_answered_and_the_result_names_it() {
    let (mut gateway, mut session, _, haip, _) = both();
    gateway.settle(&mut session, None, &haip);
    let (_, details) = result(&session);
    assert_eq!((&details["profile"], &details["request_mode"]), (&"haip".into(), &"jar".into()));

    let (mut gateway, mut session, _, _, draft) = both();
    let id = offer(&session, Profile::Draft).id().cloned();
    let reply = gateway.post_to(&mut session, id.as_ref(), &draft).unwrap();
    assert!(reply.body().unwrap().starts_with(r#"{"status":"ok","redirect_uri":"#));
    assert_eq!(result(&session).1["profile"], "draft");
}

#[test]
fn an_answer_is_accepted_by_its_own_offer_only() {
    let (mut gateway, mut session, _, haip, draft) = both();
    let id = offer(&session, Profile::Draft).id().cloned();
    for (offer, body) in [(None, &draft), (id.as_ref(), &haip)] {
        let refused = gateway.post_to(&mut session, offer, body);
        assert_eq!(refused, Err(NotAnAnswer::DecryptionFailed));
    }
    assert_eq!(session.reason_at(NOW), None, "both are as open as before");
    gateway.settle(&mut session, None, &haip);
}

#[test]
fn settling_one_offer_closes_the_others() {
    let (mut gateway, mut session, request, haip, draft) = both();
    let id = offer(&session, Profile::Draft).id().cloned();
    gateway.settle(&mut session, None, &haip);
    for (offer, body) in [(id.as_ref(), &draft), (None, &haip)] {
        let refused = gateway.post_to(&mut session, offer, body);
        assert_eq!(refused, Err(NotAnAnswer::SessionClosed));
    }
    let stored = String::from_utf8(session.to_bytes().to_vec()).unwrap();
    for spent in [&*request.nonce, request.state.as_deref().unwrap(), "\"d\":"] {
        assert!(!stored.contains(spent), "{spent}");
    }
}

#[test]
fn a_rejected_answer_to_one_offer_settles_the_session() {
    let (mut gateway, mut session, request, _, draft) = both();
    let id = offer(&session, Profile::Draft).id().cloned();
    let forgery = idgate_testkit::openid4vp::Forgery::Nonce;
    let forged = wallet().forge_1_0(&request, forgery, NOW.0).unwrap().body();
    assert_eq!(gateway.post(&mut session, &forged), Ok(WalletReply::Refused));
    let late = gateway.post_to(&mut session, id.as_ref(), &draft);
    assert_eq!(late, Err(NotAnAnswer::SessionClosed));
}

#[test]
fn of_two_concurrent_answers_only_one_applies() {
    let (mut gateway, session, _, haip, draft) = both();
    let id = offer(&session, Profile::Draft).id().cloned();
    let (mut by_haip, mut by_draft) = (session.clone(), session.clone());
    gateway.settle(&mut by_haip, None, &haip);
    gateway.settle(&mut by_draft, id.as_ref(), &draft);
    // Both start from the stored revision: the compare-and-set lets only one of them through.
    assert_eq!(by_haip.revision(), by_draft.revision());
    assert!(by_haip.revision() > session.revision());
}

#[test]
fn an_answer_to_an_unknown_offer_changes_nothing() {
    let (mut gateway, mut session, _, haip, _) = both();
    let unknown = idgate_core::shell::OfferId::new("off_0000000000000000000000");
    let refused = gateway.post_to(&mut session, Some(&unknown), &haip);
    assert_eq!(refused, Err(NotAnAnswer::SessionClosed));
    assert!(session.accepts_response(UnixMillis(NOW.0)));
}
