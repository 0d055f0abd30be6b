//! Proof-of-age providers from the Commission's age list, which is in XML.

use idgate_testkit::samples;
use idgate_testkit::trusted_list::{Kind, TrustedList, list_signer};
use idgate_testkit::xml_list::{GRANTED, PAA, XmlKind, XmlList, provider, service};
use serde_json::json;

use super::{AGE, answered, asked, proof};
use crate::server::{Installation, Output};
use crate::tenant::{Gateway, now_ms, sample_trust};

/// Runs `trust add eu-av --preset eu-av` with that list.
fn add(installation: &Installation, list: &str, signer: &[u8]) -> Output {
    let list = installation.file("age-list.xml", list);
    let signer = installation.file("age-list-signer.der", signer);
    let [list, signer] = [&list, &signer].map(|path| path.to_str().unwrap());
    let add = ["trust", "add", "eu-av", "--preset", "eu-av", "--trusted-list", list];
    installation.run(&[&add[..], &["--list-signer-ca", signer, "--json"]].concat())
}

fn age_list(services: &[String]) -> XmlList {
    XmlList::new(XmlKind::Age, now_ms()).with(provider("Utopia ages", "NTRUT-9", "UT", services))
}

#[test]
fn a_proof_of_age_from_a_listed_provider_is_verified_and_names_it() {
    let installation = Installation::new()
        .with("IDGATE_BASE_URL", "https://gateway.example")
        .with("IDGATE_PROFILES", "draft,1.0");
    let signer = list_signer(now_ms());
    let root = samples::issue_mdl(now_ms()).root.der;
    let list = age_list(&[service(PAA, GRANTED, &[&root])]).sign(&signer);
    let added = add(&installation, &list, &signer.der);
    assert_eq!(added.code, 0, "{added:?}");
    let shown = installation.run_json(&["trust", "show", "eu-av", "--json"]);
    assert_eq!(shown["trusted_list"]["list_type"], "av", "{shown}");
    assert_eq!(shown["doc_types"], json!([AGE]), "{shown}");
    let gateway = Gateway::trusting(installation, &sample_trust());
    let created = gateway.tenant().create(&asked());
    let session = answered(&gateway, &created, &proof(true));
    assert_eq!(session["status"], "VERIFIED", "{session}");
    assert_eq!(
        session["verification_details"]["credentials"][0]["provider"],
        json!({ "name": "Utopia ages", "identifier": "NTRUT-9", "country": "UT",
            "list_type": "av", "list_sequence": 7 })
    );
}

#[test]
fn an_empty_age_list_is_accepted_and_trusts_no_provider() {
    let installation = Installation::new();
    let signer = list_signer(now_ms());
    let added =
        add(&installation, &XmlList::new(XmlKind::Age, now_ms()).sign(&signer), &signer.der);
    assert_eq!(added.code, 0, "{added:?}");
    assert_eq!(added.json()["roots"], json!([]), "{added:?}");
    let checked = installation.run(&["trust", "check"]);
    assert!(format!("{checked:?}").contains("names no provider"), "{checked:?}");
}

#[test]
fn the_proof_of_age_preset_accepts_only_the_age_list() {
    let installation = Installation::new();
    let signer = list_signer(now_ms());
    let pid = TrustedList::new(Kind::Pid, now_ms()).sign(&signer);
    let refused = add(&installation, &pid, &signer.der);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("is of the type pid, and av is asked for"), "{refused:?}");
    assert_eq!(installation.run(&["trust", "show", "eu-av"]).code, 4, "nothing was stored");
}
