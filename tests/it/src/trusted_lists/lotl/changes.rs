//! An entry that begins to follow a list of lists, or stops it: no trust is left over from before.

use super::*;

const NEEDS_CA: &str = "needs --list-signer-ca FILE, or --test";

/// Imports Utopia's list without `--lotl`. `more`: further options.
fn name_list(place: &Place, installation: &Installation, more: &[&str]) -> Output {
    let add = ["trust", "add", ISSUER_ID, "--trusted-list", &place.utopia.url];
    installation.run(&[&add[..], more].concat())
}

fn follow_for_tests(place: &Place, installation: &Installation) {
    let add = ["trust", "add", ISSUER_ID, "--lotl", &place.of_lists.url, "--country", "UT"];
    let terms = ["--test", "--revocation", "off", "--doc-type", "org.iso.18013.5.1.mDL"];
    let added = installation.run(&[&add[..], &terms].concat());
    assert_eq!(added.code, 0, "{added:?}");
}

#[test]
fn signers_that_a_list_of_lists_named_are_not_kept_as_the_operators_anchors() {
    let place = Place::new();
    let installation = place.followed();
    let refused = name_list(&place, &installation, &[]);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.stderr.contains(NEEDS_CA), "{refused:?}");
    assert_eq!(numbers(&installation), [json!(7), json!(20)]);
    // With its own anchors the list may replace both, unless it is older.
    let anchor = installation.file("national-signer.der", &place.signer.der);
    let own = ["--list-signer-ca", anchor.to_str().unwrap()];
    place.list(19, &place.signer);
    let older = name_list(&place, &installation, &own);
    assert_eq!(older.code, 3, "{older:?}");
    assert!(older.stderr.contains("has number 19, and 20 was seen on"), "{older:?}");
    place.list(21, &place.signer);
    assert_eq!(name_list(&place, &installation, &own).code, 0);
    assert_eq!(shown(&installation)["list_of_lists"], Value::Null);
}

#[test]
fn a_list_of_lists_for_tests_names_no_signer_of_a_live_list() {
    let place = Place::new();
    let installation = place.of_lists.reached_from(production());
    follow_for_tests(&place, &installation);
    assert_eq!(shown(&installation)["signer"]["known"], false);
    for live in [
        name_list(&place, &installation, &[]),
        installation.run(&[
            "trust",
            "add",
            ISSUER_ID,
            "--lotl",
            &place.of_lists.url,
            "--country",
            "UT",
        ]),
    ] {
        assert_eq!(live.code, 2, "{live:?}");
        assert!(live.stderr.contains(NEEDS_CA), "{live:?}");
    }
    assert_eq!(shown(&installation)["test_only"], true);
    // With its own anchors the live list of lists is accepted.
    assert_eq!(place.add(&installation, &["--country", "UT"]).code, 0);
    let list = shown(&installation);
    assert_eq!((&list["test_only"], &list["signer"]["known"]), (&json!(false), &json!(true)));
}

#[test]
fn a_list_of_lists_from_another_place_must_not_be_older() {
    let place = Place::new();
    let installation = place.followed();
    let older = installation.file("lotl.xml", place.named(6, &[&place.signer]).sign(&the_signer()));
    let anchor = installation.file("lotl-signer.der", the_signer().der);
    let add = ["trust", "add", ISSUER_ID, "--country", "UT", "--lotl", older.to_str().unwrap()];
    let add = [&add[..], &["--list-signer-ca", anchor.to_str().unwrap()]].concat();
    let refused = installation.run(&add);
    assert_eq!(refused.code, 3, "{refused:?}");
    assert!(refused.stderr.contains("has number 6, and 7 was seen on"), "{refused:?}");
    let accepted = installation.run(&[&add[..], &["--accept-rollback"]].concat());
    assert_eq!(accepted.code, 0, "{accepted:?}");
    let lists = shown(&installation)["list_of_lists"].clone();
    assert_eq!((&lists["url"], &lists["sequence"]), (&Value::Null, &json!(6)));
}

#[test]
fn the_operator_cannot_import_an_older_list_from_a_new_url() {
    let place = Place::new();
    let installation = place.followed();
    let elsewhere = Lists::start();
    let der: &[u8] = &place.signer.der;
    let list = XmlList::new(XmlKind::OfLists, now_ms()).numbered(8);
    place.give(&list.pointing(&[pointer("UT", &elsewhere.url, &[der])]).sign(&the_signer()));
    elsewhere.give("200 OK", place.national(19).sign(&place.signer).as_bytes());
    let refused = place.add(&installation, &["--country", "UT"]);
    assert_eq!(refused.code, 3, "{refused:?}");
    assert!(refused.stderr.contains("has number 19, and 20 was seen on"), "{refused:?}");
    assert_eq!(numbers(&installation), [json!(7), json!(20)]);
}

#[test]
fn the_url_in_a_list_of_lists_is_the_source_of_the_list_in_any_spelling() {
    let place = Place::new();
    let installation = place.of_lists.reached_from(production());
    let spelled = format!("{}#list", place.utopia.url.replace("https", "HTTPS"));
    let named = |url: &str| {
        let der: &[u8] = &place.signer.der;
        let list = XmlList::new(XmlKind::OfLists, now_ms()).numbered(7);
        place.give(&list.pointing(&[pointer("UT", url, &[der])]).sign(&the_signer()));
    };
    named(&spelled);
    assert_eq!(place.add(&installation, &["--country", "UT"]).code, 0);
    assert_eq!(shown(&installation)["url"], place.utopia.url);
    named(&place.utopia.url.replace("https://", "https://user:secret@"));
    let refused = place.add(&installation, &["--country", "UT"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("of the list of UT that has a user name"), "{refused:?}");
    assert!(!refused.stderr.contains("secret"), "{refused:?}");
    // So is the URL that an operator gives.
    let own = place.utopia.url.replace("https://", "https://user:secret@");
    for option in ["--lotl", "--trusted-list"] {
        let add = ["trust", "add", "own", option, &own, "--country", "UT", "--test"];
        let refused = installation.run(&add);
        assert_eq!(refused.code, 2, "{refused:?}");
        let why = format!("{option}: the URL has a user name; give it as https://HOST/PATH");
        assert!(refused.stderr.contains(&why), "{refused:?}");
        assert!(!refused.stderr.contains("secret"), "{refused:?}");
    }
}

#[test]
fn an_entry_that_follows_one_state_does_not_change_to_another() {
    let place = Place::new();
    let installation = place.of_lists.reached_from(production());
    let anchor = installation.file("national-signer.der", &place.signer.der);
    let own = ["--list-signer-ca", anchor.to_str().unwrap(), "--revocation", "off"];
    let types = ["--doc-type", "org.iso.18013.5.1.mDL", "--json"];
    let added = name_list(&place, &installation, &[&own[..], &types].concat());
    assert_eq!(added.code, 0, "{added:?}");
    let mut other = place.national(21);
    other.territory = "XX".into();
    place.utopia.give("200 OK", other.sign(&place.signer).as_bytes());
    let der: &[u8] = &place.signer.der;
    let list = XmlList::new(XmlKind::OfLists, now_ms()).numbered(7);
    let pointers = [pointer("XX", &place.utopia.url, &[der])];
    place.give(&list.pointing(&pointers).sign(&the_signer()));
    let refused = place.add(&installation, &["--country", "XX"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    let why = "is not of the territory of the list in force, UT; remove the entry first";
    assert!(refused.stderr.contains(why), "{refused:?}");
}

#[test]
fn an_overdue_list_of_lists_brings_no_new_list() {
    let place = Place::new();
    let installation = place.of_lists.reached_from(production()).with_machine();
    let machine = installation.machine().clone();
    machine.freeze();
    let due = machine.now_ms() + 4000;
    place.give(&place.named(7, &[&place.signer]).due(due).sign(&the_signer()));
    assert_eq!(place.add(&installation, &["--country", "UT"]).code, 0);
    machine.jump(Duration::from_secs(5));
    let unchanged = installation.run(&["trust", "refresh", "--json"]).json();
    assert_eq!(unchanged["lists"][1]["outcome"], "same", "{unchanged}");
    place.list(21, &place.signer);
    let refreshed = installation.run(&["trust", "refresh", "--json"]);
    assert_eq!(refreshed.code, 3, "{refreshed:?}");
    let why = refreshed.json()["lists"][1]["why"].clone();
    assert!(why.as_str().unwrap().contains("the list of lists was due to be replaced"), "{why}");
    assert_eq!(numbers(&installation), [json!(7), json!(20)]);
    // The operator may decide otherwise.
    let stale = place.add(&installation, &["--country", "UT", "--allow-stale"]);
    assert_eq!(stale.code, 0, "{stale:?}");
    assert_eq!(numbers(&installation), [json!(7), json!(21)]);
    place.list(22, &place.signer);
    assert_eq!(installation.run(&["trust", "refresh"]).code, 0);
    assert_eq!(numbers(&installation), [json!(7), json!(22)]);
    assert_eq!(shown(&installation)["list_of_lists"]["stale"], true);
}

#[test]
fn two_entries_follow_the_lists_of_two_states_in_one_list_of_lists() {
    let place = Place::new();
    let installation = place.of_lists.reached_from(production());
    let other = Lists::start();
    let second = national_signer("second");
    let lists = |number, signer: &Identity| {
        let list = XmlList::new(XmlKind::OfLists, now_ms()).numbered(number);
        let pointers = [
            pointer("UT", &place.utopia.url, &[&place.signer.der]),
            pointer("XX", &other.url, &[&signer.der]),
        ];
        place.give(&list.pointing(&pointers).sign(&the_signer()));
    };
    let serve = |number, signer: &Identity| {
        let mut list = place.national(number);
        list.territory = "XX".into();
        other.give("200 OK", list.sign(signer).as_bytes());
    };
    lists(7, &second);
    serve(30, &second);
    assert_eq!(place.add(&installation, &["--country", "UT"]).code, 0);
    let anchor = installation.file("lotl-signer.der", the_signer().der);
    let add = ["trust", "add", "other", "--lotl", &place.of_lists.url, "--country", "XX"];
    let terms = ["--list-signer-ca", anchor.to_str().unwrap(), "--vct", "urn:example:diploma:1"];
    let added = installation.run(&[&add[..], &terms].concat());
    assert_eq!(added.code, 0, "{added:?}");
    // The signer of one list changes, and that list does not come yet.
    let third = national_signer("third");
    lists(8, &third);
    let (outcome, why) = refresh(&installation);
    assert_eq!(outcome, "refused");
    assert!(why.starts_with("other: the trusted list has a signer"), "{why}");
    assert!(!why.contains(ISSUER_ID), "{why}");
    assert_eq!(numbers(&installation), [json!(8), json!(20)]);
    serve(31, &third);
    assert_eq!(refresh(&installation).0, "new");
    let other = installation.run_json(&["trust", "show", "other", "--json"]);
    assert_eq!(other["trusted_list"]["sequence"], 31);
    assert_eq!(other["trusted_list"]["list_of_lists"]["sequence"], 8);
}
