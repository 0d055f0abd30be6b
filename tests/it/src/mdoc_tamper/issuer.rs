//! The document signer: its signature, its certificate, the mobile security object and its dates.

use idgate_testkit::codec::HashAlg;
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::mdoc::Cbor;
use idgate_testkit::time::DAY_MS;
use idgate_testkit::x509::{
    AUTHORITY_KEY_IDENTIFIER, BASIC_CONSTRAINTS, CertificateBuilder, EXT_KEY_USAGE, Identity,
    KEY_USAGE, MDL_DOCUMENT_SIGNER, Name, SUBJECT_KEY_IDENTIFIER, authority_key_identifier,
    basic_constraints, ext_key_usage, key_usage, subject_key_identifier,
};

use super::{Row, Scenario};

pub(super) const ROWS: &[Row] = &[
    Row::refused("a bit of the signature", "issuer_signature_invalid", |s| {
        s.response = |r| issuer_auth(r, |parts| flip(&mut parts[3]));
    }),
    Row::refused("a signature cut short", "issuer_signature_invalid", |s| {
        s.response = |r| issuer_auth(r, |parts| signature(parts, |bytes| bytes.truncate(63)));
    }),
    Row::refused("a byte after the signature", "issuer_signature_invalid", |s| {
        s.response = |r| issuer_auth(r, |parts| signature(parts, |bytes| bytes.push(0)));
    }),
    Row::refused("a signature of zeros", "issuer_signature_invalid", |s| {
        s.response = |r| issuer_auth(r, |parts| signature(parts, |bytes| bytes.fill(0)));
    }),
    Row::refused("an empty signature", "issuer_signature_invalid", |s| {
        s.response = |r| issuer_auth(r, |parts| signature(parts, Vec::clear));
    }),
    Row::refused("a bit of the signed MSO", "issuer_signature_invalid", |s| {
        s.response = |r| {
            issuer_auth(r, |parts| {
                if let Cbor::Bytes(mso) = &mut parts[2] {
                    let last = mso.len() - 1;
                    mso[last] ^= 1;
                }
            });
        };
    }),
    Row::refused("the key that signed", "issuer_signature_invalid", |s| {
        s.issued().key = stranger()
    }),
    Row::refused("a detached MSO", MALFORMED, |s| {
        s.response = |r| issuer_auth(r, |parts| parts[2] = Cbor::Null);
    }),
    Row::refused("three parts of issuerAuth", MALFORMED, |s| {
        s.response = |r| issuer_auth(r, |parts| drop(parts.pop()));
    }),
    Row::refused("a fifth part of issuerAuth", MALFORMED, |s| {
        s.response = |r| issuer_auth(r, |parts| parts.push(Cbor::Null));
    }),
    Row::verified("issuerAuth with its tag", |s| s.response = |r| tag(r, 18)),
    Row::refused("issuerAuth with the tag of a MAC", MALFORMED, |s| s.response = |r| tag(r, 17)),
    Row::refused("alg ES384 for a P-256 key", "algorithm_not_allowed", |s| {
        s.issued().protected.set(1, -35)
    }),
    Row::refused("alg of a MAC", "algorithm_not_allowed", |s| s.issued().protected.set(1, 5)),
    Row::refused("alg ES512 for a P-256 key", ALG, |s| s.issued().protected.set(1, -36)),
    Row::refused("alg EdDSA", ALG, |s| s.issued().protected.set(1, -8)),
    Row::refused("alg ESP384 for a P-256 key", ALG, |s| s.issued().protected.set(1, -51)),
    Row::refused("alg ESP512 for a P-256 key", ALG, |s| s.issued().protected.set(1, -52)),
    Row::refused("alg of post-quantum signatures", ALG, |s| s.issued().protected.set(1, -48)),
    Row::refused("alg 0", ALG, |s| s.issued().protected.set(1, 0)),
    Row::refused("alg as text", ALG, |s| s.issued().protected.set(1, "ES256")),
    Row::verified("alg ESP256", |s| {
        s.issued().protected.set(1, -9);
        s.document.protected = Some(Cbor::Map(vec![(1.into(), (-9).into())]));
    }),
    Row::refused("no alg", "algorithm_not_allowed", |s| s.issued().protected.remove(1)),
    Row::refused("alg unprotected alone", MALFORMED, |s| {
        s.issued().protected.remove(1);
        s.issued().unprotected.set(1, -7);
    }),
    Row::refused("alg unprotected, too", MALFORMED, |s| s.issued().unprotected.set(1, -7)),
    Row::verified("unknown and undefined unprotected headers", |s| {
        s.issued().unprotected.set(4, Cbor::Undefined);
        s.issued().unprotected.set("x", Cbor::Float(f64::NAN));
        s.document.unprotected.set(4, Cbor::Undefined);
    }),
    Row::refused("an unknown crit", MALFORMED, |s| {
        s.issued().protected.set(2, Cbor::Array(vec![99.into()]));
    }),
    Row::refused("no x5chain", MALFORMED, |s| s.issued().unprotected.remove(33)),
    Row::refused("x5chain in the protected header", MALFORMED, |s| {
        let chain = s.issued().unprotected.at(33).clone();
        s.issued().unprotected.remove(33);
        s.issued().protected.set(33, chain);
    }),
    Row::refused("x5chain without certificates", MALFORMED, |s| {
        s.issued().unprotected.set(33, Cbor::Array(Vec::new()));
    }),
    Row::verified("x5chain an array of one certificate", |s| {
        let leaf = Cbor::Bytes(s.authority.signer.der.clone());
        s.issued().unprotected.set(33, Cbor::Array(vec![leaf]));
    }),
    Row::refused("11 certificates", "limit_exceeded", |s| {
        let leaf = Cbor::Bytes(s.authority.signer.der.clone());
        s.issued().unprotected.set(33, Cbor::Array(vec![leaf; 11]));
    }),
    Row::refused("the root before the signer", CHAIN, |s| {
        let chain = [&s.authority.root.der, &s.authority.signer.der];
        let chain = chain.map(|der| Cbor::Bytes(der.clone())).to_vec();
        s.issued().unprotected.set(33, Cbor::Array(chain));
    }),
    Row::verified("the root after the signer", |s| {
        let chain = [&s.authority.signer.der, &s.authority.root.der];
        let chain = chain.map(|der| Cbor::Bytes(der.clone())).to_vec();
        s.issued().unprotected.set(33, Cbor::Array(chain));
    }),
    Row::refused("bytes that are not a certificate", CHAIN, |s| {
        s.issued().unprotected.set(33, Cbor::Bytes(vec![0x30, 0]));
    }),
    Row::refused("a root of another name", CHAIN, |s| {
        let key = stranger();
        let name = Name::new("UT", "Another IACA");
        let root = CertificateBuilder::iaca_root(name, &key, s.now_ms).self_sign(&key);
        under(s, root);
    }),
    Row::refused("a root of the same name with another key", CHAIN, |s| {
        let key = stranger();
        let name = s.authority.root.builder.subject.clone();
        let root = CertificateBuilder::iaca_root(name, &key, s.now_ms).self_sign(&key);
        under(s, root);
    }),
    Row::refused("a certificate that the root did not sign", CHAIN, |s| {
        let der = s.authority.signer.builder.sign(&stranger());
        s.issued().unprotected.set(33, Cbor::Bytes(der));
    }),
    Row::refused("another extended key usage", CHAIN, |s| {
        s.certify(|c| c.set(EXT_KEY_USAGE, true, ext_key_usage(&["1.3.6.1.5.5.7.3.1"])));
    }),
    Row::refused("one extended key usage more", CHAIN, |s| {
        let usages = ext_key_usage(&[MDL_DOCUMENT_SIGNER, "1.3.6.1.5.5.7.3.1"]);
        s.certify(|c| c.set(EXT_KEY_USAGE, true, usages));
    }),
    Row::refused("no extended key usage", CHAIN, |s| s.certify(|c| c.without(EXT_KEY_USAGE))),
    Row::refused("a signer that is a CA", CHAIN, |s| {
        s.certify(|c| c.set(BASIC_CONSTRAINTS, true, basic_constraints(true, Some(0))));
    }),
    Row::refused("the key usage of a CA", CHAIN, |s| {
        s.certify(|c| c.set(KEY_USAGE, true, key_usage(0b0000_0100)));
    }),
    Row::refused("no key usage", CHAIN, |s| s.certify(|c| c.without(KEY_USAGE))),
    Row::refused("the subject key identifier of another key", CHAIN, |s| {
        let identifier = subject_key_identifier(&stranger());
        s.certify(|c| c.set(SUBJECT_KEY_IDENTIFIER, false, identifier));
    }),
    Row::refused("the authority key identifier of another key", CHAIN, |s| {
        let identifier = authority_key_identifier(&stranger());
        s.certify(|c| c.set(AUTHORITY_KEY_IDENTIFIER, false, identifier));
    }),
    Row::refused("an unknown critical extension", CHAIN, |s| {
        s.certify(|c| c.set("1.2.3.4.5", true, vec![5, 0]));
    }),
    Row::refused("a signer from another country", CHAIN, |s| {
        s.certify(|c| c.with(|c| c.subject = Name::new("XX", "Utopia document signer")));
    }),
    Row::refused("a certificate for 460 days", CHAIN, |s| {
        s.certify(|c| c.with(|c| c.not_after_ms = c.not_before_ms + 460 * DAY_MS));
    }),
    Row::refused("a certificate that has expired", "certificate_expired", |s| {
        let end = s.now_ms - 2000;
        s.certify(|c| c.with(|c| c.not_after_ms = end));
    }),
    Row::refused("a certificate that is not valid yet", "certificate_expired", |s| {
        let begin = s.now_ms + DAY_MS;
        s.certify(|c| c.with(|c| c.not_before_ms = begin));
    }),
    Row::refused("version of the MSO", MALFORMED, |s| s.issued().mso.set("version", "1.1")),
    Row::refused("version 2.0 of the MSO", MALFORMED, |s| s.issued().mso.set("version", "2.0")),
    Row::refused("an empty version of the MSO", MALFORMED, |s| s.issued().mso.set("version", "")),
    Row::refused("a number for the version", MALFORMED, |s| s.issued().mso.set("version", 7)),
    Row::refused("no version of the MSO", MALFORMED, |s| s.issued().mso.remove("version")),
    Row::refused("no digestAlgorithm", MALFORMED, |s| s.issued().mso.remove("digestAlgorithm")),
    Row::refused("a number for digestAlgorithm", MALFORMED, |s| {
        s.issued().mso.set("digestAlgorithm", 7);
    }),
    Row::refused("no valueDigests", MALFORMED, |s| s.issued().mso.remove("valueDigests")),
    Row::refused("a number for valueDigests", MALFORMED, |s| s.issued().mso.set("valueDigests", 7)),
    Row::refused("no docType in the MSO", MALFORMED, |s| s.issued().mso.remove("docType")),
    Row::refused("a number for docType", MALFORMED, |s| s.issued().mso.set("docType", 7)),
    Row::verified("digestAlgorithm SHA-384", |s| {
        s.issued().mso.set("digestAlgorithm", "SHA-384");
        s.issued().digest(HashAlg::Sha384);
    }),
    Row::verified("digestAlgorithm SHA-512", |s| {
        s.issued().mso.set("digestAlgorithm", "SHA-512");
        s.issued().digest(HashAlg::Sha512);
    }),
    Row::refused("digestAlgorithm without its hyphen", ALG, |s| digests_by(s, "SHA256")),
    Row::refused("digestAlgorithm in lower case", ALG, |s| digests_by(s, "sha-256")),
    Row::refused("digestAlgorithm MD5", ALG, |s| digests_by(s, "MD5")),
    Row::refused("digestAlgorithm empty", ALG, |s| digests_by(s, "")),
    Row::refused("digestAlgorithm SHA-1", "algorithm_not_allowed", |s| {
        s.issued().mso.set("digestAlgorithm", "SHA-1");
    }),
    Row::refused("digestAlgorithm SHA-512 for SHA-256 digests", "digest_mismatch", |s| {
        s.issued().mso.set("digestAlgorithm", "SHA-512");
    }),
    Row::refused("no deviceKeyInfo", MALFORMED, |s| s.issued().mso.remove("deviceKeyInfo")),
    Row::refused("a number for deviceKeyInfo", MALFORMED, |s| {
        s.issued().mso.set("deviceKeyInfo", 7)
    }),
    Row::refused("no deviceKey", MALFORMED, |s| {
        s.issued().mso.at("deviceKeyInfo").remove("deviceKey");
    }),
    Row::refused("a number for validityInfo", MALFORMED, |s| s.issued().mso.set("validityInfo", 7)),
    Row::refused("no validityInfo", MALFORMED, |s| s.issued().mso.remove("validityInfo")),
    Row::verified("validFrom within the clock skew", |s| s.dates(0, 50, 600)),
    Row::refused("validFrom beyond the clock skew", "credential_not_yet_valid", |s| {
        s.dates(0, 75, 600)
    }),
    Row::verified("validUntil within the clock skew", |s| s.dates(-600, -600, -40)),
    Row::refused("validUntil beyond the clock skew", "credential_expired", |s| {
        s.dates(-600, -600, -62)
    }),
    Row::refused("validFrom before signed", MALFORMED, |s| s.dates(0, -1, 600)),
    Row::refused("validUntil at validFrom", MALFORMED, |s| s.dates(0, 0, 0)),
    Row::refused("validUntil before validFrom", MALFORMED, |s| s.dates(0, 20, 10)),
    Row::refused("signed after the certificate's end", MALFORMED, |s| {
        s.dates(500 * DAY, 500 * DAY, 600 * DAY);
    }),
    Row::verified("validUntil after the certificate's end", |s| s.dates(0, 0, 1000 * DAY)),
    Row::verified("validUntil with a fraction", |s| {
        date(s, "validUntil", Cbor::tdate("2099-01-01T00:00:00.123456Z"));
    }),
    Row::refused("validUntil a full-date", MALFORMED, |s| {
        date(s, "validUntil", Cbor::full_date("2099-01-01"));
    }),
    Row::refused("validUntil a tdate without its time", MALFORMED, |s| {
        date(s, "validUntil", Cbor::tdate("2099-01-01"));
    }),
    Row::refused("validUntil a number", MALFORMED, |s| {
        date(s, "validUntil", Cbor::Int(4_102_444_800));
    }),
    Row::refused("no signed", MALFORMED, |s| no_date(s, "signed")),
    Row::refused("no validFrom", MALFORMED, |s| no_date(s, "validFrom")),
    Row::refused("no validUntil", MALFORMED, |s| no_date(s, "validUntil")),
    Row::refused("signed before the certificate", MALFORMED, |s| s.dates(-172_800, -172_800, 600)),
    Row::refused("validUntil as plain text", MALFORMED, |s| {
        s.issued().mso.at("validityInfo").set("validUntil", "2099-01-01T00:00:00Z");
    }),
    Row::refused("validUntil on a day that does not exist", MALFORMED, |s| {
        let date = Cbor::tdate("2099-02-30T00:00:00Z");
        s.issued().mso.at("validityInfo").set("validUntil", date);
    }),
];

const MALFORMED: &str = "malformed_presentation";
const CHAIN: &str = "chain_invalid";
const ALG: &str = "algorithm_not_allowed";
/// In seconds.
const DAY: i64 = 86_400;

fn stranger() -> SigningKey {
    SigningKey::from_seed(Curve::P256, "stranger")
}

/// Signed by a document signer under `root`.
fn under(scenario: &mut Scenario, root: Identity) {
    let signer = root.document_signer(Curve::P256, scenario.now_ms);
    scenario.issued().unprotected.set(33, Cbor::Bytes(signer.der));
}

fn issuer_auth(response: &mut Cbor, change: fn(&mut Vec<Cbor>)) {
    if let Cbor::Array(documents) = response.at("documents")
        && let Cbor::Array(parts) = documents[0].at("issuerSigned").at("issuerAuth")
    {
        change(parts);
    }
}

fn signature(parts: &mut [Cbor], change: fn(&mut Vec<u8>)) {
    if let Some(Cbor::Bytes(bytes)) = parts.get_mut(3) {
        change(bytes);
    }
}

fn tag(response: &mut Cbor, tag: u64) {
    if let Cbor::Array(documents) = response.at("documents") {
        let auth = documents[0].at("issuerSigned").at("issuerAuth");
        *auth = Cbor::Tag(tag, Box::new(auth.clone()));
    }
}

fn digests_by(scenario: &mut Scenario, name: &str) {
    scenario.issued().mso.set("digestAlgorithm", name);
}

fn date(scenario: &mut Scenario, member: &str, date: Cbor) {
    scenario.issued().mso.at("validityInfo").set(member, date);
}

fn no_date(scenario: &mut Scenario, member: &str) {
    scenario.issued().mso.at("validityInfo").remove(member);
}

fn flip(part: &mut Cbor) {
    if let Cbor::Bytes(bytes) = part {
        bytes[0] ^= 1;
    }
}
