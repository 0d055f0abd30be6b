//! The floor: the work that no verifier of an SD-JWT can avoid, without any care. Two signatures, one
//! hash, base64 and JSON parse per disclosure, one set look-up each, sd_hash, aud, nonce, exp. A
//! yardstick, not a product: it checks no policy and panics on malformed input.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::expect_used)]

use std::collections::HashSet;
use std::hint::black_box;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde::Deserialize;
use serde_json::Value;
use x509_parser::prelude::{FromDer, X509Certificate};

/// Which library verifies and hashes.
#[derive(Clone, Copy)]
pub(crate) enum Backend {
    AwsLcRs,
    RustCrypto,
}

#[derive(Deserialize)]
struct Payload<'a> {
    #[serde(borrow, rename = "_sd")]
    digests: Vec<&'a str>,
    exp: u64,
    cnf: Cnf,
}

#[derive(Deserialize)]
struct Cnf {
    jwk: Value,
}

#[derive(Deserialize)]
struct KeyBinding<'a> {
    aud: &'a str,
    nonce: &'a str,
    sd_hash: &'a str,
}

pub(crate) fn verify(
    backend: Backend,
    presentation: &str,
    key: &[u8],
    nonce: &str,
    aud: &str,
) -> bool {
    let cut = presentation.rfind('~').unwrap();
    let (body, key_binding) = (&presentation[..=cut], &presentation[cut + 1..]);
    let mut parts = body[..cut].split('~');
    let Some(payload) = jws(backend, parts.next().unwrap(), key) else { return false };
    let payload: Payload<'_> = serde_json::from_slice(&payload).unwrap();
    let digests: HashSet<&str> = payload.digests.iter().copied().collect();
    if digests.len() != payload.digests.len() || payload.exp < 1_700_000_000 {
        return false;
    }
    let mut claims = serde_json::Map::new();
    for disclosure in parts {
        if !digests.contains(sha256(backend, disclosure).as_str()) {
            return false;
        }
        let (_, name, value): (String, String, Value) =
            serde_json::from_slice(&decode(disclosure)).unwrap();
        claims.insert(name, value);
    }
    let Some(kb) = jws(backend, key_binding, &sec1(&payload.cnf.jwk)) else { return false };
    let kb: KeyBinding<'_> = serde_json::from_slice(&kb).unwrap();
    black_box(&claims);
    kb.aud == aud && kb.nonce == nonce && kb.sd_hash == sha256(backend, body)
}

/// The key of the first certificate in the header, checked by signatures and dates only. Without
/// `root_key` the key is already known.
pub(crate) fn certified_key(
    backend: Backend,
    presentation: &str,
    root_key: Option<&[u8]>,
) -> Vec<u8> {
    let header = &presentation[..presentation.find('.').unwrap()];
    let header: Value = serde_json::from_slice(&decode(header)).unwrap();
    let decode = |text: &Value| STANDARD.decode(text.as_str().unwrap()).unwrap();
    let ders: Vec<Vec<u8>> = header["x5c"].as_array().unwrap().iter().map(decode).collect();
    let chain: Vec<X509Certificate<'_>> =
        ders.iter().map(|der| X509Certificate::from_der(der).unwrap().1).collect();
    let keys: Vec<&[u8]> = chain.iter().map(|one| point(one)).collect();
    let known = if root_key.is_none() { chain.len() } else { 0 };
    for (at, certificate) in chain.iter().enumerate().skip(known) {
        let issuer = keys.get(at + 1).copied().unwrap_or(root_key.unwrap_or_default());
        let dates = &certificate.tbs_certificate.validity;
        assert!(dates.not_before <= dates.not_after);
        let signed = certificate.tbs_certificate.as_ref();
        assert!(asn1_signature(backend, issuer, signed, &certificate.signature_value.data));
    }
    keys[0].to_vec()
}

fn point<'c>(certificate: &'c X509Certificate<'_>) -> &'c [u8] {
    &certificate.tbs_certificate.subject_pki.subject_public_key.data
}

fn asn1_signature(backend: Backend, key: &[u8], message: &[u8], signature: &[u8]) -> bool {
    match backend {
        Backend::AwsLcRs => {
            let alg = &aws_lc_rs::signature::ECDSA_P256_SHA256_ASN1;
            aws_lc_rs::signature::UnparsedPublicKey::new(alg, key)
                .verify(message, signature)
                .is_ok()
        }
        Backend::RustCrypto => {
            use p256::ecdsa::signature::Verifier;
            let signature = p256::ecdsa::DerSignature::from_bytes(signature).unwrap();
            let key = p256::ecdsa::VerifyingKey::from_sec1_bytes(key).unwrap();
            key.verify(message, &signature).is_ok()
        }
    }
}

fn jws(backend: Backend, text: &str, key: &[u8]) -> Option<Vec<u8>> {
    let dot = text.rfind('.')?;
    if !signature(backend, key, &text.as_bytes()[..dot], &decode(&text[dot + 1..])) {
        return None;
    }
    let header_end = text.find('.')?;
    let header: Value = serde_json::from_slice(&decode(&text[..header_end])).ok()?;
    black_box(header["alg"].as_str()?);
    Some(decode(&text[header_end + 1..dot]))
}

fn signature(backend: Backend, key: &[u8], message: &[u8], signature: &[u8]) -> bool {
    match backend {
        Backend::AwsLcRs => {
            use aws_lc_rs::signature as aws;
            let alg = match key.len() {
                65 => &aws::ECDSA_P256_SHA256_FIXED,
                97 => &aws::ECDSA_P384_SHA384_FIXED,
                _ => &aws::ECDSA_P521_SHA512_FIXED,
            };
            aws::UnparsedPublicKey::new(alg, key).verify(message, signature).is_ok()
        }
        Backend::RustCrypto => {
            use p256::ecdsa::signature::Verifier;
            macro_rules! check {
                ($curve:ident) => {
                    $curve::ecdsa::VerifyingKey::from_sec1_bytes(key)
                        .unwrap()
                        .verify(message, &$curve::ecdsa::Signature::from_slice(signature).unwrap())
                        .is_ok()
                };
            }
            match key.len() {
                65 => check!(p256),
                97 => check!(p384),
                _ => check!(p521),
            }
        }
    }
}

fn sha256(backend: Backend, text: &str) -> String {
    match backend {
        Backend::AwsLcRs => {
            let hash = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, text.as_bytes());
            URL_SAFE_NO_PAD.encode(hash.as_ref())
        }
        Backend::RustCrypto => {
            use sha2::Digest;
            URL_SAFE_NO_PAD.encode(sha2::Sha256::digest(text.as_bytes()))
        }
    }
}

fn decode(text: &str) -> Vec<u8> {
    URL_SAFE_NO_PAD.decode(text).unwrap()
}

fn sec1(jwk: &Value) -> Vec<u8> {
    let mut key = vec![4u8];
    key.extend(decode(jwk["x"].as_str().unwrap()));
    key.extend(decode(jwk["y"].as_str().unwrap()));
    key
}
