//! Disclosures: which are presented, and their content (RFC 9901 4.2, 7.1).

use idgate_testkit::codec::{base64url, from_base64url};
use idgate_testkit::disclosure::Disclosure;
use idgate_testkit::wallet::Presentation;

use crate::tamper::{Row, Scenario};

pub(super) fn rows() -> Vec<Row> {
    [presented(), attested(), protected_claims(), bounds()].concat()
}

/// Changes by the holder.
fn presented() -> Vec<Row> {
    let unsigned = |title, change| Row::refused(title, "digest_mismatch", change);
    let malformed = |title, change| Row::refused(title, "malformed_presentation", change);
    vec![
        unsigned("a disclosure with another value", |s| {
            disclosures(s, |shown| replace_first(shown, r#"["c2FsdA","given_name","Max"]"#));
        }),
        unsigned("a disclosure spelled otherwise", |s| {
            disclosures(s, |shown| {
                edit_first(shown, |text| {
                    let json_text = from_base64url(text).unwrap_or_default();
                    *text = base64url(&[&b" "[..], &json_text].concat());
                });
            });
        }),
        unsigned("a disclosure that the issuer did not sign", |s| {
            disclosures(s, |shown| {
                shown.disclosures.push(base64url(br#"["c2FsdA","admin",true]"#))
            });
        }),
        unsigned("an array element that the issuer did not sign", |s| {
            disclosures(s, |shown| shown.disclosures.push(base64url(br#"["c2FsdA","IT"]"#)));
        }),
        unsigned("a part without the disclosure around it", |s| {
            s.disclose = vec!["given_name".into(), "address".into()];
            disclosures(s, |shown| drop(shown.disclosures.pop()));
        }),
        malformed("a disclosure twice", |s| {
            disclosures(s, |shown| shown.disclosures.extend_from_within(..1));
        }),
        malformed("an empty disclosure", |s| {
            disclosures(s, |shown| shown.disclosures.push(String::new()));
        }),
        malformed("a disclosure with padding", |s| {
            disclosures(s, |shown| edit_first(shown, |text| text.push('=')));
        }),
        malformed("a disclosure with a line feed", |s| {
            disclosures(s, |shown| edit_first(shown, |text| text.push('\n')));
        }),
        malformed("a disclosure in the other base64 alphabet", |s| {
            disclosures(s, |shown| edit_first(shown, |text| text.push('+')));
        }),
        Row::verified("disclosures in another order", |s| {
            disclosures(s, |shown| shown.disclosures.reverse());
        }),
    ]
}

/// Disclosures that the issuer signed: only their form can be rejected.
fn attested() -> Vec<Row> {
    let malformed = |title, change| Row::refused(title, "malformed_presentation", change);
    vec![
        malformed("a member disclosure of one element", |s| given_name(s, r#"["c2FsdA"]"#)),
        malformed("a member disclosure of two elements", |s| {
            given_name(s, r#"["c2FsdA","Erika"]"#)
        }),
        malformed("a member disclosure of four elements", |s| {
            given_name(s, r#"["c2FsdA","given_name","Erika",1]"#);
        }),
        malformed("a member disclosure without elements", |s| given_name(s, "[]")),
        malformed("a disclosure that is an object", |s| given_name(s, r#"{"given_name":"Erika"}"#)),
        malformed("a disclosure that is a string", |s| given_name(s, r#""given_name""#)),
        malformed("a disclosure that is a number", |s| given_name(s, "1")),
        malformed("a disclosure with a number beyond all numbers", |s| {
            given_name(s, r#"["c2FsdA","given_name",1e400]"#);
        }),
        malformed("a disclosure that is not JSON", |s| given_name(s, "given_name")),
        malformed("a disclosure with something after the array", |s| {
            given_name(s, r#"["c2FsdA","given_name","Erika"]]"#);
        }),
        malformed("a disclosure with a repeated member", |s| {
            given_name(s, r#"["c2FsdA","given_name",{"a":1,"a":2}]"#);
        }),
        malformed("a salt that is a number", |s| given_name(s, r#"[1,"given_name","Erika"]"#)),
        malformed("a salt that is null", |s| given_name(s, r#"[null,"given_name","Erika"]"#)),
        malformed("a claim name that is a number", |s| given_name(s, r#"["c2FsdA",1,"Erika"]"#)),
        malformed("the claim name _sd", |s| given_name(s, r#"["c2FsdA","_sd","Erika"]"#)),
        malformed("the claim name _sd_alg", |s| given_name(s, r#"["c2FsdA","_sd_alg","Erika"]"#)),
        malformed("the claim name ...", |s| given_name(s, r#"["c2FsdA","...","Erika"]"#)),
        malformed("a claim name that is also in the payload", |s| {
            given_name(s, r#"["c2FsdA","age_equal_or_over",{}]"#);
        }),
        malformed("two disclosures of one claim name", |s| {
            add(s, r#"["c2FsdA","given_name","Max"]"#);
        }),
        malformed("two disclosures of one claim name, one of them escaped", |s| {
            add(s, r#"["c2FsdA","given\u005fname","Max"]"#);
        }),
        malformed("a digest list in a disclosed value that is not an array", |s| {
            given_name(s, r#"["c2FsdA","given_name",{"_sd":"x"}]"#);
        }),
        malformed("_sd_alg in a disclosed value", |s| {
            given_name(s, r#"["c2FsdA","given_name",{"_sd_alg":"sha-256"}]"#);
        }),
        malformed("an array element disclosure of three elements", |s| {
            s.hooks.unsigned = |unsigned| {
                let element = Disclosure::of_text(r#"["c2FsdA","name","Erika"]"#);
                let digest = element.digest(unsigned.hash());
                unsigned.payload.insert("list".into(), serde_json::json!([{ "...": digest }]));
                unsigned.disclosures.push(element);
            };
        }),
        Row::verified("an attested member beyond the requested ones", |s| {
            add(s, r#"["c2FsdA","nickname","Rike"]"#);
        }),
        Row::verified("an empty salt", |s| given_name(s, r#"["","given_name","Erika"]"#)),
        Row::verified("a disclosure with white space in its JSON", |s| {
            given_name(s, "[ \"c2FsdA\" , \"given_name\" ,\n\"Erika\" ]");
        }),
    ]
}

/// Claims that must be in the payload itself (draft-ietf-oauth-sd-jwt-vc 2.2.2.3).
fn protected_claims() -> Vec<Row> {
    let malformed = |title, change| Row::refused(title, "malformed_presentation", change);
    vec![
        malformed("iss selectively disclosed", |s| {
            s.attest(|c| c.without("iss"));
            add(s, r#"["c2FsdA","iss","https://issuer.example"]"#);
        }),
        malformed("vct selectively disclosed", |s| {
            s.attest(|c| c.without("vct"));
            add(s, r#"["c2FsdA","vct","urn:eudi:pid:1"]"#);
        }),
        malformed("exp selectively disclosed", |s| {
            s.attest(|c| c.without("exp"));
            add(s, r#"["c2FsdA","exp",4102444800]"#);
        }),
        malformed("nbf selectively disclosed", |s| {
            s.attest(|c| c.without("nbf"));
            add(s, r#"["c2FsdA","nbf",1]"#);
        }),
        malformed("cnf selectively disclosed", |s| {
            let cnf = serde_json::json!({ "jwk": s.holder_key.public_jwk() });
            s.attest(|c| c.sd("cnf", cnf));
            s.disclose.push("cnf".into());
        }),
        malformed("jwk of cnf selectively disclosed", |s| {
            let jwk = s.holder_key.public_jwk();
            s.attest(|c| c.plain("cnf", idgate_testkit::claim::Claim::object().sd("jwk", jwk)));
            s.disclose.push("cnf".into());
        }),
        malformed("a digest list in cnf", |s| {
            let cnf = serde_json::json!({ "jwk": s.holder_key.public_jwk(), "_sd": ["digest"] });
            s.inserted = Some(("cnf", cnf));
        }),
        malformed("status selectively disclosed", |s| add(s, r#"["c2FsdA","status",{}]"#)),
        malformed("vct#integrity selectively disclosed", |s| {
            add(s, r#"["c2FsdA","vct#integrity","sha256-AA"]"#);
        }),
        malformed("aka_vcts selectively disclosed", |s| add(s, r#"["c2FsdA","aka_vcts",["a"]]"#)),
        Row::verified("sub selectively disclosed", |s| add(s, r#"["c2FsdA","sub","erika"]"#)),
        Row::verified("iat selectively disclosed", |s| {
            s.attest(|c| c.without("iat"));
            add(s, r#"["c2FsdA","iat",1]"#);
        }),
    ]
}

fn bounds() -> Vec<Row> {
    let limit = |title, change| Row::refused(title, "limit_exceeded", change);
    vec![
        limit("more disclosures than the bound", |s| {
            disclosures(s, |shown| {
                let text = |n: usize| base64url(format!(r#"["c2FsdA","c{n}",{n}]"#).as_bytes());
                shown.disclosures.extend((0..4001).map(text));
            });
        }),
        limit("a presentation larger than the bound", |s| {
            s.added = Some(format!(r#"["c2FsdA","portrait","{}"]"#, "A".repeat(400 * 1024)));
        }),
    ]
}

fn disclosures(scenario: &mut Scenario, change: fn(&mut Presentation)) {
    scenario.hooks.presentation = change;
}

fn edit_first(shown: &mut Presentation, edit: fn(&mut String)) {
    shown.disclosures.iter_mut().take(1).for_each(edit);
}

fn replace_first(shown: &mut Presentation, json_text: &str) {
    for text in shown.disclosures.iter_mut().take(1) {
        *text = base64url(json_text.as_bytes());
    }
}

/// The issuer signs this as the disclosure of `given_name`.
fn given_name(scenario: &mut Scenario, json_text: &str) {
    scenario.given_name = Some(json_text.into());
}

/// The issuer signs this additional disclosure.
fn add(scenario: &mut Scenario, json_text: &str) {
    scenario.added = Some(json_text.into());
}
