//! The tamper table over HTTP: the status, the `error` code and the resulting session of each row.

use std::thread;

use idgate_testkit::wallet::Body;
use serde_json::Value;

use crate::server::Installation;
use crate::stores;
use crate::tamper::scenario::Trust;
use crate::tamper::{Base, Expected, Gateway, Row, Scenario, one_of_each_outcome, rows, run};
use crate::tenant::{self, Created, Tenant, now_ms};

/// A server with one session at a time, and the trust in force on it.
pub(crate) struct OverHttp {
    gateway: tenant::Gateway,
    pub(crate) tenant: Tenant,
    trust: Trust,
    session: Option<Created>,
    /// The reply to a wallet whose answer is accepted.
    pub(crate) taken: Value,
    /// The status of the last answer.
    pub(crate) status: u16,
}

impl OverHttp {
    fn start(trust: Trust) -> Self {
        Self::start_on(Installation::new(), trust)
    }

    pub(crate) fn start_on(installation: Installation, trust: Trust) -> Self {
        let gateway = tenant::Gateway::trusting(installation, &trust);
        let tenant = gateway.tenant();
        let taken = serde_json::json!({ "status": "ok" });
        Self { gateway, tenant, trust, session: None, taken, status: 0 }
    }

    fn id(&self) -> &str {
        self.session.as_ref().map_or("", |session| &session.id)
    }

    /// Puts `trust` in force while the server runs.
    fn retrust(&mut self, trust: &Trust) {
        if self.trust == *trust {
            return;
        }
        let installation = &self.gateway.installation;
        let removed = installation.run(&["trust", "remove", &self.trust.issuer_id]);
        assert_eq!(removed.code, 0, "{removed:?}");
        installation.trust(trust, &[]);
        self.trust = trust.clone();
    }
}

impl Gateway for OverHttp {
    fn open(&mut self, trust: &Trust, request: &Value, _now_ms: u64) -> String {
        self.retrust(trust);
        let session = self.tenant.create(request);
        self.session.insert(session).uri.clone()
    }

    fn post(&mut self, body: &Body, _now_ms: u64) -> Option<String> {
        let id = self.id().to_owned();
        let response = self.tenant.post_answer(&id, body);
        self.status = response.status;
        if response.status == 200 {
            assert_eq!(response.json(), self.taken);
            return None;
        }
        Some(response.error())
    }

    fn read(&mut self, _now_ms: u64) -> (String, Option<String>, Option<Value>) {
        let id = self.id().to_owned();
        let session = self.tenant.read(&id);
        let text = |member: &str| session[member].as_str().map(String::from);
        (text("status").unwrap_or_default(), text("reason"), session.get("claims").cloned())
    }
}

#[test]
fn a_row_of_each_outcome_gives_its_status_code_and_session_over_http() {
    let table = one_of_each_outcome(table(), |row| row.expected);
    assert!(table.len() >= 6, "{} outcomes", table.len());
    every_row_holds(&table);
}

#[test]
#[ignore = "before a release: every row over HTTP, which the everyday tier runs in-process"]
fn every_row_gives_its_status_code_and_session_over_http() {
    every_row_holds(&table());
}

fn table() -> Vec<Row> {
    let table: Vec<Row> = rows().into_iter().filter(|row| !row.needs_virtual_time).collect();
    let skipped = rows().len() - table.len();
    assert!(skipped <= 10, "{skipped} rows need a clock that stands still");
    table
}

fn every_row_holds(table: &[Row]) {
    let wrong: Vec<String> = thread::scope(|scope| {
        let lanes = Base::ALL.map(|base| stores::spawn(scope, move || mismatches(base, table)));
        lanes.into_iter().flat_map(|lane| lane.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "{} rows differ:\n{}", wrong.len(), wrong.join("\n"));
}

fn mismatches(base: Base, table: &[Row]) -> Vec<String> {
    let mut over_http = OverHttp::start(Scenario::good(base, now_ms()).trust);
    let mut wrong = Vec::new();
    for row in table {
        let mut scenario = Scenario::good(base, now_ms());
        (row.change)(&mut scenario);
        let outcome = run(&mut over_http, &scenario);
        if let Some(mismatch) = outcome.mismatch(row.expected) {
            wrong.push(format!("{base:?}, {}: {mismatch}", row.title));
        }
        let status = expected_status(row.expected);
        if over_http.status != status {
            let got = over_http.status;
            wrong.push(format!("{base:?}, {}: expected HTTP {status}, got {got}", row.title));
        }
    }
    wrong
}

pub(crate) fn expected_status(expected: Expected) -> u16 {
    match expected {
        Expected::Verified | Expected::ErrorNoted => 200,
        Expected::Transport("payload_too_large") => 413,
        Expected::Refused(_) | Expected::Transport(_) => 400,
    }
}

#[test]
fn the_tenant_reads_the_disclosed_claims() {
    for base in Base::ALL {
        let scenario = Scenario::good(base, now_ms());
        let mut over_http = OverHttp::start(scenario.trust.clone());
        let outcome = run(&mut over_http, &scenario);
        assert_eq!(outcome.mismatch(Expected::Verified), None, "{base:?}");
        assert_eq!(outcome.claims.unwrap_or_default()["pid"], base.disclosed(), "{base:?}");
    }
}

#[test]
fn the_answer_to_a_refused_presentation_does_not_depend_on_the_reason() {
    let mut over_http = OverHttp::start(Scenario::good(Base::Flat, now_ms()).trust);
    let mut bodies: Vec<Vec<u8>> = rows()
        .into_iter()
        .filter(|row| matches!(row.expected, Expected::Refused(_)) && !row.needs_virtual_time)
        .step_by(10)
        .map(|row| {
            let mut scenario = Scenario::good(Base::Flat, now_ms());
            (row.change)(&mut scenario);
            let uri = over_http.open(&scenario.trust, &scenario.request, scenario.created_ms());
            let id = over_http.id().to_owned();
            over_http.tenant.post_answer(&id, &scenario.answer(&uri)).body
        })
        .collect();
    assert!(bodies.len() >= 10, "{} refusals", bodies.len());
    bodies.dedup();
    assert_eq!(bodies.len(), 1, "{bodies:?}");
}
