//! `idgate backup` and `idgate doctor`, on the directory of a running server.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::Value;

use crate::server::Installation;
use crate::tenant::{Gateway, Tenant, form, request_for, sample_wallet};

/// The status of one check of `doctor`, or the worst one if there are several.
fn status(report: &Value, check: &str) -> String {
    let rows = report["checks"].as_array().unwrap().iter();
    let of_check =
        rows.filter(|row| row["check"] == check).filter_map(|row| row["status"].as_str());
    let worst =
        of_check.max_by_key(|status| ["ok", "warning", "failed"].iter().position(|s| s == status));
    worst.unwrap_or("absent").to_owned()
}

#[track_caller]
fn expect(installation: &Installation, check: &str, wanted: &str, code: i32) {
    let output = installation.run(&["doctor", "--json"]);
    assert_eq!((status(&output.json(), check).as_str(), output.code), (wanted, code), "{output:?}");
    assert_eq!(output.json()["ok"], code == 0);
}

#[test]
fn a_backup_of_a_running_gateway_restores_to_a_working_one() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    let wallet = sample_wallet();
    let request = request_for(&["given_name"]);
    let verified = tenant.verified(&request, &wallet).id;
    let open = tenant.create(&request);
    let file = gateway.installation.data_dir().with_file_name("backup.db");
    let path = file.to_str().unwrap();
    let made = gateway.installation.run_json(&["backup", path, "--json"]);
    // The server continues, and an open session is settled after the backup.
    tenant.post_answer(&open.id, &form(&wallet, &open)).expect_status(200);
    let bytes = fs::read(&file).unwrap();
    assert_eq!(made["bytes"], bytes.len());
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    for absent in ["Erika", &tenant.api_key] {
        assert!(!holds(&bytes, absent), "{absent}");
    }
    let copy = rusqlite::Connection::open(&file).unwrap();
    let sessions = "SELECT group_concat(id) FROM sessions";
    let sessions: String = copy.query_row(sessions, [], |row| row.get(0)).unwrap();
    assert_eq!(sessions, verified, "open sessions are left out");
    drop(copy);
    let again = gateway.installation.run(&["backup", path]);
    assert_eq!(again.code, 1, "{again:?}");
    assert!(again.stderr.contains("exists already"), "{again:?}");
    assert_eq!(fs::read(&file).unwrap(), bytes);

    let restored = restore(&gateway.installation, &file);
    expect(&restored, "database", "ok", 0);
    expect(&restored, "instance_key", "ok", 0);
    let server = restored.serve();
    let api_key = tenant.api_key.clone();
    let mut tenant = Tenant { http: crate::http::Http::new(server.address), api_key };
    let session = tenant.read(&verified);
    assert_eq!((&session["status"], session.get("claims")), (&"VERIFIED".into(), None));
    // It is neither reopened nor expired.
    tenant.get(&open.id).expect_error(404, "not_found");
    tenant.post_answer(&open.id, &form(&wallet, &open)).expect_error(409, "session_not_pending");
    tenant.verified(&request, &wallet);
}

/// Restores as docs/backup.md says: the copy as idgate.db, the key next to it, nothing else.
fn restore(from: &Installation, file: &Path) -> Installation {
    let restored = Installation::new();
    let dir = restored.data_dir();
    fs::create_dir(&dir).unwrap();
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o700)).unwrap();
    fs::copy(file, dir.join("idgate.db")).unwrap();
    fs::copy(from.data_dir().join("instance.key"), dir.join("instance.key")).unwrap();
    restored
}

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|part| part == text.as_bytes())
}

#[test]
fn doctor_passes_a_healthy_running_gateway_and_changes_nothing() {
    let gateway = Gateway::start();
    gateway.tenant().verified(&request_for(&["given_name"]), &sample_wallet());
    let before = names(&gateway.installation);
    let report = gateway.installation.run_json(&["doctor", "--json"]);
    for check in ["settings", "permissions", "disk", "database", "instance_key", "schema", "clock"]
    {
        // A full disk is a fault of the test machine.
        assert!(check == "disk" || status(&report, check) == "ok", "{check}: {report}");
    }
    assert_eq!(status(&report, "results"), "ok", "{report}");
    assert_eq!(names(&gateway.installation), before);
}

fn names(installation: &Installation) -> Vec<String> {
    let files = fs::read_dir(installation.data_dir()).unwrap().flatten();
    let mut names: Vec<_> = files.map(|f| f.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn doctor_creates_no_directory() {
    let installation = Installation::new();
    expect(&installation, "data_directory", "failed", 3);
    assert!(!installation.data_dir().exists());
}

#[test]
fn doctor_finds_files_readable_by_others() {
    let installation = Installation::new();
    installation.create_client("shop", true);
    let key = installation.data_dir().join("instance.key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o640)).unwrap();
    expect(&installation, "permissions", "failed", 3);
}

#[test]
fn doctor_finds_a_missing_and_a_wrong_key() {
    let installation = Installation::new();
    installation.create_client("shop", true);
    let other = Installation::new();
    other.create_client("shop", true);
    let key = installation.data_dir().join("instance.key");
    fs::remove_file(&key).unwrap();
    expect(&installation, "instance_key", "failed", 3);
    assert!(!key.exists(), "doctor made a key");
    fs::copy(other.data_dir().join("instance.key"), &key).unwrap();
    expect(&installation, "instance_key", "failed", 3);
}

#[test]
fn doctor_finds_damage() {
    let installation = Installation::new();
    installation.create_client("shop", true);
    let main = installation.data_dir().join("idgate.db");
    let mut bytes = fs::read(&main).unwrap();
    // Every page but the first loses its header.
    bytes.chunks_mut(4096).skip(1).for_each(|page| page[..8].fill(0xff));
    fs::write(&main, bytes).unwrap();
    expect(&installation, "database", "failed", 3);
}

#[test]
fn doctor_finds_a_clock_behind_the_database() {
    let installation = Installation::new();
    installation.create_client("shop", true);
    let main = rusqlite::Connection::open(installation.data_dir().join("idgate.db")).unwrap();
    main.execute("UPDATE clients SET created_at = created_at + 86400000", []).unwrap();
    expect(&installation, "clock", "failed", 3);
}

#[test]
fn doctor_finds_a_schema_that_is_not_this_programs() {
    let installation = Installation::new();
    installation.create_client("shop", true);
    let main = rusqlite::Connection::open(installation.data_dir().join("idgate.db")).unwrap();
    main.execute("DELETE FROM schema_migrations WHERE number > 1", []).unwrap();
    expect(&installation, "schema", "warning", 0);
    main.execute("INSERT INTO schema_migrations VALUES (9999, 'x')", []).unwrap();
    expect(&installation, "schema", "failed", 3);
}

#[test]
fn doctor_finds_overdue_results() {
    let installation = Installation::new();
    installation.create_client("shop", true);
    installation.serve().kill();
    let claims = rusqlite::Connection::open(installation.data_dir().join("claims.db")).unwrap();
    claims.execute("INSERT INTO results VALUES ('ses_1', 1, x'00')", []).unwrap();
    drop(claims);
    expect(&installation, "results", "failed", 3);
    drop(installation.serve());
    expect(&installation, "results", "ok", 0);
}

#[test]
fn doctor_finds_an_empty_trust_store_and_a_useless_entry() {
    let gateway = Gateway::start();
    expect(&gateway.installation, "trust", "ok", 0);
    let empty = Installation::new();
    empty.create_client("shop", true);
    expect(&empty, "trust", "warning", 0);
}

#[test]
fn doctor_finds_development_settings() {
    let installation =
        |environment: &str| Installation::new().with("IDGATE_ENVIRONMENT", environment);
    let desk = installation("development");
    desk.create_client("shop", true);
    expect(&desk, "base_url", "absent", 0);
    let live = installation("production");
    live.create_client("shop", true);
    // Tests run with limits off, on loopback without TLS.
    expect(&live, "base_url", "failed", 3);
    expect(&live, "rate_limits", "failed", 3);
    expect(&live, "key_custody", "warning", 3);
    let live = live.with("IDGATE_BASE_URL", "https://gateway.example");
    expect(&live.with("IDGATE_RATE_LIMITS", "on"), "base_url", "absent", 0);
    let broken = installation("production").with("IDGATE_LISTEN", "nowhere");
    expect(&broken, "settings", "failed", 3);
}
