//! `idgate audit verify` and `idgate audit export`

use std::fs;
use std::path::Path;

use serde_json::json;

use super::*;
use crate::disk;
use crate::server::eventually;

fn change(installation: &Installation, sql: &str) {
    let database = rusqlite::Connection::open(installation.data_dir().join("idgate.db")).unwrap();
    database.execute_batch(sql).unwrap();
}

fn copy_all(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// Runs `audit verify` and returns the exit code and the kinds of damage.
fn verify(installation: &Installation, options: &[&str]) -> (i32, Vec<String>) {
    let output = installation.run(&[&["audit", "verify", "--json"], options].concat());
    let report = output.json();
    let findings = report["findings"].as_array().unwrap();
    assert_eq!(report["intact"] == true, findings.is_empty());
    let classes = findings.iter().map(|finding| finding["class"].as_str().unwrap().to_owned());
    (output.code, classes.collect())
}

#[test]
fn audit_verify_exits_0_for_an_intact_log_and_3_for_an_altered_one() {
    let gateway = Gateway::start();
    three_sessions(&mut gateway.tenant());
    let installation = &gateway.installation;
    let report = installation.run_json(&["audit", "verify", "--json"]);
    let want = json!({
        // The client's chain, and the operator's chain with the added issuer.
        "intact": true, "chains": 2, "entries": 8, "removed": 0, "checkpoints": 0, "findings": [],
    });
    assert_eq!(report, want);
    let unknown = installation.run(&["audit", "verify", "--client", "cli_none"]);
    assert_eq!(unknown.code, 4, "{unknown:?}");
    change(installation, "UPDATE audit_entries SET fields = replace(fields, 'FAILED', 'VERIFIED')");
    let output = installation.run(&["audit", "verify"]);
    assert_eq!(output.code, 3, "{output:?}");
    assert!(output.stdout.contains("entry 5: hash_mismatch"), "{output:?}");
    let id = &gateway.client.client_id;
    assert_eq!(verify(installation, &["--client", id]), (3, vec!["hash_mismatch".into()]));
    let page = gateway.tenant().audit("");
    let intact: Vec<&Value> =
        page["entries"].as_array().unwrap().iter().map(|entry| &entry["chain_intact"]).collect();
    assert_eq!(intact, [true, true, false, true, true, true, true]);
}

#[test]
fn a_chain_removed_or_rolled_back_with_its_head_is_detected() {
    let installation = stopped_installation(Installation::new());
    let other = "(SELECT id FROM clients WHERE name = 'other')";
    change(
        &installation,
        &format!(
            "DELETE FROM audit_entries WHERE client_id = {other};
             DELETE FROM audit_heads WHERE client_id = {other};"
        ),
    );
    let missed = vec!["chain_missing".into(), "total_mismatch".into()];
    assert_eq!(verify(&installation, &[]), (3, missed));
}

#[test]
fn exported_checkpoints_reveal_a_rollback_of_the_whole_directory() {
    let outside = tempfile::tempdir().unwrap();
    let file = outside.path().join("checkpoints");
    let installation =
        Installation::new().with("IDGATE_AUDIT_CHECKPOINT_FILE", file.to_str().unwrap());
    let installation = stopped_installation(installation);
    let backup = outside.path().join("backup");
    copy_all(&installation.data_dir(), &backup);
    // More entries, signed at the export like the operator's chain, and written by the server.
    let id =
        installation.run_json(&["client", "list", "--json"])["clients"][0]["client_id"].clone();
    assert_eq!(installation.run(&["client", "revoke", id.as_str().unwrap()]).code, 0);
    assert_eq!(installation.run(&["audit", "export"]).code, 0);
    let server = installation.serve();
    eventually("the checkpoints are written", || {
        fs::read_to_string(&file).unwrap_or_default().lines().count() == 3
    });
    server.terminate();
    server.wait();
    assert_eq!(verify(&installation, &[]).0, 0);
    fs::remove_dir_all(installation.data_dir()).unwrap();
    copy_all(&backup, &installation.data_dir());
    assert_eq!(verify(&installation, &[]), (3, vec!["tail_cut".into()]));
    // Without the file the directory looks like an earlier state.
    fs::remove_file(&file).unwrap();
    assert_eq!(verify(&installation, &[]).0, 0);
    let missing = installation.run(&["audit", "verify", "--checkpoints", "nowhere"]);
    assert_eq!(missing.code, 1, "{missing:?}");
}

#[test]
fn an_earlier_export_reveals_a_rollback_of_the_whole_directory() {
    let outside = tempfile::tempdir().unwrap();
    let backup = outside.path().join("backup");
    let mut installation = stopped_installation(Installation::new());
    copy_all(&installation.data_dir(), &backup);
    // For a single chain, wherever its checkpoint is in the export.
    let id =
        installation.run_json(&["client", "list", "--json"])["clients"][0]["client_id"].clone();
    assert_eq!(installation.run(&["client", "revoke", id.as_str().unwrap()]).code, 0);
    let export = installation.run(&["audit", "export"]).stdout;
    let on_one_line = serde_json::from_str::<Value>(&export).unwrap().to_string();
    let files = [("export.json", export), ("one_line.json", on_one_line)];
    let files = files.map(|(name, export)| installation.file(name, export));
    let files = files.each_ref().map(|file| file.to_str().unwrap());
    for file in files {
        assert_eq!(verify(&installation, &["--checkpoints", file]), (0, vec![]), "{file}");
    }
    fs::remove_dir_all(installation.data_dir()).unwrap();
    copy_all(&backup, &installation.data_dir());
    assert_eq!(verify(&installation, &[]).0, 0);
    for file in files {
        let found = verify(&installation, &["--checkpoints", file]);
        assert_eq!(found, (3, vec!["tail_cut".into()]), "{file}");
    }
    installation.set("IDGATE_AUDIT_CHECKPOINT_FILE", files[0]);
    assert_eq!(verify(&installation, &[]).0, 3);
}

#[test]
fn a_line_damaged_other_than_by_a_crash_makes_a_checkpoint_file_unusable() {
    let mut installation = stopped_installation(Installation::new());
    let export = installation.run(&["audit", "export"]).stdout;
    let points = serde_json::from_str::<Value>(&export).unwrap()["checkpoints"].clone();
    let points: Vec<String> = points.as_array().unwrap().iter().map(Value::to_string).collect();
    let [one, two, three] = &points[..] else { panic!("{points:?}") };
    let (cut, _) = one.split_at(one.len() / 2);
    let damaged = one.replacen("head_hash", "head_hush", 1);
    let verify = |content: String| {
        let file = installation.file("checkpoints", content);
        installation.run(&["audit", "verify", "--checkpoints", file.to_str().unwrap()])
    };
    for (content, warned) in [
        (format!("{one}\n{two}\n{three}\n"), None),
        // A crash, and a crash after which the server continued.
        (format!("{two}\n{three}\n{cut}"), Some("line 3")),
        (format!("{two}\n{cut}\n{one}\n{three}\n"), Some("line 2")),
        // Another node has written it since then, to its own file.
        (format!("{two}\n{cut}\n{three}\n"), Some("line 2")),
    ] {
        let output = verify(content);
        assert!(output.code == 0 && output.stdout.contains("intact"), "{output:?}");
        assert!(warned.is_none_or(|line| output.stderr.contains(line)), "{output:?}");
        assert_eq!(output.stderr.contains("is not a checkpoint"), warned.is_some(), "{output:?}");
    }
    for (content, line) in [
        (format!("{damaged}\n{two}\n{three}\n"), "line 1 of"),
        (format!("{two}\n{damaged}\n{one}\n{three}\n"), "line 2 of"),
        (format!("{two}\n{three}\n{damaged}\n"), "line 3 of"),
        (format!("{two}\n{three}\n{damaged}"), "line 3 of"),
        (format!("{one}\n{}\n", export.replace('\n', "")), "line 2 of"),
        (format!("{export}{three}\n"), "line 1 of"),
        (format!("{one}\n{}", &export[..export.len() / 2]), "line 2 of"),
    ] {
        let output = verify(content);
        assert_eq!(output.code, 1, "{line}: {output:?}");
        assert!(output.stdout.is_empty() && output.stderr.contains(line), "{output:?}");
    }
    let file = installation.file("checkpoints", format!("{damaged}\n{two}\n{three}\n"));
    installation.set("IDGATE_AUDIT_CHECKPOINT_FILE", file.to_str().unwrap());
    assert_eq!(installation.run(&["audit", "verify"]).code, 1);
}

#[test]
fn serve_does_not_start_with_an_unwritable_checkpoint_file() {
    let installation =
        Installation::new().with("IDGATE_AUDIT_CHECKPOINT_FILE", "/proc/none/checkpoints");
    let output = installation.run(&["serve"]);
    assert_eq!(output.code, 1);
    assert!(output.stderr.contains("IDGATE_AUDIT_CHECKPOINT_FILE"), "{output:?}");
}

#[test]
fn an_export_has_every_entry_and_no_value_nonce_or_address() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    three_sessions(&mut tenant);
    let created = tenant.create(&request_for(&["given_name"]));
    let request = idgate_testkit::request::AuthorizationRequest::parse(&created.uri).unwrap();
    let output = gateway.installation.run(&["audit", "export", "--json"]);
    assert_eq!(output.code, 0);
    let export = output.json();
    assert_eq!(crate::tenant::members(&export), ["checkpoints", "entries", "removals"]);
    let entries = export["entries"].as_array().unwrap();
    let (entries, operators) = entries.split_at(8);
    // The issuer was added.
    assert_eq!((operators.len(), &operators[0]["client_id"]), (1, &json!("operator")));
    assert_eq!(export["checkpoints"][0]["seq"], 8);
    for (entry, seq) in entries.iter().zip(1..) {
        assert_eq!(
            (&entry["seq"], &entry["client_id"]),
            (&json!(seq), &json!(gateway.client.client_id))
        );
    }
    let secrets = ["Sentinel-Q7f3xZ", "127.0.0.1", &request.nonce, &request.state];
    for secret in secrets.into_iter().chain([&gateway.client.api_key[8..]]) {
        assert!(!output.stdout.contains(secret), "{secret}");
    }
    assert!(output.stdout.contains(&created.id), "the search finds what is there");
    let key = gateway.client.api_key.as_bytes()[8..].to_vec();
    assert!(disk::files_with(&gateway.installation.data_dir(), &[key]).is_empty());
    assert_eq!(gateway.installation.run(&["audit", "export", "--client", "cli_none"]).code, 4);
}

/// The operator's changes for all clients are in a chain that no client sees.
#[test]
fn revoking_a_client_and_changing_trust_are_audited() {
    let gateway = Gateway::start();
    let (installation, id) = (&gateway.installation, &gateway.client.client_id);
    let issuer = crate::tenant::sample_trust().issuer_id;
    assert_eq!(installation.run(&["trust", "remove", &issuer]).code, 0);
    assert_eq!(installation.run(&["client", "revoke", id]).code, 0);
    assert_eq!(installation.run(&["client", "revoke", id]).code, 0);
    let export = installation.run(&["audit", "export"]).json();
    let of = |chain: &str| -> Vec<Value> {
        let entries = export["entries"].as_array().unwrap().iter();
        entries.filter(|entry| entry["client_id"] == chain).cloned().collect()
    };
    let statuses = |entries: &[Value]| -> Vec<Value> {
        entries.iter().map(|entry| entry["status"].clone()).collect()
    };
    let operators = of("operator");
    assert_eq!(statuses(&operators), ["TRUST_CHANGED", "TRUST_CHANGED"]);
    assert!(
        operators
            .iter()
            .all(|entry| entry["issuer_ids"] == json!([issuer]) && entry["actor"] == "operator")
    );
    let clients = of(id);
    assert_eq!(statuses(&clients), ["API_KEY_CREATED", "API_KEY_REVOKED", "CLIENT_REVOKED"]);
    assert_eq!(clients[0]["key_id"], clients[1]["key_id"]);
}

/// Entries past the retention are removed, and a signed record allows verifying the rest.
#[test]
fn audit_entries_past_the_retention_are_removed_with_a_signed_record() {
    use idgate_store::OperatorStore;
    let installation = Installation::new().with("IDGATE_AUDIT_RETENTION", "30");
    let day = 24 * 60 * 60 * 1000;
    let past = |days: u64| idgate_core::UnixMillis(crate::tenant::now_ms() - days * day);
    let mut store = OperatorStore::open(&installation.data_dir(), None).unwrap();
    let client = store.create_client("shop", true, None, past(90)).unwrap();
    let key = |store: &mut OperatorStore, days| {
        store.create_key(&client.client_id, None, None, past(days)).unwrap().unwrap()
    };
    for days in [80, 70, 31, 29, 1] {
        key(&mut store, days);
    }
    drop(store);
    let report = || installation.run_json(&["audit", "verify", "--json"]);
    assert_eq!((&report()["entries"], &report()["removed"]), (&json!(6), &json!(0)));
    let server = installation.serve();
    eventually("what is old is removed", || report()["removed"] == 4);
    assert_eq!((&report()["intact"], &report()["entries"]), (&json!(true), &json!(2)));
    let mut tenant = crate::tenant::Tenant {
        http: crate::http::Http::new(server.address),
        api_key: client.api_key.expose().into(),
    };
    let page = tenant.audit("");
    let entries = page["entries"].as_array().unwrap();
    assert_eq!((entries.len(), &page["has_more"]), (2, &json!(false)));
    assert!(entries.iter().all(|entry| entry["chain_intact"] == true), "{page}");
    // The rest continues, and the independent verifier accepts it.
    installation.create_client("other", true);
    let export = installation.run(&["audit", "export"]).stdout;
    let export = installation.file("export.json", export);
    let (code, said) = super::python::verify(&export, &[]);
    assert_eq!(code, 0, "{said}");
    // A record with another end, or none, is detected.
    let record = "UPDATE audit_removals SET signed = replace(signed, '\"count\":4', '\"count\":5')";
    change(&installation, record);
    assert_eq!(verify(&installation, &[]), (3, vec!["removal_mismatch".into()]));
    change(&installation, "DELETE FROM audit_removals");
    assert_eq!(verify(&installation, &[]), (3, vec!["gap".into()]));
}
