//! `idgate listen`: forwards the notifications of a test client to an address of this machine, as
//! payment services do for developers. Nothing is stored and nothing is retried.

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use idgate::Answer;
use idgate_core::UnixMillis;
use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::shell::webhook::Notification;
use serde_json::json;
use tokio::runtime::Builder;
use url::{Host, Url};

use crate::config::Cidr;
use crate::failure::Failure;
use crate::limits::WEBHOOK_TIME;
use crate::stdio;
use crate::work::delivery::{Courier, Message};
use idgate_base::api_key::ApiKey;
use idgate_base::clock::{Clock, SystemClock};
use idgate_store::audit_chain::AuditEntry;
use idgate_store::{Listener, OperatorStore, Target, notification_id};

/// The pause between two looks for new settlements.
const POLL: Duration = Duration::from_millis(200);
/// Entries read at a time.
const BATCH: usize = 100;
/// The addresses allowed for `--forward`.
const LOOPBACK: [&str; 2] = ["127.0.0.0/8", "::1/128"];

/// The options of `idgate listen`.
#[derive(Debug, Args)]
pub struct ListenOptions {
    /// The URL that gets the notifications: http, on this machine
    #[arg(long, value_name = "URL")]
    forward: String,
    /// An API key of the test client
    #[arg(long, value_name = "KEY")]
    api_key: String,
}

/// Forwards until the key ends or the process is stopped. `json`: each line is an object.
///
/// # Errors
/// It cannot start, or the key is no longer valid; the text says what to do.
pub fn run(options: &ListenOptions, store: &OperatorStore, json: bool) -> Result<(), Failure> {
    let to = receiver(&options.forward)?;
    let key = ApiKey::parse(&options.api_key)
        .ok_or_else(|| Failure::Usage("--api-key: not an API key of idgate".into()))?;
    if key.livemode() {
        return Err(Failure::Usage(
            "listen is for test mode; use a key that begins with sk_test_".into(),
        ));
    }
    let digest = key.digest();
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::Error(format!("cannot start: {error}")))?;
    let allowed: Result<Vec<_>, _> = LOOPBACK.into_iter().map(Cidr::parse).collect();
    let egress = Arc::new(crate::work::way_out(allowed?, None)?);
    if !runtime.block_on(egress.is_allowed_explicitly(&to)) {
        return Err(elsewhere());
    }
    let courier = Courier::new(PROVIDER, egress, true);
    let listener = followed(store, &digest)?;
    let mut seen = store.last_entry(&listener.client_id)?;
    tell(
        json,
        &json!({ "listening": listener.client_id, "forward": to.as_str() }),
        &format!(
            "forwarding the notifications of {} to {to}, signed with its signing secret; Ctrl-C stops it",
            listener.client_id
        ),
    );
    loop {
        let listener = followed(store, &digest)?;
        for entry in store.entries_after(&listener.client_id, seen, BATCH)? {
            seen = entry.seq;
            let Some(notice) = Notice::of(&entry) else { continue };
            let target = target(&listener, &to);
            let outcome = runtime.block_on(notice.send(&courier, &target, SystemClock.now()));
            notice.report(json, outcome);
        }
        std::thread::sleep(POLL);
    }
}

/// The URL to post to, if it is on this machine.
fn receiver(text: &str) -> Result<Url, Failure> {
    let url = Url::parse(text).ok().filter(|url| url.scheme() == "http").ok_or_else(elsewhere)?;
    let is_plain =
        url.username().is_empty() && url.password().is_none() && url.fragment().is_none();
    let is_here = match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    };
    if is_plain && is_here { Ok(url) } else { Err(elsewhere()) }
}

fn elsewhere() -> Failure {
    Failure::Usage(
        "--forward: must be a URL on this machine, for example http://127.0.0.1:3000/hook".into(),
    )
}

fn followed(store: &OperatorStore, digest: &[u8; 32]) -> Result<Listener, Failure> {
    store.listener(digest, SystemClock.now())?.ok_or_else(|| {
        Failure::Error(
            "this gateway refuses the API key: it is unknown, revoked or expired; `idgate client \
             key list` lists the active ones"
                .into(),
        )
    })
}

fn target(listener: &Listener, to: &Url) -> Target {
    let (secret, previous) = (listener.secret.clone(), listener.previous.clone());
    Target { url: to.to_string(), livemode: listener.livemode, secret, previous }
}

/// A notification.
struct Notice {
    id: String,
    session_id: String,
    status: String,
    body: String,
}

impl Notice {
    /// `None`: the entry is not about a settlement.
    fn of(entry: &AuditEntry) -> Option<Self> {
        if !["VERIFIED", "FAILED", "EXPIRED"].contains(&&*entry.status) {
            return None;
        }
        let session_id = entry.session_id.as_deref()?;
        let notification = Notification {
            session_id,
            client_id: &entry.client_id,
            status: &entry.status,
            latency_ms: entry.latency_ms?,
            issuer_id: entry.issuer_ids.as_ref()?.first()?,
        };
        Some(Self {
            id: notification_id(session_id),
            body: notification.to_json(),
            session_id: session_id.to_owned(),
            status: entry.status.clone(),
        })
    }

    async fn send(
        &self,
        courier: &Courier,
        target: &Target,
        now: UnixMillis,
    ) -> Result<Answer, String> {
        let message = Message { id: &self.id, at: now, number: 1, body: &self.body };
        courier.carry(target, message, WEBHOOK_TIME, Arc::new(())).await
    }

    fn report(&self, json: bool, outcome: Result<Answer, String>) {
        let (status, error) = match outcome {
            Ok(answer) => (Some(answer.status), None),
            Err(error) => (None, Some(error)),
        };
        let Self { session_id, status: ended, .. } = self;
        let said = match (status, &error) {
            (Some(status), _) => status.to_string(),
            (None, Some(error)) => error.clone(),
            (None, None) => String::new(),
        };
        let object = json!({
            "session_id": session_id, "status": ended, "http_status": status, "error_message": error
        });
        tell(json, &object, &format!("{session_id}  {ended}  {said}"));
    }
}

fn tell(json: bool, object: &serde_json::Value, text: &str) {
    stdio::to_stdout(if json { format!("{object}\n") } else { format!("{text}\n") });
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn it_forwards_to_this_machine_only() {
        for here in [
            "http://127.0.0.1:3000",
            "http://127.0.0.1:3000/hook?a=b",
            "http://[::1]:3000/",
            "http://localhost:3000/",
            "http://127.8.8.8/",
        ] {
            assert!(receiver(here).is_ok(), "{here}");
        }
        for elsewhere in [
            "",
            "3000",
            "127.0.0.1:3000",
            "https://127.0.0.1:3000/",
            "http://shop.example/",
            "http://localhost.shop.example/",
            "http://192.168.0.1:3000/",
            "http://0.0.0.0:3000/",
            "http://[::]:3000/",
            "http://user@127.0.0.1:3000/",
            "http://127.0.0.1:3000/#x",
            "ftp://127.0.0.1/",
        ] {
            assert_eq!(receiver(elsewhere).unwrap_err().code(), 2, "{elsewhere}");
        }
    }
}
