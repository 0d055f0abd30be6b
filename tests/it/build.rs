//! Compiles `preload/*.c` into one library, which tests load into the real binary.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=preload");
    let library = PathBuf::from(std::env::var_os("OUT_DIR").unwrap()).join("preload.so");
    println!("cargo::rustc-env=PRELOAD={}", library.display());
    let sources = ["kill.c", "machine.c", "names.c"].map(|name| format!("preload/{name}"));
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o"])
        .arg(&library)
        .args(sources)
        .arg("-ldl");
    // Only the tests of the real binary need it: without a C compiler, they say so.
    if !cc.status().is_ok_and(|status| status.success()) {
        println!(
            "cargo::warning=cc did not compile tests/it/preload: tests that preload it will fail"
        );
    }
}
