//! A fixed number of random changes to good inputs of each parser: none of them panics, and the property of its
//! target holds.

use std::path::PathBuf;

use crate::hostile::Target;
use crate::mutation::Mutations;

/// Runs a target on this many mutations of its seeds, and of `more`: as many as take about a
/// second.
fn hammer(name: &str, tries: usize, more: &[Vec<u8>]) {
    let target = Target::named(name).unwrap();
    let seeds: Vec<&Vec<u8>> = target.seeds.iter().chain(more).collect();
    seeds.iter().for_each(|good| target.check(good));
    let mut mutations = Mutations::new(tries);
    for n in 0..mutations.tries {
        target.check(&mutations.mutate(seeds[n % seeds.len()]));
    }
}

/// A file of the third-party data, or a note that there is none.
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
    hammer("device_response", 60_000, &[]);
}

#[test]
fn mso() {
    hammer("mso", 1_500, &[]);
}

#[test]
fn x5chain() {
    hammer("x5chain", 100_000, &[]);
}

#[test]
fn crl() {
    hammer("crl", 100_000, &[]);
}

#[test]
fn master_list() {
    hammer("master_list", 4_000, &vector("icao-masterlist/icao-ml-2025-07.ml"));
}

#[test]
fn vical() {
    hammer("vical", 30_000, &vector("vical/aamva-vical-2025-11-18.cbor"));
}

#[test]
fn trusted_list() {
    hammer("trusted_list", 40_000, &[]);
}

#[test]
fn xml_list() {
    hammer("xml_list", 4_000, &[]);
}

#[test]
fn status_list() {
    hammer("status_list", 8_000, &[]);
}

#[test]
fn identifier_list() {
    hammer("identifier_list", 8_000, &[]);
}

#[test]
fn whole_response() {
    hammer("whole_response", 20_000, &[]);
}

#[test]
fn browser_answer() {
    hammer("browser_answer", 1_500, &[]);
}

#[test]
fn iso_mdoc_answer() {
    hammer("iso_mdoc_answer", 2_000, &[]);
}
