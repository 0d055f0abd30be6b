//! One part of an answer is forged: the reason of the rejection, or why nothing changes.

use idgate_core::error::NotAnAnswer;
use idgate_core::trust::DeviceResponseDocuments;
use idgate_core::verify::WalletReply;
use idgate_testkit::openid4vp::{Answer, Forgery};

use super::harness::{Gateway, NOW, WAYS, Way, asking, wallet};

pub(super) const SD_JWT_VC: &[(Forgery, &str)] = &[
    (Forgery::CredentialSignature, "issuer_signature_invalid"),
    (Forgery::KbSignature, "holder_binding_invalid"),
    (Forgery::KbKey, "holder_binding_invalid"),
    (Forgery::SdHash, "sd_hash_mismatch"),
    (Forgery::Nonce, "nonce_mismatch"),
    (Forgery::Audience, "audience_mismatch"),
    (Forgery::AudienceWithoutPrefix, "audience_mismatch"),
    (Forgery::AudienceOfResponseUri, "audience_mismatch"),
    (Forgery::IatYearBack, "kb_jwt_stale"),
    (Forgery::IatAhead, "kb_jwt_stale"),
    (Forgery::NoProof, "holder_binding_missing"),
];

pub(super) const MDOC: &[(Forgery, &str)] = &[
    (Forgery::CredentialSignature, "issuer_signature_invalid"),
    (Forgery::Transcript, "device_auth_invalid"),
    (Forgery::TranscriptOfAnnexB, "device_auth_invalid"),
    (Forgery::TranscriptThumbprint, "device_auth_invalid"),
    (Forgery::TranscriptNonce, "device_auth_invalid"),
    (Forgery::TranscriptClient, "device_auth_invalid"),
    (Forgery::DeviceMac, "device_auth_invalid"),
    (Forgery::DeviceKey, "device_auth_invalid"),
    (Forgery::TwoDocuments, "malformed_presentation"),
    (Forgery::AnotherDocument, "malformed_presentation"),
];

const MALFORMED: &str = "malformed_presentation";

pub(super) const SUBMISSION: &[(Forgery, &str)] = &[
    (Forgery::UnknownQueryId, "submission_mismatch"),
    (Forgery::MissingQueryId, "submission_mismatch"),
    (Forgery::NoQueryId, "submission_mismatch"),
    (Forgery::SeveralPresentations, "submission_mismatch"),
    (Forgery::NoPresentations, "submission_mismatch"),
    (Forgery::ObjectElement, "malformed_presentation"),
    (Forgery::NumberElement, "malformed_presentation"),
];

type Outcome = (Result<WalletReply, NotAnAnswer>, Option<&'static str>);

fn forged(way: Way, id: &str, forgery: Forgery) -> Outcome {
    forged_at(&mut Gateway::of(way), way, id, forgery)
}

fn forged_at(gateway: &mut Gateway, way: Way, id: &str, forgery: Forgery) -> Outcome {
    let mut session = gateway.create(&asking(&[id]), &[]);
    let request = gateway.read(way, &session);
    let answer = wallet().forge_1_0(&request, forgery, NOW.0).unwrap();
    let reply = gateway.post(&mut session, &answer.body());
    (reply, session.reason_at(NOW).map(|reason| reason.as_str()))
}

/// HAIP 5.3.1 requires one document from the wallet, and by default others may not send more
/// either.
#[test]
fn an_entry_may_take_a_device_response_of_several_documents() {
    for way in both() {
        for (documents, forgery, expected) in [
            (DeviceResponseDocuments::One, Forgery::None, None),
            (DeviceResponseDocuments::One, Forgery::AnotherDocument, Some(MALFORMED)),
            (DeviceResponseDocuments::Any, Forgery::AnotherDocument, None),
            (DeviceResponseDocuments::Any, Forgery::TwoDocuments, Some(MALFORMED)),
        ] {
            let mut gateway = Gateway::taking(way, documents);
            let (reply, why) = forged_at(&mut gateway, way, "mdl", forgery);
            assert_eq!(why, expected, "{way:?} {documents:?} {forgery:?}");
            assert_eq!(reply == Ok(WalletReply::Refused), why.is_some(), "{reply:?}");
        }
    }
}

/// By value and plain, by reference and encrypted.
fn both() -> [Way; 2] {
    [Way::Inline { encrypted: false }, Way::Haip]
}

#[test]
fn a_forged_presentation_is_refused_with_its_reason() {
    for way in both() {
        for (id, rows) in
            [("pid", SD_JWT_VC), ("mdl", MDOC), ("pid", SUBMISSION), ("mdl", SUBMISSION)]
        {
            for (forgery, reason) in rows {
                let (reply, why) = forged(way, id, *forgery);
                assert_eq!(reply, Ok(WalletReply::Refused), "{way:?} {id} {forgery:?}");
                assert_eq!(why, Some(*reason), "{way:?} {id} {forgery:?}");
            }
        }
    }
}

#[test]
fn a_bare_string_counts_as_an_array_of_one() {
    for way in both() {
        let (reply, _) = forged(way, "pid", Forgery::BareString);
        assert!(matches!(reply, Ok(WalletReply::Accepted { .. })), "{way:?}: {reply:?}");
    }
}

#[test]
fn a_draft_answer_to_a_1_0_offer_changes_nothing() {
    for way in both() {
        for forgery in [Forgery::DraftString, Forgery::DraftArray] {
            let (reply, why) = forged(way, "pid", forgery);
            assert!(matches!(reply, Err(NotAnAnswer::Malformed(_))), "{way:?} {forgery:?}");
            assert_eq!(why, None);
        }
    }
}

#[test]
fn an_answer_to_another_offer_changes_nothing() {
    for way in both() {
        assert_eq!(forged(way, "pid", Forgery::State), (Err(NotAnAnswer::StateMismatch), None));
        let (reply, why) = forged(way, "pid", Forgery::NoState);
        assert!(matches!((reply, why), (Err(NotAnAnswer::Malformed(_)), None)), "{way:?}");
    }
    let (reply, why) = forged(Way::Haip, "pid", Forgery::OtherKey);
    assert_eq!((reply, why), (Err(NotAnAnswer::DecryptionFailed), None));
    let (reply, why) = forged(Way::Haip, "pid", Forgery::Unencrypted);
    assert!(matches!((reply, why), (Err(NotAnAnswer::Malformed(_)), None)));
}

#[test]
fn a_declining_wallet_is_redirected_with_a_new_code() {
    for way in WAYS {
        for encrypted in [false, way.is_encrypted()] {
            let mut gateway = Gateway::of(way);
            let mut session = gateway.create(&asking(&["pid"]), &[]);
            let request = gateway.read(way, &session);
            let body = Answer::error(&request, "access_denied", encrypted).body();
            let reply = gateway.post(&mut session, &body).unwrap();
            let WalletReply::ErrorNoted { redirect_uri: Some(uri), .. } = &reply else {
                panic!("{way:?}: {reply:?}")
            };
            let code = uri.strip_prefix("https://shop.example/done?response_code=").unwrap();
            assert_eq!(code.len(), 22, "128 bits");
            assert!(reply.body().unwrap().starts_with("{\"redirect_uri\":"));
            let why = session.wallet_error().map(|error| error.as_str());
            assert_eq!(why, Some("access_denied"));
        }
    }
}

#[test]
fn only_errors_of_openid4vp_are_reported_by_name() {
    for (sent, kept) in [
        ("access_denied", "access_denied"),
        ("invalid_request", "invalid_request"),
        ("invalid_client", "invalid_client"),
        ("vp_formats_not_supported", "vp_formats_not_supported"),
        ("invalid_request_uri_method", "invalid_request_uri_method"),
        ("invalid_transaction_data", "invalid_transaction_data"),
        ("wallet_unavailable", "wallet_unavailable"),
        ("processing_error", "processing_error"),
        ("Erika said no", "other"),
    ] {
        let mut gateway = Gateway::of(Way::Haip);
        let mut session = gateway.create(&asking(&["pid"]), &[]);
        let request = gateway.read(Way::Haip, &session);
        let body = Answer::error(&request, sent, true).body();
        gateway.settle(&mut session, None, &body);
        assert_eq!(session.wallet_error().map(|error| error.as_str()), Some(kept), "{sent}");
    }
}
