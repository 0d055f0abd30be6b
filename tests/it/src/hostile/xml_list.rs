//! Trusted lists in XML.

use idgate_core::UnixMillis;
use idgate_core::crypto::counting::PROVIDER;
use idgate_core::shell::{ListAnchors, ListRules, TrustedList};
use idgate_testkit::keys::Curve;
use idgate_testkit::trusted_list::list_signer;
use idgate_testkit::x509::Identity;
use idgate_testkit::xml_list::{
    GRANTED, INCLUSIVE, PAA, XmlKind, XmlList, XmlSigner, provider, service,
};
use idgate_xml_list::{import_trusted_list, recall};

use super::{NOW_MS, Parts};

const NOW: UnixMillis = UnixMillis(NOW_MS);

/// A changed list that is still taken has the signed content. Without an anchor any content may come, but no panic.
pub(super) fn xml_list_target() -> Parts {
    let (signer, root) = (list_signer(NOW_MS), Identity::issuer_root(Curve::P256, NOW_MS));
    let services = [service(PAA, GRANTED, &[&root.der])];
    let list = XmlList::new(XmlKind::Age, NOW_MS).with(provider("P", "NTRLU-1", "LU", &services));
    let inclusive =
        XmlSigner { method: INCLUSIVE, by_xpath: false, ..XmlSigner::of(&signer, &list.issued) };
    let seeds = [list.sign(&signer), inclusive.sign(&list.text())].map(String::into_bytes);
    let anchors = ListAnchors::from_file(&PROVIDER, &signer.der).unwrap();
    let import = |file: &[u8], rules: &ListRules<'_>| {
        import_trusted_list(&PROVIDER, file, rules, NOW).map(|list| said(&list))
    };
    let expected = import(&seeds[0], &ListRules::new(&anchors)).unwrap();
    let check = move |file: &[u8]| {
        drop(import(file, &ListRules::for_tests()));
        drop(recall(&PROVIDER, file, (None, None), NOW).map(|list| said(&list)));
        let taken = import(file, &ListRules::new(&anchors));
        assert!(taken.is_err() || taken.is_ok_and(|said| said == expected));
    };
    (seeds.to_vec(), Box::new(check))
}

/// The number and the roots of a list.
fn said(list: &TrustedList) -> (u64, Vec<Vec<u8>>) {
    let services = list.providers.iter().flat_map(|one| &one.services);
    let roots = services.flat_map(|service| service.roots()).map(|root| root.der().to_vec());
    (list.sequence, roots.collect())
}
