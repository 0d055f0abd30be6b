//! The fields for profiles other than `draft`: accepted requests, and one refusal per rule.

mod intended_use;
mod pages;

use super::*;
use crate::codec::base64url;
use crate::crypto::HashAlg;
use crate::request::{ClaimPath, PageFields, Profile, SpokenProfiles, StoredRequest};
use crate::trust::TrustSnapshot;

const ALL: [Profile; 3] = [Profile::V1_0, Profile::Haip, Profile::Draft];

fn parse_with(
    body: &Value,
    trust: &TrustSnapshot,
    profiles: &SpokenProfiles,
) -> Result<PresentationRequest, RequestError> {
    PresentationRequest::parse_for(body.to_string().as_bytes(), trust, true, profiles)
}

#[track_caller]
fn taken(body: &Value) -> PresentationRequest {
    parse_with(body, &trust(), &SpokenProfiles::new(ALL)).unwrap()
}

#[track_caller]
fn refused_by(profiles: &SpokenProfiles, body: &Value, code: &str, path: &str) -> String {
    let error = parse_with(body, &trust(), profiles).expect_err(&body.to_string());
    assert_eq!((error.code.as_str(), error.path.as_str()), (code, path), "{body}: {error}");
    error.to_string()
}

#[track_caller]
fn refused(body: &Value, path: &str) -> String {
    refused_by(&SpokenProfiles::new(ALL), body, "invalid_request", path)
}

#[test]
fn with_draft_alone_profiles_are_unsupported() {
    for (draft, says) in [
        (SpokenProfiles::default(), "this verifier supports only draft; build"),
        (SpokenProfiles::default().explaining_draft_alone("only draft; ask"), "only draft; ask"),
    ] {
        for (name, value) in
            [("profile", json!("draft")), ("profiles", json!(["1.0"])), ("profiles", json!(null))]
        {
            for body in [pair(json!({name: value}), json!({})), legacy(json!({name: value}))] {
                let text = refused_by(&draft, &body, "unsupported_profile", name);
                assert!(text.contains(says), "{text}");
            }
        }
    }
}

#[test]
fn with_draft_alone_a_newer_field_needs_a_profile() {
    let draft = SpokenProfiles::default().explaining_draft_alone("only draft; ask");
    let needs = |body: &Value, path: &str| {
        let text = refused_by(&draft, body, "invalid_request", path);
        assert!(text.contains("needs profile 1.0 or haip; only draft; ask"), "{text}");
    };
    for name in ["same_device", "transaction_data", "dc_api"] {
        needs(&pair(json!({name: null}), json!({})), name);
        needs(&legacy(json!({name: null})), name);
    }
    for name in ["credential_sets", "distinct_credentials"] {
        needs(&pair(json!({name: true}), json!({})), name);
        refused_by(&draft, &legacy(json!({name: true})), "unknown_field", name);
    }
    needs(&sd_jwt(json!({"claim_paths": 7})), "credentials[0].claim_paths");
    let both = pair(json!({"same_device": true, "colour": "red"}), json!({}));
    refused_by(&draft, &both, "unknown_field", "colour");
}

#[test]
fn a_body_with_a_newer_field_is_marked_as_such() {
    let marked = |body: &Value| taken(body).has_newer_fields;
    assert!(!marked(&pair(json!({}), json!({}))) && !marked(&legacy(json!({}))));
    assert!(marked(&legacy(json!({"profile": "draft"}))));
    let back = json!({"same_device": false, "redirect_uri": "https://shop.example"});
    assert!(marked(&legacy(back)));
    assert!(marked(&sd_jwt(json!({"claims": ["a"], "claim_paths": {"a": ["b", "c"]}}))));
}

#[test]
fn distinct_credentials_is_a_boolean_of_the_custom_form_and_not_in_draft() {
    let asking = |changes: Value| pair(json!({}), changes);
    let of = |profile: &str, value: Value| {
        let mut body = asking(json!({}));
        body["profile"] = json!(profile);
        body["distinct_credentials"] = value;
        body
    };
    assert!(taken(&of("1.0", json!(true))).distinct_credentials);
    assert!(!taken(&of("1.0", json!(false))).distinct_credentials);
    refused(&of("1.0", json!("yes")), "distinct_credentials");
    refused(&of("draft", json!(true)), "distinct_credentials");
    let mut legacy_form = legacy(json!({"profile": "1.0"}));
    legacy_form["distinct_credentials"] = json!(true);
    refused_by(&SpokenProfiles::new(ALL), &legacy_form, "unknown_field", "distinct_credentials");
}

#[test]
fn the_older_fields_mean_the_same_in_every_profile() {
    let (old, new) = (request(pair(json!({}), json!({}))), taken(&pair(json!({}), json!({}))));
    let text = |request| serde_json::to_string(&StoredRequest::of(request)).unwrap();
    assert_eq!(text(&old), text(&new));
}

#[test]
fn profiles_are_kept_as_listed() {
    let of = |changes| taken(&legacy(changes)).profiles;
    assert_eq!(of(json!({})), []);
    assert_eq!(of(json!({"profile": "1.0"})), [Profile::V1_0]);
    let listed = json!({"profiles": ["haip", "draft"], "redirect_uri": "https://shop.example"});
    assert_eq!(of(listed), [Profile::Haip, Profile::Draft]);
}

#[test]
fn a_profile_that_is_not_enabled_is_unsupported() {
    let profiles = SpokenProfiles::new([Profile::V1_0, Profile::Draft]);
    for name in ["haip", "1.1", "", "DRAFT"] {
        let body = legacy(json!({"profile": name}));
        let text = refused_by(&profiles, &body, "unsupported_profile", "profile");
        assert!(text.contains("1.0, draft"), "{text}");
        let body = legacy(json!({"profiles": ["1.0", name]}));
        refused_by(&profiles, &body, "unsupported_profile", "profiles[1]");
    }
}

#[test]
fn a_profile_that_lacks_its_certificate_is_unsupported() {
    let profiles = SpokenProfiles::new([Profile::Haip, Profile::Draft]).without(Profile::Haip);
    let back = json!({"redirect_uri": "https://shop.example"});
    for (change, path) in [
        (json!({}), "profile"),
        (json!({"profile": "haip"}), "profile"),
        (json!({"profiles": ["draft", "haip"]}), "profiles"),
    ] {
        let body = legacy(changed(back.clone(), change));
        let text = refused_by(&profiles, &body, "unsupported_profile", path);
        assert!(text.contains("certificate"), "{text}");
    }
    let draft = legacy(json!({"profile": "draft"}));
    assert!(parse_with(&draft, &trust(), &profiles).is_ok());
}

#[test]
fn profile_and_profiles_have_their_shapes() {
    refused(&legacy(json!({"profile": "1.0", "profiles": ["1.0"]})), "profiles");
    refused(&legacy(json!({"profile": ["1.0"]})), "profile");
    refused(&legacy(json!({"profiles": "1.0"})), "profiles");
    refused(&legacy(json!({"profiles": []})), "profiles");
    refused(&legacy(json!({"profiles": ["1.0", "1.0"]})), "profiles[1]");
    refused(&legacy(json!({"profiles": [1]})), "profiles[0]");
}

#[test]
fn haip_needs_a_redirect_uri() {
    refused(&legacy(json!({"profile": "haip"})), "redirect_uri");
    refused(&legacy(json!({"profiles": ["draft", "haip"]})), "redirect_uri");
    let haip = SpokenProfiles::new([Profile::Haip]);
    refused_by(&haip, &legacy(json!({})), "invalid_request", "redirect_uri");
}

#[test]
fn same_device_is_a_boolean_and_needs_a_redirect_uri() {
    let back = "https://shop.example";
    for value in [true, false] {
        let body = legacy(json!({"same_device": value, "redirect_uri": back}));
        assert_eq!(taken(&body).same_device, Some(value));
    }
    assert_eq!(taken(&legacy(json!({"same_device": false}))).same_device, Some(false));
    refused(&legacy(json!({"same_device": "yes", "redirect_uri": back})), "same_device");
    refused(&legacy(json!({"same_device": true})), "same_device");
}

#[test]
fn a_dcql_query_needs_the_types_of_the_issuer() {
    let body = |profiles: Value| {
        let credential = json!({"format": "vc+sd-jwt", "issuer_id": "documents", "claims": ["a"]});
        json!({"credentials": [credential], "profiles": profiles})
    };
    for profiles in [json!(["1.0"]), json!(["draft", "1.0"])] {
        let all = SpokenProfiles::new(ALL);
        let path = "credentials[0].issuer_id";
        let text = refused_by(&all, &body(profiles), "unknown_issuer", path);
        assert!(text.ends_with("; give the issuer a vct"), "{text}");
    }
    taken(&body(json!(["draft"])));
}

fn with_paths(paths: Value) -> Value {
    sd_jwt(json!({"claims": ["a", "b"], "claim_paths": paths}))
}

#[test]
fn claim_paths_are_accepted_by_claim() {
    let request = taken(&with_paths(json!({"b": ["x", null, "y"]})));
    let paths = &request.credentials[0].claim_paths;
    let path = ClaimPath::from_json(r#"["x",null,"y"]"#).unwrap();
    assert_eq!(*paths, [("b".into(), path)]);
}

#[test]
fn claim_paths_have_their_shape() {
    let path = |name: &str| format!("credentials[0].claim_paths{name}");
    refused(&with_paths(json!([])), &path(""));
    refused(&with_paths(json!({"c": ["x"]})), &path(".c"));
    for bad in [json!("x"), json!([]), json!([null]), json!(["_sd"]), json!([""]), json!([true])] {
        refused(&with_paths(json!({"a": bad})), &path(".a"));
    }
    let text = refused(&with_paths(json!({"a": ["x", 0]})), &path(".a"));
    assert!(text.contains("numbers"), "{text}");
    let mdoc = mdoc(json!({"claim_paths": {"a": ["x"]}}));
    refused(&mdoc, &path(""));
}

#[test]
fn the_operators_paths_apply_in_the_newer_profiles() {
    let path = |text| ClaimPath::from_json(text).unwrap();
    let mut entry = trust().entry(&crate::ids::IssuerId::new("two")).unwrap().clone();
    entry.claim_paths = vec![
        ("a".into(), path(r#"["operator","a"]"#)),
        ("b".into(), path(r#"["operator","b"]"#)),
        ("c".into(), path(r#"["operator","c"]"#)),
    ];
    let trust = TrustSnapshot::new(1, [entry]);
    let paths = |profile: &str| {
        let mut body = with_paths(json!({"b": ["tenant"]}));
        body["profile"] = json!(profile);
        let request = parse_with(&body, &trust, &SpokenProfiles::new(ALL)).unwrap();
        let paths = request.credentials[0].claim_paths.iter();
        paths.map(|(name, path)| format!("{name} {path}")).collect::<Vec<_>>()
    };
    assert_eq!(paths("1.0"), [r#"b ["tenant"]"#, r#"a ["operator","a"]"#]);
    assert_eq!(paths("draft"), [r#"b ["tenant"]"#]);
}

#[test]
fn only_draft_refuses_two_mdocs_of_one_type() {
    let document = json!({"format": "mso_mdoc", "issuer_id": "documents", "claims": ["a"],
        "doc_type": "org.example.doc"});
    let body = |profile| json!({"credentials": [document, document], "profile": profile});
    refused(&body("draft"), "credentials[1].doc_type");
    // No entry of these tests has a root.
    let all = SpokenProfiles::new(ALL);
    refused_by(&all, &body("1.0"), "unknown_issuer", "credentials[0].issuer_id");
}

fn with_sets(sets: Value) -> Value {
    pair(json!({"credential_sets": sets, "profile": "1.0"}), json!({}))
}

#[test]
fn credential_sets_are_accepted() {
    let request = taken(&with_sets(json!([
        {"options": [["a", "b"], ["a"]]}, {"options": [["b"]], "required": false},
    ])));
    let [first, second] = request.credential_sets.as_slice() else { unreachable!() };
    assert_eq!(
        (first.options.as_slice(), first.required),
        (
            &[vec!["a", "b"], vec!["a"]]
                .map(|ids| ids.into_iter().map(String::from).collect::<Vec<_>>())[..],
            true
        )
    );
    assert!(!second.required);
}

#[test]
fn credential_sets_have_their_shape() {
    let at = |rest: &str| format!("credential_sets{rest}");
    let both = json!({"options": [["a"], ["b"]]});
    for (sets, path) in [
        (json!({}), ""),
        (json!([]), ""),
        (json!(vec![both.clone(); 11]), ""),
        (json!([1]), "[0]"),
        (json!([{}]), "[0].options"),
        (json!([{"options": []}]), "[0].options"),
        (json!([{"options": vec![json!(["a", "b"]); 11]}]), "[0].options"),
        (json!([{"options": [[]]}]), "[0].options[0]"),
        (json!([{"options": [["a", "c"]]}]), "[0].options[0][1]"),
        (json!([{"options": [["a", "a"]]}]), "[0].options[0][1]"),
        (json!([{"options": [["a", "b"]], "required": 1}]), "[0].required"),
    ] {
        refused(&with_sets(sets), &at(path));
    }
    let unknown = with_sets(json!([{"options": [["a"], ["b"]], "purpose": "x"}]));
    refused_by(&SpokenProfiles::new(ALL), &unknown, "unknown_field", "credential_sets[0].purpose");
}

#[test]
fn a_credential_in_no_option_is_refused() {
    let text = refused(&with_sets(json!([{"options": [["a"]]}])), "credential_sets");
    assert!(text.contains("credentials[1]"), "{text}");
}

#[test]
fn draft_can_express_neither_sets_nor_transaction_data() {
    let sets = json!([{"options": [["a"], ["b"]]}]);
    let data = json!([{"type": "t", "credential_ids": ["a"]}]);
    for profiles in [json!(["draft"]), json!(["1.0", "draft"])] {
        for (name, value) in [("credential_sets", &sets), ("transaction_data", &data)] {
            let body = pair(json!({name: value, "profiles": profiles}), json!({}));
            let text = refused(&body, name);
            assert!(text.contains("draft"), "{text}");
        }
    }
}

#[test]
fn the_legacy_form_has_no_credential_sets() {
    let body = legacy(json!({"credential_sets": []}));
    refused_by(&SpokenProfiles::new(ALL), &body, "unknown_field", "credential_sets");
}

fn with_data(data: Value) -> Value {
    let mut body = pair(json!({"transaction_data": data, "profile": "1.0"}), json!({}));
    body["credentials"][0]["id"] = json!("a b");
    body
}

fn sent(data: &crate::request::TransactionData) -> Value {
    serde_json::from_slice(&base64url::decode(&data.encoded).unwrap()).unwrap()
}

#[test]
fn transaction_data_is_sent_with_the_ids_that_the_wallet_knows() {
    let data = json!({"type": "payment", "credential_ids": ["a b", "b"], "amount": {"eur": 1.50},
        "transaction_data_hashes_alg": ["sha-256", "sha-512"]});
    let request = taken(&with_data(json!([data])));
    let [only] = request.transaction_data.as_slice() else { unreachable!() };
    assert_eq!(only.credential_ids, ["a b", "b"]);
    assert_eq!(only.hash_algs, [HashAlg::Sha256, HashAlg::Sha512]);
    let mut expected = data.clone();
    expected["credential_ids"] = json!(["credential_1", "b"]);
    assert_eq!(sent(only), expected);
    assert_eq!(serde_json::from_str::<Value>(&only.as_asked().unwrap()).unwrap(), data);
}

#[test]
fn the_legacy_form_accepts_transaction_data_too() {
    let data = json!([{"type": "t", "credential_ids": ["credential_1"]}]);
    let request = taken(&legacy(json!({"transaction_data": data, "profile": "1.0"})));
    assert_eq!(request.transaction_data.len(), 1);
}

#[test]
fn transaction_data_has_its_shape() {
    let good = json!({"type": "t", "credential_ids": ["b"]});
    let one = |changes| json!([changed(good.clone(), changes)]);
    for (data, path) in [
        (json!({}), ""),
        (json!([]), ""),
        (json!((0..11).map(|n| changed(good.clone(), json!({"n": n}))).collect::<Vec<_>>()), ""),
        (json!(["x"]), "[0]"),
        (json!([{"credential_ids": ["b"]}]), "[0].type"),
        (one(json!({"type": ""})), "[0].type"),
        (one(json!({"type": 1})), "[0].type"),
        (json!([{"type": "t"}]), "[0].credential_ids"),
        (one(json!({"credential_ids": []})), "[0].credential_ids"),
        (one(json!({"credential_ids": ["x"]})), "[0].credential_ids[0]"),
        (one(json!({"credential_ids": ["b", "b"]})), "[0].credential_ids[1]"),
        (one(json!({"transaction_data_hashes_alg": "sha-256"})), "[0].transaction_data_hashes_alg"),
        (one(json!({"transaction_data_hashes_alg": []})), "[0].transaction_data_hashes_alg"),
        (
            one(json!({"transaction_data_hashes_alg": ["md5"]})),
            "[0].transaction_data_hashes_alg[0]",
        ),
        (json!([good, good]), "[1]"),
    ] {
        refused(&with_data(data), &format!("transaction_data{path}"));
    }
}

#[test]
fn transaction_data_has_a_signer_whatever_the_wallet_chooses() {
    let asked = |sets: Value, ids: Value| {
        let data = json!([{"type": "t", "credential_ids": ids}]);
        let more = json!({"transaction_data": data, "credential_sets": sets, "profile": "1.0"});
        pair(more, json!({}))
    };
    for (sets, ids) in [
        (json!([{"options": [["a"], ["b"]]}]), json!(["a", "b"])),
        (json!([{"options": [["a", "b"], ["a"]]}]), json!(["a"])),
        (json!([{"options": [["b"], ["a"]]}, {"options": [["a"]]}]), json!(["a"])),
    ] {
        assert_eq!(taken(&asked(sets, ids)).transaction_data.len(), 1);
    }
    for (sets, ids) in [
        (json!([{"options": [["a"], ["b"]]}]), json!(["a"])),
        (json!([{"options": [["a", "b"], ["b"]]}]), json!(["a"])),
        (json!([{"options": [["b"]]}, {"options": [["a"]], "required": false}]), json!(["a"])),
        (json!([{"options": [["a"]], "required": false}, {"options": [["b"]]}]), json!(["a"])),
    ] {
        let text = refused(&asked(sets, ids), "transaction_data[0].credential_ids");
        assert!(text.contains("each option"), "{text}");
    }
}

#[test]
fn transaction_data_of_one_signer_shares_a_hash_algorithm() {
    let data = |n: usize, ids: Value, algs: &[&str]| {
        let mut data = json!({"type": "t", "n": n, "credential_ids": ids});
        if !algs.is_empty() {
            data["transaction_data_hashes_alg"] = json!(algs);
        }
        data
    };
    let of = |ids: Value, algs: &[&[&str]]| {
        let each = algs.iter().enumerate().map(|(n, algs)| data(n, ids.clone(), algs));
        with_data(each.collect())
    };
    for algs in [
        &[&[][..], &["sha-256"]][..],
        &[&["sha-384", "sha-512"], &["sha-512"]],
        &[&[], &[], &["sha-512", "sha-256"]],
    ] {
        assert_eq!(taken(&of(json!(["b"]), algs)).transaction_data.len(), algs.len());
    }
    for algs in [
        &[&[][..], &["sha-384"]][..],
        &[&["sha-384"], &[]],
        &[&["sha-384"], &["sha-512"]],
        &[&["sha-256", "sha-384"], &["sha-384", "sha-512"], &["sha-256", "sha-512"]],
    ] {
        let last = algs.len() - 1;
        let path = format!("transaction_data[{last}].transaction_data_hashes_alg");
        refused(&of(json!(["b"]), algs), &path);
    }
    // If there is a choice, each may sign one.
    let chosen = &[&["sha-384"][..], &["sha-512"]];
    assert_eq!(taken(&of(json!(["a b", "b"]), chosen)).transaction_data.len(), 2);
    let apart = [data(0, json!(["a b"]), &["sha-384"]), data(1, json!(["b"]), &["sha-512"])];
    assert_eq!(taken(&with_data(json!(apart))).transaction_data.len(), 2);
}

#[test]
fn a_field_that_draft_lacks_is_refused_with_a_remedy() {
    let draft_first = SpokenProfiles::new([Profile::Draft, Profile::V1_0]).with_dc_api();
    for (name, value) in [
        ("credential_sets", json!([])),
        ("distinct_credentials", json!(true)),
        ("transaction_data", json!([])),
        ("dc_api", json!({"origins": ["https://shop.example"]})),
    ] {
        let mut body = pair(json!({name: value}), json!({}));
        let said = refused_by(&draft_first, &body, "invalid_request", name);
        assert!(said.contains(r#"add "profiles": ["1.0"] to the request"#), "{said}");
        body["profiles"] = json!(["draft"]);
        let said = refused_by(&draft_first, &body, "invalid_request", name);
        assert!(
            said.contains("needs profile 1.0 or haip; ") && said.contains("profiles,"),
            "{said}"
        );
    }
}
