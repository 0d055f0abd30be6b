//! `examples/verify_audit.py` finds tampering in an export alone.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::*;

/// A change of an export.
type Tampering = (&'static str, fn(&mut Value));

const TAMPERINGS: [Tampering; 15] = [
    ("status", |e| e["entries"][4]["status"] = json!("VERIFIED")),
    ("error_code", |e| e["entries"][4]["error_code"] = json!("nonce_mismatch")),
    ("issuer_ids", |e| e["entries"][1]["issuer_ids"] = json!([])),
    ("latency_ms", |e| e["entries"][2]["latency_ms"] = json!(1)),
    ("occurred_at", |e| e["entries"][0]["occurred_at"] = json!("2026-01-01T00:00:00.000Z")),
    ("a member more", |e| e["entries"][0]["note"] = json!("")),
    ("entry_hash", |e| e["entries"][3]["entry_hash"] = e["entries"][2]["entry_hash"].clone()),
    ("prev_hash", |e| e["entries"][3]["prev_hash"] = e["entries"][2]["prev_hash"].clone()),
    ("delete", |e| drop(entries(e).remove(3))),
    ("swap", |e| entries(e).swap(2, 3)),
    ("duplicate", |e| {
        let again = entries(e)[3].clone();
        entries(e).insert(3, again);
    }),
    ("cut tail", |e| drop(entries(e).pop())),
    ("checkpoint time", |e| e["checkpoints"][0]["time"] = json!("2026-01-01T00:00:00.000Z")),
    ("checkpoint signature", |e| {
        e["checkpoints"][0]["signature"] = e["checkpoints"][1]["signature"].clone();
    }),
    ("checkpoint of another head", |e| e["checkpoints"][0]["seq"] = json!(2)),
];

#[test]
fn the_python_verifier_accepts_an_export_and_finds_each_change() {
    let installation = stopped_installation(Installation::new());
    // The chains alternate by name only: the first tampered entries are those of the longer one.
    let output = installation.run(&["audit", "export"]);
    let mut export = output.json();
    let longer = |entry: &Value| entry["client_id"] != export["entries"][0]["client_id"];
    let first_is_short = export["entries"].as_array().unwrap().iter().position(longer) == Some(1);
    if first_is_short {
        entries(&mut export).rotate_left(1);
    }
    let checkpoints = lines(&export["checkpoints"]);
    let intact = installation.file("intact.json", export.to_string());
    let kept = installation.file("kept", &checkpoints);
    let key = export["checkpoints"][0]["public_key"].as_str().unwrap();
    for arguments in [vec![], vec![kept.to_str().unwrap()], vec![kept.to_str().unwrap(), key]] {
        let (code, said) = verify(&intact, &arguments);
        assert_eq!((code, said.contains("3 chains, 9 entries")), (0, true), "{said}");
    }
    for (name, tamper) in TAMPERINGS {
        let mut changed = export.clone();
        tamper(&mut changed);
        let file = installation.file("changed.json", changed.to_string());
        let (code, said) = verify(&file, &[]);
        assert_eq!(code, 3, "{name}: {said}");
    }
    // A tail that was cut with its checkpoint is found by a checkpoint kept elsewhere.
    let mut cut = export.clone();
    let last = entries(&mut cut).pop().unwrap();
    let of_last = |point: &Value| point["client_id"] != last["client_id"];
    cut["checkpoints"].as_array_mut().unwrap().retain(of_last);
    let cut = installation.file("cut.json", cut.to_string());
    assert_eq!(verify(&cut, &[]).0, 0);
    assert_eq!(verify(&cut, &[kept.to_str().unwrap()]).0, 3);
    // A log of another instance is valid by itself, but it is not this instance's.
    let mut other = Installation::new();
    other.set("IDGATE_INSTANCE_KEY", "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=");
    other.create_client("other", true);
    let other = installation.file("other.json", other.run(&["audit", "export"]).stdout);
    assert_eq!(verify(&other, &[]).0, 0);
    let none = installation.file("none", "");
    assert_eq!(verify(&other, &[none.to_str().unwrap(), key]).0, 3);
}

#[test]
fn the_python_verifier_has_at_most_70_lines() {
    let text = std::fs::read_to_string(SCRIPT).unwrap();
    assert!(text.lines().count() <= 70);
}

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/verify_audit.py");

pub(super) fn verify(export: &Path, more: &[&str]) -> (i32, String) {
    let output = Command::new("python3").arg(SCRIPT).arg(export).args(more).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&said).into_owned())
}

fn entries(export: &mut Value) -> &mut Vec<Value> {
    export["entries"].as_array_mut().unwrap()
}

fn lines(checkpoints: &Value) -> String {
    checkpoints.as_array().unwrap().iter().map(|point| format!("{point}\n")).collect()
}
