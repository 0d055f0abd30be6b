//! The signer of a DeviceRequest (ISO/IEC 18013-5 9.1.4), until the end of the session.

use alloc::vec::Vec;

use serde_json::{Value, json};

use super::super::*;
use super::dcql::support::*;
use crate::codec::base64url;
use crate::codec::cbor::Tape;
use crate::cose::Sign1;
use crate::crypto::rustcrypto::PROVIDER;
use crate::error::{CreateError, ErrorCode, NotFetched};
use crate::ids::{CredentialFormat, DocType, NameSpace};
use crate::request::Profile;
use crate::request::fixtures::{self, NOW};
use crate::request::{
    CredentialRequest, DcApiPages, PresentationRequest, Presets, RegistrationCertificate, Scheme,
};

const SHOP: &str = "https://shop.example";
const OTHER: &str = "https://other.example";
const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// Asks for a licence, for pages from these origins.
fn licence(origins: &[&str]) -> PresentationRequest {
    let mut request = asking(&[]);
    let only = &mut request.credentials[0];
    only.format = CredentialFormat::Mdoc;
    only.doc_type = Some(DocType::new("org.iso.18013.5.1.mDL"));
    only.namespace = Some(NameSpace::new("org.iso.18013.5.1"));
    only.claims = vec!["age_over_18".into()];
    let origins = origins.iter().map(|origin| String::from(*origin)).collect();
    request.dc_api = Some(DcApiPages::new(origins));
    request
}

fn signed(profile: Profile) -> ProfileOptions {
    let mut options = options(&[profile]);
    options.dc_api = DcApi::Signed;
    options
}

/// The certificate whose key signed the last request; `None`: it is unsigned.
fn reader(verifier: &Verifier, session: &Session) -> Option<Vec<u8>> {
    let requests = verifier.dc_api_requests(session, NOW).unwrap();
    let (protocol, data) = requests.iter().last().unwrap();
    assert_eq!(protocol, "org-iso-mdoc");
    let data: Value = serde_json::from_str(data).unwrap();
    let bytes = base64url::decode(data["deviceRequest"].as_str().unwrap()).unwrap();
    let mut tape = Tape::default();
    let request = tape.parse(&bytes).unwrap();
    let documents = tape.value(request).get("docRequests").unwrap();
    let signed = documents.elements().unwrap().next().unwrap().get("readerAuth")?;
    let chain = Sign1::read(signed).unwrap().headers.x5chain().unwrap();
    Some(chain[0].to_vec())
}

#[test]
fn the_verifiers_certificate_signs_whatever_the_client_id_form() {
    for profile in [Profile::V1_0, Profile::Haip] {
        let verifier = jar(signed(profile));
        let session = create(&verifier, licence(&[SHOP]));
        let own = leaf(4, "cert", &["other.example", "gateway.example"]);
        assert_eq!(reader(&verifier, &session), Some(own));
    }
}

#[test]
fn a_tenants_own_certificate_signs_for_the_tenant() {
    let builder = fixtures::builder(PROVIDER).signed(ORIGIN, did_signer(3, "key"));
    let builder = builder.profile_options(signed(Profile::Haip));
    let builder = builder.signer(certified(4, "cert"));
    let verifier = builder.named_signer(certified(5, "tenant")).build().unwrap();
    let mut new = NewSession::live().tenant(tenant());
    new.signer = Some("tenant".into());
    let session = create_as(&verifier, licence(&[SHOP]), new).unwrap();
    let own = leaf(5, "tenant", &["other.example", "gateway.example"]);
    assert_eq!(reader(&verifier, &session), Some(own));
}

/// The European age app supports neither a reader nor OpenID4VP through a browser.
#[test]
fn a_request_for_the_age_app_is_only_unsigned_annex_c_and_a_plain_link_by_value() {
    let mut asked = licence(&[SHOP, OTHER]);
    asked.credentials[0].doc_type = Some(DocType::new("eu.europa.ec.av.1"));
    asked.credentials[0].namespace = Some(NameSpace::new("eu.europa.ec.av.1"));
    asked.presets = Presets::AgeApp;
    let verifier = jar(signed(Profile::V1_0));
    let session = create(&verifier, asked.clone());
    let requests = verifier.dc_api_requests(&session, NOW).unwrap();
    assert_eq!(requests.iter().map(|(protocol, _)| protocol).collect::<Vec<_>>(), ["org-iso-mdoc"]);
    assert_eq!(reader(&verifier, &session), None);
    let link = session.deep_link(Scheme::Av);
    let query = link.strip_prefix("av://?").unwrap();
    assert!(
        query.contains("response_mode=direct_post&") || query.ends_with("direct_post"),
        "{link}"
    );
    assert!(query.contains("client_id=redirect_uri"), "{link}");
    assert!(session.schemes().any(|scheme| scheme == Scheme::Av));
    // Two documents of one type do not fit into a DeviceRequest, and the age app accepts no other
    // form.
    let mut two = asked.clone();
    two.credentials.push(CredentialRequest { id: "other".into(), ..two.credentials[0].clone() });
    let CreateError::Request(error) = create_as(&verifier, two, new()).unwrap_err() else {
        unreachable!("another error")
    };
    assert_eq!((error.code, &*error.path), (ErrorCode::UnsupportedProfile, "dc_api"));
    // The same request with its profile named is signed, and is not for the age app.
    asked.dc_api = None;
    asked.presets = Presets::Used;
    let session = create(&verifier, asked);
    assert!(!session.schemes().any(|scheme| scheme == Scheme::Av));
}

#[test]
fn no_signer_replaces_the_first_one() {
    let session = create(&jar(signed(Profile::V1_0)), licence(&[SHOP]));
    let builder = fixtures::builder(PROVIDER).signed(ORIGIN, did_signer(3, "key"));
    let builder = builder.profile_options(signed(Profile::V1_0));
    let without = builder.build().unwrap();
    let refused = without.dc_api_requests(&session, NOW).unwrap_err();
    assert!(matches!(refused, NotFetched::Signer(_)), "{refused}");
}

/// It is optional, and an unsigned request is for any of several origins.
#[test]
fn a_verifier_without_a_certificate_does_not_sign() {
    let builder = fixtures::builder(PROVIDER).signed(ORIGIN, did_signer(3, "key"));
    let builder = builder.profile_options(signed(Profile::V1_0));
    let without = builder.build().unwrap();
    let session = create(&without, licence(&[SHOP, OTHER]));
    assert_eq!(reader(&without, &session), None);
    assert!(create_as(&jar(signed(Profile::V1_0)), licence(&[SHOP, OTHER]), new()).is_err());
}

fn new() -> NewSession {
    NewSession::live().tenant(tenant())
}

/// A certificate that registers this claim of licences.
fn registered(claim: &str) -> RegistrationCertificate {
    let part = |json: Value| base64url::encode(json.to_string().as_bytes());
    let header = part(json!({ "alg": "ES256", "typ": "rc-wrp+jwt" }));
    let claims = part(json!({ "sub": "VATUT-123", "credentials": [{
        "format": "mso_mdoc", "meta": { "doctype_value": "org.iso.18013.5.1.mDL" },
        "claim": [{ "path": ["org.iso.18013.5.1", claim] }] }] }));
    RegistrationCertificate::import(&[header, claims, "c2ln".into()].join("."), None, NOW).unwrap()
}

/// The version of the DeviceRequest, its registration certificate, and whether it is signed as a
/// whole.
fn edition(verifier: &Verifier, session: &Session) -> (String, Option<Vec<u8>>, bool) {
    let requests = verifier.dc_api_requests(session, NOW).unwrap();
    let (_, data) = requests.iter().last().unwrap();
    let data: Value = serde_json::from_str(data).unwrap();
    let bytes = base64url::decode(data["deviceRequest"].as_str().unwrap()).unwrap();
    let mut tape = Tape::default();
    let request = tape.parse(&bytes).unwrap();
    let request = tape.value(request);
    let version = request.get("version").unwrap().as_text().unwrap().to_string();
    let document = request.get("docRequests").unwrap().elements().unwrap().next().unwrap();
    let items = document.get("itemsRequest").unwrap().encoded_cbor().unwrap();
    let mut tape = Tape::default();
    let items = tape.parse(&items).unwrap();
    let info = tape.value(items).get("requestInfo");
    let certificate = info.map(|info| info.get("euWrprc").unwrap().as_bytes().unwrap().to_vec());
    (version, certificate, request.get("readerAuthAll").is_some())
}

#[test]
fn a_registration_certificate_goes_with_a_signed_device_request_in_every_client_id_form() {
    let certificate = registered("age_over_18");
    let sent = Some(certificate.text.as_bytes().to_vec());
    for profile in [Profile::V1_0, Profile::Haip] {
        let verifier = jar(signed(profile));
        let with =
            create_as(&verifier, licence(&[SHOP]), new().registration(&certificate)).unwrap();
        assert_eq!(edition(&verifier, &with), ("1.1".into(), sent.clone(), true));
        let without = create(&verifier, licence(&[SHOP]));
        assert_eq!(edition(&verifier, &without), ("1.0".into(), None, false));
    }
}

#[test]
fn first_edition_device_requests_carry_no_registration_certificate() {
    let mut options = signed(Profile::V1_0);
    options.device_requests = DeviceRequests::FirstEdition;
    let verifier = jar(options);
    let new = new().registration(&registered("age_over_18"));
    let session = create_as(&verifier, licence(&[SHOP]), new).unwrap();
    assert_eq!(edition(&verifier, &session), ("1.0".into(), None, false));
}

#[test]
fn unsigned_device_requests_carry_no_registration_certificate() {
    let mut options = signed(Profile::V1_0);
    options.dc_api = DcApi::Unsigned;
    let (verifier, certificate) = (jar(options), registered("age_over_18"));
    let session = create_as(&verifier, licence(&[SHOP]), new().registration(&certificate)).unwrap();
    assert_eq!(edition(&verifier, &session), ("1.0".into(), None, false));
}

#[test]
fn a_request_for_more_than_is_registered_never_reaches_a_browser() {
    let certificate = registered("family_name");
    let strict = || new().strict_registration(&certificate);
    let refused = create_as(&jar(signed(Profile::V1_0)), licence(&[SHOP]), strict()).unwrap_err();
    let CreateError::Request(error) = refused else { unreachable!("{refused}") };
    assert_eq!(error.code, ErrorCode::InvalidRequest);
    assert!(error.to_string().contains("age_over_18"), "{error}");
    let mut options = signed(Profile::V1_0);
    options.device_requests = DeviceRequests::FirstEdition;
    assert!(create_as(&jar(options), licence(&[SHOP]), strict()).is_ok(), "no wallet sees it");
}

/// The text of the refusal in `made`, which must be about readerAuth.
#[track_caller]
fn unsigned(made: Result<Session, CreateError>) -> String {
    let CreateError::Request(error) = made.unwrap_err() else { unreachable!("another error") };
    assert_eq!((error.code, &*error.path), (ErrorCode::UnsupportedProfile, "dc_api.iso_mdoc"));
    error.rule.to_string()
}

#[test]
fn an_expired_certificate_is_an_error_and_not_omitted() {
    let later = NOW.plus((DAYS + 1) * DAY_MS);
    for dc_api in [DcApi::Signed, DcApi::Multisigned] {
        let mut options = signed(Profile::V1_0);
        options.dc_api = dc_api;
        let verifier = jar(options);
        let made = create_at(&verifier, licence(&[SHOP]), new(), later);
        assert!(unsigned(made).contains("no certificate in force"), "{dc_api:?}");
        let mut without = licence(&[SHOP]);
        without.dc_api.as_mut().unwrap().iso_mdoc = false;
        assert!(create_at(&verifier, without, new(), later).is_ok());
    }
    let mut options = signed(Profile::V1_0);
    options.dc_api = DcApi::Unsigned;
    let verifier = jar(options);
    let session = create_at(&verifier, licence(&[SHOP]), new(), later).unwrap();
    assert_eq!(reader(&verifier, &session), None);
}

#[test]
fn a_missing_named_certificate_is_an_error_and_not_omitted() {
    let builder = fixtures::builder(PROVIDER).signed(ORIGIN, did_signer(3, "key"));
    let builder = builder.profile_options(signed(Profile::V1_0));
    for verifier in [builder.build().unwrap(), jar(signed(Profile::V1_0))] {
        let mut new = new();
        new.signer = Some("gone".into());
        let made = create_as(&verifier, licence(&[SHOP]), new);
        assert!(unsigned(made).contains("has no certificate"));
    }
}

/// The key is not in a session's snapshot; the signer's name is.
#[test]
fn a_restored_session_is_signed_by_its_first_signer() {
    let (before, after) = (jar(signed(Profile::V1_0)), jar(signed(Profile::V1_0)));
    let session = create(&before, licence(&[SHOP]));
    let restored = Session::from_bytes(&session.to_bytes()).unwrap();
    let own = leaf(4, "cert", &["other.example", "gateway.example"]);
    assert_eq!(reader(&after, &restored), Some(own));
}

/// Such a session is never created; one that is read back like this is damaged, and is not signed.
#[test]
fn a_restored_session_with_a_reader_and_several_origins_is_not_signed() {
    let verifier = jar(signed(Profile::V1_0));
    let session = create(&verifier, licence(&[SHOP]));
    let snapshot = String::from_utf8(session.to_bytes().to_vec()).unwrap();
    let one = format!(r#""origins":["{SHOP}"]"#);
    assert!(snapshot.contains(&one));
    for several in [format!(r#""origins":["{SHOP}","{OTHER}"]"#), r#""origins":[]"#.into()] {
        let snapshot = snapshot.replace(&one, &several);
        let restored = Session::from_bytes(snapshot.as_bytes()).unwrap();
        let refused = verifier.dc_api_requests(&restored, NOW).unwrap_err();
        assert!(matches!(refused, NotFetched::NotFetchable), "{refused}");
    }
}
