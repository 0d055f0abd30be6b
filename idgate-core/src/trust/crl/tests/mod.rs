//! One test per refusal of a CRL, named after the rule.

use idgate_testkit::der::tlv;
use idgate_testkit::keys::SigningKey;
use idgate_testkit::status::{Crl, CrlEntry, extension, generalized_time};

use super::*;
use crate::crypto::aws_lc_rs::PROVIDER;
use crate::revocation::fixtures::{
    CRL_URI, KEY_IDENTIFIER, NOW, entry, name, root, root_with, signing_key,
};

const DELTA: &[u8] = b"\x55\x1d\x1b";
const SCOPE: &[u8] = b"\x55\x1d\x1c";
const REASON: &[u8] = b"\x55\x1d\x15";
const CERTIFICATE_ISSUER: &[u8] = b"\x55\x1d\x1d";
const UNKNOWN: &[u8] = b"\x2a\x03\x04";

fn crl() -> Crl {
    Crl::new(&name("Root"), KEY_IDENTIFIER, "20261121000000Z", "20261122000000Z")
}

fn verify_under(crl: &Crl, key: &SigningKey, root: &[u8]) -> Result<VerifiedCrl, CrlError> {
    VerifiedCrl::verify(&PROVIDER, &crl.sign(key), &Certificate::parse(root).unwrap())
}

fn verify(crl: &Crl) -> Result<VerifiedCrl, CrlError> {
    verify_under(crl, &signing_key("root"), &root())
}

fn check(crl: &Crl, serial: &[u8]) -> Result<(), Reason> {
    check_at(crl, serial, NOW)
}

fn check_at(crl: &Crl, serial: &[u8], now: UnixMillis) -> Result<(), Reason> {
    let points = [vec!["http://other.example/".into()], vec![String::from(CRL_URI)]];
    verify(crl).unwrap().check(serial, &points, now).map_err(|error| error.reason)
}

#[track_caller]
fn refused(crl: &Crl, why: &str) {
    let error = verify(crl).unwrap_err();
    assert!(error.0.contains(why), "{error}");
}

fn reason(code: u8) -> Vec<u8> {
    extension(REASON, false, &tlv(0x0a, &[&[code]]))
}

#[test]
fn a_listed_certificate_is_revoked_and_no_other() {
    let crl = crl().revoke(&[5]).revoke(&[0, 0x80, 1]).revoke(&[9; 20]).revoke(&[5]);
    assert_eq!(verify(&crl).unwrap().revoked_count(), 3);
    for serial in [&[5][..], &[0x80, 1], &[0, 0x80, 1], &[0, 5], &[9; 20]] {
        assert_eq!(check(&crl, serial), Err(Reason::CertificateRevoked), "{serial:?}");
    }
    for serial in [&[4][..], &[6], &[5, 5], &[0x80], &[9; 19], &[9; 21], &[]] {
        assert_eq!(check(&crl, serial), Ok(()), "{serial:?}");
    }
    assert_eq!(check(&super::tests::crl(), &[5]), Ok(()));
}

#[test]
fn the_revoked_are_found_among_many() {
    let mut crl = crl();
    for serial in (0..20_000u32).rev() {
        crl = crl.revoke(&[&[1][..], &(serial * 2).to_be_bytes()].concat());
    }
    let crl = verify(&crl).unwrap();
    for serial in [0u32, 2, 19_998, 39_998] {
        let listed = [&[1][..], &serial.to_be_bytes()].concat();
        let absent = [&[1][..], &(serial + 1).to_be_bytes()].concat();
        assert!(crl.check(&listed, &[], NOW).is_err() && crl.check(&absent, &[], NOW).is_ok());
    }
}

#[test]
fn the_issuer_is_the_root_by_name() {
    refused(&Crl { issuer: name("Other"), ..crl() }, "another issuer");
    // RFC 5280 7.1: case and white space do not distinguish names.
    assert!(verify(&Crl { issuer: name("ROOT "), ..crl() }).is_ok());
}

#[test]
fn the_root_signed_it() {
    let error = verify_under(&crl(), &signing_key("other"), &root()).unwrap_err();
    assert!(error.0.contains("not signed"), "{error}");
    let root = root_with("Root", &signing_key("other"), [1, 0x06]);
    assert!(verify_under(&crl(), &signing_key("root"), &root).is_err());
    let mut der = crl().revoke(&[5]).sign(&signing_key("root"));
    let at = der.windows(3).position(|window| window == [0x02, 1, 5]).unwrap();
    der[at + 2] = 6;
    assert!(
        VerifiedCrl::verify(&PROVIDER, &der, &Certificate::parse(&super::tests::root()).unwrap())
            .is_err()
    );
}

#[test]
fn the_root_may_sign_crls() {
    let key = signing_key("root");
    let error = verify_under(&crl(), &key, &root_with("Root", &key, [2, 0x04])).unwrap_err();
    assert!(error.0.contains("may not sign CRLs"), "{error}");
}

#[test]
fn the_key_identifier_is_the_roots() {
    let other = Crl::new(&name("Root"), &[8; 20], "20261121000000Z", "20261122000000Z");
    refused(&other, "key identifier of another");
    let mut without = crl();
    without.extensions.remove(0);
    refused(&without, "no authority key identifier");
}

#[test]
fn it_is_of_version_2() {
    refused(&Crl { version: None, ..crl() }, "version 2");
    refused(&Crl { version: Some(0), ..crl() }, "version 2");
    refused(&Crl { version: Some(2), ..crl() }, "version 2");
    refused(&Crl { extensions: Vec::new(), ..crl() }, "no extensions");
}

/// Many small CAs issue such lists; callers can check for it.
#[test]
fn a_list_without_crl_number_is_accepted_and_reported() {
    let mut unnumbered = crl().revoke(&[5]);
    unnumbered.extensions.pop();
    assert!(!verify(&unnumbered).unwrap().is_numbered());
    assert!(verify(&crl()).unwrap().is_numbered());
    assert_eq!(check(&unnumbered, &[5]), Err(Reason::CertificateRevoked));
    // An unreadable number does not count as absent.
    let unreadable = crl().extensions.len() - 1;
    let mut bad = crl();
    bad.extensions[unreadable] = extension(b"\x55\x1d\x14", false, &tlv(0x05, &[]));
    refused(&bad, "not a CRL");
}

#[test]
fn its_number_and_key_identifier_are_not_critical() {
    const CRL_NUMBER: &[u8] = b"\x55\x1d\x14";
    const AUTHORITY_KEY_IDENTIFIER: &[u8] = b"\x55\x1d\x23";
    let identifier = tlv(0x30, &[&tlv(0x80, &[KEY_IDENTIFIER])]);
    for (at, oid, value) in
        [(0, AUTHORITY_KEY_IDENTIFIER, identifier), (1, CRL_NUMBER, tlv(0x02, &[&[1]]))]
    {
        for critical in [false, true] {
            let mut changed = crl();
            changed.extensions[at] = extension(oid, critical, &value);
            assert_eq!(verify(&changed).is_err(), critical, "{oid:x?}");
        }
    }
}

#[test]
fn next_update_is_required() {
    refused(&Crl { next_update: None, ..crl() }, "nextUpdate");
    refused(&Crl { next_update: None, ..crl().revoke(&[5]) }, "nextUpdate");
}

#[test]
fn now_is_between_this_and_next_update() {
    let at = |text| UnixMillis::parse_rfc3339(text).unwrap();
    for (now, expected) in [
        ("2026-11-20T23:59:59.999Z", Err(Reason::RevocationUnknown)),
        ("2026-11-21T00:00:00Z", Ok(())),
        ("2026-11-22T00:00:00.999Z", Ok(())),
        ("2026-11-22T00:00:01Z", Err(Reason::RevocationUnknown)),
    ] {
        assert_eq!(check_at(&crl(), &[5], at(now)), expected, "{now}");
    }
    // An expired list decides nothing, not even about certificates that it lists.
    let late = at("2026-11-23T00:00:00Z");
    assert_eq!(check_at(&crl().revoke(&[5]), &[5], late), Err(Reason::RevocationUnknown));
}

#[test]
fn unknown_critical_extensions_are_refused() {
    let with = |critical| crl().extension(extension(UNKNOWN, critical, &tlv(0x05, &[])));
    refused(&with(true), "critical extension");
    assert!(verify(&with(false)).is_ok());
    let entry = |critical| {
        let extensions = vec![extension(UNKNOWN, critical, &tlv(0x05, &[]))];
        crl().entry(CrlEntry { serial: vec![5], extensions })
    };
    refused(&entry(true), "critical extension");
    assert_eq!(check(&entry(false), &[5]), Err(Reason::CertificateRevoked));
}

#[test]
fn an_extension_occurs_once() {
    let number = crl().extensions[1].clone();
    refused(&crl().extension(number), "duplicate");
    let extensions = vec![reason(1), reason(8)];
    refused(&crl().entry(CrlEntry { serial: vec![5], extensions }), "duplicate");
}

#[test]
fn indirect_delta_and_partial_lists_are_refused() {
    let scope = |fields: &[u8]| crl().extension(extension(SCOPE, true, &tlv(0x30, &[fields])));
    refused(&crl().extension(extension(DELTA, true, &tlv(0x02, &[&[1]]))), "delta");
    refused(&scope(&tlv(0x84, &[&[0xff]])), "indirect");
    for tag in [0x82, 0x85] {
        refused(&scope(&tlv(tag, &[&[0xff]])), "partial");
        assert!(verify(&scope(&tlv(tag, &[&[0]]))).is_ok());
    }
    refused(&scope(&tlv(0x83, &[&[1, 0x40]])), "partial");
    assert!(verify(&scope(&tlv(0x81, &[&[0xff]]))).is_ok());
    // certificateIssuer assigns an entry to another issuer.
    let extensions = vec![extension(CERTIFICATE_ISSUER, true, &tlv(0x30, &[]))];
    refused(&crl().entry(CrlEntry { serial: vec![5], extensions }), "critical");
}

#[test]
fn a_list_for_other_distribution_points_decides_nothing() {
    let scope = |uri: &str| {
        let point = tlv(0xa0, &[&tlv(0xa0, &[&tlv(0x86, &[uri.as_bytes()])])]);
        crl().extension(extension(SCOPE, true, &tlv(0x30, &[&point]))).revoke(&[5])
    };
    // The second of the certificate's points.
    assert_eq!(check(&scope(CRL_URI), &[5]), Err(Reason::CertificateRevoked));
    assert_eq!(check(&scope(CRL_URI), &[6]), Ok(()));
    assert_eq!(check(&scope("http://crl.example/b"), &[6]), Err(Reason::RevocationUnknown));
}

/// RFC 5280 5.3.1: 8 is removeFromCRL, which is only for delta CRLs.
#[test]
fn no_reason_code_removes_a_certificate_from_a_complete_list() {
    let entry = |code| CrlEntry { serial: vec![5], extensions: vec![reason(code)] };
    for code in 0..11 {
        let listed = check(&crl().entry(entry(code)), &[5]);
        assert_eq!(listed, Err(Reason::CertificateRevoked), "{code}");
        let twice = crl().revoke(&[5]).entry(entry(code));
        assert_eq!(check(&twice, &[5]), Err(Reason::CertificateRevoked), "{code}");
    }
}

#[test]
fn a_list_or_an_entry_has_at_most_32_extensions() {
    let unknown = |at: u8| extension(&[0x2a, 3, at], false, b"\x05\0");
    let list = |count: u8| (2..count).fold(crl(), |crl, at| crl.extension(unknown(at)));
    assert!(verify(&list(32)).is_ok());
    refused(&list(33), "more than 32 extensions");
    let entry = |count| CrlEntry { serial: vec![5], extensions: (0..count).map(unknown).collect() };
    assert!(verify(&crl().entry(entry(32))).is_ok());
    refused(&crl().entry(entry(33)), "more than 32 extensions");
}

#[test]
fn a_list_has_at_most_32_distribution_points() {
    let scope = |count| {
        let uris = tlv(0x86, &[CRL_URI.as_bytes()]).repeat(count);
        let point = tlv(0xa0, &[&tlv(0xa0, &[&uris])]);
        crl().extension(extension(SCOPE, true, &tlv(0x30, &[&point])))
    };
    assert!(verify(&scope(32)).is_ok());
    refused(&scope(33), "more than 32 URIs");
}

/// An unauthenticated list costs no more than its hash: invalid entries go unnoticed.
#[test]
fn the_entries_of_an_unauthenticated_list_are_not_read() {
    let damaged = crl().entry(CrlEntry { serial: Vec::new(), extensions: Vec::new() });
    refused(&damaged, "is not a CRL in DER");
    let error = verify_under(&damaged, &signing_key("other"), &root()).unwrap_err();
    assert!(error.0.contains("not signed"), "{error}");
}

#[test]
fn sha_1_and_a_second_algorithm_are_refused() {
    let der = crl().sign(&signing_key("root"));
    let oid = b"\x2a\x86\x48\xce\x3d\x04\x03\x02";
    let places: Vec<_> = (0..der.len()).filter(|at| der[*at..].starts_with(oid)).collect();
    assert_eq!(places.len(), 2);
    let root = root();
    let root = Certificate::parse(&root).unwrap();
    for (changed, why) in [(&places[..1], "two different"), (&places[..], "not signed")] {
        let mut der = der.clone();
        changed.iter().for_each(|at| der[at + 7] = 1);
        let error = VerifiedCrl::verify(&PROVIDER, &der, &root).unwrap_err();
        assert!(error.0.contains(why), "{error}");
    }
}

#[test]
fn an_unreadable_list_of_revoked_certificates_is_not_an_empty_list() {
    let mut bad = crl().revoke(&[5]);
    bad.entries[0].serial = Vec::new();
    refused(&bad, "not a CRL");
    let mut bad = crl().revoke(&[5]);
    bad.this_update = generalized_time("20261321000000Z");
    refused(&bad, "not a CRL");
}

#[test]
fn a_malformed_list_is_refused_and_never_panics() {
    let root = root();
    let root = Certificate::parse(&root).unwrap();
    let whole = crl().revoke(&[5]).entry(CrlEntry { serial: vec![6], extensions: vec![reason(1)] });
    let whole = whole.sign(&signing_key("root"));
    assert!(VerifiedCrl::verify(&PROVIDER, &whole, &root).is_ok());
    for len in 0..whole.len() {
        assert!(VerifiedCrl::verify(&PROVIDER, &whole[..len], &root).is_err(), "{len}");
    }
    // The crypto provider decides about the bits of the signature itself.
    for at in 0..whole.len() {
        for bit in 0..8 {
            let mut changed = whole.clone();
            changed[at] ^= 1 << bit;
            let verdict = VerifiedCrl::verify(&PROVIDER, &changed, &root);
            assert!(verdict.is_err(), "byte {at}, bit {bit}");
        }
    }
    assert!(VerifiedCrl::verify(&PROVIDER, &[&whole[..], b"\0"].concat(), &root).is_err());
    assert!(VerifiedCrl::verify(&PROVIDER, &vec![0x30; 11 << 20], &root).is_err());
}

#[test]
fn an_operators_list_needs_one_of_the_roots() {
    let der = crl().sign(&signing_key("root"));
    assert!(VerifiedCrl::from_der(&PROVIDER, &der, &entry().roots).is_ok());
    let error = VerifiedCrl::from_der(&PROVIDER, &der, &[]).unwrap_err();
    assert!(error.0.contains("add its root first"), "{error}");
    let forged = crl().sign(&signing_key("other"));
    let error = VerifiedCrl::from_der(&PROVIDER, &forged, &entry().roots).unwrap_err();
    assert!(error.0.contains("not signed"), "{error}");
}
