//! x509-limbo: certificate paths as RFC 5280 has them. Where idgate decides otherwise,
//! `divergences.json` says so with the reason; a difference that is not listed fails, and so does a
//! listed one that went away. The data is read where `IDGATE_VECTORS` points, or beside the
//! repository.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use idgate_core::UnixMillis;
use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::trust::{RootOrigin, TrustAnchor, is_valid_rfc5280_path, pem_or_der};
use serde_json::Value;

/// The groups that are about paths. `webpki` and `online` are about host names, `crl` about
/// revocation; they run as inputs that must not panic.
const GROUPS: [&str; 5] = ["pathlen", "rfc5280", "pathological", "invalid", "cve"];
/// For cases without a time: 2026-11-21T12:00:00Z.
const NOW: UnixMillis = UnixMillis(1_795_262_400_000);
/// For cases without a limit of their own: what an x5chain can hold.
const MAX_INTERMEDIATES: usize = 9;

#[test]
fn paths_are_valid_or_not_as_x509_limbo_says() {
    let Some(cases) = cases() else {
        eprintln!("skipped: no x509-limbo under IDGATE_VECTORS");
        return;
    };
    let mut divergences = divergences();
    let mut wrong = Vec::new();
    let mut count = 0;
    for case in &cases {
        let (id, actual) = (case["id"].as_str().unwrap(), verdict(case));
        let group = id.split("::").next().unwrap();
        if !GROUPS.contains(&group) {
            continue;
        }
        count += 1;
        let expected = case["expected_result"].as_str().unwrap();
        let listed = divergences.remove(id);
        match (actual == expected, listed) {
            (true, None) => {}
            (true, Some(_)) => wrong.push(format!("{id}: listed as a divergence, and is none")),
            (false, Some((e, a))) if e == expected && a == actual => {}
            (false, _) => wrong.push(format!("{id}: expected {expected}, is {actual}")),
        }
    }
    wrong.extend(divergences.into_keys().map(|id| format!("{id}: listed, and no such case")));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count >= 120, "only {count} cases");
}

fn verdict(case: &Value) -> &'static str {
    let time = case["validation_time"].as_str();
    let now = time.map_or(NOW, |time| UnixMillis::parse_rfc3339(time).unwrap());
    let roots: Vec<TrustAnchor> = certificates(&case["trusted_certs"])
        .iter()
        .filter_map(|der| TrustAnchor::from_der(der, RootOrigin::RootFile).ok())
        .collect();
    let intermediates = certificates(&case["untrusted_intermediates"]);
    let intermediates: Vec<&[u8]> = intermediates.iter().map(Vec::as_slice).collect();
    let leaf = certificate(&case["peer_certificate"]);
    let limit = case["max_chain_depth"].as_u64();
    let limit = limit.map_or(MAX_INTERMEDIATES, |limit| usize::try_from(limit).unwrap());
    match is_valid_rfc5280_path(&PROVIDER, &leaf, &intermediates, &roots, limit, now) {
        true => "SUCCESS",
        false => "FAILURE",
    }
}

fn certificates(pems: &Value) -> Vec<Vec<u8>> {
    pems.as_array().unwrap().iter().map(certificate).collect()
}

fn certificate(pem: &Value) -> Vec<u8> {
    pem_or_der(pem.as_str().unwrap().as_bytes(), "CERTIFICATE").unwrap().remove(0)
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

fn cases() -> Option<Vec<Value>> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/vectors");
    let vectors = std::env::var_os("IDGATE_VECTORS").map_or(beside, PathBuf::from);
    let file = std::fs::read(vectors.join("x509-limbo/limbo.json.gz")).ok()?;
    let suite: Value = serde_json::from_slice(&gunzip(&file)).unwrap();
    Some(suite["testcases"].as_array().unwrap().clone())
}

/// The one member of a gzip file (RFC 1952 2.3) with a file name at most.
fn gunzip(file: &[u8]) -> Vec<u8> {
    const HEADER: usize = 10;
    assert_eq!(file[..3], [0x1f, 0x8b, 8]);
    let name = match file[3] {
        0 => 0,
        8 => 1 + file[HEADER..].iter().position(|byte| *byte == 0).unwrap(),
        other => panic!("gzip flags {other}"),
    };
    miniz_oxide::inflate::decompress_to_vec(&file[HEADER + name..]).unwrap()
}
