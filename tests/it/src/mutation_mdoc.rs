//! Random changes to good mdoc material, for some seconds each: never a panic, and whatever is
//! still VERIFIED says exactly what it said before (a changed version digit or an unknown member is
//! no forgery). Deterministic for a seed.

use std::time::Instant;

use idgate_core::crypto::Jwk;
use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::ids::IssuerId;
use idgate_core::request::CredentialFormat;
use idgate_core::status::{VerifiedCrl, is_good_by_status_list};
use idgate_core::time::UnixMillis;
use idgate_core::trust::{
    RevocationPolicy, RootOrigin, TrustAnchor, TrustEntry, TrustedKey, import_master_list,
    import_vical, is_valid_rfc5280_path, roots_from_file,
};
use idgate_core::verify::{CredentialReport, ExpectedMdoc, MdocRequest, verify_mdoc};
use idgate_testkit::jws::sign_jws;
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::mdoc::{
    Cbor, DeviceProof, Document, IssuerSigned, MDL, MDL_NAME_SPACE, device_response, openid4vp,
};
use idgate_testkit::status::{Crl, StatusCwt, StatusJwt, StatusList};
use idgate_testkit::time::compact_utc;
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

/// What the sample mdoc says.
const SAID: &str = r#"{"family_name":"Mustermann","birth_date":"1984-01-26"}"#;

/// A sample mdoc, and who verifies it.
struct Sample {
    trust: TrustEntry,
    issued: IssuerSigned,
    device: SigningKey,
    claims: [String; 2],
}

impl Sample {
    fn new() -> Self {
        let root = Identity::iaca(Curve::P256, NOW);
        let signer = root.document_signer(Curve::P256, NOW);
        let device = SigningKey::from_seed(Curve::P256, "device");
        let elements = [
            ("family_name", Cbor::from("Mustermann")),
            ("birth_date", Cbor::full_date("1984-01-26")),
            ("issuing_country", "UT".into()),
        ];
        let chain = std::slice::from_ref(&signer.der);
        let issued = IssuerSigned::mdl(&elements, &signer.key, chain, &device, NOW);
        let mut trust = TrustEntry::new(IssuerId::new("utopia"));
        trust.roots.push(TrustAnchor::from_der(&root.der, RootOrigin::RootFile).unwrap());
        trust.revocation = RevocationPolicy::Off;
        let claims = ["family_name", "birth_date"].map(str::to_owned);
        Self { trust, issued, device, claims }
    }

    fn response(&self, issued: &IssuerSigned) -> Vec<u8> {
        let MdocRequest { client_id, nonce, response_uri } = REQUEST;
        let transcript = openid4vp(client_id, nonce, None, response_uri);
        let document = Document::new(issued.clone(), &self.device);
        device_response(vec![document.prove(&transcript, &DeviceProof::Signature)]).encode()
    }

    /// The claims, if it is verified.
    fn said(&self, response: &[u8]) -> Option<String> {
        let now = UnixMillis(NOW);
        let mut expected = ExpectedMdoc::new(&self.trust, MDL, MDL_NAME_SPACE, REQUEST, now);
        expected.claims = &self.claims;
        let verified =
            verify_mdoc(&PROVIDER, response, &expected, &mut CredentialReport::default());
        verified.ok().map(|verified| verified.claims().as_json().to_owned())
    }
}

#[test]
fn device_responses() {
    let sample = Sample::new();
    let good = sample.response(&sample.issued);
    assert_eq!(sample.said(&good).as_deref(), Some(SAID));
    hammer(0xd0c, &good, |bytes| assert!(sample.said(bytes).is_none_or(|said| said == SAID)));
}

/// Signed anew after each change, so that the reader behind the signature is reached.
#[test]
fn msos() {
    let sample = Sample::new();
    let good = sample.issued.mso.encode();
    hammer(0x350, &good, |mso| {
        let issued = IssuerSigned { mso: Cbor::Raw(mso.to_vec()), ..sample.issued.clone() };
        let said = sample.said(&sample.response(&issued));
        assert!(if mso == good { said.is_some() } else { said.is_none_or(|said| said == SAID) });
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

const LIST_URI: &str = "https://status.example/1";
/// Of the places in the sample lists, the one that is revoked.
const REVOKED: u64 = 5;

fn good_by_list(trust: &TrustEntry, format: CredentialFormat, idx: u64, token: &[u8]) -> bool {
    is_good_by_status_list(&PROVIDER, token, (LIST_URI, idx), trust, format, UnixMillis(NOW))
}

#[test]
fn status_lists_as_jwt() {
    let key = SigningKey::from_seed(Curve::P256, "issuer");
    let mut trust = TrustEntry::new(IssuerId::new("utopia"));
    let jwk = Jwk::parse(key.public_jwk().to_string().as_bytes()).unwrap();
    trust.keys.push(TrustedKey::new(jwk.key));
    let list = StatusList::new(1, 16).with(5, 1);
    let token = StatusJwt::new(&list, LIST_URI, NOW / 1000);
    let good = |idx, token: &[u8]| good_by_list(&trust, CredentialFormat::SdJwtVc, idx, token);
    let whole = token.clone().sign(&key).into_bytes();
    assert!(good(REVOKED + 1, &whole) && !good(REVOKED, &whole));
    hammer(0x157, &whole, |token| assert!(!good(REVOKED, token)));
    // Signed anew after each change: only that it never panics can be said.
    let payload = serde_json::Value::Object(token.payload).to_string();
    hammer(0x158, payload.as_bytes(), |payload| {
        let Ok(payload) = std::str::from_utf8(payload) else { return };
        let header = r#"{"typ":"statuslist+jwt","alg":"ES256"}"#;
        good(REVOKED, sign_jws(&key, header, payload).as_bytes());
    });
}

#[test]
fn status_lists_as_cwt() {
    let root = Identity::iaca(Curve::P256, NOW);
    let signer = root.document_signer(Curve::P256, NOW);
    let mut trust = TrustEntry::new(IssuerId::new("utopia"));
    trust.roots.push(TrustAnchor::from_der(&root.der, RootOrigin::RootFile).unwrap());
    let list = StatusList::new(2, 16).with(5, 1);
    let token = StatusCwt::new(&list, LIST_URI, NOW / 1000, &[&signer.der]).sign(&signer.key);
    let good = |idx, token: &[u8]| good_by_list(&trust, CredentialFormat::Mdoc, idx, token);
    assert!(good(REVOKED + 1, &token) && !good(REVOKED, &token));
    hammer(0x159, &token, |token| assert!(!good(REVOKED, token)));
}
