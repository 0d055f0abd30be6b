//! The same rows under valgrind, which counts instructions, including those of the standard
//! library, of other crates and of C, and of loops without a counter. Each input is read in its own
//! function, and callgrind reports the cost of each function with everything that it calls. It
//! needs a build with optimized readers: others take ten times as long, and C has another share of
//! the cost than in the program.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

use idgate_testkit::costs::Costs;

use super::{Found, check_all, rows};

/// Smaller differences are ignored.
const NOISE: u64 = 60_000;
/// The task of a run under valgrind: the number of a row, and a folder of inputs.
const ROW: &str = "IDGATE_COST_ROW";
const INPUTS: &str = "IDGATE_COST_INPUTS";
/// The names that libtest and callgrind use.
const TEST: &str = "hostile::cost::instructions::every_parser_is_linear_in_instructions";
const COUNTED: &str = "*hostile::cost::instructions::counted*";

type Work<'w> = &'w mut dyn FnMut();

macro_rules! slots {
    ($($slot:ident)*) => {
        $(
            #[inline(never)]
            fn $slot(work: Work<'_>) {
                work();
                // Keeps the functions different, and keeps each from being left before its work is
                // done.
                std::hint::black_box(stringify!($slot));
            }
        )*
        /// Functions that differ only in their names.
        const SLOTS: &[(&str, fn(Work<'_>))] = &[$((stringify!($slot), $slot)),*];
    };
}

slots! {
    slot_00 slot_01 slot_02 slot_03 slot_04 slot_05 slot_06 slot_07 slot_08 slot_09
    slot_10 slot_11 slot_12 slot_13 slot_14 slot_15 slot_16 slot_17 slot_18 slot_19
    slot_20 slot_21 slot_22 slot_23 slot_24 slot_25 slot_26 slot_27 slot_28 slot_29
    slot_30 slot_31 slot_32 slot_33 slot_34 slot_35 slot_36 slot_37 slot_38 slot_39
    slot_40 slot_41 slot_42 slot_43 slot_44 slot_45 slot_46 slot_47 slot_48 slot_49
    slot_50 slot_51 slot_52 slot_53 slot_54 slot_55 slot_56 slot_57 slot_58 slot_59
}

/// Only the work inside this function is counted.
#[inline(never)]
fn counted(slot: fn(Work<'_>), work: Work<'_>) {
    slot(work);
    std::hint::black_box(());
}

/// Reads the inputs of a folder, each in the slot of its number. The first is read once before,
/// uncounted.
fn read_all(row: usize, inputs: &Path) {
    let mut read = rows::TABLE[row]().read;
    let input = |at: usize| fs::read(inputs.join(at.to_string())).ok();
    read(&input(0).unwrap());
    for (at, (_, slot)) in SLOTS.iter().enumerate() {
        let Some(input) = input(at) else { break };
        counted(*slot, &mut || read(&input));
    }
}

/// The instructions that reading each input takes.
fn instructions(row: usize, inputs: &[Vec<u8>]) -> Vec<u64> {
    let mut counts = Vec::new();
    for part in inputs.chunks(SLOTS.len()) {
        let dir = tempfile::tempdir().unwrap();
        for (at, input) in part.iter().enumerate() {
            fs::write(dir.path().join(at.to_string()), input).unwrap();
        }
        let report = dir.path().join("report");
        let run = Command::new("valgrind")
            .args(["--tool=callgrind", "--compress-strings=no", "--compress-pos=no"])
            .arg(format!("--toggle-collect={COUNTED}"))
            .arg(format!("--callgrind-out-file={}", report.display()))
            .arg(env::current_exe().unwrap())
            .args(["--exact", TEST, "--include-ignored", "--nocapture", "--test-threads=1"])
            .env(ROW, row.to_string())
            .env(INPUTS, dir.path())
            .output()
            .unwrap();
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        let report = fs::read_to_string(report).unwrap();
        counts.extend(SLOTS[..part.len()].iter().map(|(slot, _)| inclusive(&report, slot)));
    }
    counts
}

/// The cost of a function with everything that it called: the line after each `calls=` has a
/// position and that cost.
fn inclusive(report: &str, function: &str) -> u64 {
    let mut lines = report.lines();
    let (mut callee, mut cost) = ("", None);
    while let Some(line) = lines.next() {
        if let Some(name) = line.strip_prefix("cfn=") {
            callee = name;
        } else if line.starts_with("calls=") {
            let own = lines.next().and_then(|line| line.split(' ').nth(1)?.parse::<u64>().ok());
            if callee.ends_with(function) {
                cost = Some(cost.unwrap_or(0) + own.unwrap());
            }
        }
    }
    cost.unwrap_or_else(|| panic!("callgrind has not seen {function}"))
}

fn check(at: usize) -> Found {
    let row = rows::TABLE[at]();
    let sizes = [row.full / 4, row.full / 2, row.full];
    let good = std::iter::once(("good", &row.valid));
    let all = good.chain(row.worst.iter().map(|(title, make)| (*title, make)));
    let (titles, makers): (Vec<_>, Vec<_>) = all.unzip();
    let inputs: Vec<_> = makers.iter().flat_map(|make| sizes.map(make)).collect();
    let counts = instructions(at, &inputs);
    let costs: Vec<_> = counts.chunks(sizes.len()).map(|costs| Costs(costs.to_vec())).collect();
    let mut found = Found::default();
    for (title, own) in titles.into_iter().zip(&costs) {
        found.show(&own.line(row.name, title, &costs[0]));
        found.is_wrong(row.name, title, own.excess(&costs[0], NOISE));
    }
    found
}

#[test]
#[ignore = "before a release: counts instructions under valgrind"]
fn every_parser_is_linear_in_instructions() {
    if let (Ok(row), Some(inputs)) = (env::var(ROW), env::var_os(INPUTS)) {
        return read_all(row.parse().unwrap(), Path::new(&inputs));
    }
    if Command::new("valgrind").arg("--version").output().is_err() {
        eprintln!("skipped: valgrind is not installed");
        return;
    }
    check_all(check);
}

#[test]
fn costs_are_parsed_from_callgrind_output() {
    let report = "fn=counted\n12 2\ncfn=it::slot_01\ncalls=1 9\n12 705\n\nfn=it::slot_01\n9 5\n\
        cfn=work\ncalls=1 20\n9 700\ncfn=it::slot_02\ncalls=2 9\n12 60\n";
    assert_eq!((inclusive(report, "slot_01"), inclusive(report, "slot_02")), (705, 60));
}
