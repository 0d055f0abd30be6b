//! Tests whether the store can write. Anyone may ask, so asking has to be cheap. One write is tried
//! at a time, and its outcome holds for a second: a failure is kept here, a success by the writer,
//! which notices when the disk fills up in between.

use tokio::sync::Mutex;

use crate::sqlite::writer::Batch;
use crate::types::{StoreError, Write};
use idgate_base::clock::Stopwatch;

/// How long a failure holds.
const KEPT_US: u64 = 1_000_000;

/// The latest attempt.
#[derive(Default)]
pub(crate) struct Probe(Mutex<Attempt>);

#[derive(Default)]
struct Attempt {
    underway: Option<Write<'static, ()>>,
    failed: Option<(Stopwatch, StoreError)>,
}

impl Probe {
    /// `Ok` if something `was_written` a moment ago. Otherwise the outcome of the latest attempt,
    /// or of a new one by `write` if that is too old.
    pub(crate) async fn ask(
        &self,
        was_written: impl Fn() -> bool,
        write: impl FnOnce() -> Write<'static, ()>,
    ) -> Result<(), StoreError> {
        let mut attempt = self.0.lock().await;
        if was_written() {
            return Ok(());
        }
        if let Some((at, error)) = &attempt.failed
            && at.elapsed_us() < KEPT_US
        {
            return Err(error.clone());
        }
        // Its first caller may have gone; the attempt is awaited all the same.
        let outcome = attempt.underway.get_or_insert_with(write).await;
        attempt.underway = None;
        attempt.failed = outcome.clone().err().map(|error| (Stopwatch::new(), error));
        outcome
    }
}

/// A write without content.
pub(crate) fn write(batch: &mut Batch<'_>) -> Result<(), StoreError> {
    batch
        .main
        .prepare_cached(
            "INSERT INTO probe (id, writes) VALUES (1, 1) \
             ON CONFLICT (id) DO UPDATE SET writes = writes + 1",
        )?
        .execute([])?;
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn concurrent_probes_cause_one_write_even_if_the_first_gives_up() {
        let (probe, writes) = (Arc::new(Probe::default()), Arc::new(AtomicUsize::new(0)));
        let (done, outcome) = oneshot::channel::<Result<(), StoreError>>();
        let mut outcome = Some(outcome);
        let mut write = || -> Write<'static, ()> {
            let outcome = outcome.take().unwrap();
            Box::pin(async { outcome.await.unwrap() })
        };
        // Polled once, then dropped.
        let first = probe.ask(|| false, &mut write);
        let given_up = tokio::time::timeout(std::time::Duration::ZERO, first).await;
        assert!(given_up.is_err());
        let others: Vec<_> = (0..50)
            .map(|_| {
                let (probe, writes) = (probe.clone(), writes.clone());
                tokio::spawn(async move {
                    let count = || -> Write<'static, ()> {
                        writes.fetch_add(1, Ordering::Relaxed);
                        Box::pin(async { Ok(()) })
                    };
                    probe.ask(|| false, count).await
                })
            })
            .collect();
        done.send(Err(StoreError::Full)).unwrap();
        for other in others {
            assert!(matches!(other.await.unwrap(), Err(StoreError::Full)));
        }
        assert_eq!(writes.load(Ordering::Relaxed), 0, "one was under way");
    }
}
