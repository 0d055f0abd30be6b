//! The command line: arguments to commands, outcomes to text or JSON and an exit code
//! (decisions 2). Every setting is a flag, too.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Arg, ArgMatches, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use serde_json::json;

use crate::admin::{Failure, Printed, client, settings, trust, verify};
use crate::clock::{Clock, SystemClock};
use crate::config::{Config, SETTINGS, Settings, environment};
use crate::demo::{self, DemoOptions};
use crate::serve;
use crate::store::{SqliteStore, Store};

/// Verifies digital identity and age credentials presented by wallets.
#[derive(Debug, Parser)]
#[command(name = "idgate", version, disable_help_subcommand = false)]
struct Cli {
    /// A settings file; its keys are the variable names in lower case without IDGATE_.
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the gateway.
    Serve,
    /// Walk one verification with sample issuer, tenant and wallet.
    Demo(DemoOptions),
    /// Tenants: who may create sessions.
    #[command(subcommand)]
    Client(client::Command),
    /// Issuers: whose credentials count.
    #[command(subcommand)]
    Trust(trust::Command),
    /// Settings in force.
    #[command(subcommand)]
    Config(settings::Command),
    /// Verify one captured presentation offline.
    Verify(verify::VerifyOptions),
}

/// Runs the command of this process.
pub fn run() -> ExitCode {
    let matches = match command().try_get_matches() {
        Ok(matches) => matches,
        // clap knows its exit codes: 0 for help and version, 2 for usage.
        Err(error) => error.exit(),
    };
    let cli = match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli,
        Err(error) => error.exit(),
    };
    let json = cli.json;
    match dispatch(cli, &flags(&matches)) {
        Ok(code) => code,
        Err(failure) => report(&failure, json),
    }
}

/// The derived command with a flag for every setting. A secret is given by file, never by value:
/// other users of the machine can read arguments.
fn command() -> clap::Command {
    SETTINGS.iter().fold(Cli::command(), |command, setting| {
        let (id, value_name) = match setting.secret {
            true => (format!("{}_file", setting.key), "FILE"),
            false => (setting.key.to_owned(), "VALUE"),
        };
        command.arg(
            Arg::new(id.clone())
                .long(id.replace('_', "-"))
                .global(true)
                .value_name(value_name)
                .help(format!("{} [{}]", setting.help, setting.variable))
                .help_heading("Settings"),
        )
    })
}

fn flags(matches: &ArgMatches) -> BTreeMap<String, String> {
    let keys = SETTINGS.iter().map(|setting| match setting.secret {
        true => format!("{}_file", setting.key),
        false => setting.key.to_owned(),
    });
    keys.filter_map(|key| {
        let value = matches.try_get_one::<String>(&key).ok().flatten()?.clone();
        Some((key, value))
    })
    .collect()
}

fn dispatch(cli: Cli, flags: &BTreeMap<String, String>) -> Result<ExitCode, Failure> {
    let settings =
        || Settings::collect(flags, environment(), cli.config.as_deref()).map_err(Failure::error);
    let config = || Config::new(&settings()?).map_err(Failure::error);
    let now = SystemClock.now();
    let printed = match cli.command {
        Command::Serve => {
            let settings = settings()?;
            warn_of_unknown(&settings);
            let config = Config::new(&settings).map_err(Failure::error)?;
            return Ok(serve::run(&config, open_store));
        }
        Command::Demo(options) => return Ok(demo::run(options, cli.json)),
        Command::Client(command) => client::run(command, &config()?, now)?,
        Command::Trust(command) => trust::run(command, &config()?, now)?,
        Command::Config(command) => settings::run(&command, &settings()?)?,
        Command::Verify(options) => verify::run(&options, now)?,
    };
    Ok(print(&printed, cli.json))
}

/// A misspelt setting would silently be the default.
fn warn_of_unknown(settings: &Settings) {
    for name in settings.unknown_variables() {
        let _unread =
            writeln!(io::stderr(), "warning: {name} is set, and no setting of this version");
    }
}

fn open_store(config: &Config, clock: Arc<dyn Clock>) -> Result<Arc<dyn Store>, String> {
    let store = SqliteStore::open(&config.data_dir, config.instance_key.as_ref(), clock.now())
        .map_err(|error| error.to_string())?;
    Ok(Arc::new(store))
}

fn print(printed: &Printed, json: bool) -> ExitCode {
    let text = match json {
        true => format!("{}\n", printed.json),
        false => printed.text.clone(),
    };
    // Whether somebody reads it is not our concern.
    let _unread = io::stdout().write_all(text.as_bytes());
    ExitCode::from(printed.code)
}

fn report(failure: &Failure, json: bool) -> ExitCode {
    if json {
        let _unread = writeln!(io::stdout(), "{}", json!({ "error": failure.message }));
    }
    let _unread = writeln!(io::stderr(), "error: {}", failure.message);
    ExitCode::from(failure.code)
}
