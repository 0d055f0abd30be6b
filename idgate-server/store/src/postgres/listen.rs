//! Tells other nodes about changes. NOTIFY wakes the nodes that watch a session. It is sent after
//! the commit on its own connection, so that no commit waits for it. Notifications may get lost:
//! every watched session is also polled each second.

use std::collections::{HashMap, HashSet};
use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use idgate_core::SessionId;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{AsyncMessage, NoTls, Socket};

use super::super::types::StoreError;
use super::error::{Done, Failure};
use super::shared::Shared;
use super::tls;
use crate::address::Address;
use crate::audit_chain::hex;
use crate::postgres_statements::{execute, rows};

/// How often watched sessions are polled, and the delay before reconnecting.
const LOOK: Duration = Duration::from_secs(1);
/// How many changes may wait to be sent. Polling finds the rest.
const WAITING: usize = 4096;
/// Changes per notification, which is limited to 8000 bytes.
const AT_ONCE: usize = 100;
/// How long to collect further changes after a notification, because each one wakes every node.
const GATHER: Duration = Duration::from_millis(20);
/// Bytes that identify a session. If two sessions share them, one is read for nothing.
const WORD: usize = 16;
const CHANNEL: &str = "idgate_sessions";

/// Takes this node's changes to be announced.
pub(super) struct News(Sender<String>);

impl News {
    /// Also returns the receiver for the task that sends them.
    pub(super) fn new() -> (Self, Receiver<String>) {
        let (tell, told) = mpsc::channel(WAITING);
        (Self(tell), told)
    }

    /// Announces a change of a session to other nodes, if there is room.
    pub(super) fn tell(&self, id: &str) {
        // Polling finds changes that are not announced.
        let _ = self.0.try_send(word(id));
    }
}

/// Announces, listens and polls until the store is closed.
pub(super) async fn run(shared: Arc<Shared>, address: Address, told: Receiver<String>) {
    tokio::join!(tell(&shared, told), listen(&shared, &address), look(&shared));
}

async fn tell(shared: &Shared, mut told: Receiver<String>) {
    let mut words = Vec::new();
    while told.recv_many(&mut words, AT_ONCE).await > 0 {
        let text = format!("{} {}", shared.env.node, words.join(" "));
        if let Err(error) = notify(shared, &text).await {
            tracing::debug!(cause = ?error, "other nodes are not notified of changes");
        }
        if words.len() < AT_ONCE {
            tokio::time::sleep(GATHER).await;
        }
        words.clear();
    }
}

async fn notify(shared: &Shared, text: &str) -> Done<()> {
    let client = shared.aside.client().await?;
    execute(&client, "SELECT pg_notify($1, $2)", &[&CHANNEL, &text]).await?;
    Ok(())
}

async fn listen(shared: &Shared, address: &Address) {
    loop {
        let heard = if address.is_encrypted {
            match tls::connector(address.roots_file.as_deref()) {
                Ok(tls) => hear(shared, address, tls).await,
                Err(error) => Err(Failure::Store(StoreError::Failed(error))),
            }
        } else {
            hear(shared, address, NoTls).await
        };
        if let Err(error) = heard {
            tracing::debug!(cause = ?error, "changes on other nodes are found by polling");
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Listens on a connection of its own until it breaks.
async fn hear<T>(shared: &Shared, address: &Address, tls: T) -> Done<()>
where
    T: MakeTlsConnect<Socket>,
{
    let (client, mut connection) = address.config.connect(tls).await?;
    let listening = async {
        client.batch_execute(&format!("LISTEN {CHANNEL}")).await?;
        // The connection ends with its client.
        std::future::pending::<Done<()>>().await
    };
    let hearing = async {
        while let Some(message) = poll_fn(|context| connection.poll_message(context)).await {
            if let AsyncMessage::Notification(heard) = message? {
                shared.hear(heard.payload());
            }
        }
        Ok(())
    };
    tokio::select! {
        done = listening => done,
        done = hearing => done,
    }
}

impl Shared {
    fn hear(&self, text: &str) {
        let mut words = text.split(' ');
        // Its own changes were published locally when they were made.
        if words.next() == Some(&self.env.node) {
            return;
        }
        let words: HashSet<&str> = words.collect();
        for id in self.env.changes.watched() {
            if words.contains(&*word(&id)) {
                self.env.changes.publish(&SessionId::new(id));
            }
        }
    }
}

/// The session's name in a notification. Every database role may listen, and the id of an open
/// session is enough to answer it, so the id is hashed.
fn word(id: &str) -> String {
    let digest = digest(&SHA256, id.as_bytes());
    hex(digest.as_ref().get(..WORD).unwrap_or_default())
}

/// The last revision of a watched session, and how often it was polled.
type LaneCache = HashMap<String, (Option<i64>, usize)>;

async fn look(shared: &Shared) {
    let mut known = LaneCache::new();
    loop {
        tokio::time::sleep(LOOK).await;
        let watched = shared.env.changes.watched();
        let still: HashSet<&str> = watched.iter().map(String::as_str).collect();
        known.retain(|id, _| still.contains(&**id));
        if watched.is_empty() {
            continue;
        }
        if let Err(error) = look_once(shared, &watched, &mut known).await {
            tracing::debug!(cause = ?error, "watched sessions cannot be read");
        }
    }
}

async fn look_once(shared: &Shared, watched: &[String], known: &mut LaneCache) -> Done<()> {
    let client = shared.aside.client().await?;
    let sql = "SELECT id, revision FROM sessions WHERE id = ANY($1)";
    let mut revisions = HashMap::new();
    for row in rows(&client, sql, &[&watched]).await? {
        revisions.insert(row.try_get::<_, String>(0)?, row.try_get::<_, i64>(1)?);
    }
    for id in watched {
        let revision = revisions.get(id).copied();
        let (before, looks) = known.entry(id.clone()).or_insert((revision, 0));
        *looks = looks.saturating_add(1);
        // A change between the start of a watch and the first poll is published with the second
        // poll.
        if *before != revision || *looks == 2 {
            *before = revision;
            shared.env.changes.publish(&SessionId::new(id.clone()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notification_does_not_contain_the_session_id() {
        let (one, other) = (word("ses_one"), word("ses_other"));
        assert_eq!(one, word("ses_one"));
        assert_ne!(one, other);
        assert!(one.len() == 2 * WORD && !one.contains("ses_one"));
    }
}
