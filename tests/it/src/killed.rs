//! Commands that are killed at a chosen write, and directories restored to an earlier state.

use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

use crate::machine;
use crate::server::{Installation, Output};

/// Runs `arguments` and kills the command at write number `at`.
pub(crate) fn run_killed(installation: &Installation, arguments: &[&str], at: u32) -> Output {
    let mut command = installation.command(arguments);
    command.env("LD_PRELOAD", machine::library()).env("IDGATE_KILL_AT", at.to_string());
    let output = command.output().unwrap();
    Output {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into(),
        stderr: String::from_utf8_lossy(&output.stderr).into(),
    }
}

/// Copies the database files and the key unchanged.
pub(crate) fn restore(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    fs::DirBuilder::new().mode(0o700).create(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
    }
}
