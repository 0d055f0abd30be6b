//! `idgate trust`

mod check;
mod list_check;
mod list_refresh;
mod list_show;
mod listed;
mod lotl;
mod lotl_show;
mod material;
mod on_unknown;
mod preset;
mod remove;
mod show;
mod x509;

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use idgate_core::shell::Oid;
use idgate_core::shell::limits::MAX_CLAIMS;
use idgate_core::trust::{DeviceResponseDocuments, OnUnknownRevocation, RevocationPolicy};
use idgate_core::{ClaimPath, UnixMillis};
use serde_json::{Value, json};

use self::listed::ListOptions;
use self::preset::Preset;
pub use self::preset::eu_av;
use self::show::{to_json, to_text};
use self::x509::X509Options;
use crate::admin::output::{Output, Rows, check_name};
use crate::failure::Failure;
use idgate_store::{OperatorStore, TrustChange, TrustRecord};

/// Commands on the trust store.
#[derive(Debug, Subcommand)]
pub enum TrustCommand {
    /// Trust an issuer, add material to it, or replace its attributes
    Add(Box<AddTrust>),
    /// List trusted issuers
    List,
    /// Show one trusted issuer
    Show {
        /// Its name
        issuer_id: String,
    },
    /// Remove a trusted issuer, or one of its keys, roots, signers, lists or CRLs
    Remove {
        /// Its name
        issuer_id: String,
        /// Remove only the material with this hash, which `trust show` prints; the rest of the
        /// entry stays
        #[arg(long, value_name = "HEX", value_parser = remove::sha256)]
        sha256: Option<[u8; 32]>,
    },
    /// Fetch trusted lists now
    Refresh {
        /// The entry whose lists are fetched [default: all]
        issuer_id: Option<String>,
        /// Accept a list even if a newer one was seen
        #[arg(long)]
        accept_rollback: bool,
    },
    /// Look for material that cannot be used and for entries that allow too much
    Check,
}

/// Fetches a trusted list. The error says why it cannot be fetched.
pub type Fetch<'f> = dyn Fn(&str) -> Result<Vec<u8>, String> + 'f;

impl TrustCommand {
    /// Whether the command may be the first one in a data directory.
    pub const fn creates(&self) -> bool {
        matches!(self, Self::Add(_))
    }
}

/// The arguments of `trust add`.
#[derive(Args, Debug)]
pub struct AddTrust {
    /// The name that session requests use
    issuer_id: String,
    /// eu-av: the European proof of age. It sets --doc-type and --namespace eu.europa.ec.av.1,
    /// --claims age_over_18 and --revocation if_published in a new entry; an option that is given
    /// replaces the preset's
    #[arg(long, value_name = "NAME")]
    preset: Option<Preset>,
    /// Issuer keys as a JWK or a JWK Set (repeatable)
    #[arg(long, value_name = "FILE")]
    jwk: Vec<PathBuf>,
    /// Issuer key as PEM (repeatable)
    #[arg(long, value_name = "FILE")]
    public_key: Vec<PathBuf>,
    #[command(flatten)]
    x509: X509Options,
    #[command(flatten)]
    listed: ListOptions,
    /// Required value of `iss` [default: ISSUER_ID when it is a URL or a DID]
    #[arg(long)]
    iss: Option<String>,
    /// Accepted credential type (repeatable) [default: any]
    #[arg(long)]
    vct: Option<Vec<String>>,
    /// Accepted mdoc document type (repeatable)
    #[arg(long)]
    doc_type: Option<Vec<String>>,
    /// mdoc namespace that requests may leave unnamed (repeatable)
    #[arg(long)]
    namespace: Option<Vec<String>>,
    /// Claims that are asked for if a request gives only ISSUER_ID
    #[arg(long, value_delimiter = ',')]
    claims: Option<Vec<String>>,
    /// Extended key usage of document signers (repeatable) [default: 1.0.18013.5.1.2]
    #[arg(long, value_name = "OID", value_parser = eku)]
    eku: Option<Vec<Oid>>,
    /// Extended key usage of SD-JWT VC issuers: a certificate must have one of those given;
    /// 2.5.29.37.0 accepts certificates for any purpose or without the extension (repeatable)
    /// [default: any, except certificates that are only for other purposes, for example serverAuth]
    #[arg(long, value_name = "OID", value_parser = eku)]
    sd_jwt_eku: Option<Vec<Oid>>,
    /// Country of the issuer, two letters; only roots of this country are used
    #[arg(long, value_name = "XX", value_parser = country)]
    country: Option<String>,
    /// required, if_published or off [default: if_published]
    #[arg(long, value_name = "POLICY", value_parser = revocation)]
    revocation: Option<RevocationPolicy>,
    /// Treatment of a credential whose status list cannot be fetched: refuse it, accept it, or let
    /// the tenant's request choose (tenant); not with --revocation required [default: refuse]
    #[arg(long, value_name = "CHOICE", value_parser = on_unknown::choice)]
    on_unknown_revocation: Option<OnUnknownRevocation>,
    /// Days for which a status list token without `exp` is valid after its `iat` [default: 7]
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=3650))]
    status_max_age: Option<u32>,
    /// Test-mode sessions accept an mDL whose issuing_country is not its signer's; results say so
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    issuing_country_unbound: Option<bool>,
    /// The path of an SD-JWT VC claim in 1.0 and haip, for example 'city=["address","locality"]' or
    /// 'nationalities=["nationalities",null]' (repeatable) [default: the name itself]
    #[arg(long, value_name = "NAME=JSON", value_parser = claim_path)]
    claim_path: Option<Vec<(String, ClaimPath)>>,
    /// Queries of 1.0 and haip name the entry's roots, so that wallets look only below them
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    aki: Option<bool>,
    /// How many documents an mdoc's DeviceResponse may have in 1.0 and haip: one or any
    /// [default: one]
    #[arg(long, value_name = "COUNT", value_parser = documents)]
    device_response_documents: Option<DeviceResponseDocuments>,
    /// The material serves test-mode sessions only
    #[arg(long)]
    test: bool,
}

/// Carries out `command`.
///
/// # Errors
/// Nothing was changed; the failure says why.
pub fn run(
    command: TrustCommand,
    store: &mut OperatorStore,
    fetch: &Fetch<'_>,
    now: UnixMillis,
) -> Result<Output, Failure> {
    match command {
        TrustCommand::Add(arguments) => add(store, *arguments, fetch, now),
        TrustCommand::Refresh { issuer_id, accept_rollback } => {
            list_refresh::run(store, issuer_id.as_deref(), accept_rollback, fetch, now)
        }
        TrustCommand::List => list(store, now),
        TrustCommand::Show { issuer_id } => show(store, &issuer_id, now),
        TrustCommand::Remove { issuer_id, sha256: None } => remove::entry(store, &issuer_id, now),
        TrustCommand::Remove { issuer_id, sha256: Some(sha256) } => {
            remove::material(store, &issuer_id, &sha256, now)
        }
        TrustCommand::Check => check(store, now),
    }
}

fn add(
    store: &mut OperatorStore,
    arguments: AddTrust,
    fetch: &Fetch<'_>,
    now: UnixMillis,
) -> Result<Output, Failure> {
    check_name("ISSUER_ID", &arguments.issuer_id, 512)?;
    for (what, names) in [
        ("--vct", &arguments.vct),
        ("--doc-type", &arguments.doc_type),
        ("--namespace", &arguments.namespace),
        ("--claims", &arguments.claims),
    ] {
        names.iter().flatten().try_for_each(|name| check_name(what, name, 512))?;
    }
    arguments.iss.iter().try_for_each(|iss| check_name("--iss", iss, 512))?;
    arguments.claims.iter().flatten().try_for_each(|name| check_claim("--claims", name))?;
    check_claim_paths(arguments.claim_path.as_deref().unwrap_or_default())?;
    let mut change = TrustChange {
        iss: arguments.iss,
        vct: arguments.vct,
        doc_types: arguments.doc_type,
        namespaces: arguments.namespace,
        claims: arguments.claims,
        country: arguments.country,
        revocation: arguments.revocation,
        on_unknown_revocation: arguments.on_unknown_revocation,
        status_max_age_days: arguments.status_max_age,
        issuing_country_unbound: arguments.issuing_country_unbound,
        claim_paths: arguments.claim_path,
        aki: arguments.aki,
        device_response_documents: arguments.device_response_documents,
        keys: material::keys(&arguments.jwk, &arguments.public_key)?,
        ekus: arguments.eku,
        sd_jwt_ekus: arguments.sd_jwt_eku,
        test_only: arguments.test,
        ..TrustChange::default()
    };
    let issuer_id = &arguments.issuer_id;
    let before = store.trust_entry(issuer_id)?;
    // The operator chose the values of an existing entry, so a preset does not change them.
    if let (Some(preset), None) = (arguments.preset, &before) {
        preset.fill(&mut change);
    }
    on_unknown::check(&change, before.as_ref())?;
    let skipped = arguments.x509.read(&mut change, now)?;
    x509::check_samples(&change)?;
    let allow_stale = arguments.x509.allows_stale();
    let entry = (issuer_id.as_str(), before.as_ref());
    let listed = arguments.listed.with_preset(arguments.preset);
    listed.read(&mut change, entry, allow_stale, fetch, now)?;
    let record = store.add_trust(issuer_id, &change, now)?.ok_or_else(|| {
        Failure::Error(format!(
            "{issuer_id} would be trusted without any key or root; give --jwk, --sd-jwt-root, --root or \
             another option that names material"
        ))
    })?;
    let mut output = Output::new(to_json(&record, now), to_text(&record, now));
    let report = |list| x509::report(list, before.as_ref(), &record);
    let mut reports: Vec<Value> = change.lists.iter().map(report).collect();
    let mut told: String = reports.iter().map(x509::report_text).collect();
    if let Some((report, text)) = change.trusted_list.as_ref().and(list_show::report(&record)) {
        reports.push(report);
        told.push_str(&text);
        output.warnings.extend(list_check::warnings(&record, now));
    }
    if !reports.is_empty() {
        output.text = told;
        if let Value::Object(members) = &mut output.json {
            members.insert("imports".into(), Value::Array(reports));
        }
    }
    if !skipped.is_empty()
        && let Value::Object(members) = &mut output.json
    {
        members.insert("skipped".into(), skipped.iter().map(x509::Skipped::to_json).collect());
    }
    output.warnings.extend(skipped.iter().map(ToString::to_string));
    output.warnings.extend(check::without_vct(&record));
    output.warnings.extend(check::refused_sd_jwt_signers(&record));
    if !change.crls.is_empty() {
        output.warnings.extend(check::unnumbered_crls(&record));
    }
    Ok(output)
}

fn list(store: &OperatorStore, now: UnixMillis) -> Result<Output, Failure> {
    let mut rows = Rows::default();
    for record in &store.trust_entries()? {
        let types = match (record.vct.as_slice(), &record.trusted_list) {
            ([], None) => "any type".into(),
            ([], Some(_)) => "no type".into(),
            (named, _) => named.join(", "),
        };
        let line = format!(
            "{}  {} keys  {} roots  {} pinned signers  {} CRLs  {types}",
            record.issuer_id,
            record.keys.len(),
            record.roots.len().saturating_add(record.sd_jwt_roots.len()),
            record.pinned_signers.len().saturating_add(record.sd_jwt_signers.len()),
            record.crls.len()
        );
        rows.add(line, to_json(record, now));
    }
    Ok(rows.into_output("entries"))
}

fn show(store: &OperatorStore, issuer_id: &str, now: UnixMillis) -> Result<Output, Failure> {
    let record = store.trust_entry(issuer_id)?.ok_or_else(|| not_found(issuer_id))?;
    Ok(Output::new(to_json(&record, now), to_text(&record, now)))
}

/// Returns the problems and the warnings of a trust store.
pub(super) fn judge(records: &[TrustRecord], now: UnixMillis) -> (Vec<String>, Vec<String>) {
    let problems = records.iter().flat_map(|record| check::problems(record, now)).collect();
    let warnings = records.iter().flat_map(|record| check::warnings(record, now));
    let nothing =
        records.is_empty().then(|| "there is no entry, so everything is refused".to_owned());
    (problems, warnings.chain(check::duplicates(records)).chain(nothing).collect())
}

/// Runs `trust check`. Problems make the check fail; the operator judges the warnings.
fn check(store: &OperatorStore, now: UnixMillis) -> Result<Output, Failure> {
    let records = store.trust_entries()?;
    let (problems, warnings) = judge(&records, now);
    let mut text = String::new();
    for problem in &problems {
        let _ = writeln!(text, "problem: {problem}");
    }
    let _ = writeln!(
        text,
        "{} entries, {} problems, {} warnings",
        records.len(),
        problems.len(),
        warnings.len()
    );
    let notes: Vec<String> = records.iter().flat_map(check::notes).collect();
    for note in &notes {
        let _ = writeln!(text, "note: {note}");
    }
    let json = json!({
        "checked": records.len(),
        "problems": problems,
        "warnings": warnings,
        "notes": notes,
    });
    let output = Output { warnings, ..Output::new(json, text) };
    Ok(output.failed_if(!problems.is_empty()))
}

fn not_found(issuer_id: &str) -> Failure {
    Failure::NotFound(format!(
        "there is no trust entry {issuer_id}; `idgate trust list` shows them all"
    ))
}

/// Refuses a claim name that no request could contain.
fn check_claim(option: &str, name: &str) -> Result<(), Failure> {
    if !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return Ok(());
    }
    Err(Failure::Usage(format!("{option} {name}: claim names match ^[A-Za-z0-9_]+$")))
}

fn check_claim_paths(paths: &[(String, ClaimPath)]) -> Result<(), Failure> {
    for (at, (name, _)) in paths.iter().enumerate() {
        check_claim("--claim-path", name)?;
        check_name("--claim-path", name, 255)?;
        if paths.iter().take(at).any(|(other, _)| other == name) {
            return Err(Failure::Usage(format!("--claim-path {name}: is given twice")));
        }
    }
    if paths.len() > MAX_CLAIMS {
        return Err(Failure::Usage(format!("--claim-path: is given more than {MAX_CLAIMS} times")));
    }
    Ok(())
}

fn claim_path(text: &str) -> Result<(String, ClaimPath), String> {
    let (name, path) = text.split_once('=').ok_or("must be a claim name, = and a JSON array")?;
    Ok((name.to_owned(), ClaimPath::from_json(path)?))
}

fn country(text: &str) -> Result<String, String> {
    if text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return Ok(text.to_ascii_uppercase());
    }
    Err("must be two letters, for example DE".into())
}

fn revocation(text: &str) -> Result<RevocationPolicy, String> {
    RevocationPolicy::from_name(text).ok_or_else(|| "must be required, if_published or off".into())
}

fn documents(text: &str) -> Result<DeviceResponseDocuments, String> {
    DeviceResponseDocuments::from_name(text).ok_or_else(|| "must be one or any".into())
}

fn eku(text: &str) -> Result<Oid, String> {
    Oid::parse(text).ok_or_else(|| "must be an object identifier like 1.0.18013.5.1.2".into())
}

#[cfg(test)]
mod tests;
