//! One test per rule of the profile: the sample signer follows them all, and each test breaks one.

use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::time::{DAY_MS, SAMPLE_NOW_MS};
use idgate_testkit::x509::{self, CertificateBuilder, Identity, Name};

use super::*;
use crate::crypto::tests::PROVIDER;
use crate::trust::anchors::RootOrigin;

const STRICT: bool = false;
const TOLERANT: bool = true;

fn root() -> Identity {
    Identity::iaca(Curve::P256, SAMPLE_NOW_MS)
}

/// The verdict on the sample signer under `root` after `change`.
fn verdict_under(
    root: &Identity,
    tolerant: bool,
    change: impl FnOnce(CertificateBuilder) -> CertificateBuilder,
) -> Result<(), Broken> {
    let signer = root.document_signer(Curve::P256, SAMPLE_NOW_MS);
    let der = change(signer.builder).sign(&root.key);
    let anchor = TrustAnchor::from_der(&PROVIDER, &root.der, RootOrigin::RootFile).unwrap();
    let certificate = Certificate::parse(&der).unwrap();
    let ekus = [Oid::parse(x509::MDL_DOCUMENT_SIGNER).unwrap()];
    let profile = SignerProfile { ekus: &ekus, tolerant };
    check_document_signer(&certificate, anchor.key_identifier(), &anchor, profile)
}

fn verdict(
    tolerant: bool,
    change: impl FnOnce(CertificateBuilder) -> CertificateBuilder,
) -> Result<(), Broken> {
    verdict_under(&root(), tolerant, change)
}

/// Refused in both modes, for this reason.
fn refused(part: &str, change: impl Fn(CertificateBuilder) -> CertificateBuilder) {
    for tolerant in [STRICT, TOLERANT] {
        let broken = verdict(tolerant, &change).unwrap_err();
        assert!(broken.contains(part), "{broken}");
    }
}

#[test]
fn the_sample_follows_the_profile() {
    for tolerant in [STRICT, TOLERANT] {
        assert_eq!(verdict(tolerant, |signer| signer), Ok(()));
    }
}

#[test]
fn a_signer_is_of_version_3() {
    for version in [0, 1, 3] {
        let change = |signer: CertificateBuilder| signer.with(|own| own.version = version);
        refused("version 3", change);
    }
}

#[test]
fn key_usage_is_digital_signature_alone() {
    refused("digitalSignature alone", |signer| signer.without(x509::KEY_USAGE));
    for bits in [0b0100_0000, 0b1100_0000, 0b1000_0100, 0b1000_0010, 0b0000_0110] {
        refused("digitalSignature alone", |signer| {
            signer.set(x509::KEY_USAGE, true, x509::key_usage(bits))
        });
    }
}

#[test]
fn extended_key_usage_is_the_document_signers_alone() {
    refused("lacks an extended key usage", |signer| signer.without(x509::EXT_KEY_USAGE));
    for usages in [
        &[][..],
        &["1.0.18013.5.1.6"],
        &["1.3.6.1.5.5.7.3.1"],
        &["2.5.29.37.0"],
        &[x509::MDL_DOCUMENT_SIGNER, "1.3.6.1.5.5.7.3.1"],
        &[x509::MDL_DOCUMENT_SIGNER, "1.0.18013.5.1.6"],
    ] {
        refused("not a document signer's", |signer| {
            signer.set(x509::EXT_KEY_USAGE, true, x509::ext_key_usage(usages))
        });
    }
}

#[test]
fn extended_key_usage_is_critical_in_live_sessions() {
    let usages = || x509::ext_key_usage(&[x509::MDL_DOCUMENT_SIGNER]);
    let change = |signer: CertificateBuilder| signer.set(x509::EXT_KEY_USAGE, false, usages());
    assert!(verdict(STRICT, change).is_err());
    assert_eq!(verdict(TOLERANT, change), Ok(()));
}

#[test]
fn a_signer_is_not_a_ca() {
    refused("is a CA", |signer| {
        signer.set(x509::BASIC_CONSTRAINTS, true, x509::basic_constraints(true, None))
    });
    let end_entity = x509::basic_constraints(false, None);
    let change = |signer: CertificateBuilder| signer.set(x509::BASIC_CONSTRAINTS, true, end_entity);
    assert_eq!(verdict(STRICT, change), Ok(()));
}

#[test]
fn subject_key_identifier_is_sha1_of_the_key() {
    refused("lacks a subject key", |signer| signer.without(x509::SUBJECT_KEY_IDENTIFIER));
    let other = SigningKey::from_seed(Curve::P256, "other");
    refused("other than SHA-1", |signer| {
        let value = x509::subject_key_identifier(&other);
        signer.set(x509::SUBJECT_KEY_IDENTIFIER, false, value)
    });
}

#[test]
fn authority_key_identifier_is_the_issuers() {
    refused("lacks an authority key", |signer| signer.without(x509::AUTHORITY_KEY_IDENTIFIER));
    let other = SigningKey::from_seed(Curve::P256, "other");
    refused("of another key", |signer| {
        let value = x509::authority_key_identifier(&other);
        signer.set(x509::AUTHORITY_KEY_IDENTIFIER, false, value)
    });
}

#[test]
fn issuer_alt_name_is_required_in_live_sessions() {
    let change = |signer: CertificateBuilder| signer.without(x509::ISSUER_ALT_NAME);
    assert!(verdict(STRICT, change).unwrap_err().contains("lacks an issuer alternative"));
    assert_eq!(verdict(TOLERANT, change), Ok(()));
}

#[test]
fn issuer_alt_name_is_a_mail_address_or_uri() {
    let names = |tag: u8| idgate_testkit::der::sequence(&[&[tag, 1, b'a']]);
    refused("without rfc822Name or URI", |signer| {
        signer.set(x509::ISSUER_ALT_NAME, false, names(0x82))
    });
    let change = |signer: CertificateBuilder| signer.set(x509::ISSUER_ALT_NAME, false, names(0x81));
    assert_eq!(verdict(STRICT, change), Ok(()));
}

/// A nested Extension in place of a GeneralName, as in the roots of the European age app.
fn unreadable() -> Vec<u8> {
    let nested = idgate_testkit::der::sequence(&[&[0x06, 3, 0x55, 0x1d, 0x12], &[0x04, 1, 0]]);
    idgate_testkit::der::sequence(&[&nested])
}

#[test]
fn an_unreadable_issuer_alt_name_in_a_root_is_ignored_unless_critical() {
    let anchor = |oid: &str, critical: bool| {
        let root = root();
        let der = root.builder.set(oid, critical, unreadable()).sign(&root.key);
        TrustAnchor::from_der(&PROVIDER, &der, RootOrigin::RootFile)
    };
    assert!(anchor(x509::ISSUER_ALT_NAME, false).unwrap().has_unreadable_issuer_alt_name());
    assert!(anchor(x509::ISSUER_ALT_NAME, true).unwrap_err().0.contains("cannot be read"));
    for other in [x509::BASIC_CONSTRAINTS, x509::KEY_USAGE, x509::SUBJECT_ALT_NAME] {
        assert!(anchor(other, false).unwrap_err().0.contains("cannot be read"), "{other}");
    }
    let readable = TrustAnchor::from_der(&PROVIDER, &root().der, RootOrigin::RootFile).unwrap();
    assert!(!readable.has_unreadable_issuer_alt_name());
}

/// Below a root for tests. `listed` in `trusted_list::tests::judgement` tests the providers of a
/// list.
#[test]
fn an_unreadable_issuer_alt_name_in_a_signer_is_tolerated_for_test_material_only() {
    let verdict = |test_only: bool, oid: &str, critical: bool| {
        let root = root();
        let signer = root.document_signer(Curve::P256, SAMPLE_NOW_MS);
        let der = signer.builder.set(oid, critical, unreadable()).sign(&root.key);
        let mut anchor = TrustAnchor::from_der(&PROVIDER, &root.der, RootOrigin::RootFile).unwrap();
        anchor.test_only = test_only;
        let ekus = [Oid::parse(x509::MDL_DOCUMENT_SIGNER).unwrap()];
        let profile = SignerProfile { ekus: &ekus, tolerant: test_only };
        let certificate = Certificate::parse(&der).unwrap();
        check_document_signer(&certificate, anchor.key_identifier(), &anchor, profile)
    };
    let unread = Err("has an extension that cannot be read");
    assert_eq!(verdict(true, x509::ISSUER_ALT_NAME, false), Ok(()));
    assert_eq!(verdict(false, x509::ISSUER_ALT_NAME, false), unread);
    assert_eq!(verdict(true, x509::ISSUER_ALT_NAME, true), unread);
    for other in [x509::SUBJECT_ALT_NAME, x509::CRL_DISTRIBUTION_POINTS, x509::KEY_USAGE] {
        assert!(verdict(true, other, false).is_err(), "{other}");
    }
}

#[test]
fn distribution_points_are_required_in_live_sessions() {
    let change = |signer: CertificateBuilder| signer.without(x509::CRL_DISTRIBUTION_POINTS);
    assert!(verdict(STRICT, change).unwrap_err().contains("lacks CRL distribution"));
    assert_eq!(verdict(TOLERANT, change), Ok(()));
}

#[test]
fn distribution_points_are_plain_uris() {
    use idgate_testkit::der::{sequence, tlv};
    let uri = tlv(0xa0, &[&tlv(0xa0, &[&tlv(0x86, &[b"http://a/"])])]);
    let dns = tlv(0xa0, &[&tlv(0xa0, &[&tlv(0x82, &[b"a"])])]);
    let reasons = tlv(0x81, &[&[7, 0x80]]);
    let crl_issuer = tlv(0xa2, &[&tlv(0xa4, &[&Name::new("UT", "CRL").der()])]);
    for bad in [
        sequence(&[]),
        sequence(&[&sequence(&[&dns])]),
        sequence(&[&sequence(&[&uri, &reasons])]),
        sequence(&[&sequence(&[&uri, &crl_issuer])]),
        sequence(&[&sequence(&[&uri]), &sequence(&[&dns])]),
        sequence(&[&sequence(&[&crl_issuer])]),
    ] {
        refused("CRL distribution point", |signer| {
            signer.set(x509::CRL_DISTRIBUTION_POINTS, false, bad.clone())
        });
    }
    let two = x509::distribution_points(&["http://a/", "ldap://b/"]);
    let change = |signer: CertificateBuilder| signer.set(x509::CRL_DISTRIBUTION_POINTS, false, two);
    assert_eq!(verdict(STRICT, change), Ok(()));
}

#[test]
fn the_signer_is_of_the_roots_country() {
    let named = |name: Name| {
        move |signer: CertificateBuilder| signer.with(|signer| signer.subject = name.clone())
    };
    refused("different country", named(Name::new("ZZ", "signer")));
    refused("exactly one country", named(Name::default().with("2.5.4.3", 12, "signer")));
    refused("exactly one country", named(Name::new("UT", "signer").with("2.5.4.6", 0x13, "UT")));
    assert_eq!(verdict(STRICT, named(Name::new("ut", "signer"))), Ok(()));
}

#[test]
fn the_signer_is_of_the_roots_state() {
    let named = |name: Name| {
        move |signer: CertificateBuilder| signer.with(|signer| signer.subject = name.clone())
    };
    let signer = || Name::new("UT", "signer");
    refused("different state", named(signer().with_state("North")));
    let key = SigningKey::from_seed(Curve::P256, "state root");
    let name = Name::new("UT", "State IACA").with_state("North");
    let root = CertificateBuilder::iaca_root(name, &key, SAMPLE_NOW_MS).self_sign(&key);
    let verdict = |name: Name| verdict_under(&root, STRICT, named(name));
    assert_eq!(verdict(signer().with_state("north")), Ok(()));
    assert!(verdict(signer()).is_err());
    assert!(verdict(signer().with_state("South")).is_err());
    assert!(verdict(signer().with_state("North").with_state("North")).is_err());
}

#[test]
fn a_signer_is_valid_for_at_most_457_days() {
    let lasting = |days: u64, more: u64| {
        move |signer: CertificateBuilder| {
            signer.with(|own| own.not_after_ms = own.not_before_ms + days * DAY_MS + more)
        }
    };
    assert_eq!(verdict(STRICT, lasting(457, 0)), Ok(()));
    refused("457 days", lasting(457, 1000));
}

#[test]
fn extensions_that_restrict_paths_are_refused() {
    for oid in ["2.5.29.33", "2.5.29.30", "2.5.29.36", "2.5.29.54", "2.5.29.46"] {
        for critical in [false, true] {
            refused("is not supported: name constraints", |signer| {
                signer.set(oid, critical, vec![0x30, 0])
            });
        }
    }
}

#[test]
fn unknown_critical_extensions_are_refused() {
    refused("not known", |signer| signer.set("1.2.3.4", true, vec![0x05, 0]));
    let change = |signer: CertificateBuilder| signer.set("1.2.3.4", false, vec![0x05, 0]);
    assert_eq!(verdict(STRICT, change), Ok(()));
}

#[test]
fn key_identifiers_are_not_critical() {
    for oid in [x509::SUBJECT_KEY_IDENTIFIER, x509::AUTHORITY_KEY_IDENTIFIER] {
        refused("identifier that is critical", |signer| {
            let own = signer.extensions.iter().find(|extension| extension.oid == oid);
            let value = own.unwrap().value.clone();
            signer.set(oid, true, value)
        });
    }
}

#[test]
fn extensions_that_cannot_be_read_are_refused() {
    for oid in [
        x509::ISSUER_ALT_NAME,
        x509::CRL_DISTRIBUTION_POINTS,
        x509::KEY_USAGE,
        x509::AUTHORITY_KEY_IDENTIFIER,
        x509::BASIC_CONSTRAINTS,
    ] {
        refused("", |signer| signer.set(oid, false, vec![0x30, 0x05, 1]));
    }
}

#[test]
fn a_root_is_a_ca_that_signs_certificates() {
    let anchor = |change: &dyn Fn(CertificateBuilder) -> CertificateBuilder| {
        let root = root();
        TrustAnchor::from_der(
            &PROVIDER,
            &change(root.builder).sign(&root.key),
            RootOrigin::RootFile,
        )
    };
    assert!(anchor(&|root| root).is_ok());
    assert!(anchor(&|root| root.without(x509::BASIC_CONSTRAINTS)).is_err());
    assert!(anchor(&|root| root.without(x509::KEY_USAGE)).is_err());
    let no_ca = x509::basic_constraints(false, None);
    assert!(anchor(&|root| root.set(x509::BASIC_CONSTRAINTS, true, no_ca.clone())).is_err());
    for bits in [0b1000_0000, 0b0000_0010] {
        assert!(anchor(&|root| root.set(x509::KEY_USAGE, true, x509::key_usage(bits))).is_err());
    }
    assert!(anchor(&|root| root.set("1.2.3.4", true, vec![5, 0])).is_err());
    assert!(anchor(&|root| root.with(|root| root.subject = Name::default())).is_err());
    let sparse = |root: CertificateBuilder| {
        root.without(x509::ISSUER_ALT_NAME)
            .without(x509::CRL_DISTRIBUTION_POINTS)
            .without(x509::SUBJECT_KEY_IDENTIFIER)
    };
    assert!(anchor(&sparse).is_ok());
}
