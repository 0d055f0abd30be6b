//! The holder: a document with the device's proof, and the response that contains it.

use p256::elliptic_curve::point::AffineCoordinates as _;
use p256::{PublicKey, SecretKey};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::MDL;
use super::cbor::Cbor;
use super::issuer::{IssuerSigned, cose_label, sign1};
use crate::codec::from_base64url;
use crate::keys::SigningKey;

/// How the device proves that it holds its key.
#[derive(Clone, Debug)]
pub enum DeviceProof {
    /// A signature by the device's key.
    Signature,
    /// A MAC for the reader of this uncompressed P-256 point.
    Mac(Vec<u8>),
    /// This `deviceAuth`, unchanged.
    Given(Cbor),
}

/// A document before the device's proof.
#[derive(Clone, Debug)]
pub struct Document {
    /// The outer docType.
    pub doc_type: String,
    /// The part that the issuer signed.
    pub issuer_signed: IssuerSigned,
    /// The elements that the device itself signs: `{namespace: {element: value}}`.
    pub device_name_spaces: Cbor,
    /// The device's key.
    pub device_key: SigningKey,
    /// The protected header of the proof, instead of the right one.
    pub protected: Option<Cbor>,
    /// The unprotected header of the proof.
    pub unprotected: Cbor,
    /// `errors`
    pub errors: Option<Cbor>,
}

impl Document {
    /// An mDL.
    pub fn new(issuer_signed: IssuerSigned, device_key: &SigningKey) -> Self {
        Self {
            doc_type: MDL.into(),
            issuer_signed,
            device_name_spaces: Cbor::Map(Vec::new()),
            device_key: device_key.clone(),
            protected: None,
            unprotected: Cbor::Map(Vec::new()),
            errors: None,
        }
    }

    /// The document, proved for the session of this encoded SessionTranscript.
    pub fn prove(&self, transcript: &[u8], proof: &DeviceProof) -> Cbor {
        let device_auth = match proof {
            DeviceProof::Signature => {
                Cbor::map([("deviceSignature", self.device_signature(transcript))])
            }
            DeviceProof::Mac(reader) => {
                Cbor::map([("deviceMac", self.device_mac(transcript, reader))])
            }
            DeviceProof::Given(device_auth) => device_auth.clone(),
        };
        let device_signed = Cbor::map([
            ("nameSpaces", self.device_name_spaces.to_encoded()),
            ("deviceAuth", device_auth),
        ]);
        let mut document = Cbor::map([
            ("docType", (&*self.doc_type).into()),
            ("issuerSigned", self.issuer_signed.sign()),
            ("deviceSigned", device_signed),
        ]);
        if let Some(errors) = &self.errors {
            document.set("errors", errors.clone());
        }
        document
    }

    /// `deviceSignature`
    pub fn device_signature(&self, transcript: &[u8]) -> Cbor {
        let fitting = || Cbor::Map(vec![(1.into(), cose_label(self.device_key.curve()).into())]);
        let protected = self.protected.clone().unwrap_or_else(fitting);
        let payload = self.payload(transcript);
        sign1(&self.device_key, &protected, self.unprotected.clone(), &payload, false)
    }

    /// `deviceMac` for the reader of this uncompressed P-256 point.
    pub fn device_mac(&self, transcript: &[u8], reader: &[u8]) -> Cbor {
        let protected = self.protected.clone();
        let protected = protected.unwrap_or_else(|| Cbor::Map(vec![(1.into(), 5.into())]));
        let protected = Cbor::Bytes(protected.encode());
        let authenticated = Cbor::Array(vec![
            "MAC0".into(),
            protected.clone(),
            Cbor::Bytes(Vec::new()),
            Cbor::Bytes(self.payload(transcript)),
        ]);
        let key = mac_key(&self.device_key, reader, transcript);
        let tag = hmac(&key, &authenticated.encode());
        Cbor::Array(vec![protected, self.unprotected.clone(), Cbor::Null, Cbor::Bytes(tag)])
    }

    /// DeviceAuthenticationBytes.
    pub fn payload(&self, transcript: &[u8]) -> Vec<u8> {
        let device_authentication = Cbor::Array(vec![
            "DeviceAuthentication".into(),
            Cbor::Raw(transcript.to_vec()),
            (&*self.doc_type).into(),
            self.device_name_spaces.to_encoded(),
        ]);
        device_authentication.to_encoded().encode()
    }
}

/// A DeviceResponse of these documents; change any entry before encoding it.
pub fn device_response(documents: Vec<Cbor>) -> Cbor {
    Cbor::map([
        ("version", "1.0".into()),
        ("documents", Cbor::Array(documents)),
        ("status", 0.into()),
    ])
}

/// EMacKey (ISO/IEC 18013-5 9.1.3.5); empty when a key is not on P-256.
fn mac_key(device_key: &SigningKey, reader: &[u8], transcript: &[u8]) -> Vec<u8> {
    let jwk = device_key.private_jwk();
    let scalar = jwk.get("d").and_then(Value::as_str).and_then(from_base64url);
    let private = scalar.and_then(|scalar| SecretKey::from_slice(&scalar).ok());
    let (Some(private), Ok(public)) = (private, PublicKey::from_sec1_bytes(reader)) else {
        return Vec::new();
    };
    let shared = (public.to_projective() * private.to_nonzero_scalar().as_ref()).to_affine().x();
    let salt = Sha256::digest(Cbor::encoded(transcript.to_vec()).encode());
    let pseudorandom = hmac(&salt, &shared);
    hmac(&pseudorandom, b"EMacKey\x01")
}

/// HMAC with SHA-256 (RFC 2104), for keys up to a block.
pub(crate) fn hmac(key: &[u8], data: &[u8]) -> Vec<u8> {
    let pad = |with: u8| -> Vec<u8> {
        let bytes = key.iter().copied().chain(std::iter::repeat(0));
        bytes.take(64).map(|byte| byte ^ with).collect()
    };
    let inner = Sha256::digest([pad(0x36), data.to_vec()].concat());
    Sha256::digest([pad(0x5c), inner.to_vec()].concat()).to_vec()
}
