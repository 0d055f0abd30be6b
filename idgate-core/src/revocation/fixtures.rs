//! A root, certificates below it, and a trust entry, for the tests of this folder.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use idgate_testkit::der::{sequence, tlv};
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::status::{authority_key_identifier, extension, generalized_time};
use idgate_testkit::x509::{
    basic_constraints, distribution_points, ext_key_usage, signature_algorithm, signed,
};

use super::{StatusContext, Voucher};
use crate::crypto::aws_lc_rs::PROVIDER;
use crate::crypto::{Jwk, PublicKey};
use crate::ids::IssuerId;
use crate::time::UnixMillis;
use crate::trust::anchors::RootOrigin;
use crate::trust::{TrustAnchor, TrustEntry, TrustedKey};

pub(crate) const URI: &str = "https://status.example/1";
pub(crate) const CRL_URI: &str = "http://crl.example/root.crl";
/// 2026-11-21T12:00:00Z
pub(crate) const NOW_SECS: u64 = 1_795_262_400;
pub(crate) const NOW: UnixMillis = UnixMillis::from_secs(NOW_SECS);
pub(crate) const KEY_IDENTIFIER: &[u8] = &[7; 20];
pub(crate) const MDL: &str = "org.iso.18013.5.1.mDL";
const BASIC_CONSTRAINTS: &[u8] = b"\x55\x1d\x13";
const CRL_DISTRIBUTION_POINTS: &[u8] = b"\x55\x1d\x1f";
const EXT_KEY_USAGE: &[u8] = b"\x55\x1d\x25";

pub(crate) fn signing_key(seed: &str) -> SigningKey {
    SigningKey::from_seed(Curve::P256, seed)
}

pub(crate) fn public_key(key: &SigningKey) -> PublicKey {
    Jwk::parse(key.public_jwk().to_string().as_bytes()).unwrap().key
}

/// A Name with a country and a common name.
pub(crate) fn name(common_name: &str) -> Vec<u8> {
    let attribute = |oid: &[u8], tag, text: &str| {
        tlv(0x31, &[&sequence(&[&tlv(0x06, &[oid]), &tlv(tag, &[text.as_bytes()])])])
    };
    let country = attribute(b"\x55\x04\x06", 0x13, "UT");
    sequence(&[&country, &attribute(b"\x55\x04\x03", 0x0c, common_name)])
}

const ALL_2026: [&str; 2] = ["20260101000000Z", "20261231235959Z"];

/// A certificate of `subject`, issued by `issuer`.
fn certificate(
    (subject, spki): (&str, &[u8]),
    (issuer, issuer_key): (&str, &SigningKey),
    [not_before, not_after]: [&str; 2],
    extensions: &[Vec<u8>],
) -> Vec<u8> {
    let validity = sequence(&[&generalized_time(not_before), &generalized_time(not_after)]);
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

/// A root named `name` with these key usage bits.
pub(crate) fn root_with(common_name: &str, key: &SigningKey, usage: [u8; 2]) -> Vec<u8> {
    let ca = sequence(&[&tlv(0x01, &[&[0xff]]), &tlv(0x02, &[&[0]])]);
    let extensions = [
        extension(b"\x55\x1d\x13", true, &ca),
        key_usage(usage),
        extension(b"\x55\x1d\x0e", false, &tlv(0x04, &[KEY_IDENTIFIER])),
    ];
    certificate((common_name, &key.public_spki()), (common_name, key), ALL_2026, &extensions)
}

/// The root of the fixture: keyCertSign and cRLSign.
pub(crate) fn root() -> Vec<u8> {
    root_with("Root", &signing_key("root"), [1, 0x06])
}

/// A signer under the root, with digitalSignature.
pub(crate) fn signer(key: &SigningKey) -> Vec<u8> {
    signer_with(key, &[])
}

/// The same with additional extensions.
pub(crate) fn signer_with(key: &SigningKey, more: &[Vec<u8>]) -> Vec<u8> {
    signer_under(("Root", &signing_key("root")), &key.public_spki(), ALL_2026, more)
}

/// The same for a public key, with these dates.
pub(crate) fn signer_of(spki: &[u8], dates: [&str; 2]) -> Vec<u8> {
    signer_under(("Root", &signing_key("root")), spki, dates, &[])
}

/// The same under another root.
pub(crate) fn signer_under(
    issuer: (&str, &SigningKey),
    spki: &[u8],
    dates: [&str; 2],
    more: &[Vec<u8>],
) -> Vec<u8> {
    let own = [authority_key_identifier(KEY_IDENTIFIER), key_usage([7, 0x80])];
    certificate(("Signer", spki), issuer, dates, &[&own, more].concat())
}

/// A CRL distribution point with this URI.
pub(crate) fn crl_at(uri: &str) -> Vec<u8> {
    extension(CRL_DISTRIBUTION_POINTS, false, &distribution_points(&[uri]))
}

/// Extended key usages of the certificate.
pub(crate) fn for_usages(usages: &[&str]) -> Vec<u8> {
    extension(EXT_KEY_USAGE, true, &ext_key_usage(usages))
}

/// Basic constraints of a CA, whatever the key usage.
pub(crate) fn for_a_ca() -> Vec<u8> {
    extension(BASIC_CONSTRAINTS, true, &basic_constraints(true, None))
}

/// The root of the fixture as the anchor of an mDL.
pub(crate) fn voucher() -> Voucher {
    Voucher::of_mdoc(anchor(&root()).sha256(), MDL)
}

pub(crate) fn anchor(root: &[u8]) -> TrustAnchor {
    TrustAnchor::from_der(&PROVIDER, root, RootOrigin::RootFile).unwrap()
}

/// An entry with the issuer key of the seed `issuer` and the root.
pub(crate) fn entry() -> TrustEntry {
    let mut entry = TrustEntry::new(IssuerId::new("https://issuer.example"));
    entry.keys.push(TrustedKey::new(public_key(&signing_key("issuer"))));
    entry.roots.push(anchor(&root()));
    entry
}

pub(crate) fn context(issuer: &TrustEntry) -> StatusContext<'_> {
    StatusContext {
        provider: &PROVIDER,
        issuer,
        trust: None,
        livemode: true,
        on_unknown: None,
        now: NOW,
    }
}
