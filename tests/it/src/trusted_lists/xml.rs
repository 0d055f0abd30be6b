//! Trusted lists in XML through the real binary. The rules are the same as for lists in JSON.

use std::time::Duration;

use idgate_testkit::trusted_list::{Kind, TrustedList, provider as provider_in_json};
use idgate_testkit::xml_list::{DS_NS, GRANTED, PID, QEAA, XmlKind, XmlList, provider, service};
use serde_json::json;

use super::{Desk, Lists, import, mdl_list, production, the_signer, token};
use crate::mdoc_tamper::{Authority, ISSUER_ID, VERIFIED, mdl_request};
use crate::server::{Installation, Output};
use crate::tenant::now_ms;

const MDL: [&str; 2] = ["--doc-type", "org.iso.18013.5.1.mDL"];

/// The list of a member state whose one qualified provider has these certificates.
fn national(number: u64, certificates: &[&[u8]]) -> XmlList {
    let list = XmlList::new(XmlKind::National, now_ms()).numbered(number);
    match certificates.is_empty() {
        true => list,
        false => {
            let services = [service(QEAA, GRANTED, certificates)];
            list.with(provider("Utopia attests", "VATUT-1", "UT", &services))
        }
    }
}

fn signed(list: &XmlList) -> String {
    list.sign(&the_signer())
}

/// Imports that text as a file.
fn import_text(installation: &Installation, text: &str, more: &[&str]) -> Output {
    let file = installation.file("list.xml", text);
    import(installation, file.to_str().unwrap(), more)
}

/// A gateway in production whose entry follows a list in XML with the authority's root.
fn desk() -> Desk {
    let installation = production();
    let client = installation.create_client("shop", false);
    let authority = Authority::new(now_ms());
    let text = signed(&national(7, &[&authority.root.der]));
    let taken = import_text(&installation, &text, &MDL);
    assert_eq!(taken.code, 0, "{taken:?}");
    Desk::serve(installation, client, authority)
}

#[test]
fn a_live_session_trusts_roots_of_a_national_list_and_names_their_provider() {
    let mut desk = desk();
    let session = desk.session();
    assert_eq!(session["status"], VERIFIED, "{session}");
    assert_eq!(
        session["verification_details"]["credentials"][0]["provider"],
        json!({ "name": "Utopia attests", "identifier": "VATUT-1", "country": "UT",
            "list_type": "qeaa", "list_sequence": 7 })
    );
    // The next issue names no provider. It is in force without a restart.
    let next = import_text(&desk.gateway.installation, &signed(&national(8, &[])), &[]);
    assert_eq!(next.code, 0, "{next:?}");
    let refused = desk.tenant.post_session(&mdl_request());
    assert_eq!((refused.status, refused.error()), (400, "unknown_issuer".into()));
}

#[test]
fn an_older_list_in_xml_is_a_rollback_even_after_the_entry_was_removed() {
    let desk = desk();
    let installation = &desk.gateway.installation;
    let root = desk.authority.root.der.clone();
    let older = signed(&national(6, &[&root]));
    let refused = import_text(installation, &older, &MDL);
    assert_eq!(refused.code, 3);
    assert!(refused.stderr.contains("has number 6, and 7 was seen on"), "{refused:?}");
    let other = import_text(installation, &signed(&national(7, &[])), &MDL);
    assert!(other.stderr.contains("has number 7 again with other content"), "{other:?}");
    assert_eq!(installation.run(&["trust", "remove", ISSUER_ID]).code, 0);
    assert_eq!(import_text(installation, &older, &MDL).code, 3);
    let accepting = [&MDL[..], &["--accept-rollback"]].concat();
    assert_eq!(import_text(installation, &older, &accepting).code, 0);
}

#[test]
fn a_refused_list_in_xml_changes_nothing() {
    let mut desk = desk();
    let good = signed(&national(8, &[]));
    let second = format!("<s:Signature xmlns:s=\"{DS_NS}\"/></SchemeInformation>");
    let below = idgate_testkit::trusted_list::list_ca(now_ms());
    for (text, code, why) in [
        (good.replace(">8<", ">9<"), 3, "is not what was signed"),
        (good.replace("</SchemeInformation>", &second), 3, "has more than one signature"),
        (national(8, &[]).text(), 3, "is not signed"),
        (national(8, &[]).sign(&below), 3, "has a signer that is a CA"),
        (format!("<!DOCTYPE a>{good}"), 1, "has a document type declaration"),
        (good[..good.len() / 2].to_owned(), 1, "is not well-formed XML"),
        (signed(&national(8, &[]).due(now_ms() - 1000)), 1, "was due to be replaced on"),
        (
            signed(&XmlList::new(XmlKind::Age, now_ms())),
            1,
            "is of the type av, and qeaa is asked for",
        ),
        (token(&mdl_list(8, &[])), 1, "is of the type mdl, and qeaa is asked for"),
    ] {
        let refused = import_text(&desk.gateway.installation, &text, &[]);
        assert_eq!(refused.code, code, "{why}: {refused:?}");
        assert!(refused.stderr.contains(why), "{why}: {refused:?}");
    }
    assert_eq!(desk.outcome(), VERIFIED);
    let shown = desk.gateway.installation.run_json(&["trust", "show", ISSUER_ID, "--json"]);
    assert_eq!(shown["trusted_list"]["sequence"], 7);
}

#[test]
fn a_list_in_xml_is_fetched_over_tls_and_a_bad_answer_changes_nothing() {
    let lists = Lists::start();
    let installation = lists.installation();
    let client = installation.create_client("shop", false);
    let authority = Authority::new(now_ms());
    let first = signed(&national(7, &[&authority.root.der]));
    lists.give("200 OK\r\nContent-Type: application/vnd.etsi.tsl+xml", first.as_bytes());
    let taken = import(&installation, &lists.url, &MDL);
    assert_eq!(taken.code, 0, "{taken:?}");
    let mut desk = Desk::serve(installation, client, authority);
    assert_eq!(desk.outcome(), VERIFIED);
    let next = signed(&national(9, &[]));
    for (body, outcome, why) in [
        (first.clone(), "same", "is the one in force"),
        ("<html>log in</html>".into(), "refused", "is XML but not a TrustServiceStatusList"),
        (next.replace(">9<", ">10<"), "refused", "is not what was signed"),
        (signed(&national(6, &[])), "rollback", "has number 6, and 7 was seen on"),
        (signed(&national(7, &[])), "rollback", "has number 7 again with other content"),
        (token(&mdl_list(9, &[])), "refused", "is of the type mdl, and qeaa is asked for"),
    ] {
        lists.give("200 OK", body.as_bytes());
        let refreshed = desk.gateway.installation.run(&["trust", "refresh", "--json"]);
        let told = &refreshed.json()["lists"][0];
        assert_eq!(told["outcome"], outcome, "{why}: {refreshed:?}");
        assert!(told["why"].as_str().unwrap().contains(why), "{why}: {told}");
    }
    assert_eq!(desk.outcome(), VERIFIED, "the former list is still in force");
    lists.give("200 OK", format!("\u{feff}{next}").as_bytes());
    let refreshed = desk.gateway.installation.run(&["trust", "refresh", "--json"]);
    assert_eq!(refreshed.json()["lists"][0]["outcome"], "new", "{refreshed:?}");
    let refused = desk.tenant.post_session(&mdl_request());
    assert_eq!((refused.status, refused.error()), (400, "unknown_issuer".into()));
}

#[test]
fn an_expired_list_in_xml_trusts_no_issuer_until_a_new_one_is_imported() {
    let installation = production().with_machine();
    let machine = installation.machine().clone();
    machine.freeze();
    let client = installation.create_client("shop", false);
    let authority = Authority::new(now_ms());
    let root = authority.root.der.clone();
    let short = |number, ms| signed(&national(number, &[&root]).due(machine.now_ms() + ms));
    assert_eq!(import_text(&installation, &short(7, 4000), &MDL).code, 0);
    let next = short(8, 600_000);
    let mut desk = Desk::serve(installation, client, authority);
    assert_eq!(desk.outcome(), VERIFIED);
    let open = desk.tenant.create(&mdl_request());
    machine.jump(Duration::from_secs(5));
    let refused = desk.tenant.post_session(&mdl_request());
    assert_eq!((refused.status, refused.error()), (400, "unknown_issuer".into()));
    assert_eq!(desk.answer(&open), "untrusted_issuer");
    let checked = desk.gateway.installation.run(&["trust", "check"]);
    assert!(checked.stdout.contains("the trusted list expired on"), "{checked:?}");
    assert_eq!(import_text(&desk.gateway.installation, &next, &[]).code, 0);
    assert_eq!(desk.outcome(), VERIFIED);
}

#[test]
fn list_type_chooses_services_of_a_national_list() {
    let installation = Installation::new();
    let root = Authority::new(now_ms()).root.der;
    let services = [service(PID, GRANTED, &[&root]), service(QEAA, GRANTED, &[&root])];
    let list = XmlList::new(XmlKind::National, now_ms());
    let text = signed(&list.with(provider("Utopia people", "NTRUT-2", "UT", &services)));
    let untyped = import_text(&installation, &text, &[]);
    assert_eq!(untyped.code, 2, "{untyped:?}");
    assert!(untyped.stderr.contains("a list of qualified providers does not say"), "{untyped:?}");
    let taken = import_text(&installation, &text, &["--list-type", "pid"]);
    assert_eq!(taken.code, 0, "{taken:?}");
    let shown = installation.run_json(&["trust", "show", ISSUER_ID, "--json"]);
    let list = &shown["trusted_list"];
    assert_eq!(list["other_services"], 1);
    assert_eq!(
        (&list["list_type"], &list["providers"][0]["name"]),
        (&json!("pid"), &json!("Utopia people"))
    );
    // The first list fixed the type.
    let again = import_text(&installation, &text, &["--list-type", "qeaa"]);
    assert!(again.stderr.contains("is of the type pid, and qeaa is asked for"), "{again:?}");
}

#[test]
fn a_list_of_qualified_providers_is_refused_for_identities_and_proofs_of_age() {
    let installation = Installation::new();
    let text = signed(&national(7, &[&Authority::new(now_ms()).root.der]));
    for own in [
        ["--doc-type", "eu.europa.ec.eudi.pid.1"],
        ["--vct", "urn:eudi:pid:de:1"],
        ["--doc-type", "eu.europa.ec.av.1"],
    ] {
        let refused = import_text(&installation, &text, &own);
        assert_eq!(refused.code, 1, "{refused:?}");
        assert!(
            refused.stderr.contains("of qualified providers, which do not issue it"),
            "{refused:?}"
        );
    }
    assert_eq!(import_text(&installation, &text, &MDL).code, 0);
}

#[test]
fn a_list_in_another_format_than_the_one_in_force_is_refused() {
    let installation = Installation::new();
    let root = Authority::new(now_ms()).root.der;
    let json = |number| {
        let list = TrustedList::new(Kind::Pid, now_ms()).numbered(number);
        let services = [Kind::Pid.issuance(&[&root])];
        token(&list.with(provider_in_json("Utopia people", "NTRUT-2", "UT", &services)))
    };
    let xml = |number| {
        let list = XmlList::new(XmlKind::National, now_ms()).numbered(number);
        let services = [service(PID, GRANTED, &[&root])];
        signed(&list.with(provider("Utopia people", "NTRUT-2", "UT", &services)))
    };
    let taken = |text: &str| import_text(&installation, text, &["--list-type", "pid"]);
    let why = "is not in the format (JSON or XML) of the list in force";
    for (first, second) in [(json(7), xml(8)), (xml(9), json(10))] {
        assert_eq!(taken(&first).code, 0);
        let refused = taken(&second);
        assert_eq!(refused.code, 1, "{refused:?}");
        assert!(refused.stderr.contains(why), "{refused:?}");
        assert_eq!(installation.run(&["trust", "remove", ISSUER_ID]).code, 0);
    }
}

#[test]
fn below_a_ca_the_organization_of_the_first_list_is_fixed_and_the_country_is_not_compared() {
    use idgate_testkit::trusted_list::{list_ca, list_signer_below};
    let installation = Installation::new();
    let ca = list_ca(now_ms());
    let anchor = installation.file("list-ca.der", &ca.der);
    let add = |text: &str| {
        let file = installation.file("list.xml", text);
        let file = file.to_str().unwrap();
        let add = ["trust", "add", ISSUER_ID, "--trusted-list", file, "--list-signer-ca"];
        installation.run(&[&add[..], &[anchor.to_str().unwrap()], &MDL].concat())
    };
    let own = list_signer_below(&ca, "Example Operator", now_ms());
    // The list is Utopia's, and the country of its signer is the EU.
    let taken = add(&national(7, &[]).sign(&own));
    assert_eq!(taken.code, 0, "{taken:?}");
    let other = list_signer_below(&ca, "Another customer", now_ms());
    let mut list = national(8, &[]);
    list.operator = "Another customer".into();
    let refused = add(&list.sign(&other));
    assert_eq!(refused.code, 3);
    let why = "is signed for O=Another customer, and this source is of O=Example Operator";
    assert!(refused.stderr.contains(why), "{refused:?}");
}
