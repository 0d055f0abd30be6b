//! The table of bad creation requests, by the part of the request that is wrong.

use idgate_testkit::samples::ISSUER;
use serde_json::{Value, json};

use crate::tenant::{credential, request_for};

/// A request and the expected answer.
#[derive(Clone)]
pub(super) struct Bad {
    pub(super) title: String,
    pub(super) body: Vec<u8>,
    pub(super) code: &'static str,
    /// The text that the message must contain: the path of the field.
    pub(super) names: String,
}

/// Every row.
pub(super) fn table() -> Vec<Bad> {
    [syntax(), forms(), top_level(), credentials(), filters(), groups()].concat()
}

/// A good request with one additional member at its root.
pub(super) fn with(name: &str, value: impl Into<Value>) -> Value {
    let mut body = request_for(&["given_name"]);
    body[name] = value.into();
    body
}

fn syntax() -> Vec<Bad> {
    let good = request_for(&["given_name"]).to_string();
    let deep = |levels| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
    let member = |json: &str| good.replacen('{', &format!("{{{json},"), 1);
    [
        ("empty", String::new()),
        ("no JSON", "credentials".into()),
        ("cut off", good[..good.len() - 1].into()),
        ("something after it", format!("{good}{{}}")),
        ("a comma too many", format!("{},}}", &good[..good.len() - 1])),
        ("a comment", format!("/* */{good}")),
        ("single quotes", good.replace('"', "'")),
        ("a byte order mark", format!("\u{feff}{good}")),
        ("a leading zero", member(r#""ttl_ms":0300000"#)),
        ("NaN", member(r#""ttl_ms":NaN"#)),
        ("a member twice", member(r#""ttl_ms":60000,"ttl_ms":60000"#)),
        ("a member twice, once escaped", member(r#""ttl_ms":60000,"ttl\u005fms":60000"#)),
        ("a member twice below", good.replacen(r#""id":"#, r#""id":"x","id":"#, 1)),
        ("a lone surrogate", member(r#""redirect_uri":"\ud800""#)),
        ("a control character in a string", member("\"redirect_uri\":\"a\nb\"")),
        ("33 levels", deep(33)),
        ("10000 levels", deep(10_000)),
        ("objects 20000 deep", "{\"a\":".repeat(10_000)),
    ]
    .into_iter()
    .map(|(title, body)| {
        let names = if title.contains("twice") { "twice" } else { " (line " };
        bad(title, body, "invalid_json", names)
    })
    .chain([
        bad(
            "not UTF-8",
            b"{\"issuer_id\":\"\xff\"}".to_vec(),
            "invalid_json",
            "(line 1, column 15)",
        ),
        bad(
            "over 64 KiB",
            format!("{good}{}", " ".repeat(65_537 - good.len())),
            "invalid_request",
            "64 KiB",
        ),
    ])
    .collect()
}

fn forms() -> Vec<Bad> {
    let legacy = |name: &str, value: Value| json!({ "issuer_id": ISSUER, name: value });
    vec![
        request("no object", json!([]), ""),
        request("null", json!(null), ""),
        request("text", json!("credentials"), ""),
        request("neither form", json!({}), "issuer_id"),
        request("only a ttl", json!({ "ttl_ms": 60_000 }), "credentials"),
        request("both forms", with("issuer_id", ISSUER), "issuer_id"),
        unknown("format together with credentials", with("format", "vc+sd-jwt"), "format"),
        unknown(
            "groups together with issuer_id",
            legacy("same_subject_groups", json!([])),
            "same_subject_groups",
        ),
        unknown("claims together with issuer_id", legacy("claims", json!(["a"])), "claims"),
        unknown("an unknown member of the legacy form", legacy("nonce", json!("n")), "nonce"),
        request("issuer_id a number", json!({ "issuer_id": 1 }), "issuer_id"),
        request("issuer_id null", json!({ "issuer_id": null }), "issuer_id"),
        request("no default claims", json!({ "issuer_id": ISSUER }), "issuer_id"),
        request("ttl_ms of the legacy form", legacy("ttl_ms", json!(1)), "ttl_ms"),
        request(
            "redirect_uri of the legacy form",
            legacy("redirect_uri", json!("")),
            "redirect_uri",
        ),
        coded(
            "unsupported_format",
            "format of the legacy form",
            legacy("format", json!("jwt_vp")),
            "format",
        ),
        coded(
            "unknown_issuer",
            "an unknown issuer",
            json!({ "issuer_id": "https://other.example" }),
            "issuer_id",
        ),
        coded(
            "unknown_issuer",
            "an issuer with a slash appended",
            json!({ "issuer_id": format!("{ISSUER}/") }),
            "issuer_id",
        ),
        coded(
            "unknown_issuer",
            "an issuer in capitals",
            json!({ "issuer_id": ISSUER.to_uppercase() }),
            "issuer_id",
        ),
        coded("unknown_issuer", "an empty issuer", json!({ "issuer_id": "" }), "issuer_id"),
    ]
}

fn top_level() -> Vec<Bad> {
    let ttl = |value: Value| request(&format!("ttl_ms {value}"), with("ttl_ms", value), "ttl_ms");
    let uri = |uri: &str| {
        let title: String = format!("redirect_uri {uri}").chars().take(60).collect();
        request(&title, with("redirect_uri", uri), "redirect_uri")
    };
    let mut table: Vec<Bad> = [
        json!(59_999),
        json!(86_400_001),
        json!(0),
        json!(-60_000),
        json!(60_000.5),
        json!("60000"),
        json!(null),
        json!(true),
        json!([60_000]),
        json!(u64::MAX),
    ]
    .map(ttl)
    .into();
    table.extend([
        uri(""),
        uri("/relative"),
        uri("rp.example/done"),
        uri("//rp.example/done"),
        uri("javascript:alert(1)"),
        uri("JavaScript:alert(1)"),
        uri("data:text/html,x"),
        uri("file:///etc/passwd"),
        uri("FILE:///etc/passwd"),
        uri(&format!("https://rp.example/{}", "a".repeat(2000 - 18))),
        uri("https://rp.example/\u{0}"),
        uri("https://rp.example/a b"),
        uri("https://rp.example/\r\nX: y"),
    ]);
    table.extend([
        request("redirect_uri a number", with("redirect_uri", 1), "redirect_uri"),
        request("redirect_uri null", with("redirect_uri", json!(null)), "redirect_uri"),
        unknown("an unknown member", with("nonce", "n"), "nonce"),
        unknown("a member in capitals", with("TTL_MS", 60_000), "TTL_MS"),
        unknown("an empty name", with("", 1), ""),
    ]);
    table
}

fn credentials() -> Vec<Bad> {
    let eleven: Vec<Value> = (0..11).map(|n| credential(&format!("c{n}"), &["a"])).collect();
    let claims: Vec<String> = (0..101).map(|n| format!("claim_{n}")).collect();
    let claims: Vec<&str> = claims.iter().map(String::as_str).collect();
    let field = |title, name: &str, value: Value| {
        request(title, in_credential(name, value), &format!("credentials[0].{name}"))
    };
    let claim = |name: &str| {
        let title = format!("claim {name:?}");
        let body = json!({ "credentials": [credential("pid", &["good", name])] });
        request(&title, body, "credentials[0].claims[1]")
    };
    let mut table = vec![
        request("credentials an object", json!({ "credentials": {} }), "credentials"),
        request("credentials null", json!({ "credentials": null }), "credentials"),
        request("no credentials", json!({ "credentials": [] }), "credentials"),
        request("11 credentials", json!({ "credentials": eleven }), "credentials"),
        request("a credential that is text", json!({ "credentials": ["pid"] }), "credentials[0]"),
        request(
            "101 claims",
            json!({ "credentials": [credential("p", &claims)] }),
            "credentials[0].claims",
        ),
        request(
            "one id twice",
            json!({ "credentials": [credential("p", &["a"]), credential("p", &["b"])] }),
            "credentials[1].id",
        ),
        request(
            "an id that is another's default",
            json!({ "credentials": [credential("credential_2", &["a"]), without("id")] }),
            "credentials[1].id",
        ),
        unknown(
            "an unknown member of a credential",
            in_credential("vct", json!("x")),
            "credentials[0].vct",
        ),
        unknown(
            "an unknown member of the second credential",
            json!({ "credentials": [credential("a", &["a"]), { "x": 1 }] }),
            "credentials[1].x",
        ),
        request(
            "no format",
            json!({ "credentials": [without("format")] }),
            "credentials[0].format",
        ),
        request(
            "no issuer_id",
            json!({ "credentials": [without("issuer_id")] }),
            "credentials[0].issuer_id",
        ),
        request(
            "no claims",
            json!({ "credentials": [without("claims")] }),
            "credentials[0].claims",
        ),
        coded(
            "unsupported_format",
            "an unknown format",
            in_credential("format", json!("jwt_vp")),
            "credentials[0].format",
        ),
        coded(
            "unsupported_format",
            "a format that is almost one",
            in_credential("format", json!("dc+sd_jwt")),
            "credentials[0].format",
        ),
        coded(
            "unknown_issuer",
            "an unknown issuer",
            in_credential("issuer_id", json!("x")),
            "credentials[0].issuer_id",
        ),
        coded(
            "unknown_issuer",
            "an mdoc of an issuer without roots",
            in_credential("format", json!("mso_mdoc")),
            "credentials[0].issuer_id",
        ),
        field("format null", "format", json!(null)),
        field("format an array", "format", json!(["vc+sd-jwt"])),
        field("issuer_id a number", "issuer_id", json!(1)),
        field("claims empty", "claims", json!([])),
        field("claims text", "claims", json!("given_name")),
        field("claims an object", "claims", json!({ "given_name": true })),
        field("claims null", "claims", json!(null)),
        field("id empty", "id", json!("")),
        field("id of 129 characters", "id", json!("i".repeat(129))),
        field("id a number", "id", json!(1)),
        field("id null", "id", json!(null)),
        field("alg of another family", "alg", json!("RS256")),
        field("alg none", "alg", json!("none")),
        field("alg in small letters", "alg", json!("es256")),
        field("alg that no key of the issuer has", "alg", json!("ES384")),
        field("another alg that no key of the issuer has", "alg", json!("ES512")),
        field("alg a list", "alg", json!(["ES256"])),
        field("namespace with vc+sd-jwt", "namespace", json!("org.iso.18013.5.1")),
        field("doc_type with vc+sd-jwt", "doc_type", json!("org.iso.18013.5.1.mDL")),
        field("subject_claim_paths text", "subject_claim_paths", json!("family_name")),
        field("subject_claim_paths with a number", "subject_claim_paths", json!([1])),
        field("subject_claim_paths with an empty name", "subject_claim_paths", json!(["a..b"])),
        field("claim_filters an array", "claim_filters", json!([])),
        field("claim_filters of another claim", "claim_filters", json!({ "family_name": {} })),
        field("a filter that is text", "claim_filters", json!({ "given_name": "Erika" })),
    ];
    table.extend(
        [
            "_sd",
            "_sd_alg",
            "...",
            "",
            "given name",
            "given-name",
            "a.b",
            "$.a",
            "name\u{e9}",
            "a\n",
            "'",
        ]
        .map(claim),
    );
    table.push(request(
        "a claim that is a number",
        in_credential("claims", json!([1])),
        "credentials[0].claims[0]",
    ));
    table
}

fn filters() -> Vec<Bad> {
    let filter = |value: Value| {
        let title: String = format!("filter {value}").chars().take(60).collect();
        let body = in_credential("claim_filters", json!({ "given_name": value }));
        request(&title, body, "credentials[0].claim_filters.given_name")
    };
    [
        json!({ "unknown": 1 }),
        json!({ "$ref": "#" }),
        json!({ "allOf": [] }),
        json!({ "not": {} }),
        json!({ "items": {} }),
        json!({ "required": [] }),
        json!({ "multipleOf": 2 }),
        json!({ "description": "x" }),
        json!({ "type": "date" }),
        json!({ "type": 1 }),
        json!({ "enum": "x" }),
        json!({ "minimum": "1" }),
        json!({ "exclusiveMinimum": true }),
        json!({ "minLength": -1 }),
        json!({ "maxLength": 1.5 }),
        json!({ "pattern": 1 }),
        json!({ "pattern": "(" }),
        json!({ "pattern": "(?=x)" }),
        json!({ "pattern": "(a)\\1" }),
        json!({ "pattern": "a".repeat(257) }),
        json!({ "format": "email" }),
        json!({ "format": "date", "formatMaximum": "tomorrow" }),
        json!({ "format": "date", "formatMinimum": 20_000_101 }),
    ]
    .map(filter)
    .into()
}

fn groups() -> Vec<Bad> {
    let grouped = |title, groups: Value, names: &str| {
        let body = json!({
            "credentials": [credential("a", &["x"]), credential("b", &["x"])],
            "same_subject_groups": groups,
        });
        request(title, body, names)
    };
    let paths = |title, a: Value, b: Value| {
        let mut body = json!({
            "credentials": [credential("a", &["x"]), credential("b", &["x"])],
            "same_subject_groups": [["a", "b"]],
        });
        body["credentials"][0]["subject_claim_paths"] = a;
        body["credentials"][1]["subject_claim_paths"] = b;
        request(title, body, "subject_claim_paths")
    };
    vec![
        grouped("groups an object", json!({}), "same_subject_groups"),
        grouped("groups null", json!(null), "same_subject_groups"),
        grouped("a group that is text", json!(["a"]), "same_subject_groups[0]"),
        grouped("an empty group", json!([[]]), "same_subject_groups[0]"),
        grouped("a group of one", json!([["a", "b"], ["a"]]), "same_subject_groups[1]"),
        grouped("an unknown id", json!([["a", "c"]]), "same_subject_groups[0][1]"),
        grouped("an id in capitals", json!([["A", "b"]]), "same_subject_groups[0][0]"),
        grouped("an id twice in a group", json!([["a", "a"]]), "same_subject_groups[0][1]"),
        grouped("an id that is a number", json!([["a", 1]]), "same_subject_groups[0][1]"),
        paths("no paths to compare", json!([]), json!([])),
        paths("paths of different lengths", json!(["x"]), json!(["x", "y"])),
    ]
}

fn bad(title: &str, body: impl Into<Vec<u8>>, code: &'static str, names: &str) -> Bad {
    Bad { title: title.into(), body: body.into(), code, names: names.into() }
}

fn coded(code: &'static str, title: &str, body: Value, names: &str) -> Bad {
    bad(title, body.to_string(), code, names)
}

fn request(title: &str, body: Value, names: &str) -> Bad {
    coded("invalid_request", title, body, names)
}

fn unknown(title: &str, body: Value, names: &str) -> Bad {
    coded("unknown_field", title, body, names)
}

/// A good request with one changed member of its credential.
fn in_credential(name: &str, value: Value) -> Value {
    let mut body = request_for(&["given_name"]);
    body["credentials"][0][name] = value;
    body
}

/// A credential without one of its members.
fn without(name: &str) -> Value {
    let mut credential = credential("pid", &["given_name"]);
    credential.as_object_mut().unwrap().remove(name);
    credential
}
