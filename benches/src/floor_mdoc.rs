//! The floor of an mdoc: a generic CBOR tree, the certificate path by signatures and dates only, the
//! MSO's signature, one digest and one look-up per item, the device's signature. A yardstick,
//! not a product: no profile, no policy, and it panics on malformed input.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use std::collections::HashMap;
use std::hint::black_box;

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
use ciborium::Value;
use x509_parser::prelude::{FromDer, X509Certificate};

/// The public point of a certificate.
pub(crate) fn point(der: &[u8]) -> Vec<u8> {
    key_of(&X509Certificate::from_der(der).unwrap().1).to_vec()
}

/// Whether the one document is genuine. `transcript` is encoded. Without `root_key` its certificate
/// is already known.
pub(crate) fn verify(response: &[u8], transcript: &[u8], root_key: Option<&[u8]>) -> bool {
    let response: Value = ciborium::from_reader(response).unwrap();
    let document = &get(&response, "documents").as_array().unwrap()[0];
    let issuer_signed = get(document, "issuerSigned");
    let auth = get(issuer_signed, "issuerAuth").as_array().unwrap();
    let payload = auth[2].as_bytes().unwrap();
    let Some(signer) = signer_key(label(&auth[1], 33), root_key) else { return false };
    let signed = sig_structure(auth[0].as_bytes().unwrap(), payload);
    if !signature(&signer, &signed, auth[3].as_bytes().unwrap()) {
        return false;
    }
    let mso: Value = ciborium::from_reader(&untag(&parse(payload))[..]).unwrap();
    let doc_type = get(document, "docType").as_text().unwrap();
    if get(&mso, "docType").as_text().unwrap() != doc_type {
        return false;
    }
    let Some(elements) = elements(get(issuer_signed, "nameSpaces"), get(&mso, "valueDigests"))
    else {
        return false;
    };
    black_box(&elements);
    let device_key = cose_key(get(get(&mso, "deviceKeyInfo"), "deviceKey"));
    let device_signed = get(document, "deviceSigned");
    let proof = get(get(device_signed, "deviceAuth"), "deviceSignature").as_array().unwrap();
    let name_spaces = encode(get(device_signed, "nameSpaces"));
    let payload = device_authentication(transcript, doc_type, &name_spaces);
    let signed = sig_structure(proof[0].as_bytes().unwrap(), &payload);
    signature(&device_key, &signed, proof[3].as_bytes().unwrap())
}

fn key_of<'a>(certificate: &'a X509Certificate<'_>) -> &'a [u8] {
    &certificate.tbs_certificate.subject_pki.subject_public_key.data
}

fn signer_key(x5chain: &Value, root_key: Option<&[u8]>) -> Option<Vec<u8>> {
    let ders: Vec<&[u8]> = match x5chain {
        Value::Array(chain) => chain.iter().map(|der| der.as_bytes().unwrap().as_slice()).collect(),
        one => vec![one.as_bytes().unwrap()],
    };
    let chain: Vec<X509Certificate<'_>> =
        ders.iter().map(|der| X509Certificate::from_der(der).unwrap().1).collect();
    let known = if root_key.is_none() { chain.len() } else { 0 };
    for (at, certificate) in chain.iter().enumerate().skip(known) {
        let issuer = chain.get(at + 1).map_or(root_key.unwrap_or_default(), key_of);
        let signed = certificate.tbs_certificate.as_ref();
        let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, issuer);
        let dates = &certificate.tbs_certificate.validity;
        if dates.not_before > dates.not_after
            || key.verify(signed, &certificate.signature_value.data).is_err()
        {
            return None;
        }
    }
    Some(key_of(&chain[0]).to_vec())
}

fn elements(name_spaces: &Value, value_digests: &Value) -> Option<Vec<(String, Value)>> {
    let mut elements = Vec::new();
    for (name_space, items) in name_spaces.as_map().unwrap() {
        let digests: HashMap<i128, &Vec<u8>> = get(value_digests, name_space.as_text().unwrap())
            .as_map()
            .unwrap()
            .iter()
            .map(|(id, value)| (id.as_integer().unwrap().into(), value.as_bytes().unwrap()))
            .collect();
        for item in items.as_array().unwrap() {
            let bytes = untag(item);
            let mut tagged = vec![0xd8, 0x18];
            string(2, bytes, &mut tagged);
            let item = parse(bytes);
            let id: i128 = get(&item, "digestID").as_integer().unwrap().into();
            if digest(&SHA256, &tagged).as_ref() != digests.get(&id)?.as_slice() {
                return None;
            }
            let name = get(&item, "elementIdentifier").as_text().unwrap();
            elements.push((name.to_owned(), get(&item, "elementValue").clone()));
        }
    }
    Some(elements)
}

fn signature(key: &[u8], message: &[u8], signature: &[u8]) -> bool {
    UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, key).verify(message, signature).is_ok()
}

fn cose_key(key: &Value) -> Vec<u8> {
    [&[4][..], label(key, -2).as_bytes().unwrap(), label(key, -3).as_bytes().unwrap()].concat()
}

fn sig_structure(protected: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(payload.len() + 32);
    out.push(0x84);
    string(3, b"Signature1", &mut out);
    string(2, protected, &mut out);
    out.push(0x40);
    string(2, payload, &mut out);
    out
}

fn device_authentication(transcript: &[u8], doc_type: &str, name_spaces: &[u8]) -> Vec<u8> {
    let mut inner = vec![0x84];
    string(3, b"DeviceAuthentication", &mut inner);
    inner.extend(transcript);
    string(3, doc_type.as_bytes(), &mut inner);
    inner.extend(name_spaces);
    let mut out = vec![0xd8, 0x18];
    string(2, &inner, &mut out);
    out
}

fn get<'a>(map: &'a Value, key: &str) -> &'a Value {
    let found = map.as_map().unwrap().iter().find(|(name, _)| name.as_text() == Some(key));
    &found.unwrap().1
}

fn label(map: &Value, key: i64) -> &Value {
    let found =
        map.as_map().unwrap().iter().find(|(name, _)| name.as_integer() == Some(key.into()));
    &found.unwrap().1
}

fn parse(bytes: &[u8]) -> Value {
    ciborium::from_reader(bytes).unwrap()
}

fn encode(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    ciborium::into_writer(value, &mut out).unwrap();
    out
}

fn untag(value: &Value) -> &Vec<u8> {
    match value {
        Value::Tag(24, bytes) => bytes.as_bytes().unwrap(),
        other => panic!("no tag 24 but {other:?}"),
    }
}

fn string(major: u8, content: &[u8], out: &mut Vec<u8>) {
    let len = content.len();
    let [.., b1, b0] = len.to_be_bytes();
    match len {
        0..=23 => out.push(major << 5 | b0),
        24..=255 => out.extend([major << 5 | 24, b0]),
        256..=65_535 => out.extend([major << 5 | 25, b1, b0]),
        _ => {
            out.push(major << 5 | 26);
            out.extend(u32::try_from(len).unwrap().to_be_bytes());
        }
    }
    out.extend(content);
}
