//! `idgate copy`: a gateway moves from its data directory to a database with all its data, and
//! continues there.

mod interrupted;

use idgate_testkit::samples;
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::certificates::registration_with;
use crate::http::Request;
use crate::server::{Client, Installation, Output};
use crate::stores;
use crate::tenant::{Created, Gateway, Tenant, form, request_for, sample_trust, sample_wallet};

/// The commands that list everything.
const LISTS: [&[&str]; 9] = [
    &["client", "list"],
    &["client", "key", "list"],
    &["client", "verifier-info", "list"],
    &["admin-token", "list"],
    &["trust", "list"],
    &["webhook-host", "list"],
    &["dead-letters", "list"],
    &["keys", "list"],
    &["audit", "verify"],
];

/// A stopped gateway with some data of every kind.
struct Moving {
    /// Uses the directory until the copy.
    installation: Installation,
    client: Client,
    verified: String,
    failed: String,
    /// To be answered after the copy.
    open: Created,
    once: String,
}

impl Moving {
    fn new() -> Self {
        let mut installation = Installation::in_directory();
        installation.set("IDGATE_INSTANCE_KEY", stores::KEY);
        installation.set("IDGATE_WEBHOOK_ALLOW_CIDRS", "127.0.0.0/8");
        installation.set("IDGATE_WEBHOOK_ALLOW_HTTP", "true");
        let gateway = Gateway::trusting(installation, &sample_trust());
        let mut tenant = gateway.tenant();
        let commands: [&[&str]; 5] = [
            &["admin-token", "create"],
            &["webhook-host", "approve", "127.0.0.1"],
            &["client", "create", "Bücher & \"mehr\" \\ 'x'"],
            &["keys", "rotate"],
            &["trust", "add", samples::ISSUER, "--sd-jwt-eku", "1.2.3"],
        ];
        for command in commands {
            assert_eq!(gateway.installation.run(command).code, 0, "{command:?}");
        }
        for (name, party) in [("default", "VATUT-1"), ("age", "VATUT-2")] {
            let payload = json!({ "sub": party, "credentials": [] });
            let file = gateway.installation.file("registration.jwt", registration_with(&payload));
            let (id, file) = (&*gateway.client.client_id, file.to_str().unwrap());
            let add = ["client", "verifier-info", "add", id, file, "--intended-use", name];
            assert_eq!(gateway.installation.run(&add).code, 0, "{name}");
        }
        let put = Request::new("PUT", "/v1/webhook-endpoint").bearer(&tenant.api_key);
        // Nothing listens there, so notifications wait.
        let put = put.json(&json!({ "url": "http://127.0.0.1:9/hook" }));
        tenant.http.send(&put).expect_status(200);
        let verified = tenant.verified(&request_for(&["given_name"]), &sample_wallet()).id;
        let failed = tenant.create(&request_for(&["given_name"]));
        let stale = sample_wallet().answer_uri(&failed.uri, crate::tenant::now_ms() - 3_600_000);
        tenant.post_answer(&failed.id, &stale.unwrap().form_body()).expect_status(400);
        let open = tenant.create(&request_for(&["given_name"]));
        let once = tenant.once();
        let Gateway { server, client, installation } = gateway;
        server.stop();
        let mut command = installation.command(&["serve"]);
        let server = installation.serve_by({
            command.env("OID4VP_REQUEST_MODE", "jar");
            command
        });
        // Its answer is encrypted to its own key.
        let mut tenant = Tenant::at(&server, &client.api_key);
        tenant.create(&request_for(&["given_name"]));
        server.stop();
        Self { installation, client, verified, failed: failed.id, open, once }
    }

    fn listed(&self) -> Vec<Value> {
        let list = |words: &&[&str]| {
            let mut words = words.to_vec();
            if words.contains(&"key") || words.contains(&"verifier-info") {
                words.push(&self.client.client_id);
            }
            words.push("--json");
            self.installation.run_json(&words)
        };
        LISTS.iter().map(list).collect()
    }

    /// From here on commands use the database.
    fn enter(&mut self, database: &str) {
        self.installation.set("IDGATE_DATABASE_URL", database);
    }

    fn from(&self) -> String {
        self.installation.unused_data_dir().to_str().unwrap().to_owned()
    }

    fn copy(&self) -> Output {
        self.installation.run(&["copy", "--from", &self.from(), "--json"])
    }

    /// All data is there before the gateway starts.
    #[track_caller]
    fn expect_same(&self, listed: &[Value]) {
        for (now, before) in self.listed().iter().zip(listed) {
            assert_eq!(now, before);
        }
        let doctor = self.installation.run(&["doctor", "--deep"]);
        assert_eq!(doctor.code, 0, "{doctor:?}");
    }

    /// The gateway continues in the database.
    #[track_caller]
    fn expect_moved(&self) {
        let server = self.installation.serve();
        let mut tenant = Tenant::at(&server, &self.client.api_key);
        assert_eq!(tenant.read(&self.verified)["status"], "VERIFIED");
        assert_eq!(tenant.read(&self.failed)["status"], "FAILED");
        tenant.post_answer(&self.open.id, &form(&sample_wallet(), &self.open)).expect_status(200);
        let session = tenant.read(&self.open.id);
        assert_eq!(session["claims"]["pid"]["given_name"], "Erika", "{session}");
        assert_eq!(tenant.once(), self.once, "the sealed answer");
        // Sequences continue after the copied rows.
        self.installation.create_client("after", true);
        tenant.verified(&request_for(&["given_name"]), &sample_wallet());
        let intact = self.installation.run(&["audit", "verify"]);
        assert_eq!(intact.code, 0, "{intact:?}");
        server.stop();
    }
}

#[track_caller]
fn expect_refused(output: &Output, code: i32, why: &str) {
    assert_eq!(output.code, code, "{output:?}");
    assert!(output.stderr.contains(why), "{output:?}");
}

#[test]
fn a_copied_gateway_continues_in_the_database() {
    let Some(database) = stores::migrated() else { return };
    let mut moving = Moving::new();
    let listed = moving.listed();
    moving.enter(&database);
    let copied = moving.copy();
    assert_eq!(copied.code, 0, "{copied:?}");
    assert!(copied.stderr.contains("wait 30 seconds"), "{copied:?}");
    let copied = copied.json();
    for (table, rows) in [("clients", 2), ("session_keys", 1), ("webhook_deliveries", 2)] {
        assert_eq!(copied["rows"][table], rows, "{copied}");
    }
    assert_eq!(copied["lost_claims"], 1);
    moving.expect_same(&listed);
    expect_refused(&moving.copy(), 1, "was copied into the database already");
    let server = moving.installation.serve();
    let session = Tenant::at(&server, &moving.client.api_key).read(&moving.verified);
    assert_eq!(session["claims_lost"], true, "{session}");
    server.stop();
    moving.expect_moved();
    expect_refused(&moving.copy(), 1, "was copied into the database already");
}

#[test]
fn only_a_stopped_undamaged_directory_is_copied_with_its_own_key() {
    let Some(database) = stores::migrated() else { return };
    let mut moving = Moving::new();
    let server = moving.installation.serve();
    moving.enter(&database);
    expect_refused(&moving.copy(), 1, "another server runs on the data directory");
    server.stop();
    moving.installation.set("IDGATE_INSTANCE_KEY", "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=");
    expect_refused(&moving.copy(), 1, "is not the one that this data directory was made with");
    moving.installation.set("IDGATE_INSTANCE_KEY", stores::KEY);
    let nothing = moving.installation.run(&["copy", "--from", "nowhere"]);
    expect_refused(&nothing, 1, "name the data directory of a gateway");
    let main = Connection::open(moving.installation.unused_data_dir().join("idgate.db")).unwrap();
    let change = |sql: &str| main.execute_batch(sql).unwrap();
    let newest = "(SELECT max(number) FROM schema_migrations)";
    change(&format!(
        "CREATE TABLE kept AS SELECT * FROM schema_migrations WHERE number = {newest}"
    ));
    change(&format!("DELETE FROM schema_migrations WHERE number = {newest}"));
    expect_refused(&moving.copy(), 1, "migrate it with");
    change("INSERT INTO schema_migrations SELECT * FROM kept");
    change(&format!("INSERT INTO schema_migrations VALUES ({newest} + 1, 'x')"));
    expect_refused(&moving.copy(), 1, "newer than this program");
    change(&format!("DELETE FROM schema_migrations WHERE number = {newest}; DROP TABLE kept"));
    change("UPDATE audit_entries SET fields = replace(fields, 'CREATED', 'DELETED') WHERE seq = 1");
    expect_refused(&moving.copy(), 3, "the audit log of the data directory was altered");
    assert_eq!(moving.installation.run_json(&["client", "list", "--json"])["clients"], json!([]));
}

#[test]
fn a_copy_needs_an_empty_database_with_this_schema() {
    let Some(cluster) = stores::cluster() else { return };
    let mut moving = Moving::new();
    assert_eq!(moving.copy().code, 1, "no database is named");
    moving.enter(&stores::empty().unwrap());
    expect_refused(&moving.copy(), 1, "idgate migrate");
    let newer = stores::migrated().unwrap();
    let newest = cluster.run(&newer, "SELECT max(number) + 1 FROM schema_migrations");
    cluster.run(&newer, &format!("INSERT INTO schema_migrations VALUES ({newest}, 'x')"));
    moving.enter(&newer);
    expect_refused(&moving.copy(), 1, &format!("the database has schema {newest}"));
    let used = stores::migrated().unwrap();
    moving.enter(&used);
    let client = moving.installation.create_client("shop", true);
    expect_refused(&moving.copy(), 1, "the database is not empty");
    let clients = moving.installation.run_json(&["client", "list", "--json"]);
    assert_eq!(clients["clients"][0]["client_id"], client.client_id, "{clients}");
    assert_eq!(clients["clients"].as_array().map(Vec::len), Some(1));
    moving.enter(&stores::migrated().unwrap());
    let server = moving.installation.serve();
    expect_refused(&moving.copy(), 1, "a gateway runs on the database");
    server.stop();
}

/// The state that a gateway leaves when it is killed between the commits of its two files.
#[test]
fn rows_left_between_two_commits_are_not_copied() {
    let Some(cluster) = stores::cluster() else { return };
    let mut moving = Moving::new();
    let listed = moving.listed();
    let claims = Connection::open(moving.installation.unused_data_dir().join("claims.db")).unwrap();
    let plant = |sql: &str, id: &str| assert_eq!(claims.execute(sql, [id]).unwrap(), 1, "{sql}");
    let key = "INSERT INTO session_keys SELECT ?1, sealed FROM session_keys LIMIT 1";
    plant(key, &moving.failed);
    plant(key, "no_session");
    for id in [&moving.failed, &moving.open.id, "neither"] {
        plant("INSERT INTO results VALUES (?1, 9000000000000, x'02')", id);
    }
    plant("UPDATE results SET redact_at = 0 WHERE session_id = ?1", &moving.verified);
    drop(claims);
    let database = stores::migrated().unwrap();
    moving.enter(&database);
    let copied = moving.copy();
    assert_eq!(copied.code, 0, "{copied:?}");
    let copied = copied.json();
    assert_eq!((&copied["rows"]["session_keys"], &copied["lost_claims"]), (&1.into(), &0.into()));
    let noted = "SELECT count(*) FROM sessions WHERE claims_until IS NOT NULL";
    assert_eq!(cluster.run(&database, noted), "0");
    moving.expect_same(&listed);
    moving.expect_moved();
}

/// Older versions accepted NUL in the name of a key.
#[test]
fn a_key_name_with_nul_is_copied_without_it() {
    let Some(database) = stores::migrated() else { return };
    let mut installation = Installation::in_directory();
    installation.set("IDGATE_INSTANCE_KEY", stores::KEY);
    let client = installation.create_client("shop", true);
    let directory = installation.unused_data_dir();
    let main = Connection::open(directory.join("idgate.db")).unwrap();
    main.execute("UPDATE api_keys SET name = CAST(x'610062' AS TEXT)", []).unwrap();
    drop(main);
    installation.set("IDGATE_DATABASE_URL", &database);
    let copied = installation.run(&["copy", "--from", directory.to_str().unwrap()]);
    assert_eq!(copied.code, 0, "{copied:?}");
    let keys = installation.run_json(&["client", "key", "list", &client.client_id, "--json"]);
    assert_eq!(keys["keys"][0]["name"], "ab");
}

#[test]
fn a_directory_with_unreadable_values_is_not_copied() {
    let Some(database) = stores::migrated() else { return };
    let mut moving = Moving::new();
    let main = Connection::open(moving.installation.unused_data_dir().join("idgate.db")).unwrap();
    let change = "UPDATE sessions SET record = x'02' WHERE id = ?1";
    assert_eq!(main.execute(change, [&moving.failed]).unwrap(), 1);
    drop(main);
    moving.enter(&database);
    expect_refused(&moving.copy(), 3, "1 values of the data directory do not open");
    expect_refused(&moving.copy(), 3, "`idgate doctor --deep`");
    // Nothing was written.
    assert_eq!(moving.installation.run_json(&["client", "list", "--json"])["clients"], json!([]));
}
