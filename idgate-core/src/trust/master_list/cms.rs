//! CMS SignedData of version 3 with signed attributes (RFC 5652 5), in DER.

use alloc::vec::Vec;

use x509_parser::der_parser::asn1_rs::FromDer as _;
use x509_parser::time::ASN1Time;

use super::error;
use crate::codec::der::{self, Reader, Tlv};
use crate::crypto::{CryptoProvider, HashAlg, SignatureAlgorithm, ct, hash_from_oid};
use crate::limits::{MAX_LIST_SIGNER_CERTIFICATES, MAX_LIST_SIGNERS};
use crate::time::UnixMillis;
use crate::trust::anchors::TrustMaterialError;
use crate::trust::certificate::Certificate;

/// 1.2.840.113549.1.7.2
const SIGNED_DATA: &[u8] = b"\x2a\x86\x48\x86\xf7\x0d\x01\x07\x02";
/// 1.2.840.113549.1.9.3
const CONTENT_TYPE: &[u8] = b"\x2a\x86\x48\x86\xf7\x0d\x01\x09\x03";
/// 1.2.840.113549.1.9.4
const MESSAGE_DIGEST: &[u8] = b"\x2a\x86\x48\x86\xf7\x0d\x01\x09\x04";
/// 1.2.840.113549.1.9.5
const SIGNING_TIME: &[u8] = b"\x2a\x86\x48\x86\xf7\x0d\x01\x09\x05";
/// 1.2.840.113549.1.1.1
const RSA_ENCRYPTION: &[u8] = b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01";

/// A parsed SignedData; its content is unverified.
pub(super) struct SignedData<'a> {
    pub(super) content_type: &'a [u8],
    pub(super) content: &'a [u8],
    pub(super) certificates: Vec<&'a [u8]>,
    pub(super) signers: Vec<SignerInfo<'a>>,
}

/// One signer.
pub(super) struct SignerInfo<'a> {
    /// The time that the signer claims.
    pub(super) signing_time: Option<UnixMillis>,
    identifier: Tlv<'a>,
    digest: &'a [u8],
    /// AlgorithmIdentifier
    algorithm: &'a [u8],
    /// As received, with the tag `[0]`.
    signed_attributes: &'a [u8],
    content_type: &'a [u8],
    message_digest: &'a [u8],
    signature: &'a [u8],
}

impl<'a> SignedData<'a> {
    pub(super) fn parse(file: &'a [u8]) -> Result<Self, TrustMaterialError> {
        let why =
            "is not CMS SignedData of version 3 in DER with at most 4 signers and 32 certificates";
        Self::read(file).ok_or(error(why))
    }

    fn read(file: &'a [u8]) -> Option<Self> {
        let mut content_info = Reader::within(file, der::SEQUENCE)?;
        if content_info.element(der::OID)?.content != SIGNED_DATA {
            return None;
        }
        let mut wrapper = content_info.enter(der::context(0))?;
        let mut signed = wrapper.enter(der::SEQUENCE)?;
        if signed.unsigned()? != [3] {
            return None;
        }
        signed.element(der::SET)?;
        let mut encapsulated = signed.enter(der::SEQUENCE)?;
        let content_type = encapsulated.element(der::OID)?.content;
        let content = encapsulated.enter(der::context(0))?.element(der::OCTET_STRING)?.content;
        let mut certificates = Vec::new();
        if let Some(set) = signed.optional(der::context(0)) {
            let mut set = Reader::new(set.content);
            while !set.is_empty() {
                if certificates.len() == MAX_LIST_SIGNER_CERTIFICATES {
                    return None;
                }
                certificates.push(set.next()?.raw);
            }
        }
        signed.optional(der::context(1));
        let mut infos = signed.enter(der::SET)?;
        let mut signers = Vec::new();
        while !infos.is_empty() {
            if signers.len() == MAX_LIST_SIGNERS {
                return None;
            }
            signers.push(SignerInfo::read(infos.enter(der::SEQUENCE)?)?);
        }
        Some(Self { content_type, content, certificates, signers })
    }
}

impl<'a> SignerInfo<'a> {
    fn read(mut info: Reader<'a>) -> Option<Self> {
        info.unsigned()?;
        let identifier = info.next()?;
        let digest = info.enter(der::SEQUENCE)?.element(der::OID)?.content;
        let signed_attributes = info.element(der::context(0))?;
        let algorithm = info.element(der::SEQUENCE)?.raw;
        let signature = info.element(der::OCTET_STRING)?.content;
        let attributes = Attributes::read(signed_attributes.content)?;
        Some(Self {
            signing_time: attributes.signing_time,
            identifier,
            digest,
            algorithm,
            signed_attributes: signed_attributes.raw,
            content_type: attributes.content_type?,
            message_digest: attributes.message_digest?,
            signature,
        })
    }

    /// The certificate among `certificates` whose key signed the attributes, which in turn cover
    /// the content (RFC 5652 5.4, 5.6).
    pub(super) fn verify<'c>(
        &self,
        provider: &CryptoProvider,
        signed: &SignedData<'_>,
        certificates: &'c [Certificate<'c>],
    ) -> Result<&'c Certificate<'c>, &'static str> {
        let hash = hash_from_oid(self.digest).ok_or("is signed over a hash other than SHA-2")?;
        let digest = provider.hash(hash, signed.content);
        if self.content_type != signed.content_type
            || !ct::eq(digest.as_bytes(), self.message_digest)
        {
            return Err("has a content that its signer did not sign");
        }
        let signer = certificates.iter().find(|certificate| self.names(certificate));
        let signer = signer.ok_or("lacks the certificate of its signer")?;
        let key = signer.key().map_err(|_| "has a signer with a key of an unknown kind")?;
        let algorithm = self.signature_algorithm(hash);
        let algorithm = algorithm.ok_or("is signed with an algorithm that is not accepted")?;
        key.verify(provider, algorithm, &self.signed_bytes(), self.signature)
            .map(|()| signer)
            .map_err(|_| "has a signature that does not verify")
    }

    /// The signed bytes: the attributes with the tag of a SET (RFC 5652 5.4).
    fn signed_bytes(&self) -> Vec<u8> {
        let mut bytes = self.signed_attributes.to_vec();
        if let Some(tag) = bytes.first_mut() {
            *tag = der::SET;
        }
        bytes
    }

    /// A bare rsaEncryption means PKCS#1 v1.5 with the digest's hash (RFC 3370 3.2).
    fn signature_algorithm(&self, hash: HashAlg) -> Option<SignatureAlgorithm> {
        let oid = Reader::within(self.algorithm, der::SEQUENCE)?.element(der::OID)?.content;
        if oid == RSA_ENCRYPTION {
            return Some(SignatureAlgorithm::RsaPkcs1(hash));
        }
        SignatureAlgorithm::from_identifier(self.algorithm)
    }

    /// By issuer and serial number, or by subject key identifier (RFC 5652 5.3).
    fn names(&self, certificate: &Certificate<'_>) -> bool {
        if self.identifier.tag != der::SEQUENCE {
            const SUBJECT_KEY_IDENTIFIER: u8 = 0x80;
            return self.identifier.tag == SUBJECT_KEY_IDENTIFIER
                && certificate.subject_key_identifier() == Some(self.identifier.content);
        }
        let mut identifier = Reader::new(self.identifier.content);
        let issuer = identifier.next().map(|issuer| issuer.raw);
        let serial = identifier.element(der::INTEGER).map(|serial| serial.content);
        issuer == Some(certificate.issuer().as_raw()) && serial == Some(certificate.serial())
    }
}

#[derive(Default)]
struct Attributes<'a> {
    content_type: Option<&'a [u8]>,
    message_digest: Option<&'a [u8]>,
    signing_time: Option<UnixMillis>,
}

impl<'a> Attributes<'a> {
    /// Each attribute has one value and occurs once (RFC 5652 11).
    fn read(set: &'a [u8]) -> Option<Self> {
        let mut set = Reader::new(set);
        let mut attributes = Self::default();
        while !set.is_empty() {
            let mut attribute = set.enter(der::SEQUENCE)?;
            let oid = attribute.element(der::OID)?.content;
            let mut values = attribute.enter(der::SET)?;
            let is_repeated = match oid {
                CONTENT_TYPE => {
                    attributes.content_type.replace(values.element(der::OID)?.content).is_some()
                }
                MESSAGE_DIGEST => attributes
                    .message_digest
                    .replace(values.element(der::OCTET_STRING)?.content)
                    .is_some(),
                SIGNING_TIME => {
                    attributes.signing_time.replace(instant(values.next()?.raw)?).is_some()
                }
                _ => continue,
            };
            if is_repeated || !values.is_empty() {
                return None;
            }
        }
        Some(attributes)
    }
}

/// UTCTime or GeneralizedTime.
fn instant(time: &[u8]) -> Option<UnixMillis> {
    let (_, time) = ASN1Time::from_der(time).ok()?;
    u64::try_from(time.timestamp()).ok().map(UnixMillis::from_secs)
}
