//! The requests that pages pass to their browser, member by member (OpenID4VP A.3).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::super::*;
use super::dcql::support::*;
use crate::crypto::{Es256Key, RequestSigner as _, rustcrypto::PROVIDER};
use crate::error::{CreateError, ErrorCode};
use crate::jose::decode_signature;
use crate::request::fixtures::{self, NOW};
use crate::request::{DcApiPages, PresentationRequest, Profile, VerifierInfo};
use crate::session::ClientIdForm;

const SHOP: &str = "https://shop.example";

fn browsers(profile: Profile, dc_api: DcApi) -> ProfileOptions {
    let mut options = options(&[profile]);
    options.dc_api = dc_api;
    options
}

fn for_pages() -> PresentationRequest {
    let mut request = asking(&[]);
    request.dc_api = Some(DcApiPages::new(vec![SHOP.into(), "https://other.example".into()]));
    request
}

/// The protocols and data that are passed on.
fn passed_on(verifier: &Verifier, session: &Session) -> Vec<(String, Value)> {
    let whole = verifier.dc_api_requests(session, NOW).unwrap().to_json();
    let mut whole: Value = serde_json::from_str(&whole).unwrap();
    let requests = whole["requests"].as_array_mut().unwrap().drain(..);
    let each = requests.map(|mut one| {
        assert_eq!(one.as_object().unwrap().len(), 2);
        (one["protocol"].as_str().unwrap().to_owned(), one["data"].take())
    });
    each.collect()
}

/// Header and payload, signed by the key of `scalar`.
#[track_caller]
fn signed_by(scalar: u8, protected: &str, payload: &str, signature: &str) -> (Value, Value) {
    let key = Es256Key::from_scalar(&[scalar; 32]).unwrap();
    let mut buffer = [0; 132];
    let signature = decode_signature(signature, &mut buffer).unwrap();
    let input = format!("{protected}.{payload}");
    PROVIDER.verify(key.public_key(), input.as_bytes(), signature).unwrap();
    (decoded(protected), decoded(payload))
}

#[track_caller]
fn compact_signed_by(scalar: u8, data: &Value) -> (Value, Value) {
    assert_eq!(data.as_object().unwrap().len(), 1);
    let parts: Vec<_> = data["request"].as_str().unwrap().split('.').collect();
    signed_by(scalar, parts[0], parts[1], parts[2])
}

fn x5c() -> Value {
    let signer = certified(4, "cert");
    signer.certificate_chain().iter().map(|der| STANDARD.encode(der)).collect()
}

/// The members that every request of `session` has.
fn common(session: &Session) -> Value {
    let offer = session.browser_offer().unwrap();
    let query: Value = serde_json::from_str(&session.request().dcql_query(Profile::Haip)).unwrap();
    let (x, y) = offer.encryption_key.as_ref().unwrap().public().coordinates();
    let (x, y) = (crate::codec::base64url::encode(x), crate::codec::base64url::encode(y));
    let metadata = json!({
        "jwks": {"keys": [{"kty": "EC", "crv": "P-256", "x": x, "y": y,
            "use": "enc", "alg": "ECDH-ES", "kid": x}]},
        "encrypted_response_enc_values_supported": ["A256GCM", "A128GCM"],
        "vp_formats_supported": formats(),
    });
    json!({
        "response_type": "vp_token",
        "response_mode": "dc_api.jwt",
        "nonce": offer.nonce.expose(),
        "dcql_query": query,
        "client_metadata": metadata,
    })
}

/// The additional members of a signed request.
fn signed(session: &Session) -> Value {
    let mut members = common(session);
    members["expected_origins"] = json!([SHOP, "https://other.example"]);
    members["aud"] = "https://self-issued.me/v2".into();
    members["iat"] = (NOW.0 / 1000).into();
    members["exp"] = (session.expires_at().0 / 1000).into();
    members
}

#[test]
fn an_unsigned_request_has_exactly_these_members_whatever_the_mode_of_links_is() {
    for mode in [ResponseMode::Auto, ResponseMode::Encrypted, ResponseMode::Plain] {
        let mut options = browsers(Profile::V1_0, DcApi::Unsigned);
        options.response_mode = mode;
        let verifier = inline(options);
        let session = create(&verifier, for_pages());
        let passed = passed_on(&verifier, &session);
        let expected = ("openid4vp-v1-unsigned".to_owned(), common(&session));
        assert_eq!(passed, [expected]);
    }
}

#[test]
fn a_signed_request_has_client_id_and_origins() {
    for (profile, form, scalar, client_id) in [
        (
            Profile::V1_0,
            ClientIdForm::DecentralizedIdentifier,
            3,
            format!("decentralized_identifier:{DID}"),
        ),
        (Profile::V1_0, ClientIdForm::X509SanDns, 4, "x509_san_dns:gateway.example".into()),
        (Profile::V1_0, ClientIdForm::X509Hash, 4, x509_hash()),
        (Profile::Haip, ClientIdForm::DecentralizedIdentifier, 4, x509_hash()),
    ] {
        let mut options = browsers(profile, DcApi::Signed);
        options.client_id_form = form;
        let verifier = jar(options);
        let session = create(&verifier, for_pages());
        let passed = passed_on(&verifier, &session);
        assert_eq!(passed.len(), 2, "and then the unsigned one");
        assert_eq!(passed[0].0, "openid4vp-v1-signed");
        let (header, claims) = compact_signed_by(scalar, &passed[0].1);
        assert_eq!(header["typ"], "oauth-authz-req+jwt");
        assert_eq!(header.get("client_id"), None);
        let mut expected = signed(&session);
        expected["client_id"] = client_id.into();
        assert_eq!(claims, expected, "{form:?}");
        let unsigned = ("openid4vp-v1-unsigned".to_owned(), common(&session));
        assert_eq!(passed[1], unsigned, "with the same nonce and key");
    }
}

#[test]
fn a_multi_signed_request_has_the_client_id_in_each_header() {
    let verifier = jar(browsers(Profile::V1_0, DcApi::Multisigned));
    let mut new = NewSession::live().tenant(tenant());
    new.verifier_info.push(VerifierInfo::new("registration_cert", "a.b.c"));
    let session = create_as(&verifier, for_pages(), new).unwrap();
    let passed = passed_on(&verifier, &session);
    let protocols: Vec<_> = passed.iter().map(|(protocol, _)| &**protocol).collect();
    assert_eq!(
        protocols,
        ["openid4vp-v1-multisigned", "openid4vp-v1-signed", "openid4vp-v1-unsigned"]
    );
    let request = &passed[0].1["request"];
    assert_eq!(request.as_object().unwrap().len(), 2);
    let payload = request["payload"].as_str().unwrap();
    assert_eq!(decoded(payload), signed(&session));
    let header = |nth: usize, scalar: u8| {
        let one = &request["signatures"][nth];
        assert_eq!(one.as_object().unwrap().len(), 2);
        let [protected, signature] = ["protected", "signature"].map(|n| one[n].as_str().unwrap());
        signed_by(scalar, protected, payload, signature).0
    };
    let (alg, typ) = ("ES256", "oauth-authz-req+jwt");
    assert_eq!(
        header(0, 3),
        json!({"alg": alg, "typ": typ, "kid": format!("{DID}#key"),
        "client_id": format!("decentralized_identifier:{DID}")})
    );
    assert_eq!(
        header(1, 4),
        json!({"alg": alg, "typ": typ, "x5c": x5c(), "client_id": x509_hash(),
        "verifier_info": [{"format": "registration_cert", "data": "a.b.c"}]})
    );
    assert_eq!(
        header(2, 4),
        json!({"alg": alg, "typ": typ, "x5c": x5c(),
        "client_id": "x509_san_dns:gateway.example"})
    );
    assert_eq!(request["signatures"].as_array().unwrap().len(), 3);
}

#[test]
fn haip_signs_under_x509_hash_only() {
    let verifier = jar(browsers(Profile::Haip, DcApi::Multisigned));
    let session = create(&verifier, for_pages());
    let passed = passed_on(&verifier, &session);
    let signatures = passed[0].1["request"]["signatures"].as_array().unwrap();
    assert_eq!(signatures.len(), 1);
    let header = decoded(signatures[0]["protected"].as_str().unwrap());
    assert_eq!(header["client_id"], x509_hash());
}

/// A refusal of the wallet would tell the page the value (OpenID4VP 15.9.2).
#[test]
fn values_of_filters_are_never_sent_to_a_browser() {
    let body = json!({"credentials": [
        {"format": "vc+sd-jwt", "issuer_id": "two", "claims": ["age"],
         "claim_filters": {"age": {"type": "integer", "const": 18}}},
    ]});
    let mut request = fixtures::request(body);
    assert!(request.dcql_query(Profile::V1_0).contains("values"));
    request.dc_api = for_pages().dc_api;
    let verifier = inline(browsers(Profile::V1_0, DcApi::Unsigned));
    let session = create(&verifier, request);
    assert!(!passed_on(&verifier, &session)[0].1.to_string().contains("\"values\""));
}

#[test]
fn the_offer_to_browsers_has_a_nonce_and_a_key_of_its_own() {
    let every = [Profile::Haip, Profile::V1_0, Profile::Draft];
    let mut options = options(&every);
    options.dc_api = DcApi::Unsigned;
    let verifier = jar(options);
    let mut request = for_pages();
    request.profiles = every.to_vec();
    let session = create(&verifier, request);
    assert_eq!(session.offers().count(), 4);
    let nonces: alloc::collections::BTreeSet<_> =
        session.offers().map(|offer| offer.nonce.expose().to_owned()).collect();
    assert_eq!(nonces.len(), 4);
    let offer = session.browser_offer().unwrap();
    assert_eq!(offer.profile(), Profile::Haip, "the first that has such requests");
    assert_eq!((offer.response_uri(), offer.request_uri()), ("", None));
    let mut apart = session.clone();
    let keys = apart.take_encryption_key().unwrap();
    assert!(verifier.dc_api_requests(&apart, NOW).is_err(), "its key is gone");
    apart.restore_encryption_key(&keys).unwrap();
    assert_eq!(apart.to_bytes(), session.to_bytes());
}

#[track_caller]
fn refused(verifier: &Verifier, request: PresentationRequest) -> String {
    let made = create_as(verifier, request, NewSession::live().tenant(tenant()));
    let CreateError::Request(error) = made.unwrap_err() else { panic!("another error") };
    assert_eq!(error.code, ErrorCode::UnsupportedProfile);
    error.to_string()
}

#[test]
fn a_session_for_pages_needs_browser_requests_and_a_newer_profile() {
    let off = jar(options(&[Profile::V1_0]));
    assert!(refused(&off, for_pages()).contains("dc_api: is not enabled"));
    let mut both = options(&[Profile::V1_0, Profile::Draft]);
    both.dc_api = DcApi::Unsigned;
    let mut request = for_pages();
    request.profiles = vec![Profile::Draft];
    assert!(refused(&jar(both), request).contains("dc_api: needs the profile 1.0 or haip"));
}

#[test]
fn a_signed_request_needs_a_signer() {
    let builder = fixtures::builder(PROVIDER).signed(ORIGIN, did_signer(3, "key"));
    let mut options = browsers(Profile::V1_0, DcApi::Signed);
    options.client_id_form = ClientIdForm::X509SanDns;
    options.dc_api = DcApi::Signed;
    let builder = builder.profile_options(options);
    assert!(refused(&builder.build().unwrap(), for_pages()).contains("has no certificate"));

    // No signer signs under a DID here; requests by link go by value.
    let verifier = inline(browsers(Profile::V1_0, DcApi::Signed));
    assert!(refused(&verifier, for_pages()).contains("has no signing key"));
    let unsigned = inline(browsers(Profile::V1_0, DcApi::Unsigned));
    assert_eq!(create(&unsigned, for_pages()).offers().count(), 2);

    // If there are several client identifiers, those with a current signer are enough.
    let builder = fixtures::builder(PROVIDER).signed(ORIGIN, did_signer(3, "key"));
    let verifier =
        builder.profile_options(browsers(Profile::V1_0, DcApi::Multisigned)).build().unwrap();
    let session = create(&verifier, for_pages());
    let passed = passed_on(&verifier, &session);
    assert_eq!(passed[0].1["request"]["signatures"].as_array().unwrap().len(), 1);
}

#[test]
fn requests_to_browsers_are_never_in_debug_texts() {
    let verifier = inline(browsers(Profile::V1_0, DcApi::Unsigned));
    let session = create(&verifier, for_pages());
    let requests = verifier.dc_api_requests(&session, NOW).unwrap();
    assert_eq!(format!("{requests:?}"), "DcApiRequests(1)");
    let nonce = session.browser_offer().unwrap().nonce.expose().to_owned();
    assert!(requests.to_json().contains(&nonce) && !format!("{session:?}").contains(&nonce));
}
