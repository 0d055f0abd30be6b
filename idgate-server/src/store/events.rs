//! The status events of a session: rows of the transaction that changed the status, so that what
//! is told of a session has been committed.

use std::collections::HashMap;
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use idgate_core::ids::SessionId;
use idgate_core::time::UnixMillis;
use idgate_core::{Reason, WalletError};
use rusqlite::{Connection, Row};
use tokio::sync::watch;

use super::{Caller, Read, StoreError, time};

/// The use cases of a status stream.
pub trait EventStore {
    /// At most `limit` events of this caller's session that come after the event `after`. `None`:
    /// there is no such session.
    fn events(
        &self,
        caller: &Caller,
        id: &SessionId,
        after: u64,
        limit: usize,
    ) -> Read<'_, Option<EventPage>>;

    /// Tells of changes of a session from now on: after each commit of this process, not of others.
    fn watch(&self, id: &SessionId) -> Watch;
}

/// One committed change of a session's status.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct StatusEvent {
    /// Dense within the session, from 1.
    pub seq: u64,
    /// The status from here on.
    pub status: String,
    /// Why, when it is FAILED or EXPIRED.
    pub reason: Option<String>,
    /// What the wallet said, when that is the reason.
    pub wallet_error: Option<String>,
    /// Since when.
    pub occurred_at: UnixMillis,
}

/// Events of a session, read at one instant.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct EventPage {
    /// In order.
    pub events: Vec<StatusEvent>,
    /// The `seq` of the session's last event, whether or not it is among `events`.
    pub last: u64,
    /// Nothing more will happen to the session.
    pub settled: bool,
}

/// The sessions that somebody watches.
#[derive(Debug, Default)]
pub struct Changes(Mutex<HashMap<String, Watched>>);

#[derive(Debug)]
struct Watched {
    watchers: usize,
    sender: watch::Sender<()>,
}

/// Tells when a session may have changed. It may do so for nothing.
#[derive(Debug)]
pub struct Watch {
    changes: Arc<Changes>,
    id: String,
    receiver: watch::Receiver<()>,
}

impl Changes {
    /// Watches a session from now on.
    pub fn watch(self: &Arc<Self>, id: &SessionId) -> Watch {
        let id = id.as_str().to_owned();
        let mut sessions = self.sessions();
        let watched = sessions
            .entry(id.clone())
            .or_insert_with(|| Watched { watchers: 0, sender: watch::Sender::new(()) });
        watched.watchers = watched.watchers.saturating_add(1);
        let receiver = watched.sender.subscribe();
        drop(sessions);
        Watch { changes: self.clone(), id, receiver }
    }

    /// Tells those who watch the session. To be called after the commit.
    pub fn publish(&self, id: &SessionId) {
        if let Some(watched) = self.sessions().get(id.as_str()) {
            watched.sender.send_replace(());
        }
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<String, Watched>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watch {
    /// Resolves when the session may have changed since the watch began, or since the last time.
    pub async fn changed(&mut self) {
        if self.receiver.changed().await.is_err() {
            // The sender lives as long as a watch does; without it there is nothing to tell.
            pending().await
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut sessions = self.changes.sessions();
        let Some(watched) = sessions.get_mut(&self.id) else { return };
        watched.watchers = watched.watchers.saturating_sub(1);
        if watched.watchers == 0 {
            sessions.remove(&self.id);
        }
    }
}

/// Reads a page in one statement, so that session and events are of one instant.
pub(super) fn page(
    main: &Connection,
    caller: &Caller,
    id: &SessionId,
    after: u64,
    limit: usize,
) -> Result<Option<EventPage>, StoreError> {
    let mut statement = main.prepare_cached(
        "WITH s AS MATERIALIZED ( \
             SELECT settled_at, '[' || rtrim(events, ',') || ']' AS events FROM sessions \
             WHERE id = ?1 AND client_id = ?2 AND livemode = ?3 \
         ) \
         SELECT s.settled_at IS NOT NULL, json_array_length(s.events), \
         e.key + 1, e.value ->> 0, e.value ->> 1, e.value ->> 2, e.value ->> 3 \
         FROM s LEFT JOIN json_each(s.events) AS e ON e.key >= ?4 ORDER BY e.key LIMIT ?5",
    )?;
    let after = i64::try_from(after).unwrap_or(i64::MAX);
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let of_caller = (id.as_str(), caller.client_id.as_str(), caller.livemode, after, limit);
    let mut rows = statement.query(of_caller)?;
    let mut page: Option<EventPage> = None;
    while let Some(row) = rows.next()? {
        let page = match &mut page {
            Some(page) => page,
            None => page.insert(EventPage {
                events: Vec::new(),
                last: seq(row.get::<_, Option<i64>>(1)?.unwrap_or(0)),
                settled: row.get(0)?,
            }),
        };
        page.events.extend(event(row)?);
    }
    Ok(page)
}

/// The event of a row; none when the session has no more of them.
fn event(row: &Row<'_>) -> rusqlite::Result<Option<StatusEvent>> {
    let Some(number) = row.get::<_, Option<i64>>(2)? else { return Ok(None) };
    let reason: Option<String> = row.get(4)?;
    // Versions before the name was kept stored none.
    let unnamed = || {
        let is_wallets = reason.as_deref() == Some(Reason::WalletError.as_str());
        is_wallets.then(|| WalletError::Other.as_str().to_owned())
    };
    let wallet_error = row.get::<_, Option<String>>(6)?.or_else(unnamed);
    Ok(Some(StatusEvent {
        seq: seq(number),
        status: row.get(3)?,
        reason,
        wallet_error,
        occurred_at: time(row.get(5)?),
    }))
}

fn seq(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::time::Duration;

    use super::*;

    async fn told(watch: &mut Watch) -> bool {
        tokio::time::timeout(Duration::from_millis(50), watch.changed()).await.is_ok()
    }

    #[tokio::test]
    async fn a_change_between_two_looks_is_not_lost_and_other_sessions_are_not_told() {
        let changes = Arc::new(Changes::default());
        let (one, other) = (SessionId::new("ses_1"), SessionId::new("ses_2"));
        let (mut first, mut second) = (changes.watch(&one), changes.watch(&one));
        let mut bystander = changes.watch(&other);
        changes.publish(&one);
        changes.publish(&one);
        assert!(told(&mut first).await && told(&mut second).await);
        assert!(!told(&mut first).await && !told(&mut bystander).await);
    }

    #[test]
    fn sessions_that_nobody_watches_any_more_are_forgotten() {
        let changes = Arc::new(Changes::default());
        let id = SessionId::new("ses_1");
        let (first, second) = (changes.watch(&id), changes.watch(&id));
        drop(first);
        assert_eq!(changes.sessions().len(), 1);
        drop(second);
        assert!(changes.sessions().is_empty());
        changes.publish(&id);
    }
}
