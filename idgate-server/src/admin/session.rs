//! `idgate session`: the report on a refused answer.

use std::fmt::Write as _;

use clap::Subcommand;
use idgate_core::UnixMillis;
use serde_json::Value;

use crate::admin::output::{Output, on_one_line};
use crate::failure::Failure;
use idgate_store::OperatorStore;

/// Commands on sessions.
#[derive(Debug, Subcommand)]
pub enum SessionCommand {
    /// Show why the answer to a session was refused: each checked rule, and its clause
    Explain {
        /// The session's id; its report is kept for 24 hours
        id: String,
    },
}

/// Carries out `command`.
///
/// # Errors
/// There is no report on that session.
pub fn run(
    command: &SessionCommand,
    store: &OperatorStore,
    now: UnixMillis,
) -> Result<Output, Failure> {
    let SessionCommand::Explain { id } = command;
    let Some(report) = store.session_report(id, now)? else {
        return Err(Failure::NotFound(format!(
            "there is no report on {id}: the session does not exist, its answer was not refused, or \
             that was more than 24 hours ago"
        )));
    };
    let report: Value = serde_json::from_slice(&report)
        .map_err(|error| Failure::Error(format!("the report on {id} cannot be read: {error}")))?;
    let text = tree(&report);
    Ok(Output::new(report, text))
}

fn tree(report: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut tree = String::new();
    let (id, at) = (text(&report["session_id"]), text(&report["refused_at"]));
    let _infallible = writeln!(tree, "{id} was refused at {at}: {}", text(&report["reason"]));
    for check in report["answer"].as_array().into_iter().flatten() {
        line(&mut tree, check);
    }
    for credential in report["credentials"].as_array().into_iter().flatten() {
        let verdict = if credential["passed"] == true { "nothing failed" } else { "refused" };
        // The client chose it.
        let id = on_one_line(&text(&credential["id"]));
        let _infallible = writeln!(tree, "{id}: {verdict}");
        for check in credential["checks"].as_array().into_iter().flatten() {
            line(&mut tree, check);
        }
    }
    tree
}

fn line(tree: &mut String, check: &Value) {
    let text = |member: &str| check[member].as_str().unwrap_or_default();
    let mark = if check["passed"] == true { "ok    " } else { "FAILED" };
    let _infallible = write!(tree, "  {mark} {} ({})", text("rule"), text("clause"));
    let detail = on_one_line(text("detail"));
    let _infallible = if detail.is_empty() { writeln!(tree) } else { writeln!(tree, ": {detail}") };
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_line_break_in_an_id_is_escaped() {
        let report =
            json!({ "credentials": [{ "id": "pid\n  ok     \u{1b}[2K", "passed": false }] });
        let tree = tree(&report);
        assert!(tree.ends_with("\npid\\n  ok     \\u{1b}[2K: refused\n"), "{tree:?}");
    }
}
