//! The time limit of a request. It is lifted once work begins that may change what the client asks
//! about: from then on the client gets the outcome, however long that takes.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use idgate_base::clock::Clock;

/// The time for one request.
pub(crate) struct TimeLimit {
    clock: Arc<dyn Clock>,
    time: Duration,
    lifted: AtomicBool,
}

impl TimeLimit {
    pub(crate) fn new(clock: Arc<dyn Clock>, time: Duration) -> Self {
        Self { clock, time, lifted: AtomicBool::new(false) }
    }

    /// Lifts the limit: the rest of the work has time limits of its own.
    pub(crate) fn lift(&self) {
        self.lifted.store(true, Ordering::Relaxed);
    }

    /// The result of `work`; `None` if it took too long and was abandoned.
    pub(crate) async fn bound<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let mut work = pin!(work);
        match self.clock.timeout(self.time, work.as_mut()).await {
            Ok(done) => Some(done),
            Err(_late) if self.lifted.load(Ordering::Relaxed) => Some(work.await),
            Err(_late) => None,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use idgate_base::clock::VirtualClock;
    use idgate_testkit::patience::in_time;

    const TIME: Duration = Duration::from_secs(15);

    /// The outcome of work that takes twice the limit and begins with `begin`.
    async fn bound(begin: fn(&TimeLimit)) -> Option<u8> {
        let clock = VirtualClock::default();
        let limit = TimeLimit::new(Arc::new(clock.clone()), TIME);
        let bound = tokio::spawn({
            let clock = clock.clone();
            async move {
                let work = async {
                    begin(&limit);
                    clock.sleep(2 * TIME).await;
                    1
                };
                limit.bound(work).await
            }
        });
        clock.until_waiting_for(TIME, 1).await;
        clock.pass(TIME).await;
        clock.pass(TIME).await;
        in_time("it comes to something", bound).await.unwrap()
    }

    #[tokio::test]
    async fn work_is_abandoned_at_its_limit_unless_that_was_lifted() {
        let limit = TimeLimit::new(Arc::new(VirtualClock::default()), TIME);
        assert_eq!(limit.bound(async { 1 }).await, Some(1));
        assert_eq!(bound(|_| {}).await, None);
        assert_eq!(bound(TimeLimit::lift).await, Some(1));
    }
}
