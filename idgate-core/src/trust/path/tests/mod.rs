//! Paths end to end: the presenter's certificates, the operator's roots, and the verdict.

mod sample_mark;

use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::time::{DAY_MS, SAMPLE_NOW_MS, YEAR_MS};
use idgate_testkit::x509::{self, CertificateBuilder, Identity, Name};

use sha1::{Digest as _, Sha1};
use sha2::Sha256;

use super::*;
use crate::crypto::tests::PROVIDER;
use crate::ids::{DocType, IssuerId};
use crate::trust::PinnedSigner;
use crate::trust::anchors::RootOrigin;

const NOW: UnixMillis = UnixMillis(SAMPLE_NOW_MS);
const LIVE: bool = true;
const TEST: bool = false;
const MDL: &str = "org.iso.18013.5.1.mDL";

fn root() -> Identity {
    Identity::iaca(Curve::P256, SAMPLE_NOW_MS)
}

/// A root without pathLenConstraint, which those of ISO/IEC 18013-5 have.
fn open_root() -> Identity {
    let constraints = x509::basic_constraints(true, None);
    let builder = root().builder.set(x509::BASIC_CONSTRAINTS, true, constraints);
    builder.self_sign(&root().key)
}

fn signer(root: &Identity) -> Identity {
    root.document_signer(Curve::P256, SAMPLE_NOW_MS)
}

fn anchor(root: &Identity) -> TrustAnchor {
    TrustAnchor::from_der(&PROVIDER, &root.der, RootOrigin::RootFile).unwrap()
}

fn trusting(roots: &[&Identity]) -> TrustEntry {
    let mut entry = TrustEntry::new(IssuerId::new("utopia"));
    entry.roots = roots.iter().map(|root| anchor(root)).collect();
    entry
}

fn verify(
    chain: &[&[u8]],
    entry: &TrustEntry,
    livemode: bool,
) -> Result<VerifiedPath, VerifyError> {
    authenticate_chain(&PROVIDER, chain, entry, MDL, livemode, NOW)
}

#[track_caller]
fn refused(result: Result<VerifiedPath, VerifyError>, reason: Reason) -> VerifyError {
    let error = result.map(|path| path.anchor_subject).unwrap_err();
    assert_eq!(error.reason, reason, "{error}");
    error
}

#[test]
fn a_signer_under_a_trusted_root_is_authentic_on_every_curve() {
    for root_curve in Curve::ALL {
        for curve in Curve::ALL {
            let root = Identity::iaca(root_curve, SAMPLE_NOW_MS);
            let signer = root.document_signer(curve, SAMPLE_NOW_MS);
            let path = verify(&[&signer.der], &trusting(&[&root]), LIVE).unwrap();
            assert_eq!(path.signer_key.curve().name(), curve.name());
            assert_eq!(path.anchor_subject, "CN=Utopia IACA,C=UT");
            assert_eq!(path.anchor_sha256, anchor(&root).sha256());
            assert_eq!(path.country.as_deref(), Some("UT"));
            assert_eq!(path.crl_distribution_points, [[x509::CRL_URI]]);
            assert_eq!(path.issuer.as_deref(), Some(&root.der[..]));
            assert!(!path.pinned && path.not_before < NOW && NOW < path.not_after);
        }
    }
}

#[test]
fn any_sha2_hash_goes_with_any_curve() {
    use idgate_testkit::codec::HashAlg;
    for curve in Curve::ALL {
        for hash in [HashAlg::Sha256, HashAlg::Sha384, HashAlg::Sha512] {
            let root = Identity::iaca(curve, SAMPLE_NOW_MS);
            let builder = signer(&root).builder.with(|signer| signer.hash = Some(hash));
            let good = builder.sign(&root.key);
            assert!(verify(&[&good], &trusting(&[&root]), LIVE).is_ok(), "{curve:?} {hash:?}");
        }
    }
}

#[test]
fn sha1_signatures_are_refused() {
    use idgate_testkit::der::{bit_string, ecdsa_signature, oid, sequence};
    let root = root();
    let tbs = signer(&root).builder.tbs(&root.key);
    let own = x509::signature_algorithm(Curve::P256, None);
    let with_algorithm = |identifier: &str, digest: fn(&[u8]) -> Vec<u8>| {
        let algorithm = sequence(&[&oid(identifier)]);
        let at = tbs.windows(own.len()).position(|window| window == own).unwrap();
        // The outer SEQUENCE gets the inner algorithm.
        let content = [&tbs[4..at], &algorithm, &tbs[at + own.len()..]].concat();
        let tbs = sequence(&[&content]);
        let signature = root.key.sign_prehashed(&digest(&tbs));
        let signature = bit_string(&ecdsa_signature(&signature));
        sequence(&[&tbs, &algorithm, &signature])
    };
    let good = with_algorithm("1.2.840.10045.4.3.2", |tbs| Sha256::digest(tbs).to_vec());
    assert!(verify(&[&good], &trusting(&[&root]), LIVE).is_ok());
    let sha1 = with_algorithm("1.2.840.10045.4.1", |tbs| Sha1::digest(tbs).to_vec());
    for mode in [LIVE, TEST] {
        refused(verify(&[&sha1], &trusting(&[&root]), mode), Reason::ChainInvalid);
    }
}

#[test]
fn a_signer_under_an_unknown_root_is_refused() {
    let key = SigningKey::from_seed(Curve::P256, "stranger");
    let name = Name::new("UT", "Utopia IACA");
    let stranger = CertificateBuilder::iaca_root(name, &key, SAMPLE_NOW_MS).self_sign(&key);
    let forged = signer(&stranger);
    let entry = trusting(&[&root()]);
    refused(verify(&[&forged.der], &entry, LIVE), Reason::ChainInvalid);
    let without_identifier = signer(&stranger).builder.without(x509::AUTHORITY_KEY_IDENTIFIER);
    refused(verify(&[&without_identifier.sign(&key)], &entry, TEST), Reason::ChainInvalid);
}

#[test]
fn a_root_in_the_chain_is_not_trusted() {
    let key = SigningKey::from_seed(Curve::P256, "stranger");
    let name = Name::new("UT", "Stranger");
    let stranger = CertificateBuilder::iaca_root(name, &key, SAMPLE_NOW_MS).self_sign(&key);
    let forged = signer(&stranger);
    for mode in [LIVE, TEST] {
        let chain: &[&[u8]] = &[&forged.der, &stranger.der];
        refused(verify(chain, &trusting(&[&root()]), mode), Reason::ChainInvalid);
    }
    let (root, good) = (root(), signer(&root()));
    for mode in [LIVE, TEST] {
        assert!(verify(&[&good.der, &root.der], &trusting(&[&root]), mode).is_ok());
    }
}

#[test]
fn an_entry_without_roots_for_the_mode_trusts_no_signer() {
    let (root, good) = (root(), signer(&root()));
    let mut entry = trusting(&[]);
    for mode in [LIVE, TEST] {
        refused(verify(&[&good.der], &entry, mode), Reason::UntrustedIssuer);
    }
    entry.roots = vec![anchor(&root).for_test_only()];
    refused(verify(&[&good.der], &entry, LIVE), Reason::UntrustedIssuer);
    assert!(verify(&[&good.der], &entry, TEST).is_ok());
}

#[test]
fn countries_and_document_types_limit_the_roots() {
    let (root, good) = (root(), signer(&root()));
    let mut entry = trusting(&[&root]);
    entry.countries = vec!["DE".into()];
    refused(verify(&[&good.der], &entry, LIVE), Reason::UntrustedIssuer);
    entry.countries.push("ut".into());
    assert!(verify(&[&good.der], &entry, LIVE).is_ok());
    entry.roots = vec![anchor(&root).with_doc_types([DocType::new("eu.europa.ec.eudi.pid.1")])];
    refused(verify(&[&good.der], &entry, LIVE), Reason::UntrustedIssuer);
    entry.roots = vec![anchor(&root).with_doc_types([DocType::new(MDL)])];
    assert!(verify(&[&good.der], &entry, LIVE).is_ok());
}

#[test]
fn every_root_of_a_name_is_tried() {
    let old = root();
    let (next, link) = old.rolled_over("rolled over", SAMPLE_NOW_MS);
    let (of_old, of_next) = (signer(&old), signer(&next));
    for roots in [[&old, &next], [&next, &old]] {
        for signer in [&of_old, &of_next] {
            assert!(verify(&[&signer.der], &trusting(&roots), LIVE).is_ok());
        }
    }
    assert!(verify(&[&of_next.der], &trusting(&[&link]), LIVE).is_ok());
    refused(verify(&[&of_next.der], &trusting(&[&old]), LIVE), Reason::ChainInvalid);
    // Without key identifiers only the signatures distinguish the roots.
    let blind = |root: &Identity| {
        let builder = root.builder.clone().without(x509::SUBJECT_KEY_IDENTIFIER);
        builder.self_sign(&root.key)
    };
    let (old, next) = (blind(&old), blind(&next));
    assert!(verify(&[&of_next.der], &trusting(&[&old, &next]), LIVE).is_ok());
}

#[test]
fn names_are_compared_without_case_and_string_type() {
    let root = root();
    let builder = signer(&root).builder.with(|signer| {
        signer.issuer =
            Name::default().with("2.5.4.6", 12, "ut").with("2.5.4.3", 19, " UTOPIA  iaca ");
    });
    assert!(verify(&[&builder.sign(&root.key)], &trusting(&[&root]), LIVE).is_ok());
    let builder =
        signer(&root).builder.with(|signer| signer.issuer = Name::new("UT", "Utopia IACA 2"));
    let other = builder.sign(&root.key);
    refused(verify(&[&other], &trusting(&[&root]), LIVE), Reason::ChainInvalid);
}

#[test]
fn signature_checks_have_a_budget() {
    let roots: Vec<Identity> = (0..40)
        .map(|number| {
            let key = SigningKey::from_seed(Curve::P256, format!("crowd {number}"));
            let name = Name::new("UT", "Utopia IACA");
            CertificateBuilder::iaca_root(name, &key, SAMPLE_NOW_MS)
                .without(x509::SUBJECT_KEY_IDENTIFIER)
                .self_sign(&key)
        })
        .collect();
    let good = signer(roots.last().unwrap());
    let all: Vec<&Identity> = roots.iter().collect();
    let error = refused(verify(&[&good.der], &trusting(&all), LIVE), Reason::LimitExceeded);
    assert!(error.detail.contains("more signature checks"));
    assert!(verify(&[&good.der], &trusting(&all[30..]), LIVE).is_ok());
}

/// A presenter may send nine: each costs a check with a root's key.
#[test]
fn eight_presented_issuers_are_tried_and_no_more() {
    let root = open_root();
    let issuer = |number: usize| {
        let key = SigningKey::from_seed(Curve::P256, format!("issuer {number}"));
        let name = Name::new("UT", "Utopia CA");
        let builder = CertificateBuilder::intermediate(&root, name, &key, SAMPLE_NOW_MS);
        builder.without(x509::SUBJECT_KEY_IDENTIFIER).issue(&root, &key)
    };
    let issuers: Vec<Identity> = (0..9).map(issuer).collect();
    let good = signer(&issuers[8]).der;
    let chain = |order: &[usize]| -> Vec<&[u8]> {
        let sent = order.iter().map(|number| &issuers[*number].der[..]);
        core::iter::once(&good[..]).chain(sent).collect()
    };
    let entry = trusting(&[&root]);
    assert!(verify(&chain(&[0, 1, 2, 3, 4, 5, 6, 8]), &entry, TEST).is_ok());
    let beyond = verify(&chain(&[0, 1, 2, 3, 4, 5, 6, 7, 8]), &entry, TEST);
    refused(beyond, Reason::LimitExceeded);
    let none = verify(&chain(&[0, 1, 2, 3, 4, 5, 6, 7]), &entry, TEST);
    refused(none, Reason::ChainInvalid);
}

fn status_roots<'r>(roots: &'r [&'r TrustAnchor], entry: &'r TrustEntry) -> StatusRoots<'r> {
    StatusRoots { provider: &PROVIDER, roots, ekus: &entry.ekus, sd_jwt_ekus: &[], now: NOW }
}

/// RFC 5280 4.2.1.9, also if the constraint is in the root.
#[test]
fn the_path_length_of_the_root_holds() {
    let key = SigningKey::from_seed(Curve::P256, "ca");
    for (path_len, expected) in [(None, true), (Some(1), true), (Some(0), false)] {
        let constraints = x509::basic_constraints(true, path_len);
        let builder = root().builder.set(x509::BASIC_CONSTRAINTS, true, constraints);
        let root = builder.self_sign(&root().key);
        let name = Name::new("UT", "Utopia CA");
        let ca = CertificateBuilder::intermediate(&root, name, &key, SAMPLE_NOW_MS);
        let ca = ca.issue(&root, &key);
        let below = signer(&ca).der;
        let entry = trusting(&[&root]);
        assert_eq!(verify(&[&below, &ca.der], &entry, TEST).is_ok(), expected, "{path_len:?}");
        let roots: Vec<&TrustAnchor> = entry.roots.iter().collect();
        let chain: [&[u8]; 2] = [&below, &ca.der];
        let status = status_roots(&roots, &entry).authenticate(&chain);
        assert_eq!(status.is_ok(), expected, "{path_len:?}");
        assert!(verify(&[&signer(&root).der], &entry, LIVE).is_ok());
        // Self-issued certificates do not count.
        let (next, link) = root.rolled_over("rolled over", SAMPLE_NOW_MS);
        assert!(verify(&[&signer(&next).der, &link.der], &entry, TEST).is_ok());
    }
}

#[test]
fn a_certificate_beyond_its_limits_is_limit_exceeded() {
    let root = root();
    let entry = trusting(&[&root]);
    let padded = signer(&root).builder.set("1.2.3.4", false, vec![5; 16 * 1024]);
    let large = padded.sign(&root.key);
    let mut many = signer(&root).builder;
    for number in 0..33 {
        many = many.set(&format!("1.2.3.{number}"), false, vec![5, 0]);
    }
    for beyond in [large, many.sign(&root.key)] {
        for mode in [LIVE, TEST] {
            refused(verify(&[&beyond], &entry, mode), Reason::LimitExceeded);
        }
        // With a good signer it is not part of the path.
        assert!(verify(&[&signer(&root).der, &beyond], &entry, TEST).is_ok());
    }
}

#[test]
fn test_sessions_tolerate_one_intermediate_and_live_ones_none() {
    let root = open_root();
    let intermediate = |issuer: &Identity, seed: &str| {
        let key = SigningKey::from_seed(Curve::P256, seed);
        let name = Name::new("UT", seed);
        CertificateBuilder::intermediate(issuer, name, &key, SAMPLE_NOW_MS).issue(issuer, &key)
    };
    let one = intermediate(&root, "one");
    let good = signer(&one);
    let entry = trusting(&[&root]);
    let path = verify(&[&good.der, &one.der], &entry, TEST).unwrap();
    assert_eq!(path.issuer.as_deref(), Some(&one.der[..]));
    assert_eq!(path.anchor_sha256, anchor(&root).sha256());
    refused(verify(&[&good.der, &one.der], &entry, LIVE), Reason::ChainInvalid);
    refused(verify(&[&good.der], &entry, TEST), Reason::ChainInvalid);
    let two = intermediate(&one, "two");
    let below = signer(&two);
    refused(verify(&[&below.der, &two.der, &one.der], &entry, TEST), Reason::ChainInvalid);
    refused(verify(&[&good.der, &good.der], &entry, TEST), Reason::ChainInvalid);
}

#[test]
fn an_intermediate_is_a_ca() {
    let root = open_root();
    let key = SigningKey::from_seed(Curve::P256, "intermediate");
    let builder =
        CertificateBuilder::intermediate(&root, Name::new("UT", "I"), &key, SAMPLE_NOW_MS);
    let entry = trusting(&[&root]);
    for broken in [
        builder.clone().without(x509::BASIC_CONSTRAINTS),
        builder.clone().set(x509::KEY_USAGE, true, x509::key_usage(0x80)),
        builder.clone().set("1.2.3.4", true, vec![5, 0]),
        builder.clone().set("2.5.29.30", false, vec![0x30, 0]),
    ] {
        let broken = broken.issue(&root, &key);
        let good = signer(&broken);
        refused(verify(&[&good.der, &broken.der], &entry, TEST), Reason::ChainInvalid);
    }
    let expired = builder.with(|own| own.not_after_ms = SAMPLE_NOW_MS - 1000).issue(&root, &key);
    let good = signer(&expired);
    refused(verify(&[&good.der, &expired.der], &entry, TEST), Reason::CertificateExpired);
}

#[test]
fn dates_are_exact_to_the_second_without_skew() {
    let root = root();
    let entry = trusting(&[&root]);
    let builder = signer(&root).builder;
    let (from, until) = (builder.not_before_ms, builder.not_after_ms);
    let good = builder.sign(&root.key);
    let at = |now: u64| authenticate_chain(&PROVIDER, &[&good], &entry, MDL, LIVE, UnixMillis(now));
    assert!(at(from).is_ok() && at(until).is_ok() && at(until + 999).is_ok());
    let early = refused(at(from - 1), Reason::CertificateExpired);
    assert_eq!(early.check, Check::CertificateValidity);
    refused(at(until + 1000), Reason::CertificateExpired);
    let beyond_root = SAMPLE_NOW_MS + 11 * YEAR_MS;
    let builder = signer(&root).builder.with(|own| {
        own.not_before_ms = beyond_root - DAY_MS;
        own.not_after_ms = beyond_root + DAY_MS;
    });
    let good = builder.sign(&root.key);
    let now = UnixMillis(beyond_root);
    let late = authenticate_chain(&PROVIDER, &[&good], &entry, MDL, LIVE, now);
    refused(late, Reason::CertificateExpired);
}

#[test]
fn a_forged_certificate_is_not_reported_as_expired() {
    let builder = signer(&root()).builder.with(|own| own.not_after_ms = SAMPLE_NOW_MS - 1000);
    let forged = builder.sign(&SigningKey::from_seed(Curve::P256, "forger"));
    refused(verify(&[&forged], &trusting(&[&root()]), LIVE), Reason::ChainInvalid);
}

#[test]
fn the_profile_is_checked_last() {
    let root = root();
    let builder = signer(&root).builder.without(x509::CRL_DISTRIBUTION_POINTS);
    let sparse = builder.sign(&root.key);
    let error = refused(verify(&[&sparse], &trusting(&[&root]), LIVE), Reason::ChainInvalid);
    assert_eq!(error.check, Check::CertificateProfile);
    let path = verify(&[&sparse], &trusting(&[&root]), TEST).unwrap();
    assert!(path.crl_distribution_points.is_empty());
}

#[test]
fn pinned_signers_are_exempt_from_chain_and_profile_and_not_from_dates() {
    let root = root();
    let builder = signer(&root).builder.without(x509::EXT_KEY_USAGE).without(x509::KEY_USAGE);
    let odd = builder.clone().sign(&root.key);
    let mut entry = trusting(&[]);
    entry.pinned_signers = vec![PinnedSigner::from_der(&PROVIDER, &odd).unwrap()];
    let path = verify(&[&odd], &entry, LIVE).unwrap();
    assert!(path.pinned && path.issuer.is_none());
    assert_eq!(path.anchor_subject, "CN=Utopia document signer,C=UT");
    entry.roots = vec![anchor(&root)];
    let path = verify(&[&odd], &entry, LIVE).unwrap();
    assert_eq!(path.issuer.as_deref(), Some(&root.der[..]));
    let twin = builder.clone().with(|own| own.serial = vec![1]).sign(&root.key);
    refused(verify(&[&twin], &entry, LIVE), Reason::ChainInvalid);
    let late = UnixMillis(builder.not_after_ms + 1000);
    let late = authenticate_chain(&PROVIDER, &[&odd], &entry, MDL, LIVE, late);
    refused(late, Reason::CertificateExpired);
    entry.pinned_signers = vec![PinnedSigner::from_der(&PROVIDER, &odd).unwrap().for_test_only()];
    refused(verify(&[&odd], &entry, LIVE), Reason::ChainInvalid);
    assert!(verify(&[&odd], &entry, TEST).is_ok());
}

#[test]
fn chains_have_at_most_ten_certificates() {
    let (root, good) = (root(), signer(&root()));
    let entry = trusting(&[&root]);
    assert!(verify(&[&good.der[..]; 10], &entry, LIVE).is_ok());
    refused(verify(&[&good.der[..]; 11], &entry, LIVE), Reason::LimitExceeded);
    refused(verify(&[], &entry, LIVE), Reason::ChainInvalid);
}

#[test]
fn damaged_certificates_are_refused() {
    let (root, good) = (root(), signer(&root()).der);
    let entry = trusting(&[&root]);
    for len in 0..good.len() {
        refused(verify(&[&good[..len]], &entry, LIVE), Reason::ChainInvalid);
    }
    refused(verify(&[&[&good[..], &[0]].concat()], &entry, LIVE), Reason::ChainInvalid);
    for at in 0..good.len() {
        let mut changed = good.clone();
        changed[at] ^= 1;
        assert!(verify(&[&changed], &entry, LIVE).is_err(), "{at}");
        assert!(verify(&[&changed], &entry, TEST).is_err(), "{at}");
    }
}

#[test]
fn a_repeated_extension_is_refused() {
    let root = root();
    let builder = signer(&root).builder.with(|own| {
        let again = own.extensions.first().cloned();
        own.extensions.extend(again);
    });
    let error = refused(
        verify(&[&builder.sign(&root.key)], &trusting(&[&root]), LIVE),
        Reason::ChainInvalid,
    );
    assert!(error.detail.contains("duplicate"));
}

#[test]
fn status_list_signers_need_a_path_and_no_profile() {
    let root = root();
    let entry = trusting(&[&root]);
    let roots: Vec<&TrustAnchor> = entry.roots.iter().collect();
    let builder = signer(&root).builder;
    let status = builder.clone().without(x509::EXT_KEY_USAGE).sign(&root.key);
    let authenticate = |chain: &[&[u8]]| status_roots(&roots, &entry).authenticate(chain);
    assert!(authenticate(&[&status]).is_ok());
    let cannot_sign = builder.set(x509::KEY_USAGE, true, x509::key_usage(0x20)).sign(&root.key);
    refused(authenticate(&[&cannot_sign]), Reason::ChainInvalid);
    let stranger = SigningKey::from_seed(Curve::P256, "stranger");
    let forged = signer(&root).builder.sign(&stranger);
    refused(authenticate(&[&forged]), Reason::ChainInvalid);
    refused(authenticate(&[]), Reason::ChainInvalid);
}

#[test]
fn status_list_signers_are_below_at_most_one_intermediate() {
    let any_length = || x509::basic_constraints(true, None);
    let root = root().builder.set(x509::BASIC_CONSTRAINTS, true, any_length());
    let root = root.self_sign(&self::root().key);
    let ca = |above: &Identity, name: &str| {
        let key = SigningKey::from_seed(Curve::P256, name);
        let ca =
            CertificateBuilder::intermediate(above, Name::new("UT", name), &key, SAMPLE_NOW_MS);
        ca.set(x509::BASIC_CONSTRAINTS, true, any_length()).issue(above, &key)
    };
    let entry = trusting(&[&root]);
    let roots: Vec<&TrustAnchor> = entry.roots.iter().collect();
    let (first, here) = (ca(&root, "first"), status_roots(&roots, &entry));
    assert!(here.authenticate(&[&signer(&first).der, &first.der]).is_ok());
    let second = ca(&first, "second");
    let below = signer(&second).der;
    let chain: [&[u8]; 3] = [&below, &second.der, &first.der];
    refused(here.authenticate(&chain), Reason::ChainInvalid);
    assert!(here.authenticate_beside_issuer(&chain).is_ok(), "it is a path");
}
