//! One presentation outside a session, with the front door: trust by statements, a verdict with
//! typed claims, and status in steps.

mod reports;

use std::collections::BTreeMap;

use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::revocation::VerifiedSource;
use idgate_core::trust::{Field, ListFile, ListState, RevocationPolicy};
use idgate_core::verify::Hint;
use idgate_core::{
    ClaimPath, CredentialFormat, Expected, Issuer, Mode, Need, PresentationStep, Reason, Refused,
    Sent, Supplied, Transcript, Trust, TrustError, UnixMillis, Verified,
};
use idgate_testkit::codec::base64url;
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::master_list::{MasterList, master_list_signer};
use idgate_testkit::mdoc::{DeviceProof, MDL, MDL_NAME_SPACE, device_response, openid4vp};
use idgate_testkit::request::AuthorizationRequest;
use idgate_testkit::samples::{self, ISSUER, MDL_ISSUER, VCT};
use idgate_testkit::status::{Crl, StatusJwt, StatusList, status_claim};
use idgate_testkit::time::{SAMPLE_NOW_MS, compact_utc, numeric_date};
use idgate_testkit::trusted_list::{
    Kind, TrustedList, list_ca, list_signer, list_signer_below, provider,
};
use idgate_testkit::wallet::{KbJwt, Presentation, present};
use idgate_testkit::x509::{CRL_URI, Identity, key_identifier};
use serde_json::{Value, json};

const NOW: UnixMillis = UnixMillis(SAMPLE_NOW_MS);
const CLIENT_ID: &str = "x509_san_dns:shop.example";
const NONCE: &str = "n-0S6_WzA2Mj";
const RESPONSE_URI: &str = "https://shop.example/answer";
const SENT: Sent<'static> = Sent { client_id: CLIENT_ID, nonce: NONCE, at: NOW };
const LIST: &str = "https://status.example/1";

fn jwk(key: &SigningKey) -> String {
    key.public_jwk().to_string()
}

fn pid() -> Issuer {
    Issuer::new(ISSUER).vct(VCT).jwk(jwk(&samples::issuer_key(Curve::P256)))
}

fn trust(issuer: Issuer) -> Trust {
    Trust::new(PROVIDER, [issuer]).unwrap()
}

/// A presentation of the sample credential with this status.
fn shown(status: Option<Value>) -> String {
    let holder = samples::holder_key(Curve::P256);
    let mut credential = samples::identity(&holder, NOW.0);
    if let Some(status) = status {
        credential = credential.plain("status", status);
    }
    let shown = Presentation::whole(&credential.issue(&samples::issuer_key(Curve::P256)));
    let request = AuthorizationRequest {
        client_id: CLIENT_ID.into(),
        response_uri: String::new(),
        nonce: NONCE.into(),
        state: String::new(),
        definition_id: String::new(),
        descriptors: Vec::new(),
    };
    present(&shown, Some(&KbJwt::new(&holder, &shown, &request, NOW.0).sign()))
}

#[derive(Debug, serde::Deserialize)]
struct Pid {
    birthdate: String,
}

#[test]
fn claims_deserialize_into_a_type_without_unrequested_ones() {
    let expected = Expected::sd_jwt_vc(ISSUER, SENT).claims(&["birthdate"]);
    let verified = trust(pid()).verify(&shown(None), &expected, NOW).unwrap();
    assert_eq!(verified.claims::<Pid>().unwrap().birthdate, "1984-08-12");
    assert_eq!(verified.claims_json(), r#"{"birthdate":"1984-08-12"}"#);
    assert_eq!(verified.facts().credential_type, VCT);
    assert!(verified.checks().all(|(_, passed)| passed));
    assert!(verified.checks().count() > 15);
}

#[test]
fn a_claim_type_error_does_not_quote_the_value() {
    #[derive(Debug, serde::Deserialize)]
    #[allow(dead_code)]
    struct Wrong {
        birthdate: u8,
    }
    #[derive(Debug, serde::Deserialize)]
    #[allow(dead_code)]
    struct More {
        family_name: String,
    }
    let expected = Expected::sd_jwt_vc(ISSUER, SENT).claims(&["birthdate"]);
    let verified = trust(pid()).verify(&shown(None), &expected, NOW).unwrap();
    let wrong = verified.claims::<Wrong>().unwrap_err().to_string();
    assert_eq!(wrong, "the claims do not fit: one has a different type than expected");
    let more = verified.claims::<More>().unwrap_err().to_string();
    assert_eq!(more, "the claims do not fit: missing field `family_name`");
}

#[test]
fn a_nested_claim_is_read_from_the_callers_path_or_the_issuers_default() {
    let path = |names: &[&str]| ClaimPath::from_json(&json!(names).to_string()).unwrap();
    let city = path(&["address", "locality"]);
    let expected = Expected::sd_jwt_vc(ISSUER, SENT).claims(&["city"]);
    let said = expected.clone().claim_at("city", city.clone());
    let read = |trust: Trust, expected: &Expected<'_>| {
        let verified = trust.verify(&shown(None), expected, NOW);
        verified.map(|it| it.claims::<BTreeMap<String, String>>().unwrap()["city"].clone())
    };
    assert_eq!(read(trust(pid()), &said).unwrap(), "Köln");
    assert_eq!(read(trust(pid().claim_at("city", city.clone())), &expected).unwrap(), "Köln");
    let street = trust(pid().claim_at("city", path(&["address", "street_address"])));
    assert_eq!(read(street, &said).unwrap(), "Köln", "the caller's counts");
    assert_eq!(read(trust(pid()), &expected).unwrap_err().reason(), Reason::ClaimMissing);
}

#[test]
fn a_refusal_names_reason_check_and_clause() {
    let refused = |sent: Sent<'_>| {
        let expected = Expected::sd_jwt_vc(ISSUER, sent);
        trust(pid()).verify(&shown(None), &expected, NOW).unwrap_err()
    };
    let nonce = refused(Sent { nonce: "another", ..SENT });
    assert_eq!(nonce.reason(), Reason::NonceMismatch);
    assert!(nonce.to_string().starts_with("nonce_mismatch: "), "{nonce}");
    assert!(nonce.to_string().contains("RFC 9901 7.3"), "{nonce}");
    assert_eq!(nonce.checks().filter(|(_, passed)| !passed).count(), 1);
    assert_eq!(refused(Sent { client_id: NONCE, ..SENT }).reason(), Reason::AudienceMismatch);
    let later = refused(Sent { at: NOW.plus(600_000), ..SENT });
    assert_eq!(later.reason(), Reason::KbJwtStale);
    assert_eq!((nonce.hint(), later.hint()), (None, None));
}

#[test]
fn an_issuer_that_is_not_trusted_is_refused_with_a_hint() {
    let expected = Expected::sd_jwt_vc("https://other.example", SENT);
    let refused = trust(pid()).verify(&shown(None), &expected, NOW).unwrap_err();
    assert_eq!(refused.reason(), Reason::UntrustedIssuer);
    assert_eq!(refused.hint(), Some(Hint::AddIssuer));
    // The hint does not help if the issuer is trusted by another key.
    let other = Issuer::new(ISSUER).jwk(jwk(&SigningKey::from_seed(Curve::P256, "other")));
    let expected = Expected::sd_jwt_vc(ISSUER, SENT);
    let refused = trust(other).verify(&shown(None), &expected, NOW).unwrap_err();
    assert_eq!((refused.reason(), refused.hint()), (Reason::IssuerSignatureInvalid, None));
}

#[test]
fn a_test_issuer_is_rejected_in_live_mode() {
    let expected = Expected::sd_jwt_vc(ISSUER, SENT).claims(&["given_name"]);
    let for_tests = trust(pid().test_only());
    let live = for_tests.verify(&shown(None), &expected, NOW);
    assert_eq!(live.unwrap_err().reason(), Reason::UntrustedIssuer);
    assert!(for_tests.verify(&shown(None), &expected.mode(Mode::Test), NOW).is_ok());
}

/// Steps until the verification is decided. `answer` supplies each need.
fn in_steps(
    trust: &Trust,
    vp_token: &str,
    answer: impl Fn(&Need) -> Option<Vec<u8>>,
) -> (Result<Verified, Refused>, Vec<Vec<Need>>, Vec<VerifiedSource>) {
    let expected = Expected::sd_jwt_vc(ISSUER, SENT).claims(&["given_name"]);
    let mut presentation = trust.begin(vp_token, &expected, NOW);
    let (mut rounds, mut sources) = (Vec::new(), Vec::new());
    loop {
        match presentation.step() {
            PresentationStep::Done(outcome) => return (*outcome, rounds, sources),
            PresentationStep::Need(needs) => {
                for need in &needs {
                    let body = answer(need);
                    let what = body.as_deref().map_or(Supplied::Unavailable, Supplied::Bytes);
                    sources.extend(presentation.supply(need, what, NOW));
                }
                rounds.push(needs);
            }
        }
    }
}

fn list_need() -> Need {
    Need::StatusList { uri: LIST.into(), format: CredentialFormat::SdJwtVc }
}

fn list() -> StatusJwt {
    StatusJwt::new(&StatusList::new(2, 8).with(1, 1), LIST, numeric_date(NOW.0))
}

#[test]
fn a_status_list_is_asked_for_and_decides() {
    let token = list().sign(&samples::issuer_key(Curve::P256)).into_bytes();
    for (idx, body, reason) in [
        (0, Some(&token), None),
        (1, Some(&token), Some(Reason::CredentialRevoked)),
        (0, None, Some(Reason::RevocationUnknown)),
    ] {
        let credential = shown(Some(status_claim(idx, LIST)));
        let (outcome, rounds, sources) = in_steps(&trust(pid()), &credential, |_| body.cloned());
        assert_eq!(outcome.err().map(|refused| refused.reason()), reason, "{idx}");
        assert_eq!(rounds, [[list_need()]]);
        assert_eq!(sources.len(), usize::from(body.is_some()));
    }
}

#[test]
fn an_authenticated_status_list_is_reused_by_the_next_verification() {
    let token = list().sign(&samples::issuer_key(Curve::P256)).into_bytes();
    let trust = trust(pid());
    let credential = shown(Some(status_claim(0, LIST)));
    let (_, _, sources) = in_steps(&trust, &credential, |_| Some(token.clone()));
    let expected = Expected::sd_jwt_vc(ISSUER, SENT).claims(&["given_name"]);
    let again = |trust: &Trust| {
        let mut presentation = trust.begin(&credential, &expected, NOW);
        let _first = presentation.step();
        let served = presentation.reuse(&sources[0]);
        let is_good = matches!(presentation.step(), PresentationStep::Done(it) if it.is_ok());
        (served, is_good)
    };
    assert_eq!(again(&trust), (true, true));
    // A version number does not affect cached results.
    assert_eq!(again(&trust.clone().with_version(2)), (true, true));
    // Rebuilt trust keeps no cached results, whether or not it is equal.
    let root = Identity::iaca(Curve::P256, NOW.0).der;
    let more = Trust::new(PROVIDER, [pid().status_roots(root)]).unwrap();
    assert_eq!(again(&more), (false, false));
    assert_eq!(again(&Trust::new(PROVIDER, [pid()]).unwrap()), (false, false));
}

#[test]
fn the_crl_of_a_lists_signer_is_a_second_round() {
    let root = Identity::iaca(Curve::P256, NOW.0);
    let signer = root.document_signer(Curve::P256, NOW.0);
    let x5c = idgate_testkit::jws::x5c(&[&signer.der]);
    let token = list().with_header("x5c", x5c).sign(&signer.key).into_bytes();
    let (from, until) = (compact_utc(NOW.0 - 1000), compact_utc(NOW.0 + 3_600_000));
    let crl = Crl::new(&root.builder.subject.der(), &key_identifier(&root.key), &from, &until);
    let crl = crl.sign(&root.key);
    let trust = trust(pid().status_roots(root.der.clone()));
    let credential = shown(Some(status_claim(0, LIST)));
    let both = |need: &Need| {
        Some(if matches!(need, Need::Crl { .. }) { crl.clone() } else { token.clone() })
    };
    let (outcome, rounds, _) = in_steps(&trust, &credential, both);
    assert!(outcome.is_ok(), "{outcome:?}");
    assert_eq!(rounds, [vec![list_need()], vec![Need::Crl { uri: CRL_URI.into() }]]);
    let without = |need: &Need| matches!(need, Need::StatusList { .. }).then(|| token.clone());
    let (outcome, _, _) = in_steps(&trust, &credential, without);
    assert_eq!(outcome.unwrap_err().reason(), Reason::RevocationUnknown);
}

#[test]
fn without_a_fetcher_a_published_status_is_rejected_with_the_remedy() {
    let expected = Expected::sd_jwt_vc(ISSUER, SENT).claims(&["given_name"]);
    let credential = shown(Some(status_claim(0, LIST)));
    let refused = trust(pid()).verify(&credential, &expected, NOW).unwrap_err();
    assert_eq!(refused.reason(), Reason::RevocationUnknown);
    assert_eq!(refused.hint(), Some(Hint::SupplyStatus));
    let off = trust(pid().revocation(RevocationPolicy::Off));
    assert!(off.verify(&credential, &expected, NOW).is_ok());
}

#[test]
fn a_decided_verification_cannot_be_decided_again() {
    let (trust, credential) = (trust(pid()), shown(None));
    let expected = Expected::sd_jwt_vc(ISSUER, SENT);
    let mut presentation = trust.begin(&credential, &expected, NOW);
    assert!(matches!(presentation.step(), PresentationStep::Done(it) if it.is_ok()));
    assert!(matches!(presentation.step(), PresentationStep::Done(it) if it.is_err()));
    assert!(!format!("{presentation:?}").contains(NONCE));
}

/// The sample licence with its device's signature over that transcript, in base64url.
fn licence(transcript: &[u8]) -> (samples::SampleMdl, String) {
    let sample = samples::issue_mdl(NOW.0);
    let document = sample.document.prove(transcript, &DeviceProof::Signature);
    let text = base64url(&device_response(vec![document]).encode());
    (sample, text)
}

fn expected_licence(transcript: Transcript<'static>) -> Expected<'static> {
    Expected::mdoc(MDL_ISSUER, MDL, MDL_NAME_SPACE, transcript, SENT)
        .claims(&["family_name"])
        .mode(Mode::Test)
}

#[test]
fn a_root_with_the_mark_of_a_sandbox_verifies_in_test_mode_alone() {
    let (sample, text) = licence(&openid4vp(CLIENT_ID, NONCE, None, RESPONSE_URI));
    let root = sample.root.builder.marked_as_sample().sign(&sample.root.key);
    let trust = trust(Issuer::new(MDL_ISSUER).doc_type(MDL).iaca_roots(root));
    let expected = expected_licence(Transcript::openid4vp(RESPONSE_URI));
    assert!(trust.verify(&text, &expected, NOW).is_ok());
    let refused = trust.verify(&text, &expected.mode(Mode::Live), NOW).unwrap_err();
    assert_eq!(refused.reason(), Reason::UntrustedIssuer);
    assert!(refused.to_string().contains("sandbox samples"), "{refused}");
}

#[test]
fn an_mdoc_is_verified_by_its_root() {
    let (sample, text) = licence(&openid4vp(CLIENT_ID, NONCE, None, RESPONSE_URI));
    let issuer = Issuer::new(MDL_ISSUER).doc_type(MDL).iaca_roots(sample.root.der.clone());
    let trust = trust(issuer);
    let expected = expected_licence(Transcript::openid4vp(RESPONSE_URI));
    let verified = trust.verify(&text, &expected, NOW).unwrap();
    assert_eq!(verified.claims_json(), r#"{"family_name":"Mustermann"}"#);
    for other in [
        Transcript::openid4vp("https://shop.example/other"),
        Transcript::dc_api("https://shop.example"),
        Transcript::openid4vp(RESPONSE_URI)
            .encrypted_to(jwk(&SigningKey::from_seed(Curve::P256, "reader")).as_bytes())
            .unwrap(),
    ] {
        let refused = trust.verify(&text, &expected_licence(other), NOW).unwrap_err();
        assert_eq!(refused.reason(), Reason::DeviceAuthInvalid);
    }
    let not_text = trust.verify("{}", &expected, NOW).unwrap_err();
    assert_eq!(not_text.reason(), Reason::MalformedPresentation);
}

#[test]
fn the_key_and_the_nonce_of_an_encrypted_answer_are_read_when_they_are_given() {
    let plain = || Transcript::openid4vp(RESPONSE_URI);
    for bad in ["", "{}", r#"{"kty":"RSA"}"#, r#"{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}"#] {
        let error = plain().encrypted_to(bad.as_bytes()).unwrap_err();
        assert!(error.to_string().starts_with("the JWK "), "{bad}: {error}");
    }
    let error = plain().apu("not base64url").unwrap_err();
    assert_eq!(error.to_string(), "the apu is not UTF-8 text in base64url");
    assert!(plain().apu("bm9uY2U").is_ok());
}

#[track_caller]
fn error(issuer: Issuer) -> TrustError {
    Trust::new(PROVIDER, [pid(), issuer]).unwrap_err()
}

#[test]
fn each_field_of_an_issuer_that_cannot_be_used_is_named() {
    let issuer = || Issuer::new("https://dmv.example");
    let root = Identity::iaca(Curve::P256, NOW.0);
    let list = || ListFile::new("what?", NOW).signed_below(root.der.clone());
    let cases: [(Issuer, Field, &str); 16] = [
        (issuer().jwk("{"), Field::Jwk, "is not strict JSON"),
        (issuer().jwk("{}"), Field::Jwk, "has no kty EC"),
        (issuer().jwk(r#"{"keys":[]}"#), Field::Jwk, "is a JWK Set without keys"),
        (
            issuer().jwk(r#"{"keys":[{}]}"#),
            Field::Jwk,
            "has a key with number 0 that has no kty EC",
        ),
        (issuer().public_key_pem("key"), Field::PublicKeyPem, "is not one PEM block"),
        (issuer().iaca_roots("roots"), Field::IacaRoots, "is neither PEM nor DER"),
        (issuer().mdoc_signers("signers"), Field::MdocSigners, "is neither PEM nor DER"),
        (issuer().x5c_roots("roots"), Field::X5cRoots, "is neither PEM nor DER"),
        (issuer().x5c_signers("signers"), Field::X5cSigners, "is neither PEM nor DER"),
        (issuer().status_roots("roots"), Field::StatusRoots, "is neither PEM nor DER"),
        (issuer().crls("crls"), Field::Crls, "is neither PEM nor DER"),
        (issuer().vical(list()), Field::Vical, "is not CBOR"),
        (issuer().master_list(list()), Field::MasterList, ""),
        (issuer().trusted_list(list()), Field::TrustedList, ""),
        (issuer().mdoc_eku("one.two"), Field::MdocEku, "is not an object identifier"),
        (issuer().x5c_eku("one.two"), Field::X5cEku, "is not an object identifier"),
    ];
    for (issuer, field, why) in cases {
        let error = error(issuer);
        assert_eq!((error.issuer().as_str(), error.field()), ("https://dmv.example", field));
        assert!(error.why().starts_with(why) && !error.why().is_empty(), "{error}");
        let text = error.to_string();
        assert!(text.starts_with(&format!("https://dmv.example: {}", field.name())), "{text}");
        assert!(!text.contains("--") && !text.contains("IDGATE_"), "{text}");
    }
    let days = error(issuer().status_max_age_days(0));
    assert_eq!(days.to_string(), "https://dmv.example: status_max_age_days: is not 1 to 3650");
}

#[test]
fn an_error_in_a_list_field_has_the_index_of_the_value() {
    let root = Identity::iaca(Curve::P256, NOW.0).der;
    let issuer = Issuer::new("dmv").iaca_roots(root.clone()).x5c_roots("?").iaca_roots(root);
    assert_eq!(error(issuer.clone()).index(), None);
    let error = error(issuer.x5c_roots("?"));
    assert_eq!((error.field(), error.index()), (Field::X5cRoots, Some(0)));
    assert_eq!(error.to_string(), "dmv: x5c_roots[0]: is neither PEM nor DER");
}

#[test]
fn two_issuers_with_the_same_name_are_rejected() {
    let twice = error(pid());
    assert_eq!((twice.field(), twice.issuer().as_str()), (Field::Id, ISSUER));
}

#[test]
fn a_key_set_adds_all_its_keys() {
    let (own, other) = (samples::issuer_key(Curve::P256), SigningKey::from_seed(Curve::P384, "x"));
    let set = json!({ "keys": [other.public_jwk(), own.public_jwk()] }).to_string();
    let trust = trust(Issuer::new(ISSUER).jwk(set));
    assert!(trust.verify(&shown(None), &Expected::sd_jwt_vc(ISSUER, SENT), NOW).is_ok());
}

#[test]
fn a_crl_is_read_with_the_roots_whichever_is_given_first() {
    let root = Identity::iaca(Curve::P256, NOW.0);
    let (from, until) = (compact_utc(NOW.0 - 1000), compact_utc(NOW.0 + 3_600_000));
    let crl = Crl::new(&root.builder.subject.der(), &key_identifier(&root.key), &from, &until);
    let crl = crl.sign(&root.key);
    let issuer = || Issuer::new("dmv");
    for good in [
        issuer().crls(crl.clone()).iaca_roots(root.der.clone()),
        issuer().iaca_roots(root.der.clone()).crls(crl.clone()),
    ] {
        assert!(Trust::new(PROVIDER, [good]).is_ok());
    }
    assert_eq!(error(issuer().crls(crl)).field(), Field::Crls);
}

#[test]
fn a_list_whose_signer_is_unknown_is_for_tests() {
    let ca = Identity::iaca(Curve::P256, NOW.0);
    let file = MasterList::new(&[&ca.der], NOW.0).sign(&master_list_signer(&ca, NOW.0));
    let list = || ListFile::new(file.clone(), NOW);
    let unsigned = error(Issuer::new("dmv").master_list(list()));
    assert!(unsigned.why().contains("anyone could have made the list"), "{unsigned}");
    let good = Trust::new(PROVIDER, [Issuer::new("dmv").master_list(list()).test_only()]).unwrap();
    assert_eq!((good.lists().len(), good.lists()[0].taken), (1, 1));
    let signed = Issuer::new("dmv").master_list(list().signed_below(ca.der.clone()));
    assert_eq!(trust(signed).lists()[0].field, Field::MasterList);
    let other = Identity::iaca(Curve::P384, NOW.0);
    let refused = error(Issuer::new("dmv").master_list(list().signed_below(other.der)));
    assert_eq!(refused.field(), Field::MasterList);
}

#[test]
fn an_older_trusted_list_is_rejected_also_after_a_restart() {
    let signer = list_signer(NOW.0);
    let root = Identity::issuer_root(Curve::P256, NOW.0);
    let publish = |sequence: u64| {
        let services = [Kind::Pid.issuance(&[&root.der])];
        let provider = provider("Provider", "VATDE-1", "DE", &services);
        let list = TrustedList::new(Kind::Pid, NOW.0).with(provider).numbered(sequence);
        ListFile::new(list.sign(&signer), NOW).signed_below(signer.der.clone())
    };
    let issuer = |file: ListFile| Issuer::new("pids").vct(VCT).trusted_list(file);
    let first = trust(issuer(publish(7)));
    let state = first.lists()[0].state.as_ref().unwrap().to_string();
    let state: ListState = state.parse().unwrap();
    assert_eq!(first.lists()[0].state.as_ref(), Some(&state));
    assert!(first.lists()[0].next_update.is_some());
    assert!(Trust::new(PROVIDER, [issuer(publish(8).after(&state))]).is_ok());
    let older = error(issuer(publish(6).after(&state)));
    assert_eq!(older.field(), Field::TrustedList);
    assert!(Trust::new(PROVIDER, [issuer(publish(6))]).is_ok(), "without the state");
}

#[test]
fn the_signer_of_a_trusted_list_is_checked_against_its_cas_crls() {
    let ca = list_ca(NOW.0);
    let signer = list_signer_below(&ca, "Example Operator", NOW.0);
    let root = Identity::issuer_root(Curve::P256, NOW.0);
    let services = [Kind::Pid.issuance(&[&root.der])];
    let list = TrustedList::new(Kind::Pid, NOW.0);
    let list = list.with(provider("Provider", "VATDE-1", "DE", &services)).sign(&signer);
    let crl = |by: &Identity, revoked: Option<&[u8]>| {
        let (from, until) = (compact_utc(NOW.0 - 1000), compact_utc(NOW.0 + 3_600_000));
        let crl = Crl::new(&by.builder.subject.der(), &key_identifier(&by.key), &from, &until);
        revoked.map_or_else(|| crl.clone(), |serial| crl.clone().revoke(serial)).sign(&by.key)
    };
    let file = || ListFile::new(list.clone(), NOW).signed_below(ca.der.clone());
    let read = |file| Trust::new(PROVIDER, [Issuer::new("pids").vct(VCT).trusted_list(file)]);
    assert!(read(file()).is_ok());
    assert!(read(file().crls(crl(&ca, None))).is_ok());
    let revoked = read(file().crls(crl(&ca, Some(&signer.builder.serial)))).unwrap_err();
    assert!(revoked.why().contains("revoked"), "{revoked}");
    let other = read(file().crls(crl(&root, None))).unwrap_err();
    assert_eq!(other.why(), "has a CRL that no CA of its signer signed");
}

#[test]
fn options_of_one_list_kind_are_rejected_for_another() {
    let ca = Identity::iaca(Curve::P256, NOW.0);
    let list = MasterList::new(&[&ca.der], NOW.0).sign(&master_list_signer(&ca, NOW.0));
    let file = || ListFile::new(list.clone(), NOW).signed_below(ca.der.clone());
    for (file, why) in [
        (file().crls("?"), "has CRLs or the state of the previous list"),
        (file().allow_stale(), "does not say when a newer one is due"),
    ] {
        let refused = error(Issuer::new("dmv").master_list(file));
        assert!(refused.why().starts_with(why), "{refused}");
    }
}
