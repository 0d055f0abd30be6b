//! `idgate client`

mod key;
mod settings;
mod verifier_info;

use clap::Subcommand;
use clap::builder::PossibleValuesParser;
use idgate_core::UnixMillis;
use serde_json::json;

use self::key::KeyCommand;
use self::settings::{OriginCommand, SetArgs};
use self::verifier_info::VerifierInfoCommand;
use crate::admin::output::{Output, Rows, check_name};
use crate::failure::Failure;
use idgate_base::api_key::SCOPES;
use idgate_store::{ClientRecord, OperatorStore};

/// Commands on clients.
#[derive(Debug, Subcommand)]
pub enum ClientCommand {
    /// Create a client, and print its API key and signing secret once
    Create {
        /// A name for lists
        name: String,
        /// Create a test client; without it the client is live
        #[arg(long)]
        test: bool,
        /// Scopes of its key; without it, all scopes
        #[arg(long, value_delimiter = ',', value_name = "SCOPES",
              value_parser = PossibleValuesParser::new(SCOPES))]
        scopes: Option<Vec<String>>,
    },
    /// List clients
    List,
    /// Change a client's name, logo, colours, links and quotas
    Set(SetArgs),
    /// Create, list and revoke the keys of a client
    #[command(subcommand)]
    Key(KeyCommand),
    /// Add and remove the origins of a client's own pages
    #[command(subcommand)]
    Origin(OriginCommand),
    /// Add, list and remove the registration certificates of a client, for wallets
    #[command(subcommand)]
    VerifierInfo(VerifierInfoCommand),
    /// Revoke a client, with all its keys and open sessions, immediately
    Revoke {
        /// The client's id, from `client list`
        id: String,
    },
}

impl ClientCommand {
    /// Whether it creates a data directory.
    pub const fn creates(&self) -> bool {
        matches!(self, Self::Create { .. })
    }
}

/// Carries out `command`.
///
/// # Errors
/// Nothing was changed; the failure says why.
pub fn run(
    command: ClientCommand,
    store: &mut OperatorStore,
    now: UnixMillis,
) -> Result<Output, Failure> {
    match command {
        ClientCommand::Create { name, test, scopes } => {
            create(store, &name, !test, scopes.as_deref(), now)
        }
        ClientCommand::List => list(store),
        ClientCommand::Set(args) => settings::set(&args, store),
        ClientCommand::Key(command) => key::run(command, store, now),
        ClientCommand::Origin(command) => settings::origin(command, store, now),
        ClientCommand::VerifierInfo(command) => verifier_info::run(&command, store, now),
        ClientCommand::Revoke { id } => revoke(store, &id, now),
    }
}

fn create(
    store: &mut OperatorStore,
    name: &str,
    livemode: bool,
    scopes: Option<&[String]>,
    now: UnixMillis,
) -> Result<Output, Failure> {
    check_name("NAME", name, 100)?;
    let scopes = scopes.map(in_order);
    let is_namesake = |other: &ClientRecord| other.name == name && other.revoked_at.is_none();
    let namesake = store.clients()?.into_iter().find(is_namesake);
    let client = store.create_client(name, livemode, scopes.as_deref(), now)?;
    let (id, key, secret) = (&client.client_id, client.api_key.expose(), &*client.signing_secret);
    let json = json!({
        "client_id": id, "livemode": livemode, "api_key": key, "signing_secret": secret,
    });
    let text = format!("client_id: {id}\napi_key: {key}\nsigning_secret: {secret}\n");
    let mut output =
        Output::new(json, text).with_warning("api_key and signing_secret are not shown again");
    output.warnings.extend(namesake.map(|other| {
        format!(
            "there is another client named {name}, {}; if you do not need the new one: \
             `idgate client revoke {id}`",
            other.id
        )
    }));
    Ok(output)
}

/// Scopes in the order of the specification, each once.
fn in_order(scopes: &[String]) -> Vec<String> {
    let wanted = |scope: &&str| scopes.iter().any(|wanted| wanted == scope);
    SCOPES.into_iter().filter(wanted).map(str::to_owned).collect()
}

fn no_such_client(id: &str) -> Failure {
    Failure::NotFound(format!("there is no client {id}; `idgate client list` lists them"))
}

fn list(store: &OperatorStore) -> Result<Output, Failure> {
    let mut rows = Rows::default();
    for client in store.clients()? {
        let revoked_at = client.revoked_at.map(|at| at.to_string());
        let mode = if client.livemode { "live" } else { "test" };
        let state = revoked_at.as_ref().map_or("active".to_owned(), |at| format!("revoked {at}"));
        let (id, created_at, name) = (&client.id, client.created_at.to_string(), &client.name);
        let line = format!("{id}  {mode}  {created_at}  {state}  {name}");
        let row = json!({
            "client_id": id,
            "name": name,
            "livemode": client.livemode,
            "created_at": created_at,
            "revoked_at": revoked_at,
            "active_keys": client.keys,
            "origins": store.client_settings(id)?.map(|settings| settings.origins),
        });
        rows.add(line, row);
    }
    Ok(rows.into_output("clients"))
}

fn revoke(store: &mut OperatorStore, id: &str, now: UnixMillis) -> Result<Output, Failure> {
    if !store.revoke_client(id, now)? {
        return Err(no_such_client(id));
    }
    Ok(Output::revoked("client_id", id))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use crate::admin::fixture::{NOW, store};
    use idgate_base::api_key::ApiKey;

    #[test]
    fn create_prints_four_members_and_list_shows_no_secret() {
        let (_dir, mut store) = store();
        let made = create(&mut store, "Shop", false, None, NOW).unwrap();
        let members = made.json.as_object().unwrap();
        assert_eq!(members.len(), 4);
        assert!(made.json["client_id"].as_str().unwrap().starts_with("cli_"));
        assert_eq!(made.json["livemode"], false);
        let key = made.json["api_key"].as_str().unwrap();
        assert!(!ApiKey::parse(key).unwrap().livemode());
        let secret = made.json["signing_secret"].as_str().unwrap();
        assert!(secret.starts_with("whsec_") && made.text.contains(secret));
        let list = list(&store).unwrap();
        let all = format!("{}{}", list.text, list.json);
        assert!(all.contains("Shop") && !all.contains(key) && !all.contains(secret));
        assert_eq!(list.json["clients"][0]["client_id"], made.json["client_id"]);
        assert_eq!(list.json["clients"][0]["revoked_at"], serde_json::Value::Null);
    }

    #[test]
    fn revoke_is_final_and_an_unknown_id_is_code_4() {
        let (_dir, mut store) = store();
        let made = create(&mut store, "Shop", true, None, NOW).unwrap();
        let id = made.json["client_id"].as_str().unwrap();
        for later in [0, 1000] {
            revoke(&mut store, id, NOW.plus(later)).unwrap();
            let list = list(&store).unwrap().json;
            assert_eq!(list["clients"][0]["revoked_at"], NOW.to_string());
            assert_eq!(list["clients"][0]["active_keys"], 0);
        }
        assert_eq!(revoke(&mut store, "cli_none", NOW).unwrap_err().code(), 4);
    }

    #[test]
    fn a_name_that_cannot_be_shown_is_a_usage_error() {
        let (_dir, mut store) = store();
        for name in ["", " ", "a\nb", &"x".repeat(101)] {
            assert_eq!(
                create(&mut store, name, true, None, NOW).unwrap_err().code(),
                2,
                "{name:?}"
            );
        }
    }
}
