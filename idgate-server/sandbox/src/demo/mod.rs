//! `idgate demo`: a gateway with sample issuers, a sample tenant and a sample wallet. It plays one
//! verification for each profile and format over HTTP, prints each step, shows that a forged answer
//! is refused, and then keeps serving. The data is deleted afterwards unless a data directory is
//! named.

pub(crate) mod act;
pub(crate) mod certificate;
mod desk;
pub(crate) mod ending;
pub(crate) mod folder;
mod holder;
pub(crate) mod plan;
mod stage;
mod story;
mod words;

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;

use self::ending::Ending;
use self::folder::Folder;
use self::plan::Plan;
pub use self::plan::Said;
use self::stage::Stage;
use idgate_base::clock::{Clock, SystemClock};
use idgate_server::failure::Failure;

/// The options of `idgate demo`.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct DemoOptions {
    /// Exit after the walk instead of continuing to serve.
    #[arg(long)]
    pub once: bool,
}

/// Runs the demo with the settings that were `said`.
pub fn run(options: DemoOptions, said: Said<'_>, json: bool) -> ExitCode {
    match walk(options, said, json) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => Failure::Error(error).report(json),
    }
}

fn walk(options: DemoOptions, said: Said<'_>, json: bool) -> Result<(), String> {
    let folder = Folder::new(said, "idgate-demo-")?;
    let plan = Plan::new(said, folder.text())?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start threads: {error}"))?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    runtime.block_on(async {
        let mut told = Ending::new()?;
        tokio::select! {
            ended = show(plan, clock, options, json) => ended,
            () = told.told() => Ok(()),
        }
    })
}

/// Plays the walk, then keeps serving unless it runs once.
async fn show(
    plan: Plan,
    clock: Arc<dyn Clock>,
    options: DemoOptions,
    json: bool,
) -> Result<(), String> {
    let stage = Stage::set(plan, clock).await?;
    let ending = stage.play(json).await?;
    if json {
        say(&ending.to_string());
    }
    if options.once {
        stage.strike().await;
        return Ok(());
    }
    if !json {
        stage.invite();
    }
    std::future::pending().await
}

/// Prints a line to stdout; errors are ignored, for example a closed pipe.
fn say(line: &str) {
    let _unread = writeln!(io::stdout(), "{line}");
}
