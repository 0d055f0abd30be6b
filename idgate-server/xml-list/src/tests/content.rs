//! Content of lists: the accepted providers and services.

use idgate_core::shell::{
    ListAnchors, ListRules, ListTerms, TrustEntry, TrustedList, TrustedListErrorKind,
};
use idgate_core::{IssuerId, trust::ListType};
use idgate_testkit::xml_list::{PID, QEAA};

use super::*;

fn national() -> XmlList {
    XmlList::new(XmlKind::National, NOW.0)
}

fn import_as(list: &XmlList, wanted: Option<ListType>) -> Result<TrustedList, TrustedListError> {
    let anchors = ListAnchors::from_file(&PROVIDER, &signer().der).unwrap();
    let mut rules = ListRules::new(&anchors);
    rules.list_type = wanted;
    import_trusted_list(&PROVIDER, list.sign(&signer()).as_bytes(), &rules, NOW)
}

fn skipped(list: &TrustedList) -> Vec<Option<&'static str>> {
    let services = list.providers.iter().flat_map(|one| &one.services);
    services.map(|service| service.skipped).collect()
}

#[test]
fn a_national_list_gives_qualified_providers_unless_pid_is_requested() {
    let der = issuer().der;
    let services = [service(QEAA, GRANTED, &[&der]), service(PID, GRANTED, &[&der])];
    let list = national().with(provider("P", "VATUT-1", "XX", &services));
    for (wanted, found) in [
        (None, ListType::Qeaa),
        (Some(ListType::Qeaa), ListType::Qeaa),
        (Some(ListType::Pid), ListType::Pid),
    ] {
        let read = import_as(&list, wanted).unwrap();
        assert_eq!(read.list_type, found);
        assert_eq!(read.providers[0].services.len(), 1);
        assert_eq!(read.other_services, 1);
        assert_eq!(read.providers[0].provider.country.as_deref(), Some("UT"), "the list's country");
    }
    for wanted in [ListType::Av, ListType::Mdl, ListType::PubEaa] {
        let refused = import_as(&list, Some(wanted)).unwrap_err();
        assert!(refused.to_string().contains("is of the type qeaa"), "{refused}");
    }
    let refused = import_as(&age_list(), Some(ListType::Pid)).unwrap_err();
    assert!(refused.to_string().contains("is of the type av, and pid is asked for"), "{refused}");
}

#[test]
fn services_of_other_types_are_counted_and_their_providers_omitted() {
    let services: Vec<String> = ["CA/QC", "TSA/QTST", "EAA", "EAA/Pub-EAA"]
        .iter()
        .map(|kind| {
            service(
                &format!("http://uri.etsi.org/TrstSvc/Svctype/{kind}"),
                GRANTED,
                &[&issuer().der],
            )
        })
        .collect();
    let many: Vec<String> = std::iter::repeat_n(services.clone(), 20).flatten().collect();
    let list = national()
        .with(provider("A", "VATUT-1", "UT", &many))
        .with(provider("B", "VATUT-2", "UT", &services));
    let read = import_as(&list, None).unwrap();
    assert!(read.providers.is_empty());
    assert_eq!(read.other_services, 84);
}

#[test]
fn a_list_without_providers_is_accepted() {
    let read = import(&XmlList::new(XmlKind::Age, NOW.0).sign(&signer())).unwrap();
    assert!(read.providers.is_empty());
    let mut entry = TrustEntry::new(IssuerId::new("eu-av"));
    entry.take_list(&read, &ListTerms::default());
    assert!(entry.roots.is_empty() && entry.pinned_signers.is_empty());
}

#[test]
fn only_services_in_force_are_accepted() {
    let der = issuer().der;
    for (status, why) in [
        ("granted", None),
        ("recognisedatnationallevel", None),
        ("withdrawn", Some("is withdrawn, or has a status that is not known")),
        ("deprecatedatnationallevel", Some("is withdrawn, or has a status that is not known")),
        ("Granted", Some("is withdrawn, or has a status that is not known")),
        ("granted/", Some("is withdrawn, or has a status that is not known")),
        ("", Some("is withdrawn, or has a status that is not known")),
    ] {
        let list =
            national().with(provider("P", "VATUT-1", "UT", &[service(QEAA, status, &[&der])]));
        assert_eq!(skipped(&import_as(&list, None).unwrap()), [why], "{status}");
    }
}

#[test]
fn the_history_of_a_service_is_ignored() {
    let der = issuer().der;
    let withdrawn = service(QEAA, "withdrawn", &[]);
    let former = service(QEAA, GRANTED, &[&der]).replace("TSPService", "ServiceHistoryInstance");
    let with = withdrawn.replace(
        "</TSPService>",
        &format!("<ServiceHistory>{former}</ServiceHistory></TSPService>"),
    );
    let read = import_as(&national().with(provider("P", "VATUT-1", "UT", &[with])), None).unwrap();
    assert_eq!(read.providers[0].services.len(), 1);
    assert!(read.providers[0].services[0].certificates.is_empty());
}

#[test]
fn a_key_that_is_withdrawn_in_one_service_is_withdrawn_in_all_of_the_provider() {
    let der = issuer().der;
    let services = [service(QEAA, GRANTED, &[&der]), service(QEAA, "withdrawn", &[&der])];
    let read =
        import_as(&national().with(provider("P", "VATUT-1", "UT", &services)), None).unwrap();
    assert_eq!(skipped(&read)[0], Some("has the key of a service that is withdrawn"));
    assert!(read.providers[0].services[0].roots().is_empty());
}

#[test]
fn a_later_status_counts_from_its_start() {
    let der = issuer().der;
    let at = |time: &str| {
        let service = service(QEAA, GRANTED, &[&der]).replace("2026-01-01T00:00:00Z", time);
        import_as(&national().with(provider("P", "VATUT-1", "UT", &[service])), None).unwrap()
    };
    let later = at("2026-12-01T00:00:00Z");
    assert_eq!(later.providers[0].services[0].from.to_string(), "2026-12-01T00:00:00.000Z");
    assert_eq!(
        skipped(&at("soon")),
        [Some("has a StatusStartingTime that is not a date and time")]
    );
}

#[test]
fn a_critical_extension_of_a_service_or_its_provider_skips_it() {
    let der = issuer().der;
    let critical = |value: &str| format!("<Extension Critical=\"{value}\"></Extension>");
    let of_service = |value: &str| {
        let extensions = format!(
            "<ServiceInformationExtensions>{}</ServiceInformationExtensions></ServiceInformation>",
            critical(value)
        );
        let service = service(QEAA, GRANTED, &[&der]).replace("</ServiceInformation>", &extensions);
        provider("P", "VATUT-1", "UT", &[service])
    };
    let of_provider = provider("P", "VATUT-1", "UT", &[service(QEAA, GRANTED, &[&der])]).replace(
        "</TSPInformation>",
        &format!(
            "<TSPInformationExtensions>{}</TSPInformationExtensions></TSPInformation>",
            critical("true")
        ),
    );
    let why = Some("has a critical extension that is not known");
    for (provider, expected) in [
        (of_service("true"), why),
        (of_service("1"), why),
        (of_service("false"), None),
        (of_provider, why),
    ] {
        assert_eq!(skipped(&import_as(&national().with(provider), None).unwrap()), [expected]);
    }
}

#[test]
fn a_critical_extension_of_the_scheme_refuses_the_list() {
    let mut list = age_list();
    list.scheme =
        "<SchemeExtensions><Extension Critical=\"true\"></Extension></SchemeExtensions>".into();
    assert_refused(&list.sign(&signer()), "a critical scheme extension that is not known");
}

#[test]
fn names_are_not_keys_and_garbled_certificates_are_reported() {
    let der = issuer().der;
    let nameless = service(QEAA, GRANTED, &[]).replace(
        "<ServiceDigitalIdentity>",
        "<ServiceDigitalIdentity><DigitalId><X509SubjectName>CN=P</X509SubjectName></DigitalId>\
         <DigitalId><X509SKI>AAAA</X509SKI></DigitalId>",
    );
    let garbled = service(QEAA, GRANTED, &[b"no certificate"]);
    let services = [nameless, garbled, service(QEAA, GRANTED, &[&der])];
    let read =
        import_as(&national().with(provider("P", "VATUT-1", "UT", &services)), None).unwrap();
    assert_eq!(skipped(&read), [Some("names no certificate, and a name is not a key"), None, None]);
    assert!(read.providers[0].services[1].certificates[0].skipped_because().is_some());
    assert_eq!(read.providers[0].services[2].roots().len(), 1);
}

#[test]
fn a_list_without_its_version_number_type_or_dates_is_refused() {
    let signed = |from: &str, to: &str| {
        let (signer, at) = (signer(), signed_at());
        let text = age_list().text();
        assert!(text.contains(from), "{from}");
        XmlSigner::of(&signer, &at).sign(&text.replacen(from, to, 1))
    };
    for (from, to, why) in [
        ("<TSLVersionIdentifier>6<", "<TSLVersionIdentifier>7<", "is not of version 5 or 6"),
        (
            "<TSLSequenceNumber>7<",
            "<TSLSequenceNumber>seven<",
            "no TSLSequenceNumber that is a number",
        ),
        (
            "<TSLSequenceNumber>7<",
            "<TSLSequenceNumber>-7<",
            "no TSLSequenceNumber that is a number",
        ),
        (
            "<TSLSequenceNumber>7<",
            "<TSLSequenceNumber>0<",
            "a number that is not from 1 to 2^53 - 1",
        ),
        (
            "<TSLSequenceNumber>7<",
            "<TSLSequenceNumber>9007199254740992<",
            "a number that is not from 1",
        ),
        ("TSLType/AVTL", "TSLType/CClist", "is of a type that is not known here"),
        ("<ListIssueDateTime>2026", "<ListIssueDateTime>", "no ListIssueDateTime"),
        ("<dateTime>2027", "<dateTime>", "no NextUpdate"),
        (
            "<NextUpdate>",
            "<NextUpdate><Other></Other></NextUpdate><NextUpdate>",
            "is closed (no next update)",
        ),
    ] {
        let file = signed(from, to);
        assert_refused(&file, why);
    }
}

#[test]
fn the_list_of_lists_has_no_providers() {
    let list = XmlList::new(XmlKind::OfLists, NOW.0).sign(&signer());
    assert_refused(&list, "is the list of lists");
}

#[test]
fn dates_follow_the_rules_of_every_list() {
    let due = |ms: u64| age_list().due(ms).sign(&signer());
    assert_refused(&due(NOW.0 - 1000), "was due to be replaced on");
    assert_refused(&due(NOW.0 + 300 * 24 * 3_600_000), "10 months; 6 are allowed");
    let ahead = XmlList::new(XmlKind::Age, NOW.0 + 3 * 24 * 3_600_000);
    let (signer, at) = (signer(), signed_at());
    assert_refused(&XmlSigner::of(&signer, &at).sign(&ahead.text()), "is dated in the future");
}

#[test]
fn an_older_list_or_another_with_the_same_number_is_a_rollback() {
    let taken = import(&age_list().sign(&signer())).unwrap();
    let mark = taken.mark(None, NOW);
    let check = |list: &XmlList| {
        let anchors = ListAnchors::from_file(&PROVIDER, &signer().der).unwrap();
        let mut rules = ListRules::new(&anchors);
        rules.mark = Some(&mark);
        import_trusted_list(&PROVIDER, list.sign(&signer()).as_bytes(), &rules, NOW)
    };
    assert!(check(&age_list()).is_ok());
    assert!(check(&age_list().numbered(8)).is_ok());
    let empty = XmlList { providers: Vec::new(), ..age_list() };
    for (list, why) in
        [(age_list().numbered(6), "an older list"), (empty, "again with other content")]
    {
        let refused = check(&list).unwrap_err();
        assert_eq!(refused.kind, TrustedListErrorKind::Rollback);
        assert!(refused.to_string().contains(why), "{refused}");
    }
}

/// A new signature over the same list does not change the list.
#[test]
fn the_same_list_signed_again_is_the_same_list() {
    let (signer, at) = (signer(), signed_at());
    let text = age_list().text();
    let first = import(&XmlSigner::of(&signer, &at).sign(&text)).unwrap();
    let later = import(&XmlSigner::of(&signer, "2026-11-21T12:00:00Z").sign(&text)).unwrap();
    assert_eq!(first.payload_sha256, later.payload_sha256);
}

#[test]
fn pointers_of_a_list_to_itself_announce_signers_and_others_do_not() {
    let pointer = |kind: &str, territory: &str, der: &[u8]| {
        let text = idgate_testkit::codec::base64_standard(der);
        format!(
            "<OtherTSLPointer><ServiceDigitalIdentities><ServiceDigitalIdentity><DigitalId><X509Certificate>{text}\
             </X509Certificate></DigitalId></ServiceDigitalIdentity></ServiceDigitalIdentities>\
             <AdditionalInformation><OtherInformation><TSLType>{kind}</TSLType></OtherInformation>\
             <OtherInformation><SchemeTerritory>{territory}</SchemeTerritory></OtherInformation>\
             </AdditionalInformation></OtherTSLPointer>"
        )
    };
    let own = "http://uri.etsi.org/TrstSvc/TrustedList/TSLType/EUgeneric";
    let above = "http://uri.etsi.org/TrstSvc/TrustedList/TSLType/EUlistofthelists";
    let mut list = national();
    list.scheme = format!(
        "<PointersToOtherTSL>{}{}{}</PointersToOtherTSL>",
        pointer(own, "UT", b"next"),
        pointer(above, "EU", b"above"),
        pointer(own, "XX", b"other")
    );
    let read = import_as(&list, None).unwrap();
    assert_eq!(read.announced_signers.len(), 1);
}

#[test]
fn a_list_with_more_than_256_pointers_is_refused() {
    let of = |count: usize| {
        let pointers = "<OtherTSLPointer></OtherTSLPointer>".repeat(count);
        let scheme = format!("<PointersToOtherTSL>{pointers}</PointersToOtherTSL>");
        let mut list = national();
        list.scheme = scheme;
        list
    };
    assert!(import_as(&of(256), None).is_ok());
    let refused = import_as(&of(257), None).unwrap_err().to_string();
    assert!(refused.contains("has more than 256 pointers to other lists"), "{refused}");
}

#[test]
fn a_list_of_another_territory_than_required_is_refused() {
    let mut list = national();
    list.territory = "EL".into();
    let file = list.sign(&signer());
    let anchors = ListAnchors::from_file(&PROVIDER, &signer().der).unwrap();
    let of = |territory| {
        let mut rules = ListRules::new(&anchors);
        rules.territory = Some(territory);
        import_trusted_list(&PROVIDER, file.as_bytes(), &rules, NOW)
    };
    for same in ["EL", "GR", "el"] {
        assert_eq!(of(same).unwrap().territory, "EL");
    }
    for (wanted, why) in [
        ("UT", "is of the territory EL, and UT is asked for"),
        ("", "is of the territory EL, and none is asked for"),
    ] {
        let refused = of(wanted).unwrap_err();
        assert!(refused.to_string().contains(why), "{refused}");
        assert_eq!(refused.kind, TrustedListErrorKind::Unusable);
    }
}

#[test]
fn providers_with_one_identifier_and_two_names_stay_separate() {
    let (der, other) = (issuer().der, Identity::issuer_root(Curve::P256, NOW.0).der);
    let one = provider("One", "VATUT-1", "UT", &[service(QEAA, GRANTED, &[&der])]);
    let two = provider("Two", "VATUT-1", "UT", &[service(QEAA, GRANTED, &[&other])]);
    let withdrawn = provider("Two", "VATUT-1", "UT", &[service(QEAA, "withdrawn", &[&der])]);
    let list = national().with(one).with(two).with(withdrawn);
    let read = import_as(&list, None).unwrap();
    let names: Vec<&str> = read.providers.iter().map(|one| &*one.provider.name).collect();
    assert_eq!(names, ["One", "Two"], "a repeated entry is the same provider");
    // A key that is withdrawn for Two is withdrawn for One, who may be the same.
    let key = "has the key of a service that is withdrawn";
    let status = "is withdrawn, or has a status that is not known";
    assert_eq!(skipped(&read), [Some(key), None, Some(status)]);
    assert!(read.providers[0].services[0].roots().is_empty());
}
