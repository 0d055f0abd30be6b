//! What a status list comes to, and who signed it.

use super::*;

#[test]
fn what_was_not_asked_is_unknown() {
    for published in [list_at(0), signer_with(&[&[CRL_URI]])] {
        let inquiry = open(published, &entry()).unwrap();
        assert_eq!(settled(&inquiry), Err(Reason::RevocationUnknown));
    }
}

#[test]
fn the_list_answers_for_its_index() {
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
fn an_unavailable_or_useless_list_is_unknown() {
    let other = StatusJwt::new(&StatusList::new(1, 8), "https://other.example", NOW_SECS);
    let other = other.sign(&signing_key("issuer"));
    for what in [None, Some(&b"garbage"[..]), Some(b""), Some(other.as_bytes())] {
        let mut inquiry = open(list_at(0), &entry()).unwrap();
        assert!(supply(&mut inquiry, &list_need(), what).is_none());
        assert_eq!(settled(&inquiry), Err(Reason::RevocationUnknown));
    }
}

#[test]
fn the_first_answer_counts_and_what_is_not_asked_changes_nothing() {
    let revoked = StatusList::new(1, 8).with(0, 1);
    let revoked = StatusJwt::new(&revoked, URI, NOW_SECS).sign(&signing_key("issuer"));
    for (first, second, expected) in [
        (token(), revoked.clone(), CREDENTIAL),
        (revoked.clone(), token(), Err(Reason::CredentialRevoked)),
        ("garbage".into(), token(), Err(Reason::RevocationUnknown)),
    ] {
        let mut inquiry = open(list_at(0), &entry()).unwrap();
        for unasked in [crl_need(URI), Need::StatusList { uri: "https://other.example".into() }] {
            assert!(supply(&mut inquiry, &unasked, Some(first.as_bytes())).is_none());
        }
        assert_eq!(inquiry.needs().count(), 1);
        supply(&mut inquiry, &list_need(), Some(first.as_bytes()));
        assert!(supply(&mut inquiry, &list_need(), Some(second.as_bytes())).is_none());
        assert_eq!(settled(&inquiry), expected);
    }
}

/// An mdoc whose status stands at `idx` of a list that `der` signs.
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

#[test]
fn the_signer_of_a_list_is_asked_for_its_own_crl() {
    let own_crl = signer_with_crl();
    for (what, expected) in [
        (Some(signed(&crl())), CREDENTIAL),
        (Some(signed(&crl().revoke(SERIAL))), Err(Reason::RevocationUnknown)),
        (Some(b"garbage".to_vec()), Err(Reason::RevocationUnknown)),
        (None, Err(Reason::RevocationUnknown)),
    ] {
        let mut inquiry = open(mdoc_list(), &entry()).unwrap();
        assert_eq!(inquiry.needs().collect::<Vec<_>>(), [list_need()]);
        let token = certified_list(&own_crl, 7);
        supply_mdoc(&mut inquiry, &list_need(), Some(&token), &entry());
        assert_eq!(inquiry.needs().collect::<Vec<_>>(), [crl_need(CRL_URI)]);
        assert_eq!(settled(&inquiry), Err(Reason::RevocationUnknown), "it was not asked yet");
        supply_mdoc(&mut inquiry, &crl_need(CRL_URI), what.as_deref(), &entry());
        assert_eq!((inquiry.needs().count(), settled(&inquiry)), (0, expected));
    }
    // One that publishes nothing is not asked.
    let mut inquiry = open(mdoc_list(), &entry()).unwrap();
    let token = certified_list(&signer(&signing_key("signer")), 0);
    supply_mdoc(&mut inquiry, &list_need(), Some(&token), &entry());
    assert_eq!((inquiry.needs().count(), settled(&inquiry)), (0, Err(Reason::CredentialRevoked)));
}

fn signer_with_crl() -> Vec<u8> {
    signer_with_extensions(&[crl_at(CRL_URI)])
}

fn signer_with_extensions(more: &[Vec<u8>]) -> Vec<u8> {
    crate::status::fixtures::signer_with(&signing_key("signer"), more)
}

#[test]
fn a_signer_that_the_operators_crl_revokes_signs_no_list() {
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
            supply_mdoc(&mut inquiry, &list_need(), Some(&certified_list(&der, 7)), &entry);
            assert_eq!((inquiry.needs().count(), settled(&inquiry)), (0, expected));
        }
    }
}

/// Who signed both is asked once, and both stand or fall with the answer.
#[test]
fn a_list_by_the_credentials_own_signer_raises_no_question_of_its_own() {
    let own = Published { signer: signer_with(&[&[CRL_URI]]).signer, ..mdoc_list() };
    for (crl, expected) in [(crl(), BOTH), (crl().revoke(SERIAL), Err(Reason::CertificateRevoked))]
    {
        let mut inquiry = open(own.clone(), &entry()).unwrap();
        supply_mdoc(&mut inquiry, &crl_need(CRL_URI), Some(&signed(&crl)), &entry());
        let token = certified_list(&signer_with_crl(), 7);
        supply_mdoc(&mut inquiry, &list_need(), Some(&token), &entry());
        assert_eq!((inquiry.needs().count(), settled(&inquiry)), (0, expected));
    }
}

#[test]
fn a_supplied_crl_is_asked_about_intermediates_too() {
    let over_a_ca = || {
        let intermediates = signer_with(&[]).signer.into_iter().collect();
        let (serial, points, issuer) = (vec![9], vec![], None);
        let signer = SignerStatus { serial, points, issuer, intermediates };
        Published { signer: Some(signer), ..Published::default() }
    };
    let old = Crl::new(&name("Root"), KEY_IDENTIFIER, "20261119000000Z", "20261120000000Z");
    for (entry, expected) in [
        (entry(), None),
        (entry_with_crl(&crl()), None),
        (entry_with_crl(&crl().revoke(SERIAL)), Some(Reason::CertificateRevoked)),
        (entry_with_crl(&old), Some(Reason::RevocationUnknown)),
    ] {
        let inquiry = open(over_a_ca(), &entry);
        assert_eq!(inquiry.as_ref().err(), expected.as_ref());
        assert!(inquiry.is_err() || settled(&inquiry.unwrap()) == NEITHER);
    }
}
