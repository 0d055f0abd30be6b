//! The tamper table of request mode jar, in-process.

use std::collections::BTreeSet;

use idgate_core::{ErrorCode, Reason};
use idgate_testkit::jwe::Enc;

use crate::jar_tamper::{JarRow, JarScenario, rows, run};
use crate::tamper::scenario::NOW_MS;
use crate::tamper::{Base, Expected, InProcess, presentation_rows};

fn outcome_of(
    base: Base,
    enc: Enc,
    change: impl FnOnce(&mut JarScenario),
) -> crate::tamper::Outcome {
    let mut scenario = JarScenario::good(base, enc, NOW_MS);
    change(&mut scenario);
    run(&mut InProcess::jar(), &scenario)
}

#[test]
fn good_answers_give_the_requested_claims_with_every_enc() {
    for (base, enc) in Base::ALL.into_iter().flat_map(|b| Enc::ALL.map(|enc| (b, enc))) {
        let outcome = outcome_of(base, enc, |_| {});
        assert_eq!(outcome.mismatch(Expected::Verified), None, "{base:?} {enc:?}");
        assert_eq!(outcome.claims.unwrap()["pid"], base.disclosed(), "{base:?} {enc:?}");
    }
}

#[test]
fn every_row_gives_its_code_with_every_enc() {
    let mut wrong = Vec::new();
    for (enc, row) in Enc::ALL.into_iter().flat_map(|enc| rows().into_iter().map(move |r| (enc, r)))
    {
        let outcome = outcome_of(Base::Flat, enc, row.change);
        if let Some(mismatch) = outcome.mismatch(row.expected) {
            wrong.push(format!("{enc:?}, {}: {mismatch}", row.title));
        }
    }
    assert!(wrong.is_empty(), "{} rows differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// A presentation is judged in the same way, encrypted or not.
#[test]
fn every_changed_presentation_gives_the_code_of_the_inline_profile() {
    let mut wrong = Vec::new();
    // A DID has no such prefix, so there is nothing to change.
    let inline_only = "KB aud without its prefix";
    for row in presentation_rows().into_iter().filter(|row| row.title != inline_only) {
        let outcome = outcome_of(Base::Flat, Enc::A256Gcm, |scenario| {
            (row.change)(&mut scenario.made);
        });
        if let Some(mismatch) = outcome.mismatch(row.expected) {
            wrong.push(format!("{}: {mismatch}", row.title));
        }
    }
    assert!(wrong.is_empty(), "{} rows differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_table_has_at_least_thirty_refused_envelopes_and_codes_of_the_table() {
    let rows = rows();
    let titles: BTreeSet<&str> = rows.iter().map(|row| row.title).collect();
    assert_eq!(titles.len(), rows.len());
    let transport = |row: &&JarRow| matches!(row.expected, Expected::Transport(_));
    assert!(rows.iter().filter(transport).count() >= 60);
    for row in &rows {
        let known = row.expected.reason().is_none_or(|code| Reason::parse(code).is_some());
        assert!(known, "{}", row.title);
        let known = row.expected.error().is_none_or(|code| ErrorCode::parse(code).is_some());
        assert!(known, "{}", row.title);
    }
}

#[test]
fn every_row_changes_the_answer() {
    let jar = crate::jar_tamper::open(
        &mut InProcess::jar(),
        &JarScenario::good(Base::Flat, Enc::A256Gcm, NOW_MS),
    );
    let made = |change: fn(&mut JarScenario)| {
        let mut scenario = JarScenario::good(Base::Flat, Enc::A256Gcm, NOW_MS);
        change(&mut scenario);
        scenario.answer(&jar)
    };
    let good = made(|_| {});
    let same: Vec<&str> =
        rows().iter().filter(|row| made(row.change) == good).map(|row| row.title).collect();
    // The answer that this test starts from.
    assert_eq!(same, ["encrypted with A256GCM"]);
}
