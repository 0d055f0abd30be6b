//! `idgate client verifier-info`

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use idgate_core::{RegistrationCertificate, UnixMillis};
use serde_json::{Value, json};

use super::no_such_client;
use crate::admin::files::{in_file, read_at_most};
use crate::admin::output::{Output, Rows, on_one_line};
use crate::failure::Failure;
use crate::limits::MAX_KEY_FILE_BYTES;
use idgate_store::gateway_key::Registration;
use idgate_store::{
    CertificateRecord, KeptRegistration, MAX_REGISTRATIONS, NewRegistration, OperatorStore,
    RemovedRegistration,
};

/// Commands on a client's registration certificates.
#[derive(Debug, Subcommand)]
pub enum VerifierInfoCommand {
    /// Add a registration certificate, which is sent to wallets with each request for its use
    Add(AddArgs),
    /// List registration certificates
    List {
        /// The client's id
        id: String,
    },
    /// Remove one. The default can only be removed last
    Remove {
        /// The client's id
        id: String,
        /// The one for this use, if there are several
        #[arg(long, value_name = "NAME")]
        intended_use: Option<String>,
    },
}

/// The options of `idgate client verifier-info add`.
#[derive(Args, Debug)]
pub struct AddArgs {
    /// The client's id
    id: String,
    /// The compact JWT
    file: PathBuf,
    /// Its format
    #[arg(long, default_value = "registration_cert", value_parser = ["registration_cert"])]
    format: String,
    /// Its name in sessions, of a-z, 0-9, _ and -; replaces the one of the same name. Without it,
    /// replaces the default
    #[arg(long, value_name = "NAME", value_parser = intended_use)]
    intended_use: Option<String>,
    /// Send it with sessions that name no use; the first one is always the default
    #[arg(long)]
    default: bool,
    /// Refuse sessions that ask for more than it allows; without it they are logged
    #[arg(long)]
    strict: bool,
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
        VerifierInfoCommand::Add(args) => add(store, args, now),
        VerifierInfoCommand::List { id } => list(store, id, now),
        VerifierInfoCommand::Remove { id, intended_use } => {
            remove(store, id, intended_use.as_deref())
        }
    }
}

fn add(store: &mut OperatorStore, args: &AddArgs, now: UnixMillis) -> Result<Output, Failure> {
    let id = args.id.as_str();
    store.client_settings(id)?.ok_or_else(|| no_such_client(id))?;
    let text = String::from_utf8(read_at_most(&args.file, MAX_KEY_FILE_BYTES)?)
        .map_err(|_| in_file(&args.file, "is not text"))?;
    let records = store.certificates(None)?;
    let access = CertificateRecord::signing_for(&records, id);
    let certificate = checked(&text, access, &args.file, now)?;
    let new = NewRegistration {
        client_id: id,
        intended_use: args.intended_use.as_deref(),
        as_default: args.default,
        certificate: &certificate,
        strict: args.strict,
    };
    let (intended_use, is_default) = match store.keep_registration(&new, now)? {
        KeptRegistration::Yes { intended_use, is_default } => (intended_use, is_default),
        _ => {
            return Err(Failure::Error(format!(
                "{id} already has {MAX_REGISTRATIONS} registration certificates; remove one first"
            )));
        }
    };
    let until = certificate.expires_at.map(|end| end.to_string());
    let json = json!({
        "client_id": id, "format": "registration_cert", "intended_use": intended_use,
        "default": is_default, "subject": certificate.subject, "service": certificate.service(),
        "expires_at": until, "strict": args.strict,
    });
    let until = until.map_or_else(String::new, |until| format!(" until {until}"));
    let subject = on_one_line(&certificate.subject);
    let text = format!("{id} is registered as {subject}{until}, for {intended_use}\n");
    let mut output = Output::new(json, text);
    output.warnings.extend(not_compared(&certificate, access));
    Ok(output)
}

/// The certificate in a file, checked against this access certificate.
fn checked(
    text: &str,
    access: Option<&CertificateRecord>,
    file: &Path,
    now: UnixMillis,
) -> Result<RegistrationCertificate, Failure> {
    let party = access.and_then(|record| record.certificate.organization_identifier.as_deref());
    let services = access.map_or(&[][..], |record| &record.certificate.services);
    let certificate = RegistrationCertificate::import(text, party, now);
    let certificate = certificate.and_then(|it| it.check_service(services).map(|()| it));
    certificate.map_err(|error| Failure::Error(format!("{} {error}", file.display())))
}

/// Warns of members that could not be compared.
fn not_compared(
    certificate: &RegistrationCertificate,
    access: Option<&CertificateRecord>,
) -> Vec<String> {
    let mut warnings = Vec::new();
    let access = access.map(|record| &record.certificate);
    if access.is_none_or(|access| access.organization_identifier.is_none()) {
        warnings.push(
            "its sub was not compared: there is no access certificate with an \
             organizationIdentifier; `idgate keys list` lists the certificates"
                .into(),
        );
    }
    if certificate.service().is_some() && access.is_none_or(|access| access.services.is_empty()) {
        warnings.push(
            "its srv_id was not compared: there is no access certificate with an \
             organizational unit"
                .into(),
        );
    }
    warnings
}

fn list(store: &OperatorStore, id: &str, now: UnixMillis) -> Result<Output, Failure> {
    store.client_settings(id)?.ok_or_else(|| no_such_client(id))?;
    let mut rows = Rows::default();
    for own in store.registrations()?.iter().filter(|own| own.client_id == id) {
        rows.add(line(own, now), row(own, now));
    }
    Ok(rows.into_output("registrations"))
}

fn line(own: &Registration, now: UnixMillis) -> String {
    let certificate = &own.certificate;
    let default = if own.is_default { "  default" } else { "" };
    let strict = if own.strict { "  strict" } else { "" };
    let state = match certificate.expires_at {
        None => "in force".to_owned(),
        Some(end) if certificate.is_valid_at(now) => format!("in force until {end}"),
        Some(end) => format!("expired at {end}"),
    };
    let subject = on_one_line(&certificate.subject);
    format!("{}  {subject}  {state}{default}{strict}", own.intended_use)
}

fn row(own: &Registration, now: UnixMillis) -> Value {
    let certificate = &own.certificate;
    json!({
        "intended_use": own.intended_use,
        "default": own.is_default,
        "strict": own.strict,
        "subject": certificate.subject,
        "service": certificate.service(),
        "intended_use_id": certificate.intended_use_id(),
        "expires_at": certificate.expires_at.map(|end| end.to_string()),
        "in_force": certificate.is_valid_at(now),
    })
}

fn remove(
    store: &mut OperatorStore,
    id: &str,
    intended_use: Option<&str>,
) -> Result<Output, Failure> {
    store.client_settings(id)?.ok_or_else(|| no_such_client(id))?;
    let name = match store.remove_registration(id, intended_use)? {
        RemovedRegistration::Yes(name) => name,
        RemovedRegistration::Several(names) => {
            return Err(Failure::Usage(format!(
                "{id} has several registration certificates; add --intended-use with one of: {}",
                names.join(", ")
            )));
        }
        RemovedRegistration::IsDefault(others) => {
            return Err(Failure::Error(format!(
                "it is the default, which sessions that name no use send; add another one of {id} with \
                 --default first, or remove the others first: {}",
                others.join(", ")
            )));
        }
        _ => {
            let of_that = intended_use.map_or_else(String::new, |name| format!(" for {name}"));
            return Err(Failure::NotFound(format!(
                "{id} has no registration certificate{of_that}; `idgate client verifier-info list \
                 {id}` lists them"
            )));
        }
    };
    let json = json!({ "client_id": id, "intended_use": name, "removed": true });
    Ok(Output::new(json, format!("removed the registration certificate of {id} for {name}\n")))
}

/// A name for a use.
fn intended_use(name: &str) -> Result<String, String> {
    let is_good = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-');
    if (1..=64).contains(&name.len()) && name.bytes().all(is_good) {
        return Ok(name.to_owned());
    }
    Err("write 1 to 64 characters of a-z, 0-9, _ and -".into())
}
