//! `idgate trust`

mod material;

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::time::UnixMillis;
use idgate_core::trust::RevocationPolicy;
use serde_json::{Value, json};

use super::{Failure, Output, check_name};
use crate::store::{OperatorStore, TrustChange, TrustKey, TrustRecord};

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
    /// Trust an issuer no longer
    Remove {
        /// Its name
        issuer_id: String,
    },
    /// Look for material that cannot be used and for entries that allow too much
    Check,
}

impl TrustCommand {
    /// Whether it may be the first on a data directory.
    pub const fn creates(&self) -> bool {
        matches!(self, Self::Add(_))
    }
}

/// The arguments of `trust add`.
#[derive(Args, Debug)]
pub struct AddTrust {
    /// The name that session requests use
    issuer_id: String,
    /// Issuer keys as a JWK or a JWK Set (repeatable)
    #[arg(long, value_name = "FILE")]
    jwk: Vec<PathBuf>,
    /// Issuer key as PEM (repeatable)
    #[arg(long, value_name = "FILE")]
    public_key: Vec<PathBuf>,
    /// What `iss` must be [default: ISSUER_ID when it is a URL or a DID]
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
    /// Claims that a request by ISSUER_ID alone asks for
    #[arg(long, value_delimiter = ',')]
    claims: Option<Vec<String>>,
    /// Country of the issuer, two letters
    #[arg(long, value_name = "XX", value_parser = country)]
    country: Option<String>,
    /// required, if_published or off [default: if_published]
    #[arg(long, value_name = "POLICY", value_parser = revocation)]
    revocation: Option<RevocationPolicy>,
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
    now: UnixMillis,
) -> Result<Output, Failure> {
    match command {
        TrustCommand::Add(arguments) => add(store, *arguments, now),
        TrustCommand::List => list(store),
        TrustCommand::Show { issuer_id } => show(store, &issuer_id),
        TrustCommand::Remove { issuer_id } => remove(store, &issuer_id),
        TrustCommand::Check => check(store),
    }
}

fn add(store: &mut OperatorStore, arguments: AddTrust, now: UnixMillis) -> Result<Output, Failure> {
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
    arguments.claims.iter().flatten().try_for_each(|name| check_claim(name))?;
    let change = TrustChange {
        iss: arguments.iss,
        vct: arguments.vct,
        doc_types: arguments.doc_type,
        namespaces: arguments.namespace,
        claims: arguments.claims,
        country: arguments.country,
        revocation: arguments.revocation,
        keys: material::keys(&arguments.jwk, &arguments.public_key)?,
        test_only: arguments.test,
    };
    let issuer_id = &arguments.issuer_id;
    let record = store.add_trust(issuer_id, &change, now)?.ok_or_else(|| {
        Failure::Error(format!(
            "{issuer_id} would be trusted without any key; give --jwk FILE or --public-key FILE"
        ))
    })?;
    let mut output = Output::new(to_json(&record), to_text(&record));
    output.warnings.extend(warning(&record));
    Ok(output)
}

fn list(store: &OperatorStore) -> Result<Output, Failure> {
    let records = store.trust_entries()?;
    let mut text = String::new();
    for record in &records {
        let types = if record.vct.is_empty() { "any type".into() } else { record.vct.join(", ") };
        let _ = writeln!(text, "{}  {} keys  {types}", record.issuer_id, record.keys.len());
    }
    let entries: Vec<Value> = records.iter().map(to_json).collect();
    Ok(Output::new(json!({ "entries": entries }), text))
}

fn show(store: &OperatorStore, issuer_id: &str) -> Result<Output, Failure> {
    let record = store.trust_entry(issuer_id)?.ok_or_else(|| not_found(issuer_id))?;
    Ok(Output::new(to_json(&record), to_text(&record)))
}

fn remove(store: &mut OperatorStore, issuer_id: &str) -> Result<Output, Failure> {
    if !store.remove_trust(issuer_id)? {
        return Err(not_found(issuer_id));
    }
    let json = json!({ "issuer_id": issuer_id, "removed": true });
    Ok(Output::new(json, format!("{issuer_id} is no longer trusted\n")))
}

/// Problems make the check fail; warnings are for the operator to judge.
fn check(store: &OperatorStore) -> Result<Output, Failure> {
    let records = store.trust_entries()?;
    let mut warnings: Vec<String> = records.iter().filter_map(warning).collect();
    warnings.extend(duplicates(&records));
    let problems: Vec<String> = records.iter().flat_map(problems).collect();
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
    let json = json!({ "checked": records.len(), "problems": problems, "warnings": warnings });
    let code = if problems.is_empty() { 0 } else { 3 };
    Ok(Output { json, text, warnings, code })
}

fn problems(record: &TrustRecord) -> Vec<String> {
    let unusable = |key: &&TrustKey| PROVIDER.check_key(&key.key).is_err();
    let issuer_id = &record.issuer_id;
    let keys = record.keys.iter().filter(unusable).map(|key| {
        format!("{issuer_id}: key {} is not a point on its curve; remove it", fingerprint(key))
    });
    let empty = format!("{issuer_id}: has no key and refuses everything");
    keys.chain(record.keys.is_empty().then_some(empty)).collect()
}

/// An entry that accepts more than an operator may have meant.
fn warning(record: &TrustRecord) -> Option<String> {
    record
        .vct
        .is_empty()
        .then(|| format!("{}: no --vct, so credentials of any type are accepted", record.issuer_id))
}

/// Keys that stand for more than one issuer.
fn duplicates(records: &[TrustRecord]) -> Vec<String> {
    let mut found = Vec::new();
    for (n, record) in records.iter().enumerate() {
        for other in records.iter().skip(n.saturating_add(1)) {
            for key in &record.keys {
                if other.keys.iter().any(|candidate| candidate.key == key.key) {
                    found.push(format!(
                        "{} and {} share the key {}",
                        record.issuer_id,
                        other.issuer_id,
                        fingerprint(key)
                    ));
                }
            }
        }
    }
    found
}

fn to_json(record: &TrustRecord) -> Value {
    let keys: Vec<Value> = record
        .keys
        .iter()
        .map(|key| {
            json!({
                "alg": key.key.alg().name(),
                "kid": key.kid,
                "sha256": fingerprint(key),
                "test_only": key.test_only,
                "added_at": key.added_at.to_string(),
            })
        })
        .collect();
    json!({
        "issuer_id": record.issuer_id,
        "iss": record.entry().iss,
        "vct": record.vct,
        "doc_types": record.doc_types,
        "namespaces": record.namespaces,
        "claims": record.claims,
        "country": record.country,
        "revocation": record.revocation.name(),
        "keys": keys,
    })
}

fn to_text(record: &TrustRecord) -> String {
    let mut text = format!("{}\n", record.issuer_id);
    let iss = record.entry().iss;
    let _ = writeln!(text, "  iss: {}", iss.as_deref().unwrap_or("not compared"));
    for (what, list) in [
        ("vct", &record.vct),
        ("doc_types", &record.doc_types),
        ("namespaces", &record.namespaces),
        ("claims", &record.claims),
    ] {
        if !list.is_empty() {
            let _ = writeln!(text, "  {what}: {}", list.join(", "));
        }
    }
    if let Some(country) = &record.country {
        let _ = writeln!(text, "  country: {country}");
    }
    let _ = writeln!(text, "  revocation: {}", record.revocation.name());
    for key in &record.keys {
        let mode = if key.test_only { "test only" } else { "live and test" };
        let kid = key.kid.as_deref().map(|kid| format!(", kid {kid}")).unwrap_or_default();
        let alg = key.key.alg().name();
        let _ = writeln!(text, "  key: {alg} {}, {mode}{kid}", fingerprint(key));
    }
    text
}

/// Hex of the SHA-256 of the key's SubjectPublicKeyInfo.
fn fingerprint(key: &TrustKey) -> String {
    let der = key.key.spki_der();
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, &der);
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn not_found(issuer_id: &str) -> Failure {
    Failure::NotFound(format!(
        "there is no trust entry {issuer_id}; `idgate trust list` shows them all"
    ))
}

/// Another name could never be requested.
fn check_claim(name: &str) -> Result<(), Failure> {
    if name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return Ok(());
    }
    Err(Failure::Usage(format!("--claims {name}: claim names match ^[A-Za-z0-9_]+$")))
}

fn country(text: &str) -> Result<String, String> {
    if text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return Ok(text.to_ascii_uppercase());
    }
    Err("must be two letters, as DE".into())
}

fn revocation(text: &str) -> Result<RevocationPolicy, String> {
    RevocationPolicy::from_name(text).ok_or_else(|| "must be required, if_published or off".into())
}

#[cfg(test)]
mod tests;
