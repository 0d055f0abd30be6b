//! `idgate client verifier-info`

use std::path::{Path, PathBuf};

use clap::Subcommand;
use idgate_core::{RegistrationCertificate, UnixMillis};
use serde_json::json;

use super::no_such_client;
use crate::admin::files::{in_file, read_at_most};
use crate::admin::output::Output;
use crate::failure::Failure;
use crate::limits::MAX_KEY_FILE_BYTES;
use idgate_store::{CertificateRecord, OperatorStore};

/// Commands on what others attest of a client, for wallets.
#[derive(Debug, Subcommand)]
pub enum VerifierInfoCommand {
    /// Keep a registration certificate, which goes to wallets with each request
    Add {
        /// The client's id
        id: String,
        /// The compact JWT
        file: PathBuf,
        /// What it is
        #[arg(long, default_value = "registration_cert", value_parser = ["registration_cert"])]
        format: String,
        /// Refuse sessions that ask for more than it allows; without it they are logged
        #[arg(long)]
        strict: bool,
    },
    /// Forget it
    Remove {
        /// The client's id
        id: String,
    },
}

/// Carries out `command`.
///
/// # Errors
/// Nothing was changed; the failure says why.
pub(super) fn run(
    command: &VerifierInfoCommand,
    store: &mut OperatorStore,
    now: UnixMillis,
) -> Result<Output, Failure> {
    match command {
        VerifierInfoCommand::Add { id, file, strict, .. } => add(store, id, file, *strict, now),
        VerifierInfoCommand::Remove { id } => remove(store, id),
    }
}

fn add(
    store: &mut OperatorStore,
    id: &str,
    file: &Path,
    strict: bool,
    now: UnixMillis,
) -> Result<Output, Failure> {
    store.client_settings(id)?.ok_or_else(|| no_such_client(id))?;
    let shown = file.display();
    let text = String::from_utf8(read_at_most(file, MAX_KEY_FILE_BYTES)?)
        .map_err(|_| in_file(file, "is not text"))?;
    let records = store.certificates(None)?;
    let access = CertificateRecord::signing_for(&records, id);
    let party = access.and_then(|record| record.certificate.organization_identifier.as_deref());
    let certificate = RegistrationCertificate::import(&text, party, now)
        .map_err(|error| Failure::Error(format!("{shown} {error}")))?;
    store.set_registration(id, &certificate, strict, now)?;
    let until = certificate.expires_at.map(|end| end.to_string());
    let json = json!({
        "client_id": id, "format": "registration_cert", "subject": certificate.subject,
        "expires_at": until, "strict": strict,
    });
    let until = until.map_or_else(String::new, |until| format!(" until {until}"));
    let text = format!("{id} is registered as {}{until}\n", certificate.subject);
    let mut output = Output::new(json, text);
    if party.is_none() {
        output.warnings.push(
            "its sub was compared with nothing: there is no access certificate with an \
             organizationIdentifier; `idgate keys list` shows what there is"
                .into(),
        );
    }
    Ok(output)
}

fn remove(store: &mut OperatorStore, id: &str) -> Result<Output, Failure> {
    store.client_settings(id)?.ok_or_else(|| no_such_client(id))?;
    if !store.remove_registration(id)? {
        return Err(Failure::NotFound(format!("{id} has no registration certificate")));
    }
    let json = json!({ "client_id": id, "removed": true });
    Ok(Output::new(json, format!("{id} has no registration certificate any more\n")))
}
