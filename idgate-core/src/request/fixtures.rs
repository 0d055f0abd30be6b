//! Trust, requests and sessions for the unit tests of this crate.

#![allow(clippy::unwrap_used)]

use alloc::sync::Arc;

use serde_json::{Value, json};

use crate::crypto::{
    ContentCipher, CryptoProvider, Curve, DecryptionFailed, EcdhPrivateKey, HashAlg, HashValue,
    Hasher, InvalidKey, KeyAgreement, PortableCertificateVerifier, PublicKey, SharedSecret,
};
#[cfg(feature = "rustcrypto")]
use crate::crypto::{Es256Key, SoftwareSigner};
use crate::entropy::{Entropy, EntropyUnavailable};
use crate::ids::{DocType, IssuerId, NameSpace, TenantId};
use crate::request::{PresentationRequest, Profile};
use crate::session::{Session, Transition};
use crate::time::UnixMillis;
use crate::trust::{Trust, TrustEntry, TrustSnapshot, TrustedKey};
use crate::verifier::builder::WantsIdentity;
use crate::verifier::{NewSession, Verifier, VerifierBuilder};

/// The creation time of the sessions in these tests.
pub(crate) const NOW: UnixMillis = UnixMillis(1_795_000_000_000);

/// A provider for tests that never verify.
pub(crate) const NO_CRYPTO: CryptoProvider = CryptoProvider {
    name: "none",
    verifiers: &[],
    hasher: &NoCrypto,
    agreement: &NoCrypto,
    content_cipher: &NoCrypto,
    certificate_verifier: &PortableCertificateVerifier,
};

#[derive(Debug)]
struct NoCrypto;

impl Hasher for NoCrypto {
    fn hash(&self, _alg: HashAlg, _data: &[u8]) -> HashValue {
        unreachable!("these tests hash nothing")
    }
}

impl KeyAgreement for NoCrypto {
    fn ecdh(&self, _: &EcdhPrivateKey, _: &PublicKey) -> Result<SharedSecret, InvalidKey> {
        unreachable!("these tests agree on nothing")
    }

    fn public_key(&self, _: &EcdhPrivateKey) -> Result<PublicKey, InvalidKey> {
        unreachable!("these tests agree on nothing")
    }

    fn hmac_sha256(&self, _key: &[u8], _data: &[u8]) -> [u8; 32] {
        unreachable!("these tests authenticate nothing")
    }
}

impl ContentCipher for NoCrypto {
    fn open_gcm(
        &self,
        _key: &[u8],
        _iv: &[u8; 12],
        _aad: &[u8],
        _sealed: &mut [u8],
    ) -> Result<usize, DecryptionFailed> {
        unreachable!("these tests decrypt nothing")
    }

    fn open_cbc(
        &self,
        _key: &[u8; 16],
        _iv: &[u8; 16],
        _in_out: &mut [u8],
    ) -> Result<usize, DecryptionFailed> {
        unreachable!("these tests decrypt nothing")
    }
}

/// Entropy that counts, so that all drawn values differ.
#[derive(Debug, Default)]
pub(crate) struct CountingEntropy(u8);

impl Entropy for CountingEntropy {
    fn fill(&mut self, out: &mut [u8]) -> Result<(), EntropyUnavailable> {
        self.0 = self.0.wrapping_add(1);
        out.fill(self.0);
        Ok(())
    }
}

fn key() -> TrustedKey {
    TrustedKey::new(PublicKey::from_coordinates(Curve::P256, &[1; 32], &[2; 32]).unwrap())
}

/// A key on another curve.
fn p384_key() -> TrustedKey {
    TrustedKey::new(PublicKey::from_coordinates(Curve::P384, &[1; 48], &[2; 48]).unwrap())
}

fn entry(issuer_id: &str, keys: Vec<TrustedKey>) -> TrustEntry {
    let mut entry = TrustEntry::new(IssuerId::new(issuer_id));
    entry.keys = keys;
    entry
}

/// Issuers: `https://one.example` (one type, two keys, default claims), `two` (two types),
/// `test-only`, `no-keys`, and `documents` (mdoc attributes and a key).
pub(crate) fn trust() -> TrustSnapshot {
    let mut one = entry("https://one.example", vec![key(), p384_key()]);
    one.vct = vec!["urn:one".into()];
    one.default_claims = vec!["given_name".into(), "age".into(), "given_name".into()];
    let mut two = entry("two", vec![key()]);
    two.vct = vec!["urn:a".into(), "urn:b".into()];
    let mut documents = entry("documents", vec![key()]);
    documents.doc_types = vec![DocType::new("org.example.doc"), DocType::new("org.example.other")];
    documents.namespaces = vec![NameSpace::new("org.example.ns")];
    let test_only = entry("test-only", vec![key().for_test_only()]);
    TrustSnapshot::new(7, [one, two, documents, test_only, entry("no-keys", Vec::new())])
}

/// The request of the JSON `body` in live mode.
#[track_caller]
pub(crate) fn request(body: Value) -> PresentationRequest {
    PresentationRequest::parse(body.to_string().as_bytes(), &trust(), true).unwrap()
}

/// One SD-JWT VC, `credential_1`, with the claim `given_name`.
pub(crate) fn one_credential() -> PresentationRequest {
    request(json!({"credentials": [
        {"format": "vc+sd-jwt", "issuer_id": "https://one.example", "claims": ["given_name"]},
    ]}))
}

/// Two SD-JWT VCs of one subject, `pid` and `credential_2`.
pub(crate) fn two_credentials() -> PresentationRequest {
    request(json!({
        "credentials": [
            {"format": "vc+sd-jwt", "issuer_id": "https://one.example", "id": "pid",
             "claims": ["given_name"]},
            {"format": "vc+sd-jwt", "issuer_id": "two", "claims": ["age"],
             "claim_filters": {"age": {"type": "integer", "minimum": 18}}},
        ],
        "same_subject_groups": [["pid", "credential_2"]],
        "redirect_uri": "https://shop.example/done",
    }))
}

/// The verifier of `https://gateway.example`.
pub(crate) fn verifier() -> Verifier {
    let builder = builder(NO_CRYPTO).unsigned("https://gateway.example");
    builder.build().unwrap()
}

/// A builder for `draft` with the trust of these fixtures.
pub(crate) fn builder(provider: CryptoProvider) -> VerifierBuilder<WantsIdentity> {
    Verifier::builder(Trust::of_snapshot(provider, Arc::new(trust()))).profiles([Profile::Draft])
}

/// The creation of a live session at [`NOW`].
pub(crate) fn creation(request: PresentationRequest) -> Transition {
    let tenant = TenantId::new("cli_1");
    verifier()
        .create_resolved_session(
            request,
            NewSession::live().tenant(tenant),
            &mut CountingEntropy::default(),
            NOW,
        )
        .unwrap()
}

/// A pending live session created at [`NOW`].
pub(crate) fn session(request: PresentationRequest) -> Session {
    creation(request).session
}

/// The verifier of `https://gateway.example:8443` that signs its requests.
#[cfg(feature = "rustcrypto")]
pub(crate) fn jar_verifier() -> Verifier {
    let key = Es256Key::from_scalar(&[3; 32]).unwrap();
    let signer = SoftwareSigner::new(key, "did:web:gateway.example%3A8443#key");
    let builder = builder(crate::crypto::rustcrypto::PROVIDER)
        .signed("https://gateway.example:8443", Arc::new(signer));
    builder.build().unwrap()
}

/// A live session in phase CREATED in the jar profile, created at [`NOW`].
#[cfg(feature = "rustcrypto")]
pub(crate) fn jar_session(request: PresentationRequest) -> Session {
    let (tenant, mut entropy) = (TenantId::new("cli_1"), CountingEntropy::default());
    jar_verifier()
        .create_resolved_session(request, NewSession::live().tenant(tenant), &mut entropy, NOW)
        .unwrap()
        .session
}
