//! Notifies waiting readers in this process when a session changes.

use std::collections::HashMap;
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use idgate_core::SessionId;
use tokio::sync::watch;

/// The sessions that are being watched.
#[derive(Debug, Default)]
pub(super) struct Changes(Mutex<HashMap<String, Watched>>);

#[derive(Debug)]
struct Watched {
    watchers: usize,
    sender: watch::Sender<()>,
}

/// Signals that a session may have changed. Spurious signals are possible.
#[derive(Debug)]
pub struct Watch {
    changes: Arc<Changes>,
    id: String,
    receiver: watch::Receiver<()>,
}

impl Changes {
    /// Starts to watch a session.
    pub(super) fn watch(self: &Arc<Self>, id: &SessionId) -> Watch {
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

    /// Notifies the watchers of the session. Call it after the commit.
    pub(super) fn publish(&self, id: &SessionId) {
        if let Some(watched) = self.sessions().get(id.as_str()) {
            watched.sender.send_replace(());
        }
    }

    /// The sessions that are being watched now.
    pub(super) fn watched(&self) -> Vec<String> {
        self.sessions().keys().cloned().collect()
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<String, Watched>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watch {
    /// Resolves when the session may have changed since the watch began, or since the previous
    /// call.
    pub async fn changed(&mut self) {
        if self.receiver.changed().await.is_err() {
            // The sender lives as long as any watch. Without a sender no change can come.
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn told(watch: &mut Watch) -> bool {
        watch.changed().now_or_never().is_some()
    }

    #[test]
    fn a_change_between_two_polls_is_signalled_for_that_session_only() {
        let changes = Arc::new(Changes::default());
        let (one, other) = (SessionId::new("ses_1"), SessionId::new("ses_2"));
        let (mut first, mut second) = (changes.watch(&one), changes.watch(&one));
        let mut bystander = changes.watch(&other);
        changes.publish(&one);
        changes.publish(&one);
        assert!(told(&mut first) && told(&mut second));
        assert!(!told(&mut first) && !told(&mut bystander));
    }

    #[test]
    fn sessions_without_watchers_are_removed() {
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
