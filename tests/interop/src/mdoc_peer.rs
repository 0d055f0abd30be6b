//! isomdl as issuer, holder and reader. It supports P-256 and the mDL document type.

use std::collections::BTreeMap;

use ciborium::Value;
use idgate_testkit::codec::from_base64url;
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::mdoc::{MDL, MDL_NAME_SPACE, openid4vp};
use idgate_testkit::x509::Identity;
use isomdl::definitions::device_request::ItemsRequest;
use isomdl::definitions::device_signed::DeviceAuthType;
use isomdl::definitions::session::SessionTranscript;
use isomdl::definitions::x509::X5Chain;
use isomdl::definitions::x509::trust_anchor::{TrustAnchor, TrustAnchorRegistry, TrustPurpose};
use isomdl::definitions::{
    CoseKey, DeviceKeyInfo, DeviceResponse, DigestAlgorithm, EC2Curve, EC2Y, ValidityInfo,
};
use isomdl::issuance::Mdoc;
use isomdl::presentation::authentication::AuthenticationStatus;
use isomdl::presentation::device::{DeviceSession, Document, Documents};
use isomdl::presentation::reader;
use isomdl::presentation::reader_utils::validate_response;
use p256::ecdsa::signature::Signer as _;
use p256::ecdsa::{Signature, SigningKey as PeerKey};
use time::{Duration, OffsetDateTime};

use crate::{AUDIENCE, NONCE, RESPONSE_URI, now_secs};

/// The credential that the peer issues and holds.
pub struct Sample {
    /// The sample IACA.
    pub root: Identity,
    signer: Identity,
    device: SigningKey,
}

/// A SessionTranscript in its encoded form.
#[derive(Clone, serde::Serialize, serde::Deserialize)]
struct Transcript(Value);

impl SessionTranscript for Transcript {}

struct Session {
    documents: Documents,
    transcript: Transcript,
}

impl DeviceSession for Session {
    type ST = Transcript;

    fn documents(&self) -> &Documents {
        &self.documents
    }

    fn session_transcript(&self) -> Transcript {
        self.transcript.clone()
    }

    fn device_auth_type(&self) -> DeviceAuthType {
        DeviceAuthType::Sign1
    }
}

impl Default for Sample {
    fn default() -> Self {
        let now_ms = now_secs() * 1000;
        let root = Identity::iaca(Curve::P256, now_ms);
        let signer = root.document_signer(Curve::P256, now_ms);
        Self { root, signer, device: SigningKey::from_seed(Curve::P256, "interop device") }
    }
}

impl Sample {
    /// An mdoc of the peer, signed `age` ago and valid for half a day.
    ///
    /// # Panics
    /// The peer refuses to issue it.
    pub fn issue(&self, doc_type: &str, age: Duration) -> Mdoc {
        let elements = [
            ("family_name", Value::from("Mustermann")),
            ("age_over_18", Value::from(true)),
            ("issuing_country", Value::from("UT")),
        ];
        let elements: BTreeMap<_, _> =
            elements.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let chain = chain_of(&self.signer.der);
        Mdoc::builder()
            .doc_type(doc_type.to_owned())
            .namespaces([(MDL_NAME_SPACE.to_owned(), elements)].into())
            .validity_info(validity(age))
            .digest_algorithm(DigestAlgorithm::SHA256)
            .device_key_info(self.device_key_info())
            .issue::<PeerKey, Signature>(chain, peer_key(&self.signer.key))
            .expect("an mdoc")
    }

    /// The holder's DeviceResponse for the request of these tests, shown as an mDL.
    ///
    /// # Panics
    /// The peer refuses to present it.
    pub fn present(&self, mdoc: Mdoc, elements: &[&str], nonce: &str) -> Vec<u8> {
        let mut documents = BTreeMap::new();
        documents.insert(MDL.to_owned(), Document::from(mdoc));
        let documents = documents.try_into().expect("one document");
        let session = Session { documents, transcript: transcript(nonce) };
        let names = || elements.iter().map(|name| (*name).to_owned());
        let asked: BTreeMap<_, _> = names().map(|name| (name, false)).collect();
        let asked = BTreeMap::from([(MDL_NAME_SPACE.to_owned(), asked.try_into().expect("some"))]);
        let request = ItemsRequest {
            doc_type: MDL.into(),
            namespaces: asked.try_into().expect("one namespace"),
            request_info: None,
        };
        let permitted = BTreeMap::from([(MDL_NAME_SPACE.to_owned(), names().collect())]);
        let permitted = BTreeMap::from([(MDL.to_owned(), permitted)]);
        let mut prepared = session.prepare_response(&vec![request], permitted);
        let (_, payload) = prepared.get_next_signature_payload().expect("one to sign");
        let signature: Signature = peer_key(&self.device).sign(payload);
        prepared.submit_next_signature(signature.to_vec());
        isomdl::cbor::to_vec(&prepared.finalize_response()).expect("CBOR")
    }

    /// Whether the peer's reader calls issuer and device authentication valid.
    ///
    /// # Panics
    /// The peer cannot read the response.
    pub fn reader_accepts(&self, response: &[u8]) -> bool {
        let response: DeviceResponse = isomdl::cbor::from_slice(response).expect("a response");
        let (document, chain, elements) = reader::parse(&response).expect("an mDL");
        let root = TrustAnchor {
            certificate: chain_of(&self.root.der).end_entity_certificate().clone(),
            purpose: TrustPurpose::Iaca,
        };
        let anchors = TrustAnchorRegistry { anchors: vec![root] };
        let outcome =
            validate_response(transcript(NONCE), anchors, chain, document.clone(), elements);
        outcome.issuer_authentication == AuthenticationStatus::Valid
            && outcome.device_authentication == AuthenticationStatus::Valid
    }

    fn device_key_info(&self) -> DeviceKeyInfo {
        let point = self.device.public_sec1();
        let (x, y) = point[1..].split_at(32);
        DeviceKeyInfo {
            device_key: CoseKey::EC2 {
                crv: EC2Curve::P256,
                x: x.to_vec(),
                y: EC2Y::Value(y.to_vec()),
            },
            key_authorizations: None,
            key_info: None,
        }
    }
}

fn validity(age: Duration) -> ValidityInfo {
    let now = i64::try_from(now_secs()).expect("the present");
    let signed = OffsetDateTime::from_unix_timestamp(now).expect("the present") - age;
    ValidityInfo {
        signed,
        valid_from: signed,
        valid_until: signed + Duration::hours(12),
        expected_update: None,
    }
}

fn chain_of(certificate: &[u8]) -> X5Chain {
    let chain = X5Chain::builder().with_der_certificate(certificate);
    chain.and_then(|chain| chain.build()).expect("a certificate")
}

fn transcript(nonce: &str) -> Transcript {
    let bytes = openid4vp(AUDIENCE, nonce, None, RESPONSE_URI);
    Transcript(ciborium::from_reader(&*bytes).expect("CBOR"))
}

fn peer_key(key: &SigningKey) -> PeerKey {
    let jwk = key.private_jwk();
    let scalar = jwk["d"].as_str().and_then(from_base64url);
    PeerKey::from_slice(&scalar.expect("a private key")).expect("a P-256 key")
}
