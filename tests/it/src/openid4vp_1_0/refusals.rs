//! The failing modules: one part of an answer is wrong, and the tenant reads the reason.

use std::thread;

use idgate_testkit::openid4vp::Forgery;

use super::*;
use crate::stores;
use crate::tamper::Expected as Outcome;

/// A forgery and its outcome.
type Row = (Forgery, Outcome);

const fn refused(forgery: Forgery, reason: &'static str) -> Row {
    (forgery, Outcome::Refused(reason))
}

const OF_SD_JWT_VC: &[Row] = &[
    refused(Forgery::CredentialSignature, "issuer_signature_invalid"),
    refused(Forgery::KbSignature, "holder_binding_invalid"),
    refused(Forgery::KbKey, "holder_binding_invalid"),
    refused(Forgery::SdHash, "sd_hash_mismatch"),
    refused(Forgery::Nonce, "nonce_mismatch"),
    refused(Forgery::Audience, "audience_mismatch"),
    refused(Forgery::AudienceWithoutPrefix, "audience_mismatch"),
    refused(Forgery::AudienceOfResponseUri, "audience_mismatch"),
    refused(Forgery::IatYearBack, "kb_jwt_stale"),
    refused(Forgery::IatAhead, "kb_jwt_stale"),
    refused(Forgery::NoProof, "holder_binding_missing"),
];

const OF_MDOC: &[Row] = &[
    refused(Forgery::CredentialSignature, "issuer_signature_invalid"),
    refused(Forgery::Transcript, "device_auth_invalid"),
    refused(Forgery::TranscriptOfAnnexB, "device_auth_invalid"),
    refused(Forgery::TranscriptThumbprint, "device_auth_invalid"),
    refused(Forgery::TranscriptNonce, "device_auth_invalid"),
    refused(Forgery::TranscriptClient, "device_auth_invalid"),
    refused(Forgery::DeviceKey, "device_auth_invalid"),
    refused(Forgery::DeviceMac, "device_auth_invalid"),
    refused(Forgery::TwoDocuments, "malformed_presentation"),
    refused(Forgery::AnotherDocument, "malformed_presentation"),
];

const OF_EITHER: &[Row] = &[
    (Forgery::BareString, Outcome::Verified),
    refused(Forgery::UnknownQueryId, "submission_mismatch"),
    refused(Forgery::MissingQueryId, "submission_mismatch"),
    refused(Forgery::NoQueryId, "submission_mismatch"),
    refused(Forgery::SeveralPresentations, "submission_mismatch"),
    refused(Forgery::NoPresentations, "submission_mismatch"),
    refused(Forgery::ObjectElement, "malformed_presentation"),
    refused(Forgery::NumberElement, "malformed_presentation"),
    (Forgery::DraftString, Outcome::Transport("invalid_response")),
    (Forgery::DraftArray, Outcome::Transport("invalid_response")),
    (Forgery::State, Outcome::Transport("state_mismatch")),
    (Forgery::NoState, Outcome::Transport("invalid_response")),
];

const OF_ENCRYPTED: &[Row] = &[
    (Forgery::OtherKey, Outcome::Transport("decryption_failed")),
    (Forgery::Unencrypted, Outcome::Transport("invalid_response")),
];

#[test]
fn every_forgery_is_refused_for_its_own_reason_in_every_variant() {
    let wrong: Vec<String> = thread::scope(|scope| {
        let lanes = VARIANTS.map(|variant| stores::spawn(scope, move || mismatches(variant)));
        lanes.into_iter().flat_map(|lane| lane.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "{} rows differ:\n{}", wrong.len(), wrong.join("\n"));
}

fn mismatches(variant: Variant) -> Vec<String> {
    let mut desk = Desk::start(variant);
    let mut wrong = Vec::new();
    for (formats, rows) in [(SD_JWT_VC, OF_SD_JWT_VC), (MDOC, OF_MDOC)] {
        let envelope = if variant.encrypted { OF_ENCRYPTED } else { &[] };
        for (forgery, expected) in [rows, OF_EITHER, envelope].concat() {
            let got = outcome(&mut desk, formats, forgery);
            let should = (
                if expected.error().is_some() { 400 } else { 200 },
                expected.error().unwrap_or_default().into(),
                expected.status().into(),
                expected.reason().unwrap_or_default().into(),
            );
            if got != should {
                wrong.push(format!("{variant:?}, {forgery:?}: expected {should:?}, got {got:?}"));
            }
        }
    }
    wrong
}

/// HTTP status and `error`, and the session's status and reason.
fn outcome(desk: &mut Desk, formats: &[Format], forgery: Forgery) -> (u16, String, String, String) {
    let created = desk.create(formats);
    let asked = desk.request(&created, formats);
    let answer = desk.wallet.forge_1_0(&asked, forgery, now_ms()).unwrap();
    let reply = desk.post(&asked.response_uri, &answer.body());
    let session = desk.tenant.read(&created.id);
    let failed = session["status"] != "VERIFIED";
    assert!(!failed || session.get("claims").is_none(), "{forgery:?}: {session}");
    let text = |name: &str| session[name].as_str().unwrap_or_default().to_owned();
    let error = if reply.status == 200 { String::new() } else { reply.error() };
    (reply.status, error, text("status"), text("reason"))
}

#[test]
fn an_answer_to_another_session_settles_nothing() {
    for variant in [v1(Prefix::RedirectUri, false), HAIP] {
        let mut desk = Desk::start(variant);
        let [mine, other] = [(); 2].map(|()| desk.create(SD_JWT_VC));
        let (asked, foreign) = (desk.request(&mine, SD_JWT_VC), desk.request(&other, SD_JWT_VC));
        let answer = desk.answer(&foreign);
        let error = if variant.encrypted { "decryption_failed" } else { "state_mismatch" };
        desk.post(&asked.response_uri, &answer.body()).expect_error(400, error);
        assert_eq!(desk.tenant.read(&mine.id)["status"], "PENDING");
        desk.settle(&answer);
        desk.post(&answer.response_uri, &answer.body()).expect_error(409, "session_not_pending");
    }
}

#[test]
fn if_one_of_two_credentials_fails_both_are_rejected() {
    let mut desk = Desk::start(HAIP);
    for (forgery, reason) in [
        (Forgery::Nonce, "nonce_mismatch"),
        (Forgery::TranscriptNonce, "device_auth_invalid"),
        (Forgery::MissingQueryId, "submission_mismatch"),
    ] {
        let got = outcome(&mut desk, BOTH, forgery);
        let should = (400, "invalid_presentation".into(), "FAILED".into(), reason.into());
        assert_eq!(got, should, "{forgery:?}");
    }
}
