//! `idgate client`: provisioning and revoking tenants (specification 1.8).

use std::fmt::Write as _;

use clap::Subcommand;
use idgate_core::time::UnixMillis;
use serde_json::json;

use super::{Failure, Printed, open};
use crate::api_key::SCOPES;
use crate::config::Config;
use crate::store::ClientRecord;

/// The commands about tenants.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Make a tenant; prints its API key and signing secret, each once.
    Create {
        /// A name for the operator.
        name: String,
        /// Sandbox data only, for good.
        #[arg(long)]
        test: bool,
        /// The scopes of the key; without them, all.
        #[arg(long, value_delimiter = ',', value_name = "SCOPE,…")]
        scopes: Option<Vec<String>>,
    },
    /// List all tenants, newest first.
    List,
    /// Stop every key of a tenant at once.
    Revoke {
        /// The tenant, cli_….
        id: String,
    },
}

/// Runs one of them.
///
/// # Errors
/// What is wrong and what to do.
pub fn run(command: Command, config: &Config, now: UnixMillis) -> Result<Printed, Failure> {
    match command {
        Command::Create { name, test, scopes } => {
            create(config, &name, !test, scopes.as_deref(), now)
        }
        Command::List => list(config),
        Command::Revoke { id } => revoke(config, &id, now),
    }
}

fn create(
    config: &Config,
    name: &str,
    livemode: bool,
    scopes: Option<&[String]>,
    now: UnixMillis,
) -> Result<Printed, Failure> {
    check_scopes(scopes.unwrap_or_default())?;
    let client =
        open(config)?.create_client(name, livemode, scopes, now).map_err(Failure::error)?;
    let (api_key, secret) = (client.api_key.expose(), &*client.signing_secret);
    let text = format!(
        "client_id      {}\napi_key        {api_key}\nsigning_secret {secret}\n\
         Store both secrets now: they are not shown again.\n",
        client.client_id
    );
    let json = json!({
        "client_id": client.client_id,
        "livemode": client.livemode,
        "api_key": api_key,
        "signing_secret": secret,
    });
    Ok(Printed::ok(text, json))
}

fn check_scopes(scopes: &[String]) -> Result<(), Failure> {
    for (index, scope) in scopes.iter().enumerate() {
        if !SCOPES.contains(&scope.as_str()) {
            let known = SCOPES.join(", ");
            return Err(Failure::usage(format!("--scopes: {scope} is none of {known}")));
        }
        if scopes.iter().take(index).any(|earlier| earlier == scope) {
            return Err(Failure::usage(format!("--scopes: {scope} is repeated")));
        }
    }
    Ok(())
}

fn list(config: &Config) -> Result<Printed, Failure> {
    let clients = open(config)?.clients().map_err(Failure::error)?;
    let mut text = String::new();
    for client in &clients {
        let mode = if client.livemode { "live" } else { "test" };
        let state = client.revoked_at.map_or(String::new(), |at| format!("  revoked {at}"));
        let _infallible = writeln!(text, "{}  {mode}  {}{state}", client.id, client.name);
    }
    if clients.is_empty() {
        text.push_str("no clients; make one with `idgate client create NAME`\n");
    }
    let clients: Vec<_> = clients.iter().map(client_json).collect();
    Ok(Printed::ok(text, json!({ "clients": clients })))
}

fn client_json(client: &ClientRecord) -> serde_json::Value {
    json!({
        "client_id": client.id,
        "name": client.name,
        "livemode": client.livemode,
        "created_at": client.created_at.to_string(),
        "revoked": client.revoked_at.is_some(),
        "revoked_at": client.revoked_at.map(|at| at.to_string()),
        "keys": client.keys,
    })
}

fn revoke(config: &Config, id: &str, now: UnixMillis) -> Result<Printed, Failure> {
    if open(config)?.revoke_client(id, now).map_err(Failure::error)? {
        let json = json!({ "client_id": id, "revoked": true });
        return Ok(Printed::ok(format!("{id} is revoked; its keys no longer work\n"), json));
    }
    Err(Failure::not_found(format!("there is no client {id}; see `idgate client list`")))
}
