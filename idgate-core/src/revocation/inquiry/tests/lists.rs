//! The outcomes for a status list, and its signer.

use super::*;

#[test]
fn a_source_that_was_not_fetched_is_unknown() {
    for published in [list_at(0), signer_with(&[&[CRL_URI]])] {
        let inquiry = open(published, &entry()).unwrap();
        assert_eq!(settled(&inquiry), Err(Reason::RevocationUnknown));
    }
}

#[test]
fn the_list_decides_by_index() {
    for (idx, expected) in [
        (0, CREDENTIAL),
        (1, Err(Reason::CredentialRevoked)),
        (2, Err(Reason::CredentialSuspended)),
        (16, Err(Reason::RevocationUnknown)),
    ] {
        let mut inquiry = open(list_at(idx), &entry()).unwrap();
        assert_eq!(inquiry.needs().collect::<Vec<_>>(), [list_need()]);
        let source = supply(&mut inquiry, &list_need(), Some(token().as_bytes())).unwrap();
        assert_eq!((source.need(), inquiry.needs().count()), (list_need(), 0));
        assert_eq!(source.weight(), 2);
        assert_eq!(settled(&inquiry), expected, "{idx}");
    }
}

#[test]
fn an_unavailable_or_unusable_list_is_unknown() {
    let other = StatusJwt::new(&StatusList::new(1, 8), "https://other.example", NOW_SECS);
    let other = other.sign(&signing_key("issuer"));
    for what in [None, Some(&b"garbage"[..]), Some(b""), Some(other.as_bytes())] {
        let mut inquiry = open(list_at(0), &entry()).unwrap();
        assert!(supply(&mut inquiry, &list_need(), what).is_none());
        assert_eq!(settled(&inquiry), Err(Reason::RevocationUnknown));
    }
}

#[test]
fn only_the_first_answer_to_a_need_counts() {
    let revoked = StatusList::new(1, 8).with(0, 1);
    let revoked = StatusJwt::new(&revoked, URI, NOW_SECS).sign(&signing_key("issuer"));
    for (first, second, expected) in [
        (token(), revoked.clone(), CREDENTIAL),
        (revoked.clone(), token(), Err(Reason::CredentialRevoked)),
        ("garbage".into(), token(), Err(Reason::RevocationUnknown)),
    ] {
        let mut inquiry = open(list_at(0), &entry()).unwrap();
        let elsewhere = Need::StatusList {
            uri: "https://other.example".into(),
            format: CredentialFormat::SdJwtVc,
        };
        for unasked in [crl_need(URI), elsewhere, mdoc_list_need()] {
            assert!(supply(&mut inquiry, &unasked, Some(first.as_bytes())).is_none());
        }
        assert_eq!(inquiry.needs().count(), 1);
        supply(&mut inquiry, &list_need(), Some(first.as_bytes()));
        assert!(supply(&mut inquiry, &list_need(), Some(second.as_bytes())).is_none());
        assert_eq!(settled(&inquiry), expected);
    }
}

fn mdoc_list_need() -> Need {
    Need::StatusList { uri: URI.into(), format: CredentialFormat::Mdoc }
}

/// Their lists have other forms and other signers.
#[test]
fn credentials_of_two_formats_that_name_one_list_need_it_twice() {
    let inquiries = [list_at(0), mdoc_list(), list_at(1)];
    let inquiries = inquiries.map(|published| open(published, &entry()).unwrap());
    assert_eq!(needs_of(&inquiries), [list_need(), mdoc_list_need()]);
    let [mut sd_jwt, mut mdoc, _] = inquiries;
    let token = token();
    assert!(supply(&mut mdoc, &list_need(), Some(token.as_bytes())).is_none());
    assert!(supply(&mut sd_jwt, &mdoc_list_need(), Some(token.as_bytes())).is_none());
    assert_eq!((sd_jwt.needs().count(), mdoc.needs().count()), (1, 1));
}

/// An mdoc whose status is at `idx` of a list that `der` signs.
fn certified_list(der: &[u8], idx: usize) -> Vec<u8> {
    let list = StatusList::new(1, 8).with(idx, 1);
    StatusCwt::new(&list, URI, NOW_SECS, &[der]).sign(&signing_key("signer"))
}

fn mdoc_list() -> Published {
    Published { voucher: Some(voucher()), ..list_at(0) }
}

fn supply_mdoc(inquiry: &mut Inquiry, need: &Need, what: Option<&[u8]>, entry: &TrustEntry) {
    let context = context(entry);
    inquiry.supply(need, what.map_or(Supplied::Unavailable, Supplied::Bytes), &context);
}

/// An mdoc below the fixture's root.
fn with_identifier(identifier: &[u8]) -> Published {
    let reference = StatusListReference::of_identifier(identifier, URI).unwrap();
    Published {
        status: PublishedStatus::List(reference),
        voucher: Some(voucher()),
        ..Published::default()
    }
}

fn identifiers_need() -> Need {
    Need::IdentifierList { uri: URI.into() }
}

fn identifiers(listed: &[&[u8]], der: &[u8]) -> Vec<u8> {
    StatusCwt::identifiers(listed, URI, NOW_SECS, &[der]).sign(&signing_key("signer"))
}

#[test]
fn the_identifier_list_decides_by_identifier() {
    let list = identifiers(&[b"a", b"b"], &signer(&signing_key("signer")));
    let entry = entry();
    let here = context(&entry);
    for (identifier, expected) in [(&b"c"[..], CREDENTIAL), (b"a", Err(Reason::CredentialRevoked))]
    {
        let mut inquiry = open(with_identifier(identifier), &entry).unwrap();
        assert_eq!(inquiry.needs().collect::<Vec<_>>(), [identifiers_need()]);
        assert_eq!(identifiers_need().accept(), "application/identifierlist+cwt");
        let source = supply(&mut inquiry, &identifiers_need(), Some(&list)).unwrap();
        assert_eq!((source.need(), inquiry.needs().count()), (identifiers_need(), 0));
        assert_eq!(settled(&inquiry), expected, "{identifier:?}");
        let mut later = open(with_identifier(b"b"), &entry).unwrap();
        assert!(later.reuse(&source, &here));
        assert_eq!(settled(&later), Err(Reason::CredentialRevoked));
        assert!(!open(mdoc_list(), &entry).unwrap().reuse(&source, &here), "of the other kind");
    }
}

#[test]
fn an_identifier_list_that_cannot_be_fetched_is_unknown() {
    let statuses = certified_list(&signer(&signing_key("signer")), 0);
    for what in [None, Some(&b"garbage"[..]), Some(b""), Some(statuses.as_slice())] {
        let mut inquiry = open(with_identifier(b"a"), &entry()).unwrap();
        let other = Need::StatusList { uri: URI.into(), format: CredentialFormat::Mdoc };
        assert!(supply(&mut inquiry, &other, Some(&statuses)).is_none());
        assert!(supply(&mut inquiry, &identifiers_need(), what).is_none());
        assert_eq!(settled(&inquiry), Err(Reason::RevocationUnknown));
    }
}

#[test]
fn an_entrys_policy_applies_to_identifier_lists() {
    assert!(open(with_identifier(b"a"), &with_policy(RevocationPolicy::Required)).is_ok());
    let off = open(with_identifier(b"a"), &with_policy(RevocationPolicy::Off)).unwrap();
    assert_eq!((off.needs().count(), settled(&off)), (0, Ok(RevocationDetails::off(false))));
}

#[test]
fn the_signer_of_an_identifier_list_is_checked_by_its_own_crl() {
    for (crl, expected) in
        [(crl(), CREDENTIAL), (crl().revoke(SERIAL), Err(Reason::RevocationUnknown))]
    {
        let entry = entry();
        let mut inquiry = open(with_identifier(b"a"), &entry).unwrap();
        let list = identifiers(&[b"b"], &signer_with_crl());
        supply_mdoc(&mut inquiry, &identifiers_need(), Some(&list), &entry);
        assert_eq!(inquiry.needs().collect::<Vec<_>>(), [crl_need(CRL_URI)]);
        assert_eq!(settled(&inquiry), Err(Reason::RevocationUnknown), "not yet");
        supply_mdoc(&mut inquiry, &crl_need(CRL_URI), Some(&signed(&crl)), &entry);
        assert_eq!(settled(&inquiry), expected);
    }
}

#[test]
fn the_signer_of_a_list_is_checked_by_its_own_crl() {
    let own_crl = signer_with_crl();
    for (what, expected) in [
        (Some(signed(&crl())), CREDENTIAL),
        (Some(signed(&crl().revoke(SERIAL))), Err(Reason::RevocationUnknown)),
        (Some(b"garbage".to_vec()), Err(Reason::RevocationUnknown)),
        (None, Err(Reason::RevocationUnknown)),
    ] {
        let mut inquiry = open(mdoc_list(), &entry()).unwrap();
        assert_eq!(inquiry.needs().collect::<Vec<_>>(), [mdoc_list_need()]);
        let token = certified_list(&own_crl, 7);
        supply_mdoc(&mut inquiry, &mdoc_list_need(), Some(&token), &entry());
        assert_eq!(inquiry.needs().collect::<Vec<_>>(), [crl_need(CRL_URI)]);
        assert_eq!(settled(&inquiry), Err(Reason::RevocationUnknown), "it was not fetched yet");
        supply_mdoc(&mut inquiry, &crl_need(CRL_URI), what.as_deref(), &entry());
        assert_eq!((inquiry.needs().count(), settled(&inquiry)), (0, expected));
    }
    // A signer without distribution points is not checked.
    let mut inquiry = open(mdoc_list(), &entry()).unwrap();
    let token = certified_list(&signer(&signing_key("signer")), 0);
    supply_mdoc(&mut inquiry, &mdoc_list_need(), Some(&token), &entry());
    assert_eq!((inquiry.needs().count(), settled(&inquiry)), (0, Err(Reason::CredentialRevoked)));
}

fn signer_with_crl() -> Vec<u8> {
    signer_with_extensions(&[crl_at(CRL_URI)])
}

fn signer_with_extensions(more: &[Vec<u8>]) -> Vec<u8> {
    crate::revocation::fixtures::signer_with(&signing_key("signer"), more)
}

#[test]
fn a_signer_revoked_by_the_operators_crl_may_not_sign_lists() {
    let over = || Crl { next_update: Some(crl().this_update), ..crl() };
    for (crl, expected) in [
        (crl(), CREDENTIAL),
        (crl().revoke(&[0x33]), CREDENTIAL),
        (crl().revoke(SERIAL), Err(Reason::RevocationUnknown)),
        (over(), Err(Reason::RevocationUnknown)),
        (over().revoke(SERIAL), Err(Reason::RevocationUnknown)),
    ] {
        let entry = entry_with_crl(&crl);
        for der in [signer(&signing_key("signer")), signer_with_crl()] {
            let mut inquiry = open(mdoc_list(), &entry).unwrap();
            supply_mdoc(&mut inquiry, &mdoc_list_need(), Some(&certified_list(&der, 7)), &entry);
            assert_eq!((inquiry.needs().count(), settled(&inquiry)), (0, expected));
        }
    }
}

/// The signer of both is checked once, and the result counts for both.
#[test]
fn a_list_by_the_credentials_own_signer_raises_no_question_of_its_own() {
    let own = Published { signer: signer_with(&[&[CRL_URI]]).signer, ..mdoc_list() };
    for (crl, expected) in [(crl(), BOTH), (crl().revoke(SERIAL), Err(Reason::CertificateRevoked))]
    {
        let mut inquiry = open(own.clone(), &entry()).unwrap();
        supply_mdoc(&mut inquiry, &crl_need(CRL_URI), Some(&signed(&crl)), &entry());
        let token = certified_list(&signer_with_crl(), 7);
        supply_mdoc(&mut inquiry, &mdoc_list_need(), Some(&token), &entry());
        assert_eq!((inquiry.needs().count(), settled(&inquiry)), (0, expected));
    }
}

#[test]
fn a_supplied_crl_is_used_for_intermediates_too() {
    let over_a_ca = || {
        let intermediates = signer_with(&[]).signer.into_iter().collect();
        let (serial, points, issuer) = (vec![9], vec![], None);
        let signer = SignerStatus { serial, points, issuer, intermediates };
        Published { signer: Some(signer), ..Published::default() }
    };
    let old = Crl::new(&name("Root"), KEY_IDENTIFIER, "20261119000000Z", "20261120000000Z");
    for (entry, expected) in [
        (entry(), NEITHER),
        // A certificate of the path was checked.
        (entry_with_crl(&crl()), SIGNER),
        (entry_with_crl(&crl().revoke(SERIAL)), Err(Reason::CertificateRevoked)),
        (entry_with_crl(&old), Err(Reason::RevocationUnknown)),
    ] {
        let found = open(over_a_ca(), &entry).and_then(|inquiry| settled(&inquiry));
        assert_eq!(found, expected);
    }
}
