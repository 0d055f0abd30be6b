//! Requests that a page passes to its browser (OpenID4VP A): their content, and who may answer from
//! where.

use idgate_core::error::{NotAnAnswer, NotFetched};
use idgate_core::shell::{ClientIdForm, Phase};
use idgate_core::verify::WalletReply;
use idgate_core::{DcApi, Profile, Reader, Reason, Session, WalletError};
use idgate_testkit::openid4vp::{Answer, Forgery, Request};
use idgate_testkit::wallet::Body;
use serde_json::{Value, json};

use super::counting::verified_in;
use super::forgeries::{MDOC, SD_JWT_VC, SUBMISSION};
use super::harness::{Gateway, NOW, Way, asking, result, wallet};

const SHOP: &str = "https://shop.example";
const OTHER: &str = "https://other.example";
const DID: ClientIdForm = ClientIdForm::DecentralizedIdentifier;
/// Answers to its links are not encrypted.
const PLAIN: Way = Way::Jar { form: DID, encrypted: false };
/// By name and by certificate.
const WAYS: [Way; 3] = [PLAIN, Way::Inline { encrypted: true }, Way::Haip];

/// A session for the shop's page, and the first request that the page passes on.
fn asked(way: Way, ids: &[&str]) -> (Gateway, Session, String, Request) {
    let mut gateway = Gateway::for_browsers(way, DcApi::Unsigned);
    let session = gateway.create_for(&asking(ids), &[], &[SHOP]);
    let (protocol, request) = gateway.passed_on(&session, SHOP).remove(0);
    (gateway, session, protocol, request)
}

fn answered(request: &Request, protocol: &str, forgery: Forgery) -> String {
    wallet().forge_1_0(request, forgery, NOW.0).unwrap().credential(protocol).to_string()
}

fn reason(session: &Session) -> Option<&'static str> {
    session.reason_at(NOW).map(Reason::as_str)
}

#[test]
fn every_browser_protocol_returns_the_claims() {
    for way in WAYS {
        for dc_api in [DcApi::Unsigned, DcApi::Signed, DcApi::Multisigned] {
            // A verifier by value has no key to sign with a DID.
            if matches!(way, Way::Inline { .. }) && dc_api != DcApi::Unsigned {
                continue;
            }
            let mut gateway = Gateway::for_browsers(way, dc_api);
            for nth in 0..dc_api.protocols().len() {
                let mut session = gateway.create_for(&asking(&["pid", "mdl"]), &[], &[SHOP]);
                assert_eq!(session.phase(), &Phase::Pending);
                let stored = Session::from_bytes(&session.to_bytes()).unwrap();
                let (protocol, request) = gateway.passed_on(&stored, SHOP).swap_remove(nth);
                assert_eq!(protocol, dc_api.protocols()[nth].name());
                let reply =
                    gateway.relay(&mut session, &answered(&request, &protocol, Forgery::None));
                assert!(reply.is_ok_and(|reply| reply.body().as_deref() == Some("{}")));
                let (claims, details) = result(&session);
                assert_eq!(claims["pid"]["given_name"], "Erika", "{way:?} {protocol}");
                assert_eq!(claims["mdl"]["family_name"], "Mustermann", "{way:?} {protocol}");
                assert_eq!(
                    (&details["request_mode"], &details["origin"]),
                    (&"dc_api".into(), &SHOP.into())
                );
                assert_eq!(details["credentials"][1]["session_transcript"], "openid4vp-1.0-dc-api");
                assert_eq!(details.get("response_code"), None);
            }
        }
    }
}

#[test]
fn a_forged_presentation_is_refused_with_its_reason() {
    for way in [PLAIN, Way::Haip] {
        for (id, rows) in
            [("pid", SD_JWT_VC), ("mdl", MDOC), ("pid", SUBMISSION), ("mdl", SUBMISSION)]
        {
            for (forgery, expected) in rows {
                let (gateway, mut session, protocol, request) = asked(way, &[id]);
                let reply = gateway.relay(&mut session, &answered(&request, &protocol, *forgery));
                assert_eq!(reply, Ok(WalletReply::Refused), "{way:?} {id} {forgery:?}");
                assert_eq!(reason(&session), Some(*expected), "{way:?} {id} {forgery:?}");
            }
        }
    }
}

/// The page and its server see the answer before the gateway does (OpenID4VP A, HAIP 1.0, 5.2).
#[test]
fn answers_through_browsers_are_always_encrypted() {
    for way in [PLAIN, Way::Inline { encrypted: false }, Way::Haip] {
        let (gateway, mut session, protocol, request) = asked(way, &["pid"]);
        let answer = wallet().answer_1_0(&request, NOW.0).unwrap();
        assert!(answer.jwe().is_some(), "{way:?}");
        let data = Value::from(answer.parameters.clone());
        let plain = json!({"protocol": protocol, "data": data}).to_string();
        let refused = gateway.relay(&mut session, &plain);
        assert!(matches!(refused, Err(NotAnAnswer::Malformed(_))), "{way:?}");
        assert!(gateway.relay(&mut session, &answer.credential(&protocol).to_string()).is_ok());
        assert_eq!(result(&session).0["pid"]["given_name"], "Erika", "{way:?}");
    }
}

/// Wallets got this wrong for a long time (OpenID4VP A.4).
#[test]
fn the_audience_is_exactly_the_prefix_and_the_origin() {
    for audience in [
        "https://shop.example",
        "origin:https://shop.example/",
        "origin:https://SHOP.example",
        "origin:https://shop.example:443",
        "origin:https://other.example",
        "web-origin:https://shop.example",
        "origin:",
        "redirect_uri:https://shop.example",
        "x509_hash:t5eY67wMr7QGaDtgp1rXjfc1vDU14xFR2w4t_Eu5jTs",
    ] {
        let (gateway, mut session, protocol, mut request) = asked(Way::Haip, &["pid"]);
        request.client_id = audience.into();
        let _refused = gateway.relay(&mut session, &answered(&request, &protocol, Forgery::None));
        assert_eq!(reason(&session), Some("audience_mismatch"), "{audience}");
    }
}

#[test]
fn a_page_from_elsewhere_gets_nothing() {
    for (id, expected) in [("pid", "audience_mismatch"), ("mdl", "device_auth_invalid")] {
        for elsewhere in [OTHER, "https://shop.example.evil.example", "https://shop.example:8443"] {
            let (gateway, mut session, protocol, _) = asked(Way::Haip, &[id]);
            let (_, copied) = gateway.passed_on(&session, elsewhere).remove(0);
            let _refused =
                gateway.relay(&mut session, &answered(&copied, &protocol, Forgery::None));
            assert_eq!(reason(&session), Some(expected), "{elsewhere}");
        }
    }
}

#[test]
fn of_several_origins_the_one_that_fits_is_reported() {
    for way in [PLAIN, Way::Haip] {
        for origin in [SHOP, OTHER] {
            let mut gateway = Gateway::for_browsers(way, DcApi::Unsigned);
            let mut session = gateway.create_for(&asking(&["pid", "mdl"]), &[], &[SHOP, OTHER]);
            let (protocol, request) = gateway.passed_on(&session, origin).remove(0);
            let answer = answered(&request, &protocol, Forgery::None);
            assert!(gateway.relay(&mut session, &answer).is_ok());
            assert_eq!(result(&session).1["origin"], origin);
        }
        // A fault is reported for the page that the answer is meant for.
        let mut gateway = Gateway::for_browsers(way, DcApi::Unsigned);
        let mut session = gateway.create_for(&asking(&["pid"]), &[], &[SHOP, OTHER]);
        let (protocol, request) = gateway.passed_on(&session, OTHER).remove(0);
        let _refused = gateway.relay(&mut session, &answered(&request, &protocol, Forgery::Nonce));
        assert_eq!(reason(&session), Some("nonce_mismatch"));
    }
}

/// An SD-JWT VC's key binding names its page. An mdoc's proof has to be tried for each origin, and
/// nothing else is repeated.
#[test]
fn each_further_origin_costs_an_mdoc_one_device_signature() {
    let many: Vec<_> = (1..5).map(|n| format!("https://shop{n}.example")).collect();
    let many: Vec<_> = [SHOP].into_iter().chain(many.iter().map(String::as_str)).collect();
    let cost = |ids: &[&str], origins: &[&str], from: &str| {
        let mut gateway = Gateway::for_browsers(Way::Haip, DcApi::Unsigned);
        let mut session = gateway.create_for(&asking(ids), &[], origins);
        let (protocol, request) = gateway.passed_on(&session, from).remove(0);
        let answer = answered(&request, &protocol, Forgery::None);
        let cost = verified_in(|| drop(gateway.relay(&mut session, &answer)));
        (cost, session.result(Reader::Backend, NOW).is_ok())
    };
    for ids in [&["pid"][..], &["mdl"], &["pid", "mdl"], &["mdl", "pid"]] {
        let (one, _) = cost(ids, &[SHOP], SHOP);
        assert!(one >= 2, "{ids:?}");
        for (at, origin) in many.iter().enumerate() {
            let more = if ids.contains(&"pid") { 0 } else { at };
            assert_eq!(cost(ids, &many, origin), (one + more, true), "{ids:?} {origin}");
        }
        let (elsewhere, is_verified) = cost(ids, &many, OTHER);
        assert!(!is_verified && elsewhere <= one + 4, "{ids:?}: {elsewhere}");
    }
}

#[test]
fn an_answer_is_accepted_for_its_own_page_only() {
    let mut gateway = Gateway::for_browsers(PLAIN, DcApi::Unsigned);
    let mut session = gateway.create_for(&asking(&["pid", "mdl"]), &[], &[SHOP, OTHER]);
    let [(protocol, mut mixed), (_, other)] = [SHOP, OTHER].map(|origin| {
        let (protocol, request) = gateway.passed_on(&session, origin).remove(0);
        (protocol, wallet().answer_1_0(&request, NOW.0).unwrap())
    });
    mixed.parameters["vp_token"]["mdl"] = other.parameters["vp_token"]["mdl"].clone();
    let _refused = gateway.relay(&mut session, &mixed.credential(&protocol).to_string());
    assert_eq!(reason(&session), Some("device_auth_invalid"));
}

#[test]
fn a_malformed_browser_answer_changes_nothing() {
    let malformed = |way: Way, change: &dyn Fn(&Answer, &str) -> String| {
        let (gateway, mut session, protocol, request) = asked(way, &["pid"]);
        let answer = wallet().answer_1_0(&request, NOW.0).unwrap();
        let refused = gateway.relay(&mut session, &change(&answer, &protocol));
        assert_eq!(session.phase(), &Phase::Pending);
        refused.unwrap_err()
    };
    let is_malformed = |error: &NotAnAnswer| matches!(error, NotAnAnswer::Malformed(_));
    for protocol in
        ["openid4vp-v1-signed", "openid4vp-v1-multisigned", "openid4vp", "org-iso-mdoc", ""]
    {
        let refused = malformed(Way::Haip, &|answer, _| answer.credential(protocol).to_string());
        assert!(is_malformed(&refused) && refused.to_string().contains("protocol"), "{protocol}");
    }
    let unencrypted = |answer: &Answer, protocol: &str| {
        let data = Value::from(answer.parameters.clone());
        json!({"protocol": protocol, "data": data}).to_string()
    };
    let refused = malformed(Way::Haip, &unencrypted);
    assert!(is_malformed(&refused) && refused.to_string().contains("vp_token must be encrypted"));
    let encrypted = |_: &Answer, protocol: &str| {
        json!({"protocol": protocol, "data": {"response": "a.b.c.d.e"}}).to_string()
    };
    assert_eq!(malformed(Way::Haip, &encrypted), NotAnAnswer::DecryptionFailed);
    for forgery in [Forgery::DraftString, Forgery::DraftArray] {
        for way in [PLAIN, Way::Haip] {
            let (gateway, mut session, protocol, request) = asked(way, &["pid"]);
            let refused = gateway.relay(&mut session, &answered(&request, &protocol, forgery));
            assert!(refused.is_err_and(|error| is_malformed(&error)), "{forgery:?}");
            assert_eq!(session.phase(), &Phase::Pending);
        }
    }
    let (gateway, mut session, protocol, request) = asked(Way::Haip, &["pid"]);
    let refused = gateway.relay(&mut session, &answered(&request, &protocol, Forgery::OtherKey));
    assert_eq!(refused, Err(NotAnAnswer::DecryptionFailed));
}

/// The page's session determines which request is answered, so a `state` in the answer is ignored.
#[test]
fn browser_requests_have_no_state_and_ignore_one_in_the_answer() {
    for way in [PLAIN, Way::Haip] {
        let (gateway, mut session, protocol, request) = asked(way, &["pid"]);
        assert_eq!(request.state, None);
        let mut answer = wallet().answer_1_0(&request, NOW.0).unwrap();
        answer.parameters.insert("state".into(), "of nobody".into());
        let reply = gateway.relay(&mut session, &answer.credential(&protocol).to_string());
        assert!(matches!(reply, Ok(WalletReply::Accepted { .. })), "{reply:?}");
    }
}

#[test]
fn an_error_of_the_wallet_settles_the_session() {
    for (way, encrypted) in [(PLAIN, false), (Way::Haip, false), (Way::Haip, true)] {
        let (gateway, mut session, protocol, request) = asked(way, &["pid"]);
        let answer = Answer::error(&request, "access_denied", encrypted);
        let reply = gateway.relay(&mut session, &answer.credential(&protocol).to_string());
        let noted = matches!(reply, Ok(WalletReply::ErrorNoted { redirect_uri: None, .. }));
        assert!(noted, "{reply:?}");
        let declined = Phase::Failed {
            at: NOW,
            reason: Reason::WalletError,
            wallet_error: Some(WalletError::AccessDenied),
        };
        assert_eq!(session.phase(), &declined);
    }
}

#[test]
fn a_session_is_settled_once_through_the_browser_or_the_link() {
    let mut gateway = Gateway::for_browsers(Way::Haip, DcApi::Signed);
    let session = gateway.create_for(&asking(&["pid"]), &[], &[SHOP]);
    assert_eq!(session.offers().count(), 2);
    let behind_link = gateway.read(Way::Haip, &session);
    let (protocol, request) = gateway.passed_on(&session, SHOP).remove(0);
    assert_ne!(behind_link.nonce, request.nonce);
    let by_link = wallet().answer_1_0(&behind_link, NOW.0).unwrap();
    let by_page = answered(&request, &protocol, Forgery::None);

    let mut settled = session.clone();
    gateway.settle(&mut settled, None, &by_link.body());
    assert_eq!(gateway.relay(&mut settled, &by_page), Err(NotAnAnswer::SessionClosed));
    let mut settled = session.clone();
    assert!(gateway.relay(&mut settled, &by_page).is_ok());
    assert_eq!(gateway.post(&mut settled, &by_link.body()), Err(NotAnAnswer::SessionClosed));

    // Neither answer fits the other request.
    let mut crossed = session.clone();
    let link_by_page = by_link.credential(&protocol).to_string();
    assert_eq!(gateway.relay(&mut crossed, &link_by_page), Err(NotAnAnswer::DecryptionFailed));
    let mut crossed = session.clone();
    let page: Value = serde_json::from_str(&by_page).unwrap();
    let page = Body::form(page["data"].as_object().unwrap());
    assert_eq!(gateway.post(&mut crossed, &page), Err(NotAnAnswer::DecryptionFailed));
}

/// A browser request is signed and answered only through the browser.
#[test]
fn a_browser_offer_cannot_be_fetched_by_link() {
    let mut gateway = Gateway::for_browsers(Way::Haip, DcApi::Unsigned);
    let mut session = gateway.create_for(&asking(&["pid"]), &[], &[SHOP]);
    let offer = session.browser_offer().unwrap().clone();
    assert!(session.offer(offer.id()).is_none() && !offer.is_linked());
    assert_eq!(offer.origins(), [SHOP]);
    let (_, request) = gateway.passed_on(&session, SHOP).remove(0);
    let body = wallet().answer_1_0(&request, NOW.0).unwrap().body();
    let refused = gateway.post_to(&mut session, offer.id(), &body);
    assert_eq!(refused, Err(NotAnAnswer::SessionClosed));
}

/// The response code in `redirect_uri` brings a person back from a link. With the dialogue, the
/// person is already on the page.
#[test]
fn an_answer_through_a_browser_needs_no_code_to_be_read() {
    let (gateway, mut session, protocol, request) = asked(Way::Haip, &["pid"]);
    assert!(gateway.relay(&mut session, &answered(&request, &protocol, Forgery::None)).is_ok());
    assert!(session.result(Reader::Browser { response_code: None }, NOW).is_ok());
    let mut gateway = Gateway::for_browsers(Way::Haip, DcApi::Unsigned);
    let mut session = gateway.create_for(&asking(&["pid"]), &[], &[SHOP]);
    let request = gateway.read(Way::Haip, &session);
    let body = wallet().answer_1_0(&request, NOW.0).unwrap().body();
    gateway.settle(&mut session, None, &body);
    assert!(
        session.result(Reader::Browser { response_code: None }, NOW).is_err(),
        "no browser has come back by a link yet"
    );
}

#[test]
fn without_origins_no_browser_request_is_made() {
    let mut gateway = Gateway::for_browsers(Way::Haip, DcApi::Multisigned);
    let mut session = gateway.create(&asking(&["pid"]), &[Profile::Haip]);
    assert!(session.browser_offer().is_none());
    let requests = gateway.passed_on_or_not(&session);
    assert_eq!(requests.unwrap_err(), NotFetched::NotFetchable);
    let answer = r#"{"protocol":"openid4vp-v1-signed","data":{"error":"access_denied"}}"#;
    assert!(matches!(gateway.relay(&mut session, answer), Err(NotAnAnswer::Malformed(_))));
}

#[test]
fn a_settled_session_has_no_browser_requests() {
    let (gateway, mut session, protocol, request) = asked(Way::Haip, &["pid"]);
    let answer = answered(&request, &protocol, Forgery::None);
    assert!(gateway.relay(&mut session, &answer).is_ok());
    assert_eq!(gateway.passed_on_or_not(&session).unwrap_err(), NotFetched::NotFetchable);
    assert_eq!(gateway.relay(&mut session, &answer), Err(NotAnAnswer::SessionClosed));
}
