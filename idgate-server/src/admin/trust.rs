//! `idgate trust`: whose credentials count, and for what (decisions 3).

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use idgate_core::codec::json::Tape;
use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::crypto::{HashAlg, Jwk, PublicKey};
use idgate_core::time::UnixMillis;
use idgate_core::trust::RevocationPolicy;
use serde_json::{Value, json};

use super::{Failure, Printed, exit, open};
use crate::config::Config;
use crate::store::{TrustChange, TrustRecord};

/// The commands about issuers.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Make an entry, or add material to it and replace named attributes.
    Add(Box<AddOptions>),
    /// List all entries.
    List,
    /// Show one entry.
    Show {
        /// Its name.
        issuer_id: String,
    },
    /// Remove an entry with its material.
    Remove {
        /// Its name.
        issuer_id: String,
    },
    /// Look for what is missing, doubled or too wide.
    Check,
}

/// The options of `idgate trust add`.
#[derive(Args, Clone, Debug)]
pub struct AddOptions {
    /// The name that requests use, as https://issuer.example.
    issuer_id: String,
    /// An issuer key: a JWK or a JWK set. Repeatable.
    #[arg(long, value_name = "FILE")]
    jwk: Vec<PathBuf>,
    /// An issuer key: a PEM public key. Repeatable.
    #[arg(long, value_name = "FILE.pem")]
    public_key: Vec<PathBuf>,
    /// The value that `iss` must have; default: the name, when it is a URL or a DID.
    #[arg(long, value_name = "VALUE")]
    iss: Option<String>,
    /// An accepted credential type. Repeatable; without any, every type of this issuer counts.
    #[arg(long, value_name = "TYPE")]
    vct: Vec<String>,
    /// An accepted mdoc document type. Repeatable.
    #[arg(long, value_name = "TYPE")]
    doc_type: Vec<String>,
    /// An mdoc namespace that requests may leave unnamed. Repeatable.
    #[arg(long, value_name = "NAME")]
    namespace: Vec<String>,
    /// The claims that the short request form asks for.
    #[arg(long, value_delimiter = ',', value_name = "CLAIM,…")]
    claims: Vec<String>,
    /// The issuer's country, two letters.
    #[arg(long, value_name = "XX")]
    country: Option<String>,
    /// What to do about revocation: required, if_published (default) or off.
    #[arg(long, value_name = "POLICY")]
    revocation: Option<String>,
    /// This material serves test-mode sessions only.
    #[arg(long)]
    test: bool,
}

/// Runs one of them.
///
/// # Errors
/// What is wrong and what to do.
pub fn run(command: Command, config: &Config, now: UnixMillis) -> Result<Printed, Failure> {
    match command {
        Command::Add(options) => add(&options, config, now),
        Command::List => list(config),
        Command::Show { issuer_id } => show(config, &issuer_id),
        Command::Remove { issuer_id } => remove(config, &issuer_id),
        Command::Check => check(config),
    }
}

fn add(options: &AddOptions, config: &Config, now: UnixMillis) -> Result<Printed, Failure> {
    let change = change(options)?;
    let entry = open(config)?.add_trust(&options.issuer_id, &change, now);
    let Some(entry) = entry.map_err(Failure::error)? else {
        return Err(Failure::usage(
            "a new entry needs a key: give --jwk FILE or --public-key FILE.pem",
        ));
    };
    let mut text = describe(&entry);
    let findings = findings_of(&entry);
    for finding in &findings {
        let _infallible = writeln!(text, "warning: {finding}");
    }
    let mut json = entry_json(&entry);
    insert(&mut json, "warnings", json!(findings));
    Ok(Printed::ok(text, json))
}

fn change(options: &AddOptions) -> Result<TrustChange, Failure> {
    if options.issuer_id.is_empty() {
        return Err(Failure::usage("ISSUER_ID must not be empty"));
    }
    let mut keys = Vec::new();
    for path in &options.jwk {
        keys.extend(read_jwks(path)?);
    }
    for path in &options.public_key {
        let key = PublicKey::from_pem(&read(path)?).map_err(|error| at(path, error))?;
        keys.push((usable(path, key)?, None));
    }
    let named = |list: &[String]| (!list.is_empty()).then(|| list.to_vec());
    Ok(TrustChange {
        iss: options.iss.clone(),
        vct: named(&options.vct),
        doc_types: named(&options.doc_type),
        namespaces: named(&options.namespace),
        claims: checked_claims(&options.claims)?,
        country: checked_country(options.country.as_deref())?,
        revocation: checked_revocation(options.revocation.as_deref())?,
        keys,
        test_only: options.test,
    })
}

fn checked_claims(claims: &[String]) -> Result<Option<Vec<String>>, Failure> {
    let good = |name: &str| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    match claims.iter().find(|name| !good(name)) {
        Some(name) => Err(Failure::usage(format!("--claims: {name} must match ^[A-Za-z0-9_]+$"))),
        None => Ok((!claims.is_empty()).then(|| claims.to_vec())),
    }
}

fn checked_country(country: Option<&str>) -> Result<Option<String>, Failure> {
    let Some(country) = country else { return Ok(None) };
    if country.len() == 2 && country.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return Ok(Some(country.to_ascii_uppercase()));
    }
    Err(Failure::usage(format!("--country {country}: write two letters, as DE")))
}

fn checked_revocation(policy: Option<&str>) -> Result<Option<RevocationPolicy>, Failure> {
    let Some(policy) = policy else { return Ok(None) };
    RevocationPolicy::from_name(policy).map(Some).ok_or_else(|| {
        Failure::usage(format!("--revocation {policy}: write required, if_published or off"))
    })
}

type NamedKey = (PublicKey, Option<String>);

/// One JWK, or every key of a JWK set.
fn read_jwks(path: &Path) -> Result<Vec<NamedKey>, Failure> {
    let text = read(path)?;
    let mut tape = Tape::default();
    let root = tape.parse(text.as_bytes()).map_err(|error| at(path, error))?;
    let root = tape.value(root);
    let one = |value| {
        let jwk = Jwk::from_json(value).map_err(|error| at(path, error))?;
        Ok((usable(path, jwk.key)?, jwk.kid))
    };
    match root.get("keys").and_then(|keys| keys.elements()) {
        Some(keys) => keys.map(one).collect(),
        None => Ok(vec![one(root)?]),
    }
}

fn usable(path: &Path, key: PublicKey) -> Result<PublicKey, Failure> {
    PROVIDER.check_key(&key).map_err(|error| at(path, error))?;
    Ok(key)
}

fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| at(path, error))
}

fn at(path: &Path, error: impl std::fmt::Display) -> Failure {
    Failure::error(format!("{}: {error}", path.display()))
}

fn list(config: &Config) -> Result<Printed, Failure> {
    let entries = open(config)?.trust_entries().map_err(Failure::error)?;
    let mut text: String = entries.iter().map(describe).collect();
    if entries.is_empty() {
        text.push_str("no trust entries: every presentation is refused\n");
    }
    let entries: Vec<_> = entries.iter().map(entry_json).collect();
    Ok(Printed::ok(text, json!({ "entries": entries })))
}

fn show(config: &Config, issuer_id: &str) -> Result<Printed, Failure> {
    let entry = open(config)?.trust_entry(issuer_id).map_err(Failure::error)?;
    let entry = entry.ok_or_else(|| unknown(issuer_id))?;
    Ok(Printed::ok(describe(&entry), entry_json(&entry)))
}

fn remove(config: &Config, issuer_id: &str) -> Result<Printed, Failure> {
    if open(config)?.remove_trust(issuer_id).map_err(Failure::error)? {
        let json = json!({ "issuer_id": issuer_id, "removed": true });
        return Ok(Printed::ok(format!("{issuer_id} is no longer trusted\n"), json));
    }
    Err(unknown(issuer_id))
}

fn unknown(issuer_id: &str) -> Failure {
    let hint = "see `idgate trust list`";
    Failure::not_found(format!("there is no trust entry {issuer_id}; {hint}"))
}

/// Warnings do not fail; an entry that can serve nobody does.
fn check(config: &Config) -> Result<Printed, Failure> {
    let entries = open(config)?.trust_entries().map_err(Failure::error)?;
    let mut findings: Vec<(String, String)> = Vec::new();
    for entry in &entries {
        let found = findings_of(entry).into_iter().chain(doubled(entry, &entries));
        findings.extend(found.map(|finding| (entry.issuer_id.clone(), finding)));
    }
    let broken = entries.iter().any(|entry| entry.keys.is_empty());
    let mut text = String::new();
    for (issuer_id, finding) in &findings {
        let _infallible = writeln!(text, "{issuer_id}: {finding}");
    }
    let _infallible = writeln!(text, "{} entries, {} findings", entries.len(), findings.len());
    let findings: Vec<_> = findings
        .iter()
        .map(|(issuer_id, finding)| json!({ "issuer_id": issuer_id, "finding": finding }))
        .collect();
    let json = json!({ "entries": entries.len(), "findings": findings });
    let code = if broken { exit::REFUSED } else { exit::OK };
    Ok(Printed { text, json, code })
}

fn findings_of(entry: &TrustRecord) -> Vec<String> {
    let mut findings = Vec::new();
    if entry.keys.is_empty() {
        findings.push("has no material: it can serve no session".into());
    } else if entry.vct.is_empty() {
        findings.push("has no --vct: any credential type of this issuer is accepted".into());
    }
    if entry.revocation == RevocationPolicy::Off {
        findings.push("has --revocation off: revoked credentials are accepted".into());
    }
    findings
}

/// A key that another entry trusts as well: its credentials count for both names.
fn doubled(entry: &TrustRecord, entries: &[TrustRecord]) -> Vec<String> {
    let others = entries.iter().filter(|other| other.issuer_id != entry.issuer_id);
    others
        .filter(|other| {
            entry.keys.iter().any(|key| other.keys.iter().any(|also| also.key == key.key))
        })
        .map(|other| format!("shares a key with {}", other.issuer_id))
        .collect()
}

fn describe(entry: &TrustRecord) -> String {
    let mut text = format!("{}\n", entry.issuer_id);
    let mut line = |name: &str, value: &str| {
        if !value.is_empty() {
            let _infallible = writeln!(text, "  {name:<11}{value}");
        }
    };
    line("iss", entry.entry().iss.as_deref().unwrap_or("not compared"));
    line("vct", &entry.vct.join(" "));
    line("doc_type", &entry.doc_types.join(" "));
    line("namespace", &entry.namespaces.join(" "));
    line("claims", &entry.claims.join(","));
    line("country", entry.country.as_deref().unwrap_or_default());
    line("revocation", entry.revocation.name());
    for key in &entry.keys {
        let test = if key.test_only { ", test only" } else { "" };
        let kid = key.kid.as_ref().map_or(String::new(), |kid| format!(", kid {kid}"));
        let digest = fingerprint(&key.key);
        line("key", &format!("{} {digest}{kid}{test}", key.key.alg()));
    }
    text
}

fn entry_json(entry: &TrustRecord) -> Value {
    let keys: Vec<_> = entry
        .keys
        .iter()
        .map(|key| {
            json!({
                "alg": key.key.alg().name(),
                "sha256": fingerprint(&key.key),
                "kid": key.kid,
                "test": key.test_only,
                "added_at": key.added_at.to_string(),
            })
        })
        .collect();
    json!({
        "issuer_id": entry.issuer_id,
        "iss": entry.entry().iss,
        "vct": entry.vct,
        "doc_types": entry.doc_types,
        "namespaces": entry.namespaces,
        "claims": entry.claims,
        "country": entry.country,
        "revocation": entry.revocation.name(),
        "keys": keys,
    })
}

/// SHA-256 of the SubjectPublicKeyInfo: `trust_anchor_sha256` of what this key verifies.
fn fingerprint(key: &PublicKey) -> String {
    let hash = PROVIDER.hash(HashAlg::Sha256, &key.spki_der());
    hash.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn insert(object: &mut Value, name: &str, value: Value) {
    if let Value::Object(members) = object {
        members.insert(name.into(), value);
    }
}
