//! Several documents in one DeviceResponse, and several sessions of one page: an answer by ISO/IEC
//! TS 18013-7 Annex C is accepted only as a whole, and for one session.

use idgate_core::error::NotAnAnswer;
use idgate_core::shell::Phase;
use idgate_core::verify::WalletReply;
use idgate_core::{DcApi, Reason, Session};
use idgate_testkit::iso_mdoc::{IsoMdocAnswer, IsoMdocRequest};
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::mdoc::{Document, MDL_NAME_SPACE};
use idgate_testkit::samples;
use serde_json::{Value, json};

use super::harness::{CREATED, Gateway, NOW, Way, asking, result, wallet};

const SHOP: &str = "https://shop.example";
const PHOTO_ID: &str = "org.iso.23220.photoid.1";

/// A photo ID by the same issuer and for the same holder as the driving licence.
fn photo_id() -> Document {
    let mut document = samples::issue_mdl(CREATED.0).document;
    document.doc_type = PHOTO_ID.into();
    document.issuer_signed.mso.set("docType", PHOTO_ID);
    document
}

fn asking_for_both(ids: [&str; 2]) -> Value {
    let mut body = asking(&["mdl"]);
    let photo = json!({"id": "photo", "format": "mso_mdoc", "issuer_id": samples::MDL_ISSUER,
        "doc_type": PHOTO_ID, "namespace": MDL_NAME_SPACE, "claims": ["given_name"]});
    let mdl = body["credentials"][0].clone();
    let credentials = ids.map(|id| if id == "photo" { photo.clone() } else { mdl.clone() });
    body["credentials"] = credentials.to_vec().into();
    body
}

fn answered(request: &IsoMdocRequest) -> IsoMdocAnswer {
    wallet().with_mdoc(photo_id()).answer_iso_mdoc(request).unwrap()
}

/// The outcome of an answer with both documents, the second of them changed.
fn relayed(change: impl FnOnce(&mut Document)) -> (Session, Result<WalletReply, NotAnAnswer>) {
    let mut gateway = Gateway::for_browsers(Way::Haip, DcApi::Unsigned);
    let mut session = gateway.create_for(&asking_for_both(["mdl", "photo"]), &[], &[SHOP]);
    let mut answer = answered(&gateway.iso_mdoc(&session, SHOP).unwrap());
    change(&mut answer.documents[1]);
    let reply = gateway.relay(&mut session, &answer.credential().to_string());
    (session, reply)
}

#[test]
fn two_documents_are_verified_in_any_order() {
    for ids in [["mdl", "photo"], ["photo", "mdl"]] {
        for turned_round in [false, true] {
            let mut gateway = Gateway::for_browsers(Way::Haip, DcApi::Signed);
            let mut session = gateway.create_for(&asking_for_both(ids), &[], &[SHOP]);
            let mut answer = answered(&gateway.iso_mdoc(&session, SHOP).unwrap());
            if turned_round {
                answer.documents.reverse();
            }
            let reply = gateway.relay(&mut session, &answer.credential().to_string());
            assert!(matches!(reply, Ok(WalletReply::Accepted { .. })), "{reply:?}");
            let expected = json!({"mdl": {"family_name": "Mustermann"},
                "photo": {"given_name": "Erika"}});
            assert_eq!(result(&session).0, expected, "{ids:?} {turned_round}");
        }
    }
}

fn another() -> SigningKey {
    SigningKey::from_seed(Curve::P256, "another")
}

#[test]
fn every_document_in_a_device_response_is_verified() {
    let (_, reply) = relayed(|_| {});
    assert!(matches!(reply, Ok(WalletReply::Accepted { .. })), "{reply:?}");
    let refused = |change: fn(&mut Document)| {
        let (session, reply) = relayed(change);
        assert_eq!(reply, Ok(WalletReply::Refused));
        session.reason_at(NOW).map(Reason::as_str)
    };
    let other_device = refused(|document| document.device_key = another());
    assert_eq!(other_device, Some("device_auth_invalid"));
    let other_issuer = refused(|document| document.issuer_signed.key = another());
    assert_eq!(other_issuer, Some("issuer_signature_invalid"));
    let other_type = refused(|document| {
        document.issuer_signed.mso.set("docType", idgate_testkit::mdoc::MDL);
    });
    assert_eq!(other_type, Some("doc_type_mismatch"));
    let undigested = refused(|document| {
        document.issuer_signed.change("given_name", |item| item.map.set("elementValue", "Eve"));
    });
    assert_eq!(undigested, Some("digest_mismatch"));
}

#[test]
fn nonces_and_keys_are_fresh_for_each_session() {
    let mut gateway = Gateway::for_browsers(Way::Haip, DcApi::Unsigned);
    let [one, two] = [(); 2].map(|()| gateway.create_for(&asking(&["mdl"]), &[], &[SHOP]));
    let of = |session| gateway.iso_mdoc(session, SHOP).unwrap();
    let (of_one, of_two) = (of(&one), of(&two));
    assert_eq!((of_one.nonce.len(), of_two.nonce.len()), (32, 32));
    assert_ne!(of_one.nonce, of_two.nonce);
    assert_ne!(of_one.recipient, of_two.recipient);
}

#[test]
fn an_answer_cannot_be_replayed_to_another_session_of_the_page() {
    let mut gateway = Gateway::for_browsers(Way::Haip, DcApi::Unsigned);
    let [first, second] = [(); 2].map(|()| gateway.create_for(&asking(&["mdl"]), &[], &[SHOP]));
    let shown = answered(&gateway.iso_mdoc(&first, SHOP).unwrap());
    let of_second = gateway.iso_mdoc(&second, SHOP).unwrap();
    // As it was relayed, encrypted for the first session's key.
    let mut session = second.clone();
    let refused = gateway.relay(&mut session, &shown.credential().to_string());
    assert_eq!(refused, Err(NotAnAnswer::DecryptionFailed));
    assert_eq!(session.phase(), &Phase::Pending);
    // Decrypted and encrypted again by an attacker.
    let mut sealed_anew = answered(&of_second);
    sealed_anew.transcript = shown.transcript;
    let mut session = second.clone();
    let refused = gateway.relay(&mut session, &sealed_anew.credential().to_string());
    assert_eq!(refused, Ok(WalletReply::Refused));
    assert_eq!(session.reason_at(NOW), Some(Reason::DeviceAuthInvalid));
}
