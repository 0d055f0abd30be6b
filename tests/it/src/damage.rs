//! Damaged data directories with the real binary: emptied tables, truncated and lost files, flipped
//! bits, foreign rows. The damage is reported with exit code 3, and the gateway does not silently
//! start over.

use std::fs::{self, File};
use std::io::Read as _;
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use idgate_testkit::keys::Curve;
use idgate_testkit::samples;
use idgate_testkit::status::status_claim;
use idgate_testkit::wallet::Wallet;
use rusqlite::Connection;

use crate::disk;
use crate::http::{Http, Request};
use crate::server::{Installation, Output, Server, eventually};
use crate::tenant::{Gateway, Tenant, answer_request, form, now_ms, request_for, sample_wallet};

/// A stopped installation with five verified sessions of one client, and its tenant's key.
fn used() -> (Installation, String) {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    for _ in 0..5 {
        tenant.verified(&request_for(&["given_name"]), &sample_wallet());
    }
    let Gateway { server, client, installation } = gateway;
    stop(server);
    let wal = installation.data_dir().join("idgate.db-wal");
    assert_eq!(fs::metadata(wal).map_or(0, |file| file.len()), 0, "a stop leaves one file");
    (installation, client.api_key)
}

fn stop(server: Server) {
    server.terminate();
    let (status, _) = server.wait();
    assert!(status.success(), "{status}");
}

fn change(installation: &Installation, sql: &str) {
    let database = Connection::open(installation.data_dir().join("idgate.db")).unwrap();
    database.pragma_update(None, "foreign_keys", false).unwrap();
    database.execute_batch(sql).unwrap();
    database.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
}

/// The failed checks of `doctor`.
fn doctor(installation: &Installation, options: &[&str]) -> (i32, Vec<String>) {
    let output = installation.run(&[&["doctor", "--json"], options].concat());
    let report = output.json();
    let failed = report["checks"].as_array().unwrap().iter();
    let failed = failed.filter(|check| check["status"] == "failed");
    (output.code, failed.map(|check| check["check"].as_str().unwrap().into()).collect())
}

/// A start that fails.
fn refused(installation: &Installation) -> Output {
    let output = installation.run(&["serve"]);
    assert!(output.stdout.is_empty(), "{output:?}");
    output
}

#[test]
fn an_undamaged_directory_passes_doctor() {
    let (installation, _) = used();
    assert_eq!(doctor(&installation, &["--deep"]), (0, vec![]));
    assert_eq!(installation.run(&["audit", "verify"]).code, 0);
}

#[test]
fn a_lost_or_empty_database_is_never_silently_recreated() {
    let (installation, api_key) = used();
    let database = installation.data_dir().join("idgate.db");
    let kept = fs::read(&database).unwrap();
    for empty in [false, true] {
        fs::remove_file(&database).unwrap();
        if empty {
            File::create(&database).unwrap();
        }
        for command in [
            &["serve"][..],
            &["client", "list"],
            &["client", "create", "x"],
            &["audit", "verify"],
            &["trust", "list"],
        ] {
            let output = installation.run(command);
            assert_eq!(output.code, 3, "{command:?}: {output:?}");
            assert!(output.stderr.contains("restore the database from a backup"), "{output:?}");
        }
        let (code, failed) = doctor(&installation, &[]);
        assert!(code == 3 && failed.contains(&"database".into()), "{failed:?}");
        assert_eq!(fs::metadata(&database).map_or(0, |file| file.len()), 0, "made anew");
        File::create(&database).unwrap();
    }
    fs::write(&database, kept).unwrap();
    let server = installation.serve();
    let mut tenant = Tenant { http: Http::new(server.address), api_key };
    tenant.verified(&request_for(&["given_name"]), &sample_wallet());
}

/// The instance key is elsewhere. The remaining files show that the directory was used.
#[test]
fn a_lost_database_is_refused_also_with_an_external_key() {
    let key = "lU0DpUGQHC4DhQEMclpCrVQKTg+2QoFeDAl/WTkmBWQ=";
    let installation = Installation::new().with("IDGATE_INSTANCE_KEY", key);
    stop(installation.serve());
    assert!(!installation.data_dir().join("instance.key").exists());
    fs::remove_file(installation.data_dir().join("idgate.db")).unwrap();
    assert_eq!(refused(&installation).code, 3);
    assert_eq!(doctor(&installation, &[]).0, 3);
}

#[test]
fn a_database_from_another_directory_is_refused() {
    let key = "lU0DpUGQHC4DhQEMclpCrVQKTg+2QoFeDAl/WTkmBWQ=";
    let [ours, theirs] = [(); 2].map(|()| {
        let installation = Installation::new().with("IDGATE_INSTANCE_KEY", key);
        stop(installation.serve());
        installation
    });
    let database = |of: &Installation| of.data_dir().join("idgate.db");
    fs::copy(database(&theirs), database(&ours)).unwrap();
    let output = refused(&ours);
    assert!(output.code == 3 && output.stderr.contains("another"), "{output:?}");
    assert_eq!(doctor(&ours, &[]), (3, vec!["claims_file".into()]));
}

#[test]
fn doctor_reports_emptied_audit_tables() {
    let tables = ["audit_entries", "audit_heads", "audit_total", "audit_checkpoints"];
    let empty_all: String = tables.iter().map(|table| format!("DELETE FROM {table};")).collect();
    for sql in [
        empty_all.clone(),
        format!("{empty_all} DELETE FROM api_keys; DELETE FROM sessions; DELETE FROM clients;"),
        "DELETE FROM audit_entries;".into(),
        "DELETE FROM audit_heads;".into(),
        "DELETE FROM audit_total;".into(),
    ] {
        let (installation, _) = used();
        change(&installation, &sql);
        let output = installation.run(&["audit", "verify", "--json"]);
        assert_eq!((output.code, &output.json()["intact"]), (3, &false.into()), "{sql}");
        let (code, failed) = doctor(&installation, &[]);
        assert!(code == 3 && failed.contains(&"audit".into()), "{sql}: {failed:?}");
    }
}

#[test]
fn a_checkpoint_file_without_checkpoints_is_an_error() {
    let (installation, _) = used();
    for content in [&b"garbage\n"[..], b"", b"\xff\xfe\x00", b"{}\n[1]\n"] {
        let file = installation.file("checkpoints", content);
        let output =
            installation.run(&["audit", "verify", "--checkpoints", file.to_str().unwrap()]);
        assert_eq!(output.code, 1, "{content:?}: {output:?}");
        assert!(output.stderr.contains("no readable checkpoint"), "{output:?}");
    }
}

#[test]
fn doctor_deep_finds_lost_foreign_and_changed_rows() {
    for (sql, check) in [
        ("DELETE FROM sessions WHERE rowid = 2", "sessions"),
        ("DELETE FROM sessions", "sessions"),
        (
            "CREATE TEMP TABLE foreign_row AS SELECT * FROM sessions LIMIT 1; \
             UPDATE foreign_row SET id = 'ses_foreign'; \
             INSERT INTO sessions SELECT * FROM foreign_row",
            "sessions",
        ),
        ("UPDATE sessions SET status = 'FAILED' WHERE rowid = 2", "sessions"),
        ("UPDATE sessions SET client_id = 'cli_other' WHERE rowid = 2", "sealed"),
        ("UPDATE sessions SET livemode = 1 - livemode WHERE rowid = 2", "sealed"),
        ("UPDATE sessions SET record = x'00' WHERE rowid = 2", "sealed"),
        ("UPDATE clients SET signing_secret = zeroblob(60)", "sealed"),
        ("UPDATE gateway_keys SET sealed = zeroblob(60)", "sealed"),
        (
            "INSERT INTO api_keys (id, client_id, digest, hint, livemode, created_at) \
             SELECT 'key_foreign', client_id, zeroblob(32), 'x', livemode, 1 FROM api_keys",
            "api_keys",
        ),
        ("DELETE FROM api_keys", "api_keys"),
    ] {
        let (installation, _) = used();
        change(&installation, sql);
        let (code, failed) = doctor(&installation, &["--deep"]);
        assert!(code == 3 && failed.contains(&check.into()), "{sql}: {failed:?}");
    }
}

/// In the middle of rows, where SQLite itself does not check.
#[test]
fn doctor_finds_truncated_files_and_most_flipped_bits() {
    let (installation, _) = used();
    let database = installation.data_dir().join("idgate.db");
    let whole = fs::read(&database).unwrap();
    for keep in [whole.len() / 2, 4096, 100] {
        fs::write(&database, &whole[..keep]).unwrap();
        assert_eq!(doctor(&installation, &[]).0, 3, "cut to {keep}");
    }
    fs::write(&database, &whole).unwrap();
    let record: Vec<u8> = Connection::open(&database)
        .unwrap()
        .query_row("SELECT record FROM sessions LIMIT 1", [], |row| row.get(0))
        .unwrap();
    let at = whole.windows(24).position(|window| window == &record[30..54]).unwrap();
    let mut flipped = whole.clone();
    flipped[at] ^= 16;
    fs::write(&database, &flipped).unwrap();
    let (code, failed) = doctor(&installation, &["--deep"]);
    assert!(code == 3 && failed == ["sealed"], "{failed:?}");
}

#[test]
fn commits_after_a_flipped_bit_are_reported_before_they_are_lost() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    for _ in 0..8 {
        tenant.verified(&request_for(&["given_name"]), &sample_wallet());
    }
    let Gateway { server, installation, .. } = gateway;
    server.kill();
    let wal = installation.data_dir().join("idgate.db-wal");
    let mut bytes = fs::read(&wal).unwrap();
    assert_eq!(doctor(&installation, &[]), (0, vec![]), "a kill damages nothing");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&wal, bytes).unwrap();
    let (code, failed) = doctor(&installation, &[]);
    assert!(code == 3 && failed.contains(&"database_log".into()), "{failed:?}");
}

#[test]
fn a_damaged_results_file_is_set_aside_and_erased_in_30_seconds() {
    let (installation, api_key) = used();
    let installation = installation.with_machine();
    let dir = installation.data_dir();
    for name in ["claims.db-wal", "claims.db-shm"] {
        let _ = fs::remove_file(dir.join(name));
    }
    fs::write(dir.join("claims.db"), b"JUNK-JUNK-JUNK".repeat(5000)).unwrap();
    assert_eq!(doctor(&installation, &[]), (3, vec!["results".into()]));
    let server = installation.serve();
    assert!(dir.join("claims.db.damaged").is_file());
    assert!(installation.log().contains("set aside"), "{}", installation.log());
    let mut tenant = Tenant { http: server.http(), api_key };
    let created = tenant.verified(&request_for(&["given_name"]), &sample_wallet());
    assert!(tenant.read(&created.id).get("claims").is_some());
    installation.machine().freeze();
    installation.machine().jump(Duration::from_secs(32));
    eventually("it is erased", || !dir.join("claims.db.damaged").exists());
    assert!(disk::files_with(&dir, &[b"JUNK-JUNK-JUNK".to_vec()]).is_empty());
}

#[test]
fn a_deletion_does_not_wait_for_programs_that_read_the_databases() {
    let gateway = Gateway::start_on(Installation::new().with_machine());
    let machine = gateway.installation.machine();
    let mut tenant = gateway.tenant();
    let dir = gateway.installation.data_dir();
    let created = tenant.verified(&request_for(&["given_name"]), &sample_wallet());
    let sealed = disk::sealed_results(&dir);
    let sealed: Vec<_> = sealed.iter().flat_map(|blob| disk::pieces(blob)).collect();
    let reader = Connection::open(dir.join("idgate.db")).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM sessions").unwrap();
    let before = machine.slept();
    tenant.delete(&created.id).expect_status(204);
    // The gateway checks whether the reader is done, and waits for it less long than for a lock.
    let slept = machine.slept() - before;
    assert!(slept < Duration::from_secs(5), "{slept:?}");
    eventually("it looks again later", || machine.slept() > before);
    // Only these files are read: closing a file releases all locks of the process on it.
    for name in ["claims.db", "claims.db-wal"] {
        let bytes = fs::read(dir.join(name)).unwrap();
        let holds = |piece: &Vec<u8>| bytes.windows(piece.len()).any(|window| window == piece);
        assert!(!sealed.iter().any(holds), "claims are gone from {name} with the answer");
    }
    tenant.get(&created.id).expect_error(404, "not_found");
    // Other requests continue.
    tenant.verified(&request_for(&["given_name"]), &sample_wallet());
    reader.execute_batch("COMMIT").unwrap();
    let wal = dir.join("idgate.db-wal");
    eventually("the log is cut", || fs::metadata(&wal).is_ok_and(|file| file.len() == 0));
}

#[test]
fn sessions_in_verification_are_pending_again_after_a_kill() {
    let list = TcpListener::bind("127.0.0.1:0").unwrap();
    let uri = format!("http://{}/1", list.local_addr().unwrap());
    let installation = Installation::new().with("IDGATE_FETCH_ALLOW_CIDRS", "127.0.0.1/32");
    let Gateway { server, client, installation } = Gateway::start_on(installation);
    let mut tenant = Tenant { http: Http::new(server.address), api_key: client.api_key.clone() };
    let created = tenant.create(&request_for(&["given_name"]));
    let holder = samples::holder_key(Curve::P256);
    let credential = samples::identity(&holder, now_ms()).plain("status", status_claim(0, &uri));
    let wallet = Wallet::new(holder).with(credential.issue(&samples::issuer_key(Curve::P256)));
    let answer = answer_request(&created.id, &form(&wallet, &created));
    let address = server.address;
    let server = thread::scope(|scope| {
        scope.spawn(|| Http::new(address).try_send(&answer));
        // Requested and never answered.
        let (mut asked, _) = list.accept().unwrap();
        assert!(asked.read(&mut [0; 64]).unwrap() > 0);
        assert_eq!(tenant.read(&created.id)["status"], "VERIFYING");
        server.kill();
        installation.serve()
    });
    tenant.http = Http::new(server.address);
    assert_eq!(tenant.read(&created.id)["status"], "PENDING");
    let answer = form(&sample_wallet(), &created);
    tenant.post_answer(&created.id, &answer).expect_status(200);
}

/// Reads do not write: the duties of an idle server commit nothing as time passes.
#[test]
fn only_writing_commits_are_counted() {
    let gateway = Gateway::start_on(Installation::new().with_machine());
    let token = gateway.installation.run_json(&["admin-token", "create", "--json"]);
    let token = token["admin_token"].as_str().unwrap().to_owned();
    let mut http = gateway.http();
    let mut commits = || {
        let answer = http.send(&Request::get("/metrics").bearer(&token)).expect_status(200);
        let text = String::from_utf8(answer.body).unwrap();
        let line = text.lines().find_map(|l| l.strip_prefix("idgate_db_commit_seconds_count "));
        line.unwrap().parse::<u64>().unwrap()
    };
    // Two seconds in a row: earlier writes are committed within the first seconds.
    let (mut last, mut same) = (commits(), 0);
    eventually("it commits nothing for two seconds", || {
        gateway.installation.machine().jump(Duration::from_millis(100));
        let now = commits();
        same = if now == last { same + 1 } else { 0 };
        last = now;
        same == 20
    });
    let before = commits();
    gateway.tenant().create(&request_for(&["given_name"]));
    assert!(commits() > before);
}
