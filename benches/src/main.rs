//! `cargo run --release -p idgate-bench -- --json`: one line per case, idgate and the floor
//! interleaved in one run on one thread. Figures are CPU time, median of windows. `-- server`
//! measures the gateway instead, against separate floors.

mod data;
mod floor;
mod floor_jar;
mod floor_mdoc;
mod grown;
mod jar;
mod listed;
mod mdoc;
mod measure;
mod openid4vp_1_0;
mod sd_jwt;
mod server;
mod x5c;

use std::alloc::System;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Measures idgate against the floor.
#[derive(Parser)]
struct Options {
    #[command(subcommand)]
    command: Option<Command>,
    /// One JSON object per line instead of a table.
    #[arg(long, global = true)]
    json: bool,
    /// Only cases whose name contains this.
    #[arg(long, default_value = "")]
    only: String,
    /// Windows per figure; the median is reported.
    #[arg(long, default_value_t = 9)]
    windows: usize,
}

#[derive(Subcommand)]
enum Command {
    /// The gateway under load, in its own process.
    Server(server::ServerOptions),
    /// The floor for `server`, which starts it.
    #[command(hide = true)]
    FlowFloor(server::FloorOptions),
    /// The floor for `server --postgres`, which starts it.
    #[command(hide = true)]
    SharedFloor(server::SharedFloorOptions),
}

fn main() -> ExitCode {
    let options = Options::parse();
    let measured = match &options.command {
        Some(Command::Server(server)) => server::run(server, options.json),
        Some(Command::FlowFloor(floor)) => server::serve_floor(floor),
        Some(Command::SharedFloor(floor)) => server::serve_shared_floor(floor),
        None => run(&options),
    };
    match measured {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("idgate-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), String> {
    let cases = all_cases(&options.only)?;
    if !options.json {
        println!(
            "{:<34} {:>11} {:>10} {:>10} {:>6} {:>7} {:>9}",
            "case", "backend", "idgate us", "floor us", "ratio", "allocs", "bytes"
        );
    }
    let mut rows = Vec::new();
    for case in &cases {
        let row = measure::measure(case, options.windows);
        println!("{}", if options.json { row.json() } else { row.text() });
        rows.push(row);
    }
    report_growth(&rows, options.json);
    Ok(())
}

fn all_cases(only: &str) -> Result<Vec<measure::Case>, String> {
    let mut cases = sd_jwt::cases(only)?;
    cases.extend(x5c::cases(only)?);
    cases.extend(listed::cases(only)?);
    cases.extend(mdoc::cases(only)?);
    cases.extend(openid4vp_1_0::cases(only)?);
    cases.extend(jar::cases(only)?);
    Ok(cases)
}

/// Linear growth: 4000 disclosures may cost at most 2.1 times as much as 2000.
fn report_growth(rows: &[measure::Row], json: bool) {
    let cost = |count: &str| {
        let case = format!("sd_jwt_es256_{count}of{count}");
        rows.iter().find(|row| row.case == case && row.backend == "aws-lc-rs").map(|r| r.idgate_us)
    };
    if let (Some(half), Some(full)) = (cost("2000"), cost("4000")) {
        let growth = full / half;
        if json {
            println!(
                "{}",
                serde_json::json!({"case": "sd_jwt_growth_4000_over_2000", "ratio": growth})
            );
        } else {
            println!("t(4000)/t(2000) = {growth:.2} (bar: 2.1)");
        }
    }
}
