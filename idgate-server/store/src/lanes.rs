//! A bounded queue with lanes that take turns. A caller that sends many requests waits behind its
//! own, and finds its lane full while others still have room. The gateway's own work has a lane
//! without a bound: its tasks bound it, and erasing must not wait for room.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher, Hash};
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use idgate_base::telemetry::Use;

/// The owner of a lane: a client, a client's wallets, or callers with unknown keys.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) struct LaneKey(u64);

impl LaneKey {
    /// The gateway's own lane.
    pub(super) const GATEWAY: Self = Self(0);

    /// The lane of all callers that gave an unknown name.
    pub(super) const STRANGERS: Self = Self(1);

    /// The lane for this name. Callers must not be able to choose the name. If two names share a
    /// lane by chance, they only wait a little longer.
    pub(super) fn of(name: impl Hash) -> Self {
        Self(BuildHasherDefault::<DefaultHasher>::default().hash_one(name))
    }
}

/// How many jobs may wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// In one lane.
    pub(super) per_lane: usize,
    /// In all lanes.
    pub(super) in_all: usize,
}

/// Work of type `T`, taken by threads that wait for it.
pub(super) struct Lanes<T> {
    room: Room,
    state: Mutex<State<T>>,
    wake: Condvar,
}

struct State<T> {
    lanes: HashMap<LaneKey, VecDeque<T>>,
    /// The lanes that are not empty, in the order of their turns.
    turns: VecDeque<LaneKey>,
    queued: usize,
    asleep: usize,
    /// One thread was called and has not woken up yet.
    called: bool,
    closed: bool,
}

/// Why a job was not queued.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum NoRoom {
    /// The lane is full, or the whole queue is.
    Full,
    /// The queue is closed.
    Closed,
}

impl<T> Lanes<T> {
    pub(super) fn new(room: Room) -> Self {
        let (lanes, turns) = (HashMap::new(), VecDeque::new());
        let state = State { lanes, turns, queued: 0, asleep: 0, called: false, closed: false };
        Self { room, state: Mutex::new(state), wake: Condvar::new() }
    }

    /// Adds `job` to the end of a lane.
    pub(super) fn push(&self, whose: LaneKey, job: T) -> Result<(), NoRoom> {
        let mut state = self.state();
        if state.closed {
            return Err(NoRoom::Closed);
        }
        let State { lanes, turns, queued, .. } = &mut *state;
        let waiting = lanes.get(&whose).map_or(0, VecDeque::len);
        let full = *queued >= self.room.in_all || waiting >= self.room.per_lane;
        if full && whose != LaneKey::GATEWAY {
            return Err(NoRoom::Full);
        }
        let lane = lanes.entry(whose).or_default();
        if lane.is_empty() {
            turns.push_back(whose);
        }
        lane.push_back(job);
        *queued = queued.saturating_add(1);
        self.call_one(state);
        Ok(())
    }

    /// The next job, from the lane whose turn it is. Waits until there is one. `None`: the queue is
    /// closed and empty.
    pub(super) fn recv(&self) -> Option<T> {
        let mut state = self.state();
        loop {
            if let Some(job) = state.take() {
                self.call_one(state);
                return Some(job);
            }
            if state.closed {
                return None;
            }
            state.lie_down();
            state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.get_up();
        }
    }

    /// Like `recv`, for at most `patience`.
    pub(super) fn recv_timeout(&self, patience: Duration) -> Result<T, RecvTimeoutError> {
        let mut state = self.state();
        let mut late = false;
        loop {
            if let Some(job) = state.take() {
                self.call_one(state);
                return Ok(job);
            }
            if state.closed {
                return Err(RecvTimeoutError::Disconnected);
            }
            if late {
                return Err(RecvTimeoutError::Timeout);
            }
            state.lie_down();
            let woken = self.wake.wait_timeout(state, patience);
            let (woken, timeout) = woken.unwrap_or_else(PoisonError::into_inner);
            (state, late) = (woken, timeout.timed_out());
            state.get_up();
        }
    }

    /// How many jobs wait, and how many may.
    pub(super) fn waiting(&self) -> Use {
        Use::of(self.state().queued, self.room.in_all)
    }

    /// The jobs that are queued now, in the order of turns.
    pub(super) fn try_iter(&self) -> impl Iterator<Item = T> {
        std::iter::from_fn(|| self.state().take())
    }

    /// Accepts no more jobs; queued jobs are still handed out.
    pub(super) fn close(&self) {
        self.state().closed = true;
        self.wake.notify_all();
    }

    /// Accepts no more jobs and discards the queued ones.
    pub(super) fn abandon(&self) {
        let mut state = self.state();
        state.closed = true;
        let (lanes, turns) = (std::mem::take(&mut state.lanes), std::mem::take(&mut state.turns));
        drop(state);
        self.wake.notify_all();
        drop((lanes, turns));
    }

    /// Wakes one thread if there is work and no thread has been called for it. A thread that wakes
    /// up calls the next one. A thread that takes one job after another needs no help.
    fn call_one(&self, mut state: MutexGuard<'_, State<T>>) {
        if state.queued > 0 && state.asleep > 0 && !state.called {
            state.called = true;
            drop(state);
            self.wake.notify_one();
        }
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> State<T> {
    fn lie_down(&mut self) {
        self.asleep = self.asleep.saturating_add(1);
    }

    /// Called or not, a thread that is awake looks for work before it sleeps again.
    fn get_up(&mut self) {
        self.asleep = self.asleep.saturating_sub(1);
        self.called = false;
    }

    fn take(&mut self) -> Option<T> {
        let whose = self.turns.pop_front()?;
        let lane = self.lanes.get_mut(&whose)?;
        let job = lane.pop_front();
        if lane.is_empty() {
            self.lanes.remove(&whose);
        } else {
            self.turns.push_back(whose);
        }
        self.queued = self.queued.saturating_sub(1);
        job
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use idgate_base::clock::Stopwatch;

    const ROOM: Room = Room { per_lane: 512, in_all: 4096 };

    #[test]
    fn lanes_take_turns_however_long_one_is() {
        let lanes = Lanes::new(ROOM);
        for n in 0..100 {
            lanes.push(LaneKey::of("much"), ("much", n)).unwrap();
        }
        lanes.push(LaneKey::of("little"), ("little", 0)).unwrap();
        let order: Vec<_> = lanes.try_iter().take(4).collect();
        assert_eq!(order, [("much", 0), ("little", 0), ("much", 1), ("much", 2)]);
    }

    #[test]
    fn a_full_lane_rejects_only_its_own_jobs() {
        let lanes = Lanes::new(ROOM);
        for n in 0..ROOM.per_lane {
            lanes.push(LaneKey::of("much"), n).unwrap();
        }
        assert_eq!(lanes.push(LaneKey::of("much"), 0), Err(NoRoom::Full));
        lanes.push(LaneKey::of("little"), 0).unwrap();
        lanes.recv().unwrap();
        lanes.push(LaneKey::of("much"), 0).unwrap();
    }

    #[test]
    fn all_lanes_together_are_bounded_except_the_gateways_own() {
        let lanes = Lanes::new(ROOM);
        for n in 0..ROOM.in_all {
            lanes.push(LaneKey::of(n), n).unwrap();
        }
        assert_eq!(lanes.push(LaneKey::of("another"), 0), Err(NoRoom::Full));
        lanes.push(LaneKey::GATEWAY, 0).unwrap();
        assert_eq!(lanes.try_iter().count(), ROOM.in_all + 1);
        // Emptied lanes leave nothing behind.
        let state = lanes.state();
        assert_eq!((state.lanes.len(), state.turns.len(), state.queued), (0, 0, 0));
    }

    #[test]
    fn queued_jobs_are_handed_out_after_close_but_not_after_abandon() {
        let lanes = Lanes::new(ROOM);
        lanes.push(LaneKey::GATEWAY, 1).unwrap();
        lanes.close();
        assert_eq!(lanes.push(LaneKey::GATEWAY, 2), Err(NoRoom::Closed));
        assert_eq!((lanes.recv(), lanes.recv()), (Some(1), None));
        let lanes = Lanes::new(ROOM);
        lanes.push(LaneKey::GATEWAY, 1).unwrap();
        lanes.abandon();
        assert_eq!(lanes.recv_timeout(Duration::ZERO), Err(RecvTimeoutError::Disconnected));
    }

    #[test]
    fn threads_wake_each_other_while_there_are_more_jobs() {
        const THREADS: usize = 3;
        let lanes = Lanes::new(ROOM);
        let (at_work, left_alone) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let wait_for = |is_so: &dyn Fn() -> bool| {
            let watch = Stopwatch::new();
            while !is_so() && watch.elapsed_us() < 10_000_000 {
                std::thread::yield_now();
            }
            is_so()
        };
        std::thread::scope(|threads| {
            for _ in 0..THREADS {
                threads.spawn(|| {
                    while lanes.recv().is_some() {
                        at_work.fetch_add(1, Ordering::SeqCst);
                        // A job ends only when all the others are running as well.
                        if !wait_for(&|| at_work.load(Ordering::SeqCst) == THREADS) {
                            left_alone.fetch_add(1, Ordering::SeqCst);
                        }
                    }
                });
            }
            for _ in 0..200 {
                let all_sleep = wait_for(&|| lanes.state().asleep == THREADS);
                at_work.store(0, Ordering::SeqCst);
                for job in 0..THREADS {
                    lanes.push(LaneKey::GATEWAY, job).unwrap();
                }
                // Threads that were called still count as asleep until they wake up.
                if !all_sleep || !wait_for(&|| at_work.load(Ordering::SeqCst) == THREADS) {
                    left_alone.fetch_add(1, Ordering::SeqCst);
                    break;
                }
            }
            lanes.close();
        });
        assert_eq!(left_alone.load(Ordering::SeqCst), 0);
    }

    #[test]
    fn recv_timeout_ends() {
        let lanes = Lanes::<()>::new(ROOM);
        let waited = lanes.recv_timeout(Duration::from_millis(1));
        assert_eq!(waited, Err(RecvTimeoutError::Timeout));
    }
}
