//! `idgate webhook-host`: review of webhook hosts.

use std::fmt::Write as _;

use clap::Subcommand;
use idgate_core::UnixMillis;
use serde_json::json;

use crate::admin::output::{Output, Rows, check_name};
use crate::failure::Failure;
use crate::limits::MAX_REVIEW_NOTE_CHARS;
use crate::work::webhook_url::host_named;
use idgate_store::{HostStatus, OperatorStore, Review};

/// Commands on the hosts of webhooks.
#[derive(Debug, Subcommand)]
pub enum WebhookHostCommand {
    /// List the hosts that were reviewed or named by a client
    List,
    /// Allow notifications to a host, and send those that wait for it
    Approve {
        /// The host name, from `list`, without port and path
        host: String,
    },
    /// Refuse notifications to a host, and give up those that wait for it
    Reject {
        /// The host name, from `list`, without port and path
        host: String,
        /// The reason; its clients read it
        #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
        note: String,
    },
    /// Remove the verdict on a host: its notifications are held until the next verdict
    Reset {
        /// The host name, from `list`, without port and path
        host: String,
    },
}

impl WebhookHostCommand {
    /// Whether it creates a data directory.
    pub const fn creates(&self) -> bool {
        matches!(self, Self::Approve { .. } | Self::Reject { .. })
    }
}

/// Carries out `command`.
///
/// # Errors
/// Nothing was changed; the failure says why.
pub fn run(
    command: &WebhookHostCommand,
    store: &mut OperatorStore,
    now: UnixMillis,
) -> Result<Output, Failure> {
    match command {
        WebhookHostCommand::List => list(store),
        WebhookHostCommand::Approve { host } => review(store, host, Review::Approve, now),
        WebhookHostCommand::Reject { host, note } => {
            check_name("--note", note, MAX_REVIEW_NOTE_CHARS)?;
            review(store, host, Review::Reject(note), now)
        }
        WebhookHostCommand::Reset { host } => review(store, host, Review::Reset, now),
    }
}

fn list(store: &OperatorStore) -> Result<Output, Failure> {
    let mut rows = Rows::default();
    for host in store.webhook_hosts()? {
        let (name, status, note) = (&host.host, host.status.as_str(), host.note.as_deref());
        let (clients, told) = (host.clients.join(" "), note.unwrap_or_default());
        let line = format!("{name}  {status}  {clients}  {told}");
        let row = json!({
            "host": name,
            "host_status": status,
            "host_review_note": note,
            "reviewed_at": host.reviewed_at.map(|at| at.to_string()),
            "clients": host.clients,
        });
        rows.add(line, row);
    }
    Ok(rows.into_output("hosts"))
}

fn review(
    store: &mut OperatorStore,
    host: &str,
    review: Review<'_>,
    now: UnixMillis,
) -> Result<Output, Failure> {
    let host = host_named(host).ok_or_else(|| {
        Failure::Usage(
            "HOST must be only a host name, for example shop.example: no port, path, or `*`".into(),
        )
    })?;
    let given_up = store.review_webhook_host(&host, review, now)?;
    let (status, note) = match review {
        Review::Approve => (HostStatus::Approved, None),
        Review::Reject(note) => (HostStatus::Rejected, Some(note)),
        Review::Reset => (HostStatus::Pending, None),
    };
    let mut text = format!("{host} is {status}\n");
    if given_up > 0 {
        let _ = writeln!(text, "{given_up} deliveries were given up");
    }
    let json = json!({
        "host": host, "host_status": status.as_str(), "host_review_note": note,
        "given_up": given_up,
    });
    Ok(Output::new(json, text))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use crate::admin::fixture::{NOW, store};

    #[test]
    fn a_host_is_reviewed_under_its_one_name() {
        let (_dir, mut store) = store();
        let approve = WebhookHostCommand::Approve { host: "Bücher.Example.".into() };
        let output = run(&approve, &mut store, NOW).unwrap();
        assert_eq!(output.json["host"], "xn--bcher-kva.example");
        let reject = WebhookHostCommand::Reject {
            host: "xn--bcher-kva.example".into(),
            note: "not a shop".into(),
        };
        run(&reject, &mut store, NOW).unwrap();
        let listed = run(&WebhookHostCommand::List, &mut store, NOW).unwrap().json;
        assert_eq!(listed["hosts"].as_array().unwrap().len(), 1);
        assert_eq!(listed["hosts"][0]["host_status"], "REJECTED");
        assert_eq!(listed["hosts"][0]["host_review_note"], "not a shop");
        run(&approve, &mut store, NOW).unwrap();
        let listed = run(&WebhookHostCommand::List, &mut store, NOW).unwrap().json;
        assert_eq!(listed["hosts"][0]["host_status"], "APPROVED");
        assert_eq!(listed["hosts"][0]["host_review_note"], serde_json::Value::Null);
        let reset = WebhookHostCommand::Reset { host: "bücher.example".into() };
        for _ in 0..2 {
            assert_eq!(run(&reset, &mut store, NOW).unwrap().json["host_status"], "PENDING");
        }
        let listed = run(&WebhookHostCommand::List, &mut store, NOW).unwrap().json;
        assert_eq!(listed["hosts"], serde_json::json!([]));
    }

    #[test]
    fn an_invalid_host_or_note_is_a_usage_error() {
        let (_dir, mut store) = store();
        for host in ["", "https://shop.example", "shop.example:443", "shop.example/x"] {
            let approve = WebhookHostCommand::Approve { host: host.into() };
            assert_eq!(run(&approve, &mut store, NOW).unwrap_err().code(), 2, "{host}");
            let reset = WebhookHostCommand::Reset { host: host.into() };
            assert_eq!(run(&reset, &mut store, NOW).unwrap_err().code(), 2, "{host}");
        }
        for note in ["", " ", "two\nlines", &"x".repeat(501)] {
            let reject =
                WebhookHostCommand::Reject { host: "shop.example".into(), note: note.into() };
            assert_eq!(run(&reject, &mut store, NOW).unwrap_err().code(), 2, "{note:?}");
        }
    }
}
