//! Reading threads, each with its own read-only connections, so that no request blocks on the disk
//! on a thread that serves others. Each read is one or two statements long, so that no reader keeps
//! an old state of the files alive.
//!
//! Reads wait in lanes, one for each client, and the lanes take turns: a busy client waits behind
//! itself. Lists and sums have their own threads, so that a request which only shows a key never
//! waits for them. So do the values that all requests need and that are loaded when they change.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::lanes::{LaneKey, Lanes, NoRoom, Room};
use crate::shared_reads::SharedReads;
use crate::sqlite::files::{claims_path, main_path, open_for_reading};
use crate::sqlite::interrupt::{Underway, Waiter};
use crate::types::{Read, StoreError};
use idgate_base::spans::{Metered, Stage};
use idgate_base::telemetry::Use;

/// One connection to each file.
pub(crate) struct Reader {
    pub(crate) main: Connection,
    pub(crate) claims: Connection,
    underway: Arc<Underway>,
}

/// How many reads may wait. Per lane: twice what all connections of one address can request at
/// once. In all: all connections together.
const ROOM: Room = Room { per_lane: 512, in_all: 16_384 };

/// A queued read.
type Job = Box<dyn FnOnce(&Reader) + Send>;

/// The reading threads. When it is dropped, queued reads stay unanswered.
pub(crate) struct Readers {
    quick: Pool,
    long: Pool,
    loader: Pool,
}

impl Readers {
    /// Starts `count` threads for short reads, half as many for long ones (at least one each), and
    /// one that loads.
    pub(crate) fn open(dir: &Path, count: usize) -> Result<Self, StoreError> {
        Ok(Self {
            quick: Pool::start(dir, "store-reader", count.max(2))?,
            long: Pool::start(dir, "store-lister", count.div_ceil(2).max(1))?,
            loader: Pool::start(dir, "store-loader", 1)?,
        })
    }

    /// How many short reads wait, and how many may.
    pub(crate) fn waiting(&self) -> Use {
        self.quick.lanes.waiting()
    }

    /// How many lists can be read at the same time.
    #[cfg(any(test, feature = "fixtures"))]
    pub(crate) fn listers(&self) -> usize {
        self.long.threads.len()
    }

    /// Reads a row or two.
    pub(crate) fn read<T: Send + 'static>(
        &self,
        whose: LaneKey,
        read: impl FnOnce(&Reader) -> Result<T, StoreError> + Send + 'static,
    ) -> Read<'static, T> {
        self.quick.submit(whose, read)
    }

    /// Reads a list or a sum. The read is cancelled when its caller stops waiting.
    pub(crate) fn read_long<T: Send + 'static>(
        &self,
        whose: LaneKey,
        read: impl FnOnce(&Reader) -> Result<T, StoreError> + Send + 'static,
    ) -> Read<'static, T> {
        let waiter = Waiter::default();
        let waited = waiter.waited();
        let read = move |reader: &Reader| reader.underway.run(waited, || read(reader));
        let answer = self.long.submit(whose, read);
        Box::pin(async move {
            let _waits = waiter;
            answer.await
        })
    }

    /// Reads a row or two for all callers that wait `together`.
    pub(crate) fn read_together<T: Clone + Send + 'static>(
        &self,
        together: &Arc<SharedReads<T>>,
        read: impl FnOnce(&Reader) -> Result<T, StoreError> + Send + 'static,
    ) -> Read<'static, T> {
        self.quick.submit_together(together, read)
    }

    /// Loads values that all requests need, for all callers that wait `together`.
    pub(crate) fn load_together<T: Clone + Send + 'static>(
        &self,
        together: &Arc<SharedReads<T>>,
        load: impl FnOnce(&Reader) -> Result<T, StoreError> + Send + 'static,
    ) -> Read<'static, T> {
        self.loader.submit_together(together, load)
    }
}

/// Threads that share a queue.
struct Pool {
    lanes: Arc<Lanes<Job>>,
    threads: Vec<JoinHandle<()>>,
}

impl Pool {
    fn start(dir: &Path, name: &str, count: usize) -> Result<Self, StoreError> {
        let lanes = Arc::new(Lanes::new(ROOM));
        let mut pool = Self { lanes: lanes.clone(), threads: Vec::new() };
        for _ in 0..count {
            let underway = Arc::<Underway>::default();
            let mut main = open_for_reading(&main_path(dir))?;
            let mut claims = open_for_reading(&claims_path(dir))?;
            underway.watch(&mut main)?;
            underway.watch(&mut claims)?;
            let reader = Reader { main, claims, underway };
            let lanes = lanes.clone();
            let thread = std::thread::Builder::new()
                .name(name.to_owned())
                .spawn(move || serve(&reader, &lanes))
                .map_err(|error| StoreError::Failed(format!("cannot start a thread: {error}")))?;
            pool.threads.push(thread);
        }
        Ok(pool)
    }

    /// Queues `read` immediately. It is skipped if its caller has stopped waiting.
    fn submit<T: Send + 'static>(
        &self,
        whose: LaneKey,
        read: impl FnOnce(&Reader) -> Result<T, StoreError> + Send + 'static,
    ) -> Read<'static, T> {
        let (reply, answer) = oneshot::channel();
        let metered = Metered::of(Stage::Read);
        let job = move |reader: &Reader| {
            if !reply.is_closed() {
                let _ = reply.send(metered.run(|| read(reader)));
            }
        };
        let queued = self.lanes.push(whose, Box::new(job));
        Box::pin(async move {
            match queued {
                Ok(()) => answer.await.unwrap_or_else(|_| Err(broken_off())),
                Err(NoRoom::Full) => Err(StoreError::Busy),
                Err(NoRoom::Closed) => Err(broken_off()),
            }
        })
    }

    /// Queues `read` unless the same read is queued already.
    fn submit_together<T: Clone + Send + 'static>(
        &self,
        together: &Arc<SharedReads<T>>,
        read: impl FnOnce(&Reader) -> Result<T, StoreError> + Send + 'static,
    ) -> Read<'static, T> {
        let (reply, answer) = oneshot::channel();
        if together.join(reply) {
            let all = together.clone();
            // The first caller's request is charged for all.
            let metered = Metered::of(Stage::Read);
            let job = move |reader: &Reader| metered.run(|| all.answer(|| read(reader)));
            if self.lanes.push(LaneKey::GATEWAY, Box::new(job)).is_err() {
                drop(together.leave());
            }
        }
        Box::pin(async move { answer.await.unwrap_or_else(|_| Err(broken_off())) })
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.lanes.abandon();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Works until the queue is closed. If a read panics its caller gets no answer, and the thread
/// continues.
fn serve(reader: &Reader, lanes: &Lanes<Job>) {
    while let Some(job) = lanes.recv() {
        let _ = catch_unwind(AssertUnwindSafe(|| job(reader)));
    }
}

fn broken_off() -> StoreError {
    StoreError::Failed("a read of the database did not finish".into())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    use super::*;
    use crate::wait::Wait as _;

    fn readers(dir: &tempfile::TempDir) -> Readers {
        drop(
            crate::sqlite::schema::open_main(
                dir.path(),
                &crate::seal::InstanceKey::generate().unwrap(),
            )
            .unwrap(),
        );
        drop(crate::sqlite::files::open_claims(dir.path()).unwrap());
        Readers::open(dir.path(), 1).unwrap()
    }

    #[test]
    fn a_read_that_panics_fails_alone() {
        let dir = tempfile::tempdir().unwrap();
        let readers = readers(&dir);
        for _ in 0..5 {
            let failed = readers.read::<()>(LaneKey::GATEWAY, |_| panic!("on purpose")).wait();
            assert!(matches!(failed, Err(StoreError::Failed(_))));
        }
        assert_eq!(readers.read(LaneKey::GATEWAY, |_| Ok(7)).wait().unwrap(), 7);
    }

    #[test]
    fn a_read_without_a_waiting_caller_is_skipped() {
        let dir = tempfile::tempdir().unwrap();
        let readers = readers(&dir);
        let (began, begins) = mpsc::channel();
        let (go, wait) = mpsc::channel::<()>();
        let held = readers.read_long(LaneKey::of("cli_a"), move |_| {
            began.send(()).unwrap();
            wait.recv().unwrap();
            Ok(())
        });
        begins.recv().unwrap();
        let (ran, runs) = mpsc::channel();
        drop(readers.read_long(LaneKey::of("cli_a"), move |_| {
            ran.send(()).unwrap();
            Ok(())
        }));
        let last = readers.read_long(LaneKey::of("cli_a"), |_| Ok(()));
        go.send(()).unwrap();
        held.wait().unwrap();
        last.wait().unwrap();
        assert!(runs.try_recv().is_err());
    }

    #[test]
    fn a_list_does_not_delay_short_reads() {
        let dir = tempfile::tempdir().unwrap();
        let readers = readers(&dir);
        let (go, wait) = mpsc::channel::<()>();
        let held = readers.read_long(LaneKey::of("cli_a"), move |_| {
            wait.recv().unwrap();
            Ok(())
        });
        assert_eq!(readers.read(LaneKey::of("cli_a"), |_| Ok(7)).wait().unwrap(), 7);
        go.send(()).unwrap();
        held.wait().unwrap();
    }

    #[test]
    fn callers_before_a_read_begins_share_it_and_later_ones_do_not() {
        let dir = tempfile::tempdir().unwrap();
        let readers = readers(&dir);
        let together = Arc::new(SharedReads::default());
        let reads = Arc::new(AtomicUsize::new(0));
        let (began, begins) = mpsc::channel();
        let (go, wait) = mpsc::channel::<()>();
        let first = readers.load_together(&together, move |_| {
            began.send(()).unwrap();
            wait.recv().unwrap();
            Ok(0)
        });
        begins.recv().unwrap();
        let later: Vec<_> = (0..10)
            .map(|_| {
                let reads = reads.clone();
                readers.load_together(&together, move |_| {
                    Ok(reads.fetch_add(1, Ordering::Relaxed) + 1)
                })
            })
            .collect();
        go.send(()).unwrap();
        assert_eq!(first.wait().unwrap(), 0);
        for read in later {
            assert_eq!(read.wait().unwrap(), 1);
        }
    }

    #[test]
    fn a_panicking_shared_read_fails_only_for_its_callers() {
        let dir = tempfile::tempdir().unwrap();
        let readers = readers(&dir);
        let together = Arc::new(SharedReads::<u8>::default());
        let failed = readers.read_together(&together, |_| panic!("on purpose")).wait();
        assert!(matches!(failed, Err(StoreError::Failed(_))));
        assert_eq!(readers.read_together(&together, |_| Ok(7)).wait().unwrap(), 7);
    }

    /// The only thread for long reads would otherwise count forever.
    #[test]
    fn a_long_read_without_a_waiting_caller_is_cancelled() {
        let dir = tempfile::tempdir().unwrap();
        let readers = readers(&dir);
        let (began, begins) = mpsc::channel();
        let endless = readers.read_long(LaneKey::GATEWAY, move |reader| {
            let numbers = "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n) \
                           SELECT n FROM n";
            let mut statement = reader.main.prepare(numbers)?;
            let mut rows = statement.query([])?;
            rows.next()?;
            began.send(()).unwrap();
            while rows.next()?.is_some() {}
            Ok(())
        });
        begins.recv().unwrap();
        let next = readers.read_long(LaneKey::GATEWAY, |_| Ok(7));
        drop(endless);
        assert_eq!(next.wait().unwrap(), 7);
    }
}
