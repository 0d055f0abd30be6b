//! The outcomes for the CRLs of a signer.

use super::*;

#[test]
fn the_crl_decides_by_the_signers_serial_number() {
    for (crl, expected) in [
        (crl(), SIGNER),
        (crl().revoke(&[0x11]), SIGNER),
        (crl().revoke(SERIAL), Err(Reason::CertificateRevoked)),
    ] {
        let mut inquiry = open(signer_with(&[&[CRL_URI]]), &entry()).unwrap();
        assert!(inquiry.covers_signer());
        let source = supply(&mut inquiry, &crl_need(CRL_URI), Some(&signed(&crl))).unwrap();
        assert_eq!(source.need(), crl_need(CRL_URI));
        assert_eq!(settled(&inquiry), expected);
    }
}

#[test]
fn an_unavailable_or_unusable_crl_is_unknown() {
    let expired = Crl { next_update: crl().next_update, ..crl() };
    let expired = Crl { next_update: Some(expired.this_update.clone()), ..expired };
    let forged = crl().sign(&signing_key("other"));
    let old = signed(&expired);
    for what in [None, Some(&b"garbage"[..]), Some(b""), Some(&forged), Some(&old)] {
        let mut inquiry = open(signer_with(&[&[CRL_URI]]), &entry()).unwrap();
        supply(&mut inquiry, &crl_need(CRL_URI), what);
        assert_eq!(settled(&inquiry), Err(Reason::RevocationUnknown));
    }
}

#[test]
fn every_distribution_point_is_fetched_once() {
    let points: &[&[&str]] = &[&["ldap://dir.example/", CRL_URI], &[OTHER_CRL_URI], &[CRL_URI]];
    let inquiry = open(signer_with(points), &entry()).unwrap();
    assert_eq!(inquiry.needs().collect::<Vec<_>>(), [crl_need(CRL_URI), crl_need(OTHER_CRL_URI)]);
}

#[test]
fn one_revoking_list_outweighs_all_and_one_good_list_is_enough() {
    let (good, bad) = (signed(&crl()), signed(&crl().revoke(SERIAL)));
    for (first, second, expected) in [
        (Some(&good), Some(&bad), Err(Reason::CertificateRevoked)),
        (Some(&bad), Some(&good), Err(Reason::CertificateRevoked)),
        (None, Some(&bad), Err(Reason::CertificateRevoked)),
        (None, Some(&good), SIGNER),
        (Some(&good), None, SIGNER),
        (None, None, Err(Reason::RevocationUnknown)),
    ] {
        let mut inquiry = open(signer_with(&[&[CRL_URI], &[OTHER_CRL_URI]]), &entry()).unwrap();
        supply(&mut inquiry, &crl_need(CRL_URI), first.map(Vec::as_slice));
        let early = settled(&inquiry).unwrap_err();
        assert!(matches!(early, Reason::RevocationUnknown | Reason::CertificateRevoked));
        supply(&mut inquiry, &crl_need(OTHER_CRL_URI), second.map(Vec::as_slice));
        assert_eq!(settled(&inquiry), expected);
    }
}

#[test]
fn distribution_points_that_cannot_be_fetched_are_unknown() {
    let points: [&[&[&str]]; 3] = [&[&["ldap://dir.example/"]], &[&[]], &[&[CRL_URI], &[]]];
    for points in points {
        let refused = open(signer_with(points), &entry()).unwrap_err();
        assert_eq!(refused, Reason::RevocationUnknown, "{points:?}");
    }
    let mut orphan = signer_with(&[&[CRL_URI]]);
    if let Some(signer) = &mut orphan.signer {
        signer.issuer = None;
    }
    assert_eq!(open(orphan, &entry()).unwrap_err(), Reason::RevocationUnknown);
}

#[test]
fn an_operators_crl_replaces_the_fetch() {
    let good = entry_with_crl(&crl());
    for points in [&[][..], &[&[CRL_URI][..]][..], &[&[][..]][..]] {
        let inquiry = open(signer_with(points), &good).unwrap();
        assert_eq!((inquiry.needs().count(), settled(&inquiry)), (0, SIGNER));
        let revoking = entry_with_crl(&crl().revoke(SERIAL));
        let refused = open(signer_with(points), &revoking).unwrap_err();
        assert_eq!(refused, Reason::CertificateRevoked);
    }
}

#[test]
fn an_operators_crl_out_of_date_is_unknown_and_not_replaced_by_a_fetch() {
    let mut old = crl();
    old.next_update = Some(old.this_update.clone());
    let refused = open(signer_with(&[&[CRL_URI]]), &entry_with_crl(&old)).unwrap_err();
    assert_eq!(refused, Reason::RevocationUnknown);
    // With a current one as well, that decides.
    let mut both = entry_with_crl(&old);
    both.crls.extend(entry_with_crl(&crl()).crls);
    assert_eq!(settled(&open(signer_with(&[]), &both).unwrap()), SIGNER);
}

#[test]
fn an_operators_crl_of_another_root_replaces_nothing() {
    let key = signing_key("other");
    let mut entry = entry();
    entry.roots.push(anchor(&root_with("Other", &key, [1, 0x06])));
    let der = Crl { issuer: name("Other"), ..crl() }.revoke(SERIAL).sign(&key);
    entry.crls.push(VerifiedCrl::from_der(&PROVIDER, &der, &entry.roots).unwrap());
    let inquiry = open(signer_with(&[&[CRL_URI]]), &entry).unwrap();
    assert_eq!(inquiry.needs().count(), 1);
    assert_eq!(settled(&open(signer_with(&[]), &entry).unwrap()), NEITHER);
}

const CA_SERIAL: &[u8] = &[0x77];

/// A signer with the distribution points `points` below a CA with `of_ca`.
fn below_a_ca(points: &[&[&str]], of_ca: &[&[&str]]) -> Published {
    let ca = signer_with(of_ca).signer.unwrap();
    let mut published = signer_with(points);
    if let Some(signer) = &mut published.signer {
        signer.intermediates = vec![SignerStatus { serial: CA_SERIAL.to_vec(), ..ca }];
    }
    published
}

#[test]
fn a_ca_between_signer_and_root_is_checked_like_the_signer() {
    let good = signed(&crl());
    let (of_signer, of_ca) = (signed(&crl().revoke(SERIAL)), signed(&crl().revoke(CA_SERIAL)));
    for (signer, ca, expected) in [
        (Some(&good), Some(&good), SIGNER),
        (Some(&good), Some(&of_ca), Err(Reason::CertificateRevoked)),
        (Some(&of_signer), Some(&good), Err(Reason::CertificateRevoked)),
        (None, Some(&of_ca), Err(Reason::CertificateRevoked)),
        (Some(&of_signer), None, Err(Reason::CertificateRevoked)),
        (Some(&good), None, Err(Reason::RevocationUnknown)),
        (None, Some(&good), Err(Reason::RevocationUnknown)),
    ] {
        let mut inquiry = open(below_a_ca(&[&[CRL_URI]], &[&[OTHER_CRL_URI]]), &entry()).unwrap();
        let needs: Vec<_> = inquiry.needs().collect();
        assert_eq!(needs, [crl_need(CRL_URI), crl_need(OTHER_CRL_URI)]);
        supply(&mut inquiry, &crl_need(CRL_URI), signer.map(Vec::as_slice));
        assert!(settled(&inquiry).is_err(), "the CA was not checked");
        supply(&mut inquiry, &crl_need(OTHER_CRL_URI), ca.map(Vec::as_slice));
        assert_eq!(settled(&inquiry), expected);
    }
}

#[test]
fn a_ca_with_a_crl_is_checked_even_if_the_signer_has_none() {
    for (list, expected) in [
        (signed(&crl()), SIGNER),
        (signed(&crl().revoke(CA_SERIAL)), Err(Reason::CertificateRevoked)),
    ] {
        let mut inquiry = open(below_a_ca(&[], &[&[CRL_URI]]), &entry()).unwrap();
        assert_eq!(inquiry.needs().collect::<Vec<_>>(), [crl_need(CRL_URI)]);
        supply(&mut inquiry, &crl_need(CRL_URI), Some(&list));
        assert_eq!(settled(&inquiry), expected);
    }
    // Not published: neither certificate has a distribution point.
    let neither = open(below_a_ca(&[], &[]), &entry()).unwrap();
    assert_eq!((neither.needs().count(), settled(&neither)), (0, NEITHER));
}

#[test]
fn one_list_for_signer_and_ca_is_fetched_once_for_both() {
    for (list, expected) in [
        (crl(), SIGNER),
        (crl().revoke(SERIAL), Err(Reason::CertificateRevoked)),
        (crl().revoke(CA_SERIAL), Err(Reason::CertificateRevoked)),
    ] {
        let mut inquiry = open(below_a_ca(&[&[CRL_URI]], &[&[CRL_URI]]), &entry()).unwrap();
        let source = supply(&mut inquiry, &crl_need(CRL_URI), Some(&signed(&list))).unwrap();
        assert_eq!(settled(&inquiry), expected);
        let mut later = open(below_a_ca(&[&[CRL_URI]], &[&[CRL_URI]]), &entry()).unwrap();
        assert!(later.reuse(&source, &context(&entry())));
        assert_eq!(settled(&later), expected);
    }
}
