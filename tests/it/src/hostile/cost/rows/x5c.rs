//! The certificates in an SD-JWT's header, made by a stranger.

use idgate_core::crypto::counting::PROVIDER;
use idgate_core::shell::{ExpectedSdJwtVc, RootOrigin, TrustAnchor, TrustEntry, verify_sd_jwt_vc};
use idgate_core::verify::CredentialReport;
use idgate_core::{IssuerId, UnixMillis};
use idgate_testkit::codec::base64url;
use idgate_testkit::der::tlv;
use idgate_testkit::issuer::CredentialBuilder;
use idgate_testkit::jws;
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::samples;
use idgate_testkit::x509::{CertificateBuilder, Identity, Name};
use serde_json::json;

use super::sd_jwt::{CLIENT_ID, NONCE, shown};
use super::x509::{STUFFINGS, stuffed};
use crate::hostile::NOW_MS;
use crate::hostile::cost::{Generator, Row};

/// Ten certificates of the largest size, in base64 in base64url.
const FULL: usize = 280 * 1024;

fn root() -> Identity {
    Identity::issuer_root(Curve::P256, NOW_MS)
}

fn issuer_key() -> SigningKey {
    samples::issuer_key(Curve::P256)
}

/// How many bytes of certificates fit into this many bytes of text.
const fn certificates_in(size: usize) -> usize {
    size / 16 * 9
}

/// A good credential of about this many bytes: a portrait takes the place of the certificates.
fn good(size: usize) -> String {
    let signer = root().issuer_of_sd_jwts(&issuer_key(), NOW_MS);
    let portrait = base64url(&vec![7; size.saturating_sub(3500) / 16 * 9]);
    let identity = samples::identity(&samples::holder_key(Curve::P256), NOW_MS);
    let credential: CredentialBuilder = identity.sd("picture", portrait).x5c(&[signer.der]);
    shown(&credential.issue(&issuer_key()), |_| {})
}

/// An unsigned credential with these certificates.
fn with_chain(chain: &[Vec<u8>]) -> Vec<u8> {
    let header = json!({ "alg": "ES256", "typ": "dc+sd-jwt", "x5c": jws::x5c(chain) });
    let header = base64url(header.to_string().as_bytes());
    format!("{header}.e30.{}~e30.e30.AA", "A".repeat(86)).into_bytes()
}

/// A signer, and nine CAs with the name of its issuer, which may be the root's own name.
fn ten_issuers(size: usize, name: Name) -> Vec<Vec<u8>> {
    let (root, stranger) = (root(), SigningKey::from_seed(Curve::P256, "stranger"));
    let padding = tlv(4, &[&vec![0; (size / 10).saturating_sub(700).min(15_000)]]);
    let issuer = CertificateBuilder::issuer_root(name, &stranger, NOW_MS);
    let issuer = issuer.set("1.2.3.4", false, padding).under(&root);
    let issuers = (1..10).map(|serial| issuer.clone().with(|own| own.serial = vec![serial]));
    let issuers: Vec<Vec<u8>> = issuers.map(|issuer| issuer.sign(&stranger)).collect();
    let signer = issuer.issue(&root, &stranger).issuer_of_sd_jwts(&stranger, NOW_MS);
    [vec![signer.der], issuers].concat()
}

pub(super) fn x5c() -> Row {
    let mut issuer = TrustEntry::new(IssuerId::new(samples::ISSUER));
    issuer
        .sd_jwt_roots
        .push(TrustAnchor::from_der(&PROVIDER, &root().der, RootOrigin::RootFile).unwrap());
    let now = UnixMillis(NOW_MS);
    let verify = move |text: &[u8]| {
        let expected = ExpectedSdJwtVc::new(&issuer, CLIENT_ID, NONCE, now, now);
        let text = std::str::from_utf8(text).unwrap();
        verify_sd_jwt_vc(&PROVIDER, text, &expected, &mut CredentialReport::default())
    };
    assert!(verify(good(1000).as_bytes()).is_ok());
    let mut worst: Vec<(&'static str, Generator)> = Vec::new();
    for stuffing in STUFFINGS {
        let one = move |size| with_chain(&[stuffed(stuffing, certificates_in(size).min(16_000))]);
        worst.push((stuffing.0, Box::new(one)));
    }
    for stuffing in STUFFINGS {
        let ten = move |size| {
            let each = (certificates_in(size) / 10).min(16_000);
            with_chain(&vec![stuffed(stuffing, each); 10])
        };
        worst.push((stuffing.0, Box::new(ten)));
    }
    worst.push((
        "ten issuers of one name",
        Box::new(|size| with_chain(&ten_issuers(certificates_in(size), Name::new("UT", "I")))),
    ));
    worst.push((
        "ten issuers of the root's name",
        Box::new(|size| with_chain(&ten_issuers(certificates_in(size), root().builder.subject))),
    ));
    worst.push((
        "thousands of certificates",
        Box::new(|size| with_chain(&vec![vec![0x30]; size / 16 * 9 / 6])),
    ));
    worst.push((
        "one large certificate",
        Box::new(|size| with_chain(&[vec![0x30; certificates_in(size)]])),
    ));
    Row {
        name: "x5c",
        full: FULL,
        read: Box::new(move |text| drop(verify(text))),
        valid: Box::new(|size| good(size).into_bytes()),
        worst,
    }
}
