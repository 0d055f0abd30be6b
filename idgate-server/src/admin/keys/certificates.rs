//! `idgate keys csr`, `idgate keys certificate`, and the certificates in `idgate keys list`.

use std::fmt::Write as _;
use std::path::Path;

use idgate_core::UnixMillis;
use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::shell::{ImportRules, Transparency, VerifierCertificate};
use serde_json::{Value, json};

use crate::admin::files::read_at_most;
use crate::admin::output::{Output, Rows};
use crate::config::{ClientId, OwnName};
use crate::failure::Failure;
use crate::limits::MAX_KEY_FILE_BYTES;
use idgate_store::gateway_key::{Registration, certification_request};
use idgate_store::{CertificateRecord, OperatorStore, RequestedKey};

/// Prints a certification request for the gateway, or for this client.
pub(super) fn request(
    store: &mut OperatorStore,
    client: Option<&str>,
    own: &OwnName,
    now: UnixMillis,
) -> Result<Output, Failure> {
    let name = client.map(|id| client_name(store, id)).transpose()?;
    let name = name.or_else(|| own.host.clone()).unwrap_or_else(|| "idgate".into());
    let key = store.requested_key(client.unwrap_or_default(), now)?;
    let csr = certification_request(&key, &name, own.host.as_deref())
        .map_err(|error| Failure::Error(error.to_string()))?;
    let json = json!({ "csr": csr, "key_id": key.id(), "client_id": client });
    let mut output = Output::new(json, csr);
    if own.host.is_none() {
        output.warnings.push(
            "the request names no host, which x509_san_dns needs; set IDGATE_BASE_URL to the URL \
             that wallets use"
                .into(),
        );
    }
    Ok(output)
}

/// Checks a chain, and puts it in force for the gateway, or for this client.
pub(super) fn import(
    store: &mut OperatorStore,
    file: &Path,
    client: Option<&str>,
    own: &OwnName,
    now: UnixMillis,
) -> Result<Output, Failure> {
    client.map(|id| client_name(store, id)).transpose()?;
    let owner = client.unwrap_or_default();
    let shown = file.display();
    let bytes = read_at_most(file, MAX_KEY_FILE_BYTES)?;
    let keys = store.certificate_keys(owner)?;
    let asked =
        if client.is_some() { "`idgate keys csr --client ID`" } else { "`idgate keys csr`" };
    if keys.is_empty() {
        let what = format!("no certificate was requested yet; begin with {asked}");
        return Err(Failure::Error(what));
    }
    let host = own.host.as_deref().filter(|_| own.client_id == ClientId::X509SanDns);
    let rules = ImportRules { keys: &keys, host, now };
    let imported = VerifierCertificate::import(&PROVIDER, &bytes, &rules)
        .map_err(|refusal| Failure::Error(format!("{shown}: {refusal}")))?;
    store.import_certificate(owner, &imported.certificate, now)?;
    let certificates = store.certificates(Some(owner))?;
    let in_force = certificates.iter().find(|record| record.replaced_at.is_none());
    let mut text = String::new();
    if let Some(record) = in_force {
        let _ = writeln!(text, "x509_hash:{} is in force", record.certificate.x509_hash);
        let _ = writeln!(text, "{}", line(record, now));
    }
    let others = registered_for_others(store, owner)?;
    let json = json!({
        "certificate": in_force.map(|record| row(record, now)),
        "dropped_root": imported.dropped_root,
    });
    let mut output = Output::new(json, text);
    if imported.dropped_root {
        output.warnings.push(
            "the file ended with a self-signed certificate, which wallets already have; it is left \
             out"
                .into(),
        );
    }
    output.warnings.extend(imported.certificate.transparency.lacks().map(|lacks| {
        format!(
            "it {lacks}; EU wallets treat an access certificate without timestamps as failed (ARF \
             CT_06)"
        )
    }));
    output.warnings.extend(others);
    if own.host.is_none() && own.client_id == ClientId::X509SanDns {
        output.warnings.push(
            "its host was not checked, because IDGATE_BASE_URL names none, and x509_san_dns needs \
             one; set IDGATE_BASE_URL to the URL that wallets use"
                .into(),
        );
    }
    Ok(output)
}

/// Warns of the registration certificates that do not match this owner's certificate.
fn registered_for_others(store: &OperatorStore, owner: &str) -> Result<Vec<String>, Failure> {
    let records = store.certificates(None)?;
    let warning = |registration: Registration| {
        let (client_id, whose) = (&registration.client_id, registration.whose());
        let signing = CertificateRecord::signing_for(&records, client_id)?;
        let is_other =
            signing.client_id == owner && registration.is_of_another(&signing.certificate);
        is_other.then(|| {
            format!(
                "the registration certificate of {whose} is for {}, not for the party and service in \
                 this certificate, and is no longer sent; `idgate client verifier-info add` replaces \
                 it",
                registration.certificate.subject
            )
        })
    };
    Ok(store.registrations()?.into_iter().filter_map(warning).collect())
}

/// The certificates, and the keys that wait for a certificate, of the gateway and all clients, or
/// of one client.
pub(super) fn list(
    store: &OperatorStore,
    client: Option<&str>,
    now: UnixMillis,
) -> Result<(Rows, Rows), Failure> {
    client.map(|id| client_name(store, id)).transpose()?;
    let (mut certificates, mut requested) = (Rows::default(), Rows::default());
    for record in &store.certificates(client)? {
        certificates.add(line(record, now), row(record, now));
    }
    for key in &store.requested_keys(client)? {
        let (of, id, since) = (owner(&key.client_id), &key.key_id, key.created_at);
        requested
            .add(format!("{of}  {id} waits for a certificate since {since}"), requested_row(key));
    }
    Ok((certificates, requested))
}

fn client_name(store: &OperatorStore, id: &str) -> Result<String, Failure> {
    let client = store.clients()?.into_iter().find(|client| client.id == id);
    let client = client.filter(|client| client.revoked_at.is_none());
    client.map(|client| client.name).ok_or_else(|| {
        Failure::NotFound(format!("there is no client {id}; `idgate client list` lists them"))
    })
}

fn owner(client_id: &str) -> &str {
    if client_id.is_empty() { "gateway" } else { client_id }
}

fn state(record: &CertificateRecord, now: UnixMillis) -> String {
    let until = record.certificate.valid_until;
    match record.replaced_at {
        Some(at) => format!("replaced at {at}"),
        None if !record.certificate.is_valid_at(now) => format!("expired at {until}"),
        None => format!("in force until {until}"),
    }
}

fn line(record: &CertificateRecord, now: UnixMillis) -> String {
    let (of, hash) = (owner(&record.client_id), &record.certificate.x509_hash);
    format!("{of}  x509_hash:{hash}  {}  {}", record.certificate.subject, state(record, now))
}

fn row(record: &CertificateRecord, now: UnixMillis) -> Value {
    let certificate = &record.certificate;
    json!({
        "x509_hash": certificate.x509_hash,
        "client_id": Some(&record.client_id).filter(|id| !id.is_empty()),
        "key_id": record.key_id,
        "subject": certificate.subject,
        "organization_identifier": certificate.organization_identifier,
        "services": certificate.services,
        "timestamps": certificate.transparency == Transparency::Present,
        "dns_names": certificate.dns_names,
        "chain_length": certificate.chain.len(),
        "valid_from": certificate.valid_from.to_string(),
        "valid_until": certificate.valid_until.to_string(),
        "imported_at": record.imported_at.to_string(),
        "replaced_at": record.replaced_at.map(|at| at.to_string()),
        "in_force": record.replaced_at.is_none() && certificate.is_valid_at(now),
    })
}

fn requested_row(key: &RequestedKey) -> Value {
    json!({
        "key_id": key.key_id,
        "client_id": Some(&key.client_id).filter(|id| !id.is_empty()),
        "created_at": key.created_at.to_string(),
    })
}
