//! The command line: commands and flags, output and exit codes.

#[cfg(test)]
mod manual_tests;
mod open;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Arg, ArgMatches, Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use self::open::{open_operator, open_store, open_to_develop, open_to_reseal};
use idgate_base::clock::{Clock, SystemClock};
#[cfg(feature = "sandbox")]
use idgate_sandbox::demo::{self, DemoOptions, Said};
#[cfg(feature = "sandbox")]
use idgate_sandbox::{self as sandbox, SandboxOptions};
use idgate_server::admin::admin_token::{self, AdminTokenCommand};
use idgate_server::admin::audit::{self, AuditCommand};
use idgate_server::admin::backup::{self, BackupOptions};
use idgate_server::admin::client::{self, ClientCommand};
use idgate_server::admin::copy::{self, CopyOptions};
use idgate_server::admin::dead_letters::{self, DeadLettersCommand};
use idgate_server::admin::doctor::{self, DoctorOptions, RuleSet};
use idgate_server::admin::keys::{self, KeysCommand};
use idgate_server::admin::listen::{self, ListenOptions};
use idgate_server::admin::manual::{self, CompletionsOptions, ManualOptions};
use idgate_server::admin::migrate;
use idgate_server::admin::session::{self, SessionCommand};
use idgate_server::admin::trust::{self, TrustCommand};
use idgate_server::admin::verify::{self, VerifyOptions};
use idgate_server::admin::webhook_host::{self, WebhookHostCommand};
use idgate_server::admin::{Failure, Output, settings};
use idgate_server::config::{
    self, Config, DataDir, OwnName, SETTINGS, Setting, Settings, environment, unknown_variables,
};
use idgate_server::serve;
use idgate_server::stdio;
use idgate_server::work::{self, list_refresh};

/// Gateway that verifies digital credentials over OpenID4VP
#[derive(Parser)]
#[command(name = "idgate", version, propagate_version = true)]
struct Cli {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    command: Command,
}

#[derive(Args)]
struct Common {
    /// Settings file (TOML). Every setting is also a flag: `idgate help settings`
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print one JSON object on stdout
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Subcommand)]
enum Command {
    /// Run the gateway
    Serve {
        /// Update the schema of the PostgreSQL database first
        #[arg(long)]
        migrate: bool,
    },
    /// Update the schema of the PostgreSQL database
    Migrate,
    /// Run sample verifications in each profile, with sample issuers, tenant and wallet
    ///
    /// Every setting of `serve` is also a flag here, for example --listen, --base-url, --data-dir,
    /// --profiles and --oid4vp-request-mode; `idgate help settings` lists them. Without them, the
    /// demo runs 1.0, haip and draft on loopback, and leaves nothing behind.
    #[cfg(feature = "sandbox")]
    Demo(DemoOptions),
    /// Run a gateway to develop against, with sample issuers and a built-in wallet
    ///
    /// Its page lists sessions and answers them with the built-in wallet, on this machine only.
    /// Every setting of `serve` is also a flag here. Without --data-dir, everything is deleted when
    /// it ends.
    #[cfg(feature = "sandbox")]
    Sandbox(Box<SandboxOptions>),
    /// Verify a captured presentation offline
    Verify(Box<VerifyOptions>),
    /// Create, change and revoke clients
    #[command(subcommand)]
    Client(ClientCommand),
    /// Create and revoke tokens for the admin endpoints
    #[command(subcommand)]
    AdminToken(AdminTokenCommand),
    /// Choose which issuers to trust, and for which credentials
    #[command(subcommand)]
    Trust(TrustCommand),
    /// Rotate the gateway's keys, and request and import certificates
    #[command(subcommand)]
    Keys(KeysCommand),
    /// Verify and export the audit log
    #[command(subcommand)]
    Audit(AuditCommand),
    /// Approve or reject the hosts of webhooks
    #[command(subcommand)]
    WebhookHost(WebhookHostCommand),
    /// Show why the answer to a session was refused
    #[command(subcommand)]
    Session(SessionCommand),
    /// List and retry webhooks that were given up
    #[command(subcommand)]
    DeadLetters(DeadLettersCommand),
    /// Forward the notifications of a test client to an address of this machine, until you stop it
    Listen(ListenOptions),
    /// Copy the database to a file while the gateway runs
    Backup(BackupOptions),
    /// Copy a data directory into the PostgreSQL database of the settings
    Copy(CopyOptions),
    /// Check the installation
    Doctor(DoctorOptions),
    /// Check the settings
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Print shell completions for commands and flags
    Completions(CompletionsOptions),
    /// Write man pages and completions into a folder, for packages
    #[command(hide = true)]
    Manual(ManualOptions),
}

#[derive(Subcommand)]
enum ConfigCommand {
    /// Check the settings, and print them with their origin
    Check,
}

/// Runs the program with these arguments; the first is its name. The exit code is 0 ok, 1 error,
/// 2 usage, 3 integrity failure or refused, 4 not found.
pub(crate) fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.into_iter().collect();
    if asks_for_settings(&args) {
        return finish(Ok(settings::list()), args.iter().any(|arg| arg == "--json"));
    }
    let (cli, flags) = match parse(args.clone()) {
        Ok(parsed) => parsed,
        Err(error) => return explain_usage(&error, args.iter().any(|arg| arg == "--json")),
    };
    unknown_variables(environment()).for_each(|warning| warn(&warning));
    match cli.command {
        Command::Serve { migrate } => run_server(&cli.common, &flags, migrate),
        #[cfg(feature = "sandbox")]
        Command::Demo(options) => {
            let said = Said { flags: &flags, file: cli.common.config.as_deref() };
            demo::run(options, said, cli.common.json)
        }
        #[cfg(feature = "sandbox")]
        Command::Sandbox(options) => {
            let said = Said { flags: &flags, file: cli.common.config.as_deref() };
            sandbox::run(*options, said, cli.common.json)
        }
        Command::Verify(options) => {
            finish(verify::run(&options, SystemClock.now()), cli.common.json)
        }
        Command::Completions(options) => {
            finish(Ok(manual::completions(&options, command())), cli.common.json)
        }
        Command::Manual(options) => finish(manual::write(&options, &command()), cli.common.json),
        command => finish(run_command(command, &cli.common, &flags), cli.common.json),
    }
}

/// The command line without the settings, which every command accepts as flags.
pub(crate) fn command() -> clap::Command {
    Cli::command()
}

/// Whether this is `idgate help settings`. The settings are not a command of clap.
fn asks_for_settings(args: &[OsString]) -> bool {
    let mut words = args.iter().skip(1).filter(|arg| *arg != "--json");
    let asked = [words.next(), words.next(), words.next()];
    matches!(asked, [Some(help), Some(what), None] if help == "help" && what == "settings")
}

/// Prints the error of wrong arguments. Help and version also come here, with code 0.
fn explain_usage(error: &clap::Error, json: bool) -> ExitCode {
    if json && error.use_stderr() {
        let text = error.render().to_string();
        let text = text.strip_prefix("error: ").unwrap_or(&text).trim_end();
        return Failure::Usage(text.to_owned()).report(json);
    }
    let _ = error.print();
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

fn warn(warning: &str) {
    stdio::to_stderr(stdio::for_people(&format!("warning: {warning}\n")));
}

/// Our commands and flags, and one flag for each setting. A secret has a flag for its file only,
/// because other users can see arguments.
fn parse(
    args: impl IntoIterator<Item = OsString>,
) -> Result<(Cli, BTreeMap<String, String>), clap::Error> {
    let command = SETTINGS.iter().fold(Cli::command(), |command, it| command.arg(flag(it)));
    let matches = command.try_get_matches_from(args)?;
    let flags = SETTINGS.iter().filter_map(|setting| given(&matches, setting)).collect();
    Ok((Cli::from_arg_matches(&matches)?, flags))
}

fn flag(setting: &'static Setting) -> Arg {
    let id = setting.flag_key();
    // Shown under every command, the settings would hide the command's own flags. A command keeps
    // its argument of the same name, for example `verify --client-id`.
    Arg::new(id.clone()).long(id.replace('_', "-")).global(true).hide(true)
}

fn given(matches: &ArgMatches, setting: &Setting) -> Option<(String, String)> {
    let id = setting.flag_key();
    let text = matches.get_one::<String>(&id)?.clone();
    Some((id, text))
}

fn run_server(common: &Common, flags: &BTreeMap<String, String>, migrates: bool) -> ExitCode {
    let settings = Settings::collect(flags, environment(), common.config.as_deref());
    let settings = settings.inspect(|settings| settings.exposed().iter().for_each(|one| warn(one)));
    match settings.and_then(|settings| Config::new(&settings)) {
        Ok(config) => {
            if config.database.is_none() {
                idgate_store::exposed(&config.data_dir).iter().for_each(|warning| warn(warning));
            }
            serve::run(&config, common.json, |config, clock| open_store(config, clock, migrates))
        }
        Err(error) => Failure::Error(error).report(common.json),
    }
}

fn run_command(
    command: Command,
    common: &Common,
    flags: &BTreeMap<String, String>,
) -> Result<Output, Failure> {
    let settings = Settings::collect(flags, environment(), common.config.as_deref())?;
    let now = SystemClock.now();
    match command {
        Command::Client(command) => {
            let mut store = open_to_develop(&settings, command.creates())?;
            client::run(command, &mut store, now)
        }
        Command::AdminToken(command) => {
            let mut store = open_operator(&settings, command.creates())?;
            admin_token::run(command, &mut store, now)
        }
        Command::Trust(command) => {
            let mut store = open_to_develop(&settings, command.creates())?;
            trust::run(command, &mut store, &|url| fetch_list(&settings, url), now)
        }
        Command::Keys(command) => {
            let mut store = match &command {
                KeysCommand::Reseal => open_to_reseal(&settings)?,
                _ => open_operator(&settings, false)?,
            };
            keys::run(&command, &mut store, &OwnName::new(&settings)?, now)
        }
        Command::Audit(command) => {
            let mut store = open_operator(&settings, false)?;
            let file = config::audit_checkpoint_file(&settings)?;
            audit::run(command, &mut store, file.as_deref(), now)
        }
        Command::WebhookHost(command) => {
            let mut store = open_to_develop(&settings, command.creates())?;
            webhook_host::run(&command, &mut store, now)
        }
        Command::DeadLetters(command) => {
            let mut store = open_to_develop(&settings, false)?;
            dead_letters::run(&command, &mut store, now)
        }
        Command::Session(command) => {
            session::run(&command, &*open_to_develop(&settings, false)?, now)
        }
        Command::Listen(options) => {
            let store = open_to_develop(&settings, false)?;
            listen::run(&options, &store, common.json).map(|()| Output::default())
        }
        Command::Backup(options) => backup::run(&options, &DataDir::new(&settings)?),
        Command::Copy(options) => copy::run(&options, &DataDir::new(&settings)?, now),
        Command::Migrate => migrate::run(&DataDir::new(&settings)?),
        Command::Doctor(DoctorOptions { rules: Some(RuleSet::Eu), .. }) => {
            let config = Config::new(&settings)?;
            doctor::eu::run(&config, &*open_operator(&settings, false)?, now)
        }
        Command::Doctor(options) => Ok(doctor::run(&options, &settings, now)),
        Command::Config(ConfigCommand::Check) => {
            Ok(settings::check(&settings, &Config::new(&settings)?))
        }
        // These were started before, and print their own output.
        Command::Serve { .. }
        | Command::Verify(_)
        | Command::Completions(_)
        | Command::Manual(_) => Ok(Output::default()),
        #[cfg(feature = "sandbox")]
        Command::Demo(_) | Command::Sandbox(_) => Ok(Output::default()),
    }
}

/// Fetches a trusted list like the gateway with these settings.
fn fetch_list(settings: &Settings, url: &str) -> Result<Vec<u8>, String> {
    let config = Config::new(settings)?;
    let egress = work::way_out(config.fetch_allow_cidrs.clone(), config.extra_ca_file.as_deref())?;
    list_refresh::fetch_once(&egress, url)
}

/// Prints the outcome and returns its exit code. With `--json`, stdout has one object in either
/// case.
fn finish(outcome: Result<Output, Failure>, json: bool) -> ExitCode {
    let output = match outcome {
        Ok(output) => output,
        Err(failure) => return failure.report(json),
    };
    output.warnings.iter().for_each(|warning| warn(warning));
    let mut stdout = io::stdout().lock();
    let written = match &output.json {
        // The command has printed its object already.
        serde_json::Value::Null => Ok(()),
        object if json => writeln!(stdout, "{object}"),
        _ => write!(stdout, "{}", stdio::for_people(&output.text)),
    };
    match written.and_then(|()| stdout.flush()) {
        Ok(()) => ExitCode::from(output.code),
        // Secrets are shown once, so the caller must learn that they got lost.
        Err(_) => ExitCode::FAILURE,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn the_command_line_is_consistent() {
        SETTINGS.iter().fold(Cli::command(), |command, it| command.arg(flag(it))).debug_assert();
    }

    #[test]
    fn settings_are_flags_before_and_after_the_command() {
        for line in [
            "idgate --data-dir d --json client list",
            "idgate client --data-dir d list --json",
            "idgate client list --json --data-dir d",
        ] {
            let (cli, flags) = parse(words(line)).unwrap();
            assert!(cli.common.json);
            assert_eq!(flags.get("data_dir").map(String::as_str), Some("d"), "{line}");
        }
    }

    #[test]
    fn verify_keeps_its_own_client_id_flag() {
        let line = "idgate verify f --format mso_mdoc --nonce n --client-id redirect_uri:x";
        let Command::Verify(options) = parse(words(line)).unwrap().0.command else {
            panic!("another command")
        };
        assert!(format!("{options:?}").contains("redirect_uri:x"));
        let (_, flags) = parse(words("idgate serve --client-id x509_hash")).unwrap();
        assert_eq!(flags.get("client_id").map(String::as_str), Some("x509_hash"));
    }

    #[test]
    fn a_secret_is_not_accepted_as_an_argument() {
        assert!(parse(words("idgate serve --instance-key AAAA")).is_err());
        let (_, flags) = parse(words("idgate serve --instance-key-file f")).unwrap();
        assert_eq!(flags.get("instance_key_file").map(String::as_str), Some("f"));
    }

    /// One in 64 of our nonces begins with a hyphen.
    #[test]
    fn a_value_that_begins_with_a_hyphen_is_accepted() {
        let page = "idgate verify f --format mso_mdoc --nonce n --origin";
        assert!(parse(words(page).into_iter().chain([OsString::from("-A")])).is_ok());
        let good = "idgate verify f --format mso_mdoc --nonce n --client-id c";
        for option in
            ["--nonce", "--client-id", "--response-uri", "--apu", "--doc-type", "--iss", "--vct"]
        {
            for value in ["-A", "--json", "-", "--", "-0.5"] {
                let rest = good.replace(&format!("{option} n"), "").replace(" --client-id c", "");
                let rest =
                    if option == "--client-id" { rest } else { format!("{rest} --client-id c") };
                let mut line = words(rest.trim());
                line.retain(|word| !word.is_empty());
                line.extend([OsString::from(option), OsString::from(value)]);
                assert!(parse(line.clone()).is_ok(), "{line:?}");
                let (cli, _) = parse(line).unwrap();
                assert!(!cli.common.json, "{option} {value}");
                let Command::Verify(options) = cli.command else { panic!("another command") };
                assert!(format!("{options:?}").contains(&format!("{value:?}")), "{option} {value}");
            }
        }
        let note = "idgate webhook-host reject shop.example --note -not-theirs";
        assert!(parse(words(note)).is_ok());
    }

    #[test]
    fn usage_errors_are_code_2() {
        for line in [
            "idgate",
            "idgate nonsense",
            "idgate client create",
            "idgate client create x --scopes session:write",
            "idgate trust add",
            "idgate trust add i --country GER",
            "idgate trust add i --revocation maybe",
            "idgate trust add i --certificate iaca.pem",
            "idgate webhook-host",
            "idgate webhook-host approve",
            "idgate webhook-host reject shop.example",
            "idgate dead-letters",
            "idgate dead-letters retry",
            "idgate config",
            "idgate keys certificate",
        ] {
            let error = parse(words(line)).err().unwrap_or_else(|| panic!("{line}"));
            assert_eq!(error.exit_code(), 2, "{line}");
        }
        assert_eq!(parse(words("idgate --version")).err().unwrap().exit_code(), 0);
    }
}
