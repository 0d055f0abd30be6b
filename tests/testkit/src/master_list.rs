//! An ICAO Master List (Doc 9303-12): CMS SignedData (RFC 5652 5) around a SET of certificates.

use crate::codec::HashAlg;
use crate::der::{self, ecdsa_signature, oid, sequence, tlv, unsigned};
use crate::keys::SigningKey;
use crate::x509::{
    CertificateBuilder, EXT_KEY_USAGE, Identity, Name, ext_key_usage, signature_algorithm,
};

const MASTER_LIST: &str = "2.23.136.1.1.2";
const MASTER_LIST_SIGNER: &str = "2.23.136.1.1.3";
const SIGNED_DATA: &str = "1.2.840.113549.1.7.2";
const CONTENT_TYPE: &str = "1.2.840.113549.1.9.3";
const MESSAGE_DIGEST: &str = "1.2.840.113549.1.9.4";
const SIGNING_TIME: &str = "1.2.840.113549.1.9.5";
const SHA256: &str = "2.16.840.1.101.3.4.2.1";

/// A list before it is signed.
#[derive(Clone, Debug)]
pub struct MasterList {
    /// In DER.
    pub certificates: Vec<Vec<u8>>,
    /// The signing time, in milliseconds since the epoch.
    pub signing_time_ms: u64,
}

impl MasterList {
    /// A list of these certificates.
    pub fn new(certificates: &[&[u8]], signing_time_ms: u64) -> Self {
        let certificates = certificates.iter().map(|der| der.to_vec()).collect();
        Self { certificates, signing_time_ms }
    }

    /// The file, signed by a P-256 signer, with its certificate.
    pub fn sign(&self, signer: &Identity) -> Vec<u8> {
        let sha256 = sequence(&[&oid(SHA256)]);
        let content = self.content();
        let content_info =
            sequence(&[&oid(MASTER_LIST), &tlv(0xa0, &[&tlv(der::OCTET_STRING, &[&content])])]);
        let signed_data = sequence(&[
            &unsigned(&[3]),
            &tlv(der::SET, &[&sha256]),
            &content_info,
            &tlv(0xa0, &[&signer.der]),
            &tlv(der::SET, &[&self.signer_info(signer, &content, &sha256)]),
        ]);
        sequence(&[&oid(SIGNED_DATA), &tlv(0xa0, &[&signed_data])])
    }

    /// CscaMasterList
    fn content(&self) -> Vec<u8> {
        sequence(&[&unsigned(&[0]), &set_of(self.certificates.clone())])
    }

    fn signer_info(&self, signer: &Identity, content: &[u8], sha256: &[u8]) -> Vec<u8> {
        let attribute =
            |kind: &str, value: &[u8]| sequence(&[&oid(kind), &tlv(der::SET, &[value])]);
        let digest = HashAlg::Sha256.hash(content);
        let attributes = set_of(vec![
            attribute(CONTENT_TYPE, &oid(MASTER_LIST)),
            attribute(SIGNING_TIME, &der::time(self.signing_time_ms)),
            attribute(MESSAGE_DIGEST, &tlv(der::OCTET_STRING, &[&digest])),
        ]);
        let signature = ecdsa_signature(&signer.key.sign(&attributes));
        // Signed as a SET, encoded as [0] (RFC 5652 5.4).
        let mut carried = attributes;
        if let Some(tag) = carried.first_mut() {
            *tag = 0xa0;
        }
        let issuer = signer.builder.issuer.der();
        sequence(&[
            &unsigned(&[1]),
            &sequence(&[&issuer, &unsigned(&signer.builder.serial)]),
            sha256,
            &carried,
            &signature_algorithm(signer.key.curve(), None),
            &tlv(der::OCTET_STRING, &[&signature]),
        ])
    }
}

/// A list signer under `ca`.
pub fn master_list_signer(ca: &Identity, now_ms: u64) -> Identity {
    let key = SigningKey::from_seed(ca.key.curve(), "master list signer");
    let name = Name::new("UN", "Sample master list signer");
    CertificateBuilder::document_signer(ca, name, &key, now_ms)
        .set(EXT_KEY_USAGE, true, ext_key_usage(&[MASTER_LIST_SIGNER]))
        .issue(ca, &key)
}

/// A SET OF in the order of DER (X.690 11.6).
fn set_of(mut elements: Vec<Vec<u8>>) -> Vec<u8> {
    elements.sort_unstable();
    tlv(der::SET, &[&elements.concat()])
}
