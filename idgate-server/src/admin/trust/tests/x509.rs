//! X.509 material, with the sample issuer's certificates and with real lists. The real lists are in
//! the directory that `IDGATE_VECTORS` names, or in `shared/vectors` next to the repository.

use std::path::{Path, PathBuf};

use idgate_testkit::keys::Curve;
use idgate_testkit::status::Crl;
use idgate_testkit::x509::{EXT_KEY_USAGE, Identity, ext_key_usage, key_identifier};

use super::*;
use crate::config::{Environment, Quotas};
use idgate_store::wait::Wait as _;
use idgate_store::{Store, StoreOptions};

/// 2026-11-21T00:00:00Z
const TODAY: UnixMillis = UnixMillis(1_795_219_200_000);
/// 2025-11-19T00:00:00Z: within the VICAL's day.
const THAT_DAY: UnixMillis = UnixMillis(1_763_510_400_000);

impl Fixture {
    fn bytes(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.dir.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn run_at(&mut self, now: UnixMillis, words: &[&str]) -> Result<Output, Failure> {
        let line = Line::try_parse_from([&["trust"], words].concat()).unwrap();
        run(line.command, &mut self.store, &nothing_is_fetched, now)
    }

    /// Whether the entry `road` serves live mdoc sessions in `environment`.
    fn serves_live(&self, environment: Environment) -> bool {
        let options = StoreOptions { instance_key: None, environment, quotas: Quotas::default() };
        let store = Store::open(&self.dir.path().join("data"), options, NOW).unwrap();
        let trust = store.trust().wait().unwrap();
        let entry = trust.entry(&idgate_core::IssuerId::new("road")).unwrap();
        entry.roots_for(true).next().is_some() || entry.pinned_signers_for(true).next().is_some()
    }
}

fn iaca() -> Identity {
    Identity::iaca(Curve::P256, NOW.0)
}

fn crl(issuer: &Identity) -> Vec<u8> {
    let name = issuer.builder.subject.der();
    let identifier = key_identifier(&issuer.key);
    Crl::new(&name, &identifier, "20260101000000Z", "20260201000000Z").sign(&issuer.key)
}

fn vector(name: &str) -> Option<String> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/vectors");
    let vectors = std::env::var_os("IDGATE_VECTORS").map_or(beside, PathBuf::from);
    let path = vectors.join(name);
    if !path.exists() {
        eprintln!("skipped: no {name} under IDGATE_VECTORS");
        return None;
    }
    Some(path.to_str().unwrap().to_owned())
}

#[test]
fn a_root_serves_live_sessions_and_is_shown() {
    let mut desk = Fixture::new();
    let root = desk.bytes("root.der", &iaca().der);
    let words = ["add", "road", "--root", &root, "--country", "ut", "--eku", "1.2.3"];
    let added = desk.run(&words).unwrap();
    assert!(added.warnings.is_empty(), "--vct is for keys only");
    let shown = &added.json["roots"][0];
    assert_eq!((&shown["key"], &shown["origin"]), (&json!("P-256"), &json!("root_file")));
    assert_eq!((&shown["expired"], &added.json["ekus"]), (&json!(false), &json!(["1.2.3"])));
    assert!(desk.serves_live(Environment::Production));
    desk.run(&["add", "road", "--country", "de"]).unwrap();
    assert!(!desk.serves_live(Environment::Production), "the root is of another country");
}

#[test]
fn a_root_for_tests_serves_no_live_session() {
    let mut desk = Fixture::new();
    let root = desk.bytes("root.der", &iaca().der);
    desk.run(&["add", "road", "--root", &root, "--test"]).unwrap();
    assert!(!desk.serves_live(Environment::Development));
}

#[test]
fn a_pinned_signer_serves_live_sessions_in_development_only() {
    let mut desk = Fixture::new();
    let signer = iaca().document_signer(Curve::P256, NOW.0);
    let signer = desk.bytes("signer.der", &signer.der);
    let added = desk.run(&["add", "road", "--pinned-signer", &signer]).unwrap();
    assert_eq!(added.json["pinned_signers"][0]["expired"], false);
    assert!(desk.serves_live(Environment::Development));
    assert!(!desk.serves_live(Environment::Staging));
    assert!(!desk.serves_live(Environment::Production));
}

#[test]
fn a_document_signer_is_not_accepted_as_a_root() {
    let mut desk = Fixture::new();
    let signer = iaca().document_signer(Curve::P256, NOW.0);
    let file = desk.bytes("signer.der", &signer.der);
    let failure = desk.run(&["add", "road", "--root", &file]).unwrap_err();
    assert!(failure.to_string().contains(&file), "{failure}");
}

#[test]
fn a_crl_needs_its_root() {
    let mut desk = Fixture::new();
    let other = iaca().rolled_over("another root", NOW.0).0;
    let list = desk.bytes("crl", &crl(&iaca()));
    let wrong = desk.bytes("other.der", &other.der);
    assert!(desk.run(&["add", "road", "--root", &wrong, "--crl", &list]).is_err());
    assert!(desk.run(&["list"]).unwrap().json["entries"].as_array().unwrap().is_empty());
    let root = desk.bytes("root.der", &iaca().der);
    let added = desk.run(&["add", "road", "--root", &root, "--crl", &list]).unwrap();
    assert_eq!(added.json["crls"][0]["next_update"], "2026-02-01T00:00:00.000Z");
    let checked = desk.run(&["check"]).unwrap();
    assert_eq!(checked.code, 3, "it is out of date: {:?}", checked.json);
}

#[test]
fn check_finds_expired_and_soon_expiring_roots() {
    let mut desk = Fixture::new();
    let root = desk.bytes("root.der", &iaca().der);
    desk.run(&["add", "road", "--root", &root, "--doc-type", "mDL"]).unwrap();
    let end = iaca().builder.not_after_ms;
    let soon = desk.run_at(UnixMillis(end - 86_400_000), &["check"]).unwrap();
    assert_eq!((soon.code, soon.warnings.len()), (0, 1));
    let late = desk.run_at(UnixMillis(end + 86_400_000), &["check"]).unwrap();
    assert_eq!(late.code, 3);
}

#[test]
fn a_list_without_signer_ca_is_for_tests_only() {
    let Some(list) = vector("icao-masterlist/icao-ml-2025-07.ml") else { return };
    let mut desk = Fixture::new();
    let add = ["add", "road", "--master-list", &list];
    assert_eq!(desk.run_at(TODAY, &add).unwrap_err().code(), 2);
    let added = desk.run_at(TODAY, &[&add[..], &["--test"]].concat()).unwrap();
    let import = &added.json["imports"][0];
    assert_eq!((&import["total"], &import["expired"]), (&json!(520), &json!(142)));
    assert_eq!(import["signer"], "unknown");
    assert!(added.text.contains("its signer is unknown"), "{}", added.text);
    let mut changed = std::fs::read(&list).unwrap();
    changed[400_000] ^= 1;
    let changed = desk.bytes("changed.ml", &changed);
    let refused =
        desk.run_at(TODAY, &["add", "r", "--master-list", &changed, "--test"]).unwrap_err();
    assert!(refused.to_string().contains("did not sign"), "{refused}");
    assert_eq!(import["certificates"].as_array().unwrap().len(), 520);
    assert_eq!(import["added"], added.json["roots"].as_array().unwrap().len());
    assert!(!desk.serves_live(Environment::Development));
    let again = desk.run_at(TODAY, &[&add[..], &["--test"]].concat()).unwrap();
    let import = &again.json["imports"][0];
    assert_eq!((import["added"].as_u64(), import["removed"].as_u64()), (Some(0), Some(0)));
}

#[test]
fn a_vical_is_imported_when_fresh_and_refused_when_stale() {
    let Some(vical) = vector("vical/aamva-vical-2025-11-18.cbor") else { return };
    let ca = vector("vical/aamva_ca_root.crt").unwrap();
    let mut desk = Fixture::new();
    let add = ["add", "road", "--vical", &vical, "--vical-signer-ca", &ca];
    let soon = THAT_DAY.plus(2 * 86_400_000);
    let stale = desk.run_at(soon, &add).unwrap_err();
    assert!(stale.to_string().contains("stale"), "{stale}");
    let ended = desk.run_at(TODAY, &[&add[..], &["--allow-stale"]].concat()).unwrap_err();
    assert!(ended.to_string().contains("outside its validity period"), "{ended}");
    desk.run_at(soon, &[&add[..], &["--allow-stale"]].concat()).unwrap();
    let added = desk.run_at(THAT_DAY, &add).unwrap();
    let roots = added.json["roots"].as_array().unwrap();
    assert_eq!(roots.len(), 14);
    assert_eq!(roots[0]["doc_types"], json!(["org.iso.18013.5.1.mDL"]));
    assert_eq!(added.json["imports"][0]["signer"], "known");
    assert!(desk.serves_live(Environment::Production));
    let mut damaged = std::fs::read(&vical).unwrap();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    let damaged = desk.bytes("damaged", &damaged);
    let words = ["add", "road", "--vical", &damaged, "--vical-signer-ca", &ca];
    assert!(desk.run_at(THAT_DAY, &words).is_err());
    let test = desk.run_at(THAT_DAY, &["add", "road", "--vical", &vical, "--test"]).unwrap_err();
    assert!(test.to_string().contains("live one"), "{test}");
}

#[test]
fn an_older_list_is_refused_and_the_new_one_replaces_the_former() {
    let Some(vical) = vector("vical/aamva-vical-2025-11-18.cbor") else { return };
    let file = std::fs::read(&vical).unwrap();
    let provider = idgate_core::crypto::aws_lc_rs::PROVIDER;
    let read = || idgate_core::shell::import_vical(&provider, &file, None, true, TODAY).unwrap();
    let change = |list| TrustChange {
        lists: vec![idgate_store::NewList {
            origin: idgate_core::shell::RootOrigin::Vical,
            list,
            sha256: [0; 32],
        }],
        ..TrustChange::default()
    };
    let mut desk = Fixture::new();
    desk.store.add_trust("road", &change(read()), NOW).unwrap().unwrap();
    let mut older = read();
    older.signed_at = older.signed_at.map(|at| UnixMillis(at.0 - 1));
    let refused = desk.store.add_trust("road", &change(older), NOW).unwrap_err();
    assert!(refused.to_string().contains("older"), "{refused}");
    let mut newer = read();
    newer.signed_at = newer.signed_at.map(|at| UnixMillis(at.0 + 1));
    newer.roots.truncate(3);
    let record = desk.store.add_trust("road", &change(newer), NOW).unwrap().unwrap();
    assert_eq!(record.roots.len(), 3);
}

fn issuer_root() -> Identity {
    Identity::issuer_root(Curve::P256, NOW.0)
}

#[test]
fn a_root_for_sd_jwts_is_shown_separately_and_removed_by_its_hash() {
    let mut desk = Fixture::new();
    let root = desk.bytes("root.der", &issuer_root().der);
    let signer = issuer_root().issuer_of_sd_jwts(&iaca().key, NOW.0);
    let signer = desk.bytes("signer.der", &signer.der);
    let words = ["add", "road", "--sd-jwt-root", &root, "--sd-jwt-signer", &signer, "--vct", "v"];
    let added = desk.run(&[&words[..], &["--iss", "i"]].concat()).unwrap();
    assert!(added.warnings.is_empty(), "{:?}", added.warnings);
    let shown = &added.json;
    assert_eq!((&shown["roots"], &shown["pinned_signers"]), (&json!([]), &json!([])));
    let (root, signer) = (&shown["sd_jwt_roots"][0], &shown["sd_jwt_signers"][0]);
    assert_eq!(
        (&root["subject"], &root["expired"]),
        (&json!("CN=Utopia issuers,C=UT"), &json!(false))
    );
    assert!(
        added.text.contains("SD-JWT root: CN=Utopia issuers")
            && added.text.contains("SD-JWT signer:")
    );
    for (material, kind) in [(root, "sd_jwt_root"), (signer, "sd_jwt_signer")] {
        let hash = material["sha256"].as_str().unwrap();
        let removed = desk.run(&["remove", "road", "--sha256", hash]).unwrap();
        assert_eq!(removed.json["materials"][0]["kind"], kind);
    }
    assert_eq!(desk.run(&["show", "road"]).unwrap().json["sd_jwt_roots"], json!([]));
    let checked = desk.run(&["check"]).unwrap();
    assert_eq!(checked.code, 3, "nothing is left: {:?}", checked.json);
}

/// The file of an issuer's certificate for these purposes.
fn issuer_for(desk: &Fixture, usages: &[&str]) -> String {
    let signer = issuer_root().issuer_of_sd_jwts(&iaca().key, NOW.0).builder;
    let signer = signer.set(EXT_KEY_USAGE, true, ext_key_usage(usages));
    desk.bytes("issuer.der", &signer.sign(&issuer_root().key))
}

#[test]
fn sd_jwt_ekus_are_shown_replaced_and_kept() {
    let mut desk = Fixture::new();
    let root = desk.bytes("root.der", &issuer_root().der);
    let added = desk.run(&["add", "road", "--sd-jwt-root", &root, "--vct", "v"]).unwrap();
    assert_eq!(added.json["sd_jwt_ekus"], json!([]));
    assert!(!added.text.contains("ekus"), "{}", added.text);
    let words = ["add", "road", "--sd-jwt-eku", "1.2.3", "--sd-jwt-eku", "2.5.29.37.0"];
    let added = desk.run(&words).unwrap();
    assert_eq!(added.json["sd_jwt_ekus"], json!(["1.2.3", "2.5.29.37.0"]));
    assert!(added.text.contains("SD-JWT ekus: 1.2.3, 2.5.29.37.0"), "{}", added.text);
    assert_eq!(added.json["ekus"], json!(["1.0.18013.5.1.2"]), "those of mdocs are others");
    let kept = desk.run(&["add", "road", "--vct", "w"]).unwrap();
    assert_eq!(kept.json["sd_jwt_ekus"], json!(["1.2.3", "2.5.29.37.0"]));
    assert_eq!(desk.store.trust_entry("road").unwrap().unwrap().entry().sd_jwt_ekus.len(), 2);
    let replaced = desk.run(&["add", "road", "--sd-jwt-eku", "1.2.4"]).unwrap();
    assert_eq!(replaced.json["sd_jwt_ekus"], json!(["1.2.4"]));
    for bad in ["x", "", "1", "1.2.", "3.1", "1.40"] {
        let line = Line::try_parse_from(["trust", "add", "i", "--sd-jwt-eku", bad]);
        assert!(line.is_err(), "{bad}");
    }
}

#[test]
fn check_says_which_list_decides_for_an_mdoc_with_two() {
    let mut desk = Fixture::new();
    let root = desk.bytes("root.der", &iaca().der);
    let sd_jwt_root = desk.bytes("issuers.der", &issuer_root().der);
    desk.run(&["add", "road", "--root", &root, "--doc-type", "mDL"]).unwrap();
    desk.run(&["add", "town", "--sd-jwt-root", &sd_jwt_root, "--vct", "v", "--iss", "i"]).unwrap();
    let checked = desk.run(&["check"]).unwrap();
    assert_eq!(checked.code, 0, "{checked:?}");
    let notes = checked.json["notes"].as_array().unwrap();
    assert_eq!(notes.len(), 1, "of entries with mdocs: {notes:?}");
    let note = notes[0].as_str().unwrap();
    assert!(note.starts_with("road: ") && note.contains("only the status list is used"), "{note}");
    assert!(note.contains("revocation_unknown") && checked.text.contains(note), "{checked:?}");
    desk.run(&["add", "road", "--revocation", "off"]).unwrap();
    assert_eq!(desk.run(&["check"]).unwrap().json["notes"], json!([]), "nothing is asked");
}

#[test]
fn the_eu_av_preset_sets_options_that_are_not_given() {
    let mut desk = Fixture::new();
    let root = desk.bytes("root.der", &iaca().der);
    let added = desk.run(&["add", "eu-av", "--preset", "eu-av", "--root", &root]).unwrap();
    assert_eq!(added.json["doc_types"], json!(["eu.europa.ec.av.1"]));
    assert_eq!(added.json["namespaces"], json!(["eu.europa.ec.av.1"]));
    assert_eq!(added.json["claims"], json!(["age_over_18"]));
    assert_eq!(added.json["revocation"], "if_published");
    let own = ["--claims", "age_over_16", "--revocation", "off"];
    let add = ["add", "other", "--preset", "eu-av", "--root", &root];
    let added = desk.run(&[&add[..], &own].concat()).unwrap();
    assert_eq!(added.json["claims"], json!(["age_over_16"]));
    assert_eq!(added.json["revocation"], "off");
    // Of an entry that is there it changes nothing.
    let more = desk.run(&["add", "other", "--preset", "eu-av", "--country", "UT"]).unwrap();
    assert_eq!(
        (&more.json["claims"], &more.json["revocation"]),
        (&json!(["age_over_16"]), &"off".into())
    );
    assert!(Line::try_parse_from(["trust", "add", "i", "--preset", "us-av"]).is_err());
}

/// The two roots of the European age app.
#[test]
fn check_names_roots_whose_issuer_alt_name_is_skipped() {
    let vectors = std::env::var_os("IDGATE_VECTORS")
        .map_or_else(|| PathBuf::from("../../shared/vectors"), PathBuf::from);
    let folder = vectors.join("eu-av");
    if !folder.exists() {
        eprintln!("skipped: no eu-av under IDGATE_VECTORS");
        return;
    }
    let mut desk = Fixture::new();
    for name in ["av_issuer_ca01.pem", "av_issuer_iaca_01_eu.pem"] {
        let root = folder.join(name);
        let root = root.to_str().unwrap();
        let add = ["add", "eu-av", "--test", "--root", root, "--doc-type", "eu.europa.ec.av.1"];
        desk.run(&add).unwrap();
    }
    let checked = desk.run(&["check"]).unwrap();
    let notes = checked.json["notes"].as_array().unwrap().iter();
    let named = notes.filter(|note| note.as_str().unwrap().contains("issuerAltName (2.5.29.18)"));
    assert_eq!(named.count(), 2, "{checked:?}");
}

#[test]
fn check_names_sd_jwt_signers_refused_for_their_key_usages() {
    let mut desk = Fixture::new();
    let signer = issuer_for(&desk, &["1.3.6.1.5.5.7.3.1"]);
    let add = ["add", "road", "--sd-jwt-signer", &signer, "--vct", "v", "--iss", "i"];
    let told = "road: SD-JWT signer CN=Utopia registry,C=UT has only extended key usages";
    let added = desk.run(&add).unwrap();
    assert!(added.warnings.iter().any(|warning| warning.starts_with(told)), "{added:?}");
    let checked = desk.run(&["check"]).unwrap();
    assert_eq!((checked.code, &checked.json["warnings"]), (3, &json!([])), "{checked:?}");
    let problem = checked.json["problems"][0].as_str().unwrap();
    assert!(problem.starts_with(told) && problem.contains("--sd-jwt-eku"), "{problem}");
    let named = desk.run(&["add", "road", "--sd-jwt-eku", "1.3.6.1.5.5.7.3.1"]).unwrap();
    assert!(named.warnings.is_empty(), "{named:?}");
    assert_eq!(desk.run(&["check"]).unwrap().code, 0);
    desk.run(&["add", "road", "--sd-jwt-eku", "1.2.3"]).unwrap();
    let checked = desk.run(&["check"]).unwrap();
    let problem = checked.json["problems"][0].as_str().unwrap();
    assert!(problem.contains("has none of the extended key usages"), "{problem}");
}

#[test]
fn an_entry_of_sd_jwt_roots_serves_live_sd_jwts_but_not_mdocs() {
    let mut desk = Fixture::new();
    let root = desk.bytes("root.der", &issuer_root().der);
    desk.run(&["add", "road", "--sd-jwt-root", &root]).unwrap();
    assert!(!desk.serves_live(Environment::Production));
    let record = desk.store.trust_entry("road").unwrap().unwrap();
    assert!(record.serves_sd_jwts() && !record.serves_mdocs());
    assert_eq!(record.entry().sd_jwt_roots_for(true).count(), 1);
    desk.run(&["add", "road", "--sd-jwt-root", &root, "--test"]).unwrap();
    let record = desk.store.trust_entry("road").unwrap().unwrap();
    assert_eq!((record.sd_jwt_roots.len(), record.entry().sd_jwt_roots_for(true).count()), (1, 0));
}

#[test]
fn check_names_an_entry_of_sd_jwt_roots_without_vct_and_roots_that_end() {
    let mut desk = Fixture::new();
    let key = issuer_root().key;
    let root = issuer_root().builder;
    let ends = |days: u64| root.clone().with(|own| own.not_after_ms = NOW.0 + days * 86_400_000);
    let soon = desk.bytes("soon.der", &ends(20).sign(&key));
    let added = desk.run(&["add", "road", "--sd-jwt-root", &soon]).unwrap();
    assert!(added.warnings.iter().any(|warning| warning.contains("--vct")), "{:?}", added.warnings);
    let checked = desk.run(&["check"]).unwrap();
    let warnings = checked.warnings.join("\n");
    for part in ["no --vct", "iss: not compared", "SD-JWT root CN=Utopia issuers,C=UT ends on"] {
        assert!(warnings.contains(part), "{part}: {warnings}");
    }
    assert_eq!(checked.code, 0);
    let later = UnixMillis(NOW.0 + 21 * 86_400_000);
    let checked = desk.run_at(later, &["check"]).unwrap();
    let problems = checked.json["problems"].to_string();
    assert!(problems.contains("SD-JWT root") && problems.contains("every root is expired"));
    assert_eq!(checked.code, 3);
}

#[test]
fn aki_and_device_response_documents_are_replaced_and_kept() {
    let mut desk = Fixture::new();
    let root = desk.bytes("root.der", &issuer_root().der);
    let of = |output: &Output| {
        (output.json["aki"].clone(), output.json["device_response_documents"].clone())
    };
    let added = desk.run(&["add", "road", "--sd-jwt-root", &root]).unwrap();
    assert_eq!(of(&added), (json!(false), json!("one")));
    let words = ["add", "road", "--aki", "--device-response-documents", "any"];
    assert_eq!(of(&desk.run(&words).unwrap()), (json!(true), json!("any")));
    let kept = desk.run(&["add", "road", "--vct", "v"]).unwrap();
    assert_eq!(of(&kept), (json!(true), json!("any")));
    let words = ["add", "road", "--aki=false", "--device-response-documents", "one"];
    assert_eq!(of(&desk.run(&words).unwrap()), (json!(false), json!("one")));
    assert!(
        Line::try_parse_from(["trust", "add", "i", "--device-response-documents", "2"]).is_err()
    );
}

#[test]
fn claim_paths_are_shown_replaced_and_kept() {
    let mut desk = Fixture::new();
    let key = desk.file("1", P256);
    let (city, all) = (r#"city=["address","locality"]"#, r#"countries=["nationalities",null]"#);
    let add = ["add", "road", "--jwk", &key, "--claim-path", city, "--claim-path", all];
    let added = desk.run(&add).unwrap();
    let shown = json!({ "city": ["address", "locality"], "countries": ["nationalities", null] });
    assert_eq!(added.json["claim_paths"], shown);
    assert!(added.text.contains(r#"claim path: city = ["address","locality"]"#), "{}", added.text);
    let kept = desk.run(&["add", "road", "--vct", "v"]).unwrap();
    assert_eq!(kept.json["claim_paths"], shown);
    let entry = desk.store.trust_entry("road").unwrap().unwrap().entry();
    assert_eq!(entry.claim_paths.len(), 2);
    let replaced = desk.run(&["add", "road", "--claim-path", r#"city=["town"]"#]).unwrap();
    assert_eq!(replaced.json["claim_paths"], json!({ "city": ["town"] }));
    for bad in [r#"["a"]"#, "city=", "city=town", r#"city=["a",0]"#, "city=[null]", "city=[]"] {
        let line = Line::try_parse_from(["trust", "add", "i", "--claim-path", bad]);
        assert!(line.is_err(), "{bad}");
    }
    for bad in [[r#"a-b=["a"]"#, city], [city, city], [r#"=["a"]"#, city]] {
        let add = ["add", "road", "--claim-path", bad[0], "--claim-path", bad[1]];
        assert_eq!(desk.run(&add).unwrap_err().code(), 2, "{bad:?}");
    }
}

#[test]
fn check_warns_about_issuers_that_aki_leaves_out() {
    let mut desk = Fixture::new();
    let root = desk.bytes("root.der", &issuer_root().der);
    desk.run(&["add", "road", "--sd-jwt-root", &root, "--aki"]).unwrap();
    let warnings = |desk: &mut Fixture| desk.run(&["check"]).unwrap().warnings.join("\n");
    assert!(!warnings(&mut desk).contains("--aki"));
    let key = desk.file("1", P256);
    desk.run(&["add", "road", "--jwk", &key]).unwrap();
    assert!(warnings(&mut desk).contains("may not find"));
    for n in 0..10 {
        let key = idgate_testkit::keys::SigningKey::from_seed(Curve::P256, format!("{n}"));
        let name = idgate_testkit::x509::Name::new("UT", "Many");
        let root = idgate_testkit::x509::CertificateBuilder::issuer_root(name, &key, NOW.0);
        let root = desk.bytes("another.der", &root.sign(&key));
        desk.run(&["add", "road", "--sd-jwt-root", &root]).unwrap();
    }
    assert!(warnings(&mut desk).contains("more than 10 roots"));
}

#[test]
fn a_crl_of_a_root_for_sd_jwts_is_accepted() {
    let mut desk = Fixture::new();
    let root = desk.bytes("root.der", &issuer_root().der);
    let list = desk.bytes("crl", &crl(&issuer_root()));
    let added = desk.run(&["add", "road", "--sd-jwt-root", &root, "--crl", &list]).unwrap();
    assert_eq!(added.json["crls"][0]["next_update"], "2026-02-01T00:00:00.000Z");
}
