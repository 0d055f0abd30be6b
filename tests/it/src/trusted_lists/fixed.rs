//! The first list of an entry fixes attributes of all later lists, through the real binary.

use idgate_testkit::trusted_list::{Kind, TrustedList, list_ca, list_signer_below};
use idgate_testkit::x509::Identity;
use idgate_testkit::xml_list::{XmlKind, XmlList};
use serde_json::Value;

use super::{Lists, import, the_signer};
use crate::mdoc_tamper::ISSUER_ID;
use crate::server::Installation;
use crate::tenant::now_ms;

const MDL: [&str; 2] = ["--doc-type", "org.iso.18013.5.1.mDL"];

fn national(number: u64, territory: &str) -> XmlList {
    let mut list = XmlList::new(XmlKind::National, now_ms()).numbered(number);
    list.territory = territory.into();
    list
}

/// The outcome and the reason of `trust refresh` for the only list.
fn refresh(installation: &Installation) -> (String, String) {
    let refreshed = installation.run(&["trust", "refresh", "--json"]).json();
    let told = &refreshed["lists"][0];
    let text = |name: &str| told[name].as_str().unwrap_or_default().to_owned();
    (text("outcome"), text("why"))
}

fn sequence(installation: &Installation) -> Value {
    let shown = installation.run_json(&["trust", "show", ISSUER_ID, "--json"]);
    shown["trusted_list"]["sequence"].clone()
}

#[test]
fn a_list_of_another_territory_than_the_first_is_refused() {
    let lists = Lists::start();
    let installation = lists.installation();
    let give = |number, territory| {
        let list = national(number, territory).sign(&the_signer());
        lists.give("200 OK", list.as_bytes());
    };
    give(7, "EL");
    let taken = import(&installation, &lists.url, &MDL);
    assert_eq!(taken.code, 0, "{taken:?}");
    give(8, "FR");
    let (outcome, why) = refresh(&installation);
    assert_eq!(outcome, "refused");
    assert!(why.contains("is of the territory FR, and EL is asked for"), "{why}");
    let refused = import(&installation, &lists.url, &[]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert_eq!(sequence(&installation), 7);
    // GR is the other code of the same state.
    give(8, "GR");
    assert_eq!(refresh(&installation).0, "new");
    assert_eq!(installation.run(&["trust", "remove", ISSUER_ID]).code, 0);
    give(9, "FR");
    assert_eq!(import(&installation, &lists.url, &MDL).code, 0, "it is the first list again");
}

/// Makes a list with this number, signed below a CA for this organization, in JSON or XML.
type Signed<'s> = &'s dyn Fn(u64, &str) -> String;

fn each_refresh_keeps_the_organization(ca: &Identity, signed: Signed<'_>, types: &[&str]) {
    let lists = Lists::start();
    let installation = lists.installation();
    let give = |number, organization| {
        lists.give("200 OK", signed(number, organization).as_bytes());
    };
    give(7, "Example Operator");
    let anchor = installation.file("list-ca.der", &ca.der);
    let add = ["trust", "add", ISSUER_ID, "--trusted-list", &lists.url, "--list-signer-ca"];
    let taken = installation.run(&[&add[..], &[anchor.to_str().unwrap()], types].concat());
    assert_eq!(taken.code, 0, "{taken:?}");
    for number in [8, 9] {
        give(number, "Another customer");
        let (outcome, why) = refresh(&installation);
        assert_eq!(outcome, "refused", "{why}");
        let told = "is signed for O=Another customer, and this source is of O=Example Operator";
        assert!(why.contains(told), "{why}");
        assert_eq!(sequence(&installation), number - 1);
        give(number, "Example Operator");
        assert_eq!(refresh(&installation).0, "new");
        assert_eq!(sequence(&installation), number);
    }
}

#[test]
fn below_a_ca_each_refresh_in_xml_needs_the_organization_of_the_first_list() {
    let ca = list_ca(now_ms());
    let signed = |number, organization: &str| {
        let mut list = national(number, "UT");
        list.operator = organization.into();
        list.sign(&list_signer_below(&ca, organization, now_ms()))
    };
    each_refresh_keeps_the_organization(&ca, &signed, &MDL);
}

#[test]
fn below_a_ca_each_refresh_in_json_needs_the_organization_of_the_first_list() {
    let ca = list_ca(now_ms());
    let signed = |number, organization: &str| {
        let names = serde_json::json!([{ "lang": "en", "value": organization }]);
        let list = TrustedList::new(Kind::Pid, now_ms()).numbered(number);
        list.scheme("SchemeOperatorName", names).sign(&list_signer_below(
            &ca,
            organization,
            now_ms(),
        ))
    };
    each_refresh_keeps_the_organization(&ca, &signed, &[]);
}
