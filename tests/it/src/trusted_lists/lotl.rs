//! The list of lists through the real binary: it names a territory's list and the signers of that
//! list. A new issue changes nothing until the named list verifies.

mod changes;

use std::time::Duration;

use idgate_testkit::trusted_list::other_list_signer;
use idgate_testkit::x509::Identity;
use idgate_testkit::xml_list::{GRANTED, QEAA, XmlKind, XmlList, pointer, provider, service};
use serde_json::{Value, json};

use super::{Desk, Lists, production, the_signer};
use crate::http::{Http, Request};
use crate::mdoc_tamper::{Authority, ISSUER_ID, VERIFIED, mdl_request};
use crate::server::{Installation, Output};
use crate::tenant::{Gateway, now_ms};

/// A signer of Utopia's list.
fn national_signer(seed: &str) -> Identity {
    other_list_signer(seed, now_ms())
}

/// Two servers, one of the list of lists and one of Utopia's list.
struct Place {
    of_lists: Lists,
    utopia: Lists,
    signer: Identity,
    authority: Authority,
}

impl Place {
    fn new() -> Self {
        let (of_lists, utopia) = (Lists::start(), Lists::start());
        let (signer, authority) = (national_signer("first"), Authority::new(now_ms()));
        let place = Self { of_lists, utopia, signer, authority };
        place.name(7, &[&place.signer]);
        place.list(20, &place.signer);
        place
    }

    /// A list of lists with this number that names these signers of Utopia's list.
    fn named(&self, number: u64, signers: &[&Identity]) -> XmlList {
        let ders: Vec<&[u8]> = signers.iter().map(|one| &*one.der).collect();
        XmlList::new(XmlKind::OfLists, now_ms()).numbered(number).pointing(&[
            pointer("XX", "https://lists.example/xx.xml", &[&the_signer().der]),
            pointer("UT", &self.utopia.url, &ders),
        ])
    }

    fn give(&self, text: &str) {
        self.of_lists.give("200 OK", text.as_bytes());
    }

    fn name(&self, number: u64, signers: &[&Identity]) {
        self.give(&self.named(number, signers).sign(&the_signer()));
    }

    fn national(&self, number: u64) -> XmlList {
        let services = [service(QEAA, GRANTED, &[&self.authority.root.der])];
        XmlList::new(XmlKind::National, now_ms()).numbered(number).with(provider(
            "Utopia attests",
            "VATUT-1",
            "UT",
            &services,
        ))
    }

    /// Serves Utopia's list with this number, signed by `signer`.
    fn list(&self, number: u64, signer: &Identity) {
        self.utopia.give("200 OK", self.national(number).sign(signer).as_bytes());
    }

    fn add(&self, installation: &Installation, more: &[&str]) -> Output {
        let anchor = installation.file("lotl-signer.der", the_signer().der);
        let add = ["trust", "add", ISSUER_ID, "--lotl", &self.of_lists.url, "--list-signer-ca"];
        let anchor = [anchor.to_str().unwrap()];
        let terms = ["--revocation", "off", "--doc-type", "org.iso.18013.5.1.mDL"];
        installation.run(&[&add[..], &anchor, &terms, more].concat())
    }

    /// An installation whose entry follows Utopia's list.
    fn followed(&self) -> Installation {
        let installation = self.of_lists.reached_from(production());
        let taken = self.add(&installation, &["--country", "UT"]);
        assert_eq!(taken.code, 0, "{taken:?}");
        installation
    }
}

fn shown(installation: &Installation) -> Value {
    installation.run_json(&["trust", "show", ISSUER_ID, "--json"])["trusted_list"].clone()
}

/// The sequence numbers of the list of lists and of the list.
fn numbers(installation: &Installation) -> [Value; 2] {
    let list = shown(installation);
    [list["list_of_lists"]["sequence"].clone(), list["sequence"].clone()]
}

/// The outcome and the reason of `trust refresh` for the list of lists.
fn refresh(installation: &Installation) -> (String, String) {
    let refreshed = installation.run(&["trust", "refresh", "--json"]).json();
    let told = &refreshed["lists"][0];
    let text = |name: &str| told[name].as_str().unwrap_or_default().to_owned();
    (text("outcome"), text("why"))
}

fn metrics(desk: &Desk) -> String {
    let Gateway { installation, server, .. } = &desk.gateway;
    let token = installation.run_json(&["admin-token", "create", "--json"]);
    let request = Request::get("/metrics").bearer(token["admin_token"].as_str().unwrap());
    let answer = Http::new(server.address).send(&request).expect_status(200);
    String::from_utf8(answer.body).unwrap()
}

#[test]
fn a_live_session_trusts_the_list_that_the_list_of_lists_names() {
    let place = Place::new();
    let installation = place.followed();
    let client = installation.create_client("shop", false);
    let list = shown(&installation);
    assert_eq!((&list["url"], &list["list_type"]), (&json!(place.utopia.url), &json!("qeaa")));
    let lists = &list["list_of_lists"];
    assert_eq!(
        (&lists["country"], &lists["sequence"], &lists["lists"]),
        (&json!("UT"), &json!(7), &json!(2))
    );
    assert_eq!(lists["signer"]["known"], true);
    let checked = installation.run(&["trust", "check"]);
    assert_eq!(checked.code, 0, "{checked:?}");
    let mut desk = Desk::serve(installation, client, place.authority);
    assert_eq!(desk.outcome(), VERIFIED);
    let metrics = metrics(&desk);
    for (url, number, entries) in [(&place.of_lists.url, 7, 2), (&place.utopia.url, 20, 1)] {
        let line = format!("idgate_trusted_list_sequence{{source=\"{url}\"}} {number}\n");
        assert!(metrics.contains(&line), "{line}{metrics}");
        let line = format!("idgate_trusted_list_providers{{source=\"{url}\"}} {entries}\n");
        assert!(metrics.contains(&line), "{line}{metrics}");
    }
    // Both are removed with the entry.
    let removed = desk.gateway.installation.run(&["trust", "remove", ISSUER_ID]);
    assert_eq!(removed.code, 0, "{removed:?}");
    let refused = desk.tenant.post_session(&mdl_request());
    assert_eq!((refused.status, refused.error()), (400, "unknown_issuer".into()));
}

#[test]
fn a_list_of_lists_with_a_new_signer_is_in_force_when_the_list_verifies() {
    let place = Place::new();
    let installation = place.followed();
    let next = national_signer("next");
    // The list is still signed by the former signer.
    place.name(8, &[&next]);
    let (outcome, why) = refresh(&installation);
    assert_eq!(outcome, "refused");
    let told = "the trusted list has a signer that the list of lists does not name";
    assert!(why.contains(told), "{why}");
    assert_eq!(numbers(&installation), [json!(7), json!(20)], "both are unchanged");
    // A new issue of the former signer is still accepted.
    place.list(21, &place.signer);
    installation.run(&["trust", "refresh"]);
    assert_eq!(numbers(&installation), [json!(7), json!(21)]);
    place.list(22, &next);
    assert_eq!(refresh(&installation).0, "new");
    assert_eq!(numbers(&installation), [json!(8), json!(22)]);
    // From now on the former signer is refused.
    place.list(23, &place.signer);
    let refused = installation.run(&["trust", "refresh"]);
    assert_eq!(refused.code, 3, "{refused:?}");
    assert_eq!(numbers(&installation), [json!(8), json!(22)]);
}

#[test]
fn a_moved_list_must_not_be_older_than_the_list_in_force() {
    let place = Place::new();
    let installation = place.followed();
    let elsewhere = Lists::start();
    let moved = |number: u64| {
        let der: &[u8] = &place.signer.der;
        let list = XmlList::new(XmlKind::OfLists, now_ms()).numbered(number);
        list.pointing(&[pointer("UT", &elsewhere.url, &[der])]).sign(&the_signer())
    };
    place.give(&moved(8));
    elsewhere.give("503 Service Unavailable", b"");
    let (outcome, why) = refresh(&installation);
    assert_eq!(outcome, "fetch_failed");
    assert!(why.contains("which was not fetched") && why.contains("http_status_503"), "{why}");
    elsewhere.give("200 OK", place.national(19).sign(&place.signer).as_bytes());
    let (outcome, why) = refresh(&installation);
    assert_eq!(outcome, "rollback", "{why}");
    assert_eq!(numbers(&installation), [json!(7), json!(20)]);
    assert_eq!(shown(&installation)["url"], place.utopia.url);
    elsewhere.give("200 OK", place.national(21).sign(&place.signer).as_bytes());
    assert_eq!(refresh(&installation).0, "new");
    assert_eq!(numbers(&installation), [json!(8), json!(21)]);
    assert_eq!(shown(&installation)["url"], elsewhere.url);
}

#[test]
fn a_refused_list_of_lists_changes_nothing() {
    let place = Place::new();
    let installation = place.followed();
    let next = national_signer("next");
    place.list(21, &next);
    let good = place.named(9, &[&next]);
    let none = XmlList { scheme: String::new(), ..good.clone() };
    let twice = XmlList { scheme: good.scheme.replace(">XX<", ">UT<"), ..good.clone() };
    for (text, outcome, why) in [
        (good.sign(&next), "refused", "the list of lists has a signer that does not lead to"),
        (good.sign(&the_signer()).replace(">9<", ">10<"), "refused", "is not what was signed"),
        (
            place.named(6, &[&next]).sign(&the_signer()),
            "rollback",
            "has number 6, and 7 was seen on",
        ),
        (
            place.named(7, &[&next]).sign(&the_signer()),
            "rollback",
            "has number 7 again with other content",
        ),
        (
            good.clone().due(now_ms() - 1000).sign(&the_signer()),
            "refused",
            "was due to be replaced on",
        ),
        (none.sign(&the_signer()), "refused", "has no pointer to a list in XML of UT"),
        (twice.sign(&the_signer()), "refused", "has several pointers to lists in XML of UT"),
        (place.national(9).sign(&the_signer()), "refused", "is not of the type EUlistofthelists"),
    ] {
        place.give(&text);
        let refreshed = refresh(&installation);
        assert_eq!(refreshed.0, outcome, "{why}: {refreshed:?}");
        assert!(refreshed.1.contains(why), "{why}: {refreshed:?}");
        assert_eq!(numbers(&installation), [json!(7), json!(20)], "{why}");
    }
    let failed = shown(&installation)["list_of_lists"]["fetch"]["failures"].clone();
    assert_eq!(failed, 8);
}

#[test]
fn an_expired_list_of_lists_trusts_no_issuer_until_a_new_one_is_fetched() {
    let place = Place::new();
    let installation = place.of_lists.reached_from(production()).with_machine();
    let machine = installation.machine().clone();
    machine.freeze();
    let short = |number, ms| {
        let list = place.named(number, &[&place.signer]).due(machine.now_ms() + ms);
        list.sign(&the_signer())
    };
    place.give(&short(7, 4000));
    let taken = place.add(&installation, &["--country", "UT"]);
    assert_eq!(taken.code, 0, "{taken:?}");
    let next = short(8, 600_000);
    let client = installation.create_client("shop", false);
    let Place { authority, of_lists, utopia, .. } = place;
    let mut desk = Desk::serve(installation, client, authority);
    assert_eq!(desk.outcome(), VERIFIED);
    machine.jump(Duration::from_secs(5));
    let refused = desk.tenant.post_session(&mdl_request());
    assert_eq!((refused.status, refused.error()), (400, "unknown_issuer".into()));
    let checked = desk.gateway.installation.run(&["trust", "check"]);
    assert_eq!(checked.code, 3, "{checked:?}");
    assert!(checked.stdout.contains("the list of lists was due to be replaced on"), "{checked:?}");
    of_lists.give("200 OK", next.as_bytes());
    let refreshed = desk.gateway.installation.run(&["trust", "refresh"]);
    assert_eq!(refreshed.code, 0, "{refreshed:?}");
    assert_eq!(desk.outcome(), VERIFIED);
    drop(utopia);
}

#[test]
fn an_older_list_of_lists_is_a_rollback_even_after_the_entry_was_removed() {
    let place = Place::new();
    let installation = place.followed();
    assert_eq!(installation.run(&["trust", "remove", ISSUER_ID]).code, 0);
    place.name(6, &[&place.signer]);
    let refused = place.add(&installation, &["--country", "UT"]);
    assert_eq!(refused.code, 3, "{refused:?}");
    assert!(refused.stderr.contains("has number 6, and 7 was seen on"), "{refused:?}");
    let taken = place.add(&installation, &["--country", "UT", "--accept-rollback"]);
    assert_eq!(taken.code, 0, "{taken:?}");
}

#[test]
fn a_list_of_lists_is_removed_with_its_list() {
    let place = Place::new();
    let installation = place.followed();
    let lists = shown(&installation)["list_of_lists"].clone();
    let sha256 = lists["sha256"].as_str().unwrap();
    let removed = installation.run(&["trust", "remove", ISSUER_ID, "--sha256", sha256]);
    assert_eq!(removed.code, 0, "{removed:?}");
    assert_eq!(shown(&installation), Value::Null);
    // A list that the operator names replaces both.
    assert_eq!(place.add(&installation, &["--country", "UT"]).code, 0);
    let anchor = installation.file("utopia.der", &place.signer.der);
    let file = installation.file("ut.xml", place.national(21).sign(&place.signer));
    let named = ["trust", "add", ISSUER_ID, "--trusted-list", file.to_str().unwrap()];
    let signer = ["--list-signer-ca", anchor.to_str().unwrap()];
    let taken = installation.run(&[&named[..], &signer].concat());
    assert_eq!(taken.code, 0, "{taken:?}");
    assert_eq!(shown(&installation)["list_of_lists"], Value::Null);
}

#[test]
fn a_named_list_of_another_territory_is_refused() {
    let place = Place::new();
    let installation = place.of_lists.reached_from(Installation::new());
    let mut list = place.national(20);
    list.territory = "XX".into();
    place.utopia.give("200 OK", list.sign(&place.signer).as_bytes());
    let refused = place.add(&installation, &["--country", "UT"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("is of the territory XX, and UT is asked for"), "{refused:?}");
}

#[test]
fn missing_or_conflicting_options_of_a_list_of_lists_are_refused() {
    let place = Place::new();
    let installation = place.of_lists.reached_from(Installation::new());
    let bare = place.add(&installation, &[]);
    assert_eq!(bare.code, 2);
    assert!(bare.stderr.contains("--lotl needs --country XX"), "{bare:?}");
    let both = place.add(&installation, &["--country", "UT", "--trusted-list", "a.xml"]);
    assert_eq!(both.code, 2);
    let add = ["trust", "add", ISSUER_ID, "--lotl", &place.of_lists.url, "--country", "UT"];
    let unvouched = installation.run(&add);
    assert_eq!(unvouched.code, 2);
    assert!(unvouched.stderr.contains("--lotl needs --list-signer-ca FILE"), "{unvouched:?}");
    assert_eq!(place.add(&installation, &["--country", "UT"]).code, 0);
    let moved = installation.run(&["trust", "add", ISSUER_ID, "--country", "XX"]);
    assert_eq!(moved.code, 2);
    assert!(moved.stderr.contains("the list of lists names the list of UT"), "{moved:?}");
}
