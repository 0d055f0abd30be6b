//! Random changes to good inputs of each parser, for some seconds: never a panic, and what the
//! target says holds. Deterministic for a seed.

use std::path::PathBuf;
use std::time::Instant;

use crate::hostile::Target;
use crate::mutation::{Dice, budget};

/// Runs a target on mutations of its seeds, and of `more`, until the time is over.
fn hammer(name: &str, seed: u64, more: &[Vec<u8>]) {
    let target = Target::named(name).unwrap();
    let seeds: Vec<&Vec<u8>> = target.seeds.iter().chain(more).collect();
    seeds.iter().for_each(|good| target.check(good));
    let (mut dice, start, mut tried) = (Dice(seed), Instant::now(), 0);
    while start.elapsed() < budget() {
        target.check(&dice.mutate(seeds[tried % seeds.len()]));
        tried += 1;
    }
    assert!(tried > 20, "only {tried} tries");
}

/// A file of the third-party data, or a word that there is none.
fn vector(name: &str) -> Vec<Vec<u8>> {
    let root = std::env::var_os("IDGATE_VECTORS").map_or_else(
        || concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/vectors").into(),
        PathBuf::from,
    );
    let file = std::fs::read(root.join(name)).ok();
    if file.is_none() {
        println!("skipped: no third-party data {name}");
    }
    file.into_iter().collect()
}

#[test]
fn device_response() {
    hammer("device_response", 0xd0c, &[]);
}

#[test]
fn mso() {
    hammer("mso", 0x350, &[]);
}

#[test]
fn x5chain() {
    hammer("x5chain", 0x509, &[]);
}

#[test]
fn crl() {
    hammer("crl", 0xc21, &[]);
}

#[test]
fn master_list() {
    hammer("master_list", 0x1ca0, &vector("icao-masterlist/icao-ml-2025-07.ml"));
}

#[test]
fn vical() {
    hammer("vical", 0x71ca, &vector("vical/aamva-vical-2025-11-18.cbor"));
}

#[test]
fn trusted_list() {
    hammer("trusted_list", 0x0115, &[]);
}

#[test]
fn status_list() {
    hammer("status_list", 0x157, &[]);
}

#[test]
fn whole_response() {
    hammer("whole_response", 0x57e9, &[]);
}

#[test]
fn browser_answer() {
    hammer("browser_answer", 0xdca, &[]);
}

#[test]
fn iso_mdoc_answer() {
    hammer("iso_mdoc_answer", 0xa77c, &[]);
}
