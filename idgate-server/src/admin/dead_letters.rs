//! `idgate dead-letters`: notifications that were given up.

use clap::Subcommand;
use idgate_core::UnixMillis;
use serde_json::{Value, json};

use crate::admin::output::{Output, Rows};
use crate::failure::Failure;
use idgate_store::{DeadLetter, OperatorStore};

/// Commands on dead letters.
#[derive(Debug, Subcommand)]
pub enum DeadLettersCommand {
    /// List them, newest first
    List,
    /// Retry one once
    Retry {
        /// Its id, from `list`
        id: String,
    },
}

/// Carries out `command`.
///
/// # Errors
/// Nothing was changed; the failure says why.
pub fn run(
    command: &DeadLettersCommand,
    store: &mut OperatorStore,
    now: UnixMillis,
) -> Result<Output, Failure> {
    match command {
        DeadLettersCommand::List => list(store),
        DeadLettersCommand::Retry { id } => retry(store, id, now),
    }
}

fn list(store: &OperatorStore) -> Result<Output, Failure> {
    let mut rows = Rows::default();
    for letter in store.dead_letters()? {
        let DeadLetter { id, session_id, client_id, attempts, .. } = &letter;
        let (at, why) = (letter.failed_at.to_string(), letter.error_message.as_deref());
        let told = why.unwrap_or_default();
        let line = format!("{id}  {at}  {client_id}  {session_id}  {attempts} attempts  {told}");
        let row = json!({
            "id": id,
            "session_id": session_id,
            "client_id": client_id,
            "payload": serde_json::from_str::<Value>(&letter.payload).unwrap_or_default(),
            "error_message": why,
            "attempts": attempts,
            "failed_at": at,
        });
        rows.add(line, row);
    }
    Ok(rows.into_output("dead_letters"))
}

fn retry(store: &mut OperatorStore, id: &str, now: UnixMillis) -> Result<Output, Failure> {
    let Some(replay) = store.replay_dead_letter(id, now)? else {
        return Err(Failure::NotFound(format!(
            "there is no dead letter {id}; `idgate dead-letters list` lists them"
        )));
    };
    let json = json!({ "status": "REPLAYED", "id": id, "session_id": replay.session_id });
    let mut output = Output::new(json, format!("{id} is retried once\n"));
    if !replay.is_sent {
        output.text = format!("{id} is not retried\n");
        output.warnings.push(
            "not sent: the host is not approved, or the client is revoked; see \
             `idgate webhook-host list`"
                .into(),
        );
    }
    Ok(output)
}
