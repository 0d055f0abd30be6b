//! Verifiers with keys and certificates, and wallets that check their requests.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;

use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::x509::{CertificateBuilder, Identity, Name, SUBJECT_ALT_NAME, dns_names};
use serde_json::{Value, json};

use crate::codec::base64url;
use crate::crypto::{Es256Key, RequestSigner, SoftwareSigner, rustcrypto::PROVIDER};
use crate::entropy::Entropy;
use crate::error::{CreateError, ErrorCode};
use crate::ids::TenantId;
use crate::jose::{CompactJws, decode_signature};
use crate::request::fixtures::{self, CountingEntropy, NOW};
use crate::request::{PresentationRequest, Profile};
use crate::session::{Offer, Session};
use crate::time::UnixMillis;
use crate::trust::VerifierCertificate;
use crate::verifier::{Asked, NewSession, ProfileOptions, Verifier};

pub(in crate::verifier) const ORIGIN: &str = "https://gateway.example:8443";
pub(in crate::verifier) const DID: &str = "did:web:gateway.example%3A8443";
/// How long the certificates here are valid.
pub(in crate::verifier) const DAYS: u64 = 30;

pub(in crate::verifier) fn tenant() -> TenantId {
    TenantId::new("cli_1")
}

pub(in crate::verifier) fn did_signer(scalar: u8, name: &str) -> Arc<SoftwareSigner> {
    let key = Es256Key::from_scalar(&[scalar; 32]).unwrap();
    Arc::new(SoftwareSigner::new(key, format!("{DID}#{name}")))
}

pub(in crate::verifier) fn issuing_ca() -> Identity {
    let key = SigningKey::from_seed(Curve::P256, "between");
    let name = Name::new("UT", "Utopia access CA 1");
    let root = Identity::iaca(Curve::P256, NOW.0);
    CertificateBuilder::intermediate(&root, name, &key, NOW.0).issue(&root, &key)
}

/// The key with this scalar, which is 32 times the same byte.
pub(in crate::verifier) fn key_of(scalar: u8) -> SigningKey {
    let d = base64url::encode(&[scalar; 32]);
    SigningKey::from_jwk(&json!({ "kty": "EC", "crv": "P-256", "d": d })).unwrap()
}

/// The certificate of `name` for the key of `scalar`, with these dNSNames.
pub(in crate::verifier) fn leaf(scalar: u8, name: &str, hosts: &[&str]) -> Vec<u8> {
    let (key, ca) = (key_of(scalar), issuing_ca());
    let subject = Name::new("UT", name);
    CertificateBuilder::new(subject.clone(), subject, &key, NOW.0, DAYS)
        .set(SUBJECT_ALT_NAME, false, dns_names(hosts))
        .under(&ca)
        .issue(&ca, &key)
        .der
}

pub(in crate::verifier) fn certified(scalar: u8, name: &str) -> Arc<SoftwareSigner> {
    certified_for(scalar, name, &["other.example", "gateway.example"])
}

pub(in crate::verifier) fn certified_for(
    scalar: u8,
    name: &str,
    hosts: &[&str],
) -> Arc<SoftwareSigner> {
    let key = Es256Key::from_scalar(&[scalar; 32]).unwrap();
    let chain = vec![leaf(scalar, name, hosts), issuing_ca().der];
    Arc::new(SoftwareSigner::new(key, name).with_certificate_chain(chain))
}

pub(in crate::verifier) fn options(enabled: &[Profile]) -> ProfileOptions {
    ProfileOptions::new(enabled.iter().copied())
}

pub(in crate::verifier) fn inline(options: ProfileOptions) -> Verifier {
    let builder = fixtures::builder(PROVIDER).unsigned(ORIGIN);
    builder.signer(certified(4, "cert")).profile_options(options).build().unwrap()
}

pub(in crate::verifier) fn jar(options: ProfileOptions) -> Verifier {
    let builder = fixtures::builder(PROVIDER).signed(ORIGIN, did_signer(3, "key"));
    let builder = builder.profile_options(options);
    builder.signer(certified(4, "cert")).build().unwrap()
}

pub(in crate::verifier) fn asking(profiles: &[Profile]) -> PresentationRequest {
    let mut request = fixtures::one_credential();
    request.profiles = profiles.to_vec();
    request
}

pub(in crate::verifier) fn create(verifier: &Verifier, request: PresentationRequest) -> Session {
    create_as(verifier, request, NewSession::live().tenant(tenant())).unwrap()
}

pub(in crate::verifier) fn create_as(
    verifier: &Verifier,
    request: PresentationRequest,
    new: NewSession,
) -> Result<Session, CreateError> {
    create_at(verifier, request, new, NOW)
}

pub(in crate::verifier) fn create_at(
    verifier: &Verifier,
    request: PresentationRequest,
    new: NewSession,
    now: UnixMillis,
) -> Result<Session, CreateError> {
    let mut entropy = CountingEntropy::default();
    let made =
        verifier.create_resolved_session(request, new, &mut entropy as &mut dyn Entropy, now);
    made.map(|transition| transition.session)
}

/// The text of the refusal in `made`, which must be about a profile that cannot be used.
#[track_caller]
pub(in crate::verifier) fn unsupported(made: Result<Session, CreateError>) -> String {
    let CreateError::Request(error) = made.unwrap_err() else { panic!("another error") };
    assert_eq!((error.code, &*error.path), (ErrorCode::UnsupportedProfile, "profiles"));
    error.rule.to_string()
}

pub(in crate::verifier) fn decoded(part: &str) -> Value {
    serde_json::from_slice(&base64url::decode(part).unwrap()).unwrap()
}

/// Header and claims of an object that the key of `scalar` signed.
pub(in crate::verifier) fn fetch(
    verifier: &Verifier,
    session: &Session,
    offer: &Offer,
    wallet_nonce: Option<&str>,
    scalar: u8,
) -> (Value, Value) {
    let to = session.handle_of(offer);
    let asked = Asked { to, wallet_nonce: wallet_nonce.map(Into::into) };
    let jwt = verifier.request_object(session, &asked, NOW).unwrap().jwt;
    let jws = CompactJws::split(jwt.as_str()).unwrap();
    let key = Es256Key::from_scalar(&[scalar; 32]).unwrap();
    let mut signature = [0; 132];
    let signature = decode_signature(jws.signature, &mut signature).unwrap();
    PROVIDER.verify(key.public_key(), jws.signing_input.as_bytes(), signature).unwrap();
    (decoded(jws.header), decoded(jws.payload))
}

pub(in crate::verifier) fn parts(link: &str) -> BTreeMap<String, String> {
    let (_, query) = link.split_once('?').unwrap();
    form_urlencoded::parse(query.as_bytes()).into_owned().collect()
}

pub(in crate::verifier) fn formats() -> Value {
    let algs = json!(["ES256", "ES384", "ES512"]);
    json!({"dc+sd-jwt": {"sd-jwt_alg_values": algs, "kb-jwt_alg_values": algs}})
}

pub(in crate::verifier) fn x509_hash() -> String {
    let chain = certified(4, "cert").certificate_chain().to_vec();
    let certificate = VerifierCertificate::from_chain(&PROVIDER, &chain).unwrap();
    format!("x509_hash:{}", certificate.x509_hash)
}
