//! `idgate client key`

use clap::Subcommand;
use clap::builder::PossibleValuesParser;
use idgate_core::UnixMillis;
use serde_json::{Value, json};

use super::{in_order, no_such_client};
use crate::admin::output::{Output, Rows, check_name, on_one_line};
use crate::failure::Failure;
use idgate_base::api_key::SCOPES;
use idgate_store::{ApiKeyRecord, OperatorStore};

/// Commands on the keys of a client.
#[derive(Debug, Subcommand)]
pub enum KeyCommand {
    /// Create another API key for a client, and print it once
    Create {
        /// The client's id, from `client list`
        client_id: String,
        /// A name for lists
        #[arg(long)]
        name: Option<String>,
        /// Its scopes; without it, all scopes
        #[arg(long, value_delimiter = ',', value_name = "SCOPES",
              value_parser = PossibleValuesParser::new(SCOPES))]
        scopes: Option<Vec<String>>,
    },
    /// List the keys of a client
    List {
        /// The client's id, from `client list`
        client_id: String,
    },
    /// Revoke a key immediately
    Revoke {
        /// The key's id, from `client key list`; you may put the client's id before it
        #[arg(num_args = 1..=2, required = true, value_names = ["CLIENT_ID", "KEY_ID"])]
        id: Vec<String>,
    },
}

/// Carries out `command`.
///
/// # Errors
/// Nothing was changed; the failure says why.
pub(super) fn run(
    command: KeyCommand,
    store: &mut OperatorStore,
    now: UnixMillis,
) -> Result<Output, Failure> {
    match command {
        KeyCommand::Create { client_id, name, scopes } => {
            create(store, &client_id, name.as_deref(), scopes.as_deref(), now)
        }
        KeyCommand::List { client_id } => list(store, &client_id, now),
        KeyCommand::Revoke { id } => match &*id {
            [id] => revoke(store, None, id, now),
            [client_id, id] => revoke(store, Some(client_id), id, now),
            _ => Err(Failure::Usage("name one key".into())),
        },
    }
}

fn create(
    store: &mut OperatorStore,
    client_id: &str,
    name: Option<&str>,
    scopes: Option<&[String]>,
    now: UnixMillis,
) -> Result<Output, Failure> {
    if let Some(name) = name {
        check_name("--name", name, 100)?;
    }
    let scopes = scopes.map(in_order);
    let made = store.create_key(client_id, name, scopes.as_deref(), now)?;
    let (record, key) = made.ok_or_else(|| {
        Failure::NotFound(format!(
            "there is no active client {client_id}; `idgate client list` lists them"
        ))
    })?;
    let (id, api_key) = (&record.id, key.expose());
    let mut json = shown(&record, now);
    if let Some(members) = json.as_object_mut() {
        members.insert("client_id".into(), client_id.into());
        members.insert("api_key".into(), api_key.into());
    }
    let output = Output::new(json, format!("id: {id}\napi_key: {api_key}\n"));
    Ok(output.with_warning("api_key is not shown again"))
}

fn list(store: &OperatorStore, client_id: &str, now: UnixMillis) -> Result<Output, Failure> {
    let keys = store.client_keys(client_id)?.ok_or_else(|| no_such_client(client_id))?;
    let mut rows = Rows::default();
    for key in &keys {
        let scopes = key.scopes.as_ref().map_or("all".to_owned(), |scopes| scopes.join(","));
        let name = key.name.as_deref().map_or("-".to_owned(), on_one_line);
        let state = state(key, now);
        let line = format!("{}  {}  {state}  {scopes}  {name}", key.id, key.created_at);
        rows.add(line, shown(key, now));
    }
    Ok(Output::new(json!({ "client_id": client_id, "keys": rows.json }), rows.text))
}

fn revoke(
    store: &mut OperatorStore,
    client_id: Option<&str>,
    id: &str,
    now: UnixMillis,
) -> Result<Output, Failure> {
    if !store.revoke_key(client_id, id, now)? {
        return Err(Failure::NotFound(format!(
            "there is no key {id}; `idgate client key list CLIENT_ID` lists those of a client"
        )));
    }
    Ok(Output::revoked("id", id))
}

fn state(key: &ApiKeyRecord, now: UnixMillis) -> &'static str {
    match key.expires_at {
        _ if key.revoked => "revoked",
        Some(at) if at <= now => "expired",
        _ => "active",
    }
}

fn shown(key: &ApiKeyRecord, now: UnixMillis) -> Value {
    json!({
        "id": key.id,
        "name": key.name,
        "scopes": key.scopes,
        "livemode": key.livemode,
        "state": state(key, now),
        "revoked": key.revoked,
        "created_at": key.created_at.to_string(),
        "expires_at": key.expires_at.map(|at| at.to_string()),
        "last_used_at": key.last_used_at.map(|at| at.to_string()),
    })
}
