//! Rules 4 to 7 and 9: the signature, its certificate, the mobile security object and its dates.

use idgate_core::crypto::Alg;
use idgate_core::trust::PinnedSigner;
use idgate_core::verify::{CredentialReport, ExpectedMdoc, verify_mdoc};
use idgate_core::{Reason, TrustEntry, TrustSnapshot, UnixMillis};
use idgate_testkit::codec::HashAlg;
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::mdoc::{Cbor, MDL, MDL_NAME_SPACE, rfc3339};
use idgate_testkit::x509::Identity;

use super::{Case, DAY, NOW, PROVIDERS, REQUEST, accepted, refused};

use Reason::{
    AlgorithmNotAllowed, CertificateExpired, ChainInvalid, CredentialExpired,
    CredentialNotYetValid, IssuerSignatureInvalid, LimitExceeded, MalformedPresentation,
    UntrustedIssuer,
};

fn given(issuer_auth: Cbor) -> impl Fn(&Case) -> Option<Reason> {
    move |case| {
        let mut document = case.document.prove(&case.transcript, &case.proof);
        document.at("issuerSigned").set("issuerAuth", issuer_auth.clone());
        let response = idgate_testkit::mdoc::device_response(vec![document]).encode();
        case.verify_bytes(&response).err()
    }
}

#[test]
fn rule_4_issuer_auth_is_a_cose_sign1_with_or_without_its_tag() {
    let case = Case::new();
    let auth = case.document.issuer_signed.issuer_auth();
    assert_eq!(given(Cbor::Tag(18, Box::new(auth.clone())))(&case), None);
    assert_eq!(given(Cbor::Tag(17, Box::new(auth.clone())))(&case), Some(MalformedPresentation));
    let Cbor::Array(parts) = auth else { panic!("no array") };
    assert_eq!(given(Cbor::Array(parts[..3].to_vec()))(&case), Some(MalformedPresentation));
    let five = [&parts[..], &[Cbor::Null]].concat();
    assert_eq!(given(Cbor::Array(five))(&case), Some(MalformedPresentation));
    let mut detached = parts.clone();
    detached[2] = Cbor::Null;
    assert_eq!(given(Cbor::Array(detached))(&case), Some(MalformedPresentation));
}

#[test]
fn rule_4_alg_is_protected_and_nowhere_else() {
    refused(AlgorithmNotAllowed, |case| case.issued().protected.remove(1));
    refused(MalformedPresentation, |case| {
        case.issued().protected.remove(1);
        case.issued().unprotected.set(1, -7);
    });
    refused(MalformedPresentation, |case| case.issued().unprotected.set(1, -7));
    refused(MalformedPresentation, |case| {
        case.issued().protected.set(2, Cbor::Array(vec![99.into()]));
    });
}

#[test]
fn rule_4_x5chain_stands_in_the_unprotected_header() {
    refused(MalformedPresentation, |case| case.issued().unprotected.remove(33));
    refused(MalformedPresentation, |case| {
        let chain = case.issued().unprotected.at(33).clone();
        case.issued().unprotected.remove(33);
        case.issued().protected.set(33, chain);
    });
    refused(MalformedPresentation, |case| {
        case.issued().unprotected.set(33, Cbor::Array(vec![]));
    });
    refused(LimitExceeded, |case| {
        let leaf = Cbor::Bytes(case.signer.der.clone());
        case.issued().unprotected.set(33, Cbor::Array(vec![leaf; 11]));
    });
    accepted(|case| {
        let leaf = Cbor::Bytes(case.signer.der.clone());
        case.issued().unprotected.set(33, Cbor::Array(vec![leaf]));
    });
}

#[test]
fn rule_4_unknown_and_undefined_unprotected_headers_are_tolerated() {
    accepted(|case| {
        case.issued().unprotected.set(4, Cbor::Undefined);
        case.issued().unprotected.set("x", Cbor::Float(f64::NAN));
        case.document.unprotected.set(4, Cbor::Undefined);
    });
}

#[test]
fn rule_5_the_certificate_leads_to_a_trusted_root() {
    refused(UntrustedIssuer, |case| case.trust.roots.clear());
    refused(ChainInvalid, |case| {
        let stranger = SigningKey::from_seed(Curve::P256, "stranger");
        let der = case.signer.builder.sign(&stranger);
        case.issued().unprotected.set(33, Cbor::Bytes(der));
    });
    refused(ChainInvalid, |case| {
        case.issued().unprotected.set(33, Cbor::Bytes(vec![0x30, 0]));
    });
    refused(CertificateExpired, |case| case.now = NOW + 400 * DAY);
}

/// The public field may be exchanged: whether it is the snapshot's entry is asked at verification.
#[test]
fn rule_5_an_exchanged_issuer_is_not_authenticated_by_what_another_remembers() {
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

/// What it means to be known is `trust::known_signers`; here, where it is remembered.
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
    // An entry that its owner may still change is not an entry of a snapshot.
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
fn rule_6_the_document_signer_signed_the_mso() {
    let mut case = Case::new();
    case.issued().key = SigningKey::from_seed(Curve::P256, "stranger");
    assert_eq!(case.verify().err(), Some(IssuerSignatureInvalid));
    let case = Case::new();
    let Cbor::Array(parts) = case.document.issuer_signed.issuer_auth() else { panic!("no array") };
    for change in [
        |signature: &mut Vec<u8>| signature[0] ^= 1,
        |signature: &mut Vec<u8>| signature.truncate(63),
        |signature: &mut Vec<u8>| signature.push(0),
        |signature: &mut Vec<u8>| signature.fill(0),
        Vec::clear,
    ] {
        let mut other = parts.clone();
        let Cbor::Bytes(signature) = &mut other[3] else { panic!("no bytes") };
        change(signature);
        assert_eq!(given(Cbor::Array(other))(&case), Some(IssuerSignatureInvalid));
    }
}

#[test]
fn rule_6_alg_fits_the_signers_key() {
    for label in [-35, -36, -8, -51, -52, -48, 5, 0] {
        refused(AlgorithmNotAllowed, |case| case.issued().protected.set(1, label));
    }
    refused(AlgorithmNotAllowed, |case| case.issued().protected.set(1, "ES256"));
    refused(AlgorithmNotAllowed, |case| case.alg = Some(Alg::Es384));
    accepted(|case| case.alg = Some(Alg::Es256));
    for (curve, label) in [(Curve::P256, -9), (Curve::P384, -51), (Curve::P521, -52)] {
        let mut case = Case::on(curve);
        case.issued().protected.set(1, label);
        case.document.protected = Some(Cbor::Map(vec![(1.into(), label.into())]));
        assert_eq!(case.verify().err(), None, "{label}");
    }
}

#[test]
fn rule_7_the_mso_is_of_version_1_0_and_complete() {
    for version in ["1.1", "2.0", ""] {
        refused(MalformedPresentation, |case| case.issued().mso.set("version", version));
    }
    for member in
        ["version", "digestAlgorithm", "valueDigests", "deviceKeyInfo", "docType", "validityInfo"]
    {
        refused(MalformedPresentation, |case| case.issued().mso.remove(member));
        refused(MalformedPresentation, |case| case.issued().mso.set(member, 7));
    }
    refused(MalformedPresentation, |case| {
        case.issued().mso.at("deviceKeyInfo").remove("deviceKey")
    });
}

#[test]
fn rule_7_the_digest_algorithm_is_an_accepted_one() {
    for (name, alg) in [("SHA-384", HashAlg::Sha384), ("SHA-512", HashAlg::Sha512)] {
        accepted(|case| {
            case.issued().mso.set("digestAlgorithm", name);
            case.issued().digest(alg);
        });
    }
    for name in ["SHA-1", "SHA256", "sha-256", "MD5", ""] {
        refused(AlgorithmNotAllowed, |case| case.issued().mso.set("digestAlgorithm", name));
    }
}

fn dates(case: &mut Case, signed: u64, valid_from: u64, valid_until: u64) {
    for (name, at) in [("signed", signed), ("validFrom", valid_from), ("validUntil", valid_until)] {
        case.issued().mso.at("validityInfo").set(name, Cbor::tdate(&rfc3339(at)));
    }
}

#[test]
fn rule_9_now_lies_between_valid_from_and_valid_until() {
    let minute = 60_000;
    refused(CredentialNotYetValid, |c| dates(c, NOW, NOW + minute + 1000, NOW + DAY));
    accepted(|c| dates(c, NOW, NOW + minute, NOW + DAY));
    refused(CredentialExpired, |c| {
        dates(c, NOW - 10_000_000, NOW - 10_000_000, NOW - minute - 1000)
    });
    accepted(|c| dates(c, NOW - 10_000_000, NOW - 10_000_000, NOW - minute));
}

#[test]
fn rule_9_the_mso_was_signed_within_the_certificates_dates() {
    refused(MalformedPresentation, |c| dates(c, NOW - 2 * DAY, NOW - DAY, NOW + DAY));
    refused(MalformedPresentation, |c| dates(c, NOW + 500 * DAY, NOW + 500 * DAY, NOW + 600 * DAY));
    // validUntil may lie after the certificate's end.
    accepted(|c| dates(c, NOW, NOW, NOW + 1000 * DAY));
}

#[test]
fn rule_9_the_dates_are_in_order() {
    refused(MalformedPresentation, |c| dates(c, NOW, NOW - 1000, NOW + DAY));
    refused(MalformedPresentation, |c| dates(c, NOW, NOW, NOW));
    refused(MalformedPresentation, |c| dates(c, NOW, NOW + 20_000, NOW + 10_000));
}

#[test]
fn rule_9_dates_are_tdates_and_fractions_are_tolerated() {
    let set = |case: &mut Case, date| case.issued().mso.at("validityInfo").set("validUntil", date);
    accepted(|case| set(case, Cbor::tdate("2030-01-01T00:00:00.123456Z")));
    refused(MalformedPresentation, |case| set(case, "2030-01-01T00:00:00Z".into()));
    refused(MalformedPresentation, |case| set(case, Cbor::full_date("2030-01-01")));
    refused(MalformedPresentation, |case| set(case, Cbor::tdate("2030-02-30T00:00:00Z")));
    refused(MalformedPresentation, |case| set(case, Cbor::tdate("2030-01-01")));
    refused(MalformedPresentation, |case| set(case, Cbor::Int(1_893_456_000)));
    for name in ["signed", "validFrom", "validUntil"] {
        refused(MalformedPresentation, |case| case.issued().mso.at("validityInfo").remove(name));
    }
}

#[test]
fn a_root_in_the_chain_is_not_trusted_by_that() {
    refused(UntrustedIssuer, |case| {
        let root = Identity::iaca(Curve::P256, NOW);
        case.trust.roots.clear();
        let chain = [case.signer.der.clone(), root.der].map(Cbor::Bytes).to_vec();
        case.issued().unprotected.set(33, Cbor::Array(chain));
    });
}

#[test]
fn roots_for_sd_jwts_never_vouch_for_mdocs() {
    refused(UntrustedIssuer, |case| {
        case.trust.sd_jwt_roots = core::mem::take(&mut case.trust.roots);
    });
    refused(UntrustedIssuer, |case| {
        let signer = PinnedSigner::from_der(&PROVIDERS[0], &case.signer.der).unwrap();
        case.trust.roots.clear();
        case.trust.sd_jwt_signers.push(signer);
    });
}
