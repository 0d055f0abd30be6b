//! CRLs for the certificate that signed a credential.

use idgate_testkit::status::Crl;
use idgate_testkit::time::{DAY_MS, compact_utc};
use idgate_testkit::x509::{
    CRL_DISTRIBUTION_POINTS, Identity, distribution_points, key_identifier,
};

use super::*;

const SERIAL: [u8; 3] = [0x10, 0x20, 0x30];

/// An answer whose signer is below `root` and names its CRL at `url`.
fn flow(root: &Identity, url: &str) -> Flow {
    let key = samples::issuer_key(Curve::P256);
    let points = distribution_points(&[url]);
    let signer = root.issuer_of_sd_jwts(&key, NOW.0).builder;
    let signer = signer.set(CRL_DISTRIBUTION_POINTS, false, points);
    let signer = signer.with(|own| own.serial = SERIAL.to_vec()).sign(&root.key);
    let issuer = Issuer::new(ISSUER).x5c_roots(&*root.der);
    let trust = Trust::new(aws_lc_rs::PROVIDER, [issuer]).unwrap();
    let credential = samples::identity(&samples::holder_key(Curve::P256), NOW.0);
    Flow::under(trust, vec![credential.plain("vct", VCTS[0]).x5c(&[signer])])
}

/// A CRL of `issuer`.
fn crl(issuer: &Identity, revoked: &[&[u8]]) -> Vec<u8> {
    let [made, next] = [NOW.0 - DAY_MS / 2, NOW.0 + DAY_MS].map(compact_utc);
    let (name, identifier) = (issuer.builder.subject.der(), key_identifier(&issuer.key));
    let empty = Crl::new(&name, &identifier, &made, &next);
    revoked.iter().fold(empty, |crl, serial| crl.revoke(serial)).sign(&issuer.key)
}

#[tokio::test]
async fn the_issuer_certificates_crl_is_fetched_and_decides() {
    let (root, stranger) =
        (Identity::issuer_root(Curve::P256, NOW.0), Identity::iaca(Curve::P256, NOW.0));
    let source = Loopback::start().await;
    for (given, reason) in [
        (crl(&root, &[]), None),
        (crl(&root, &[&SERIAL]), Some(Reason::CertificateRevoked)),
        (crl(&stranger, &[]), Some(Reason::RevocationUnknown)),
        (b"none".to_vec(), Some(Reason::RevocationUnknown)),
    ] {
        source.give(&given);
        let flow = flow(&root, &source.url());
        assert_eq!(apart(move || flow.reason(&local(), NOW.0)).await, reason);
    }
    assert_eq!(source.connections(), 4);
}

#[tokio::test]
async fn a_crl_is_fetched_once_while_it_is_fresh() {
    let root = Identity::issuer_root(Curve::P256, NOW.0);
    let source = Loopback::start().await;
    source.give(&crl(&root, &[]));
    let flow = flow(&root, &source.url());
    apart(move || {
        let fetcher = local();
        assert_eq!(flow.reason(&fetcher, NOW.0), None);
        assert_eq!(flow.decide(&fetcher, NOW.0 + 1_000).1, [], "nothing is held");
    })
    .await;
    assert_eq!(source.connections(), 1);
}

#[tokio::test]
async fn a_compressed_crl_behind_a_redirect_decides() {
    let root = Identity::issuer_root(Curve::P256, NOW.0);
    let (source, other) = (Loopback::start().await, Loopback::start().await);
    source.give_with("301 Moved", &format!("Location: {}\r\n", other.url()), b"");
    let revoking = gzip(&crl(&root, &[&SERIAL]));
    other.give_by(move |head| match header(head, "accept") {
        Some("application/pkix-crl") => answer("200 OK", "Content-Encoding: gzip\r\n", &revoking),
        _ => answer("406 Not Acceptable", "", b""),
    });
    let flow = flow(&root, &source.url());
    let reason = apart(move || flow.reason(&local(), NOW.0)).await;
    assert_eq!(reason, Some(Reason::CertificateRevoked));
}
