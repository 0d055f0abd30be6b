//! A clock for tests. Waits end only when a test moves it.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use idgate_core::UnixMillis;

use super::{Clock, Sleep};

/// A clock that moves only on request; clones share the time.
#[derive(Clone, Debug, Default)]
pub struct VirtualClock(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    now_ms: u64,
    /// How far it was moved forward in total. Waits use this, so that setting the clock back does
    /// not delay them.
    passed_ms: u64,
    last: u64,
    waits: BTreeMap<u64, Wait>,
}

#[derive(Debug)]
struct Wait {
    /// The length of the wait.
    time: Duration,
    until_ms: u64,
    waker: Option<Waker>,
}

/// A wait, until it ends or is dropped.
struct Waiting {
    clock: VirtualClock,
    number: u64,
}

impl VirtualClock {
    /// A clock that shows `now`.
    pub fn at(now: UnixMillis) -> Self {
        Self(Arc::new(Mutex::new(State { now_ms: now.0, ..State::default() })))
    }

    /// Sets the time.
    pub fn set(&self, now: UnixMillis) {
        let mut state = self.state();
        let forward = now.0.saturating_sub(state.now_ms);
        state.now_ms = now.0;
        Self::pass_in(state, forward);
    }

    /// Moves forward by `ms` milliseconds.
    pub fn advance(&self, ms: u64) {
        let mut state = self.state();
        state.now_ms = state.now_ms.saturating_add(ms);
        Self::pass_in(state, ms);
    }

    /// Wakes the waits that are over.
    fn pass_in(mut state: MutexGuard<'_, State>, ms: u64) {
        state.passed_ms = state.passed_ms.saturating_add(ms);
        let passed_ms = state.passed_ms;
        let due = state.waits.values_mut().filter(|wait| wait.until_ms <= passed_ms);
        let wakers: Vec<Waker> = due.filter_map(|wait| wait.waker.take()).collect();
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of pending waits of exactly this length.
    pub fn waiting_for(&self, time: Duration) -> usize {
        self.state().waits.values().filter(|wait| wait.time == time).count()
    }

    /// Waits until this many waits of exactly this length are pending.
    pub async fn until_waiting_for(&self, time: Duration, count: usize) {
        let what = format!("{count} wait for {time:?}");
        idgate_testkit::patience::until(&what, async || self.waiting_for(time) == count).await;
    }

    /// Moves time forward, and returns once every wait that it ended was observed.
    pub async fn pass(&self, time: Duration) {
        self.advance(u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
        let is_over = async || {
            let state = self.state();
            state.waits.values().all(|wait| wait.until_ms > state.passed_ms)
        };
        idgate_testkit::patience::until("every wait that is over has ended", is_over).await;
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> UnixMillis {
        UnixMillis(self.state().now_ms)
    }

    fn steady(&self) -> Duration {
        Duration::from_millis(self.state().passed_ms)
    }

    fn sleep(&self, time: Duration) -> Sleep {
        let mut state = self.state();
        state.last = state.last.saturating_add(1);
        let ms = u64::try_from(time.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX);
        let until_ms = state.passed_ms.saturating_add(ms);
        let number = state.last;
        state.waits.insert(number, Wait { time, until_ms, waker: None });
        Box::pin(Waiting { clock: self.clone(), number })
    }
}

impl Future for Waiting {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.clock.state();
        let passed_ms = state.passed_ms;
        match state.waits.get_mut(&self.number) {
            Some(wait) if wait.until_ms > passed_ms => {
                wait.waker = Some(cx.waker().clone());
                Poll::Pending
            }
            _ => {
                state.waits.remove(&self.number);
                Poll::Ready(())
            }
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.clock.state().waits.remove(&self.number);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::clock::Late;
    use idgate_testkit::patience::in_time;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn clones_of_a_virtual_clock_share_the_time() {
        let clock = VirtualClock::at(UnixMillis(5));
        let other = clock.clone();
        clock.advance(10);
        assert_eq!(other.now(), UnixMillis(15));
        other.set(UnixMillis(7));
        assert_eq!(clock.now(), UnixMillis(7));
    }

    #[tokio::test]
    async fn a_wait_ends_when_its_time_has_passed_however_the_clock_is_set() {
        let clock = VirtualClock::at(UnixMillis(5000));
        let sleeping = tokio::spawn(clock.sleep(SECOND));
        clock.pass(SECOND / 2).await;
        clock.set(UnixMillis(1000));
        assert_eq!((clock.waiting_for(SECOND), sleeping.is_finished()), (1, false));
        clock.pass(SECOND / 2).await;
        assert_eq!(clock.waiting_for(SECOND), 0);
        in_time("the wait ends", sleeping).await.unwrap();
        assert_eq!((clock.now(), clock.steady()), (UnixMillis(1500), SECOND));
    }

    #[tokio::test]
    async fn work_is_late_when_a_test_moves_the_clock() {
        let clock = VirtualClock::default();
        let late = tokio::spawn({
            let clock: Arc<dyn Clock> = Arc::new(clock.clone());
            async move { clock.timeout(SECOND, std::future::pending::<()>()).await }
        });
        clock.until_waiting_for(SECOND, 1).await;
        clock.pass(SECOND).await;
        assert_eq!(in_time("the timeout ends", late).await.unwrap(), Err(Late));
    }
}
