//! Requests of tenants, sessions that are not created, and answers that change nothing.

use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;

use idgate_testkit::jws::sign_jws;
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::time::DAY_MS;
use idgate_testkit::trusted_list::{Kind, TrustedList, list_signer, provider};
use idgate_testkit::x509::{CertificateBuilder, Identity, Name, SUBJECT_ALT_NAME, dns_names};
use serde_json::{Value, json};

use super::assert_neutral;
use crate::codec::base64url;
use crate::crypto::tests::PROVIDER;
use crate::crypto::{Es256Key, SoftwareSigner};
use crate::error::{CreateError, Remedy, RequestError};
use crate::request::fixtures::{CountingEntropy, NOW};
use crate::request::{Profile, RegistrationCertificate, SpokenProfiles};
use crate::session::ClientIdForm;
use crate::trust::ListFile;
use crate::verifier::{Asked, DcApi, ProfileOptions};
use crate::{Answer, Issuer, Mode, NewSession, Request, Session, Trust, UnixMillis, Verifier};

const URL: &str = "https://verifier.example";
const MDL: &str = "org.iso.18013.5.1.mDL";
/// How long the certificate of the verifier is valid.
const DAYS: u64 = 30;

fn credential(more: Value) -> Value {
    merged(json!({"format": "dc+sd-jwt", "issuer_id": "listed", "claims": ["a"]}), more)
}

fn merged(mut object: Value, more: Value) -> Value {
    let Value::Object(more) = more else { unreachable!("an object") };
    object.as_object_mut().unwrap().extend(more);
    object
}

/// Asks for one credential, with these members in it and in the request.
fn body(of_credential: Value, more: Value) -> Value {
    let base =
        json!({"credentials": [credential(of_credential)], "redirect_uri": "https://a.example/"});
    merged(base, more)
}

#[test]
fn texts_about_a_body_are_neutral() {
    let of_request = [
        json!({"credentials": []}),
        json!({"credentials": {}}),
        json!({"credentials": vec![credential(json!({})); 11]}),
        json!({"issuer_id": "two"}),
        json!({"ttl_ms": 1}),
        json!({"ttl_ms": "1"}),
        json!({"redirect_uri": "javascript:alert(1)"}),
        json!({"redirect_uri": "/done"}),
        json!({"profile": "2.0"}),
        json!({"profiles": []}),
        json!({"profiles": ["1.0", "1.0"]}),
        json!({"profile": "1.0", "profiles": ["1.0"]}),
        json!({"same_device": 1}),
        json!({"same_subject_groups": [["a"]]}),
        json!({"credential_sets": []}),
        json!({"credential_sets": [{"options": [["x"]]}]}),
        json!({"distinct_credentials": 1}),
        json!({"on_unknown_revocation": "tenant"}),
        json!({"transaction_data": [{"type": "t", "credential_ids": ["x"]}]}),
        json!({"dc_api": {}}),
        json!({"dc_api": {"origins": ["http://a.example"]}}),
        json!({"profile": "draft", "dc_api": {"origins": ["https://a.example"]}}),
        json!({"unheard_of": true}),
    ];
    let of_credential = [
        json!({"format": "jwt"}),
        json!({"issuer_id": 1}),
        json!({"claims": []}),
        json!({"claims": ["<script>"]}),
        json!({"claims": ["_sd"]}),
        json!({"id": "a b".repeat(100)}),
        json!({"alg": "none"}),
        json!({"doc_type": MDL}),
        json!({"claim_filters": {"a": {"type": "uuid"}}}),
        json!({"claim_filters": {"a": {"pattern": "(?i)x"}}}),
        json!({"claim_filters": {"a": {"minimum": "x"}}}),
        json!({"claim_paths": {"a": []}}),
        json!({"subject_claims": []}),
        json!({"unheard_of": true}),
    ];
    let texts = ["", "{", "[]", "null", r#"{"a":1,"a":2}"#, r#"{"a":1e999}"#, "{\"a\":\"\u{7}\"}"];
    let bodies = of_request.into_iter().map(|more| body(json!({}), more));
    let bodies = bodies.chain(of_credential.into_iter().map(|more| body(more, json!({}))));
    let bodies = bodies.chain([json!({}), json!({"issuer_id": "two", "credentials": []})]);
    let bodies = bodies.map(|body| body.to_string()).chain(texts.map(String::from));
    for body in bodies.chain(["x".repeat(64 * 1024 + 1)]) {
        let refused = Request::from_json(body.as_bytes());
        assert!(refused.is_err(), "{body}");
        assert_neutral(refused.unwrap_err());
    }
}

/// An issuer with a key, without types; one with a root of mdocs; and two from trusted lists, of
/// which the first names no types.
fn trust() -> Trust {
    let root = Identity::issuer_root(Curve::P256, NOW.0);
    let listed = |kind: Kind| {
        let services = [kind.issuance(&[&root.der])];
        let list = TrustedList::new(kind, NOW.0).with(provider("P", "NTRLU-1", "LU", &services));
        let signer = list_signer(NOW.0);
        ListFile::new(list.sign(&signer), NOW).signed_below(signer.der)
    };
    let key = SigningKey::from_seed(Curve::P256, "issuer").public_jwk().to_string();
    let issuers = [
        Issuer::new("bare").jwk(key),
        Issuer::new("dmv").doc_type(MDL).iaca_roots(Identity::iaca(Curve::P256, NOW.0).der),
        Issuer::new("untyped").trusted_list(listed(Kind::PubEaa)),
        Issuer::new("listed").trusted_list(listed(Kind::Pid)),
    ];
    Trust::new(PROVIDER, issuers).unwrap()
}

fn signer(key_id: &str) -> SoftwareSigner {
    SoftwareSigner::new(Es256Key::from_scalar(&[3; 32]).unwrap(), key_id)
}

/// The key of [`signer`], for its certificate.
fn own_key() -> SigningKey {
    let d = base64url::encode(&[3; 32]);
    SigningKey::from_jwk(&json!({ "kty": "EC", "crv": "P-256", "d": d })).unwrap()
}

/// A signer with a certificate for another host than the verifier's.
fn certified() -> Arc<SoftwareSigner> {
    let (key, name) = (own_key(), Name::new("UT", "verifier"));
    let ca = Identity::iaca(Curve::P256, NOW.0);
    let leaf = CertificateBuilder::new(name.clone(), name, &key, NOW.0, DAYS)
        .set(SUBJECT_ALT_NAME, false, dns_names(&["other.example"]))
        .under(&ca)
        .issue(&ca, &key);
    Arc::new(signer("cert").with_certificate_chain(vec![leaf.der]))
}

fn verifier(
    enabled: Profile,
    signed_under: ClientIdForm,
    dc_api: DcApi,
    more: Option<Arc<SoftwareSigner>>,
) -> Verifier {
    let mut options = ProfileOptions::new([enabled, Profile::Draft]);
    (options.client_id_form, options.dc_api) = (signed_under, dc_api);
    let did = Arc::new(signer("did:web:verifier.example#key"));
    let builder = Verifier::builder(trust()).profiles([enabled]).signed(URL, did);
    let builder = builder.profile_options(options);
    more.into_iter().fold(builder, |builder, more| builder.signer(more)).build().unwrap()
}

/// A verifier for `1.0` under its DID.
fn plain() -> Verifier {
    verifier(Profile::V1_0, ClientIdForm::DecentralizedIdentifier, DcApi::Off, None)
}

#[track_caller]
fn not_made(verifier: &Verifier, body: &Value, new: NewSession, now: UnixMillis) -> RequestError {
    let request = Request::from_json(body.to_string().as_bytes()).unwrap();
    let made = verifier.create_session(&request, new, &mut CountingEntropy::default(), now);
    let Err(CreateError::Request(refused)) = made else { panic!("made: {body}") };
    refused
}

/// Checks that only the end of the text is about the remedy.
#[track_caller]
fn assert_remedy(refused: &RequestError, remedy: Remedy, rule: &str) {
    assert_neutral(refused);
    assert_eq!((refused.remedy.as_ref(), &*refused.rule), (Some(&remedy), rule));
    assert_eq!(rule, [refused.fault(), &remedy.to_string()].join("; "));
}

#[test]
fn an_issuer_that_lacks_types_or_a_current_list_is_refused_with_the_remedy() {
    let (draft, overdue) = (json!({"profile": "draft"}), NOW.plus(400 * DAY_MS));
    for (of_credential, more, now, remedy, rule) in [
        (
            json!({"issuer_id": "untyped"}),
            &draft,
            NOW,
            Remedy::AddVct,
            "follows a trusted list and names no type of SD-JWT VC; give the issuer a vct",
        ),
        (
            json!({"issuer_id": "untyped", "format": "mso_mdoc"}),
            &draft,
            NOW,
            Remedy::AddDocType,
            "follows a trusted list and names no type of mdoc; give the issuer a doc_type",
        ),
        (
            json!({"issuer_id": "bare"}),
            &json!({}),
            NOW,
            Remedy::AddVct,
            "names no type to ask for in this profile; give the issuer a vct",
        ),
        (
            json!({}),
            &json!({}),
            overdue,
            Remedy::UpdateTrustedList,
            "is trusted only through the trusted list Example Operator, which was in force \
             until 2027-02-15T11:06:40.000Z; give the issuer a newer one",
        ),
    ] {
        let body = body(of_credential, more.clone());
        let refused = not_made(&plain(), &body, NewSession::live(), now);
        assert_remedy(&refused, remedy, rule);
    }
    for other in [json!({"issuer_id": "x"}), json!({"alg": "ES512", "issuer_id": "bare"})] {
        assert_neutral(not_made(&plain(), &body(other, draft.clone()), NewSession::live(), NOW));
    }
}

#[test]
fn an_unavailable_profile_is_refused_with_the_remedy() {
    let asked = body(json!({}), json!({"profile": "haip"}));
    let refused = not_made(&plain(), &asked, NewSession::live(), NOW);
    let rule = "is not a profile of this verifier; name one of 1.0, draft";
    let spoken = Vec::from([Profile::V1_0, Profile::Draft]);
    assert_remedy(&refused, Remedy::ChooseProfile(spoken), rule);

    let every = || SpokenProfiles::new([Profile::Haip, Profile::V1_0]);
    let resolved = |spoken: &SpokenProfiles| {
        let body = asked.to_string();
        plain().resolve(body.as_bytes(), Mode::Live, spoken)
    };
    let rule = "haip cannot be used now; give the verifier a certificate for it";
    let missing = resolved(&every().without(Profile::Haip)).unwrap_err();
    assert_remedy(&missing, Remedy::AddCertificate, rule);
    let rule = "haip cannot be used now: the certificate for it has expired; renew it";
    let expired = resolved(&every().with_expired(Profile::Haip)).unwrap_err();
    assert_remedy(&expired, Remedy::RenewCertificate, rule);

    let (entropy, new) = (&mut CountingEntropy::default(), NewSession::live());
    let made = plain().create_resolved_session(resolved(&every()).unwrap(), new, entropy, NOW);
    let Err(CreateError::Request(refused)) = made else { panic!("made") };
    let rule = "haip is not enabled; leave it out, or enable it";
    assert_remedy(&refused, Remedy::EnableProfile, rule);

    let alone = Verifier::builder(trust()).profiles([Profile::Draft]).unsigned(URL);
    let refused = not_made(&alone.build().unwrap(), &asked, NewSession::live(), NOW);
    assert_neutral(refused);
}

#[test]
fn a_signer_that_is_missing_is_refused_with_the_remedy() {
    let (by_hash, by_host) = (ClientIdForm::X509Hash, ClientIdForm::X509SanDns);
    let later = NOW.plus((DAYS + 1) * DAY_MS);
    for (form, more, now, lacks) in [
        (by_hash, None, NOW, "has no certificate"),
        (by_hash, Some(certified()), later, "has no certificate in force"),
        (by_host, Some(certified()), NOW, "has no certificate with its host name"),
    ] {
        let verifier = verifier(Profile::V1_0, form, DcApi::Off, more);
        let asked = body(json!({}), json!({}));
        let refused = not_made(&verifier, &asked, NewSession::live(), now);
        let rule = format!("1.0 {lacks}; leave it out, or give the verifier one");
        assert_remedy(&refused, Remedy::AddSigner, &rule);
    }
}

#[test]
fn a_registration_certificate_that_has_ended_is_refused_with_the_remedy() {
    let header = r#"{"alg":"ES256","typ":"rc-wrp+jwt"}"#;
    let claims = json!({"sub": "VATUT-123", "exp": NOW.as_secs() + 60, "credentials": []});
    let registrar = SigningKey::from_seed(Curve::P256, "registrar");
    let text = sign_jws(&registrar, header, &claims.to_string());
    let registration = RegistrationCertificate::import(&text, None, NOW).unwrap();
    let new = || NewSession::live().strict_registration(&registration);
    let verifier = verifier(Profile::Haip, ClientIdForm::X509Hash, DcApi::Off, Some(certified()));
    let asked = body(json!({}), json!({}));
    let refused = not_made(&verifier, &asked, new(), NOW.plus(DAY_MS));
    let rule = "needs a registration certificate, which has expired; renew it";
    assert_remedy(&refused, Remedy::RenewCertificate, rule);
    assert_neutral(not_made(&verifier, &asked, new(), NOW));
}

#[test]
fn requests_to_browsers_that_cannot_be_made_are_refused_with_the_remedy() {
    let pages = json!({"dc_api": {"origins": ["https://a.example"]}});
    let asked = body(json!({}), pages.clone());
    let request = plain().resolve(
        asked.to_string().as_bytes(),
        Mode::Live,
        &SpokenProfiles::new([Profile::V1_0]).with_dc_api(),
    );
    let (entropy, new) = (&mut CountingEntropy::default(), NewSession::live());
    let made = plain().create_resolved_session(request.unwrap(), new, entropy, NOW);
    let Err(CreateError::Request(refused)) = made else { panic!("made") };
    let rule = "is not enabled; leave it out, or enable requests to browsers";
    assert_remedy(&refused, Remedy::EnableDcApi, rule);
    assert_neutral(not_made(&plain(), &asked, NewSession::live(), NOW));

    let form = ClientIdForm::DecentralizedIdentifier;
    let signing = verifier(Profile::V1_0, form, DcApi::Signed, Some(certified()));
    let licence = json!({"format": "mso_mdoc", "issuer_id": "dmv"});
    let asked = body(licence, pages);
    let later = NOW.plus((DAYS + 1) * DAY_MS);
    let refused = not_made(&signing, &asked, NewSession::live(), later);
    let rule = "has no certificate in force; set it to false, or give the verifier one";
    assert_remedy(&refused, Remedy::AddReaderCertificate, rule);
    let several = json!({"origins": ["https://a.example", "https://b.example"]});
    let asked = merged(asked, json!({"dc_api": several}));
    assert_neutral(not_made(&signing, &asked, NewSession::live(), NOW));
}

fn session() -> Session {
    let request = Request::from_json(body(json!({}), json!({})).to_string().as_bytes()).unwrap();
    let (entropy, new) = (&mut CountingEntropy::default(), NewSession::live());
    plain().create_session(&request, new, entropy, NOW).unwrap().session
}

#[test]
fn texts_about_answers_and_fetches_of_wallets_are_neutral() {
    let (verifier, session) = (plain(), session());
    let to = session.id().as_str();
    let form = Some("application/x-www-form-urlencoded");
    let large = [b'x'; 1024 * 1024 + 1];
    for (to, content_type, body, now) in [
        (to, None, &b""[..], NOW),
        (to, Some("text/plain"), b"x", NOW),
        (to, form, b"", NOW),
        (to, form, b"vp_token=1&vp_token=2", NOW),
        (to, form, b"vp_token={}&state=x", NOW),
        (to, form, b"response=a.b.c.d.e", NOW),
        (to, form, b"error=%FF", NOW),
        (to, form, &large, NOW),
        (to, form, b"error=access_denied", NOW.plus(DAY_MS)),
        ("off_x", form, b"error=access_denied", NOW),
    ] {
        let answer = Answer { to, content_type, body };
        let taken = verifier.begin(&session, answer, &mut CountingEntropy::default(), now);
        assert_neutral(taken.map(drop).unwrap_err());
    }
    let nonce = "x".repeat(257);
    for (to, wallet_nonce, now) in
        [(to, Some(&*nonce), NOW), ("off_x", None, NOW), (to, None, NOW.plus(DAY_MS))]
    {
        let asked = Asked { to, wallet_nonce: wallet_nonce.map(Into::into) };
        let refused = verifier.request_object(&session, &asked, now);
        assert_neutral(refused.map(drop).unwrap_err());
    }
    assert_neutral(verifier.dc_api_requests(&session, NOW).map(drop).unwrap_err());
    let builder = Verifier::builder(trust()).profiles([Profile::Draft]).unsigned(URL);
    let without = builder.build().unwrap().request_object(&session, &Asked::get(to), NOW);
    assert_neutral(without.map(drop).unwrap_err());
    assert_neutral(Session::from_bytes(b"{").unwrap_err());
}
