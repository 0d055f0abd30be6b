//! European trusted lists.

use idgate_core::crypto::counting::PROVIDER;
use idgate_core::shell::{
    ListAnchors, ListRules, ListTerms, TrustEntry, TrustedList as ReadList, import_trusted_list,
};
use idgate_core::{IssuerId, UnixMillis};
use idgate_testkit::keys::Curve;
use idgate_testkit::trusted_list::{Kind, TrustedList, list_signer, provider};
use idgate_testkit::x509::Identity;

use super::{NOW_MS, Parts};

const NOW: UnixMillis = UnixMillis(NOW_MS);

/// Whatever is still taken brings the same roots. Without an anchor anything may come, but no panic.
pub(super) fn trusted_list_target() -> Parts {
    let (signer, root) = (list_signer(NOW_MS), Identity::issuer_root(Curve::P256, NOW_MS));
    let services = [Kind::Pid.issuance(&[&root.der]), Kind::Pid.revocation(&[&root.der])];
    let list = TrustedList::new(Kind::Pid, NOW_MS);
    let good = list.with(provider("P", "NTRLU-1", "LU", &services)).sign(&signer).into_bytes();
    let anchors = ListAnchors::from_file(&PROVIDER, &signer.der).unwrap();
    let import = |file: &[u8], rules: &ListRules<'_>| {
        import_trusted_list(&PROVIDER, file, rules, NOW).map(|list| roots(&list))
    };
    let expected = import(&good, &ListRules::new(&anchors)).unwrap();
    assert_eq!(expected, [root.der.clone(), root.der]);
    let check = move |file: &[u8]| {
        drop(import(file, &ListRules::for_tests()));
        drop(ReadList::recall(&PROVIDER, file, NOW).map(|list| roots(&list)));
        let taken = import(file, &ListRules::new(&anchors));
        assert!(taken.is_err() || taken.is_ok_and(|roots| roots == expected));
    };
    (vec![good], Box::new(check))
}

fn roots(list: &ReadList) -> Vec<Vec<u8>> {
    let mut entry = TrustEntry::new(IssuerId::new("eu"));
    entry.take_list(list, &ListTerms::default());
    entry.roots.iter().chain(&entry.status_roots).map(|root| root.der().to_vec()).collect()
}
