//! `idgate keys`

mod certificates;

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Subcommand;
use idgate_core::UnixMillis;
use serde_json::{Value, json};

use crate::admin::output::{Output, Rows};
use crate::config::OwnName;
use crate::failure::Failure;
use idgate_store::{GatewayKeyRecord, OperatorStore, Resealed};

/// Commands on the gateway's signing keys.
#[derive(Debug, Subcommand)]
pub enum KeysCommand {
    /// List the signing keys, newest first, and the certificates
    List {
        /// Only the certificates of this client
        #[arg(long, value_name = "ID")]
        client: Option<String>,
    },
    /// Create a new signing key; the old one keeps signing for sessions that were made with it
    Rotate,
    /// Seal everything under the first of IDGATE_INSTANCE_KEYS; the others are then no longer
    /// needed
    Reseal,
    /// Print a certification request for a CA
    Csr {
        /// For this client, as a relying party of its own; without it, for the gateway
        #[arg(long, value_name = "ID")]
        client: Option<String>,
    },
    /// Import a certificate that was issued for our request, and put it in force
    Certificate {
        /// The chain in PEM or DER, our certificate first
        file: PathBuf,
        /// The certificate is for this client
        #[arg(long, value_name = "ID")]
        client: Option<String>,
    },
}

/// Carries out `command`.
///
/// # Errors
/// Nothing was changed; the failure says why.
pub fn run(
    command: &KeysCommand,
    store: &mut OperatorStore,
    own: &OwnName,
    now: UnixMillis,
) -> Result<Output, Failure> {
    match command {
        KeysCommand::List { client: None } => list(store, now),
        KeysCommand::List { client } => list_of(store, client.as_deref(), now),
        KeysCommand::Rotate => rotate(store, now),
        KeysCommand::Reseal => reseal(store, now),
        KeysCommand::Csr { client } => certificates::request(store, client.as_deref(), own, now),
        KeysCommand::Certificate { file, client } => {
            certificates::import(store, file, client.as_deref(), own, now)
        }
    }
}

/// The certificates of one client.
fn list_of(
    store: &OperatorStore,
    client: Option<&str>,
    now: UnixMillis,
) -> Result<Output, Failure> {
    let (certificates, requested) = certificates::list(store, client, now)?;
    let json = json!({ "certificates": certificates.json, "requested": requested.json });
    Ok(Output::new(json, certificates.text + &requested.text))
}

fn list(store: &OperatorStore, now: UnixMillis) -> Result<Output, Failure> {
    let keys = store.gateway_keys()?;
    let (certificates, requested) = certificates::list(store, None, now)?;
    let mut rows = Rows::default();
    for key in &keys {
        rows.add(format!("{}  {}  {}", key.id, key.created_at, state(key, now)), row(key, now));
    }
    let json = json!({
        "keys": rows.json, "certificates": certificates.json, "requested": requested.json,
    });
    let output = Output::new(json, rows.text + &certificates.text + &requested.text);
    Ok(match keys.is_empty() {
        true => output.with_warning("there is no key yet; the first `idgate serve` creates one"),
        false => output,
    })
}

fn rotate(store: &mut OperatorStore, now: UnixMillis) -> Result<Output, Failure> {
    store.rotate_gateway_key(now)?;
    let keys = store.gateway_keys()?;
    let (new, old) = (keys.first(), keys.get(1));
    let mut text = String::new();
    if let Some(new) = new {
        let _ = writeln!(text, "{} signs from now on", new.id);
    }
    if let Some(old) = old {
        let _ = writeln!(text, "{} {}", old.id, state(old, now));
    }
    let json = json!({
        "key": new.map(|key| row(key, now)),
        "retired": old.map(|key| row(key, now)),
    });
    Ok(Output::new(json, text))
}

fn reseal(store: &mut OperatorStore, now: UnixMillis) -> Result<Output, Failure> {
    let Resealed { current, others, unreadable } = store.reseal(now)?;
    let mut text =
        format!("{others} values were resealed, {current} were already sealed under that key");
    if unreadable == 0 {
        text.push_str("; no other instance key is needed\n");
    } else {
        let _ = writeln!(
            text,
            "\n{unreadable} values open under none of the keys and were not changed, so all keys are \
             still needed: `idgate doctor --deep` and `idgate audit verify` name them"
        );
    }
    let json = json!({ "resealed": others, "before": current, "unreadable": unreadable });
    Ok(Output::new(json, text).failed_if(unreadable > 0))
}

fn is_published(key: &GatewayKeyRecord, now: UnixMillis) -> bool {
    key.published_until.is_none_or(|until| until > now)
}

fn state(key: &GatewayKeyRecord, now: UnixMillis) -> String {
    match key.published_until {
        None => "signs".into(),
        Some(until) if until > now && key.can_sign => {
            format!("signs for sessions that were made with it, published until {until}")
        }
        Some(until) if until > now => format!("no longer signs, published until {until}"),
        Some(until) => format!("no longer signs, not published since {until}"),
    }
}

fn row(key: &GatewayKeyRecord, now: UnixMillis) -> Value {
    json!({
        "id": key.id,
        "created_at": key.created_at.to_string(),
        "retired_at": key.retired_at.map(|at| at.to_string()),
        "published_until": key.published_until.map(|at| at.to_string()),
        "signs": key.retired_at.is_none(),
        "signs_for_open_sessions": key.can_sign,
        "published": is_published(key, now),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use crate::admin::fixture::{NOW, store};

    #[test]
    fn rotate_names_both_keys_and_list_shows_all() {
        let (_dir, mut store) = store();
        let none = list(&store, NOW).unwrap();
        assert_eq!((&none.json["keys"], none.warnings.len()), (&json!([]), 1));
        let first = rotate(&mut store, NOW).unwrap().json;
        assert_eq!(first["retired"], Value::Null);
        let second = rotate(&mut store, NOW.plus(5)).unwrap().json;
        assert_eq!(second["retired"]["id"], first["key"]["id"]);
        assert_eq!(second["retired"]["retired_at"], NOW.plus(5).to_string());
        let listed = list(&store, NOW.plus(5)).unwrap();
        let keys = listed.json["keys"].as_array().unwrap();
        assert_eq!((&keys[0]["id"], &keys[0]["signs"]), (&second["key"]["id"], &json!(true)));
        assert_eq!((&keys[1]["signs"], &keys[1]["published"]), (&json!(false), &json!(false)));
        assert_eq!(keys[1]["signs_for_open_sessions"], json!(false));
        assert_eq!(listed.text.lines().count(), 2);
    }
}
