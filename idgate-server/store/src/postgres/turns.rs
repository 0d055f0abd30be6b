//! Turns for writes: a client has at most half of the connections at a time, so a busy client waits
//! behind itself. Its writes wait for each other anyway, at the head of its audit chain.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::super::lanes::LaneKey;
use super::super::types::StoreError;
use super::error::{Done, Failure};
use idgate_base::clock::Clock;

/// How long a write waits behind others of the same client before load is shed.
const TURN: Duration = Duration::from_secs(3);

/// The lanes of writers.
pub(super) struct Turns {
    /// Turns of one client at a time.
    at_once: usize,
    clock: Arc<dyn Clock>,
    lanes: Mutex<HashMap<LaneKey, Arc<Semaphore>>>,
}

/// A running turn, which ends when this value is dropped.
pub(super) struct Turn {
    /// `None`: the gateway's own work is not limited.
    permit: Option<OwnedSemaphorePermit>,
    turns: Arc<Turns>,
    whose: LaneKey,
}

impl Turns {
    /// For this many connections.
    pub(super) fn of(connections: usize, clock: Arc<dyn Clock>) -> Arc<Self> {
        Arc::new(Self { at_once: (connections / 2).max(1), clock, lanes: Mutex::default() })
    }

    /// Waits for a turn.
    ///
    /// # Errors
    /// [`StoreError::Busy`]: the turn does not come soon.
    pub(super) async fn take(self: Arc<Self>, whose: LaneKey) -> Done<Turn> {
        if whose == LaneKey::GATEWAY {
            return Ok(Turn { permit: None, turns: self, whose });
        }
        let lane = self.lanes().entry(whose).or_insert_with(|| self.lane()).clone();
        // From here on, dropping the turn cleans up the lane, whatever happens.
        let mut turn = Turn { permit: None, turns: self, whose };
        let permit = turn.turns.clock.timeout(TURN, lane.acquire_owned()).await;
        let busy = || Failure::Store(StoreError::Busy);
        turn.permit = Some(permit.map_err(|_| busy())?.map_err(|_| busy())?);
        Ok(turn)
    }

    fn lane(&self) -> Arc<Semaphore> {
        Arc::new(Semaphore::new(self.at_once))
    }

    fn lanes(&self) -> MutexGuard<'_, HashMap<LaneKey, Arc<Semaphore>>> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removes the lane when nothing is in it.
impl Drop for Turn {
    fn drop(&mut self) {
        self.permit = None;
        let mut lanes = self.turns.lanes();
        // Writers, and those that wait to write, hold a reference as well.
        let is_idle = lanes.get(&self.whose).is_some_and(|lane| Arc::strong_count(lane) == 1);
        if is_idle {
            lanes.remove(&self.whose);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use idgate_base::clock::SystemClock;

    #[tokio::test]
    async fn a_busy_client_only_delays_itself() {
        let turns = Turns::of(4, Arc::new(SystemClock));
        let (much, little) = (LaneKey::of("much"), LaneKey::of("little"));
        let first = turns.clone().take(much).await.unwrap();
        let _second = turns.clone().take(much).await.unwrap();
        let third = tokio::spawn(turns.clone().take(much));
        drop(turns.clone().take(little).await.unwrap());
        drop(turns.clone().take(LaneKey::GATEWAY).await.unwrap());
        assert!(!third.is_finished());
        drop(first);
        drop(third.await.unwrap().unwrap());
    }

    #[tokio::test]
    async fn finished_turns_leave_nothing_behind() {
        let turns = Turns::of(1, Arc::new(SystemClock));
        let lane = LaneKey::of("one");
        let first = turns.clone().take(lane).await.unwrap();
        let second = tokio::spawn(turns.clone().take(lane));
        tokio::task::yield_now().await;
        second.abort();
        let _ended = second.await;
        drop(first);
        assert!(turns.lanes().is_empty());
    }
}
