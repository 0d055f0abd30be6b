//! Random changes to good mdoc material, for some seconds each: never a panic, and whatever is
//! still VERIFIED says exactly what it said before (a changed version digit or an unknown member is
//! no forgery). Deterministic for a seed.

use std::time::Instant;

use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::ids::IssuerId;
use idgate_core::status::VerifiedCrl;
use idgate_core::time::UnixMillis;
use idgate_core::trust::{
    RevocationPolicy, RootOrigin, TrustAnchor, TrustEntry, import_master_list, import_vical,
    is_valid_rfc5280_path, roots_from_file,
};
use idgate_core::verify::{CredentialReport, ExpectedMdoc, MdocRequest, verify_mdoc};
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::mdoc::{
    Cbor, DeviceProof, Document, IssuerSigned, MDL, MDL_NAME_SPACE, device_response, openid4vp,
};
use idgate_testkit::x509::Identity;

use crate::mutation::{Dice, budget};

const NOW: u64 = 1_800_000_000_000;
const REQUEST: MdocRequest<'static> = MdocRequest {
    client_id: "redirect_uri:https://gateway.example/r",
    nonce: "n-0S6_WzA2Mj",
    response_uri: "https://gateway.example/r",
};

/// Runs `target` on mutations of `good` until the time is over.
fn hammer(seed: u64, good: &[u8], mut target: impl FnMut(&[u8])) {
    let (mut dice, start, mut tried) = (Dice(seed), Instant::now(), 0u64);
    target(good);
    while start.elapsed() < budget() {
        target(&dice.mutate(good));
        tried += 1;
    }
    assert!(tried > 20, "only {tried} tries");
}

/// A file of the third-party data, or a word that there is none.
fn vector(name: &str) -> Option<Vec<u8>> {
    let root = std::env::var_os("IDGATE_VECTORS").map_or_else(
        || concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/vectors").into(),
        std::path::PathBuf::from,
    );
    let file = std::fs::read(root.join(name)).ok();
    if file.is_none() {
        println!("skipped: no third-party data {name}");
    }
    file
}

#[test]
fn device_responses() {
    let root = Identity::iaca(Curve::P256, NOW);
    let signer = root.document_signer(Curve::P256, NOW);
    let device = SigningKey::from_seed(Curve::P256, "device");
    let elements = [
        ("family_name", Cbor::from("Mustermann")),
        ("birth_date", Cbor::full_date("1984-01-26")),
        ("issuing_country", "UT".into()),
    ];
    let issued =
        IssuerSigned::mdl(&elements, &signer.key, std::slice::from_ref(&signer.der), &device, NOW);
    let transcript = openid4vp(REQUEST.client_id, REQUEST.nonce, None, REQUEST.response_uri);
    let document = Document::new(issued, &device).prove(&transcript, &DeviceProof::Signature);
    let good = device_response(vec![document]).encode();
    let mut trust = TrustEntry::new(IssuerId::new("utopia"));
    trust.roots.push(TrustAnchor::from_der(&root.der, RootOrigin::RootFile).unwrap());
    trust.revocation = RevocationPolicy::Off;
    let claims = ["family_name".to_owned(), "birth_date".to_owned()];
    let mut expected = ExpectedMdoc::new(&trust, MDL, MDL_NAME_SPACE, REQUEST, UnixMillis(NOW));
    expected.claims = &claims;
    let said = r#"{"family_name":"Mustermann","birth_date":"1984-01-26"}"#;
    let verdict =
        |bytes: &[u8]| verify_mdoc(&PROVIDER, bytes, &expected, &mut CredentialReport::default());
    assert_eq!(verdict(&good).unwrap().claims().as_json(), said);
    hammer(0xd0c, &good, |bytes| {
        if let Ok(verified) = verdict(bytes) {
            assert_eq!(verified.claims().as_json(), said);
        }
    });
}

#[test]
fn x5chains() {
    let root = Identity::iaca(Curve::P256, NOW);
    let signer = root.document_signer(Curve::P256, NOW);
    let anchors = [TrustAnchor::from_der(&root.der, RootOrigin::RootFile).unwrap()];
    let now = UnixMillis(NOW);
    let valid = |leaf: &[u8]| is_valid_rfc5280_path(&PROVIDER, leaf, &[], &anchors, 0, now);
    assert!(valid(&signer.der));
    hammer(0x509, &signer.der, |leaf| assert!(leaf == signer.der || !valid(leaf)));
    hammer(0x510, &root.der, |file| drop(roots_from_file(file)));
}

#[test]
fn crls() {
    use idgate_testkit::status::Crl;
    use idgate_testkit::time::compact_utc;
    let root = Identity::iaca(Curve::P256, NOW);
    let anchors = [TrustAnchor::from_der(&root.der, RootOrigin::RootFile).unwrap()];
    let identifier = idgate_testkit::x509::key_identifier(&root.key);
    let (this, next) = (compact_utc(NOW - 1000), compact_utc(NOW + 86_400_000));
    let list = Crl::new(&root.builder.subject.der(), &identifier, &this, &next).revoke(&[7]);
    let good = list.sign(&root.key);
    let read = |der: &[u8]| VerifiedCrl::from_der(&PROVIDER, der, &anchors).is_ok();
    assert!(read(&good));
    hammer(0xc21, &good, |der| assert!(der == good || !read(der)));
}

#[test]
fn vicals() {
    let Some(good) = vector("vical/aamva-vical-2025-11-18.cbor") else { return };
    let now = UnixMillis(NOW);
    hammer(0x71ca, &good, |file| drop(import_vical(&PROVIDER, file, None, true, now)));
}

#[test]
fn master_lists() {
    let Some(good) = vector("icao-masterlist/icao-ml-2025-07.ml") else { return };
    let now = UnixMillis(NOW);
    hammer(0x1ca0, &good, |file| drop(import_master_list(&PROVIDER, file, None, now)));
}
