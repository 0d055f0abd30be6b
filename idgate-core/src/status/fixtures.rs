//! A root, the certificates under it, and a trust entry, for the tests of this folder.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use idgate_testkit::der::{sequence, tlv};
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::status::{authority_key_identifier, extension, generalized_time};
use idgate_testkit::x509::{signature_algorithm, signed};

use super::{CredentialFormat, StatusContext};
use crate::crypto::aws_lc_rs::PROVIDER;
use crate::crypto::{Jwk, PublicKey};
use crate::ids::IssuerId;
use crate::time::UnixMillis;
use crate::trust::{RootOrigin, TrustAnchor, TrustEntry, TrustedKey};

pub(super) const URI: &str = "https://status.example/1";
pub(super) const CRL_URI: &str = "http://crl.example/root.crl";
/// 2026-11-21T12:00:00Z
pub(super) const NOW_SECS: u64 = 1_795_262_400;
pub(super) const NOW: UnixMillis = UnixMillis::from_secs(NOW_SECS);
pub(super) const KEY_IDENTIFIER: &[u8] = &[7; 20];

pub(super) fn signing_key(seed: &str) -> SigningKey {
    SigningKey::from_seed(Curve::P256, seed)
}

pub(super) fn public_key(key: &SigningKey) -> PublicKey {
    Jwk::parse(key.public_jwk().to_string().as_bytes()).unwrap().key
}

/// A Name of one country and one common name.
pub(super) fn name(common_name: &str) -> Vec<u8> {
    let attribute = |oid: &[u8], tag, text: &str| {
        tlv(0x31, &[&sequence(&[&tlv(0x06, &[oid]), &tlv(tag, &[text.as_bytes()])])])
    };
    let country = attribute(b"\x55\x04\x06", 0x13, "UT");
    sequence(&[&country, &attribute(b"\x55\x04\x03", 0x0c, common_name)])
}

/// A certificate of `subject` for all of 2026, issued by `issuer`.
fn certificate(
    (subject, spki): (&str, &[u8]),
    (issuer, issuer_key): (&str, &SigningKey),
    extensions: &[Vec<u8>],
) -> Vec<u8> {
    let validity =
        sequence(&[&generalized_time("20260101000000Z"), &generalized_time("20261231235959Z")]);
    let extensions = tlv(0xa3, &[&sequence(&[&extensions.concat()])]);
    let tbs = sequence(&[
        &tlv(0xa0, &[&tlv(0x02, &[&[2]])]),
        &tlv(0x02, &[&[0x11, 0x22]]),
        &signature_algorithm(issuer_key.curve(), None),
        &name(issuer),
        &validity,
        &name(subject),
        spki,
        &extensions,
    ]);
    signed(&tbs, issuer_key, None)
}

fn key_usage(bits: [u8; 2]) -> Vec<u8> {
    extension(b"\x55\x1d\x0f", true, &tlv(0x03, &[&bits]))
}

/// A root named `name` with these bits of key usage.
pub(super) fn root_with(common_name: &str, key: &SigningKey, usage: [u8; 2]) -> Vec<u8> {
    let ca = sequence(&[&tlv(0x01, &[&[0xff]]), &tlv(0x02, &[&[0]])]);
    let extensions = [
        extension(b"\x55\x1d\x13", true, &ca),
        key_usage(usage),
        extension(b"\x55\x1d\x0e", false, &tlv(0x04, &[KEY_IDENTIFIER])),
    ];
    certificate((common_name, &key.public_spki()), (common_name, key), &extensions)
}

/// The root of the fixture: keyCertSign and cRLSign.
pub(super) fn root() -> Vec<u8> {
    root_with("Root", &signing_key("root"), [1, 0x06])
}

/// A signer under the root, with digitalSignature.
pub(super) fn signer(key: &SigningKey) -> Vec<u8> {
    signer_of(&key.public_spki())
}

/// The same for a key of which only the public half is known.
pub(super) fn signer_of(spki: &[u8]) -> Vec<u8> {
    let extensions = [authority_key_identifier(KEY_IDENTIFIER), key_usage([7, 0x80])];
    certificate(("Signer", spki), ("Root", &signing_key("root")), &extensions)
}

/// An entry with the key of seed `issuer` and the root.
pub(super) fn entry() -> TrustEntry {
    let mut entry = TrustEntry::new(IssuerId::new("https://issuer.example"));
    entry.keys.push(TrustedKey::new(public_key(&signing_key("issuer"))));
    entry.roots.push(TrustAnchor::from_der(&root(), RootOrigin::RootFile).unwrap());
    entry
}

pub(super) fn context(issuer: &TrustEntry, format: CredentialFormat) -> StatusContext<'_> {
    StatusContext {
        provider: &PROVIDER,
        issuer,
        trust_version: 1,
        livemode: true,
        format,
        now: NOW,
    }
}
