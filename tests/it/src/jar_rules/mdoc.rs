//! mdoc in encrypted answers: two transcripts, signature or MAC, and the exact bytes that they
//! bind.

use idgate_core::crypto::{Curve as CoreCurve, PublicKey, aws_lc_rs};
use idgate_core::shell::Handover;
use idgate_testkit::codec::base64url;
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::mdoc::{DeviceProof, iso_18013_7, openid4vp};
use idgate_testkit::request_object::JarRequest;
use idgate_testkit::samples;
use idgate_testkit::wallet::{Answer, JarAnswer, Transcript, disclosing, prove_mdoc};
use serde_json::json;

use super::harness::{CREATED, Gateway, NOW, wallet};

const NONCE: &str = "the wallet's own nonce";

/// An answer with a device proof for these transcript bytes.
fn answer(jar: &JarRequest, transcript: &[u8], proof: &DeviceProof) -> JarAnswer {
    let document = samples::issue_mdl(CREATED.0).document;
    let asked = &jar.request.descriptors[0];
    let shown = disclosing(&document, asked.name_space.as_ref().unwrap(), &asked.claims).unwrap();
    let token = prove_mdoc(&shown, transcript, proof);
    JarAnswer::new(jar, &Answer::new(&jar.request, vec![token]))
}

fn mac(jar: &JarRequest) -> DeviceProof {
    DeviceProof::Mac(jar.key.point.clone())
}

fn with_apu(mut answer: JarAnswer, apu: &[u8], apv: &[u8]) -> JarAnswer {
    answer.encryption = answer.encryption.with_party_info(apu, apv);
    answer
}

#[test]
fn both_transcripts_and_both_proofs_are_accepted_and_named() {
    for (transcript, name) in
        [(Transcript::OpenId4Vp, "openid4vp-1.0"), (Transcript::Iso180137, "iso18013-7")]
    {
        for (device_mac, binding) in [(false, "device_signature"), (true, "device_mac")] {
            let mut gateway = Gateway::jar();
            let (mut session, jar) = gateway.open(&["mdl"]);
            let answer = wallet().answer_jar(&jar, transcript, device_mac, NOW.0).unwrap();
            let (claims, details) = gateway.verified(&mut session, &answer.form_body());
            let expected = json!({"mdl": {"family_name": "Mustermann", "age_over_18": true}});
            assert_eq!(claims, expected);
            let credential = &details["credentials"][0];
            assert_eq!(credential["holder_binding"], binding);
            assert_eq!(credential["session_transcript"], name);
            assert_eq!(credential["decided_by"], json!({"age_over_18": "age_over_21"}));
        }
    }
}

/// The product's transcripts equal those that the sample wallet builds with its own code.
#[test]
fn transcripts_are_byte_exact() {
    let (_, jar) = Gateway::jar().open(&["mdl"]);
    let request = &jar.request;
    let key = PublicKey::from_sec1(CoreCurve::P256, &jar.key.point).unwrap();
    let thumbprint = key.thumbprint(&aws_lc_rs::PROVIDER);
    assert_eq!(base64url(&thumbprint), jar.key.kid);
    let bytes = |handover: Handover<'_>| {
        handover.session_transcript(
            &aws_lc_rs::PROVIDER,
            "did:web:gateway.example%3A8443",
            &request.nonce,
            &request.response_uri,
        )
    };
    let (client_id, nonce, uri) = (&request.client_id, &request.nonce, &request.response_uri);
    assert_eq!(
        bytes(Handover::OpenId4Vp { jwk_thumbprint: Some(&thumbprint) }),
        openid4vp(client_id, nonce, Some(&jar.key.thumbprint()), uri)
    );
    assert_eq!(
        bytes(Handover::Iso180137 { mdoc_generated_nonce: NONCE }),
        iso_18013_7(client_id, nonce, NONCE, uri)
    );
}

#[test]
fn the_annex_b_transcript_binds_apu_and_needs_the_right_apv() {
    for (apu, apv, good) in [
        (NONCE.as_bytes(), None, true),
        (b"another nonce".as_slice(), None, false),
        (NONCE.as_bytes(), Some(&b"not the request's nonce"[..]), false),
        (b"".as_slice(), None, false),
        (b"\xff\xfe".as_slice(), None, false),
    ] {
        let mut gateway = Gateway::jar();
        let (mut session, jar) = gateway.open(&["mdl"]);
        let transcript = Transcript::Iso180137.encode(&jar, NONCE);
        let apv = apv.unwrap_or(jar.request.nonce.as_bytes());
        let answer = with_apu(answer(&jar, &transcript, &DeviceProof::Signature), apu, apv);
        if good {
            gateway.verified(&mut session, &answer.form_body());
        } else {
            let reason = gateway.refused(&mut session, &answer.form_body());
            assert_eq!(reason, "device_auth_invalid", "{apu:?} {apv:?}");
        }
    }
}

#[test]
fn the_annex_b_transcript_needs_apu_but_not_apv() {
    for (absent, good) in [("apv", true), ("apu", false)] {
        let mut gateway = Gateway::jar();
        let (mut session, jar) = gateway.open(&["mdl"]);
        let transcript = Transcript::Iso180137.encode(&jar, NONCE);
        let answer = answer(&jar, &transcript, &DeviceProof::Signature);
        let (apu, apv) = match absent {
            "apv" => (NONCE, ""),
            _ => ("", &*jar.request.nonce),
        };
        let mut answer = with_apu(answer, apu.as_bytes(), apv.as_bytes());
        answer.encryption.header.remove(absent);
        if good {
            gateway.verified(&mut session, &answer.form_body());
        } else {
            let reason = gateway.refused(&mut session, &answer.form_body());
            assert_eq!(reason, "device_auth_invalid", "without {absent}");
        }
    }
}

#[test]
fn the_transcript_of_openid4vp_needs_neither_apu_nor_apv() {
    let mut gateway = Gateway::jar();
    let (mut session, jar) = gateway.open(&["mdl"]);
    let transcript = Transcript::OpenId4Vp.encode(&jar, NONCE);
    let mut answer = answer(&jar, &transcript, &DeviceProof::Signature);
    answer.encryption = JarAnswer::encryption(&jar, answer.encryption.enc, "bare");
    let (_, details) = gateway.verified(&mut session, &answer.form_body());
    assert_eq!(details["credentials"][0]["session_transcript"], "openid4vp-1.0");
}

/// Replaces each value that a transcript binds with another one.
#[test]
fn a_proof_for_another_request_is_refused() {
    type Change = (&'static str, fn(&mut JarRequest));
    let another = [7; 32];
    let changes: [Change; 3] = [
        ("client_id", |jar| jar.request.client_id = "did:web:gateway.example".into()),
        ("nonce", |jar| jar.request.nonce.push('x')),
        ("response_uri", |jar| jar.request.response_uri.push('x')),
    ];
    for transcript in [Transcript::OpenId4Vp, Transcript::Iso180137] {
        for (what, change) in changes {
            let mut gateway = Gateway::jar();
            let (mut session, jar) = gateway.open(&["mdl"]);
            let mut changed = jar.clone();
            change(&mut changed);
            let bytes = transcript.encode(&changed, NONCE);
            let answer = answer(&jar, &bytes, &DeviceProof::Signature);
            let answer = with_apu(answer, NONCE.as_bytes(), jar.request.nonce.as_bytes());
            let reason = gateway.refused(&mut session, &answer.form_body());
            assert_eq!(reason, "device_auth_invalid", "{transcript:?} {what}");
        }
    }
    for thumbprint in [None, Some(&another[..])] {
        let mut gateway = Gateway::jar();
        let (mut session, jar) = gateway.open(&["mdl"]);
        let (request, nonce) = (&jar.request, &jar.request.nonce);
        let bytes = openid4vp(&request.client_id, nonce, thumbprint, &request.response_uri);
        let answer = answer(&jar, &bytes, &DeviceProof::Signature);
        let reason = gateway.refused(&mut session, &answer.form_body());
        assert_eq!(reason, "device_auth_invalid", "{thumbprint:?}");
    }
}

#[test]
fn a_device_mac_is_bound_to_the_session_key() {
    let another = SigningKey::from_seed(Curve::P256, "another reader").public_sec1();
    for transcript in [Transcript::OpenId4Vp, Transcript::Iso180137] {
        let mut gateway = Gateway::jar();
        let (mut session, jar) = gateway.open(&["mdl"]);
        let bytes = transcript.encode(&jar, NONCE);
        let answer = answer(&jar, &bytes, &DeviceProof::Mac(another.clone()));
        let answer = with_apu(answer, NONCE.as_bytes(), jar.request.nonce.as_bytes());
        assert_eq!(gateway.refused(&mut session, &answer.form_body()), "device_auth_invalid");
        let (mut session, jar) = gateway.open(&["mdl"]);
        let bytes = transcript.encode(&jar, NONCE);
        let answer = self::answer(&jar, &bytes, &mac(&jar));
        let answer = with_apu(answer, NONCE.as_bytes(), jar.request.nonce.as_bytes());
        gateway.verified(&mut session, &answer.form_body());
    }
}
