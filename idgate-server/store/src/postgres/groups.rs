//! Group commit. Changes that arrive in a lane while a transaction of that lane is in progress are
//! written together by the next transaction. A lane belongs to a client, whose transactions would
//! have to wait for each other at the head of its audit chain anyway. So hardly any change waits
//! longer, and a busy client uses a single connection. A lone change does not wait for others.
//! Changes that arrive while a node waits for its turn join those already waiting.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use super::super::lanes::LaneKey;
use super::super::types::StoreError;
use super::error::panicked;
use idgate_base::clock::Clock;

/// The most changes in one transaction.
const MOST: usize = 64;
/// How long a change waits behind others in its lane before load is shed.
pub(super) const TURN: Duration = Duration::from_secs(3);
/// The same for the gateway's own changes.
const OWN_TURN: Duration = Duration::from_secs(14);

type Teller<T> = oneshot::Sender<Result<T, StoreError>>;

/// Waiting changes of type `J`, each with an outcome of type `T`.
pub(super) struct Groups<J, T>(Mutex<HashMap<LaneKey, VecDeque<Waiting<J, T>>>>);

struct Waiting<J, T> {
    job: J,
    teller: Teller<T>,
    place: Arc<()>,
}

/// A waiting change, from its caller's side.
pub(super) struct Place<J, T> {
    groups: Arc<Groups<J, T>>,
    whose: LaneKey,
    own: Arc<()>,
    told: oneshot::Receiver<Result<T, StoreError>>,
}

/// A lane whose holder has to write until it is empty.
pub(super) struct Lane<J, T> {
    groups: Arc<Groups<J, T>>,
    whose: LaneKey,
    is_left: bool,
}

/// The changes that are written together.
pub(super) struct Group<J, T> {
    pub(super) jobs: Vec<J>,
    tellers: Vec<Teller<T>>,
}

impl<J, T> Default for Groups<J, T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<J, T> Groups<J, T> {
    /// Queues a change in a lane. Returns the lane as well if no other task is writing it.
    pub(super) fn join(
        self: &Arc<Self>,
        whose: LaneKey,
        job: J,
    ) -> (Place<J, T>, Option<Lane<J, T>>) {
        let (teller, told) = oneshot::channel();
        let own = Arc::new(());
        let mut lanes = self.lanes();
        let is_new = !lanes.contains_key(&whose);
        let waiting = Waiting { job, teller, place: own.clone() };
        lanes.entry(whose).or_default().push_back(waiting);
        drop(lanes);
        let lane = is_new.then(|| Lane { groups: self.clone(), whose, is_left: false });
        (Place { groups: self.clone(), whose, own, told }, lane)
    }

    fn lanes(&self) -> MutexGuard<'_, HashMap<LaneKey, VecDeque<Waiting<J, T>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<J, T> Lane<J, T> {
    /// The next group of waiting changes. `None`: nothing waits, and the lane is released. `fits`
    /// decides whether a job can join those before it.
    pub(super) fn next(&mut self, fits: impl Fn(&[J], &J) -> bool) -> Option<Group<J, T>> {
        let mut lanes = self.groups.lanes();
        let group = take(lanes.get_mut(&self.whose), MOST, fits);
        if group.jobs.is_empty() {
            lanes.remove(&self.whose);
            self.is_left = true;
            return None;
        }
        Some(group)
    }

    /// The changes that arrived since `first` was taken and can join it.
    pub(super) fn more(&self, first: &Group<J, T>, fits: impl Fn(&[J], &J) -> bool) -> Group<J, T> {
        let room = MOST.saturating_sub(first.jobs.len());
        let fits = |more: &[J], next: &J| fits(&first.jobs, next) && fits(more, next);
        take(self.groups.lanes().get_mut(&self.whose), room, fits)
    }

    /// Whether it is the gateway's own lane.
    pub(super) fn is_gateways(&self) -> bool {
        self.whose == LaneKey::GATEWAY
    }
}

/// Takes at most `most` fitting changes from the front of a lane.
fn take<J, T>(
    lane: Option<&mut VecDeque<Waiting<J, T>>>,
    most: usize,
    fits: impl Fn(&[J], &J) -> bool,
) -> Group<J, T> {
    let mut group = Group { jobs: Vec::new(), tellers: Vec::new() };
    let Some(lane) = lane else { return group };
    while lane.front().is_some_and(|next| fits(&group.jobs, &next.job))
        && group.jobs.len() < most
        && let Some(waiting) = lane.pop_front()
    {
        group.jobs.push(waiting.job);
        group.tellers.push(waiting.teller);
    }
    group
}

/// A task that panics releases its lane.
impl<J, T> Drop for Lane<J, T> {
    fn drop(&mut self) {
        if !self.is_left {
            self.groups.lanes().remove(&self.whose);
        }
    }
}

impl<J, T> Group<J, T> {
    /// Sends the outcomes of the jobs, in order.
    pub(super) fn tell(self, outcomes: Vec<Result<T, StoreError>>) {
        for (teller, outcome) in self.tellers.into_iter().zip(outcomes) {
            // The receiver may be gone.
            let _ = teller.send(outcome);
        }
    }
}

impl<J, T> Place<J, T> {
    /// Waits for the outcome.
    ///
    /// # Errors
    /// [`StoreError::Busy`]: its turn does not come soon. Others as the store has them.
    pub(super) async fn told(mut self, clock: &dyn Clock) -> Result<T, StoreError> {
        let turn = if self.whose == LaneKey::GATEWAY { OWN_TURN } else { TURN };
        let told = match clock.timeout(turn, &mut self.told).await {
            Ok(told) => told,
            Err(_) if self.leave() => return Err(StoreError::Busy),
            Err(_) => (&mut self.told).await,
        };
        told.unwrap_or_else(|_| Err(panicked()))
    }

    /// Leaves the queue. Returns whether it was still waiting.
    fn leave(&self) -> bool {
        let mut lanes = self.groups.lanes();
        let Some(lane) = lanes.get_mut(&self.whose) else { return false };
        let before = lane.len();
        lane.retain(|waiting| !Arc::ptr_eq(&waiting.place, &self.own));
        lane.len() < before
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tokio::task::JoinHandle;

    use super::*;
    use idgate_base::clock::{SystemClock, VirtualClock};

    type Numbers = Arc<Groups<u32, u32>>;

    const LANE: LaneKey = LaneKey::STRANGERS;

    fn unlike(group: &[u32], next: &u32) -> bool {
        !group.contains(next)
    }

    fn jobs(lane: &mut Lane<u32, u32>) -> Option<Vec<u32>> {
        lane.next(unlike).map(|group| group.jobs)
    }

    #[test]
    fn waiting_changes_are_grouped_in_order_with_one_writer_per_lane() {
        let groups = Numbers::default();
        let (_first, lane) = groups.join(LANE, 1);
        let mut lane = lane.unwrap();
        assert_eq!(jobs(&mut lane), Some(vec![1]));
        let places: Vec<_> = (2..=70).map(|job| groups.join(LANE, job)).collect();
        assert!(places.iter().all(|(_, lane)| lane.is_none()));
        assert_eq!(jobs(&mut lane), Some((2..=65).collect()));
        assert_eq!(jobs(&mut lane), Some((66..=70).collect()));
        assert_eq!(jobs(&mut lane), None);
        let (_later, again) = groups.join(LANE, 71);
        drop(lane);
        assert_eq!(jobs(&mut again.unwrap()), Some(vec![71]));
    }

    #[test]
    fn changes_of_one_session_do_not_go_together() {
        let groups = Numbers::default();
        let (_first, lane) = groups.join(LANE, 1);
        let _others: Vec<_> = [2, 1, 3].map(|job| groups.join(LANE, job)).into();
        let mut lane = lane.unwrap();
        assert_eq!(jobs(&mut lane), Some(vec![1, 2]));
        assert_eq!(jobs(&mut lane), Some(vec![1, 3]));
    }

    #[test]
    fn later_changes_join_a_group_if_they_fit_and_there_is_room() {
        let groups = Numbers::default();
        let (_first, lane) = groups.join(LANE, 1);
        let mut lane = lane.unwrap();
        let mut first = lane.next(unlike).unwrap();
        assert!(lane.more(&first, unlike).jobs.is_empty());
        let _others: Vec<_> = [2, 3, 1, 4].map(|job| groups.join(LANE, job)).into();
        assert_eq!(lane.more(&first, unlike).jobs, [2, 3]);
        first.jobs = (10..72).collect();
        let _later: Vec<_> = [5, 6].map(|job| groups.join(LANE, job)).into();
        assert_eq!(lane.more(&first, unlike).jobs, [1, 4]);
        assert_eq!(jobs(&mut lane), Some(vec![5, 6]));
    }

    #[tokio::test]
    async fn each_change_gets_its_own_outcome() {
        let groups = Numbers::default();
        let ((first, lane), (second, _)) = (groups.join(LANE, 1), groups.join(LANE, 2));
        let group = lane.unwrap().next(unlike).unwrap();
        group.tell(vec![Ok(10), Err(StoreError::Full)]);
        assert_eq!(first.told(&SystemClock).await.unwrap(), 10);
        assert!(matches!(second.told(&SystemClock).await, Err(StoreError::Full)));
    }

    /// The outcome at `place`, whose wait for a turn has timed out.
    async fn waited_for(place: Place<u32, u32>) -> JoinHandle<Result<u32, StoreError>> {
        let clock = VirtualClock::default();
        let waiting = clock.clone();
        let told = tokio::spawn(async move { place.told(&waiting).await });
        clock.until_waiting_for(TURN, 1).await;
        clock.pass(TURN).await;
        told
    }

    #[tokio::test]
    async fn a_change_that_waited_too_long_is_not_written() {
        let groups = Numbers::default();
        let (_first, lane) = groups.join(LANE, 1);
        let mut lane = lane.unwrap();
        assert_eq!(jobs(&mut lane), Some(vec![1]));
        let (waiting, _) = groups.join(LANE, 2);
        let told = waited_for(waiting).await.await.unwrap();
        assert!(matches!(told, Err(StoreError::Busy)));
        assert_eq!(jobs(&mut lane), None);
    }

    #[tokio::test]
    async fn a_change_that_is_being_written_is_waited_for() {
        let groups = Numbers::default();
        let (first, lane) = groups.join(LANE, 1);
        let group = lane.unwrap().next(unlike).unwrap();
        let told = waited_for(first).await;
        group.tell(vec![Ok(10)]);
        assert_eq!(told.await.unwrap().unwrap(), 10);
    }

    #[tokio::test]
    async fn a_panicking_writer_releases_its_lane() {
        let groups = Numbers::default();
        let (first, lane) = groups.join(LANE, 1);
        drop(lane);
        assert!(first.told(&SystemClock).await.is_err());
        assert!(groups.join(LANE, 2).1.is_some());
    }
}
