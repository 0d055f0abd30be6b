//! `fuzz-seeds DIRECTORY`: writes the good inputs of every target to the place where a fuzzer looks
//! for them.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs, io};

use idgate_it::hostile::Target;

fn main() -> ExitCode {
    let Some(directory) = env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("usage: fuzz-seeds DIRECTORY");
        return ExitCode::from(2);
    };
    match Target::NAMES.iter().try_for_each(|name| write(&directory.join(name), name)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fuzz-seeds: {}: {error}", directory.display());
            ExitCode::FAILURE
        }
    }
}

fn write(directory: &Path, name: &str) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    let seeds = Target::named(name).map(|target| target.seeds).unwrap_or_default();
    let mut seeds = seeds.into_iter().enumerate();
    seeds.try_for_each(|(at, seed)| fs::write(directory.join(format!("seed-{at}")), seed))
}
