//! The status stream of a session: committed events in order, for a reader that may stop and
//! resume. A reader stores only its position in the sequence, so it costs the same however far
//! behind it is.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use idgate_core::SessionId;

use super::{App, AppError};
use crate::limits::{STREAMS_PER_CLIENT, STREAMS_PER_SESSION};
use idgate_store::{Caller, StatusEvent, Watch};

/// Events per read.
const PAGE: usize = 32;

/// A reader of one session's events.
pub struct StatusStream {
    app: Arc<App>,
    caller: Arc<Caller>,
    id: SessionId,
    after: u64,
    watch: Watch,
    /// `None` if no place was left.
    place: Option<Place>,
}

/// Why a stream ends.
#[derive(Debug)]
#[non_exhaustive]
pub enum StreamEnd {
    /// The session is settled and all events were sent.
    Settled,
    /// The session was deleted.
    Deleted,
    /// The key was revoked, rotated or has expired, or its client was revoked.
    KeyGone,
    /// The reader asks for events after one that does not exist.
    AfterTheLast,
    /// The session or the client has too many streams.
    TooMany,
    /// The store failed; the text is for the operator.
    Fault(String),
}

impl App {
    /// Opens the stream of the caller's session after the event `after`.
    ///
    /// # Errors
    /// The caller has no session with this id in this mode.
    pub async fn open_stream(
        self: &Arc<Self>,
        caller: Arc<Caller>,
        id: &SessionId,
        after: u64,
    ) -> Result<StatusStream, AppError> {
        // Watch before the first read, so that no event is missed in between.
        let watch = self.store.watch(id);
        self.store.events(&caller, id, after, 1).await?.ok_or(AppError::NotFound)?;
        let place = self.streams.enter(&caller, id);
        let (app, id) = (self.clone(), id.clone());
        Ok(StatusStream { app, caller, id, after, watch, place })
    }
}

impl StatusStream {
    /// The session.
    pub fn session_id(&self) -> &SessionId {
        &self.id
    }

    /// The mode of the session.
    pub fn livemode(&self) -> bool {
        self.caller.livemode
    }

    /// The events committed since the last call, some at a time; empty once all were returned. Each
    /// call checks the key first.
    ///
    /// # Errors
    /// Why the stream ended.
    pub async fn next_events(&mut self) -> Result<Vec<StatusEvent>, StreamEnd> {
        if self.place.is_none() {
            return Err(StreamEnd::TooMany);
        }
        let store = &self.app.store;
        if store.authenticate(&self.caller.digest, self.app.now()).await?.is_none() {
            return Err(StreamEnd::KeyGone);
        }
        let page = store.events(&self.caller, &self.id, self.after, PAGE).await?;
        let page = page.ok_or(StreamEnd::Deleted)?;
        if self.after > page.last {
            return Err(StreamEnd::AfterTheLast);
        }
        match page.events.last() {
            Some(event) => self.after = event.seq,
            None if page.settled => return Err(StreamEnd::Settled),
            None => {}
        }
        Ok(page.events)
    }

    /// Resolves when there may be new events. Changes made by other processes do not resolve it, so
    /// poll now and then as well.
    pub async fn changed(&mut self) {
        self.watch.changed().await;
    }
}

impl From<idgate_store::StoreError> for StreamEnd {
    fn from(error: idgate_store::StoreError) -> Self {
        Self::Fault(error.to_string())
    }
}

/// Counts the open streams.
#[derive(Debug, Default)]
pub(super) struct Streams(Mutex<Open>);

#[derive(Debug, Default)]
struct Open {
    of_sessions: HashMap<String, usize>,
    of_clients: HashMap<String, usize>,
}

/// A counted stream; dropping it frees its place.
struct Place {
    streams: Arc<Streams>,
    session: String,
    client: String,
}

impl Streams {
    /// Takes a place for one more stream; `None` if the session or the client has none left.
    fn enter(self: &Arc<Self>, caller: &Caller, id: &SessionId) -> Option<Place> {
        let (session, client) = (id.as_str().to_owned(), caller.client_id.as_str().to_owned());
        let mut open = self.open();
        let full = |counts: &HashMap<String, usize>, name: &str, most| {
            counts.get(name).is_some_and(|count| *count >= most)
        };
        if full(&open.of_sessions, &session, STREAMS_PER_SESSION)
            || full(&open.of_clients, &client, STREAMS_PER_CLIENT)
        {
            return None;
        }
        *open.of_sessions.entry(session.clone()).or_default() += 1;
        *open.of_clients.entry(client.clone()).or_default() += 1;
        Some(Place { streams: self.clone(), session, client })
    }

    /// The number of open streams.
    pub(super) fn count(&self) -> usize {
        self.open().of_clients.values().sum()
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.streams.open();
        let Open { of_sessions, of_clients } = &mut *open;
        for (counts, name) in [(of_sessions, &self.session), (of_clients, &self.client)] {
            let Some(count) = counts.get_mut(name) else { continue };
            *count = count.saturating_sub(1);
            if *count == 0 {
                counts.remove(name);
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use idgate_core::TenantId;

    use super::*;

    fn caller(client: &str) -> Caller {
        Caller {
            client_id: TenantId::new(client),
            key_id: "key_x".into(),
            digest: [0; 32],
            livemode: true,
            scopes: None,
            since: idgate_base::clock::Moment::now(),
        }
    }

    #[test]
    fn a_session_has_five_places_and_gets_them_back() {
        let streams = Arc::new(Streams::default());
        let (caller, id) = (caller("cli_a"), SessionId::new("ses_1"));
        let mut places: Vec<_> = (0..5).map(|_| streams.enter(&caller, &id).unwrap()).collect();
        assert!(streams.enter(&caller, &id).is_none());
        assert!(streams.enter(&caller, &SessionId::new("ses_2")).is_some());
        places.pop();
        assert!(streams.enter(&caller, &id).is_some());
        drop(places);
        assert!(streams.open().of_sessions.is_empty() && streams.open().of_clients.is_empty());
    }

    #[test]
    fn a_client_has_500_places_and_does_not_affect_others() {
        let streams = Arc::new(Streams::default());
        let id = |n: usize| SessionId::new(format!("ses_{n}"));
        let places: Vec<_> =
            (0..500).map(|n| streams.enter(&caller("cli_a"), &id(n)).unwrap()).collect();
        assert!(streams.enter(&caller("cli_a"), &id(500)).is_none());
        assert!(streams.enter(&caller("cli_b"), &id(500)).is_some());
        drop(places);
        assert!(streams.enter(&caller("cli_a"), &id(500)).is_some());
    }
}
