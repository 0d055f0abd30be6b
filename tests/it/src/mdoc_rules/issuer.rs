//! Rules 5, 6 and 9: trusted and remembered signers, other curves, and the edges of validity.

use idgate_core::crypto::Alg;
use idgate_core::shell::{ExpectedMdoc, PinnedSigner, TrustEntry, TrustSnapshot, verify_mdoc};
use idgate_core::verify::CredentialReport;
use idgate_core::{Reason, UnixMillis};
use idgate_testkit::keys::Curve;
use idgate_testkit::mdoc::{Cbor, MDL, MDL_NAME_SPACE, rfc3339};
use idgate_testkit::x509::Identity;

use super::{Case, DAY, NOW, PROVIDERS, REQUEST, accepted, refused};

use Reason::{AlgorithmNotAllowed, CredentialExpired, CredentialNotYetValid, UntrustedIssuer};

#[test]
fn rule_5_without_roots_no_issuer_is_trusted() {
    refused(UntrustedIssuer, |case| case.trust.roots.clear());
}

/// The public field can be replaced, so verification checks that the entry belongs to the snapshot.
#[test]
fn rule_5_a_remembered_signer_does_not_authenticate_another_issuer() {
    let case = Case::new();
    let bytes = case.bytes();
    let trust = TrustSnapshot::new(1, [case.trust.clone()]);
    let entry = trust.entry(&case.trust.issuer_id).unwrap();
    let mut distrusting = case.trust.clone();
    distrusting.roots.clear();
    let mut expected =
        ExpectedMdoc::new(entry, MDL, MDL_NAME_SPACE, REQUEST, UnixMillis(NOW)).remembering(&trust);
    let verdict = |expected: &ExpectedMdoc<'_>| {
        let mut report = CredentialReport::default();
        verify_mdoc(&PROVIDERS[0], &bytes, expected, &mut report).err().map(|error| error.reason)
    };
    assert_eq!(verdict(&expected), None);
    expected.issuer = &distrusting;
    assert_eq!(verdict(&expected), Some(UntrustedIssuer));
    expected.issuer = entry;
    assert_eq!(verdict(&expected), None);
}

/// `trust::known_signers` tests what remembering means. This tests where a signer is remembered.
#[test]
fn rule_5_a_signer_is_remembered_by_the_snapshot_of_its_entry_only() {
    let case = Case::new();
    let bytes = case.bytes();
    let [own, other] = [1, 2].map(|version| TrustSnapshot::new(version, [case.trust.clone()]));
    let meet = |entry: &TrustEntry, trust: &TrustSnapshot| {
        let now = UnixMillis(NOW);
        let expected = ExpectedMdoc::new(entry, MDL, MDL_NAME_SPACE, REQUEST, now);
        let expected = expected.remembering(trust);
        let mut report = CredentialReport::default();
        verify_mdoc(&PROVIDERS[0], &bytes, &expected, &mut report).unwrap();
    };
    let entry = own.entry(&case.trust.issuer_id).unwrap();
    let knows = |trust: &TrustSnapshot, count: usize| {
        let debug = format!("{trust:?}");
        assert!(debug.contains(&format!("KnownSigners({count})")), "{debug}");
    };
    // An entry that its owner can still change does not belong to a snapshot.
    meet(&case.trust, &own);
    meet(entry, &other);
    knows(&own, 0);
    knows(&other, 0);
    meet(entry, &own);
    meet(entry, &own);
    knows(&own, 1);
}

#[test]
fn rule_5_a_pinned_signer_needs_no_root() {
    let verified = accepted(|case| {
        case.trust.roots.clear();
        case.trust
            .pinned_signers
            .push(PinnedSigner::from_der(&PROVIDERS[0], &case.signer.der).unwrap());
    });
    assert_eq!(verified.facts().trust.name(), "pinned_signer");
}

#[test]
fn rule_6_alg_fits_the_signers_key() {
    refused(AlgorithmNotAllowed, |case| case.alg = Some(Alg::Es384));
    accepted(|case| case.alg = Some(Alg::Es256));
    for (curve, label) in [(Curve::P384, -51), (Curve::P521, -52)] {
        let mut case = Case::on(curve);
        case.issued().protected.set(1, label);
        case.document.protected = Some(Cbor::Map(vec![(1.into(), label.into())]));
        assert_eq!(case.verify().err(), None, "{label}");
    }
}

fn dates(case: &mut Case, signed: u64, valid_from: u64, valid_until: u64) {
    for (name, at) in [("signed", signed), ("validFrom", valid_from), ("validUntil", valid_until)] {
        case.issued().mso.at("validityInfo").set(name, Cbor::tdate(&rfc3339(at)));
    }
}

#[test]
fn rule_9_the_mso_must_be_valid_now() {
    let minute = 60_000;
    refused(CredentialNotYetValid, |c| dates(c, NOW, NOW + minute + 1000, NOW + DAY));
    accepted(|c| dates(c, NOW, NOW + minute, NOW + DAY));
    refused(CredentialExpired, |c| {
        dates(c, NOW - 10_000_000, NOW - 10_000_000, NOW - minute - 1000)
    });
    accepted(|c| dates(c, NOW - 10_000_000, NOW - 10_000_000, NOW - minute));
}

#[test]
fn a_root_in_the_chain_is_not_trusted_for_that_reason() {
    refused(UntrustedIssuer, |case| {
        let root = Identity::iaca(Curve::P256, NOW);
        case.trust.roots.clear();
        let chain = [case.signer.der.clone(), root.der].map(Cbor::Bytes).to_vec();
        case.issued().unprotected.set(33, Cbor::Array(chain));
    });
}

#[test]
fn sd_jwt_roots_are_never_trusted_for_mdocs() {
    refused(UntrustedIssuer, |case| {
        case.trust.sd_jwt_roots = core::mem::take(&mut case.trust.roots);
    });
    refused(UntrustedIssuer, |case| {
        let signer = PinnedSigner::from_der(&PROVIDERS[0], &case.signer.der).unwrap();
        case.trust.roots.clear();
        case.trust.sd_jwt_signers.push(signer);
    });
}
