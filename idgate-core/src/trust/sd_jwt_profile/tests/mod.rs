//! Extended key usages of a certificate, compared with those that the entry requires.

use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::time::SAMPLE_NOW_MS;
use idgate_testkit::x509::{self, Identity};

use super::*;

const OWN: &str = "1.2.3.4";
const OTHER: &str = "1.2.3.5";
const ANY_USE: &str = "2.5.29.37.0";
const SERVER_AUTH: &str = "1.3.6.1.5.5.7.3.1";

/// The verdict on a certificate with this value of extKeyUsage, or without the extension.
fn verdict_on(value: Option<Vec<u8>>, demanded: &[&str]) -> Result<(), Broken> {
    let root = Identity::issuer_root(Curve::P256, SAMPLE_NOW_MS);
    let key = SigningKey::from_seed(Curve::P256, "issuer");
    let signer = root.issuer_of_sd_jwts(&key, SAMPLE_NOW_MS).builder;
    let signer = match value {
        Some(value) => signer.set(x509::EXT_KEY_USAGE, true, value),
        None => signer,
    };
    let der = signer.sign(&root.key);
    let ekus: Vec<Oid> = demanded.iter().map(|oid| Oid::parse(oid).unwrap()).collect();
    check_sd_jwt_usage(&Certificate::parse(&der).unwrap(), &ekus)
}

fn verdict(usages: &[&str], demanded: &[&str]) -> Result<(), Broken> {
    verdict_on(Some(x509::ext_key_usage(usages)), demanded)
}

#[test]
fn a_certificate_for_only_other_purposes_is_refused() {
    let others = [
        SERVER_AUTH,
        "1.3.6.1.5.5.7.3.2",
        "1.3.6.1.5.5.7.3.3",
        "1.3.6.1.5.5.7.3.4",
        "1.3.6.1.5.5.7.3.8",
        "1.3.6.1.5.5.7.3.9",
        "1.0.18013.5.1.6",
    ];
    for other in others {
        assert_eq!(verdict(&[other], &[]), Err(FOR_OTHER_THINGS), "{other}");
    }
    assert_eq!(verdict(&others, &[]), Err(FOR_OTHER_THINGS));
    assert_eq!(verdict(&[], &[]), Err(FOR_OTHER_THINGS), "for nothing");
}

#[test]
fn any_other_certificate_is_accepted_if_the_entry_requires_nothing() {
    for usages in [
        &[OWN][..],
        &[ANY_USE],
        &[SERVER_AUTH, OWN],
        &[SERVER_AUTH, ANY_USE],
        &["1.0.18013.5.1.2"],
        &["1.3.6.1.5.5.7.3.30"],
        // Together with refused ones.
        &["1.3.6.1.5.5.7.3.5"],
        &["1.3.6.1.5.5.7.3"],
        &["1.3.6.1.5.5.7.3.1.1"],
    ] {
        assert_eq!(verdict(usages, &[]), Ok(()), "{usages:?}");
    }
    assert_eq!(verdict_on(None, &[]), Ok(()));
}

#[test]
fn a_certificate_needs_one_of_the_usages_that_the_entry_requires() {
    assert_eq!(verdict(&[OWN], &[OWN]), Ok(()));
    assert_eq!(verdict(&[OTHER, OWN], &["1.2.3.6", OWN]), Ok(()));
    assert_eq!(verdict(&[ANY_USE, OWN], &[OWN]), Ok(()), "it names exactly that usage");
    assert_eq!(verdict(&[SERVER_AUTH], &[SERVER_AUTH]), Ok(()), "the operator says so");
    for usages in [&[OTHER][..], &["1.2.3"], &["1.2.3.4.1"], &[SERVER_AUTH], &[]] {
        assert_eq!(verdict(usages, &[OWN]), Err(NOT_DEMANDED), "{usages:?}");
    }
}

#[test]
fn a_certificate_for_any_use_needs_any_among_the_required_usages() {
    for demanded in [&[OWN][..], &[OWN, OTHER]] {
        assert_eq!(verdict_on(None, demanded), Err(NOT_DEMANDED));
        assert_eq!(verdict(&[ANY_USE], demanded), Err(NOT_DEMANDED));
        assert_eq!(verdict(&[ANY_USE, SERVER_AUTH], demanded), Err(NOT_DEMANDED));
    }
    for demanded in [&[ANY_USE][..], &[OWN, ANY_USE]] {
        assert_eq!(verdict_on(None, demanded), Ok(()));
        assert_eq!(verdict(&[ANY_USE], demanded), Ok(()));
        assert_eq!(verdict(&[OTHER], demanded), Err(NOT_DEMANDED));
    }
}

#[test]
fn an_extended_key_usage_that_cannot_be_read_is_refused() {
    for value in [vec![], vec![0x30, 0x03, 0x06, 0x05, 0x2a], vec![0x30, 0x02, 0x05, 0x00]] {
        for demanded in [&[][..], &[OWN], &[ANY_USE]] {
            let broken = verdict_on(Some(value.clone()), demanded).unwrap_err();
            assert!(broken.contains("cannot be read"), "{value:?}: {broken}");
        }
    }
}
