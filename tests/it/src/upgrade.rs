//! A data directory of idgate 0.1.0, upgraded by the real binary, which is killed at every single
//! write on the way. Afterwards the directory is in its old or in its new state, and never in
//! between.

use std::fs;
use std::path::Path;

use rusqlite::Connection;
use serde_json::json;

use crate::http::{Http, Request};
use crate::killed::{restore, run_killed};
use crate::server::Installation;

const MAIN: &str = include_str!("../../../idgate-server/store/src/tests/first/idgate.sql");
const CLAIMS: &str = include_str!("../../../idgate-server/store/src/tests/first/claims.sql");
const KEY: &str = "lU0DpUGQHC4DhQEMclpCrVQKTg+2QoFeDAl/WTkmBWQ=";
const API_KEY: &str = "sk_live_5U7FbvxkMyqiD8JqRc5PKICVDnivu3VB358jna";
const FAILED: &str = "ses_01JDXofUsKzpDCvM6L32N1";
/// Created under an idempotency key.
const ONCE: &str = "ses_gGxE7WVLM6frMW3rtbAyc1";
/// More writes than an upgrade makes.
const ENOUGH: u32 = 2000;

/// The sealed values: file, table and column.
const SEALED: &str = include_str!("../../../idgate-server/store/src/tests/first/sealed.txt");

/// A directory of 0.1.0 in which nothing is too old to be kept.
fn old_directory() -> Installation {
    let installation = Installation::new();
    let dir = installation.data_dir();
    fs::create_dir(&dir).unwrap();
    fs::write(dir.join("instance.key"), KEY).unwrap();
    for (name, dump) in [("idgate.db", MAIN), ("claims.db", CLAIMS)] {
        let database = Connection::open(dir.join(name)).unwrap();
        database.pragma_update(None, "foreign_keys", false).unwrap();
        database.execute_batch(dump).unwrap();
        database.pragma_update(None, "journal_mode", "WAL").unwrap();
    }
    let main = Connection::open(dir.join("idgate.db")).unwrap();
    main.execute_batch("UPDATE idempotent_answers SET created_at = unixepoch() * 1000").unwrap();
    installation
}

/// The first bytes, which give the form, of the sealed values in a file.
fn forms(directory: &Path, file: &str) -> Vec<u8> {
    let database = Connection::open(directory.join(file)).unwrap();
    let verdict: String =
        database.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(verdict, "ok", "{file}");
    let mut forms = Vec::new();
    for of_file in SEALED.lines().filter_map(|line| line.strip_prefix(file)) {
        let (table, column) = of_file.trim_start().split_once(' ').unwrap();
        let mut statement = database.prepare(&format!("SELECT {column} FROM {table}")).unwrap();
        let rows = statement.query_map([], |row| row.get::<_, Option<Vec<u8>>>(0)).unwrap();
        forms.extend(rows.filter_map(Result::unwrap).map(|sealed| sealed[0]));
    }
    forms
}

/// The form of everything sealed in a file, which must be the same.
#[track_caller]
fn form(directory: &Path, file: &str, when: &str) -> u8 {
    let forms = forms(directory, file);
    assert!(forms.iter().all(|form| *form == forms[0]), "{file}, {when}: {forms:?}");
    forms[0]
}

/// Whether everything that the migrations 11 to 24 add is there (`true`), or nothing of it. One
/// migration is never visible without the others, nor without the resealed values.
#[track_caller]
fn is_new(directory: &Path, when: &str) -> bool {
    let database = Connection::open(directory.join("idgate.db")).unwrap();
    let is = |sql: &str| database.query_row(sql, [], |row| row.get::<_, bool>(0)).unwrap();
    let has = |table: &str, column: &str| {
        is(&format!(
            "SELECT EXISTS (SELECT 1 FROM pragma_table_info('{table}') WHERE name = '{column}')"
        ))
    };
    let seen = [
        is("SELECT max(number) >= 11 FROM schema_migrations"),
        is("SELECT max(number) >= 12 FROM schema_migrations"),
        is("SELECT max(number) >= 13 FROM schema_migrations"),
        is("SELECT max(number) >= 14 FROM schema_migrations"),
        is("SELECT max(number) >= 15 FROM schema_migrations"),
        is("SELECT max(number) >= 16 FROM schema_migrations"),
        is("SELECT max(number) >= 17 FROM schema_migrations"),
        is("SELECT max(number) >= 18 FROM schema_migrations"),
        is("SELECT max(number) >= 19 FROM schema_migrations"),
        is("SELECT max(number) >= 20 FROM schema_migrations"),
        is("SELECT max(number) >= 21 FROM schema_migrations"),
        is("SELECT max(number) >= 24 FROM schema_migrations"),
        has("reports", "sealed"),
        has("trusted_lists", "issuer_id"),
        has("lists_of_lists", "issuer_id"),
        has("pages", "sealed"),
        has("certificate_keys", "sealed"),
        has("certificates", "chain"),
        has("certificates_version", "version"),
        has("registrations", "jwt"),
        has("registrations", "intended_use"),
        has("further_registrations", "jwt"),
        is("SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'certificates_in_force')"),
        is("SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'offers_of_session')"),
        is("SELECT sql LIKE '%sealed IS NOT NULL OR retired_at IS NOT NULL%' FROM sqlite_schema \
            WHERE name = 'gateway_keys'"),
        has("offers", "session_id"),
        has("trust_entries", "device_response_documents"),
        has("trust_entries", "on_unknown_revocation"),
        has("trust_entries", "sd_jwt_ekus"),
        has("trust_entries", "status_max_age_days"),
        has("trust_entries", "issuing_country_unbound"),
        has("trust_lists", "sha256"),
        has("clients", "max_keys"),
        has("clients", "logo_type"),
        has("client_origins", "origin"),
        has("open_sessions", "count"),
        has("audit_removals", "signed"),
        has("left_out", "session_id"),
        has("pages", "moves"),
        has("probe", "writes"),
        is("SELECT EXISTS (SELECT 1 FROM instance WHERE name = 'database_id')"),
        is(
            "SELECT EXISTS (SELECT 1 FROM pragma_index_list('api_keys') WHERE name = 'api_keys_ended')",
        ),
        form(directory, "idgate.db", when) == 2,
    ];
    assert!(seen.iter().all(|part| *part == seen[0]), "{when}: {seen:?}");
    seen[0]
}

#[test]
fn an_upgrade_killed_at_any_write_leaves_the_old_or_the_new_schema() {
    let installation = old_directory();
    let (dir, kept) = (installation.data_dir(), installation.file("kept", ""));
    fs::remove_file(&kept).unwrap();
    restore(&dir, &kept);
    let (mut old, mut new) = (0, 0);
    for at in 1..ENOUGH {
        restore(&kept, &dir);
        let output = run_killed(&installation, &["client", "list"], at);
        let when = format!("killed at write {at}");
        match is_new(&dir, &when) {
            false => old += 1,
            true => new += 1,
        }
        if output.code == 0 {
            break;
        }
        assert_eq!(output.code, -1, "{when}: {output:?}");
        // It finishes what it began.
        let again = installation.run(&["client", "list"]);
        assert_eq!(again.code, 0, "{when}: {again:?}");
        assert!(is_new(&dir, &when));
    }
    assert!(old > 10 && new > 1, "{old} times old, {new} times new: nothing was killed");
    let verified = installation.run(&["audit", "verify"]);
    assert_eq!(verified.code, 0, "{verified:?}");
}

#[test]
fn session_keys_are_resealed_by_starts_killed_at_any_write() {
    let installation = old_directory();
    let dir = installation.data_dir();
    assert_eq!(installation.run(&["client", "list"]).code, 0);
    // As if they had not expired since, so that their keys are kept.
    let main = Connection::open(dir.join("idgate.db")).unwrap();
    main.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    drop(main);
    let kept = installation.file("kept", "");
    fs::remove_file(&kept).unwrap();
    restore(&dir, &kept);
    let (mut old, mut new) = (0, 0);
    for at in 1..ENOUGH {
        restore(&kept, &dir);
        run_killed(&installation, &["serve"], at);
        let forms = forms(&dir, "claims.db");
        if forms.is_empty() {
            // Enough writes to have expired the sessions and erased their keys.
            break;
        }
        match form(&dir, "claims.db", &format!("killed at write {at}")) {
            1 => old += 1,
            2 => new += 1,
            form => panic!("form {form}"),
        }
    }
    assert!(old > 1 && new > 1, "{old} times old, {new} times new: nothing was killed");
}

#[test]
fn data_of_the_first_version_is_served() {
    let installation = old_directory();
    let server = installation.serve();
    let mut http = Http::new(server.address);
    let session = http.send(&Request::get(format!("/v1/sessions/{FAILED}")).bearer(API_KEY));
    let session = session.expect_status(200).json();
    assert_eq!(
        (&session["status"], &session["reason"]),
        (&json!("FAILED"), &json!("wallet_error"))
    );
    let create = Request::post("/v1/sessions").bearer(API_KEY).header("Idempotency-Key", "once");
    let answer = http.send(&create.json(&json!({ "issuer_id": "https://issuer.example" })));
    assert_eq!(answer.expect_status(201).json()["session_id"], ONCE, "the sealed answer");
    let copies = fs::read_dir(installation.data_dir()).unwrap().flatten();
    let copies = copies.filter(|file| file.file_name().to_string_lossy().contains(".before-"));
    assert_eq!(copies.count(), 1);
    drop(server);
    for file in SEALED.lines().filter_map(|line| line.split(' ').next()) {
        assert!(forms(&installation.data_dir(), file).iter().all(|form| *form == 2));
    }
}

/// With write access to the file, but without the instance key.
#[test]
fn a_session_row_moved_to_another_client_is_unreadable() {
    let gateway = crate::tenant::Gateway::start();
    let mut tenant = gateway.tenant();
    let wallet = crate::tenant::sample_wallet();
    let created =
        tenant.verified(&crate::tenant::request_for(&["given_name", "family_name"]), &wallet);
    let thief = gateway.installation.create_client("thief", !gateway.client.livemode);
    let main = Connection::open(gateway.installation.data_dir().join("idgate.db")).unwrap();
    let change = "UPDATE sessions SET client_id = ?2 WHERE id = ?1";
    assert_eq!(main.execute(change, [&created.id, &thief.client_id]).unwrap(), 1);
    tenant.api_key = thief.api_key;
    let answer = tenant.get(&created.id);
    assert_eq!(answer.status, 500, "{answer:?}");
    assert!(!String::from_utf8_lossy(&answer.body).contains("Mustermann"));
}
