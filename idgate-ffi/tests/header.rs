//! The committed header says what the library exports: no more, no less, and not another way.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn committed() -> String {
    std::fs::read_to_string(here().join("include/idgate.h")).unwrap()
}

/// The folder that this test was built in, and the library beside it.
fn built() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().to_owned()
}

#[test]
fn the_committed_header_is_the_one_of_the_code() {
    let config = cbindgen::Config::from_file(here().join("cbindgen.toml")).unwrap();
    let bindings = cbindgen::Builder::new().with_crate(here()).with_config(config).generate();
    let mut made = Vec::new();
    bindings.unwrap().write(&mut made);
    let made = String::from_utf8(made).unwrap();
    if made != committed() {
        let fresh = built().join("idgate.h");
        std::fs::write(&fresh, made).unwrap();
        panic!("include/idgate.h is out of date; the new one is {}", fresh.display());
    }
}

#[test]
fn the_library_exports_what_the_header_declares_and_nothing_else() {
    let header = committed();
    let declared: BTreeSet<_> = header
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| word.starts_with("idgate_"))
        .filter(|word| header.contains(&format!("{word}(")))
        .collect();
    let library = built().join("libidgate_ffi.so");
    let symbols = Command::new("nm").args(["-D", "--defined-only"]).arg(&library).output().unwrap();
    assert!(symbols.status.success(), "nm {}", library.display());
    let symbols = String::from_utf8(symbols.stdout).unwrap();
    let exported: BTreeSet<_> = symbols.lines().filter_map(|line| line.split(' ').nth(2)).collect();
    assert_eq!(exported, declared);
}
