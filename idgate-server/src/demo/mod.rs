//! `idgate demo`: a throw-away gateway on loopback, sample issuers, a sample tenant and a sample
//! wallet. Walks one verification per format and profile over HTTP and prints each step, shows that a
//! forged answer is refused, then keeps serving.

mod act;
mod client;
mod desk;
mod story;

use std::fs::DirBuilder;
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use tokio::signal::unix::{SignalKind, signal};

use crate::clock::{Clock, SystemClock};
use crate::failure::Failure;

/// The options of `idgate demo`.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct DemoOptions {
    /// Exit after the walk instead of serving on.
    #[arg(long)]
    pub once: bool,
}

/// Runs the demo.
pub fn run(options: DemoOptions, json: bool) -> ExitCode {
    match walk(options, json) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => Failure::Error(error).report(json),
    }
}

fn walk(options: DemoOptions, json: bool) -> Result<(), String> {
    let folder = ThrowAway::new()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start threads: {error}"))?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    runtime.block_on(async {
        let cannot = |error| format!("cannot listen for signals: {error}");
        // From here on they end the demo in an orderly way: its folder must go.
        let mut interrupt = signal(SignalKind::interrupt()).map_err(cannot)?;
        let mut terminate = signal(SignalKind::terminate()).map_err(cannot)?;
        tokio::select! {
            ended = show(&folder, clock, options, json) => ended,
            _ = interrupt.recv() => Ok(()),
            _ = terminate.recv() => Ok(()),
        }
    })
}

/// The walk; then serves on, unless it is to be shown once.
async fn show(
    folder: &ThrowAway,
    clock: Arc<dyn Clock>,
    options: DemoOptions,
    json: bool,
) -> Result<(), String> {
    let stage = story::Stage::set(&folder.0, clock).await?;
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

/// A line on stdout; whether somebody reads it is not our concern.
fn say(line: &str) {
    let _unread = writeln!(io::stdout(), "{line}");
}

/// A data directory that goes away with the demo.
struct ThrowAway(PathBuf);

impl ThrowAway {
    fn new() -> Result<Self, String> {
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(|error| format!("no random bytes: {error}"))?;
        let name = format!("idgate-demo-{:016x}", u64::from_be_bytes(random));
        let folder = std::env::temp_dir().join(name);
        let made = DirBuilder::new().mode(0o700).create(&folder);
        made.map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(Self(folder))
    }
}

impl Drop for ThrowAway {
    fn drop(&mut self) {
        // Best effort: it holds sample data under the system's temporary folder.
        let _left_behind = std::fs::remove_dir_all(&self.0);
    }
}
