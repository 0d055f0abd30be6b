//! `idgate doctor eu`: the rules of the European Union, one by one.

use serde_json::Value;

use crate::server::{Installation, Output};

/// The row of a rule.
fn rule<'v>(told: &'v Value, id: &str) -> &'v Value {
    let rows = told["rules"].as_array().unwrap();
    rows.iter().find(|row| row["rule"] == id).unwrap_or_else(|| panic!("no rule {id}: {told}"))
}

fn status(told: &Value, id: &str) -> String {
    rule(told, id)["status"].as_str().unwrap().to_owned()
}

fn told(installation: &Installation) -> (Output, Value) {
    let output = installation.run(&["doctor", "eu", "--json"]);
    let told = output.json();
    (output, told)
}

fn installation() -> Installation {
    let installation = Installation::new()
        .with("IDGATE_PROFILES", "1.0,haip")
        .with("IDGATE_BASE_URL", "https://gateway.example")
        .with("IDGATE_PAGE", "on");
    installation.create_client("shop", false);
    installation
}

#[test]
fn every_rule_has_a_source_a_verdict_and_a_remedy() {
    let installation = installation();
    let (output, told) = told(&installation);
    // The rules require an access certificate, and there is none.
    assert_eq!((output.code, &told["ok"]), (3, &false.into()), "{told}");
    let rows = told["rules"].as_array().unwrap();
    let mut ids: Vec<_> = rows.iter().map(|row| row["rule"].as_str().unwrap()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), rows.len(), "a rule is there once: {ids:?}");
    for row in rows {
        for member in ["source", "says", "found"] {
            assert!(row[member].as_str().is_some_and(|text| text.len() > 5), "{row}");
        }
        assert!(["shall", "should"].contains(&row["force"].as_str().unwrap()), "{row}");
        let needs = matches!(row["status"].as_str().unwrap(), "not_met" | "yours");
        assert_eq!(row["to_do"].is_string(), needs, "{row}");
    }
    let text = installation.run(&["doctor", "eu"]);
    assert_eq!(text.code, 3);
    assert!(text.stdout.contains("It is not legal advice."), "{}", text.stdout);
    assert!(text.stdout.contains("\nRPRC_19 (ARF topic 44, shall)\n  Rule: "), "{}", text.stdout);
    assert!(text.stdout.contains("  To do: Begin with `idgate keys csr`"), "{}", text.stdout);
}

#[test]
fn doctor_eu_names_the_wallets_that_the_profiles_can_reach() {
    let (_, with) = told(&installation());
    assert_eq!(status(&with, "AV protocols"), "met");
    assert_eq!(status(&with, "OIA_03b, OIA_03c"), "met");
    let (_, without) = told(&installation().with("IDGATE_PROFILES", "draft"));
    assert_eq!(status(&without, "AV protocols"), "not_met");
    assert_eq!(status(&without, "OIA_03b, OIA_03c"), "not_met");
}

#[test]
fn manually_added_issuers_do_not_meet_the_rules_for_trusted_lists() {
    let installation = installation();
    let (_, none) = told(&installation);
    assert_eq!(status(&none, "AV trusted list"), "not_concerned");
    assert_eq!(status(&none, "OIA_12"), "not_concerned");
    let mdl = idgate_testkit::samples::issue_mdl(crate::tenant::now_ms());
    let root = installation.file("root.der", &mdl.root.der);
    let root = root.to_str().unwrap();
    for (id, doc_type) in [("age", "eu.europa.ec.av.1"), ("pid", "eu.europa.ec.eudi.pid.1")] {
        let add = ["trust", "add", id, "--root", root, "--doc-type", doc_type, "--test"];
        let added = installation.run(&add);
        assert_eq!(added.code, 0, "{added:?}");
    }
    let (_, by_hand) = told(&installation);
    for (rule_id, entry) in [("AV trusted list", "age"), ("OIA_12", "pid")] {
        assert_eq!(status(&by_hand, rule_id), "not_met");
        assert!(rule(&by_hand, rule_id)["found"].as_str().unwrap().contains(entry));
    }
    assert_eq!(status(&by_hand, "VCR_13"), "met");
    assert_eq!(status(&by_hand, "VCR_14"), "met");
    let lenient = ["trust", "add", "age", "--revocation", "off"];
    assert_eq!(installation.run(&lenient).code, 0);
    let lenient = ["trust", "add", "pid", "--on-unknown-revocation", "accept"];
    assert_eq!(installation.run(&lenient).code, 0);
    let (_, lenient) = told(&installation);
    assert_eq!(status(&lenient, "VCR_13"), "yours");
    assert_eq!(status(&lenient, "VCR_14"), "yours");
    assert!(rule(&lenient, "VCR_14")["found"].as_str().unwrap().contains("pid"));
}

#[test]
fn a_client_without_certificates_is_named() {
    let installation = installation();
    let client = installation.create_client("bank", false);
    let (_, told) = told(&installation);
    for id in ["RPA_01", "RPRC_19"] {
        assert_eq!(status(&told, id), "not_met");
        let found = rule(&told, id)["found"].as_str().unwrap();
        assert!(found.contains(&client.client_id), "{found}");
    }
    assert_eq!(status(&told, "CT_06"), "not_concerned");
    assert_eq!(status(&told, "Reg_34a"), "yours");
}

#[test]
fn doctor_eu_reports_static_qr_codes_as_a_relay_risk() {
    let (_, turning) = told(&installation());
    assert_eq!(status(&turning, "OIA_08d"), "met");
    let (_, still) = told(&installation().with("IDGATE_PAGE_TURNING_QR", "off"));
    assert_eq!(status(&still, "OIA_08d"), "not_met");
    let (_, none) = told(&installation().with("IDGATE_PAGE", "off"));
    assert_eq!(status(&none, "OIA_08d"), "yours");
}

#[test]
fn doctor_eu_rejects_the_options_of_doctor() {
    for other in ["--deep", "--live"] {
        assert_eq!(installation().run(&["doctor", "eu", other]).code, 2, "{other}");
    }
    assert_eq!(installation().run(&["doctor", "us"]).code, 2);
}
