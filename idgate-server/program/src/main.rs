//! The `idgate` program.

mod cli;

use std::process::ExitCode;

use mimalloc::MiMalloc;

// Half the cost of the system's, for the many small pieces that a request is made of.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    cli::run(std::env::args_os())
}
