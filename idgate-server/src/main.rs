//! The `idgate` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    idgate_server::cli::run(std::env::args_os())
}
