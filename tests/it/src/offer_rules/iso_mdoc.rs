//! The request of ISO/IEC TS 18013-7 Annex C next to those of OpenID4VP: its content, and who may
//! answer from where.

use idgate_core::error::{CreateError, NotAnAnswer};
use idgate_core::shell::{ClientIdForm, Phase, PresentationRequest};
use idgate_core::verify::WalletReply;
use idgate_core::{DcApi, ErrorCode, Profile, Reason, Session, WalletError};
use idgate_testkit::iso_mdoc::{IsoMdocAnswer, IsoMdocRequest, PROTOCOL};
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::mdoc::{Cbor, DeviceProof, MDL, MDL_NAME_SPACE};
use idgate_testkit::openid4vp::{Forgery, check_path};
use idgate_testkit::samples;
use serde_json::{Value, json};

use super::harness::{CREATED, Gateway, NOW, Way, asking, result, wallet};

const SHOP: &str = "https://shop.example";
const OTHER: &str = "https://other.example";
const PLAIN: Way = Way::Jar { form: ClientIdForm::DecentralizedIdentifier, encrypted: false };
const INLINE: Way = Way::Inline { encrypted: false };

/// A session for the shop's page, and its request for Annex C.
fn asked(way: Way, dc_api: DcApi) -> (Gateway, Session, IsoMdocRequest) {
    let mut gateway = Gateway::for_browsers(way, dc_api);
    let session = gateway.create_for(&asking(&["mdl"]), &[], &[SHOP]);
    let request = gateway.iso_mdoc(&session, SHOP).unwrap();
    (gateway, session, request)
}

fn answered(request: &IsoMdocRequest) -> IsoMdocAnswer {
    wallet().answer_iso_mdoc(request).unwrap()
}

fn reason(session: &Session) -> Option<&'static str> {
    session.reason_at(NOW).map(Reason::as_str)
}

/// The reason for which an answer with `change` is rejected.
#[track_caller]
fn refused(change: impl FnOnce(&mut IsoMdocAnswer)) -> &'static str {
    let (gateway, mut session, request) = asked(Way::Haip, DcApi::Unsigned);
    let mut answer = answered(&request);
    change(&mut answer);
    let reply = gateway.relay(&mut session, &answer.credential().to_string());
    assert_eq!(reply, Ok(WalletReply::Refused));
    reason(&session).unwrap()
}

/// The same for a change inside the response.
#[track_caller]
fn refused_response(change: impl FnOnce(&mut Cbor)) -> &'static str {
    let (gateway, mut session, request) = asked(Way::Haip, DcApi::Unsigned);
    let answer = answered(&request);
    let mut response = answer.device_response();
    change(&mut response);
    let credential = answer.credential_of(&response.encode()).to_string();
    assert_eq!(gateway.relay(&mut session, &credential), Ok(WalletReply::Refused));
    reason(&session).unwrap()
}

fn documents(response: &mut Cbor) -> &mut Vec<Cbor> {
    match response.at("documents") {
        Cbor::Array(documents) => documents,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_iso_mdoc_request_form_returns_the_claims() {
    for way in [INLINE, PLAIN, Way::Haip] {
        for dc_api in [DcApi::Unsigned, DcApi::Signed, DcApi::Multisigned] {
            // A verifier by value has no key to sign with a DID.
            if matches!(way, Way::Inline { .. }) && dc_api != DcApi::Unsigned {
                continue;
            }
            let mut gateway = Gateway::for_browsers(way, dc_api);
            let session = gateway.create_for(&asking(&["mdl"]), &[], &[SHOP]);
            let mut session = Session::from_bytes(&session.to_bytes()).unwrap();
            let request = gateway.iso_mdoc(&session, SHOP).unwrap();
            let reply = gateway.relay(&mut session, &answered(&request).credential().to_string());
            assert!(reply.is_ok_and(|reply| reply.body().as_deref() == Some("{}")));
            let (claims, details) = result(&session);
            assert_eq!(claims, json!({"mdl": {"family_name": "Mustermann"}}), "{way:?}");
            assert_eq!(
                (&details["request_mode"], &details["origin"]),
                (&"dc_api".into(), &SHOP.into())
            );
            let credential = &details["credentials"][0];
            assert_eq!(credential["session_transcript"], "iso18013-7-annex-c");
            assert_eq!(credential["holder_binding"], "device_signature");
        }
    }
}

#[test]
fn the_iso_mdoc_request_is_last_and_asks_for_the_same_elements() {
    for dc_api in [DcApi::Unsigned, DcApi::Signed, DcApi::Multisigned] {
        let (gateway, session, request) = asked(Way::Haip, dc_api);
        let requests = gateway.passed_on_or_not(&session).unwrap();
        let protocols: Vec<_> = requests.iter().map(|(protocol, _)| protocol).collect();
        let of_openid4vp: Vec<_> = dc_api.protocols().iter().map(|it| it.name()).collect();
        assert_eq!(protocols, [&of_openid4vp[..], &[PROTOCOL]].concat());
        let [asked] = &request.documents[..] else { panic!("{:?}", request.documents) };
        assert_eq!((&*asked.doc_type, asked.retains), (MDL, false));
        assert_eq!(asked.elements, [(MDL_NAME_SPACE.into(), "family_name".into())]);
        let again = gateway.iso_mdoc(&session, SHOP).unwrap();
        assert_eq!(again.encryption_info, request.encryption_info, "as long as it is open");
    }
}

/// ISO/IEC 18013-5 9.1.4.
#[test]
fn iso_mdoc_requests_are_signed_if_requests_are_signed() {
    for way in [PLAIN, Way::Haip] {
        for dc_api in [DcApi::Signed, DcApi::Multisigned] {
            let (gateway, _, mut request) = asked(way, dc_api);
            let chain = request.reader().unwrap();
            assert!(check_path(&chain, &gateway.anchor(), CREATED.0), "{way:?}");
            // The signature is for one page and one key.
            request.origin = OTHER.into();
            assert!(request.reader().is_none());
        }
        let (_, _, request) = asked(way, DcApi::Unsigned);
        assert!(request.documents[0].reader_auth.is_none(), "{way:?}");
    }
}

#[test]
fn the_iso_mdoc_request_has_its_own_nonce_and_key() {
    let (gateway, session, request) = asked(Way::Haip, DcApi::Unsigned);
    let (_, other) = gateway.passed_on(&session, SHOP).remove(0);
    assert_ne!(Some(&request.recipient), other.encryption.as_ref().map(|(key, _)| &key.point));
    assert!(request.nonce.len() >= 16 && !request.nonce.is_empty());
    let (_, _, another) = asked(PLAIN, DcApi::Unsigned);
    assert_eq!(request.nonce.len(), another.nonce.len());
    assert!(!format!("{session:?}").contains(&request.encryption_info));
}

#[test]
fn the_iso_mdoc_request_is_only_for_mdocs_of_different_types() {
    let mut gateway = Gateway::for_browsers(Way::Haip, DcApi::Unsigned);
    for ids in [&["pid"][..], &["pid", "mdl"]] {
        let session = gateway.create_for(&asking(ids), &[], &[SHOP]);
        assert!(gateway.iso_mdoc(&session, SHOP).is_none(), "{ids:?}");
        let mut session = session;
        let answer = json!({"protocol": PROTOCOL, "data": {"response": "gmVkY2FwaaA"}});
        let refused = gateway.relay(&mut session, &answer.to_string()).unwrap_err();
        assert!(refused.to_string().contains("protocol"), "{refused}");
    }
    let mut twice = asking(&["mdl", "mdl"]);
    twice["credentials"][1]["id"] = "again".into();
    let session = gateway.create_with(&twice, "same_device", &false.into());
    assert!(session.browser_offer().is_some() && gateway.iso_mdoc(&session, SHOP).is_none());
}

#[test]
fn a_tenant_can_switch_off_the_iso_mdoc_request() {
    let mut gateway = Gateway::for_browsers(Way::Haip, DcApi::Signed);
    let change = PresentationRequest::without_iso_mdoc;
    let made = gateway.try_create(&asking(&["mdl"]), &[], &[SHOP, OTHER], change);
    let session = made.unwrap();
    assert!(gateway.iso_mdoc(&session, SHOP).is_none());
}

/// The signature covers the transcript, and the transcript covers the origin.
#[test]
fn a_signed_iso_mdoc_request_is_for_one_origin() {
    for (way, dc_api, is_refused) in [
        (Way::Haip, DcApi::Signed, true),
        (PLAIN, DcApi::Multisigned, true),
        (Way::Haip, DcApi::Unsigned, false),
    ] {
        let mut gateway = Gateway::for_browsers(way, dc_api);
        match gateway.try_create(&asking(&["mdl"]), &[], &[SHOP, OTHER], |request| request) {
            Ok(_) => assert!(!is_refused, "{way:?} {dc_api:?}"),
            Err(CreateError::Request(error)) => {
                assert!(is_refused, "{way:?} {dc_api:?}");
                let told = (error.code, &*error.path);
                assert_eq!(told, (ErrorCode::InvalidRequest, "dc_api.origins"));
            }
            Err(other) => panic!("{other}"),
        }
    }
}

#[test]
fn of_several_origins_the_one_that_fits_is_reported() {
    let mut gateway = Gateway::for_browsers(Way::Haip, DcApi::Unsigned);
    for origin in [SHOP, OTHER] {
        let mut session = gateway.create_for(&asking(&["mdl"]), &[], &[SHOP, OTHER]);
        let request = gateway.iso_mdoc(&session, origin).unwrap();
        let reply = gateway.relay(&mut session, &answered(&request).credential().to_string());
        assert!(matches!(reply, Ok(WalletReply::Accepted { .. })), "{reply:?}");
        assert_eq!(result(&session).1["origin"], origin);
    }
}

/// An answer that is encrypted for another page does not decrypt, so it settles nothing.
#[test]
fn a_page_from_elsewhere_gets_nothing() {
    for elsewhere in [OTHER, "https://shop.example.evil.example", "https://shop.example/"] {
        let (gateway, mut session, request) = asked(Way::Haip, DcApi::Unsigned);
        let copied = IsoMdocRequest { origin: elsewhere.into(), ..request };
        let answer = answered(&copied).credential().to_string();
        assert_eq!(gateway.relay(&mut session, &answer), Err(NotAnAnswer::DecryptionFailed));
        assert_eq!(session.phase(), &Phase::Pending, "{elsewhere}");
    }
}

/// A wallet that encrypts for one page what a device signed for another.
#[test]
fn the_device_signs_for_the_page_that_the_answer_is_encrypted_for() {
    let mut gateway = Gateway::for_browsers(Way::Haip, DcApi::Unsigned);
    let mut session = gateway.create_for(&asking(&["mdl"]), &[], &[SHOP, OTHER]);
    let request = gateway.iso_mdoc(&session, SHOP).unwrap();
    let mut answer = answered(&request);
    answer.transcript = gateway.iso_mdoc(&session, OTHER).unwrap().transcript();
    let reply = gateway.relay(&mut session, &answer.credential().to_string());
    assert_eq!((reply, reason(&session)), (Ok(WalletReply::Refused), Some("device_auth_invalid")));
    assert_eq!(refused(|answer| answer.transcript = vec![0xf6]), "device_auth_invalid");
}

#[test]
fn another_device_key_or_a_device_mac_is_rejected() {
    let other = || SigningKey::from_seed(Curve::P256, "another");
    let swap = |answer: &mut IsoMdocAnswer| answer.documents[0].device_key = other();
    assert_eq!(refused(swap), "device_auth_invalid");
    let mac = |answer: &mut IsoMdocAnswer| {
        answer.proof = DeviceProof::Mac(answer.sealing.recipient.clone());
    };
    assert_eq!(refused(mac), "device_auth_invalid");
}

#[test]
fn an_unrequested_document_is_rejected() {
    let beside = |answer: &mut IsoMdocAnswer| {
        let mut other = answer.documents[0].clone();
        other.doc_type = "org.example.other".into();
        answer.documents.push(other);
    };
    assert_eq!(refused(beside), "doc_type_mismatch");
}

#[test]
fn two_documents_of_one_type_are_refused() {
    let twice = |answer: &mut IsoMdocAnswer| answer.documents.extend_from_within(..);
    assert_eq!(refused(twice), "malformed_presentation");
}

#[test]
fn a_document_that_is_missing_is_refused() {
    assert_eq!(refused_response(|response| documents(response).clear()), "malformed_presentation");
    assert_eq!(refused_response(|response| response.remove("documents")), "malformed_presentation");
    let reported = |response: &mut Cbor| {
        documents(response).clear();
        let errors = vec![Cbor::map([(MDL, 0.into())])];
        response.set("documentErrors", Cbor::Array(errors));
    };
    assert_eq!(refused_response(reported), "claim_missing");
}

/// The response's own fields are checked before its documents.
#[test]
fn version_status_and_reported_errors_are_checked_before_types() {
    let other = |response: &mut Cbor| documents(response)[0].set("docType", "org.example.other");
    assert_eq!(refused_response(other), "doc_type_mismatch");
    let of_version_2 = |response: &mut Cbor| {
        other(response);
        response.set("version", "2.0");
    };
    assert_eq!(refused_response(of_version_2), "malformed_presentation");
    let with_status = |response: &mut Cbor| {
        other(response);
        response.set("status", 10);
    };
    assert_eq!(refused_response(with_status), "malformed_presentation");
    let reported = |response: &mut Cbor| {
        other(response);
        response.set("documentErrors", Cbor::Array(vec![Cbor::map([(MDL, 0.into())])]));
    };
    assert_eq!(refused_response(reported), "claim_missing");
}

#[test]
fn an_answer_that_is_not_a_device_response_is_rejected() {
    assert_eq!(refused_response(|response| *response = Cbor::Null), "malformed_presentation");
    let status = |response: &mut Cbor| response.set("status", 10);
    assert_eq!(refused_response(status), "malformed_presentation");
    let long = |response: &mut Cbor| response.set("x", Cbor::Bytes(vec![0; 512 * 1024]));
    assert_eq!(refused_response(long), "limit_exceeded");
}

#[test]
fn an_answer_that_does_not_decrypt_changes_nothing() {
    let (gateway, session, request) = asked(Way::Haip, DcApi::Unsigned);
    let answer = answered(&request);
    let plaintext = answer.device_response().encode();
    let mut to_another = answer.clone();
    to_another.sealing.recipient = SigningKey::from_seed(Curve::P256, "another").public_sec1();
    let mut for_nothing = answer.clone();
    for_nothing.sealing.info = Vec::new();
    let plain = json!({"protocol": PROTOCOL, "data": {
        "response": idgate_testkit::codec::base64url(&plaintext)}});
    let jwe = json!({"protocol": PROTOCOL, "data": {"response": "a.b.c.d.e"}});
    for bad in [to_another.credential(), for_nothing.credential(), plain, jwe] {
        let mut session = session.clone();
        let refused = gateway.relay(&mut session, &bad.to_string());
        assert_eq!(refused, Err(NotAnAnswer::DecryptionFailed), "{bad}");
        assert_eq!(session.phase(), &Phase::Pending);
    }
    let empty = json!({"protocol": PROTOCOL, "data": {}});
    let refused = gateway.relay(&mut session.clone(), &empty.to_string());
    assert!(matches!(refused, Err(NotAnAnswer::Malformed(_))));
}

/// Neither protocol's answer is read as the other's.
#[test]
fn an_answer_must_match_the_protocol_that_it_names() {
    let (gateway, session, request) = asked(Way::Haip, DcApi::Unsigned);
    let (protocol, openid4vp) = gateway.passed_on(&session, SHOP).remove(0);
    let relabelled = |mut credential: Value, protocol: &str| {
        credential["protocol"] = protocol.into();
        credential.to_string()
    };
    let forged = wallet().forge_1_0(&openid4vp, Forgery::None, NOW.0).unwrap();
    for bad in [
        relabelled(answered(&request).credential(), &protocol),
        relabelled(forged.credential(&protocol), PROTOCOL),
    ] {
        let refused = gateway.relay(&mut session.clone(), &bad);
        assert_eq!(refused, Err(NotAnAnswer::DecryptionFailed), "{bad}");
    }
    let mut settled = session.clone();
    let good = answered(&request).credential().to_string();
    assert!(gateway.relay(&mut settled, &good).is_ok());
    let late = forged.credential(&protocol).to_string();
    assert_eq!(gateway.relay(&mut settled, &late), Err(NotAnAnswer::SessionClosed));
    assert_eq!(gateway.relay(&mut settled, &good), Err(NotAnAnswer::SessionClosed));
    let stored = String::from_utf8(settled.to_bytes().to_vec()).unwrap();
    assert!(!stored.contains(&request.encryption_info), "it is gone with the settlement");
}

#[test]
fn an_error_of_the_wallet_settles_the_session() {
    let (gateway, mut session, _) = asked(Way::Haip, DcApi::Unsigned);
    let declined = json!({"protocol": PROTOCOL, "data": {"error": "access_denied"}});
    let reply = gateway.relay(&mut session, &declined.to_string());
    assert!(matches!(reply, Ok(WalletReply::ErrorNoted { .. })), "{reply:?}");
    let (at, reason) = (NOW, Reason::WalletError);
    let wallet_error = Some(WalletError::AccessDenied);
    assert_eq!(session.phase(), &Phase::Failed { at, reason, wallet_error });
}

/// With sets, documents may be absent; those present must complete an option of each required set.
#[test]
fn credential_sets_decide_which_documents_are_required() {
    let photo = json!({"id": "photo", "format": "mso_mdoc", "issuer_id": samples::MDL_ISSUER,
        "doc_type": "org.iso.23220.photoid.1", "namespace": "org.iso.23220.1",
        "claims": ["family_name"]});
    let mut body = asking(&["mdl"]);
    body["credentials"].as_array_mut().unwrap().push(photo);
    let optional = json!({"options": [["mdl"]], "required": false});
    for (sets, is_enough) in [
        (json!([{"options": [["photo"], ["mdl"]]}]), true),
        (json!([{"options": [["photo", "mdl"]]}]), false),
        (json!([{"options": [["photo"]]}, optional]), false),
    ] {
        let mut gateway = Gateway::for_browsers(Way::Haip, DcApi::Unsigned);
        let mut session = gateway.create_with(&body, "credential_sets", &sets);
        let mut request = gateway.iso_mdoc(&session, SHOP).unwrap();
        assert_eq!(request.documents.len(), 2);
        request.documents.truncate(1);
        let _reply = gateway.relay(&mut session, &answered(&request).credential().to_string());
        if is_enough {
            assert_eq!(result(&session).0, json!({"mdl": {"family_name": "Mustermann"}}));
        } else {
            assert_eq!(reason(&session), Some("doc_type_mismatch"), "{sets}");
        }
    }
    // A wallet may report a document that it could not return. That matters if the document is
    // required.
    for (sets, expected) in [
        (json!([{"options": [["photo"], ["mdl"]]}]), None),
        (json!([{"options": [["photo", "mdl"]]}]), Some("claim_missing")),
    ] {
        let mut gateway = Gateway::for_browsers(Way::Haip, DcApi::Unsigned);
        let mut session = gateway.create_with(&body, "credential_sets", &sets);
        let mut request = gateway.iso_mdoc(&session, SHOP).unwrap();
        request.documents.truncate(1);
        let answer = answered(&request);
        let mut response = answer.device_response();
        let errors = Cbor::map([("org.iso.23220.photoid.1", 0.into())]);
        response.set("documentErrors", Cbor::Array(vec![errors]));
        let _reply =
            gateway.relay(&mut session, &answer.credential_of(&response.encode()).to_string());
        assert_eq!(reason(&session), expected, "{sets}");
    }
    // A response without documents is malformed.
    let sets = json!([{"options": [["photo"], ["mdl"]]}]);
    let mut gateway = Gateway::for_browsers(Way::Haip, DcApi::Unsigned);
    let mut session = gateway.create_with(&body, "credential_sets", &sets);
    let mut request = gateway.iso_mdoc(&session, SHOP).unwrap();
    request.documents.truncate(1);
    let answer = answered(&request);
    let mut response = answer.device_response();
    documents(&mut response).clear();
    let _reply = gateway.relay(&mut session, &answer.credential_of(&response.encode()).to_string());
    assert_eq!(reason(&session), Some("malformed_presentation"));
    // Without sets both are required.
    let mut gateway = Gateway::for_browsers(Way::Haip, DcApi::Unsigned);
    let mut session = gateway.create_for(&body, &[], &[SHOP]);
    let mut request = gateway.iso_mdoc(&session, SHOP).unwrap();
    request.documents.truncate(1);
    let _reply = gateway.relay(&mut session, &answered(&request).credential().to_string());
    assert_eq!(reason(&session), Some("doc_type_mismatch"));
}

#[test]
fn session_keys_are_stored_separately_and_restored() {
    let (gateway, session, request) = asked(Way::Haip, DcApi::Unsigned);
    let mut apart = session.clone();
    let keys = apart.take_encryption_key().unwrap();
    let good = answered(&request).credential().to_string();
    assert_eq!(gateway.relay(&mut apart, &good), Err(NotAnAnswer::DecryptionFailed));
    assert!(gateway.passed_on_or_not(&apart).is_err());
    apart.restore_encryption_key(&keys).unwrap();
    assert_eq!(apart.to_bytes(), session.to_bytes());
    assert!(gateway.relay(&mut apart, &good).is_ok());
    let without = gateway_without().restore_encryption_key(&keys);
    assert!(without.is_err(), "a session without that offer has no place for its key");
}

fn gateway_without() -> Session {
    let mut gateway = Gateway::for_browsers(Way::Haip, DcApi::Unsigned);
    gateway.create_for(&asking(&["pid"]), &[Profile::Haip], &[SHOP])
}
