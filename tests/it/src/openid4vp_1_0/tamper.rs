//! The tamper tables of 1.0 over HTTP: status, `error` and the resulting session of each row.

use std::thread;

use super::*;
use crate::dcql_tamper::{DcqlRow, good, rows, run};
use crate::mdoc_tamper::{Authority, ISSUER_ID, Row, mdl, v1_0};
use crate::stores;
use crate::tamper::{Outcome, one_of_each_outcome};
use crate::tamper_http::{OverHttp, expected_status};

#[test]
fn a_row_of_each_outcome_gives_its_status_code_and_session_over_http() {
    every_row_holds(|table| one_of_each_outcome(table, |row| row.expected));
}

#[test]
#[ignore = "before a release: every row over HTTP, which the everyday tier runs in-process"]
fn every_row_gives_its_status_code_and_session_over_http() {
    every_row_holds(|table| table);
}

fn every_row_holds(chosen: fn(Vec<DcqlRow>) -> Vec<DcqlRow>) {
    let wrong: Vec<String> = thread::scope(|scope| {
        let lanes = [false, true].map(|encrypted| {
            stores::spawn(scope, move || mismatches(encrypted, &chosen(rows(encrypted))))
        });
        lanes.into_iter().flat_map(|lane| lane.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "{} rows differ:\n{}", wrong.len(), wrong.join("\n"));
}

fn mismatches(encrypted: bool, table: &[DcqlRow]) -> Vec<String> {
    let prefix = if encrypted { Prefix::DecentralizedIdentifier } else { Prefix::RedirectUri };
    let installation = v1(prefix, encrypted).installation();
    let mut over_http = OverHttp::start_on(installation, good(now_ms()).made.trust);
    over_http.taken = json!({});
    let mut wrong = Vec::new();
    for row in table.iter().filter(|row| !row.needs_virtual_time) {
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

#[test]
fn a_row_of_mdoc_of_each_outcome_gives_its_status_code_and_session_over_http() {
    every_row_of_mdoc_holds(&one_of_each_outcome(v1_0::rows(), |row| row.expected));
}

#[test]
#[ignore = "before a release: every row over HTTP, which the everyday tier runs in-process"]
fn every_row_of_mdoc_gives_its_status_code_and_session_over_http() {
    every_row_of_mdoc_holds(&v1_0::rows().collect::<Vec<_>>());
}

fn every_row_of_mdoc_holds(table: &[&Row]) {
    let wrong: Vec<String> = thread::scope(|scope| {
        let lanes = [v1(Prefix::RedirectUri, false), HAIP];
        let lanes =
            lanes.map(|variant| stores::spawn(scope, move || mismatches_of_mdoc(variant, table)));
        lanes.into_iter().flat_map(|lane| lane.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "{} rows differ:\n{}", wrong.len(), wrong.join("\n"));
}

fn mismatches_of_mdoc(variant: Variant, table: &[&Row]) -> Vec<String> {
    let (installation, authority) = (variant.installation(), Authority::new(now_ms()));
    let root = installation.file("authority.der", &authority.root.der);
    let add = ["trust", "add", ISSUER_ID, "--root", root.to_str().unwrap(), "--revocation", "off"];
    let added = installation.run(&add);
    assert_eq!(added.code, 0, "{added:?}");
    let mut desk = Desk::start_on(installation, variant);
    let wrong = |row: &Row| {
        let outcome = outcome_of_mdoc(&mut desk, &authority, row);
        let mismatch = outcome.mismatch(row.expected)?;
        Some(format!("{variant:?}, {}: {mismatch}", row.title))
    };
    table.iter().copied().filter_map(wrong).collect()
}

fn outcome_of_mdoc(desk: &mut Desk, authority: &Authority, row: &Row) -> Outcome {
    let mut body = desk.body(&[]);
    body["credentials"] = json!([mdl(&["family_name", "age_over_18"])]);
    let created = desk.tenant.create(&body);
    let asked = desk.request(&created, MDOC);
    let answer = v1_0::answer(authority, &asked, row.change, now_ms());
    let reply = desk.post(&asked.response_uri, &answer);
    assert_eq!(reply.status, expected_status(row.expected), "{}", row.title);
    let session = desk.tenant.read(&created.id);
    let text = |member: &str| session[member].as_str().map(String::from);
    Outcome {
        error: (reply.status != 200).then(|| reply.error()),
        status: text("status").unwrap_or_default(),
        reason: text("reason"),
        claims: session.get("claims").cloned(),
    }
}
