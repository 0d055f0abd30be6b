//! `idgate admin-token`

use clap::Subcommand;
use idgate_core::UnixMillis;
use serde_json::json;

use crate::admin::output::{Output, Rows, check_name};
use crate::failure::Failure;
use idgate_store::OperatorStore;

/// Commands on admin tokens.
#[derive(Debug, Subcommand)]
pub enum AdminTokenCommand {
    /// Create a token for the admin endpoints, and print it once
    Create {
        /// A name for lists
        #[arg(long)]
        name: Option<String>,
    },
    /// List tokens
    List,
    /// Revoke a token immediately
    Revoke {
        /// The token's id, from `admin-token list`
        id: String,
    },
}

impl AdminTokenCommand {
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
    command: AdminTokenCommand,
    store: &mut OperatorStore,
    now: UnixMillis,
) -> Result<Output, Failure> {
    match command {
        AdminTokenCommand::Create { name } => create(store, name.as_deref(), now),
        AdminTokenCommand::List => list(store),
        AdminTokenCommand::Revoke { id } => revoke(store, &id, now),
    }
}

fn create(
    store: &mut OperatorStore,
    name: Option<&str>,
    now: UnixMillis,
) -> Result<Output, Failure> {
    name.map_or(Ok(()), |name| check_name("--name", name, 100))?;
    let (id, token) = store.create_admin_token(name, now)?;
    let token = token.expose();
    let json = json!({ "id": id, "admin_token": token });
    let output = Output::new(json, format!("id: {id}\nadmin_token: {token}\n"));
    Ok(output.with_warning("admin_token is not shown again"))
}

fn list(store: &OperatorStore) -> Result<Output, Failure> {
    let mut rows = Rows::default();
    for token in store.admin_tokens()? {
        let revoked_at = token.revoked_at.map(|at| at.to_string());
        let state = revoked_at.as_ref().map_or("active".to_owned(), |at| format!("revoked {at}"));
        let name = token.name.as_deref().unwrap_or_default();
        let (id, created_at) = (&token.id, token.created_at.to_string());
        let line = format!("{id}  {created_at}  {state}  {name}");
        let row = json!({
            "id": id, "name": token.name, "created_at": created_at, "revoked_at": revoked_at,
        });
        rows.add(line, row);
    }
    Ok(rows.into_output("admin_tokens"))
}

fn revoke(store: &mut OperatorStore, id: &str, now: UnixMillis) -> Result<Output, Failure> {
    if !store.revoke_admin_token(id, now)? {
        return Err(Failure::NotFound(format!(
            "there is no admin token {id}; `idgate admin-token list` lists them"
        )));
    }
    Ok(Output::revoked("id", id))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use crate::admin::fixture::{NOW, store};
    use idgate_base::admin_token::AdminToken;

    #[test]
    fn create_shows_the_token_and_list_does_not() {
        let (_dir, mut store) = store();
        let made = create(&mut store, Some("prometheus"), NOW).unwrap();
        assert_eq!(made.json.as_object().unwrap().len(), 2);
        let token = made.json["admin_token"].as_str().unwrap();
        assert!(AdminToken::parse(token).is_some() && made.text.contains(token));
        let list = list(&store).unwrap();
        assert!(!format!("{}{}", list.text, list.json).contains(&token[4..]));
        let want = json!([{
            "id": made.json["id"], "name": "prometheus",
            "created_at": NOW.to_string(), "revoked_at": null,
        }]);
        assert_eq!(list.json["admin_tokens"], want);
    }

    #[test]
    fn revoke_is_final_and_an_unknown_id_is_code_4() {
        let (_dir, mut store) = store();
        let made = create(&mut store, None, NOW).unwrap();
        let id = made.json["id"].as_str().unwrap();
        for later in [0, 1000] {
            revoke(&mut store, id, NOW.plus(later)).unwrap();
            let listed = list(&store).unwrap().json;
            assert_eq!(listed["admin_tokens"][0]["revoked_at"], NOW.to_string());
        }
        assert_eq!(revoke(&mut store, "adt_none", NOW).unwrap_err().code(), 4);
    }

    #[test]
    fn a_name_that_cannot_be_shown_is_a_usage_error() {
        let (_dir, mut store) = store();
        assert_eq!(create(&mut store, Some("a\nb"), NOW).unwrap_err().code(), 2);
    }
}
