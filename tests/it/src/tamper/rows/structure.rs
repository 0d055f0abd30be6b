//! Digests and markers in the signed payload (RFC 9901 4.1, 7.1).

use idgate_testkit::codec::HashAlg;
use idgate_testkit::issuer::Unsigned;
use serde_json::{Value, json};

use crate::tamper::{Row, Scenario};

pub(super) fn rows() -> Vec<Row> {
    [digests(), markers(), sd_alg()].concat()
}

fn digests() -> Vec<Row> {
    let malformed = |title, change| Row::refused(title, "malformed_presentation", change);
    vec![
        Row::refused("one digest of the payload changed", "digest_mismatch", |s| {
            payload(s, |unsigned| {
                let hash = unsigned.hash();
                let given_name = unsigned.disclosures.iter().find(|d| {
                    d.json().is_some_and(|json| json.get(1) == Some(&"given_name".into()))
                });
                let digest = given_name.map(|d| Value::from(d.digest(hash))).unwrap_or_default();
                unsigned.edit_sd(|sd| {
                    sd.iter_mut().filter(|d| **d == digest).for_each(|d| *d = decoy());
                });
            });
        }),
        malformed("a digest twice in one list", |s| {
            payload(s, |unsigned| unsigned.edit_sd(|sd| sd.extend_from_within(..1)));
        }),
        malformed("a decoy digest twice", |s| {
            payload(s, |unsigned| unsigned.edit_sd(|sd| sd.extend([decoy(), decoy()])));
        }),
        malformed("a digest at two levels", |s| {
            payload(s, |unsigned| {
                let mut digests = Vec::new();
                unsigned.edit_sd(|sd| digests.extend_from_slice(sd.get(..1).unwrap_or_default()));
                unsigned.payload.insert("inner".into(), json!({ "_sd": digests }));
            });
        }),
        malformed("a digest as member and as array element", |s| {
            payload(s, |unsigned| {
                let mut digest = Value::Null;
                unsigned.edit_sd(|sd| digest = sd.first().cloned().unwrap_or_default());
                unsigned.payload.insert("list".into(), json!([{ "...": digest }]));
            });
        }),
        malformed("a digest that is a number", |s| {
            payload(s, |unsigned| unsigned.edit_sd(|sd| sd.push(1.into())));
        }),
        Row::verified("decoy digests", |s| s.attest(|c| c.decoys(5))),
    ]
}

fn markers() -> Vec<Row> {
    let malformed = |title, change| Row::refused(title, "malformed_presentation", change);
    vec![
        malformed("_sd a string", |s| insert(s, "inner", json!({ "_sd": "x" }))),
        malformed("_sd an object", |s| insert(s, "inner", json!({ "_sd": {} }))),
        malformed("_sd a number", |s| insert(s, "inner", json!({ "_sd": 1 }))),
        malformed("_sd with null", |s| insert(s, "inner", json!({ "_sd": [null] }))),
        malformed("_sd with an array", |s| insert(s, "inner", json!({ "_sd": [["x"]] }))),
        malformed("_sd at the root a string", |s| {
            payload(s, |unsigned| {
                unsigned.disclosures.clear();
                unsigned.payload.insert("_sd".into(), "digest".into());
            });
        }),
        malformed("_sd null", |s| insert(s, "inner", json!({ "_sd": null }))),
        malformed("... at the root", |s| insert(s, "...", json!("x"))),
        malformed("... as a member's value", |s| insert(s, "inner", json!({ "...": "x" }))),
        malformed("... before another member", |s| {
            insert(s, "list", json!([{ "...": "x", "a": 1 }]))
        }),
        malformed("... after another member", |s| {
            insert(s, "list", json!([{ "!": 1, "...": "x" }]));
        }),
        malformed("... a number", |s| insert(s, "list", json!([{ "...": 1 }]))),
        malformed("... an array", |s| insert(s, "list", json!([{ "...": ["x"] }]))),
        Row::verified("an array element that stays withheld", |s| {
            insert(s, "list", json!([{ "...": "bm90IGEgZGlnZXN0" }]));
        }),
    ]
}

fn sd_alg() -> Vec<Row> {
    let not_allowed = |title, change| Row::refused(title, "algorithm_not_allowed", change);
    let malformed = |title, change| Row::refused(title, "malformed_presentation", change);
    vec![
        not_allowed("_sd_alg unknown", |s| insert(s, "_sd_alg", json!("md5"))),
        not_allowed("_sd_alg sha-1", |s| insert(s, "_sd_alg", json!("sha-1"))),
        not_allowed("_sd_alg without its hyphen", |s| insert(s, "_sd_alg", json!("sha256"))),
        not_allowed("_sd_alg in capitals", |s| insert(s, "_sd_alg", json!("SHA-256"))),
        not_allowed("_sd_alg empty", |s| insert(s, "_sd_alg", json!(""))),
        malformed("_sd_alg a number", |s| insert(s, "_sd_alg", json!(256))),
        malformed("_sd_alg null", |s| insert(s, "_sd_alg", Value::Null)),
        malformed("_sd_alg below the root", |s| {
            insert(s, "inner", json!({ "_sd_alg": "sha-256" }));
        }),
        malformed("_sd_alg in an array element", |s| {
            insert(s, "list", json!([{ "_sd_alg": "sha-256" }]));
        }),
        Row::refused("_sd_alg of another hash than the digests", "digest_mismatch", |s| {
            insert(s, "_sd_alg", json!("sha-512"));
        }),
        Row::verified("_sd_alg sha-256", |s| s.attest(|c| c.hash(HashAlg::Sha256))),
        Row::verified("_sd_alg sha-384", |s| s.attest(|c| c.hash(HashAlg::Sha384))),
        Row::verified("_sd_alg sha-512", |s| s.attest(|c| c.hash(HashAlg::Sha512))),
    ]
}

fn payload(scenario: &mut Scenario, change: fn(&mut Unsigned)) {
    scenario.hooks.unsigned = change;
}

/// Puts a claim into the payload after the digests were made.
fn insert(scenario: &mut Scenario, name: &'static str, value: Value) {
    scenario.inserted = Some((name, value));
}

fn decoy() -> Value {
    HashAlg::Sha256.digest("decoy").into()
}
