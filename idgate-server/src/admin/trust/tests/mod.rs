#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use clap::Parser;
use tempfile::TempDir;

use super::*;
use idgate_store::OperatorStore;

const NOW: UnixMillis = UnixMillis(1_790_000_000_000);
const P256: &str = r#"{"kty":"EC","crv":"P-256","kid":"one","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4","y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"}"#;
const OTHER: &str = r#"{"kty":"EC","crv":"P-256","kid":"two","x":"axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpY","y":"T-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU"}"#;

/// The fetch for commands that must not fetch anything.
fn nothing_is_fetched(_url: &str) -> Result<Vec<u8>, String> {
    Err("not expected".into())
}

#[derive(Parser)]
struct Line {
    #[command(subcommand)]
    command: TrustCommand,
}

struct Fixture {
    dir: TempDir,
    store: Box<OperatorStore>,
}

impl Fixture {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = OperatorStore::open(&dir.path().join("data"), None).unwrap();
        let store: Box<OperatorStore> = Box::new(store);
        Self { dir, store }
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn run(&mut self, words: &[&str]) -> Result<Output, Failure> {
        let line = Line::try_parse_from([&["trust"], words].concat()).unwrap();
        run(line.command, &mut self.store, &nothing_is_fetched, NOW)
    }
}

#[test]
fn adding_again_adds_material_and_replaces_named_attributes() {
    let mut desk = Fixture::new();
    let (one, two) = (desk.file("1", P256), desk.file("2", OTHER));
    let issuer = "https://issuer.example";
    let first =
        ["add", issuer, "--jwk", &one, "--vct", "urn:a", "--vct", "urn:b", "--claims", "x,y"];
    let made = desk.run(&first).unwrap();
    assert!(made.warnings.is_empty());
    assert_eq!(made.json["iss"], issuer);
    assert_eq!(made.json["vct"], json!(["urn:a", "urn:b"]));
    assert_eq!(made.json["claims"], json!(["x", "y"]));
    let again = ["add", issuer, "--jwk", &two, "--vct", "urn:c", "--country", "de", "--iss", "i"];
    let changed = desk.run(&again).unwrap().json;
    assert_eq!(changed["keys"].as_array().unwrap().len(), 2);
    assert_eq!(changed["vct"], json!(["urn:c"]));
    assert_eq!(changed["claims"], json!(["x", "y"]), "not named: kept");
    assert_eq!((&changed["country"], &changed["iss"]), (&json!("DE"), &json!("i")));
    assert_eq!(desk.run(&["show", issuer]).unwrap().json, changed);
    assert_eq!(desk.run(&["list"]).unwrap().json, json!({ "entries": [changed] }));
}

#[test]
fn on_unknown_revocation_is_shown_replaced_and_kept() {
    let mut desk = Fixture::new();
    let key = desk.file("1", P256);
    let made = desk.run(&["add", "bank", "--jwk", &key, "--vct", "v"]).unwrap();
    assert_eq!(made.json["on_unknown_revocation"], "refuse");
    assert!(!made.text.contains("unknown"), "{}", made.text);
    for choice in ["accept", "tenant"] {
        let changed = desk.run(&["add", "bank", "--on-unknown-revocation", choice]).unwrap();
        assert_eq!(changed.json["on_unknown_revocation"], choice);
        let line = format!("  on unknown revocation: {choice}\n");
        assert!(changed.text.contains(&line), "{}", changed.text);
        let kept = desk.run(&["add", "bank", "--vct", "w"]).unwrap();
        assert_eq!(kept.json["on_unknown_revocation"], choice);
        let notes = desk.run(&["check"]).unwrap().json["notes"].to_string();
        assert!(notes.contains("status list cannot be fetched are accepted"), "{notes}");
    }
    let entry = desk.store.trust_entry("bank").unwrap().unwrap().entry();
    assert_eq!(entry.on_unknown_revocation, OnUnknownRevocation::Tenant);
    for bad in ["maybe", "", "Accept", "off"] {
        let line = Line::try_parse_from(["trust", "add", "i", "--on-unknown-revocation", bad]);
        assert!(line.is_err(), "{bad}");
    }
}

#[test]
fn an_entry_that_demands_a_status_cannot_accept_an_unknown_one() {
    let mut desk = Fixture::new();
    let key = desk.file("1", P256);
    let (demand, accept) = (["--revocation", "required"], ["--on-unknown-revocation", "accept"]);
    let refused = desk
        .run(&[&["add", "bank", "--jwk", &key][..], &demand[..], &accept[..]].concat())
        .unwrap_err();
    assert!(refused.to_string().contains("exclude each other"), "{refused}");
    desk.run(&[&["add", "bank", "--jwk", &key][..], &demand[..]].concat()).unwrap();
    assert!(desk.run(&[&["add", "bank"][..], &accept[..]].concat()).is_err());
    let both = ["add", "bank", "--revocation", "if_published", "--on-unknown-revocation", "tenant"];
    assert_eq!(desk.run(&both).unwrap().json["on_unknown_revocation"], "tenant");
    assert!(desk.run(&[&["add", "bank"][..], &demand[..]].concat()).is_err());
    let refuse = ["--on-unknown-revocation", "refuse"];
    let changed = desk.run(&[&["add", "bank"][..], &demand[..], &refuse[..]].concat()).unwrap();
    assert_eq!(changed.json["revocation"], "required");
}

#[test]
fn attributes_alone_can_be_replaced_but_do_not_make_an_entry() {
    let mut desk = Fixture::new();
    let failure = desk.run(&["add", "bank", "--vct", "urn:a"]).unwrap_err();
    assert!(failure.to_string().contains("--jwk") && failure.code() == 1, "{failure}");
    let key = desk.file("1", P256);
    desk.run(&["add", "bank", "--jwk", &key]).unwrap();
    let changed = desk.run(&["add", "bank", "--revocation", "required"]).unwrap().json;
    assert_eq!(changed["revocation"], "required");
    assert_eq!(changed["keys"].as_array().unwrap().len(), 1);
}

#[test]
fn the_same_key_again_is_one_key_with_the_new_mode() {
    let mut desk = Fixture::new();
    let key = desk.file("1", P256);
    let test = desk.run(&["add", "bank", "--jwk", &key, "--test"]).unwrap().json;
    assert_eq!(test["keys"][0]["test_only"], true);
    let live = desk.run(&["add", "bank", "--jwk", &key]).unwrap().json;
    assert_eq!(live["keys"].as_array().unwrap().len(), 1);
    assert_eq!(live["keys"][0]["test_only"], false);
    assert_eq!(live["keys"][0]["kid"], "one");
}

#[test]
fn a_jwk_set_and_a_pem_file_are_material() {
    let mut desk = Fixture::new();
    let set = desk.file("set", &format!("{{\"keys\":[{P256},{OTHER}]}}"));
    let added = desk.run(&["add", "bank", "--jwk", &set]).unwrap().json;
    assert_eq!(added["keys"].as_array().unwrap().len(), 2);
    assert_eq!(added["keys"][1]["kid"], "two");
    let key = idgate_core::shell::Jwk::parse(P256.as_bytes()).unwrap().key;
    let pem = {
        use base64::Engine as _;
        let body = base64::engine::general_purpose::STANDARD.encode(key.spki_der());
        format!("-----BEGIN PUBLIC KEY-----\n{body}\n-----END PUBLIC KEY-----\n")
    };
    let pem = desk.file("pem", &pem);
    let added = desk.run(&["add", "other", "--public-key", &pem]).unwrap().json;
    assert_eq!(added["keys"][0]["alg"], "ES256");
    assert_eq!(added["keys"][0]["kid"], Value::Null);
}

#[test]
fn unusable_material_is_refused_with_its_file() {
    let mut desk = Fixture::new();
    let private = P256.replace("\"kid\":\"one\"", "\"d\":\"AAAA\"");
    let off_curve = P256.replace("4Etl", "4Etm");
    for (n, text) in [
        "",
        "[]",
        "{\"keys\":[]}",
        "{\"keys\":{}}",
        &private,
        &format!("{{\"keys\":[{P256},{private}]}}"),
        &off_curve,
        "{\"kty\":\"RSA\",\"n\":\"AQAB\",\"e\":\"AQAB\"}",
    ]
    .iter()
    .enumerate()
    {
        let file = desk.file(&format!("bad{n}"), text);
        let failure = desk.run(&["add", "bank", "--jwk", &file]).unwrap_err();
        assert_eq!(failure.code(), 1, "{text}");
        assert!(failure.to_string().contains(&file), "{failure}");
        assert!(desk.run(&["add", "bank", "--public-key", &file]).is_err(), "{text}");
    }
    let missing = desk.run(&["add", "bank", "--jwk", "/nonexistent/key"]).unwrap_err();
    assert!(missing.to_string().contains("/nonexistent/key"));
    assert!(desk.run(&["list"]).unwrap().json["entries"].as_array().unwrap().is_empty());
}

#[test]
fn an_entry_without_vct_is_warned_about() {
    let mut desk = Fixture::new();
    let key = desk.file("1", P256);
    let added = desk.run(&["add", "bank", "--jwk", &key, "--iss", "https://bank.example"]).unwrap();
    assert!(added.warnings[0].contains("--vct"));
    let checked = desk.run(&["check"]).unwrap();
    assert_eq!((checked.warnings.len(), checked.code), (1, 0));
}

#[test]
fn check_finds_shared_keys() {
    let mut desk = Fixture::new();
    let key = desk.file("1", P256);
    for issuer in ["bank", "shop"] {
        desk.run(&["add", issuer, "--jwk", &key, "--vct", "urn:a"]).unwrap();
    }
    let checked = desk.run(&["check"]).unwrap();
    let shared = checked.warnings.iter().filter(|text| text.starts_with("bank and shop share"));
    assert_eq!(shared.count(), 1, "{:?}", checked.warnings);
}

#[test]
fn an_unknown_entry_is_not_found() {
    let mut desk = Fixture::new();
    assert_eq!(desk.run(&["show", "none"]).unwrap_err().code(), 4);
    assert_eq!(desk.run(&["remove", "none"]).unwrap_err().code(), 4);
    let key = desk.file("1", P256);
    desk.run(&["add", "bank", "--jwk", &key]).unwrap();
    assert_eq!(desk.run(&["remove", "bank"]).unwrap().json["removed"], true);
    assert_eq!(desk.run(&["show", "bank"]).unwrap_err().code(), 4);
}

#[test]
fn names_that_cannot_be_shown_are_usage_errors() {
    let mut desk = Fixture::new();
    assert_eq!(desk.run(&["add", ""]).unwrap_err().code(), 2);
    assert_eq!(desk.run(&["add", "bank", "--vct", ""]).unwrap_err().code(), 2);
    assert_eq!(desk.run(&["add", "bank", "--claims", "a,,b"]).unwrap_err().code(), 2);
}

mod listed;
mod x509;
