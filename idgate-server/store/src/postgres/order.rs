//! Concurrent deletions of one session run one after another, in the order of their requests: the
//! first one finds the session.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use idgate_core::SessionId;
use tokio::sync::Semaphore;

/// The last request for each session.
#[derive(Default)]
pub(super) struct Order(Mutex<HashMap<SessionId, End>>);

/// Closed when that request is done.
type End = Arc<Semaphore>;

/// A place in a session's queue. Dropping it lets the next request proceed.
pub(super) struct Place {
    before: Option<End>,
    end: End,
    order: Arc<Order>,
    id: SessionId,
}

impl Order {
    /// Takes the next place without waiting.
    pub(super) fn next(self: &Arc<Self>, id: &SessionId) -> Place {
        let end = Arc::new(Semaphore::new(0));
        let before = self.last().insert(id.clone(), end.clone());
        Place { before, end, order: self.clone(), id: id.clone() }
    }

    fn last(&self) -> MutexGuard<'_, HashMap<SessionId, End>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// Waits for all earlier requests.
    pub(super) async fn come(&self) {
        if let Some(before) = &self.before {
            // The semaphore has no permits: `acquire` fails when it is closed.
            let _closed = before.acquire().await;
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.end.close();
        let mut last = self.order.last();
        if last.get(&self.id).is_some_and(|end| Arc::ptr_eq(end, &self.end)) {
            last.remove(&self.id);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn places_come_in_the_order_in_which_they_were_taken() {
        let order = Arc::new(Order::default());
        let (one, other) = (SessionId::new("ses_1"), SessionId::new("ses_2"));
        let (first, second) = (order.next(&one), order.next(&one));
        order.next(&other).come().await;
        let waiting = tokio::spawn(async move { second.come().await });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        first.come().await;
        drop(first);
        waiting.await.unwrap();
        assert!(order.last().is_empty());
    }
}
