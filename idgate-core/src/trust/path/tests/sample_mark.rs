//! Roots and signers with the policy of sandbox samples.

use idgate_testkit::der;

use super::*;

fn marked(identity: &Identity) -> Identity {
    let builder = identity.builder.clone().marked_as_sample();
    builder.self_sign(&identity.key)
}

#[test]
fn a_root_with_the_sandbox_mark_is_for_test_sessions_only() {
    let sample = marked(&root());
    let (good, entry) = (signer(&sample), trusting(&[&sample]));
    assert!(entry.roots[0].is_sample() && !entry.roots[0].test_only);
    assert!(verify(&[&good.der], &entry, TEST).is_ok());
    let error = refused(verify(&[&good.der], &entry, LIVE), Reason::UntrustedIssuer);
    assert_eq!(error.to_string().matches("sandbox samples").count(), 1, "{error}");
    // Another root of the entry makes no difference for signers below the marked one.
    let other = Identity::issuer_root(Curve::P256, SAMPLE_NOW_MS);
    let both = trusting(&[&other, &sample]);
    let error = refused(verify(&[&good.der], &both, LIVE), Reason::UntrustedIssuer);
    assert!(error.to_string().contains("sandbox samples"), "{error}");
    let unmarked = trusting(&[&root()]);
    assert!(verify(&[&signer(&root()).der], &unmarked, LIVE).is_ok());
}

#[test]
fn a_pinned_signer_with_the_sandbox_mark_is_for_test_sessions_only() {
    let root = root();
    let good = signer(&root);
    let good = good.builder.clone().marked_as_sample().issue(&root, &good.key);
    let mut entry = trusting(&[]);
    entry.pinned_signers = vec![PinnedSigner::from_der(&PROVIDER, &good.der).unwrap()];
    assert!(verify(&[&good.der], &entry, TEST).is_ok());
    let error = refused(verify(&[&good.der], &entry, LIVE), Reason::UntrustedIssuer);
    assert!(error.to_string().contains("sandbox samples"), "{error}");
}

#[test]
fn the_mark_is_one_of_the_certificates_policies() {
    let policy = |id: &[u8]| der::sequence(&[&der::tlv(der::OID, &[id])]);
    let others = [policy(&[0x2a, 0x03]), policy(&x509::SAMPLE_POLICY)].concat();
    let builder = root().builder.set(x509::CERTIFICATE_POLICIES, false, der::sequence(&[&others]));
    assert!(anchor(&builder.self_sign(&root().key)).is_sample());
    let other = der::sequence(&[&policy(&[0x2a, 0x03])]);
    let builder = root().builder.set(x509::CERTIFICATE_POLICIES, false, other);
    assert!(!anchor(&builder.self_sign(&root().key)).is_sample());
}
