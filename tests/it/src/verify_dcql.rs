//! `idgate verify --dcql` on the captured answer to an OpenID4VP 1.0 request.

use idgate_testkit::jwe::Enc;
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::mdoc::{MDL, MDL_NAME_SPACE};
use idgate_testkit::openid4vp::{Forgery, Query, Request};
use idgate_testkit::request_object::ResponseKey;
use idgate_testkit::samples::{self, VCT};
use idgate_testkit::wallet::Wallet;
use serde_json::{Value, json};

use crate::server::{Installation, Output};
use crate::tenant::now_ms;

const OK: i32 = 0;
const ERROR: i32 = 1;
const USAGE: i32 = 2;
const REFUSED: i32 = 3;

const RESPONSE_URI: &str = "https://gateway.example/v1/oid4vp/response/off_1";
const CLIENT_ID: &str = "x509_hash:Uvo3HtuIxuhC92rShpgqcT3YXwrqRxWEviRiA0OZszk";
const NONCE: &str = "the-nonce-of-a-captured-request";

/// The files for a captured answer, and the wallet that gave it.
struct Desk {
    installation: Installation,
    wallet: Wallet,
    query: Value,
    request: Request,
}

impl Desk {
    fn new() -> Self {
        let installation = Installation::new();
        let (issuer, holder) = (samples::issuer_key(Curve::P256), samples::holder_key(Curve::P256));
        let mdl = samples::issue_mdl(now_ms());
        let reader = SigningKey::from_seed(Curve::P256, "reader");
        let query = json!({ "credentials": [
            { "id": "pid", "format": "dc+sd-jwt", "meta": { "vct_values": [VCT] },
                "claims": [{ "path": ["given_name"] }, { "path": ["address", "locality"] }] },
            { "id": "mdl", "format": "mso_mdoc", "meta": { "doctype_value": MDL },
                "claims": [{ "path": [MDL_NAME_SPACE, "family_name"] }] },
        ] });
        installation.file("issuer.jwk", issuer.public_jwk().to_string());
        installation.file("root.der", &mdl.root.der);
        installation.file("reader.jwk", reader.private_jwk().to_string());
        installation.file("query.json", query.to_string());
        let credential = samples::identity(&holder, now_ms()).issue(&issuer);
        let wallet = Wallet::new(holder).with(credential).with_mdoc(mdl.document);
        let jwk = reader.public_jwk();
        let key = ResponseKey { jwk, kid: "1".into(), point: reader.public_sec1() };
        let request = Request {
            client_id: CLIENT_ID.into(),
            response_uri: RESPONSE_URI.into(),
            nonce: NONCE.into(),
            query: Query::read(&query),
            encryption: Some((key, Enc::A256Gcm)),
            ..Request::default()
        };
        Self { installation, wallet, query, request }
    }

    fn forged(&self, forgery: Forgery) -> Value {
        let answer = self.wallet.forge_1_0(&self.request, forgery, now_ms()).unwrap();
        answer.parameters["vp_token"].clone()
    }

    /// Verifies the wallet's answer to the request above.
    fn verify(&self, vp_token: &Value, more: &[&str]) -> Output {
        self.installation.file("vp_token.json", vp_token.to_string());
        let arguments = [
            "verify",
            "vp_token.json",
            "--nonce",
            NONCE,
            "--client-id",
            CLIENT_ID,
            "--issuer-key",
            "issuer.jwk",
            "--root",
            "root.der",
            "--test",
        ];
        self.installation.run(&[&arguments, more].concat())
    }

    fn asked(&self, vp_token: &Value, more: &[&str]) -> Output {
        let asked = ["--dcql", "query.json", "--response-uri", RESPONSE_URI];
        self.verify(vp_token, &[&asked, &["--enc-key", "reader.jwk"][..], more].concat())
    }
}

#[test]
fn an_answer_with_both_formats_is_verified_by_query_id() {
    let desk = Desk::new();
    let good = desk.forged(Forgery::None);
    let output = desk.asked(&good, &["--json"]);
    assert_eq!(output.code, OK, "{output:?}");
    let told = output.json();
    assert_eq!(told["verified"], true);
    let credentials = told["credentials"].as_array().unwrap();
    let ids: Vec<&Value> = credentials.iter().map(|one| &one["id"]).collect();
    assert_eq!(ids, ["pid", "mdl"]);
    assert_eq!(credentials[0]["credential_type"], VCT);
    assert_eq!(credentials[1]["session_transcript"], "openid4vp-1.0");
    let text = desk.asked(&good, &[]).stdout;
    assert!(text.contains("pid:") && text.contains("mdl:"), "{text}");
    assert!(!text.contains("Erika") && !text.contains(NONCE), "{text}");
    assert_eq!(desk.asked(&desk.forged(Forgery::BareString), &[]).code, OK);
}

#[test]
fn a_refusal_exits_with_3_and_says_why() {
    let desk = Desk::new();
    for (forgery, reason) in [
        (Forgery::CredentialSignature, "issuer_signature_invalid"),
        (Forgery::Nonce, "nonce_mismatch"),
        (Forgery::AudienceWithoutPrefix, "audience_mismatch"),
        (Forgery::SdHash, "sd_hash_mismatch"),
        (Forgery::NoProof, "holder_binding_missing"),
        (Forgery::Transcript, "device_auth_invalid"),
        (Forgery::TranscriptThumbprint, "device_auth_invalid"),
        (Forgery::DeviceMac, "device_auth_invalid"),
        (Forgery::UnknownQueryId, "submission_mismatch"),
        (Forgery::MissingQueryId, "submission_mismatch"),
        (Forgery::NoQueryId, "submission_mismatch"),
        (Forgery::SeveralPresentations, "submission_mismatch"),
        (Forgery::NoPresentations, "submission_mismatch"),
        (Forgery::ObjectElement, "malformed_presentation"),
        (Forgery::TwoDocuments, "malformed_presentation"),
    ] {
        let output = desk.asked(&desk.forged(forgery), &[]);
        assert_eq!(output.code, REFUSED, "{forgery:?}: {output:?}");
        assert!(output.stdout.contains(reason), "{forgery:?}: {output:?}");
        assert!(!output.stdout.contains(NONCE), "{output:?}");
    }
}

#[test]
fn the_transcript_of_annex_b_is_refused_with_and_without_apu() {
    let desk = Desk::new();
    let annex_b = desk.forged(Forgery::TranscriptOfAnnexB);
    let output = desk.asked(&annex_b, &[]);
    assert_eq!(output.code, REFUSED, "{output:?}");
    assert!(output.stdout.contains("device_auth_invalid"), "{output:?}");
    // OpenID4VP 1.0 has no use for `apu`.
    let output = desk.asked(&annex_b, &["--apu", "bm9uY2U"]);
    assert_eq!(output.code, USAGE, "{output:?}");
    assert!(output.stderr.contains("--apu"), "{output:?}");
}

#[test]
fn the_dcql_query_decides_which_claims_are_checked() {
    let desk = Desk::new();
    let good = desk.forged(Forgery::None);
    let pid = |types: Value, path: Value| {
        json!({ "id": "pid", "format": "dc+sd-jwt", "meta": { "vct_values": types },
            "claims": [{ "path": path }] })
    };
    let mdl = json!({ "id": "mdl", "format": "mso_mdoc", "meta": { "doctype_value": MDL } });
    let sets = |options: Value| {
        let pid = pid(json!([VCT]), json!(["given_name"]));
        json!({ "credentials": [pid, mdl], "credential_sets": [{ "options": options }] })
    };
    let valued = |id: &str, values: Value| {
        let mut query = desk.query.clone();
        let mut asked = query["credentials"].as_array_mut().unwrap().iter_mut();
        asked.find(|asked| asked["id"] == id).unwrap()["claims"][0]["values"] = values;
        query
    };
    let alone = json!({ "pid": good["pid"] });
    for (query, vp_token, code, reason) in [
        (
            json!({ "credentials": [pid(json!(["x"]), json!(["given_name"])), mdl] }),
            &good,
            REFUSED,
            "type_mismatch",
        ),
        (
            json!({ "credentials": [pid(json!([VCT]), json!(["absent"])), mdl] }),
            &good,
            REFUSED,
            "claim_missing",
        ),
        (valued("pid", json!(["Anna", "Erika"])), &good, OK, "verified"),
        (valued("pid", json!(["Anna"])), &good, REFUSED, "claim_filter_mismatch"),
        (valued("mdl", json!([7, "Mustermann"])), &good, OK, "verified"),
        (valued("mdl", json!([7, true, "Muster"])), &good, REFUSED, "claim_filter_mismatch"),
        (sets(json!([["mdl"], ["pid"]])), &alone, OK, "verified"),
        (sets(json!([["mdl"]])), &alone, REFUSED, "submission_mismatch"),
        (sets(json!([["mdl"]])), &good, REFUSED, "submission_mismatch"),
    ] {
        desk.installation.file("query.json", query.to_string());
        let output = desk.asked(vp_token, &[]);
        assert_eq!(output.code, code, "{reason}: {output:?}");
        assert!(output.stdout.contains(reason), "{reason}: {output:?}");
    }
}

#[test]
fn similar_claim_paths_are_checked_separately() {
    let desk = Desk::new();
    let good = desk.forged(Forgery::None);
    let asked = |paths: [Value; 2]| {
        let mut query = desk.query.clone();
        query["credentials"][0]["claims"] = json!([{ "path": paths[0] }, { "path": paths[1] }]);
        desk.installation.file("query.json", query.to_string());
        desk.asked(&good, &[])
    };
    let (nested, flat) = (json!(["address", "locality"]), json!(["address.locality"]));
    for paths in [[nested.clone(), flat.clone()], [flat, nested.clone()]] {
        let output = asked(paths);
        assert_eq!(output.code, REFUSED, "{output:?}");
        assert!(output.stdout.contains("claim_missing"), "{output:?}");
    }
    assert_eq!(asked([nested, json!(["given_name"])]).code, OK);
}

#[test]
fn unusable_input_is_an_error_not_a_refusal() {
    let desk = Desk::new();
    let good = desk.forged(Forgery::None);
    assert_eq!(desk.verify(&good, &[]).code, USAGE, "neither --format nor --dcql");
    assert_eq!(desk.asked(&good, &["--format", "mso_mdoc"]).code, USAGE);
    assert_eq!(desk.asked(&good, &["--vct", VCT]).code, USAGE);
    assert_eq!(desk.asked(&json!("a draft's"), &[]).code, ERROR);
    let one = |more: Value| {
        let mut asked = desk.query["credentials"][0].clone();
        asked.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "credentials": [asked, desk.query["credentials"][1]] })
    };
    let with_sets =
        |sets: Value| json!({ "credentials": desk.query["credentials"], "credential_sets": sets });
    for query in [
        json!([]),
        json!({ "credentials": [] }),
        json!({ "credentials": [{ "id": "pid", "format": "vc+sd-jwt" }] }),
        json!({ "credentials": [{ "id": "pid", "format": "dc+sd-jwt", "meta": {} }] }),
        one(json!({ "id": "mdl" })),
        one(json!({ "multiple": true })),
        one(json!({ "claim_sets": [["a"]] })),
        one(json!({ "claims": [] })),
        one(json!({ "claims": {} })),
        one(json!({ "claims": [{ "path": ["a"] }, { "path": ["a"] }] })),
        one(json!({ "claims": [{ "path": ["a"], "values": [] }] })),
        one(json!({ "claims": [{ "path": ["a"], "values": "Erika" }] })),
        one(json!({ "claims": [{ "path": ["a"], "values": [1.5] }] })),
        one(json!({ "claims": [{ "path": ["a", null], "values": ["DE"] }] })),
        with_sets(json!({})),
        with_sets(json!([])),
        with_sets(json!([{}])),
        with_sets(json!([{ "options": [] }])),
        with_sets(json!([{ "options": [[]] }])),
        with_sets(json!([{ "options": [["pid"], ["passport"]] }])),
        with_sets(json!([{ "options": [["pid"]], "required": "no" }])),
    ] {
        desk.installation.file("query.json", query.to_string());
        let output = desk.asked(&good, &[]);
        assert_eq!(output.code, ERROR, "{query}: {output:?}");
        assert!(output.stderr.contains("query.json"), "{output:?}");
    }
}
