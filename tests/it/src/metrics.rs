//! Metrics for operators: the sums of settled live sessions, and the Prometheus exposition.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use idgate_testkit::patience::eventually_some;
use serde_json::{Value, json};

use crate::http::{Http, Request, Response};
use crate::server::{Installation, eventually};
use crate::stores;
use crate::tamper::scenario::Trust;
use crate::tenant::{Gateway, Tenant, members, now_ms, request_for, sample_trust, sample_wallet};

/// A running gateway with a live tenant and an admin token.
struct Observed {
    gateway: Gateway,
    live: Tenant,
    token: String,
    token_id: String,
}

impl Observed {
    fn start() -> Self {
        Self::start_on(Installation::new())
    }

    fn start_on(installation: Installation) -> Self {
        let live = installation.create_client("live", false);
        let made = installation.run_json(&["admin-token", "create", "--json"]);
        let text = |member: &str| made[member].as_str().unwrap().to_owned();
        let (token, token_id) = (text("admin_token"), text("id"));
        let gateway = Gateway::start_on(installation);
        let live = gateway.tenant_of(&live);
        Self { gateway, live, token, token_id }
    }

    fn get(&mut self, target: &str) -> Response {
        self.live.http.send(&Request::get(target).bearer(&self.token))
    }

    fn seen(&mut self, line: &str) -> Option<u64> {
        seen(&mut self.live.http, &self.token, line)
    }

    fn summary(&mut self) -> Value {
        self.get("/v1/admin/metrics?window_hours=1").expect_status(200).json()
    }

    fn change(&self, sql: &str) {
        let path = self.gateway.installation.data_dir().join("idgate.db");
        rusqlite::Connection::open(path).unwrap().execute_batch(sql).unwrap();
    }
}

/// The value in the exposition's line with this beginning.
pub(crate) fn seen(http: &mut Http, token: &str, line: &str) -> Option<u64> {
    let answer = http.send(&Request::get("/metrics").bearer(token)).expect_status(200);
    let text = String::from_utf8(answer.body).unwrap();
    let value = text.lines().find_map(|one| one.strip_prefix(line)?.strip_prefix(' '));
    value.map(|value| value.parse().unwrap())
}

#[test]
fn metrics_count_live_sessions_and_no_test_sessions() {
    let mut observed = Observed::start();
    let request = request_for(&["given_name"]);
    for _ in 0..3 {
        observed.live.verified(&request, &sample_wallet());
    }
    let refused = observed.live.create(&request);
    let stale = sample_wallet().answer_uri(&refused.uri, now_ms() - 3_600_000).unwrap();
    observed.live.post_answer(&refused.id, &stale.form_body()).expect_status(400);
    observed.gateway.tenant().verified(&request, &sample_wallet());
    let open = observed.live.create(&request);
    observed.live.delete(&open.id).expect_status(204);
    let summary = observed.summary();
    let mut expected = vec![
        "window_hours",
        "total_estimated",
        "verified_estimated",
        "failed_estimated",
        "success_rate",
        "latency_ms_p50",
        "latency_ms_p95",
        "processing_latency_ms_p50",
        "processing_latency_ms_p95",
        "by_credential_type",
        "by_error_code",
    ];
    expected.sort_unstable();
    assert_eq!(members(&summary), expected);
    for (name, value) in [
        ("window_hours", json!(1)),
        ("total_estimated", json!(4)),
        ("verified_estimated", json!(3)),
        ("failed_estimated", json!(1)),
        ("success_rate", json!(0.75)),
        ("by_error_code", json!([{ "error_code": "kb_jwt_stale", "count_estimated": 1 }])),
        (
            "by_credential_type",
            json!([{
                "credential_type": "vc+sd-jwt", "total_estimated": 4, "verified_estimated": 3,
                "failed_estimated": 1, "success_rate": 0.75,
            }]),
        ),
    ] {
        assert_eq!(summary[name], value, "{name}");
    }
    let number = |name: &str| summary[name].as_f64().unwrap_or_else(|| panic!("{name}: {summary}"));
    for name in ["latency_ms", "processing_latency_ms"] {
        let (p50, p95) = (number(&format!("{name}_p50")), number(&format!("{name}_p95")));
        assert!((0.0..30_000.0).contains(&p50) && p50 <= p95, "{name}: {p50} {p95}");
    }
    assert!(number("processing_latency_ms_p50") > 0.0);
}

#[test]
fn metrics_need_an_admin_token_that_is_not_revoked() {
    let mut observed = Observed::start();
    let key = observed.live.api_key.clone();
    for target in ["/v1/admin/metrics", "/metrics"] {
        observed.get(target).expect_status(200);
        let bare = observed.live.http.send(&Request::get(target));
        bare.expect_error(401, "invalid_admin_token");
        let with_key = observed.live.http.send(&Request::get(target).bearer(&key));
        with_key.expect_error(401, "invalid_admin_token");
    }
    observed.get("/v1/admin/metrics?window_hours=721").expect_error(400, "invalid_limit");
    let id = observed.token_id.clone();
    assert_eq!(observed.gateway.installation.run(&["admin-token", "revoke", &id]).code, 0);
    for target in ["/v1/admin/metrics", "/metrics"] {
        observed.get(target).expect_error(401, "invalid_admin_token");
    }
}

#[test]
fn damaged_metrics_are_502_and_sessions_are_not_affected() {
    let mut observed = Observed::start();
    let request = request_for(&["given_name"]);
    observed.live.verified(&request, &sample_wallet());
    observed.change("ALTER TABLE metrics_hours RENAME TO elsewhere");
    observed.get("/v1/admin/metrics").expect_error(502, "metrics_unavailable");
    observed.live.verified(&request, &sample_wallet());
    observed.change("ALTER TABLE elsewhere RENAME TO metrics_hours");
    assert_eq!(observed.summary()["total_estimated"], 1);
    // A damaged page of the file.
    observed.change("UPDATE metrics_hours SET latency = x'ff'");
    observed.get("/v1/admin/metrics").expect_error(502, "metrics_unavailable");
    observed.live.verified(&request, &sample_wallet());
    // Even the token cannot be looked up, and still there is no 500.
    observed.change("ALTER TABLE admin_tokens RENAME TO elsewhere");
    observed.get("/v1/admin/metrics").expect_error(502, "metrics_unavailable");
}

/// An endless sum. It uses a table, so that it depends on the database's present state.
const ENDLESS: &str = "ALTER TABLE metrics_types RENAME TO elsewhere;
    CREATE VIEW metrics_types (hour, credential_type, verified, failed, expired) AS
    WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n) SELECT n, '', 0, 0, 0 FROM n, trust_version";

#[test]
fn endless_metric_queries_are_cancelled_and_do_not_block_trust_or_lists() {
    let mut observed = Observed::start();
    observed.change(ENDLESS);
    // More than there are threads for lists.
    let askers = thread::available_parallelism().unwrap().get();
    let late = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..askers {
            scope.spawn(|| {
                let mut http = observed.gateway.http();
                for _ in 0..3 {
                    let sum = Request::get("/v1/admin/metrics").bearer(&observed.token);
                    http.send(&sum).expect_error(502, "metrics_unavailable");
                    late.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        eventually("the first are late", || late.load(Ordering::Relaxed) >= askers);
        let second = Trust { issuer_id: "https://second.example".into(), ..sample_trust() };
        observed.gateway.installation.trust(&second, &[]);
        let mut tenant = observed.gateway.tenant();
        let mut request = request_for(&["given_name"]);
        request["credentials"][0]["issuer_id"] = json!("https://second.example");
        tenant.create(&request);
        let list = Request::get("/v1/audit-log").bearer(&tenant.api_key);
        tenant.http.send(&list).expect_status(200);
    });
    observed.change("DROP VIEW metrics_types; ALTER TABLE elsewhere RENAME TO metrics_types");
    observed.summary();
}

#[test]
fn alerts_only_name_existing_metrics() {
    let documented = include_str!("../../../docs/monitoring.md");
    let alerts = include_str!("../../../examples/deploy/alerts.yml");
    let words = alerts.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let metrics: Vec<&str> = words.filter(|word| word.starts_with("idgate_")).collect();
    assert!(metrics.len() >= 8, "{metrics:?}");
    for metric in metrics {
        let name = metric.trim_end_matches("_bucket");
        assert!(documented.contains(&format!("`{name}")), "{metric} is not in docs/monitoring.md");
    }
}

#[test]
fn metrics_show_the_use_of_descriptors_and_disk() {
    let mut observed = Observed::start();
    let seen = |observed: &mut Observed, line: &str| observed.seen(line).unwrap();
    let descriptors = r#"idgate_resource_used{resource="descriptors"}"#;
    let before = seen(&mut observed, descriptors);
    let address = observed.gateway.server.address;
    let held: Vec<_> = (0..20).map(|_| crate::http::connect(address).unwrap()).collect();
    eventually("counted", || seen(&mut observed, descriptors) >= before + 20);
    drop(held);
    let limit = seen(&mut observed, r#"idgate_resource_limit{resource="descriptors"}"#);
    assert!(before > 5 && before < limit, "{before} of {limit}");
    let disk = |observed: &mut Observed, of: &str| {
        seen(observed, &format!(r#"idgate_resource_{of}{{resource="disk_bytes"}}"#))
    };
    let (used, limit) = (disk(&mut observed, "used"), disk(&mut observed, "limit"));
    assert!(0 < used && used < limit, "{used} of {limit}");
}

/// The node's connections take the place of its queues. Nothing is known of the database's volume.
#[test]
fn metrics_show_the_use_of_postgresql_connections() {
    let Some(database) = stores::migrated() else { return };
    let mut observed = Observed::start_on(Installation::on(&database));
    let id = observed.live.create(&request_for(&["given_name"])).id;
    let read = Request::get(format!("/v1/sessions/{id}")).bearer(&observed.live.api_key);
    let of =
        |what: &str, resource: &str| format!(r#"idgate_resource_{what}{{resource="{resource}"}}"#);
    let limit = observed.seen(&of("limit", "db_connections")).unwrap();
    assert!((8..=32).contains(&limit), "{limit}");
    let used = of("used", "db_connections");
    eventually("none is used", || observed.seen(&used) == Some(0));
    thread::scope(|scope| {
        // Requests that read a session wait, each on a connection.
        let lock = "LOCK TABLE sessions IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(3)";
        scope.spawn(|| stores::cluster().unwrap().run(&database, lock));
        eventually("it is locked", || {
            let sql = "SELECT count(*) FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted \
                       AND relation = 'sessions'::regclass";
            stores::cluster().unwrap().run(&database, sql) == "1"
        });
        let gateway = &observed.gateway;
        let readers: Vec<_> =
            (0..3).map(|_| scope.spawn(|| gateway.http().send(&read).status)).collect();
        let mut operator = gateway.http();
        // The gateway's own work may be among them.
        eventually("each is counted", || seen(&mut operator, &observed.token, &used) >= Some(3));
        for reader in readers {
            assert_eq!(reader.join().unwrap(), 200);
        }
    });
    assert_eq!(observed.seen(&of("used", "fetches")), Some(0));
    assert_eq!(observed.seen(&of("limit", "body_memory_bytes")), Some(256 << 20));
    assert!(observed.seen(&of("used", "descriptors")) > Some(5));
    for absent in ["db_writes", "db_reads", "disk_bytes"] {
        assert_eq!(observed.seen(&of("limit", absent)), None, "{absent}");
    }
}

#[test]
fn the_exposition_has_every_metric_and_no_client_data() {
    let mut observed = Observed::start();
    let created = observed.live.verified(&request_for(&["given_name"]), &sample_wallet());
    let intruder = "Sentinel-W2k9vB";
    for request in [
        Request::get(format!("/{intruder}")),
        Request::new("SENTINEL", "/v1/sessions"),
        Request::get(format!("/v1/sessions/{intruder}")).bearer(intruder),
    ] {
        observed.live.http.send(&request);
    }
    // A request releases its resources after its answer, and the gateway has writes of its own.
    let at_rest = ["db_writes", "fetches", "body_memory_bytes"]
        .map(|resource| format!(r#"idgate_resource_used{{resource="{resource}"}} 0"#));
    let text = eventually_some("nothing is in use", || {
        let answer = observed.get("/metrics").expect_status(200);
        assert_eq!(answer.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
        let text = String::from_utf8(answer.body).unwrap();
        at_rest.iter().all(|line| text.contains(line)).then_some(text)
    });
    let documented = include_str!("../../../docs/monitoring.md");
    let names = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let names: Vec<&str> = names.filter_map(|line| line.split(' ').next()).collect();
    for name in &names {
        assert!(documented.contains(&format!("`{name}")), "{name} is not in docs/monitoring.md");
    }
    for line in [
        r#"idgate_http_requests_total{method="POST",route="/v1/oid4vp/response/{id}",status="200"} 1"#,
        r#"idgate_http_requests_total{method="other",route="/v1/sessions",status="405"} 1"#,
        r#"idgate_sessions_total{format="vc+sd-jwt",livemode="true",status="VERIFIED"} 1"#,
        "idgate_verify_seconds_count 1",
        "idgate_claims_rows 1",
        "idgate_purge_lag_seconds 0",
        r#"idgate_trust_anchors{kind="issuer_key"} 1"#,
        "idgate_db_batch_size_bucket",
        "idgate_wal_bytes",
        "idgate_webhook_queue 0",
        "idgate_webhook_oldest_seconds 0",
        "idgate_dead_letters 0",
        "idgate_ws_streams 0",
        "idgate_audit_last_checkpoint_seconds",
        "idgate_build_info{version=",
        r#"idgate_resource_limit{resource="body_memory_bytes"} 268435456"#,
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    let client_id = &observed.gateway.client.client_id;
    let words =
        [intruder, "SENTINEL", &created.id, client_id, "127.0.0.1", "cli_", "ses_", "Erika"];
    for word in words {
        assert!(!text.contains(word), "{word}\n{text}");
    }
}
