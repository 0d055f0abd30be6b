//! Signatures on certificates, CRLs and CMS (RFC 5758, RFC 4055): ECDSA and RSA with SHA-2. SHA-1
//! and unknown algorithms have no value here, so they cannot be accepted.

use crate::codec::der::{self, Reader};
use crate::crypto::certificate_keys::RsaScheme;
use crate::crypto::hash::HashAlg;
use crate::crypto::issuer_key::IssuerKey;
use crate::crypto::provider::{CryptoProvider, InvalidSignature};

/// The AlgorithmIdentifier of a signature.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum SignatureAlgorithm {
    /// RFC 5758 3.2
    Ecdsa(HashAlg),
    /// RFC 4055 5
    RsaPkcs1(HashAlg),
    /// RFC 4055 3.1, with MGF1 over the same hash
    RsaPss {
        /// The hash for the message and for the mask.
        hash: HashAlg,
        /// The length of the salt in bytes.
        salt_len: usize,
    },
}

impl SignatureAlgorithm {
    /// Reads the content of an OBJECT IDENTIFIER and the parameters as a whole element; `None` for
    /// SHA-1 and unknown algorithms.
    pub(crate) fn new(oid: &[u8], parameters: Option<&[u8]>) -> Option<Self> {
        match oid {
            ECDSA_WITH_SHA256 => Some(Self::Ecdsa(HashAlg::Sha256)),
            ECDSA_WITH_SHA384 => Some(Self::Ecdsa(HashAlg::Sha384)),
            ECDSA_WITH_SHA512 => Some(Self::Ecdsa(HashAlg::Sha512)),
            SHA256_WITH_RSA => Some(Self::RsaPkcs1(HashAlg::Sha256)),
            SHA384_WITH_RSA => Some(Self::RsaPkcs1(HashAlg::Sha384)),
            SHA512_WITH_RSA => Some(Self::RsaPkcs1(HashAlg::Sha512)),
            RSASSA_PSS => pss(Reader::within(parameters?, der::SEQUENCE)?),
            _ => None,
        }
    }

    /// Reads a whole AlgorithmIdentifier.
    pub(crate) fn from_identifier(identifier: &[u8]) -> Option<Self> {
        let mut identifier = Reader::within(identifier, der::SEQUENCE)?;
        let oid = identifier.element(der::OID)?.content;
        let parameters = if identifier.is_empty() { None } else { Some(identifier.next()?.raw) };
        if identifier.is_empty() { Self::new(oid, parameters) } else { None }
    }
}

impl IssuerKey {
    /// Verifies that this key made `signature` over `message`.
    ///
    /// # Errors
    /// The signature does not verify, or the algorithm does not fit this key.
    pub(crate) fn verify(
        &self,
        provider: &CryptoProvider,
        algorithm: SignatureAlgorithm,
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        match (self, algorithm) {
            (Self::Nist(key), SignatureAlgorithm::Ecdsa(hash)) => {
                let verifier = provider.verifier(key.alg()).ok_or(InvalidSignature)?;
                verifier.verify_x509(key, hash, message, signature)
            }
            (Self::Brainpool(key), SignatureAlgorithm::Ecdsa(hash)) => {
                let hash = provider.hash(hash, message);
                provider.certificate_verifier.verify_brainpool(key, &hash, signature)
            }
            (Self::Rsa { key, pss_only: false }, SignatureAlgorithm::RsaPkcs1(alg)) => {
                let hash = provider.hash(alg, message);
                let scheme = RsaScheme::Pkcs1(alg);
                provider.certificate_verifier.verify_rsa(key, scheme, &hash, signature)
            }
            (Self::Rsa { key, .. }, SignatureAlgorithm::RsaPss { hash: alg, salt_len }) => {
                let hash = provider.hash(alg, message);
                let scheme = RsaScheme::Pss { hash: alg, salt_len };
                provider.certificate_verifier.verify_rsa(key, scheme, &hash, signature)
            }
            _ => Err(InvalidSignature),
        }
    }
}

const ECDSA_WITH_SHA256: &[u8] = b"\x2a\x86\x48\xce\x3d\x04\x03\x02";
const ECDSA_WITH_SHA384: &[u8] = b"\x2a\x86\x48\xce\x3d\x04\x03\x03";
const ECDSA_WITH_SHA512: &[u8] = b"\x2a\x86\x48\xce\x3d\x04\x03\x04";
const SHA256_WITH_RSA: &[u8] = b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0b";
const SHA384_WITH_RSA: &[u8] = b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0c";
const SHA512_WITH_RSA: &[u8] = b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0d";
const RSASSA_PSS: &[u8] = b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0a";
const MGF1: &[u8] = b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x08";

/// The hash that an OBJECT IDENTIFIER names (RFC 5754 2), from its content; never SHA-1.
pub(crate) fn hash_from_oid(oid: &[u8]) -> Option<HashAlg> {
    match oid {
        b"\x60\x86\x48\x01\x65\x03\x04\x02\x01" => Some(HashAlg::Sha256),
        b"\x60\x86\x48\x01\x65\x03\x04\x02\x02" => Some(HashAlg::Sha384),
        b"\x60\x86\x48\x01\x65\x03\x04\x02\x03" => Some(HashAlg::Sha512),
        _ => None,
    }
}

/// RSASSA-PSS-params (RFC 4055 3.1). The default of both hashes is SHA-1, so both must be present.
fn pss(mut parameters: Reader<'_>) -> Option<SignatureAlgorithm> {
    let hash = parameters.element(der::context(0))?.content;
    let hash = hash_from_oid(Reader::new(hash).enter(der::SEQUENCE)?.element(der::OID)?.content)?;
    let mask = parameters.element(der::context(1))?.content;
    let mut mask = Reader::new(mask).enter(der::SEQUENCE)?;
    let is_mgf1 = mask.element(der::OID)?.content == MGF1;
    let mask_hash = hash_from_oid(mask.enter(der::SEQUENCE)?.element(der::OID)?.content)?;
    let salt_len = match parameters.optional(der::context(2)) {
        Some(salt) => small(salt.content)?,
        None => 20,
    };
    let trailer = match parameters.optional(der::context(3)) {
        Some(trailer) => small(trailer.content)?,
        None => 1,
    };
    let is_known = is_mgf1 && mask_hash == hash && trailer == 1 && parameters.is_empty();
    is_known.then_some(SignatureAlgorithm::RsaPss { hash, salt_len })
}

fn small(integer: &[u8]) -> Option<usize> {
    match Reader::new(integer).unsigned()? {
        [] => Some(0),
        [value] => Some(usize::from(*value)),
        [high, low] => Some(usize::from(u16::from_be_bytes([*high, *low]))),
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use alloc::vec::Vec;

    use idgate_testkit::der::{oid, sequence, tlv, unsigned};

    use super::*;

    const SHA256: &str = "2.16.840.1.101.3.4.2.1";
    const SHA512: &str = "2.16.840.1.101.3.4.2.3";
    const SHA1: &str = "1.3.14.3.2.26";

    fn identifier(parts: &[&[u8]]) -> Option<SignatureAlgorithm> {
        SignatureAlgorithm::from_identifier(&sequence(parts))
    }

    fn hash(kind: &str) -> Vec<u8> {
        tlv(0xa0, &[&sequence(&[&oid(kind), &[5, 0]])])
    }

    fn mask(function: &str, kind: &str) -> Vec<u8> {
        tlv(0xa1, &[&sequence(&[&oid(function), &sequence(&[&oid(kind)])])])
    }

    fn number(tag: u8, value: &[u8]) -> Vec<u8> {
        tlv(tag, &[&unsigned(value)])
    }

    fn pss_of(parts: &[&[u8]]) -> Option<SignatureAlgorithm> {
        identifier(&[&oid("1.2.840.113549.1.1.10"), &sequence(parts)])
    }

    const MGF1_OID: &str = "1.2.840.113549.1.1.8";

    #[test]
    fn only_sha2_is_accepted() {
        let ecdsa = |last: &str| identifier(&[&oid(&format!("1.2.840.10045.4.{last}"))]);
        assert_eq!(ecdsa("3.2"), Some(SignatureAlgorithm::Ecdsa(HashAlg::Sha256)));
        assert_eq!(ecdsa("3.3"), Some(SignatureAlgorithm::Ecdsa(HashAlg::Sha384)));
        assert_eq!(ecdsa("3.4"), Some(SignatureAlgorithm::Ecdsa(HashAlg::Sha512)));
        for other in ["1", "3.1", "2", "3"] {
            assert_eq!(ecdsa(other), None, "{other}");
        }
        let rsa = |last: u8| identifier(&[&oid(&format!("1.2.840.113549.1.1.{last}")), &[5, 0]]);
        assert_eq!(rsa(11), Some(SignatureAlgorithm::RsaPkcs1(HashAlg::Sha256)));
        assert_eq!(rsa(12), Some(SignatureAlgorithm::RsaPkcs1(HashAlg::Sha384)));
        assert_eq!(rsa(13), Some(SignatureAlgorithm::RsaPkcs1(HashAlg::Sha512)));
        for other in [1, 2, 4, 5, 7, 10, 14] {
            assert_eq!(rsa(other), None, "{other}");
        }
        assert_eq!(identifier(&[&oid("1.3.101.112")]), None);
        assert_eq!(SignatureAlgorithm::from_identifier(b"\x30"), None);
        assert_eq!(SignatureAlgorithm::from_identifier(b""), None);
    }

    #[test]
    fn pss_takes_any_salt_over_one_hash() {
        for (kind, alg) in [(SHA256, HashAlg::Sha256), (SHA512, HashAlg::Sha512)] {
            let (hash, mask) = (hash(kind), mask(MGF1_OID, kind));
            for (salt, salt_len) in [(&[][..], 0), (&[32], 32), (&[1, 0], 256)] {
                let expected = Some(SignatureAlgorithm::RsaPss { hash: alg, salt_len });
                assert_eq!(pss_of(&[&hash, &mask, &number(0xa2, salt)]), expected);
            }
            let default = Some(SignatureAlgorithm::RsaPss { hash: alg, salt_len: 20 });
            assert_eq!(pss_of(&[&hash, &mask]), default);
            assert_eq!(pss_of(&[&hash, &mask, &number(0xa3, &[1])]), default);
        }
    }

    #[test]
    fn pss_with_sha1_or_two_hashes_is_refused() {
        let (hash_256, mask_256) = (hash(SHA256), mask(MGF1_OID, SHA256));
        assert_eq!(identifier(&[&oid("1.2.840.113549.1.1.10")]), None);
        assert_eq!(pss_of(&[]), None);
        assert_eq!(pss_of(&[&hash_256]), None);
        assert_eq!(pss_of(&[&mask_256]), None);
        assert_eq!(pss_of(&[&hash(SHA1), &mask(MGF1_OID, SHA1)]), None);
        assert_eq!(pss_of(&[&hash_256, &mask(MGF1_OID, SHA1)]), None);
        assert_eq!(pss_of(&[&hash_256, &mask(MGF1_OID, SHA512)]), None);
        assert_eq!(pss_of(&[&hash_256, &mask("1.2.3", SHA256)]), None);
        assert_eq!(pss_of(&[&hash_256, &mask_256, &number(0xa3, &[2])]), None);
        assert_eq!(pss_of(&[&hash_256, &mask_256, &number(0xa2, &[1, 0, 0])]), None);
        assert_eq!(pss_of(&[&hash_256, &mask_256, &[5, 0]]), None);
    }

    #[test]
    #[cfg(all(feature = "aws-lc-rs", feature = "rustcrypto"))]
    fn both_back_ends_take_strict_ecdsa_signatures_only() {
        use idgate_testkit::keys::{Curve, SigningKey};
        for provider in [crate::crypto::aws_lc_rs::PROVIDER, crate::crypto::rustcrypto::PROVIDER] {
            let key = SigningKey::from_seed(Curve::P256, "strict");
            let issuer = IssuerKey::from_spki(&key.public_spki()).unwrap();
            let raw = key.sign(b"message");
            let (r, s) = raw.split_at(32);
            let verify = |signature: &[u8], hash: HashAlg| {
                issuer.verify(&provider, SignatureAlgorithm::Ecdsa(hash), b"message", signature)
            };
            let good = sequence(&[&unsigned(r), &unsigned(s)]);
            assert_eq!(verify(&good, HashAlg::Sha256), Ok(()));
            assert!(verify(&good, HashAlg::Sha384).is_err());
            let padded = [&[0, 0][..], r].concat();
            for bad in [
                raw.clone(),
                [&good[..], &[0]].concat(),
                sequence(&[&unsigned(r), &unsigned(s), &[5, 0]]),
                sequence(&[&unsigned(s), &unsigned(r)]),
                sequence(&[&unsigned(&[]), &unsigned(&[])]),
                sequence(&[&unsigned(&[0xff; 32]), &unsigned(s)]),
                sequence(&[&unsigned(&[0xff; 40]), &unsigned(s)]),
                sequence(&[&tlv(2, &[&padded]), &unsigned(s)]),
                sequence(&[&unsigned(r)]),
                Vec::new(),
            ] {
                assert!(verify(&bad, HashAlg::Sha256).is_err(), "{}: {bad:x?}", provider.name);
            }
        }
    }
}
