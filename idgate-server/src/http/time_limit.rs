//! The time for a request. It ends where something begins that may change what the client asks about:
//! from then on the client is told what came of it, however long that takes.

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The time for one request.
pub(crate) struct TimeLimit {
    time: Duration,
    lifted: AtomicBool,
}

impl TimeLimit {
    pub(crate) fn new(time: Duration) -> Self {
        Self { time, lifted: AtomicBool::new(false) }
    }

    /// From here on the request is answered when it is done: what it waits for has a time of its own.
    pub(crate) fn lift(&self) {
        self.lifted.store(true, Ordering::Relaxed);
    }

    /// What `work` comes to; `None`: it took too long, and was given up.
    pub(crate) async fn bound<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let mut work = pin!(work);
        match tokio::time::timeout(self.time, work.as_mut()).await {
            Ok(done) => Some(done),
            Err(_late) if self.lifted.load(Ordering::Relaxed) => Some(work.await),
            Err(_late) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_millis(10);
    const LONG: Duration = Duration::from_millis(50);

    #[tokio::test]
    async fn work_is_given_up_at_its_limit_unless_that_was_lifted_before() {
        let limit = TimeLimit::new(SHORT);
        assert_eq!(limit.bound(async { 1 }).await, Some(1));
        assert_eq!(limit.bound(tokio::time::sleep(LONG)).await, None);
        let lifting = async {
            limit.lift();
            tokio::time::sleep(LONG).await;
        };
        assert_eq!(limit.bound(lifting).await, Some(()));
    }
}
