//! The mapping of presentations to the request (Presentation Exchange 2 6, decisions 6).

use idgate_testkit::wallet::Answer;
use serde_json::{Value, json};

use crate::tamper::{Row, Scenario};

pub(super) fn rows() -> Vec<Row> {
    let mismatch = |title, change| Row::refused(title, "submission_mismatch", change);
    vec![
        mismatch("definition_id of another request", |s| {
            s.hooks.submission = |submission| submission["definition_id"] = "other".into();
        }),
        mismatch("descriptor id unknown", |s| entry(s, |entry| entry["id"] = "other".into())),
        mismatch("descriptor id in capitals", |s| entry(s, |entry| entry["id"] = "PID".into())),
        mismatch("descriptor twice", |s| {
            answer(s, |answer| {
                edit_map(answer, |map| map.extend_from_within(..));
            });
        }),
        mismatch("descriptor_map empty", |s| answer(s, |answer| edit_map(answer, Vec::clear))),
        mismatch("an additional unknown descriptor", |s| {
            answer(s, |answer| {
                edit_map(answer, |map| {
                    map.push(json!({ "id": "other", "format": "vc+sd-jwt", "path": "$" }));
                });
            });
        }),
        mismatch("path out of range", |s| entry(s, |entry| entry["path"] = "$[1]".into())),
        mismatch("path to a member", |s| entry(s, |entry| entry["path"] = "$.vp_token".into())),
        mismatch("path with a wildcard", |s| entry(s, |entry| entry["path"] = "$[*]".into())),
        mismatch("path with a negative index", |s| {
            entry(s, |entry| entry["path"] = "$[-1]".into())
        }),
        mismatch("path empty", |s| entry(s, |entry| entry["path"] = "".into())),
        mismatch("format of an mdoc", |s| entry(s, |entry| entry["format"] = "mso_mdoc".into())),
        mismatch("format unknown", |s| entry(s, |entry| entry["format"] = "jwt_vp".into())),
        mismatch("a token that no entry names", |s| {
            answer(s, |answer| {
                answer.presentations.extend_from_within(..);
                edit_map(answer, |map| map.iter_mut().for_each(|e| e["path"] = "$[0]".into()));
            });
        }),
        Row::verified("path $[0] for a single token", |s| {
            entry(s, |entry| entry["path"] = "$[0]".into());
        }),
        Row::verified("format label dc+sd-jwt", |s| {
            entry(s, |entry| entry["format"] = "dc+sd-jwt".into());
        }),
        Row::verified("a single token in an array, path $", array_of_one),
        Row::verified("a single token in an array, path $[0]", |s| {
            array_of_one(s);
            entry(s, |entry| entry["path"] = "$[0]".into());
        }),
    ]
}

fn answer(scenario: &mut Scenario, change: fn(&mut Answer)) {
    scenario.hooks.answer = change;
}

fn entry(scenario: &mut Scenario, change: fn(&mut Value)) {
    scenario.hooks.descriptor = change;
}

fn edit_map(answer: &mut Answer, edit: fn(&mut Vec<Value>)) {
    if let Some(Value::Array(map)) = answer.presentation_submission.get_mut("descriptor_map") {
        edit(map);
    }
}

fn array_of_one(scenario: &mut Scenario) {
    scenario.hooks.parameters = |parameters| {
        let token = parameters.remove("vp_token").unwrap_or_default();
        parameters.insert("vp_token".into(), json!([token]));
    };
}
