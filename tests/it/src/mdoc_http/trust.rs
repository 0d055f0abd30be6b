//! Operators add and remove trust material while the server runs.

use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::samples::{self, ISSUER};
use idgate_testkit::status::Crl;
use idgate_testkit::time::{DAY_MS, compact_utc};
use idgate_testkit::wallet::Wallet;
use idgate_testkit::x509::{CRL_DISTRIBUTION_POINTS, CertificateBuilder, Name, key_identifier};
use serde_json::{Value, json};

use super::desk::{Desk, add_root};
use crate::mdoc_tamper::{Authority, ISSUER_ID, VERIFIED, mdl_request};
use crate::server::Installation;
use crate::tenant::{Gateway, form, now_ms, request_for, sample_wallet};

/// A CRL of the sample root that revokes nothing and has no CRLNumber.
pub(super) fn unnumbered(authority: &Authority) -> Vec<u8> {
    let root = &authority.root;
    let (issuer, identifier) = (root.builder.subject.der(), key_identifier(&root.key));
    let [made, next] = [now_ms() - DAY_MS / 2, now_ms() + DAY_MS].map(compact_utc);
    let mut crl = Crl::new(&issuer, &identifier, &made, &next);
    crl.extensions.pop();
    crl.sign(&root.key)
}

fn show(installation: &Installation, issuer_id: &str) -> Value {
    installation.run(&["trust", "show", issuer_id, "--json"]).json()
}

fn sha256(material: &Value) -> &str {
    material["sha256"].as_str().unwrap()
}

#[test]
fn an_issuer_key_can_be_replaced_without_a_gap() {
    let gateway = Gateway::start();
    let installation = &gateway.installation;
    let old = show(installation, ISSUER);
    assert_eq!(old["keys"].as_array().unwrap().len(), 1);
    let next = SigningKey::from_seed(Curve::P256, "the next key");
    let file = installation.file("next.jwk", next.public_jwk().to_string());
    let add = ["trust", "add", ISSUER, "--jwk", file.to_str().unwrap()];
    assert_eq!(installation.run(&add).code, 0);
    assert_eq!(show(installation, ISSUER)["keys"].as_array().unwrap().len(), 2);
    let hash = sha256(&old["keys"][0]);
    let removed = installation.run(&["trust", "remove", ISSUER, "--sha256", hash, "--json"]).json();
    let material = json!([{ "kind": "key", "sha256": hash, "roots": 0 }]);
    assert_eq!((&removed["removed"], &removed["materials"]), (&json!(true), &material));
    let shown = show(installation, ISSUER);
    assert_eq!(shown["keys"].as_array().unwrap().len(), 1);
    assert_eq!((&shown["vct"], &shown["claims"]), (&old["vct"], &old["claims"]), "all else stays");
    let again = installation.run(&["trust", "remove", ISSUER, "--sha256", hash]);
    assert_eq!(again.code, 4, "{again:?}");
    // From the next request on, credentials signed with the old key are rejected and those with the
    // new key accepted.
    let mut tenant = gateway.tenant();
    let request = request_for(&["given_name"]);
    let created = tenant.create(&request);
    let by_the_old = form(&sample_wallet(), &created);
    tenant.post_answer(&created.id, &by_the_old).expect_error(400, "invalid_presentation");
    tenant.expect_failed(&created, "issuer_signature_invalid");
    let holder = samples::holder_key(Curve::P256);
    let credential = samples::identity(&holder, now_ms()).issue(&next);
    tenant.verified(&request, &Wallet::new(holder).with(credential));
}

#[test]
fn a_root_is_removed_by_its_hash_with_its_crl_and_nothing_else() {
    let installation = Installation::new();
    let client = installation.create_client("shop", true);
    let authority = Authority::new(now_ms());
    let file = installation.file("iaca.crl", unnumbered(&authority));
    add_root(&installation, &authority, &["--crl", file.to_str().unwrap(), "--doc-type", "x"]);
    let key = SigningKey::from_seed(Curve::P256, "another root");
    let other = CertificateBuilder::iaca_root(Name::new("UT", "Other"), &key, now_ms());
    let file = installation.file("other.der", other.self_sign(&key).der);
    let add = ["trust", "add", ISSUER_ID, "--root", file.to_str().unwrap()];
    assert_eq!(installation.run(&add).code, 0);
    let doc_type = ["trust", "add", ISSUER_ID, "--doc-type", "org.iso.18013.5.1.mDL"];
    assert_eq!(installation.run(&doc_type).code, 0);
    let mut desk = Desk::serve(installation, client, authority);
    let outcome = |desk: &mut Desk| {
        desk.outcome_of(|scenario| {
            scenario.certify(|c| c.without(CRL_DISTRIBUTION_POINTS));
        })
    };
    assert_eq!(outcome(&mut desk), VERIFIED);
    let installation = &desk.gateway.installation;
    let root = desk.authority.root_sha256();
    let hash = root.to_uppercase();
    let removed = installation.run(&["trust", "remove", ISSUER_ID, "--sha256", &hash, "--json"]);
    let removed = removed.json();
    let kinds: Vec<&Value> =
        removed["materials"].as_array().unwrap().iter().map(|one| &one["kind"]).collect();
    assert_eq!(kinds, ["root_file", "crl"]);
    let shown = show(installation, ISSUER_ID);
    assert_eq!(shown["roots"].as_array().unwrap().len(), 1);
    assert_eq!(shown["crls"], json!([]));
    assert_eq!(outcome(&mut desk), "chain_invalid");
    let installation = &desk.gateway.installation;
    for bad in ["", "xyz", &root[1..], "-1"] {
        let remove = ["trust", "remove", ISSUER_ID, "--sha256", bad];
        assert_eq!(installation.run(&remove).code, 2, "{bad}");
    }
    let last = sha256(&show(installation, ISSUER_ID)["roots"][0]).to_owned();
    let last = installation.run(&["trust", "remove", ISSUER_ID, "--sha256", &last]);
    assert!(last.code == 0 && last.stderr.contains("refuses everything"), "{last:?}");
}

#[test]
fn a_crl_without_number_is_taken_on_import_with_a_warning() {
    let installation = Installation::new();
    let authority = Authority::new(now_ms());
    let root = installation.file("iaca.der", &authority.root.der);
    let crl = installation.file("small-ca.crl", unnumbered(&authority));
    let (root, crl) = (root.to_str().unwrap(), crl.to_str().unwrap());
    let add = ["trust", "add", ISSUER_ID, "--root", root, "--crl", crl];
    let added = installation.run(&add);
    assert!(added.code == 0 && added.stderr.contains("no CRLNumber"), "{added:?}");
    assert_eq!(show(&installation, ISSUER_ID)["crls"][0]["numbered"], false);
    let checked = installation.run(&["trust", "check"]);
    assert!(checked.code == 0 && checked.stderr.contains("no CRLNumber"), "{checked:?}");
}

#[test]
fn errors_in_imported_material_name_the_file() {
    let installation = Installation::new();
    let authority = Authority::new(now_ms());
    let mut forged = unnumbered(&authority);
    let last = forged.len() - 1;
    forged[last] ^= 1;
    let root = installation.file("iaca.der", &authority.root.der);
    let root = root.to_str().unwrap();
    for (name, content) in [("forged.crl", forged), ("no.crl", b"no CRL".to_vec())] {
        let crl = installation.file(name, content);
        let add = ["trust", "add", ISSUER_ID, "--root", root, "--crl", crl.to_str().unwrap()];
        let refused = installation.run(&add);
        assert!(refused.code == 1 && refused.stderr.contains(name), "{refused:?}");
    }
}

#[test]
fn unusable_certificates_are_listed_and_the_rest_can_be_imported() {
    let installation = Installation::new();
    let authority = Authority::new(now_ms());
    let key = SigningKey::from_seed(Curve::P256, "no CA");
    let no_ca = CertificateBuilder::new(
        Name::new("UT", "Not a CA"),
        Name::new("UT", "Not a CA"),
        &key,
        now_ms(),
        90,
    );
    let no_ca = no_ca.self_sign(&key);
    let ders = [&no_ca.der, &authority.root.der, &authority.signer.der];
    let file = installation.file("roots.der", ders.map(Vec::as_slice).concat());
    let file = file.to_str().unwrap();
    let refused = installation.run(&["trust", "add", ISSUER_ID, "--root", file]);
    assert_eq!(refused.code, 1);
    for text in
        ["certificate 1 (CN=Not a CA,C=UT) is not a CA", "certificate 3 (CN=Utopia document"]
    {
        assert!(refused.stderr.contains(text), "{text}: {refused:?}");
    }
    assert!(refused.stderr.contains("--skip-unusable"), "{refused:?}");
    assert_eq!(installation.run(&["trust", "show", ISSUER_ID]).code, 4, "nothing was added");
    let add = ["trust", "add", ISSUER_ID, "--root", file, "--skip-unusable", "--json"];
    let added = installation.run(&add);
    assert_eq!(added.code, 0, "{added:?}");
    let json = added.json();
    assert_eq!(json["roots"].as_array().unwrap().len(), 1);
    let skipped: Vec<_> = json["skipped"].as_array().unwrap().iter().collect();
    assert_eq!(skipped.len(), 2);
    assert_eq!((&skipped[0]["certificate"], &skipped[1]["certificate"]), (&json!(1), &json!(3)));
    assert_eq!(skipped[0]["subject"], "CN=Not a CA,C=UT");
    assert!(added.stderr.contains("certificate 3"), "{added:?}");
    // A list without any usable root is an error, not an entry.
    let none = installation.file("none.der", no_ca.der);
    let none = ["trust", "add", "x", "--root", none.to_str().unwrap(), "--skip-unusable"];
    assert_eq!(installation.run(&none).code, 1);
}

#[test]
fn trust_check_warns_of_what_an_entry_allows() {
    let installation = Installation::new();
    let authority = Authority::new(now_ms());
    let jwk = samples::issuer_key(Curve::P256).public_jwk().to_string();
    let jwk = installation.file("issuer.jwk", jwk);
    let jwk = jwk.to_str().unwrap();
    let options = ["--revocation", "off", "--issuing-country-unbound"];
    add_root(&installation, &authority, &options);
    let keys = ["trust", "add", "bank", "--jwk", jwk, "--vct", "urn:a"];
    assert_eq!(installation.run(&keys).code, 0);
    let warnings = || {
        let checked = installation.run(&["trust", "check", "--json"]);
        assert_eq!(checked.code, 0, "{checked:?}");
        checked.json()["warnings"].to_string()
    };
    let told =
        ["--revocation off", "no --doc-type", "--issuing-country-unbound", "iss: not compared"];
    let found = warnings();
    assert!(told.iter().all(|text| found.contains(text)), "{found}");
    let narrow =
        ["--revocation", "if_published", "--doc-type", "x", "--issuing-country-unbound=false"];
    add_root(&installation, &authority, &narrow);
    let keys = ["trust", "add", "bank", "--iss", "https://bank.example"];
    assert_eq!(installation.run(&keys).code, 0);
    let found = warnings();
    assert!(!told.iter().any(|text| found.contains(text)), "{found}");
}

#[test]
fn an_unbound_issuing_country_is_taken_in_test_mode_only_and_shown() {
    for (test, option, expected) in [
        (true, "--issuing-country-unbound", VERIFIED),
        (true, "--issuing-country-unbound=false", "chain_invalid"),
        (false, "--issuing-country-unbound", "chain_invalid"),
    ] {
        let options = ["--revocation", "off", option];
        let mut desk = Desk::start(Installation::new(), test, &options);
        for (country, expected, unbound) in [("GR", expected, Some(true)), ("UT", VERIFIED, None)] {
            let created = desk.tenant.create(&mdl_request());
            let mut scenario = desk.scenario(&created);
            scenario.issued().change("issuing_country", |item| {
                item.map.set("elementValue", country);
            });
            scenario.digest();
            assert_eq!(desk.settle(&created, &scenario.body()), expected, "{option}, {test}");
            if expected == VERIFIED {
                let session = desk.tenant.read(&created.id);
                let told = &session["verification_details"]["credentials"][0];
                assert_eq!(told.get("issuing_country_unbound"), unbound.map(Value::from).as_ref());
            }
        }
    }
}
