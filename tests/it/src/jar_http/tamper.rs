//! The tamper table of request mode jar over HTTP: status, `error` and the resulting session of
//! each row.

use std::thread;

use idgate_testkit::jwe::Enc;
use serde_json::Value;

use super::did_document;
use crate::http::Request;
use crate::jar_tamper::{JarGateway, JarRow, JarScenario, rows, run};
use crate::server::Installation;
use crate::stores;
use crate::tamper::{Base, one_of_each_outcome};
use crate::tamper_http::{OverHttp, expected_status};
use crate::tenant::now_ms;

impl JarGateway for OverHttp {
    fn fetch(&mut self, request_uri: &str, _now_ms: u64) -> String {
        let (_, rest) = request_uri.split_once("://").unwrap();
        let path = &rest[rest.find('/').unwrap()..];
        let answer = self.tenant.http.send(&Request::get(path)).expect_status(200);
        String::from_utf8(answer.body).unwrap()
    }

    fn did_document(&mut self) -> Value {
        did_document(&mut self.tenant.http)
    }
}

#[test]
fn a_row_of_each_outcome_gives_its_status_code_and_session_over_http() {
    every_row_holds(&one_of_each_outcome(rows(), |row| row.expected));
}

#[test]
#[ignore = "before a release: every row over HTTP, which the everyday tier runs in-process"]
fn every_row_gives_its_status_code_and_session_over_http() {
    every_row_holds(&rows());
}

fn every_row_holds(table: &[JarRow]) {
    let wrong: Vec<String> = thread::scope(|scope| {
        let lanes = Enc::ALL.map(|enc| stores::spawn(scope, move || mismatches(enc, table)));
        lanes.into_iter().flat_map(|lane| lane.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "{} rows differ:\n{}", wrong.len(), wrong.join("\n"));
}

fn mismatches(enc: Enc, table: &[JarRow]) -> Vec<String> {
    let good = || JarScenario::good(Base::Flat, enc, now_ms());
    let installation = Installation::new().with("OID4VP_REQUEST_MODE", "jar");
    let mut over_http = OverHttp::start_on(installation, good().made.trust);
    let mut wrong = Vec::new();
    for row in table {
        let mut scenario = good();
        (row.change)(&mut scenario);
        let outcome = run(&mut over_http, &scenario);
        if let Some(mismatch) = outcome.mismatch(row.expected) {
            wrong.push(format!("{enc:?}, {}: {mismatch}", row.title));
        }
        let (status, got) = (expected_status(row.expected), over_http.status);
        if got != status {
            wrong.push(format!("{enc:?}, {}: expected HTTP {status}, got {got}", row.title));
        }
    }
    wrong
}
