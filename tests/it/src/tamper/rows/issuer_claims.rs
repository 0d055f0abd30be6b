//! The issuer's claims: `iss`, `vct`, times, `aud`, `status`, and the requested claims
//! (draft-ietf-oauth-sd-jwt-vc 2.2.2).

use idgate_testkit::samples::{ISSUER, VCT};
use serde_json::{Value, json};

use crate::tamper::{Row, Scenario};

pub(super) fn rows() -> Vec<Row> {
    [iss(), vct(), times(), aud(), status(), requested()].concat()
}

fn iss() -> Vec<Row> {
    let untrusted = |title, change| Row::refused(title, "untrusted_issuer", change);
    let malformed = |title, change| Row::refused(title, "malformed_presentation", change);
    vec![
        untrusted("iss of another issuer", |s| {
            s.attest(|c| c.plain("iss", "https://other.example"));
        }),
        untrusted("iss with a slash appended", |s| {
            s.attest(|c| c.plain("iss", format!("{ISSUER}/")));
        }),
        untrusted("iss in capitals", |s| s.attest(|c| c.plain("iss", ISSUER.to_uppercase()))),
        untrusted("iss with its scheme in capitals", |s| {
            s.attest(|c| c.plain("iss", ISSUER.replace("https", "HTTPS")));
        }),
        untrusted("iss empty", |s| s.attest(|c| c.plain("iss", ""))),
        malformed("iss a number", |s| s.attest(|c| c.plain("iss", 1))),
        malformed("iss an array", |s| s.attest(|c| c.plain("iss", json!([ISSUER])))),
        malformed("iss null", |s| s.attest(|c| c.plain("iss", Value::Null))),
        Row::verified("iss absent", |s| s.attest(|c| c.without("iss"))),
    ]
}

fn vct() -> Vec<Row> {
    let mismatch = |title, change| Row::refused(title, "type_mismatch", change);
    let malformed = |title, change| Row::refused(title, "malformed_presentation", change);
    vec![
        mismatch("vct of another type", |s| s.attest(|c| c.plain("vct", "urn:other"))),
        mismatch("vct in capitals", |s| s.attest(|c| c.plain("vct", VCT.to_uppercase()))),
        malformed("vct missing", |s| s.attest(|c| c.without("vct"))),
        malformed("vct a number", |s| s.attest(|c| c.plain("vct", 1))),
        malformed("vct an array", |s| s.attest(|c| c.plain("vct", json!([VCT])))),
        Row::verified("vct an alias of an accepted one", |s| {
            s.attest(|c| c.plain("vct", "urn:other").plain("aka_vcts", json!(["urn:x", VCT])));
        }),
        mismatch("vct and aliases of other types", |s| {
            s.attest(|c| c.plain("vct", "urn:other").plain("aka_vcts", json!(["urn:x"])));
        }),
        malformed("aka_vcts empty", |s| s.attest(|c| c.plain("aka_vcts", json!([])))),
        malformed("aka_vcts with vct itself", |s| {
            s.attest(|c| c.plain("vct", "urn:other").plain("aka_vcts", json!(["urn:other", VCT])));
        }),
        malformed("aka_vcts a string", |s| s.attest(|c| c.plain("aka_vcts", VCT))),
        malformed("aka_vcts with a number", |s| s.attest(|c| c.plain("aka_vcts", json!([1])))),
        Row::verified("any vct where the entry names none", |s| {
            s.trust.vct.clear();
            s.attest(|c| c.plain("vct", "urn:other"));
        }),
    ]
}

fn times() -> Vec<Row> {
    let expired = |title, change| Row::refused(title, "credential_expired", change);
    let early = |title, change| Row::refused(title, "credential_not_yet_valid", change);
    let malformed = |title, change| Row::refused(title, "malformed_presentation", change);
    vec![
        expired("exp over for 61 s", |s| time(s, "exp", -61)),
        Row::verified("exp over for 59 s", |s| time(s, "exp", -59)).in_virtual_time(),
        expired("exp over for 60 s", |s| time(s, "exp", -60)),
        expired("exp zero", |s| s.attest(|c| c.plain("exp", 0))),
        Row::verified("exp ahead, with a fraction", |s| {
            let value = s.seconds_from_now(1) as f64 + 0.5;
            s.attest(|c| c.plain("exp", value));
        }),
        malformed("exp null", |s| s.attest(|c| c.plain("exp", Value::Null))),
        malformed("exp an array", |s| s.attest(|c| c.plain("exp", json!([4_102_444_800_u64])))),
        malformed("exp an object", |s| s.attest(|c| c.plain("exp", json!({})))),
        expired("exp negative", |s| s.attest(|c| c.plain("exp", -1))),
        expired("exp over, with a fraction", |s| s.attest(|c| c.plain("exp", 1.5))),
        malformed("exp a string", |s| s.attest(|c| c.plain("exp", "2099-01-01"))),
        malformed("exp a boolean", |s| s.attest(|c| c.plain("exp", true))),
        Row::verified("exp absent", |s| s.attest(|c| c.without("exp"))),
        early("nbf 61 s ahead", |s| time(s, "nbf", 61)).in_virtual_time(),
        early("nbf an hour ahead", |s| time(s, "nbf", 3600)),
        Row::verified("nbf 59 s ahead", |s| time(s, "nbf", 59)),
        Row::verified("nbf 60 s ahead", |s| time(s, "nbf", 60)),
        Row::verified("nbf negative", |s| s.attest(|c| c.plain("nbf", -5))),
        early("nbf beyond all dates", |s| s.attest(|c| c.plain("nbf", 1e300))),
        malformed("nbf null", |s| s.attest(|c| c.plain("nbf", Value::Null))),
        malformed("nbf an array", |s| s.attest(|c| c.plain("nbf", json!([1])))),
        malformed("nbf a boolean", |s| s.attest(|c| c.plain("nbf", false))),
        malformed("nbf a string", |s| s.attest(|c| c.plain("nbf", "2020-01-01"))),
        early("iat a day ahead", |s| time(s, "iat", 86_400)),
        early("iat 61 s ahead", |s| time(s, "iat", 61)).in_virtual_time(),
        Row::verified("iat 60 s ahead", |s| time(s, "iat", 60)),
        Row::verified("iat negative", |s| s.attest(|c| c.plain("iat", -5))),
        early("iat beyond all dates", |s| s.attest(|c| c.plain("iat", 1e300))),
        malformed("iat null", |s| s.attest(|c| c.plain("iat", Value::Null))),
        malformed("iat an array", |s| s.attest(|c| c.plain("iat", json!([1])))),
        malformed("iat a boolean", |s| s.attest(|c| c.plain("iat", false))),
        malformed("iat a string", |s| s.attest(|c| c.plain("iat", "2020-01-01"))),
        Row::verified("iat absent", |s| s.attest(|c| c.without("iat"))),
    ]
}

fn aud() -> Vec<Row> {
    vec![
        Row::refused("credential for another audience", "audience_mismatch", |s| {
            s.attest(|c| c.plain("aud", "https://other.example"));
        }),
        Row::refused("credential for no audience", "audience_mismatch", |s| {
            s.attest(|c| c.plain("aud", json!([])));
        }),
        Row::refused("credential for a number", "malformed_presentation", |s| {
            s.attest(|c| c.plain("aud", 1));
        }),
        Row::refused("credential for several other audiences", "audience_mismatch", |s| {
            s.attest(|c| c.plain("aud", json!(["https://a.example", "https://b.example"])));
        }),
    ]
}

fn status() -> Vec<Row> {
    let unknown = |title, change| Row::refused(title, "revocation_unknown", change);
    vec![
        unknown("status that cannot be looked up", |s| {
            s.attest(|c| c.plain("status", reference()))
        }),
        unknown("status of an unknown mechanism", |s| {
            s.attest(|c| c.plain("status", json!({ "mechanism": {} })));
        }),
        unknown("status null", |s| s.attest(|c| c.plain("status", Value::Null))),
        unknown("status absent where the entry requires one", |s| s.trust.revocation = "required"),
        Row::verified("status where the entry does not look", |s| {
            s.trust.revocation = "off";
            s.attest(|c| c.plain("status", reference()));
        }),
    ]
}

fn requested() -> Vec<Row> {
    let filtered = |title, change| Row::refused(title, "claim_filter_mismatch", change);
    vec![
        Row::refused("requested claim withheld", "claim_missing", |s| {
            s.disclose.retain(|claim| claim != "given_name");
        }),
        Row::refused("requested claim not attested", "claim_missing", |s| {
            s.attest(|c| c.without("given_name"));
        }),
        Row::refused("requested claim under a name in capitals", "claim_missing", |s| {
            s.attest(|c| c.without("given_name").sd("GIVEN_NAME", "Erika"));
            s.disclose.push("GIVEN_NAME".into());
        }),
        Row::verified("requested claim not selectively disclosable", |s| {
            s.attest(|c| c.plain("given_name", "Erika"));
        }),
        Row::verified("more disclosed than requested", |s| s.disclose.push("birthdate".into())),
        filtered("filter with another const", |s| filter(s, json!({ "const": "Max" }))),
        filtered("filter of another type", |s| filter(s, json!({ "type": "number" }))),
        filtered("filter with an enum without the value", |s| {
            filter(s, json!({ "enum": ["Max", "Moritz"] }));
        }),
        filtered("filter with a pattern that does not match", |s| {
            filter(s, json!({ "pattern": "^[0-9]+$" }));
        }),
        Row::verified("filter that the value meets", |s| {
            filter(s, json!({ "type": "string", "pattern": "^E" }));
        }),
    ]
}

fn time(scenario: &mut Scenario, claim: &str, seconds: i64) {
    let value = scenario.seconds_from_now(seconds);
    scenario.attest(|c| c.plain(claim, value));
}

fn reference() -> Value {
    json!({ "status_list": { "idx": 0, "uri": "https://status.example/1" } })
}

fn filter(scenario: &mut Scenario, filter: Value) {
    if let Some(credential) = scenario.request.pointer_mut("/credentials/0") {
        credential["claim_filters"] = json!({ "given_name": filter });
    }
}
