//! `idgate`: see `idgate help`.

use std::process::ExitCode;

fn main() -> ExitCode {
    idgate_server::cli::run()
}
