//! The parameters of the answer and their encoding (OpenID4VP 8.2, decisions 6).

use idgate_testkit::wallet::Body;
use serde_json::{Map, Value, json};

use crate::tamper::{Expected, Row, Scenario};

pub(super) fn rows() -> Vec<Row> {
    [state(), form(), json_body(), encoding(), errors()].concat()
}

fn state() -> Vec<Row> {
    let mismatch = |title, change| Row::transport(title, "state_mismatch", change);
    vec![
        mismatch("state of another session", |s| set(s, |p| put(p, "state", "s".repeat(43)))),
        mismatch("state in capitals", |s| {
            set(s, |p| {
                let state = p.get("state").and_then(Value::as_str).unwrap_or_default();
                put(p, "state", state.to_uppercase());
            });
        }),
        mismatch("state wrong and presentation forged", |s| {
            s.prove = false;
            set(s, |p| put(p, "state", "s".repeat(43)));
        }),
    ]
}

fn form() -> Vec<Row> {
    let invalid = |title, change| Row::transport(title, "invalid_response", change);
    vec![
        invalid("state missing", |s| set(s, |p| drop(p.remove("state")))),
        invalid("vp_token missing", |s| set(s, |p| drop(p.remove("vp_token")))),
        invalid("vp_token empty", |s| set(s, |p| put(p, "vp_token", ""))),
        invalid("vp_token an object", |s| set(s, |p| put(p, "vp_token", json!({"pid": ["x"]})))),
        invalid("vp_token an empty array", |s| set(s, |p| put(p, "vp_token", json!([])))),
        invalid("vp_token an array of numbers", |s| set(s, |p| put(p, "vp_token", json!([1])))),
        invalid("presentation_submission missing", |s| {
            set(s, |p| drop(p.remove("presentation_submission")));
        }),
        invalid("presentation_submission an array", |s| {
            set(s, |p| put(p, "presentation_submission", json!([])));
        }),
        invalid("presentation_submission not JSON", |s| {
            set(s, |p| put(p, "presentation_submission", "{"));
        }),
        invalid("error together with vp_token", |s| {
            set(s, |p| put(p, "error", "access_denied"));
        }),
        invalid("response in an inline session", |s| {
            set(s, |p| {
                p.remove("vp_token");
                put(p, "response", "e30..AA.AA.AA");
            });
        }),
        Row::verified("an unknown parameter", |s| set(s, |p| put(p, "extra", "1"))),
    ]
}

fn json_body() -> Vec<Row> {
    let invalid = |title, change| Row::transport(title, "invalid_response", change);
    vec![
        Row::verified("the answer as JSON", |s| s.as_json = true),
        Row::verified("presentation_submission as text in JSON", |s| {
            s.as_json = true;
            set(s, |p| {
                let text = p.get("presentation_submission").map(Value::to_string);
                put(p, "presentation_submission", text.unwrap_or_default());
            });
        }),
        invalid("vp_token a number in JSON", |s| {
            s.as_json = true;
            set(s, |p| put(p, "vp_token", 1));
        }),
        invalid("state a number in JSON", |s| {
            s.as_json = true;
            set(s, |p| put(p, "state", 1));
        }),
        invalid("JSON with a repeated parameter", |s| {
            s.as_json = true;
            body(s, |body| {
                let text = String::from_utf8_lossy(&body.bytes).into_owned();
                body.bytes = text.replacen('{', r#"{"state":"x","#, 1).into_bytes();
            });
        }),
        invalid("JSON with something after the object", |s| {
            s.as_json = true;
            body(s, |body| body.bytes.extend(b"{}"));
        }),
        invalid("a JSON array", |s| {
            s.as_json = true;
            body(s, |body| body.bytes = b"[]".to_vec());
        }),
    ]
}

fn encoding() -> Vec<Row> {
    let invalid = |title, change| Row::transport(title, "invalid_response", change);
    vec![
        invalid("a form parameter twice", |s| body(s, |body| body.bytes.extend(b"&state=x"))),
        invalid("a form value that is not UTF-8", |s| {
            body(s, |body| body.bytes.extend(b"&extra=%FF"));
        }),
        invalid("an empty body", |s| body(s, |body| body.bytes.clear())),
        invalid("media type text/plain", |s| {
            body(s, |body| body.content_type = "text/plain".into());
        }),
        invalid("a form sent as JSON", |s| {
            body(s, |body| body.content_type = "application/json".into());
        }),
        Row::verified("media type with a parameter and capitals", |s| {
            body(s, |body| {
                body.content_type = "Application/X-WWW-Form-Urlencoded; charset=UTF-8".into();
            });
        }),
        Row::transport("a body over 1 MiB", "payload_too_large", |s| {
            body(s, |body| {
                body.bytes.extend(b"&extra=");
                body.bytes.resize(1024 * 1024 + 1, b'a');
            });
        }),
    ]
}

fn errors() -> Vec<Row> {
    vec![
        Row::new("the wallet reports an error", Expected::ErrorNoted, |s| {
            set(s, |p| {
                p.remove("vp_token");
                p.remove("presentation_submission");
                put(p, "error", "access_denied");
            });
        }),
        Row::transport("an error with a wrong state", "state_mismatch", |s| {
            set(s, |p| {
                p.remove("vp_token");
                p.remove("presentation_submission");
                put(p, "error", "access_denied");
                put(p, "state", "s".repeat(43));
            });
        }),
    ]
}

fn set(scenario: &mut Scenario, change: fn(&mut Map<String, Value>)) {
    scenario.hooks.parameters = change;
}

fn body(scenario: &mut Scenario, change: fn(&mut Body)) {
    scenario.hooks.body = change;
}

fn put(parameters: &mut Map<String, Value>, name: &str, value: impl Into<Value>) {
    parameters.insert(name.into(), value.into());
}
