//! European trusted lists: import, show, check and remove.

use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::status::Crl;
use idgate_testkit::time::compact_utc;
use idgate_testkit::trusted_list::{
    Kind, TrustedList, list_ca, list_signer, list_signer_below, provider,
};
use idgate_testkit::x509::{Identity, key_identifier};

use super::*;

const DAY_MS: u64 = 86_400_000;

fn pid(number: u64) -> TrustedList {
    let root = Identity::issuer_root(Curve::P256, NOW.0);
    let status = Identity::iaca(Curve::P256, NOW.0);
    let services = [Kind::Pid.issuance(&[&root.der]), Kind::Pid.revocation(&[&status.der])];
    let list = TrustedList::new(Kind::Pid, NOW.0).numbered(number);
    list.with(provider("Example PID", "NTRLU-B1", "LU", &services))
}

impl Fixture {
    fn list(&self, name: &str, list: &TrustedList) -> String {
        self.file(name, &list.sign(&list_signer(NOW.0)))
    }

    fn anchor(&self) -> String {
        let path = self.dir.path().join("anchor.der");
        std::fs::write(&path, list_signer(NOW.0).der).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn take(&mut self, list: &TrustedList, more: &[&str]) -> Result<Output, Failure> {
        let (file, anchor) = (self.list("list.jwt", list), self.anchor());
        let words = ["add", "eu", "--trusted-list", &file, "--list-signer-ca", &anchor];
        self.run(&[&words[..], more].concat())
    }

    fn run_later(&mut self, now: UnixMillis, words: &[&str]) -> Output {
        let line = Line::try_parse_from([&["trust"], words].concat()).unwrap();
        run(line.command, &mut self.store, &nothing_is_fetched, now).unwrap()
    }
}

fn texts(value: &Value) -> String {
    value.to_string()
}

#[test]
fn a_pid_list_sets_the_pid_types_and_is_shown() {
    let mut desk = Fixture::new();
    let added = desk.take(&pid(7), &[]).unwrap();
    assert_eq!(added.json["vct"], json!(["urn:eudi:pid:1"]));
    assert_eq!(added.json["doc_types"], json!(["eu.europa.ec.eudi.pid.1"]));
    assert_eq!(added.json["iss"], Value::Null);
    assert_eq!(added.json["imports"][0]["roots"], 1);
    assert!(
        added.text.contains("trusted list pid number 7: 1 providers, 1 roots"),
        "{}",
        added.text
    );
    let shown = desk.run(&["show", "eu"]).unwrap();
    let list = &shown.json["trusted_list"];
    assert_eq!((&list["sequence"], &list["list_type"]), (&json!(7), &json!("pid")));
    assert_eq!(list["signer_profile"], "either");
    assert_eq!(list["providers"][0]["identifier"], "NTRLU-B1");
    assert_eq!(list["providers"][0]["services"][0]["role"], "issuance");
    assert!(shown.text.contains("Example PID (NTRLU-B1, LU)"), "{}", shown.text);
    let checked = desk.run(&["check"]).unwrap();
    assert_eq!(checked.code, 0, "{:?}", checked.json);
}

#[test]
fn a_list_without_an_anchor_is_accepted_only_for_tests() {
    let mut desk = Fixture::new();
    let file = desk.list("list.jwt", &pid(7));
    let refused = desk.run(&["add", "eu", "--trusted-list", &file]).unwrap_err();
    assert_eq!(refused.code(), 2);
    assert!(refused.to_string().contains("--list-signer-ca"), "{refused}");
    let added = desk.run(&["add", "eu", "--trusted-list", &file, "--test"]).unwrap();
    assert_eq!(added.json["trusted_list"]["signer"]["known"], false);
    assert!(added.text.contains("anybody may have made it"));
    // A live list replaces a list for tests, even if it is older.
    let older = desk.take(&pid(3), &[]).unwrap();
    assert_eq!(older.json["trusted_list"]["test_only"], false);
    let refused = desk.run(&["add", "eu", "--trusted-list", &file, "--test"]).unwrap_err();
    assert!(refused.to_string().contains("would replace a live one"), "{refused}");
}

#[test]
fn a_forged_list_exits_with_3_and_an_unusable_list_with_1() {
    let mut desk = Fixture::new();
    let anchor = desk.anchor();
    let below = list_signer_below(&list_ca(NOW.0), "Example Operator", NOW.0);
    let forged = desk.file("forged", &pid(7).sign(&below));
    let stale = pid(7).scheme("NextUpdate", json!("2026-09-01T00:00:00Z"));
    let stale = desk.list("stale", &stale);
    let access =
        pid(7).scheme("LoTEType", json!("http://uri.etsi.org/19602/LoTEType/EUWRPACProvidersList"));
    let (access, xml) = (desk.list("access", &access), desk.file("xml", "<?xml ?>"));
    for (file, code, why) in [
        (&forged, 3, "has a signer that does not lead to --list-signer-ca"),
        (&stale, 1, "was due to be replaced on 2026-09-01T00:00:00.000Z"),
        (&access, 1, "is a list of access CAs, which issue no credentials"),
        (&xml, 1, "is XML of a version other than 1.0"),
    ] {
        let words = ["add", "eu", "--trusted-list", file, "--list-signer-ca", &anchor];
        let refused = desk.run(&words).unwrap_err();
        assert_eq!(
            (refused.code(), refused.to_string()),
            (code, format!("the trusted list {why}"))
        );
    }
    assert_eq!(desk.run(&["show", "eu"]).unwrap_err().code(), 4, "nothing was stored");
}

#[test]
fn a_bad_signature_exits_with_3_whatever_the_list_contains() {
    let mut desk = Fixture::new();
    let key = SigningKey::from_seed(Curve::P256, "somebody");
    let forger = Identity { key, ..list_signer(NOW.0) };
    let anchor = desk.anchor();
    for (list, more) in [
        (pid(7), &["--list-type", "mdl"][..]),
        (TrustedList::new(Kind::PubEaa, NOW.0), &[][..]),
        (TrustedList::new(Kind::Mdl, NOW.0), &["--vct", "urn:mdl:1"][..]),
    ] {
        let file = desk.file("forged", &list.sign(&forger));
        let words = ["add", "eu", "--trusted-list", &file, "--list-signer-ca", &anchor];
        let refused = desk.run(&[&words[..], more].concat()).unwrap_err();
        let why = "the trusted list has a signature that does not verify";
        assert_eq!((refused.code(), &*refused.to_string()), (3, why), "{more:?}");
    }
}

#[test]
fn an_older_list_is_refused_even_after_the_entry_was_removed() {
    let mut desk = Fixture::new();
    desk.take(&pid(7), &[]).unwrap();
    desk.take(&pid(8), &[]).unwrap();
    let refused = desk.take(&pid(7), &[]).unwrap_err();
    assert_eq!(refused.code(), 3);
    assert!(refused.to_string().contains("has number 7, and 8 was seen on"), "{refused}");
    let sha256 = desk.run(&["show", "eu"]).unwrap().json["trusted_list"]["sha256"].clone();
    let removed = desk.run(&["remove", "eu", "--sha256", sha256.as_str().unwrap()]).unwrap();
    assert_eq!(removed.json["materials"][0]["kind"], "trusted_list");
    desk.run(&["remove", "eu"]).unwrap();
    assert_eq!(desk.take(&pid(7), &[]).unwrap_err().code(), 3, "the mark is kept");
    desk.take(&pid(7), &["--accept-rollback"]).unwrap();
    let other = pid(7).scheme("SchemeName", json!([]));
    let refused = desk.take(&other, &[]).unwrap_err();
    assert!(refused.to_string().contains("has number 7 again with other content"), "{refused}");
    assert_eq!(desk.run(&["show", "eu"]).unwrap().json["trusted_list"]["sequence"], 7);
}

#[test]
fn the_type_and_the_organization_are_fixed_by_the_first_list() {
    let mut desk = Fixture::new();
    let ca = desk.dir.path().join("ca.der");
    std::fs::write(&ca, list_ca(NOW.0).der).unwrap();
    let ca = ca.to_str().unwrap().to_owned();
    let signed_by = |list: &TrustedList, organization: &str| {
        let names = json!([{ "lang": "en", "value": organization }]);
        let list = list.clone().scheme("SchemeOperatorName", names);
        list.sign(&list_signer_below(&list_ca(NOW.0), organization, NOW.0))
    };
    let first = desk.file("first", &signed_by(&pid(7), "Example Operator"));
    let customer = desk.file("customer", &signed_by(&pid(8), "Another Customer"));
    let mdl = signed_by(&TrustedList::new(Kind::Mdl, NOW.0).numbered(9), "Example Operator");
    let mdl = desk.file("mdl", &mdl);
    let add = |desk: &mut Fixture, file: &str| {
        desk.run(&["add", "eu", "--trusted-list", file, "--list-signer-ca", &ca])
    };
    add(&mut desk, &first).unwrap();
    let refused = add(&mut desk, &customer).unwrap_err();
    let why = "is signed for O=Another Customer, and this source is of O=Example Operator";
    assert_eq!((refused.code(), refused.to_string()), (3, format!("the trusted list {why}")));
    assert!(add(&mut desk, &mdl).is_err());
    assert_eq!(desk.run(&["show", "eu"]).unwrap().json["trusted_list"]["sequence"], 7);
}

#[test]
fn types_that_the_list_is_not_about_are_refused() {
    let mut desk = Fixture::new();
    let mdl = TrustedList::new(Kind::Mdl, NOW.0);
    assert_eq!(desk.take(&mdl, &["--vct", "urn:mdl:1"]).unwrap_err().code(), 2);
    assert_eq!(desk.take(&mdl, &["--doc-type", "a.b"]).unwrap_err().code(), 2);
    let public = TrustedList::new(Kind::PubEaa, NOW.0);
    let refused = desk.take(&public, &[]).unwrap_err();
    assert!(refused.to_string().contains("does not say what they issue"), "{refused}");
    let refused = desk.take(&pid(7), &["--list-type", "mdl"]).unwrap_err();
    assert!(refused.to_string().contains("is of the type pid, and mdl is asked for"), "{refused}");
    let added = desk.take(&mdl, &[]).unwrap();
    assert_eq!(added.json["doc_types"], json!(["org.iso.18013.5.1.mDL"]));
}

#[test]
fn check_warns_before_the_list_is_due_and_fails_after() {
    let mut desk = Fixture::new();
    desk.take(&pid(7), &[]).unwrap();
    let due = NOW.plus(89 * DAY_MS);
    let checked = desk.run_later(due.minus(14 * DAY_MS), &["check"]);
    assert!(!checked.warnings.iter().any(|one| one.contains("is due")), "{:?}", checked.warnings);
    let checked = desk.run_later(due.minus(13 * DAY_MS), &["check"]);
    let warned = checked.warnings.iter().any(|one| one.contains("is due to be replaced on"));
    assert!(warned && checked.code == 0, "{:?}", checked.warnings);
    let checked = desk.run_later(due, &["check"]);
    assert_eq!(checked.code, 3);
    assert!(texts(&checked.json["problems"]).contains("no longer trusted"), "{}", checked.json);
    desk.take(&pid(7), &["--allow-stale", "--signer-profile", "any"]).unwrap();
    let checked = desk.run_later(due, &["check"]);
    assert_eq!(checked.code, 0);
    for what in ["--allow-stale", "--signer-profile any"] {
        assert!(checked.warnings.iter().any(|one| one.contains(what)), "{what}");
    }
}

#[test]
fn check_fails_when_a_crl_for_the_signer_of_the_list_is_overdue() {
    let mut desk = Fixture::new();
    let (root, operator) = (list_ca(NOW.0), "Example Operator");
    let mut crl = Crl::new(
        &root.builder.subject.der(),
        &key_identifier(&root.key),
        &compact_utc(NOW.0 - DAY_MS),
        &compact_utc(NOW.0 + DAY_MS),
    );
    let list = desk.file("list", &pid(7).sign(&list_signer_below(&root, operator, NOW.0)));
    let path = |name: &str| desk.dir.path().join(name).to_str().unwrap().to_owned();
    let (ca, file) = (path("ca.der"), path("a.crl"));
    std::fs::write(&ca, &root.der).unwrap();
    let words = ["add", "eu", "--trusted-list", &list, "--list-signer-ca", &ca, "--crl", &file];
    let unnumbered = |output: &Output| {
        output.warnings.iter().any(|one| one.contains("has a CRL for its signer without CRLNumber"))
    };
    std::fs::write(&file, crl.sign(&root.key)).unwrap();
    assert!(!unnumbered(&desk.run(&words).unwrap()));
    assert_eq!(desk.run(&["check"]).unwrap().code, 0);
    let checked = desk.run_later(NOW.plus(2 * DAY_MS), &["check"]);
    let told = texts(&checked.json["problems"]);
    let why = "eu: a CRL for the signer of its trusted list was due to be replaced on";
    assert!(checked.code == 3 && told.contains(why), "{told}");
    // A newer CRL without CRLNumber.
    crl.next_update = Crl::new(&[], &[], "", &compact_utc(NOW.0 + 9 * DAY_MS)).next_update;
    crl.extensions.pop();
    std::fs::write(&file, crl.sign(&root.key)).unwrap();
    assert!(unnumbered(&desk.run(&words).unwrap()));
    assert_eq!(desk.run_later(NOW.plus(2 * DAY_MS), &["check"]).code, 0);
}

#[test]
fn check_warns_about_each_kind_of_certificate_that_providers_share() {
    let (root, status) =
        (Identity::issuer_root(Curve::P256, NOW.0), Identity::iaca(Curve::P256, NOW.0));
    let signer = status.document_signer(Curve::P256, NOW.0);
    let mut desk = Fixture::new();
    for (n, service) in [
        Kind::Pid.issuance(&[&root.der]),
        Kind::Pid.issuance(&[&signer.der]),
        Kind::Pid.revocation(&[&status.der]),
        Kind::Pid.revocation(&[&signer.der]),
    ]
    .into_iter()
    .enumerate()
    {
        let list = TrustedList::new(Kind::Pid, NOW.0).numbered(2 * n as u64 + 1);
        // One provider may have a certificate twice.
        let services = [service.clone(), service];
        let list = list.with(provider("One", "NTRLU-1", "LU", &services));
        let shared = list.clone().numbered(2 * n as u64 + 2);
        let shared = shared.with(provider("Two", "NTRLU-2", "LU", &services));
        for (list, expected) in [(list, false), (shared, true)] {
            desk.take(&list, &[]).unwrap();
            let warnings = desk.run(&["check"]).unwrap().warnings;
            let warned = |one: &String| one.contains("gives one certificate to several providers");
            assert_eq!(warnings.iter().any(warned), expected, "{n}: {warnings:?}");
        }
    }
}

#[test]
fn settings_of_a_list_change_without_a_new_list() {
    let mut desk = Fixture::new();
    let refused = desk.run(&["add", "eu", "--provider", "NTRLU-B1"]).unwrap_err();
    assert!(refused.to_string().contains("has no trusted list"), "{refused}");
    desk.take(&pid(7), &[]).unwrap();
    let changed = desk.run(&["add", "eu", "--provider", "NTRLU-X", "--signer-profile", "etsi"]);
    let changed = changed.unwrap().json;
    assert_eq!(changed["trusted_list"]["only_providers"], json!(["NTRLU-X"]));
    assert_eq!(changed["trusted_list"]["signer_profile"], "etsi");
    let record = desk.store.trust_entry("eu").unwrap().unwrap();
    assert!(record.entry().sd_jwt_roots.is_empty(), "no provider has this identifier");
}

#[test]
fn a_list_at_a_url_is_fetched_by_add_and_by_refresh() {
    let mut desk = Fixture::new();
    let anchor = desk.anchor();
    let url = "https://lists.example/pid.json";
    let run_with = |desk: &mut Fixture, words: &[&str], answer: Result<Vec<u8>, String>| {
        let line = Line::try_parse_from([&["trust"], words].concat()).unwrap();
        let fetch = move |asked: &str| {
            assert_eq!(asked, url);
            answer.clone()
        };
        run(line.command, &mut desk.store, &fetch, NOW)
    };
    let token = |number| Ok(pid(number).sign(&list_signer(NOW.0)).into_bytes());
    let add = ["add", "eu", "--trusted-list", url, "--list-signer-ca", &anchor, "--etsi-tl"];
    let failed = run_with(&mut desk, &add, Err("connect_failed".into())).unwrap_err();
    assert_eq!(failed.to_string(), format!("{url}: connect_failed"));
    let added = run_with(&mut desk, &add, token(7)).unwrap();
    assert_eq!(added.json["trusted_list"]["url"], url);
    let record = desk.store.trust_entry("eu").unwrap().unwrap();
    assert_eq!(record.entry().etsi_tl, [url]);
    for (answer, outcome, code) in [
        (token(8), "new", 0),
        (token(8), "same", 0),
        (token(7), "rollback", 3),
        (Ok(b"log in".to_vec()), "refused", 3),
        (Err("timeout".into()), "fetch_failed", 1),
    ] {
        let refreshed = run_with(&mut desk, &["refresh", "eu"], answer).unwrap();
        assert_eq!(refreshed.json["lists"][0]["outcome"], outcome);
        assert_eq!(refreshed.code, code);
    }
    let checked = desk.run(&["check"]).unwrap();
    let told = "could not be renewed 3 times: timeout";
    assert!(checked.warnings.iter().any(|one| one.contains(told)), "{:?}", checked.warnings);
    run_with(&mut desk, &["refresh", "--accept-rollback"], token(7)).unwrap();
    assert_eq!(desk.run(&["show", "eu"]).unwrap().json["trusted_list"]["sequence"], 7);
    let plain =
        ["add", "eu", "--trusted-list", "http://lists.example/", "--list-signer-ca", &anchor];
    assert_eq!(desk.run(&plain).unwrap_err().code(), 2);
}

#[test]
fn another_spelling_of_the_url_is_the_same_source() {
    let mut desk = Fixture::new();
    let anchor = desk.anchor();
    let mut add = |issuer_id: &str, url: &str, number| {
        let words = ["trust", "add", issuer_id, "--trusted-list", url, "--list-signer-ca", &anchor];
        let fetch = |asked: &str| {
            assert_eq!(asked, "https://lists.example/pid.json");
            Ok(pid(number).sign(&list_signer(NOW.0)).into_bytes())
        };
        run(Line::try_parse_from(words).unwrap().command, &mut desk.store, &fetch, NOW)
    };
    add("eu", "https://lists.example/pid.json", 8).unwrap();
    for url in [
        "https://LISTS.example/pid.json",
        "HTTPS://lists.example/pid.json",
        "https://lists.example:443/pid.json",
        "https://lists.example/a/../pid.json",
        "https://lists.example/pid.json#a",
    ] {
        let refused = add("other", url, 7).unwrap_err();
        assert!(refused.to_string().contains("has number 7, and 8 was seen on"), "{refused}");
        assert_eq!(refused.code(), 3);
    }
    let taken = add("other", "HTTPS://Lists.Example/pid.json", 8).unwrap();
    assert_eq!(taken.json["trusted_list"]["url"], "https://lists.example/pid.json");
    for url in ["https://lists.example:port/", "HTTP://lists.example/pid.json"] {
        assert_eq!(add("other", url, 9).unwrap_err().code(), 2, "{url}");
    }
}
