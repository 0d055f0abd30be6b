//! Replacing the instance key: several keys are given, everything is sealed with the first, and
//! then the other one is no longer required.

mod further_key;
mod removals;

use std::fs;

use serde_json::{Value, json};

use crate::http::Request;
use crate::killed::{restore, run_killed};
use crate::server::{Installation, Output, Server};
use crate::stores;
use crate::tenant::{
    Created, Gateway, Tenant, form, now_ms, request_for, sample_trust, sample_wallet,
};

const OLD: &str = stores::KEY;
const NEW: &str = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";
/// More writes than a command makes.
const ENOUGH: u32 = 5000;

/// A gateway with every kind of sealed value, its key, and the objects that it created.
struct Stage {
    installation: Installation,
    api_key: String,
    /// A verified session, whose claims can still be read.
    verified: String,
    /// A rejected session with a report.
    refused: String,
    /// An open session with a page, which is answered later.
    open: Created,
    /// Created under an idempotency key.
    once: String,
}

impl Stage {
    /// Created with the old key alone. The gateway has stopped.
    fn set(mut installation: Installation) -> Self {
        only(&mut installation, OLD);
        installation.set("IDGATE_WEBHOOK_ALLOW_CIDRS", "127.0.0.0/8");
        installation.set("IDGATE_WEBHOOK_ALLOW_HTTP", "true");
        installation.set("IDGATE_PAGE", "on");
        let gateway = Gateway::trusting(installation, &sample_trust());
        let mut tenant = gateway.tenant();
        // The previous secret is kept for a day.
        for secret in ["the first secret of a tenant", "the second secret of a tenant"] {
            let put = Request::new("PUT", "/v1/webhook-endpoint").bearer(&tenant.api_key);
            let endpoint = json!({ "url": "http://127.0.0.1:9/hook", "signing_secret": secret });
            tenant.http.send(&put.json(&endpoint)).expect_status(200);
        }
        // A retired key, and one that waits for its certificate.
        assert_eq!(gateway.installation.run(&["keys", "rotate"]).code, 0);
        let mut request = gateway.installation.command(&["keys", "csr"]);
        let requested = request.env("IDGATE_BASE_URL", "https://gateway.example").output();
        assert!(requested.unwrap().status.success());
        let refused = tenant.create(&request_for(&["given_name"]));
        let stale = sample_wallet().answer_uri(&refused.uri, now_ms() - 3_600_000);
        tenant.post_answer(&refused.id, &stale.unwrap().form_body()).expect_status(400);
        // The kills of --long take longer than a session is usually open.
        let mut lasting = request_for(&["given_name"]);
        lasting["ttl_ms"] = 86_400_000.into();
        let open = tenant.create(&lasting);
        let once = tenant.once();
        let verified = tenant.verified(&request_for(&["given_name"]), &sample_wallet()).id;
        let Gateway { server, client, mut installation } = gateway;
        server.stop();
        installation.set("IDGATE_LOG", "warn");
        Self { installation, api_key: client.api_key, verified, refused: refused.id, open, once }
    }

    fn tenant(&self, server: &Server) -> Tenant {
        Tenant::at(server, &self.api_key)
    }

    fn reseal(&self) -> Value {
        self.installation.run_json(&["keys", "reseal", "--json"])
    }

    /// The finding of `doctor` about the keys.
    fn doctor(&self) -> (String, String) {
        let doctor = self.installation.run(&["doctor", "--json"]).json();
        let checks = doctor["checks"].as_array().unwrap();
        let found = checks.iter().find(|check| check["check"] == "instance_keys");
        let found = found.unwrap_or_else(|| panic!("{doctor}"));
        let text = |member: &str| found[member].as_str().unwrap().to_owned();
        (text("status"), text("message"))
    }

    /// Everything opens with the new key alone, and the old one is rejected.
    #[track_caller]
    fn expect_new_alone(&mut self) {
        only(&mut self.installation, OLD);
        let old = self.installation.run(&["client", "list"]);
        assert_eq!(old.code, 1, "{old:?}");
        only(&mut self.installation, NEW);
        self.expect_whole();
        let server = self.installation.serve();
        let mut tenant = self.tenant(&server);
        self.expect_opened(&mut tenant);
        tenant.post_answer(&self.open.id, &form(&sample_wallet(), &self.open)).expect_status(200);
        assert_eq!(tenant.read(&self.open.id)["status"], "VERIFIED");
        assert_eq!(tenant.once(), self.once, "the sealed answer");
        server.stop();
        self.expect_whole();
    }

    /// The other sealed values can be read.
    #[track_caller]
    fn expect_opened(&self, tenant: &mut Tenant) {
        let report = format!("/v1/sessions/{}/report", self.refused);
        let report = tenant.http.send(&Request::get(report).bearer(&self.api_key));
        assert_eq!(report.expect_status(200).json()["session_id"], *self.refused);
        let page = self.open.answer["page_url"].as_str().unwrap();
        let path = &page[page.find("/v/").unwrap()..];
        tenant.http.send(&Request::get(path)).expect_status(200);
    }

    /// Whether both keys are required. If a single key is enough, it must open everything.
    #[track_caller]
    fn needs_both(&mut self) -> bool {
        let enough = [NEW, OLD].map(|key| {
            only(&mut self.installation, key);
            let is_enough = self.installation.run(&["client", "list"]).code == 0;
            if is_enough {
                self.expect_whole();
            }
            is_enough
        });
        assert_ne!(enough, [true, true]);
        enough == [false, false]
    }

    #[track_caller]
    fn expect_whole(&self) {
        for command in [["audit", "verify"].as_slice(), &["doctor", "--deep"]] {
            let whole = self.installation.run(command);
            assert_eq!(whole.code, 0, "{whole:?}");
        }
    }
}

fn only(installation: &mut Installation, key: &str) {
    installation.set("IDGATE_INSTANCE_KEYS", "");
    installation.set("IDGATE_INSTANCE_KEY", key);
}

fn both(installation: &mut Installation) {
    installation.set("IDGATE_INSTANCE_KEY", "");
    installation.set("IDGATE_INSTANCE_KEYS", &format!("{NEW},{OLD}"));
}

#[track_caller]
fn expect_refused(output: &Output, why: &str) {
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains(why), "{output:?}");
}

/// With several keys, the first seals and all open. Each is required until everything is sealed
/// again.
fn serve_with_both(stage: &mut Stage) -> Server {
    let installation = &mut stage.installation;
    only(installation, NEW);
    expect_refused(&installation.run(&["client", "list"]), "the instance key is not the one");
    // A read-only command does not make the second key a required one.
    both(installation);
    assert_eq!(installation.run(&["client", "list"]).code, 0);
    only(installation, NEW);
    expect_refused(&installation.run(&["client", "list"]), "the instance key is not the one");
    only(installation, OLD);
    assert_eq!(installation.run(&["client", "list"]).code, 0);
    both(installation);
    let server = installation.serve();
    // The gateway makes it required with the first value that it seals.
    let mut tenant = stage.tenant(&server);
    tenant.create(&request_for(&["given_name"]));
    let installation = &mut stage.installation;
    for key in [OLD, NEW] {
        only(installation, key);
        expect_refused(&installation.run(&["client", "list"]), "IDGATE_INSTANCE_KEYS to both");
    }
    both(installation);
    assert_eq!(tenant.read(&stage.open.id)["status"], "PENDING");
    assert_eq!(tenant.once(), stage.once);
    let (status, message) = stage.doctor();
    assert_eq!(status, "warning", "{message}");
    assert!(message.contains("values are still sealed under another key"), "{message}");
    stage.expect_whole();
    server
}

#[test]
fn in_a_directory_the_instance_key_can_be_replaced() {
    let mut stage = Stage::set(Installation::in_directory());
    let server = serve_with_both(&mut stage);
    let running = stage.installation.run(&["keys", "reseal"]);
    expect_refused(&running, "another server runs on the data directory");
    server.stop();
    let resealed = stage.reseal();
    assert!(resealed["resealed"].as_u64().unwrap() > 5, "{resealed}");
    assert_eq!(resealed["unreadable"], 0);
    let again = stage.reseal();
    assert_eq!(again["resealed"], 0, "{again}");
    assert_eq!(stage.doctor().0, "ok");
    stage.expect_new_alone();
}

#[test]
fn in_a_database_the_instance_key_can_be_replaced_while_nodes_run() {
    let Some(database) = stores::migrated() else { return };
    let mut stage = Stage::set(Installation::on(&database));
    let server = serve_with_both(&mut stage);
    let mut tenant = stage.tenant(&server);
    let resealed = stage.reseal();
    assert!(resealed["resealed"].as_u64().unwrap() > 5, "{resealed}");
    assert_eq!(resealed["unreadable"], 0);
    assert_eq!(stage.doctor().0, "ok");
    let verified = tenant.read(&stage.verified);
    assert_eq!(verified["claims"]["pid"]["given_name"], "Erika", "{verified}");
    tenant.verified(&request_for(&["given_name"]), &sample_wallet());
    server.stop();
    assert_eq!(stage.reseal()["resealed"], 0);
    stage.expect_new_alone();
}

/// A command with another key would keep a running gateway from restarting.
#[test]
fn a_running_gateway_says_what_keeps_it_from_starting_again() {
    let mut stage = Stage::set(Installation::in_directory());
    let server = stage.installation.serve();
    both(&mut stage.installation);
    assert_eq!(stage.installation.run(&["client", "list"]).code, 0);
    assert_eq!(stage.installation.run(&["client", "create", "late"]).code, 0);
    crate::server::eventually("the log says so", || {
        let log = stage.installation.log();
        log.contains("the next start would fail") && log.contains("IDGATE_INSTANCE_KEYS to both")
    });
    only(&mut stage.installation, OLD);
    let doctor = stage.installation.run(&["doctor"]);
    assert_eq!(doctor.code, 3, "{doctor:?}");
    server.stop();
    both(&mut stage.installation);
    assert_eq!(stage.reseal()["unreadable"], 0);
    stage.expect_new_alone();
}

/// A node that seals with the old key would continue to do so.
#[test]
fn reseal_refuses_while_a_node_seals_with_the_old_key() {
    let Some(database) = stores::migrated() else { return };
    let mut stage = Stage::set(Installation::on(&database));
    stage.installation.set("IDGATE_INSTANCE_KEY", "");
    stage.installation.set("IDGATE_INSTANCE_KEYS", &format!("{OLD},{NEW}"));
    let server = stage.installation.serve();
    both(&mut stage.installation);
    let refused = stage.installation.run(&["keys", "reseal"]);
    expect_refused(&refused, "a node still seals with another instance key");
    let mut tenant = stage.tenant(&server);
    tenant.verified(&request_for(&["given_name"]), &sample_wallet());
    server.stop();
    stage.reseal();
    stage.expect_new_alone();
}

/// A value is sealed with the old key behind the command's current position.
#[test]
fn values_sealed_during_a_reseal_are_found_or_keep_the_old_key_required() {
    let Some(database) = stores::migrated() else { return };
    let cluster = stores::cluster().unwrap();
    let mut stage = Stage::set(Installation::on(&database));
    cluster.run(&database, "CREATE TABLE before AS SELECT id, signing_secret FROM clients");
    let trigger = |body: &str| {
        let function = format!(
            "CREATE OR REPLACE FUNCTION behind() RETURNS trigger LANGUAGE plpgsql AS \
             $$ BEGIN {body}; RETURN NULL; END $$"
        );
        cluster.run(&database, &function);
    };
    let back = "UPDATE clients AS c SET signing_secret = b.signing_secret FROM before AS b \
                WHERE b.id = c.id AND c.signing_secret <> b.signing_secret";
    trigger(&format!("IF pg_trigger_depth() = 1 THEN {back}; END IF"));
    let after = "CREATE TRIGGER behind AFTER UPDATE ON clients \
                 FOR EACH STATEMENT EXECUTE FUNCTION behind()";
    cluster.run(&database, after);
    both(&mut stage.installation);
    let never = stage.installation.run(&["keys", "reseal"]);
    expect_refused(&never, "values keep being sealed under another instance key");
    for key in [OLD, NEW] {
        only(&mut stage.installation, key);
        let command = stage.installation.run(&["client", "list"]);
        expect_refused(&command, "IDGATE_INSTANCE_KEYS to both");
    }
    both(&mut stage.installation);
    trigger(&format!("IF pg_trigger_depth() = 1 THEN {back}; DELETE FROM before; END IF"));
    assert_eq!(stage.reseal()["unreadable"], 0);
    cluster.run(&database, "DROP FUNCTION behind CASCADE; DROP TABLE before");
    stage.expect_new_alone();
}

/// Expired results are erased, as at a gateway's start, and not sealed again.
#[test]
fn in_a_directory_expired_results_are_erased_before_resealing() {
    let mut stage = Stage::set(Installation::in_directory());
    let claims = stage.installation.data_dir().join("claims.db");
    let claims = rusqlite::Connection::open(claims).unwrap();
    let main = stage.installation.data_dir().join("idgate.db");
    let main = rusqlite::Connection::open(main).unwrap();
    let sql = "SELECT id FROM sessions WHERE status = 'VERIFIED'";
    let verified: String = main.query_row(sql, [], |row| row.get(0)).unwrap();
    drop(main);
    claims.execute("UPDATE results SET redact_at = 0", []).unwrap();
    let key = "INSERT INTO session_keys VALUES (?1, x'02')";
    claims.execute(key, [&verified]).unwrap();
    drop(claims);
    both(&mut stage.installation);
    assert_eq!(stage.reseal()["unreadable"], 0);
    let claims = stage.installation.data_dir().join("claims.db");
    let claims = rusqlite::Connection::open(claims).unwrap();
    let left = "SELECT (SELECT count(*) FROM results) + (SELECT count(*) FROM session_keys)";
    assert_eq!(claims.query_row(left, [], |row| row.get::<_, i64>(0)).unwrap(), 0);
    drop(claims);
    stage.expect_new_alone();
}

/// The checkpoints in the file were signed with the old key, and state what the new ones state.
#[test]
fn checkpoints_signed_with_the_old_key_verify_after_a_reseal() {
    let mut stage = Stage::set(Installation::in_directory());
    let file = stage.installation.file("checkpoints.jsonl", "");
    stage.installation.set("IDGATE_AUDIT_CHECKPOINT_FILE", file.to_str().unwrap());
    assert_eq!(stage.installation.run(&["audit", "export"]).code, 0);
    let server = stage.installation.serve();
    crate::server::eventually("checkpoints are written", || {
        fs::read_to_string(&file).is_ok_and(|text| text.contains('\n'))
    });
    server.stop();
    both(&mut stage.installation);
    stage.reseal();
    only(&mut stage.installation, NEW);
    let text = fs::read_to_string(&file).unwrap();
    stage.expect_whole();
    fs::write(&file, text.replace("\"seq\":", "\"seq\":1")).unwrap();
    assert_eq!(stage.installation.run(&["audit", "verify"]).code, 3, "another statement");
}

#[test]
fn unreadable_values_stay_and_are_counted() {
    let mut stage = Stage::set(Installation::in_directory());
    let main = rusqlite::Connection::open(stage.installation.data_dir().join("idgate.db")).unwrap();
    let change = "UPDATE sessions SET record = x'02' WHERE id = ?1";
    assert_eq!(main.execute(change, [&stage.open.id]).unwrap(), 1);
    drop(main);
    both(&mut stage.installation);
    let output = stage.installation.run(&["keys", "reseal", "--json"]);
    assert_eq!((output.code, &output.json()["unreadable"]), (3, &1.into()), "{output:?}");
    expect_all_asked_for(&mut stage);
}

#[test]
fn unreadable_values_in_a_database_stay_and_are_counted() {
    let Some(database) = stores::migrated() else { return };
    let mut stage = Stage::set(Installation::on(&database));
    let change = format!("UPDATE sessions SET record = '\\x02' WHERE id = '{}'", stage.open.id);
    stores::cluster().unwrap().run(&database, &change);
    both(&mut stage.installation);
    let output = stage.installation.run(&["keys", "reseal", "--json"]);
    assert_eq!((output.code, &output.json()["unreadable"]), (3, &1.into()), "{output:?}");
    expect_all_asked_for(&mut stage);
}

/// The value may open with the old key once a backup restores it.
#[track_caller]
fn expect_all_asked_for(stage: &mut Stage) {
    let again = stage.installation.run(&["keys", "reseal"]);
    assert_eq!(again.code, 3, "{again:?}");
    assert!(!again.stdout.contains("no other instance key is needed"), "{again:?}");
    let (status, message) = stage.doctor();
    assert_eq!(status, "warning", "{message}");
    assert!(message.contains("1 values cannot be opened with any of them"), "{message}");
    only(&mut stage.installation, NEW);
    let alone = stage.installation.run(&["client", "list"]);
    expect_refused(&alone, "IDGATE_INSTANCE_KEYS to both");
}

/// After how many writes a command is killed.
fn stride(usually: u32) -> usize {
    let all = std::env::var_os("IDGATE_LONG").is_some();
    usize::try_from(if all { 1 } else { usually }).unwrap()
}

/// Kills the command at one write after another, each time on a stage that `anew` prepares. Returns
/// how often, and how often both keys were required afterwards.
#[track_caller]
fn kill_at_each(stage: &mut Stage, stride: usize, anew: impl Fn(&mut Installation)) -> (u32, u32) {
    let (mut killed, mut halfway) = (0, 0);
    for at in (1..ENOUGH).step_by(stride) {
        anew(&mut stage.installation);
        both(&mut stage.installation);
        let output = run_killed(&stage.installation, &["keys", "reseal"], at);
        if output.code == 0 {
            break;
        }
        assert_eq!(output.code, -1, "{output:?}");
        killed += 1;
        stage.expect_whole();
        halfway += u32::from(stage.needs_both());
        both(&mut stage.installation);
        assert_eq!(stage.reseal()["unreadable"], 0, "killed at {at}");
        only(&mut stage.installation, NEW);
        stage.expect_whole();
    }
    stage.expect_new_alone();
    (killed, halfway)
}

#[test]
fn in_a_directory_a_reseal_killed_at_any_write_is_finished_by_the_next() {
    let mut stage = Stage::set(Installation::in_directory());
    let (dir, kept) = (stage.installation.data_dir(), stage.installation.file("kept", ""));
    fs::remove_file(&kept).unwrap();
    restore(&dir, &kept);
    let (killed, halfway) = kill_at_each(&mut stage, stride(8), |_| restore(&kept, &dir));
    assert!(killed > 5 && halfway > 3, "{killed} {halfway}");
}

#[test]
fn in_a_database_a_reseal_killed_at_any_statement_is_finished_by_the_next() {
    let Some(database) = stores::migrated() else { return };
    let mut stage = Stage::set(Installation::on(&database));
    let (killed, halfway) = kill_at_each(&mut stage, stride(83), |installation| {
        installation.set("IDGATE_DATABASE_URL", &stores::copy_of(&database));
    });
    assert!(killed > 2 && halfway > 1, "{killed} {halfway}");
}
