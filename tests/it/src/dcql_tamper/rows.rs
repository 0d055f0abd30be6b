//! The table: rows of the draft profile that mean the same in 1.0, and those of 1.0 alone.

use serde_json::{Map, Value, json};

use super::{Change, DcqlRow};
use crate::jar_tamper::{self, JarScenario};
use crate::tamper::{self, Expected};

/// Rows of `draft` that do not apply to 1.0: `presentation_submission`, client names without a
/// prefix, requests for any type. This table has their counterparts.
const OF_DRAFT_ALONE: [&str; 10] = [
    "a proof for the DID with a prefix",
    "any vct where the entry names none",
    "presentation_submission an array",
    "presentation_submission as text in JSON",
    "presentation_submission as text inside",
    "presentation_submission missing",
    "presentation_submission missing inside",
    "presentation_submission not JSON",
    "vp_token an object",
    "encrypted with A128CBC-HS256",
];

/// It removes only `redirect_uri:`.
const OF_REDIRECT_URI: &str = "KB aud without its prefix";

/// The rows that change the presentation, however it is transported.
pub fn presentation_rows() -> Vec<DcqlRow> {
    let mut rows: Vec<DcqlRow> = tamper::credential_rows().into_iter().map(of_made).collect();
    rows.retain(|row| !OF_DRAFT_ALONE.contains(&row.title) && row.title != OF_REDIRECT_URI);
    rows.extend(maps());
    rows
}

/// Every row, for plain or for encrypted answers.
pub fn rows(encrypted: bool) -> Vec<DcqlRow> {
    let mut rows: Vec<DcqlRow> = tamper::credential_rows().into_iter().map(of_made).collect();
    match encrypted {
        true => rows.extend(jar_tamper::rows().into_iter().map(of_envelope)),
        false => rows.extend(tamper::parameter_rows().into_iter().map(of_made)),
    }
    rows.retain(|row| !OF_DRAFT_ALONE.contains(&row.title));
    rows.extend(maps());
    if encrypted {
        rows.retain(|row| row.title != OF_REDIRECT_URI);
        rows.extend(envelopes());
    }
    rows
}

fn of_made(row: tamper::Row) -> DcqlRow {
    let tamper::Row { title, change, expected, needs_virtual_time } = row;
    DcqlRow { title, change: Change::Made(change), expected, needs_virtual_time }
}

fn of_envelope(row: jar_tamper::JarRow) -> DcqlRow {
    let tamper::Row { title, change, expected, needs_virtual_time } = row;
    DcqlRow { title, change: Change::Any(change), expected, needs_virtual_time }
}

fn row(title: &'static str, expected: Expected, change: fn(&mut JarScenario)) -> DcqlRow {
    DcqlRow { title, change: Change::Any(change), expected, needs_virtual_time: false }
}

/// `vp_token` of 1.0 (R 4.1): a map from the ids of the query to arrays of one string.
fn maps() -> Vec<DcqlRow> {
    let mismatch = |title, change| row(title, Expected::Refused("submission_mismatch"), change);
    let malformed = |title, change| row(title, Expected::Refused("malformed_presentation"), change);
    let invalid = |title, change| row(title, Expected::Transport("invalid_response"), change);
    vec![
        row("a bare string for an array of one", Expected::Verified, |s| {
            inside(s, |p| first(p, |list| *list = list[0].clone()));
        }),
        row("a stray presentation_submission", Expected::Verified, |s| {
            inside(s, |p| drop(p.insert("presentation_submission".into(), json!({ "id": 1 }))));
        }),
        row("members of other wallets", Expected::Verified, |s| {
            inside(s, |p| drop(p.insert("poa".into(), json!({ "iss": "x" }))));
        }),
        mismatch("no id", |s| inside(s, |p| ids(p).clear())),
        mismatch("an id that was not requested", |s| {
            inside(s, |p| drop(ids(p).insert("other".into(), json!(["x"]))));
        }),
        mismatch("only an id that was not requested", |s| {
            inside(s, |p| *ids(p) = Map::from_iter([("other".into(), json!(["x"]))]));
        }),
        mismatch("the id in capitals", |s| {
            inside(s, |p| {
                let renamed = ids(p).iter().map(|(id, list)| (id.to_uppercase(), list.clone()));
                *ids(p) = renamed.collect();
            });
        }),
        mismatch("no presentation for an id", |s| {
            inside(s, |p| first(p, |list| *list = json!([])))
        }),
        mismatch("the same presentation twice", |s| {
            inside(s, |p| first(p, |list| *list = json!([list[0], list[0]])));
        }),
        mismatch("a good presentation behind a bad one", |s| {
            inside(s, |p| first(p, |list| *list = json!(["x", list[0]])));
        }),
        malformed("an object for a presentation", |s| {
            inside(s, |p| first(p, |list| *list = json!([{ "jwt": list[0] }])));
        }),
        malformed("a number for a presentation", |s| {
            inside(s, |p| first(p, |list| *list = json!([1])));
        }),
        malformed("null for a presentation", |s| {
            inside(s, |p| first(p, |list| *list = json!([null])));
        }),
        malformed("an object for the array", |s| {
            inside(s, |p| first(p, |list| *list = json!({ "0": list[0] })));
        }),
        malformed("an array in the array", |s| {
            inside(s, |p| first(p, |list| *list = json!([[list[0]]])));
        }),
        invalid("vp_token a string, as in draft", |s| inside(s, |p| token(p, |one| one))),
        invalid("vp_token an array, as in draft", |s| inside(s, |p| token(p, |one| json!([one])))),
        invalid("vp_token null", |s| inside(s, |p| token(p, |_| Value::Null))),
        invalid("vp_token a text that is not JSON", |s| inside(s, |p| token(p, |_| "{".into()))),
    ]
}

fn envelopes() -> Vec<DcqlRow> {
    vec![
        row("a proof for the client without its prefix", AUDIENCE, |s| {
            s.made.hooks.kb_jwt = |kb_jwt| {
                let aud = kb_jwt.claims.get("aud").and_then(Value::as_str).unwrap_or_default();
                let did = aud.split_once(':').unwrap_or_default().1.to_owned();
                kb_jwt.set("aud", did);
            };
        }),
        row("encrypted with an enc that was not offered", DECRYPTION, |s| {
            s.enc = idgate_testkit::jwe::Enc::A128CbcHs256;
        }),
    ]
}

const AUDIENCE: Expected = Expected::Refused("audience_mismatch");
const DECRYPTION: Expected = Expected::Transport("decryption_failed");

fn inside(scenario: &mut JarScenario, change: fn(&mut Map<String, Value>)) {
    scenario.hooks.payload = change;
}

/// The map of `vp_token`.
#[allow(clippy::expect_used)] // the table runs in tests only
fn ids(parameters: &mut Map<String, Value>) -> &mut Map<String, Value> {
    parameters.get_mut("vp_token").and_then(Value::as_object_mut).expect("vp_token is a map")
}

/// Changes the value under its first id.
fn first(parameters: &mut Map<String, Value>, change: impl FnMut(&mut Value)) {
    ids(parameters).values_mut().take(1).for_each(change);
}

/// Replaces the map with a value made from its first presentation.
fn token(parameters: &mut Map<String, Value>, make: impl FnOnce(Value) -> Value) {
    let first = ids(parameters).values().next().and_then(|list| list.get(0)).cloned();
    parameters.insert("vp_token".into(), make(first.unwrap_or_default()));
}
