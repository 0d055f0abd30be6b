//! Compares with xmlsec1, which must accept every good list and every list that is accepted here.

use std::fs;
use std::process::Command;

use idgate_testkit::keys::pem;

use super::corpus::{Comparison, corpus};
use super::{age_list, import, signer};

/// Whether xmlsec1 accepts the signature of a list.
fn accepts(dir: &tempfile::TempDir, text: &str) -> bool {
    let (file, anchor) = (dir.path().join("list.xml"), dir.path().join("signer.pem"));
    fs::write(&file, text).unwrap();
    fs::write(&anchor, pem("CERTIFICATE", &signer().der)).unwrap();
    let output = Command::new("xmlsec1")
        .args(["--verify", "--enabled-key-data", "x509", "--id-attr:Id"])
        .arg("http://uri.etsi.org/01903/v1.3.2#:SignedProperties")
        .args(["--verification-gmt-time", "2026-11-22 00:00:00", "--trusted-pem"])
        .args([&anchor, &file])
        .output();
    output.unwrap().status.success()
}

#[test]
#[ignore = "before a release: asks xmlsec1"]
fn xmlsec_accepts_every_list_that_is_accepted_here() {
    if Command::new("xmlsec1").arg("--version").output().is_err() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    assert!(accepts(&dir, &age_list().sign(&signer())), "xmlsec1 refuses even a good list");
    let mut compared = Comparison::with("xmlsec1");
    for case in corpus() {
        compared.add(&case, [import(&case.text).is_ok(), accepts(&dir, &case.text)]);
    }
    assert!(compared.accepted > 30 && compared.refused > 100, "{compared:?}");
}
