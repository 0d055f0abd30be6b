//! The tamper table of 1.0 over HTTP: status, `error` and the session that each row leaves.

use std::thread;

use super::*;
use crate::dcql_tamper::{good, rows, run};
use crate::tamper_http::{OverHttp, expected_status};

#[test]
fn every_row_gives_its_status_code_and_session_over_http() {
    let wrong: Vec<String> = thread::scope(|scope| {
        let lanes = [false, true].map(|encrypted| scope.spawn(move || mismatches(encrypted)));
        lanes.into_iter().flat_map(|lane| lane.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "{} rows differ:\n{}", wrong.len(), wrong.join("\n"));
}

fn mismatches(encrypted: bool) -> Vec<String> {
    let prefix = if encrypted { Prefix::DecentralizedIdentifier } else { Prefix::RedirectUri };
    let installation = v1(prefix, encrypted).installation();
    let mut over_http = OverHttp::start_on(installation, good(now_ms()).made.trust);
    over_http.taken = json!({});
    let mut wrong = Vec::new();
    for row in rows(encrypted).into_iter().filter(|row| !row.needs_virtual_time) {
        let mut scenario = good(now_ms());
        row.change(&mut scenario);
        let outcome = run(&mut over_http, &scenario, encrypted);
        if let Some(mismatch) = outcome.mismatch(row.expected) {
            wrong.push(format!("{encrypted}, {}: {mismatch}", row.title));
        }
        let (status, got) = (expected_status(row.expected), over_http.status);
        if got != status {
            wrong.push(format!("{encrypted}, {}: expected HTTP {status}, got {got}", row.title));
        }
    }
    wrong
}
