//! Controls the clocks and the random source of a running server. `preload/machine.c` is loaded
//! before the C library and reads the page that is written here.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rustix::time::{ClockId, clock_gettime};
use tempfile::TempDir;

/// The library that a test preloads: machine.c, names.c and kill.c of `preload/`.
pub(crate) fn library() -> &'static str {
    env!("PRELOAD")
}

const JUMPED: u64 = 0;
const FROZEN: u64 = 8;
const SET: u64 = 16;
const RANDOMLESS: u64 = 24;
const SLEPT: u64 = 32;
/// The latest time that a server has read.
const LATEST: u64 = 40;
const EPOCH: u64 = 48;
const LENGTH: u64 = 56;

/// The machine that the servers of one or several installations see.
///
/// A jump moves the real-time and the monotonic clock together, and ends every wait whose time has
/// come: to the server it is as if the time had passed. Setting the clock moves only the real-time
/// clock.
#[derive(Clone, Debug)]
pub(crate) struct Machine(Arc<Page>);

#[derive(Debug)]
struct Page {
    file: File,
    path: PathBuf,
    _folder: TempDir,
}

impl Machine {
    pub(crate) fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("machine");
        let file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        file.set_len(LENGTH).unwrap();
        let machine = Self(Arc::new(Page { file, path, _folder: folder }));
        let real = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        machine.write(EPOCH, i64::try_from(real.as_nanos()).unwrap() - monotonic_ns());
        machine
    }

    /// The page, for `TEST_MACHINE`.
    pub(crate) fn path(&self) -> &Path {
        &self.0.path
    }

    /// Lets this time pass for the servers in one step.
    pub(crate) fn jump(&self, time: Duration) {
        // One more nanosecond, so that stopped clocks never stop exactly at a deadline. A wait of
        // the standard library with no time left that is not over would restart immediately and
        // forever.
        let time = time + Duration::from_nanos(1);
        self.write(JUMPED, self.read(JUMPED) + i64::try_from(time.as_nanos()).unwrap());
    }

    /// How much time was jumped so far, in nanoseconds.
    pub(crate) fn jumped_ns(&self) -> i64 {
        self.read(JUMPED)
    }

    /// Stops the clocks: from now on time passes only by jumps.
    pub(crate) fn freeze(&self) {
        // The servers must not have seen a later time than that at which the clocks stop, or the
        // next jump would be shorter for them by the difference.
        loop {
            let stop = monotonic_ns() + 1_000_000;
            self.write(FROZEN, stop);
            if monotonic_ns() <= stop {
                return;
            }
        }
    }

    /// Lets the clocks continue from where they were stopped.
    pub(crate) fn thaw(&self) {
        let stopped = monotonic_ns() - self.read(FROZEN);
        let jumped = self.read(JUMPED) - stopped;
        // Both in one write: between two writes the clocks would be set back.
        let both = [jumped.to_ne_bytes(), 0_i64.to_ne_bytes()].concat();
        self.0.file.write_all_at(&both, JUMPED).unwrap();
    }

    /// Sets only the real-time clock, by this many milliseconds from the true time.
    pub(crate) fn set_clock(&self, by_ms: i64) {
        self.write(SET, by_ms * 1_000_000);
    }

    /// Takes all randomness away, or gives it back.
    pub(crate) fn set_randomness(&self, there: bool) {
        self.write(RANDOMLESS, i64::from(!there));
    }

    /// The total time that its threads asked to sleep, including SQLite's waits for a lock. It is
    /// the requested time, not the elapsed time.
    pub(crate) fn slept(&self) -> Duration {
        Duration::from_nanos(u64::try_from(self.read(SLEPT)).unwrap())
    }

    /// The servers' real-time clock, in milliseconds since 1970.
    pub(crate) fn now_ms(&self) -> u64 {
        let frozen = self.read(FROZEN);
        let monotonic = if frozen == 0 { monotonic_ns() } else { frozen };
        let own = (monotonic + self.read(JUMPED)).max(self.read(LATEST));
        u64::try_from((own + self.read(EPOCH) + self.read(SET)) / 1_000_000).unwrap()
    }

    fn read(&self, at: u64) -> i64 {
        let mut bytes = [0; 8];
        self.0.file.read_exact_at(&mut bytes, at).unwrap();
        i64::from_ne_bytes(bytes)
    }

    fn write(&self, at: u64, value: i64) {
        self.0.file.write_all_at(&value.to_ne_bytes(), at).unwrap();
    }
}

/// The monotonic clock of the real machine.
fn monotonic_ns() -> i64 {
    let now = Duration::try_from(clock_gettime(ClockId::Monotonic)).unwrap();
    i64::try_from(now.as_nanos()).unwrap()
}
