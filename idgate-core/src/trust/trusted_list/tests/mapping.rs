//! The outcome for each entry of a list.

use idgate_testkit::der::UTF8_STRING;
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::trusted_list::{provider, with_status};
use idgate_testkit::x509::{
    BASIC_CONSTRAINTS, CertificateBuilder, EXT_KEY_USAGE, KEY_USAGE, Name, basic_constraints,
    ext_key_usage, key_usage,
};
use serde_json::{Value as Json, json};

use super::*;

/// The OID of organizationName.
const ORGANIZATION: &str = "2.5.4.10";

fn key(seed: &str) -> SigningKey {
    SigningKey::from_seed(Curve::P256, seed)
}

fn root(seed: &str) -> Identity {
    let name = Name::new("LU", seed);
    CertificateBuilder::issuer_root(name, &key(seed), NOW.0).self_sign(&key(seed))
}

/// An end-entity certificate that a list names directly.
fn leaf(seed: &str) -> CertificateBuilder {
    CertificateBuilder::new(Name::new("LU", seed), Name::new("LU", seed), &key(seed), NOW.0, 700)
        .set(BASIC_CONSTRAINTS, true, basic_constraints(false, None))
        .set(KEY_USAGE, true, key_usage(0b1000_0000))
}

fn of(services: &[Json]) -> TrustedList {
    import_made(&made(Kind::Pid).with(provider("P", "NTRLU-1", "LU", services))).unwrap()
}

fn of_public(services: &[Json]) -> TrustedList {
    import_made(&made(Kind::PubEaa).with(provider("P", "NTRLU-1", "LU", services))).unwrap()
}

fn nothing(entry: &TrustEntry) -> bool {
    let roots = entry.roots.len() + entry.sd_jwt_roots.len() + entry.status_roots.len();
    let signers = entry.pinned_signers.len() + entry.sd_jwt_signers.len();
    roots + signers + entry.status_signers.len() == 0
}

fn public_entry(list: &TrustedList) -> TrustEntry {
    let mut entry = TrustEntry::new(IssuerId::new("eu"));
    entry.vct = vec!["urn:diploma:1".into()];
    entry.take_list(list, &ListTerms::default());
    entry
}

#[test]
fn the_types_of_the_entry_decide_which_formats_a_root_serves() {
    let list = of(&[Kind::Pid.issuance(&[&root("a").der])]);
    for (vct, doc_type, sd_jwt, mdoc) in
        [(true, false, 1, 0), (false, true, 0, 1), (true, true, 1, 1), (false, false, 1, 1)]
    {
        let mut entry = TrustEntry::new(IssuerId::new("eu"));
        entry.vct.extend(vct.then(|| "urn:eudi:pid:lu:1".into()));
        entry.doc_types.extend(doc_type.then(|| DocType::new("eu.europa.ec.eudi.pid.lu.1")));
        entry.take_list(&list, &ListTerms::default());
        assert_eq!((entry.sd_jwt_roots.len(), entry.roots.len()), (sd_jwt, mdoc));
        assert!(entry.roots.iter().all(|root| !root.doc_types.is_empty()), "never any type");
    }
}

#[test]
fn an_entry_with_a_list_accepts_only_types_that_it_names() {
    let mut entry = TrustEntry::new(IssuerId::new("eu"));
    assert!(entry.accepts_vct("urn:any") && entry.accepts_doc_type("any"));
    let list = import_made(&made(Kind::Mdl).with(provider(
        "P",
        "NTRLU-1",
        "LU",
        &[Kind::Mdl.issuance(&[&root("a").der])],
    )));
    entry.take_list(&list.unwrap(), &ListTerms::default());
    assert!(entry.accepts_doc_type("org.iso.18013.5.1.mDL"));
    assert!(!entry.accepts_vct("urn:any") && !entry.accepts_doc_type("any"));
    entry.vct.push("urn:one".into());
    assert!(entry.accepts_vct("urn:one") && !entry.accepts_vct("urn:any"));

    let list = of(&[Kind::Pid.issuance(&[&root("a").der])]);
    let mut entry = TrustEntry::new(IssuerId::new("eu"));
    entry.vct.push("urn:one".into());
    entry.take_list(&list, &ListTerms::default());
    assert!(!entry.accepts_doc_type("any"));
    entry.forget_lists();
    assert!(entry.accepts_doc_type("any"), "only the operator's own material is left");
}

#[test]
fn a_list_of_public_bodies_imports_nothing_until_the_entry_names_types() {
    let list = of_public(&[Kind::PubEaa.issuance(&[&root("a").der])]);
    let entry = fed(&list, &ListTerms::default());
    assert!(entry.roots.is_empty() && entry.sd_jwt_roots.is_empty());
    assert_eq!(public_entry(&list).sd_jwt_roots.len(), 1);
}

/// Their issuers are in separate lists.
#[test]
fn a_list_of_qualified_providers_imports_nothing_for_identities_and_proofs_of_age() {
    let mut list = of_public(&[Kind::PubEaa.issuance(&[&root("ca").der])]);
    list.list_type = ListType::Qeaa;
    for own in ["eu.europa.ec.eudi.pid.1", "eu.europa.ec.av.1"] {
        let mut entry = TrustEntry::new(IssuerId::new("qeaa"));
        entry.doc_types = vec![DocType::new(own)];
        entry.take_list(&list, &ListTerms::default());
        assert!(nothing(&entry), "{own}");
        entry.doc_types.push(DocType::new("org.example.diploma.1"));
        entry.forget_lists();
        entry.take_list(&list, &ListTerms::default());
        let named: Vec<_> = entry.roots.iter().map(|root| root.doc_types.clone()).collect();
        assert_eq!(named, [[DocType::new("org.example.diploma.1")]], "{own}");
    }
    let mut entry = TrustEntry::new(IssuerId::new("qeaa"));
    entry.vct = vec!["urn:example:diploma:1".into(), "urn:eudi:pid:de:1".into()];
    entry.take_list(&list, &ListTerms::default());
    assert!(nothing(&entry));
}

#[test]
fn an_mdl_list_is_never_trusted_for_sd_jwts_or_other_documents() {
    let list = made(Kind::Mdl).with(provider(
        "P",
        "NTRLU-1",
        "LU",
        &[Kind::Mdl.issuance(&[&root("a").der]), Kind::Mdl.revocation(&[&root("b").der])],
    ));
    let list = import_made(&list).unwrap();
    let mut entry = TrustEntry::new(IssuerId::new("eu"));
    entry.vct.push("urn:mdl:1".into());
    entry.doc_types =
        vec![DocType::new("eu.europa.ec.eudi.pid.1"), DocType::new("org.iso.18013.5.1.mDL")];
    entry.take_list(&list, &ListTerms::default());
    assert!(entry.sd_jwt_roots.is_empty());
    assert!(!entry.roots[0].serves("eu.europa.ec.eudi.pid.1"));
    assert!(!entry.status_roots[0].serves(""), "no status of SD-JWT VCs");
}

#[test]
fn a_certificate_that_is_not_a_ca_is_a_signer() {
    let signer = leaf("signer").self_sign(&key("signer"));
    let status = leaf("status").self_sign(&key("status"));
    let list = of(&[Kind::Pid.issuance(&[&signer.der]), Kind::Pid.revocation(&[&status.der])]);
    let entry = fed(&list, &ListTerms::default());
    assert!(entry.roots.is_empty() && entry.sd_jwt_roots.is_empty());
    assert_eq!(entry.pinned_signers[0].der(), signer.der);
    assert_eq!(entry.sd_jwt_signers[0].der(), signer.der);
    assert!(entry.sd_jwt_signers[0].is_listed());
    assert!(!entry.pinned_signers[0].serves("org.iso.18013.5.1.mDL"));
    assert_eq!(entry.status_signers[0].der(), status.der);
}

#[test]
fn a_certificate_for_tls_or_not_for_signing_is_skipped() {
    let usage = |usages: &[&str]| leaf("tls").set(EXT_KEY_USAGE, false, ext_key_usage(usages));
    for (builder, why) in [
        (usage(&["1.3.6.1.5.5.7.3.1"]), "is a certificate for TLS"),
        (usage(&["1.0.18013.5.1.2", "1.3.6.1.5.5.7.3.2"]), "is a certificate for TLS"),
        (
            leaf("tls").set(KEY_USAGE, true, key_usage(0b0010_0000)),
            "has a key usage without digitalSignature",
        ),
    ] {
        let list = of(&[Kind::Pid.issuance(&[&builder.self_sign(&key("tls")).der])]);
        assert!(nothing(&fed(&list, &ListTerms::default())));
        let listed = &list.providers[0].services[0].certificates[0];
        assert_eq!(listed.outcome, crate::trust::master_list::ListOutcome::Unusable(why.into()));
    }
}

#[test]
fn services_without_a_certificate_are_skipped() {
    let identities = [
        json!({ "X509SubjectNames": ["CN=a"] }),
        json!({ "X509SKIs": ["AAAA"] }),
        json!({ "PublicKeyValues": [{ "kty": "EC" }] }),
        json!({ "OtherIds": [{}] }),
        json!({ "X509Certificates": [] }),
        json!(null),
    ];
    for identity in identities {
        let mut service = Kind::Pid.issuance(&[]);
        service["ServiceInformation"]["ServiceDigitalIdentity"] = identity;
        let list = of(&[service]);
        assert!(nothing(&fed(&list, &ListTerms::default())));
        let why = "names no certificate, and a name is not a key";
        assert_eq!(list.providers[0].services[0].skipped, Some(why));
    }
}

#[test]
fn unreadable_certificates_are_skipped_and_reported() {
    for text in ["", "AAAA", "-_8=", "not base64"] {
        let mut service = Kind::Pid.issuance(&[&root("a").der]);
        let certificates = "/ServiceInformation/ServiceDigitalIdentity/X509Certificates";
        let certificates = service.pointer_mut(certificates).unwrap().as_array_mut().unwrap();
        certificates.push(json!({ "val": text }));
        let list = of(&[service]);
        assert_eq!(list.providers[0].services[0].certificates.len(), 2);
        assert_eq!(fed(&list, &ListTerms::default()).roots.len(), 1);
    }
}

#[test]
fn a_certificate_over_16_kib_is_skipped_and_reported() {
    let of_size = |filling: usize| {
        let filling = idgate_testkit::der::tlv(4, &[&vec![0; filling]]);
        let builder = CertificateBuilder::issuer_root(Name::new("LU", "large"), &key("l"), NOW.0);
        builder.set("1.2.3.4", false, filling).self_sign(&key("l")).der
    };
    for (filling, roots) in [(15_000, 1), (16_384, 0)] {
        let list = of(&[Kind::Pid.issuance(&[&of_size(filling)])]);
        assert_eq!(list.providers[0].services[0].certificates.len(), 1, "{filling}");
        assert_eq!(fed(&list, &ListTerms::default()).roots.len(), roots, "{filling}");
    }
}

#[test]
fn services_of_other_types_are_skipped() {
    for kind in [Kind::Mdl.issuance(&[&root("a").der]), Kind::PubEaa.issuance(&[&root("a").der])] {
        assert!(nothing(&fed(&of(&[kind]), &ListTerms::default())));
    }
    let mut wallet = Kind::Pid.issuance(&[&root("a").der]);
    wallet["ServiceInformation"]["ServiceTypeIdentifier"] =
        json!("http://uri.etsi.org/19602/SvcType/WalletSolution/Issuance");
    let list = of(&[wallet]);
    assert_eq!(list.providers[0].services[0].role, None);
    assert!(nothing(&fed(&list, &ListTerms::default())));
}

#[test]
fn every_service_of_a_provider_with_a_critical_extension_is_skipped() {
    let services = [Kind::Pid.issuance(&[&root("a").der]), Kind::Pid.revocation(&[&root("b").der])];
    for (critical, taken) in [(true, 0), (false, 1)] {
        let mut entity = provider("P", "NTRLU-1", "LU", &services);
        let extensions = json!([{ "Critical": critical }]);
        entity["TrustedEntityInformation"]["TEInformationExtensions"] = extensions;
        let entry =
            fed(&import_made(&made(Kind::Pid).with(entity)).unwrap(), &ListTerms::default());
        assert_eq!((entry.roots.len(), entry.status_roots.len()), (taken, taken), "{critical}");
    }
}

#[test]
fn a_service_with_a_critical_extension_is_skipped() {
    let mut service = Kind::Pid.issuance(&[&root("a").der]);
    service["ServiceInformation"]["ServiceInformationExtensions"] = json!([{ "Critical": true }]);
    let good = Kind::Pid.issuance(&[&root("b").der]);
    assert_eq!(fed(&of(&[service, good]), &ListTerms::default()).roots.len(), 1);
}

#[test]
fn withdrawn_and_historical_services_import_nothing() {
    let notified = Kind::PubEaa.issuance(&[&root("a").der]);
    let mut withdrawn = with_status(notified.clone(), "withdrawn");
    withdrawn["ServiceHistory"] = json!([notified["ServiceInformation"].clone()]);
    for service in [
        withdrawn.clone(),
        with_status(notified.clone(), "suspended"),
        with_status(notified.clone(), "notified "),
    ] {
        assert!(nothing(&public_entry(&of_public(&[service]))));
    }
    let mut absent = notified.clone();
    absent["ServiceInformation"].as_object_mut().unwrap().remove("ServiceStatus");
    assert!(nothing(&public_entry(&of_public(&[absent]))));
    assert_eq!(public_entry(&of_public(&[notified])).sd_jwt_roots.len(), 1);
}

#[test]
fn a_key_that_is_withdrawn_in_one_service_is_withdrawn_in_all_of_the_provider() {
    let notified = Kind::PubEaa.issuance(&[&root("a").der]);
    // The same key in another certificate.
    let renewed = CertificateBuilder::issuer_root(Name::new("LU", "new"), &key("a"), NOW.0);
    let renewed = Kind::PubEaa.issuance(&[&renewed.self_sign(&key("a")).der]);
    for service in [notified.clone(), renewed] {
        let withdrawn = with_status(service, "withdrawn");
        for services in [[notified.clone(), withdrawn.clone()], [withdrawn, notified.clone()]] {
            assert!(nothing(&public_entry(&of_public(&services))));
            let twice = services.iter().fold(made(Kind::PubEaa), |list, service| {
                list.with(provider("P", "NTRLU-1", "LU", std::slice::from_ref(service)))
            });
            let list = import_made(&twice).unwrap();
            assert_eq!(list.providers.len(), 1, "an entity that occurs twice is merged");
            assert!(nothing(&public_entry(&list)));
        }
    }
}

#[test]
fn a_status_that_begins_later_counts_only_from_then_on() {
    let mut service = Kind::PubEaa.issuance(&[&root("a").der]);
    service["ServiceInformation"]["StatusStartingTime"] = json!("2026-12-01T00:00:00Z");
    let entry = public_entry(&of_public(&[service.clone()]));
    let begins = UnixMillis::parse_rfc3339("2026-12-01T00:00:00Z").unwrap();
    assert!(!entry.sd_jwt_roots[0].is_in_force(NOW));
    assert!(!entry.sd_jwt_roots[0].is_in_force(begins.minus(1)));
    assert!(entry.sd_jwt_roots[0].is_in_force(begins));
    service["ServiceInformation"]["StatusStartingTime"] = json!("some day");
    assert!(nothing(&public_entry(&of_public(&[service]))));
}

#[test]
fn providers_and_countries_restrict_a_list() {
    let service = |seed: &str| [Kind::Pid.issuance(&[&root(seed).der])];
    let list = made(Kind::Pid)
        .with(provider("Greece", "NTREL-1", "EL", &service("el")))
        .with(provider("Kingdom", "NTRUK-1", "UK", &service("uk")))
        .with(provider("Lux", "NTRLU-1", "LU", &service("lu")));
    let list = import_made(&list).unwrap();
    for (country, identifier) in [
        ("GR", "NTREL-1"),
        ("EL", "NTREL-1"),
        ("el", "NTREL-1"),
        ("UK", "NTRUK-1"),
        ("GB", "NTRUK-1"),
    ] {
        let mut entry = TrustEntry::new(IssuerId::new("eu"));
        entry.countries.push(country.into());
        entry.take_list(&list, &ListTerms::default());
        let root = &entry.roots[..];
        assert_eq!(root[0].providers().next().unwrap().identifier(), Some(identifier));
        assert_eq!((root.len(), entry.roots_for(true).count()), (1, 1));
    }
    let terms = ListTerms { providers: vec!["NTRLU-1".into()], ..ListTerms::default() };
    assert_eq!(fed(&list, &terms).roots.len(), 1);
    let nobody = ListTerms { providers: vec!["NTRLU".into()], ..ListTerms::default() };
    assert!(nothing(&fed(&list, &nobody)));
}

#[test]
fn harmless_deviations_are_reported() {
    let mut list = made(Kind::Pid)
        .with(provider("P", "NTRLU-1", "LU", &[Kind::Pid.issuance(&[&root("a").der])]))
        .scheme("SchemeTypeCommunityRules", json!([]))
        .scheme("SchemeTerritory", json!("LU"))
        .scheme("StatusDeterminationApproach", json!("mistyped"))
        .scheme("Unknown", json!(1));
    list.payload["LoTE"]["Other"] = json!(1);
    list.payload["LoTE"]["TrustedEntitiesList"][0]["More"] = json!(1);
    let read = import_made(&list).unwrap();
    assert_eq!((read.warnings.len(), read.ignored_members), (3, 3));
    assert_eq!(fed(&read, &ListTerms::default()).roots.len(), 1);
}

#[test]
fn a_certificate_of_another_organization_is_reported_and_imported() {
    let of = |organization: &str| {
        let name = Name::new("LU", organization).with(ORGANIZATION, UTF8_STRING, organization);
        let key = key(organization);
        CertificateBuilder::issuer_root(name, &key, NOW.0).self_sign(&key)
    };
    // Upper case and white space make no difference.
    let (own, other) = (of(" the  PROVIDER"), of("Somebody else"));
    let services = [Kind::Pid.issuance(&[&own.der, &other.der]), Kind::Pid.issuance(&[&other.der])];
    let list = made(Kind::Pid).with(provider("The provider", "NTRLU-1", "LU", &services));
    let list = import_made(&list).unwrap();
    let [warning] = &list.warnings[..] else { panic!("{:?}", list.warnings) };
    assert!(warning.contains("has 2 certificates"), "{warning}");
    assert!(warning.contains("O=Somebody else under The provider"), "{warning}");
    assert_eq!(fed(&list, &ListTerms::default()).roots.len(), 2);
}

#[test]
fn the_signers_that_a_pointer_announces_are_reported() {
    let next = root("next");
    let pointer = json!([{ "LoTELocation": "https://a.example", "LoTEQualifiers": [],
        "ServiceDigitalIdentities": [Kind::Pid.issuance(&[&next.der])["ServiceInformation"]
            ["ServiceDigitalIdentity"].clone()] }]);
    let list = import_made(&made(Kind::Pid).scheme("PointersToOtherLoTE", pointer)).unwrap();
    assert_eq!(list.announced_signers, [PROVIDER.sha256(&next.der)]);
    assert!(nothing(&fed(&list, &ListTerms::default())));
}

#[test]
fn imported_certificates_are_removed_before_the_next_issue() {
    let mut entry = fed(&of(&[Kind::Pid.issuance(&[&root("a").der])]), &ListTerms::default());
    entry.roots.push(
        TrustAnchor::from_der(
            &PROVIDER,
            &root("own").der,
            crate::trust::anchors::RootOrigin::RootFile,
        )
        .unwrap(),
    );
    entry.forget_lists();
    assert_eq!((entry.roots.len(), entry.sd_jwt_roots.len()), (1, 0));
    entry.take_list(&of(&[Kind::Pid.issuance(&[&root("b").der])]), &ListTerms::default());
    assert_eq!((entry.roots.len(), entry.sd_jwt_roots.len()), (2, 1));
}

#[test]
fn material_for_tests_is_for_test_sessions_only() {
    let list = of(&[Kind::Pid.issuance(&[&root("a").der])]);
    let terms = ListTerms { test_only: true, ..ListTerms::default() };
    let entry = fed(&list, &terms);
    assert_eq!((entry.roots_for(true).count(), entry.roots_for(false).count()), (0, 1));
}
