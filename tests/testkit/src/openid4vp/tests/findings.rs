//! Every check by its name: a good request passes all of them, and a request that breaks a rule fails
//! the check of that rule.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::verifier::{Made, RESPONSE_URI};
use crate::codec::base64url;
use crate::keys::{Curve, SigningKey};
use crate::openid4vp::Prefix::{self, DecentralizedIdentifier, RedirectUri, X509Hash, X509SanDns};
use crate::openid4vp::{Format, WALLET_NONCE};
use crate::time::SAMPLE_NOW_MS;
use crate::x509::{CertificateBuilder, Identity, Name, SUBJECT_ALT_NAME, dns_names};

#[test]
fn a_good_request_of_each_client_passes_every_check() {
    for prefix in [RedirectUri, DecentralizedIdentifier, X509SanDns, X509Hash] {
        for encrypted in [false, true] {
            let (request, findings) = Made::new(prefix, encrypted).read();
            assert!(findings.is_empty(), "{prefix:?} {encrypted}:\n{findings}");
            assert_eq!(request.query.refused_features(), Vec::<&str>::new());
        }
    }
}

#[test]
fn a_request_that_breaks_a_rule_is_found_by_its_check() {
    let mut covered = BTreeSet::new();
    let mut wrong = String::new();
    for (prefix, checks, change) in table() {
        let mut made = Made::new(prefix, true);
        change(&mut made);
        let (_, findings) = made.read();
        if findings.checks() != checks {
            wrong += &format!("{checks:?} found:\n{findings}\n");
        }
        covered.extend(checks);
    }
    for (prefix, checks, change) in unreadable() {
        let mut made = Made::new(prefix, true);
        change(&mut made);
        assert!(made.read().1.checks().contains(&checks[0]), "{checks:?}");
        covered.extend(checks);
    }
    assert!(wrong.is_empty(), "{wrong}");
    // Tests in other files cover these.
    covered.extend(["client_id", "link_repeats", "reply_status", "reply_media_type", "reply_json"]);
    covered.extend(["reply_redirect_uri", "reply_same_device", "reply_members"]);
    let known = names_in_source();
    let unshown: Vec<&String> = known.iter().filter(|name| !covered.contains(&***name)).collect();
    assert!(unshown.is_empty(), "{unshown:?}");
}

/// The checks' names in the code.
fn names_in_source() -> BTreeSet<String> {
    let source = concat!(
        include_str!("../link.rs"),
        include_str!("../metadata.rs"),
        include_str!("../parameters.rs"),
        include_str!("../query.rs"),
        include_str!("../reply.rs"),
        include_str!("../request.rs"),
        include_str!("../request_object.rs"),
        include_str!("../transaction_data.rs"),
        include_str!("../verifier_info.rs"),
    );
    let dense: String = source.split_whitespace().collect();
    let after = dense.split("findings.must(\"").flat_map(|part| part.split("findings.should(\""));
    let names: BTreeSet<String> = after
        .skip(1)
        .filter_map(|part| part.split('"').next())
        .filter(|name| name.chars().all(|c| c.is_ascii_lowercase() || "_0123456789".contains(c)))
        .map(String::from)
        .collect();
    assert!(names.len() >= 70, "{} checks", names.len());
    names
}

#[test]
fn a_request_fetched_twice_has_one_key_and_another_request_has_another() {
    let mut made = Made::new(X509Hash, true);
    for _ in 0..2 {
        assert!(made.read().1.is_empty());
    }
    made.claims["nonce"] = "VMVGWzFkQ1IYz0VRVbV2G6ttD_s8ynQ7vBKx0l3Lb1c".into();
    assert_eq!(made.read().1.checks(), ["key_fresh"]);
}

#[test]
fn features_that_a_known_wallet_refuses_are_named() {
    let mut made = Made::new(X509Hash, true);
    made.claims["dcql_query"]["credential_sets"] = json!([{ "options": [["pid"], ["licence"]] }]);
    let pid = &mut made.claims["dcql_query"]["credentials"][0];
    pid["claims"] =
        json!([{ "path": ["nationalities", null] }, { "path": ["a"], "values": ["x"] }]);
    pid["multiple"] = false.into();
    let (request, findings) = made.read();
    assert!(findings.is_empty(), "{findings}");
    let expected = ["credential_sets", "multiple", "path of other than names", "values"];
    assert_eq!(request.query.refused_features(), expected);
}

type Row = (Prefix, Vec<&'static str>, fn(&mut Made));

fn table() -> Vec<Row> {
    [links(), clients(), envelopes(), parameters(), infos(), metadata(), queries(), claims()]
        .concat()
}

/// Requests that break so much that other checks find something too.
fn unreadable() -> Vec<Row> {
    vec![
        (RedirectUri, vec!["json_parameters"], |m| m.claims["client_metadata"] = "{".into()),
        (RedirectUri, vec!["delivery"], |m| put(m, "request_uri", "https://gateway.example/q")),
        (X509Hash, vec!["client_metadata"], |m| *meta(m) = "{}".into()),
        (X509Hash, vec!["request_object"], |m| m.header = json!([])),
    ]
}

fn row(check: &'static str, change: fn(&mut Made)) -> Row {
    (X509Hash, vec![check], change)
}

fn links() -> Vec<Row> {
    vec![
        row("link_scheme", |m| m.scheme = "mdoc-openid4vp"),
        row("link_parameters", |m| put_link(m, "nonce", "n")),
        row("request_uri_https", |m| put_link(m, "request_uri", "http://gateway.example/q")),
        row("request_uri_fragment", |m| put_link(m, "request_uri", "https://gateway.example/q#a")),
        row("request_uri_method", |m| put_link(m, "request_uri_method", "POST")),
    ]
}

fn clients() -> Vec<Row> {
    vec![
        row("client_id_prefix", |m| rename(m, "x509_hash:AAAA")),
        (X509SanDns, vec!["client_id_prefix"], |m| rename(m, "x509_san_dns:other.example")),
        (X509SanDns, vec!["client_id_prefix"], |m| {
            m.claims["response_uri"] = "https://other.example/r".into();
        }),
        (RedirectUri, vec!["client_id_response_uri"], |m| {
            rename(m, "redirect_uri:https://other.example/r");
        }),
        (RedirectUri, vec!["client_id_form", "client_id_response_uri"], |m| {
            rename(m, RESPONSE_URI);
        }),
        (DecentralizedIdentifier, vec!["kid_did_url"], |m| {
            m.header["kid"] = "#1".into();
            document(m)["verificationMethod"][0]["id"] = "#1".into();
        }),
        (DecentralizedIdentifier, vec!["did_document"], |m| {
            document(m)["id"] = "did:web:other.example".into();
        }),
        row("x5c_anchor", |m| m.chain.extend(m.expected.anchor.clone())),
        row("x5c_path", |m| {
            m.expected.anchor = Some(Identity::iaca(Curve::P256, SAMPLE_NOW_MS).der);
        }),
        (X509SanDns, vec!["x5c_self_signed"], |m| {
            let name = Name::new("UT", "Verifier");
            let made = CertificateBuilder::iaca_root(name, &m.key, SAMPLE_NOW_MS);
            let named = made.set(SUBJECT_ALT_NAME, false, dns_names(&["gateway.example"]));
            m.chain = vec![named.self_sign(&m.key).der];
            m.expected.anchor = None;
        }),
        (X509Hash, vec!["x5c", "signature"], |m| m.header["x5c"] = json!(["AA"])),
        (X509Hash, vec!["x5c", "signature"], |m| m.header["x5c"] = json!([])),
    ]
}

fn envelopes() -> Vec<Row> {
    vec![
        row("media_type", |m| m.media_type = "application/jwt".into()),
        row("typ", |m| m.header["typ"] = "JWT".into()),
        row("alg", |m| m.header["alg"] = "ES384".into()),
        row("client_id_equal", |m| m.claims["client_id"] = "gateway.example".into()),
        row("wallet_nonce", |m| m.wallet_nonce = Some(WALLET_NONCE.into())),
        row("wallet_nonce", |m| m.claims["wallet_nonce"] = WALLET_NONCE.into()),
        row("signature", |m| m.key = SigningKey::from_seed(Curve::P256, "another")),
        row("iat", |m| drop_claim(m, "iat")),
        row("iat_past", |m| m.claims["iat"] = 4_000_000_000u64.into()),
        row("exp_future", |m| m.claims["exp"] = 1.into()),
        row("aud", |m| drop_claim(m, "aud")),
    ]
}

fn parameters() -> Vec<Row> {
    vec![
        row("response_type", |m| m.claims["response_type"] = "code".into()),
        (X509Hash, vec!["response_mode"], |m| m.claims["response_mode"] = "fragment".into()),
        row("response_uri", |m| m.claims["response_uri"] = "http://gateway.example/r".into()),
        row("nonce", |m| put(m, "nonce", "exc7gBkxjx1rdc9udRrveKvSsJIq80avlXeLHhG=+/")),
        row("nonce_length", |m| put(m, "nonce", &"abcdefghijklmnopqrstuvwxyz".repeat(2))),
        row("nonce_entropy", |m| put(m, "nonce", &"ab".repeat(20))),
        row("state", |m| put(m, "state", "a b")),
        row("state_sent", |m| drop_claim(m, "state")),
        row("forbidden_parameters", |m| put(m, "redirect_uri", "https://a.example")),
        row("forbidden_parameters", |m| put(m, "scope", "pid")),
        row("forbidden_parameters", |m| put(m, "client_id_scheme", "x509_hash")),
        row("unknown_parameters", |m| put(m, "request_uri_method", "post")),
        row("unknown_parameters", |m| m.claims["presentation_definition"] = json!({})),
        row("unknown_parameters", |m| m.claims["expected_origins"] = json!(["https://a.example"])),
        row("transaction_data", |m| m.claims["transaction_data"] = json!([payment(&["pid"])])),
        row("transaction_data", |m| m.expected.transaction_data = true),
        row("transaction_data_shape", |m| agree(m, json!([]))),
        row("transaction_data_shape", |m| agree(m, json!({}))),
        row("transaction_data_shape", |m| agree(m, json!([{ "type": "t" }]))),
        row("transaction_data_shape", |m| agree(m, json!(["e30="]))),
        row("transaction_data_shape", |m| agree(m, json!(["e30"]))),
        row("transaction_data_shape", |m| agree(m, json!([payment(&[])]))),
        row("transaction_data_shape", |m| {
            agree(m, json!([payment(&["pid"]), payment(&["pid", "other"])]));
        }),
        row("transaction_data_shape", |m| {
            let nameless = json!({ "type": "", "credential_ids": ["pid"] }).to_string();
            agree(m, json!([base64url(nameless.as_bytes())]));
        }),
    ]
}

fn infos() -> Vec<Row> {
    vec![
        row("verifier_info", |m| m.claims["verifier_info"] = json!([])),
        row("verifier_info_format", |m| m.claims["verifier_info"] = json!([{ "data": "a" }])),
        row("verifier_info_data", |m| info(m, "data", json!(1))),
        row("verifier_info_members", |m| info(m, "more", json!(1))),
        row("verifier_info_credential_ids", |m| info(m, "credential_ids", json!(["other"]))),
    ]
}

fn metadata() -> Vec<Row> {
    vec![
        row("client_metadata_members", |m| meta(m)["client_name"] = "Shop".into()),
        row("vp_formats_supported", |m| {
            formats(m).as_object_mut().unwrap().remove("mso_mdoc");
        }),
        row("vp_formats_asked", |m| formats(m)["jwt_vc_json"] = json!({})),
        row("vp_formats_members", |m| formats(m)["dc+sd-jwt"]["alg"] = json!(["ES256"])),
        row("vp_formats_algorithms", |m| {
            formats(m)["dc+sd-jwt"]["sd-jwt_alg_values"] = json!(["RS256"]);
        }),
        row("vp_formats_algorithms", |m| {
            formats(m)["mso_mdoc"]["issuerauth_alg_values"] = json!([-7]);
        }),
        row("vp_formats_algorithms", |m| {
            formats(m)["mso_mdoc"]["deviceauth_alg_values"] = json!([-7, -9, -50]);
        }),
        row("jwks", |m| meta(m)["jwks"] = json!({ "keys": [] })),
        row("jwks_kid", |m| meta(m)["jwks"]["keys"][0]["kid"] = " ".into()),
        row("jwks_kid_unique", |m| {
            let again = meta(m)["jwks"]["keys"][0].clone();
            meta(m)["jwks"]["keys"].as_array_mut().unwrap().push(again);
        }),
        row("jwks_private", |m| meta(m)["jwks"]["keys"][0]["d"] = "AA".into()),
        row("jwks_alg", |m| meta(m)["jwks"]["keys"][0]["alg"] = Value::Null),
        row("jwks_use", |m| meta(m)["jwks"]["keys"][0]["use"] = "sig".into()),
        row("jwks_curve", |m| meta(m)["jwks"]["keys"][0]["crv"] = "P-384".into()),
        row("enc_values", |m| encs(m, json!(["A256GCM", "A128GCM", "none"]))),
        row("enc_values_haip", |m| encs(m, json!(["A256GCM"]))),
        row("enc_without_encryption", |m| {
            plain(m);
            meta(m).as_object_mut().unwrap().remove("jwks");
        }),
        row("jwks_without_encryption", |m| {
            plain(m);
            let encs = "encrypted_response_enc_values_supported";
            meta(m).as_object_mut().unwrap().remove(encs);
        }),
        row("key_fresh", |m| {
            assert!(m.read().1.is_empty());
            put(m, "nonce", "VMVGWzFkQ1IYz0VRVbV2G6ttD_s8ynQ7vBKx0l3Lb1c");
        }),
    ]
}

fn queries() -> Vec<Row> {
    vec![
        (X509Hash, vec!["dcql_query", "dcql_formats"], |m| {
            m.claims["dcql_query"] = m.claims["dcql_query"].to_string().into();
        }),
        row("dcql_formats", |m| m.expected.formats = vec![Format::Mdoc, Format::SdJwtVc]),
        row("dcql_members", |m| m.claims["dcql_query"]["more"] = 1.into()),
        row("dcql_members", |m| pid(m)["more"] = 1.into()),
        row("dcql_members", |m| pid(m)["meta"]["more"] = 1.into()),
        row("dcql_members", |m| pid(m)["claims"][0]["more"] = 1.into()),
        row("dcql_id", |m| pid(m)["id"] = "a b".into()),
        row("dcql_id_unique", |m| pid(m)["id"] = "licence".into()),
        row("dcql_format", |m| pid(m)["format"] = "vc+sd-jwt".into()),
        row("dcql_meta", |m| pid(m)["meta"] = json!({})),
        row("dcql_booleans", |m| pid(m)["multiple"] = "no".into()),
        row("dcql_credential_sets", |m| sets(m, json!([]))),
        row("dcql_references", |m| sets(m, json!([{ "options": [["pid"], ["other"]] }]))),
        row("dcql_references", |m| sets(m, json!([{ "options": [[]] }]))),
        row("dcql_trusted_authorities", |m| pid(m)["trusted_authorities"] = json!([])),
        row("dcql_trusted_authorities", |m| {
            pid(m)["trusted_authorities"] = json!([{ "type": "ski", "values": ["AA"] }]);
        }),
    ]
}

fn claims() -> Vec<Row> {
    vec![
        row("dcql_claims", |m| pid(m)["claims"] = json!([])),
        row("dcql_path", |m| pid(m)["claims"][0]["path"] = json!([])),
        row("dcql_path", |m| pid(m)["claims"][0]["path"] = json!(["a", -1])),
        row("dcql_path", |m| licence(m)["claims"][0]["path"] = json!(["a"])),
        row("dcql_path_once", |m| pid(m)["claims"] = json!([{ "path": ["a"] }, { "path": ["a"] }])),
        row("dcql_claim_hidden", |m| pid(m)["claims"][0]["path"] = json!(["vct"])),
        row("dcql_values", |m| pid(m)["claims"][0]["values"] = json!([{}])),
        row("dcql_intent_to_retain", |m| pid(m)["claims"][0]["intent_to_retain"] = false.into()),
        row("dcql_claim_id", |m| pid(m)["claims"][0]["id"] = "a b".into()),
        row("dcql_claim_sets", |m| {
            pid(m)["claims"][0]["id"] = "a".into();
            pid(m)["claim_sets"] = json!([["a"]]);
        }),
        row("dcql_claim_sets_use", |m| {
            pid(m)["claims"][0]["id"] = "a".into();
            pid(m)["claims"][1]["id"] = "b".into();
            pid(m)["claim_sets"] = json!([["a"]]);
        }),
    ]
}

fn rename(made: &mut Made, client_id: &str) {
    made.claims["client_id"] = client_id.into();
    put_link(made, "client_id", client_id);
}

fn put_link(made: &mut Made, name: &str, value: &str) {
    made.link.insert(name.into(), value.into());
}

fn put(made: &mut Made, name: &str, value: &str) {
    made.claims[name] = value.into();
}

fn drop_claim(made: &mut Made, name: &str) {
    made.claims.as_object_mut().unwrap().remove(name);
}

fn document(made: &mut Made) -> &mut Value {
    made.expected.did_document.as_mut().unwrap()
}

fn info(made: &mut Made, name: &str, value: Value) {
    made.claims["verifier_info"] = json!([{ "format": "registration_cert", "data": "a.b.c" }]);
    made.claims["verifier_info"][0][name] = value;
}

fn plain(made: &mut Made) {
    made.expected.encrypted = false;
    made.claims["response_mode"] = "direct_post".into();
}

fn payment(ids: &[&str]) -> String {
    base64url(json!({ "type": "payment", "credential_ids": ids }).to_string().as_bytes())
}

fn agree(made: &mut Made, data: Value) {
    made.expected.transaction_data = true;
    made.claims["transaction_data"] = data;
}

fn meta(made: &mut Made) -> &mut Value {
    &mut made.claims["client_metadata"]
}

fn formats(made: &mut Made) -> &mut Value {
    &mut made.claims["client_metadata"]["vp_formats_supported"]
}

fn encs(made: &mut Made, values: Value) {
    made.claims["client_metadata"]["encrypted_response_enc_values_supported"] = values;
}

fn pid(made: &mut Made) -> &mut Value {
    &mut made.claims["dcql_query"]["credentials"][0]
}

fn licence(made: &mut Made) -> &mut Value {
    &mut made.claims["dcql_query"]["credentials"][1]
}

fn sets(made: &mut Made, value: Value) {
    made.claims["dcql_query"]["credential_sets"] = value;
}
