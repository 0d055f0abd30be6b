//! The Request Object member by member, and the phases in which a session has one.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::codec::base64url;
use crate::crypto::SoftwareSigner;
use crate::crypto::{Alg, Es256Key, RequestSigner, SignerUnavailable, rustcrypto::PROVIDER};
use crate::error::ErrorCode;
use crate::jose::{CompactJws, decode_signature};
use crate::request::fixtures::{self, NOW};
use crate::request::presentation_definition::{Format, PresentationDefinition};
use crate::request::{RequestObjectJwt, Scheme};
use crate::session::{Effect, Input, Phase, Transition};
use crate::verifier::NewSession;

const LATER: UnixMillis = UnixMillis(NOW.0 + 1_500);
const DID: &str = "did:web:gateway.example%3A8443";

fn decoded(part: &str) -> Value {
    serde_json::from_slice(&base64url::decode(part).unwrap()).unwrap()
}

/// Header and claims of an object that the gateway's key signed.
fn read(jwt: &RequestObjectJwt) -> (Value, Value) {
    let jws = CompactJws::split(jwt.as_str()).unwrap();
    let key = Es256Key::from_scalar(&[3; 32]).unwrap();
    let mut signature = [0; 132];
    let signature = decode_signature(jws.signature, &mut signature).unwrap();
    let verified = PROVIDER.verify(key.public_key(), jws.signing_input.as_bytes(), signature);
    assert_eq!(verified, Ok(()));
    (decoded(jws.header), decoded(jws.payload))
}

fn fetch(session: &Session, now: UnixMillis) -> (Option<Transition>, RequestObjectJwt) {
    let asked = Asked::get(session.id().as_str());
    let made = fixtures::jar_verifier().request_object(session, &asked, now).unwrap();
    (made.transition, made.jwt)
}

#[test]
fn the_object_has_exactly_the_claims_of_the_profile() {
    let session = fixtures::jar_session(fixtures::two_credentials());
    let (header, claims) = read(&fetch(&session, LATER).1);
    let kid = "did:web:gateway.example%3A8443#key";
    assert_eq!(header, json!({"alg": "ES256", "typ": "oauth-authz-req+jwt", "kid": kid}));

    let definition = PresentationDefinition::new(session.definition_id(), &session.request);
    let key = session.offers.own().encryption_key.as_ref().unwrap();
    let (x, y) = key.public().coordinates();
    let id = session.id();
    let expected = json!({
        "client_id": DID,
        "response_uri": format!("https://gateway.example:8443/v1/oid4vp/response/{id}"),
        "response_type": "vp_token",
        "response_mode": "direct_post.jwt",
        "nonce": session.offers.own().nonce.expose(),
        "state": session.offers.own().state.expose(),
        "aud": "https://self-issued.me/v2",
        "iat": LATER.0 / 1000,
        "exp": session.expires_at().0 / 1000,
        "presentation_definition": serde_json::to_value(&definition).unwrap(),
        "client_metadata": {
            "vp_formats": serde_json::to_value(Format::of_request(&session.request)).unwrap(),
            "jwks": {"keys": [{
                "kty": "EC", "crv": "P-256", "x": base64url::encode(x), "y": base64url::encode(y),
                "use": "enc", "alg": "ECDH-ES",
                "kid": base64url::encode(&key.public().thumbprint(&PROVIDER)),
            }]},
            "authorization_encrypted_response_alg": "ECDH-ES",
            "authorization_encrypted_response_enc": "A256GCM",
            "encrypted_response_enc_values_supported": ["A128GCM", "A256GCM", "A128CBC-HS256"],
        },
    });
    assert_eq!(claims, expected);
}

#[test]
fn the_link_has_client_id_and_request_uri_and_nothing_else() {
    let session = fixtures::jar_session(fixtures::one_credential());
    let id = session.id();
    for scheme in Scheme::ALL {
        let link = session.deep_link(scheme);
        let query = link.strip_prefix(scheme.prefix()).unwrap();
        let parts: BTreeMap<_, _> = form_urlencoded::parse(query.as_bytes()).collect();
        assert_eq!((parts.len(), query.matches('=').count()), (2, 2));
        assert_eq!(parts["client_id"], DID);
        let request_uri = format!("https://gateway.example:8443/v1/oid4vp/request/{id}");
        assert_eq!(parts["request_uri"], request_uri);
        assert_eq!(session.request_uri(), Some(&*request_uri));
        assert!(query.starts_with("client_id=did%3Aweb%3Agateway.example%253A8443&"), "{query}");
    }
}

#[test]
fn the_first_fetch_makes_the_session_pending_and_no_later_one_changes_it() {
    let created = fixtures::jar_session(fixtures::one_credential());
    let (transition, first) = fetch(&created, LATER);
    let pending = transition.unwrap();
    assert_eq!(pending.session.phase(), &Phase::Pending);
    assert!(matches!(pending.effects.as_slice(), [Effect::PublishStatus { .. }]));
    let (transition, second) = fetch(&pending.session, LATER.plus(1_000));
    assert!(transition.is_none());
    let ((_, first), (_, second)) = (read(&first), read(&second));
    for claim in ["nonce", "state", "client_metadata", "response_uri", "exp"] {
        assert_eq!(first[claim], second[claim], "{claim}");
    }
    assert_eq!(second["iat"].as_u64().unwrap(), first["iat"].as_u64().unwrap() + 1);
}

#[test]
fn a_stored_session_gives_the_same_object() {
    let session = fixtures::jar_session(fixtures::one_credential());
    let stored = Session::from_bytes(&session.to_bytes()).unwrap();
    assert_eq!(fetch(&stored, LATER).1, fetch(&session, LATER).1);
}

#[test]
fn every_session_has_a_key_of_its_own() {
    let (tenant, mut entropy) =
        (crate::ids::TenantId::new("cli_1"), fixtures::CountingEntropy::default());
    let verifier = fixtures::jar_verifier();
    let mut key = || {
        let request = fixtures::one_credential();
        let made = verifier.create_resolved_session(
            request,
            NewSession::live().tenant(tenant.clone()),
            &mut entropy,
            NOW,
        );
        let (_, claims) = read(&fetch(&made.unwrap().session, NOW).1);
        claims["client_metadata"]["jwks"]["keys"][0]["x"].clone()
    };
    assert_ne!(key(), key());
}

#[test]
fn wallet_nonce_is_copied_unchanged() {
    let session = fixtures::jar_session(fixtures::one_credential());
    let verifier = fixtures::jar_verifier();
    let fetch = |nonce: &str| {
        let asked = Asked { to: session.id().as_str(), wallet_nonce: Some(nonce.into()) };
        verifier.request_object(&session, &asked, LATER)
    };
    for nonce in ["", "n-0S6_WzA2Mj", "\"\\\u{7}é", &"é".repeat(256)] {
        let (_, claims) = read(&fetch(nonce).unwrap().jwt);
        assert_eq!(claims["wallet_nonce"], nonce);
        assert_eq!(claims["nonce"], session.offers.own().nonce.expose());
    }
    let error = fetch(&"n".repeat(257)).unwrap_err();
    assert_eq!(error, NotFetched::WalletNonce);
    assert_eq!(error.code(), ErrorCode::InvalidRequest);
}

#[test]
fn a_session_that_takes_no_answer_has_no_object() {
    let created = fixtures::jar_session(fixtures::one_credential());
    let verifier = fixtures::jar_verifier();
    let refused = |session: &Session, now| {
        let error =
            verifier.request_object(session, &Asked::get(session.id().as_str()), now).unwrap_err();
        assert_eq!(error, NotFetched::NotFetchable);
        assert_eq!(error.code(), ErrorCode::NotFound);
    };
    refused(&created, created.expires_at());
    refused(&created.apply(Input::Hold, NOW).unwrap().session, NOW);
    for input in [Input::Declined(crate::WalletError::AccessDenied), Input::Expired] {
        refused(&created.apply(input, NOW).unwrap().session, NOW);
    }
    refused(&fixtures::session(fixtures::one_credential()), NOW);
}

#[test]
fn an_inline_verifier_serves_stored_sessions_if_it_has_the_signer() {
    let session = fixtures::jar_session(fixtures::one_credential());
    let builder = || fixtures::builder(PROVIDER).unsigned("https://gateway.example:8443");
    let without = builder().build().unwrap();
    let error =
        without.request_object(&session, &Asked::get(session.id().as_str()), LATER).unwrap_err();
    assert!(matches!(error, NotFetched::Signer(_)));
    assert_eq!(error.code(), ErrorCode::TemporarilyUnavailable);
    let key = Es256Key::from_scalar(&[3; 32]).unwrap();
    let signer = Arc::new(SoftwareSigner::new(key, "did:web:gateway.example%3A8443#key"));
    let with = builder().signer(signer).build().unwrap();
    assert_eq!(
        with.request_object(&session, &Asked::get(session.id().as_str()), LATER).unwrap().jwt,
        fetch(&session, LATER).1
    );
}

#[test]
fn a_signer_that_fails_or_returns_another_signature_gives_no_object() {
    #[derive(Debug)]
    struct Broken(Option<usize>);
    impl RequestSigner for Broken {
        fn alg(&self) -> Alg {
            Alg::Es256
        }
        fn key_id(&self) -> &str {
            "did:web:gateway.example%3A8443#hsm"
        }
        fn sign(&self, _: &[u8]) -> Result<Vec<u8>, SignerUnavailable> {
            let len = self.0.ok_or(SignerUnavailable::new("the HSM does not answer"))?;
            Ok(vec![1; len])
        }
    }
    let session = fixtures::jar_session(fixtures::one_credential());
    for broken in [None, Some(0), Some(63), Some(70)] {
        let builder = fixtures::builder(PROVIDER)
            .signed("https://gateway.example:8443", Arc::new(Broken(broken)));
        let verifier = builder.build().unwrap();
        let error = verifier
            .request_object(&session, &Asked::get(session.id().as_str()), LATER)
            .unwrap_err();
        assert!(matches!(error, NotFetched::Signer(_)), "{broken:?}");
    }
}

#[test]
fn the_object_is_kept_out_of_debug_texts() {
    let jwt = fetch(&fixtures::jar_session(fixtures::one_credential()), LATER).1;
    let text = format!("{jwt:?}");
    assert!(text.starts_with("RequestObjectJwt(") && !text.contains("ey"), "{text}");
    assert_eq!(jwt.clone().into_string(), jwt.as_str());
}
