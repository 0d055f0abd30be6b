//! x509-limbo: certificate paths according to RFC 5280. Where idgate decides otherwise,
//! `divergences.json` gives the reason. An unlisted difference fails the test, and so does a listed
//! one that no longer occurs.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeMap;

use idgate_core::UnixMillis;
use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::shell::{RootOrigin, TrustAnchor, is_good_by_crls, is_valid_rfc5280_path};
use idgate_testkit::limbo::{self, Case};
use serde_json::Value;

/// The groups about paths and revocation. `webpki` and `online` are about host names; their inputs
/// only must not cause a panic.
const GROUPS: [&str; 6] = ["pathlen", "rfc5280", "crl", "pathological", "invalid", "cve"];
/// For cases without a time: 2026-11-21T12:00:00Z.
const NOW: UnixMillis = UnixMillis(1_795_262_400_000);
/// For cases without a limit of their own: the capacity of an x5chain.
const MAX_INTERMEDIATES: usize = 9;

#[test]
fn paths_are_valid_or_not_as_x509_limbo_says() {
    let Some(cases) = limbo::cases() else {
        eprintln!("skipped: no x509-limbo under IDGATE_VECTORS");
        return;
    };
    let cases = cases.unwrap();
    let mut divergences = divergences();
    let mut wrong = Vec::new();
    let mut count = 0;
    for case in &cases {
        let (id, actual) = (&*case.id, name(verdict(case)));
        if !GROUPS.contains(&case.group()) {
            continue;
        }
        count += 1;
        let expected = name(case.succeeds);
        let listed = divergences.remove(id);
        match (actual == expected, listed) {
            (true, None) => {}
            (true, Some(_)) => wrong.push(format!("{id}: listed as a divergence, and is not one")),
            (false, Some((e, a))) if e == expected && a == actual => {}
            (false, _) => wrong.push(format!("{id}: expected {expected}, is {actual}")),
        }
    }
    wrong.extend(divergences.into_keys().map(|id| format!("{id}: listed, and no such case")));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count >= 130, "only {count} cases");
}

fn verdict(case: &Case) -> bool {
    let now = case.time.as_ref().map_or(NOW, |time| UnixMillis::parse_rfc3339(time).unwrap());
    let root = |der: &Vec<u8>| TrustAnchor::from_der(&PROVIDER, der, RootOrigin::RootFile).ok();
    let roots: Vec<TrustAnchor> = case.roots.iter().filter_map(root).collect();
    let intermediates: Vec<&[u8]> = case.intermediates.iter().map(Vec::as_slice).collect();
    let crls: Vec<&[u8]> = case.crls.iter().map(Vec::as_slice).collect();
    let limit = case.max_chain_depth.unwrap_or(MAX_INTERMEDIATES);
    is_valid_rfc5280_path(&PROVIDER, &case.leaf, &intermediates, &roots, limit, now)
        && (crls.is_empty() || is_good_by_crls(&PROVIDER, &case.leaf, &roots, &crls, now))
}

fn name(succeeds: bool) -> &'static str {
    if succeeds { "SUCCESS" } else { "FAILURE" }
}

/// Expected and actual result by id.
fn divergences() -> BTreeMap<String, (String, String)> {
    let listed: Value = serde_json::from_str(include_str!("../divergences.json")).unwrap();
    let text = |entry: &Value, name: &str| entry[name].as_str().unwrap().to_owned();
    let divergence = |entry: &Value| {
        assert!(text(entry, "reason").len() > 20, "{entry}");
        (text(entry, "id"), (text(entry, "expected"), text(entry, "actual")))
    };
    listed["x509-limbo"].as_array().unwrap().iter().map(divergence).collect()
}
