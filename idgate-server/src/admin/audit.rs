//! `idgate audit`

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter};
use std::path::{Path, PathBuf};

use clap::Subcommand;
use idgate_core::UnixMillis;
use serde::Deserialize;
use serde_json::json;

use crate::admin::output::Output;
use crate::failure::Failure;
use idgate_store::audit_chain::{Breach, SignedCheckpoint};
use idgate_store::{AuditReport, ExportError, OperatorStore};

/// Commands on the audit log.
#[derive(Debug, Subcommand)]
pub enum AuditCommand {
    /// Check for any change, cut, gap or rewrite; exit code 3 if there is one
    Verify {
        /// Only this client's chain
        #[arg(long, value_name = "ID")]
        client: Option<String>,
        /// Checkpoints that were kept elsewhere, or an earlier export [default:
        /// IDGATE_AUDIT_CHECKPOINT_FILE, if it exists]
        #[arg(long, value_name = "FILE")]
        checkpoints: Option<PathBuf>,
    },
    /// Sign a checkpoint per chain, and print all entries and checkpoints as JSON
    Export {
        /// Only this client's chain
        #[arg(long, value_name = "ID")]
        client: Option<String>,
    },
}

/// Carries out `command`. `checkpoint_file`: the one in the settings.
///
/// # Errors
/// The log could not be read; the failure says why.
pub fn run(
    command: AuditCommand,
    store: &mut OperatorStore,
    checkpoint_file: Option<&Path>,
    now: UnixMillis,
) -> Result<Output, Failure> {
    match command {
        AuditCommand::Verify { client, checkpoints } => {
            let kept = match (&checkpoints, checkpoint_file) {
                (Some(given), _) => read_checkpoints(given, true)?,
                (None, Some(set)) if set.exists() => read_checkpoints(set, false)?,
                (None, set) => Kept { missing: set.map(Path::to_owned), ..Kept::default() },
            };
            verify(store, client.as_deref(), &kept)
        }
        AuditCommand::Export { client } => export(store, client.as_deref(), now),
    }
}

fn verify(store: &mut OperatorStore, client: Option<&str>, kept: &Kept) -> Result<Output, Failure> {
    let report = store.verify_audit(client, &kept.checkpoints)?;
    let nothing = report.chains == 0 && report.breaches.is_empty();
    if let Some(client) = client.filter(|_| nothing) {
        return Err(no_chain(client));
    }
    let AuditReport { chains, entries, removed, checkpoints, breaches } = &report;
    let mut text = breaches.iter().fold(String::new(), |mut text, breach| {
        let whose = breach.client_id.as_deref().unwrap_or("all chains");
        let _ = writeln!(text, "{whose}: entry {}: {}", breach.seq, breach.damage.as_str());
        text
    });
    let verdict = if breaches.is_empty() { "intact" } else { "NOT INTACT" };
    let gone = if *removed > 0 { format!(" ({removed} older removed)") } else { String::new() };
    let _ = writeln!(
        text,
        "{verdict}: {chains} chains, {entries} entries{gone}, {checkpoints} checkpoints"
    );
    let json = json!({
        "intact": breaches.is_empty(),
        "chains": chains,
        "entries": entries,
        "removed": removed,
        "checkpoints": checkpoints,
        "findings": breaches.iter().map(finding).collect::<Vec<_>>(),
    });
    let output = Output { warnings: kept.warnings(), ..Output::new(json, text) };
    Ok(output.failed_if(!breaches.is_empty()))
}

fn finding(breach: &Breach) -> serde_json::Value {
    let Breach { client_id, seq, damage } = breach;
    json!({ "client_id": client_id, "seq": seq, "class": damage.as_str() })
}

/// Prints while it reads, because a log may be larger than memory. The output is then empty.
fn export(
    store: &mut OperatorStore,
    client: Option<&str>,
    now: UnixMillis,
) -> Result<Output, Failure> {
    let mut output = Output::default();
    if let Err(error) = store.sign_audit(now) {
        output.warnings.push(format!("no new checkpoints: {error}"));
    }
    let mut stdout = BufWriter::new(io::stdout().lock());
    match store.export_audit(client, &mut stdout) {
        Ok(true) => Ok(output),
        Ok(false) => Err(no_chain(client.unwrap_or_default())),
        Err(ExportError::Store(error)) => Err(error.into()),
        Err(ExportError::Output(error)) => {
            Err(Failure::Error(format!("the export could not be written: {error}")))
        }
    }
}

fn no_chain(client: &str) -> Failure {
    Failure::NotFound(format!(
        "there is no audit log of {client}; `idgate client list` lists all clients"
    ))
}

/// Checkpoints from outside the data directory.
#[derive(Default)]
struct Kept {
    checkpoints: Vec<SignedCheckpoint>,
    /// Lines that a crash has cut.
    cut: Vec<usize>,
    /// The first line that is not a checkpoint for another reason.
    damaged: Option<usize>,
    missing: Option<PathBuf>,
}

impl Kept {
    fn warnings(&self) -> Vec<String> {
        let missing = self.missing.iter().map(|path| {
            format!("{} does not exist, so a rollback would not be detected", path.display())
        });
        let lines = self.cut.iter();
        let lines =
            lines.map(|line| format!("line {line} of the checkpoint file is not a checkpoint"));
        missing.chain(lines).collect()
    }
}

/// The part of the output of `audit export` that is compared.
#[derive(Deserialize)]
struct Export {
    checkpoints: Vec<SignedCheckpoint>,
}

/// `asked`: the operator named this file, so it must have checkpoints.
fn read_checkpoints(path: &Path, asked: bool) -> Result<Kept, Failure> {
    let cannot = |error: io::Error| {
        Failure::Error(format!("{} cannot be read: {error}; see --checkpoints", path.display()))
    };
    let open = || File::open(path).map(BufReader::new).map_err(cannot);
    // Not read as a whole, because an export may be larger than memory.
    let kept = match serde_json::from_reader::<_, Export>(open()?) {
        Ok(Export { checkpoints }) => Kept { checkpoints, ..Kept::default() },
        Err(_) => in_lines(open()?).map_err(cannot)?,
    };
    let is_damaged = kept.damaged.is_some() || !kept.cut.is_empty();
    if kept.checkpoints.is_empty() && (asked || is_damaged) {
        return Err(Failure::Error(format!(
            "{} has no readable checkpoint, so nothing can be compared with it: use the file that \
             the server wrote (IDGATE_AUDIT_CHECKPOINT_FILE) or an earlier output of `idgate audit \
             export`, or leave --checkpoints out",
            path.display()
        )));
    }
    if let Some(line) = kept.damaged {
        return Err(Failure::Error(format!(
            "line {line} of {} is not a checkpoint, and not a line that a crash cut off, so the \
             log cannot be compared with this file: use a complete copy of it, or an earlier \
             output of `idgate audit export`; if you have neither, remove the line and compare \
             with the other lines",
            path.display()
        )));
    }
    Ok(kept)
}

/// Reads a file with a checkpoint on each line. A crash leaves the beginning of one, after which a
/// server appends more; any other line that is not a checkpoint may hide a rollback.
fn in_lines(file: impl BufRead) -> io::Result<Kept> {
    let mut kept = Kept::default();
    for (number, line) in (1_usize..).zip(file.split(b'\n')) {
        let line = line?;
        if line.trim_ascii().is_empty() {
            continue;
        }
        match serde_json::from_slice(&line) {
            Ok(checkpoint) => kept.checkpoints.push(checkpoint),
            Err(error) if error.is_eof() => kept.cut.push(number),
            Err(_) if kept.damaged.is_none() => kept.damaged = Some(number),
            Err(_) => {}
        }
    }
    Ok(kept)
}
