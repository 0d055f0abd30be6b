//! The only place that reads a clock.

#![allow(clippy::disallowed_methods)] // the only place that may

#[cfg(any(test, feature = "fixtures"))]
mod virtual_clock;

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use idgate_core::UnixMillis;
use tokio::task::unconstrained;

#[cfg(any(test, feature = "fixtures"))]
pub use self::virtual_clock::VirtualClock;

/// Tells the time, and waits.
pub trait Clock: Send + Sync {
    /// The time now.
    fn now(&self) -> UnixMillis;

    /// The machine's clock, whether or not it is trusted.
    fn wall(&self) -> UnixMillis {
        self.now()
    }

    /// Whether the machine's clock was set recently, so that nothing should be decided by it.
    fn is_in_doubt(&self) -> bool {
        false
    }

    /// The time since some moment of this process; setting the clock does not change it.
    fn steady(&self) -> Duration {
        static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);
        BEGAN.elapsed()
    }

    /// Resolves after this time, whatever the clock is set to.
    fn sleep(&self, time: Duration) -> Sleep {
        Box::pin(tokio::time::sleep(time))
    }
}

/// A wait for a time span.
pub type Sleep = Pin<Box<dyn Future<Output = ()> + Send + Sync>>;

/// Work took too long.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Late;

impl dyn Clock + '_ {
    /// Runs `work` for at most this time.
    ///
    /// # Errors
    /// It takes longer.
    pub async fn timeout<F: Future>(&self, time: Duration, work: F) -> Result<F::Output, Late> {
        let (mut work, began) = (pin!(work), self.steady());
        let mut end = None;
        poll_fn(|cx| {
            if let Poll::Ready(done) = work.as_mut().poll(cx) {
                return Poll::Ready(Ok(done));
            }
            // Also ends work that never yields.
            let end = end.get_or_insert_with(|| {
                // Includes the time of the first poll.
                let taken = self.steady().saturating_sub(began);
                unconstrained(self.sleep(time.saturating_sub(taken)))
            });
            Pin::new(end).poll(cx).map(|()| Err(Late))
        })
        .await
    }
}

/// The operating system's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    /// A system clock before 1970 reads as 1970: everything then counts as not yet valid.
    fn now(&self) -> UnixMillis {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        UnixMillis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }
}

/// The operating system's clock for a serving gateway. It does not trust a step of the clock
/// immediately: until the step has lasted ten seconds, time continues as before and is in doubt. So
/// a clock that is set wrong and then back expires no session and fails no answer. Slewing, as NTP
/// does it, is followed.
#[derive(Debug)]
pub struct WatchedClock {
    started: Instant,
    /// The system clock minus the time since `started`, in milliseconds.
    offset: AtomicI64,
    in_doubt: AtomicBool,
    step: Mutex<Option<Step>>,
}

/// A step that is not trusted yet.
#[derive(Clone, Copy, Debug)]
struct Step {
    offset: i64,
    noticed_at: i64,
}

/// A smaller step makes no difference to anything that uses the clock.
const STEP_MS: i64 = 2000;
/// How long a step must last.
const SETTLING_MS: i64 = 10_000;

impl WatchedClock {
    /// Trusts the system clock as it is now.
    #[allow(clippy::new_without_default)] // creating one starts it
    pub fn new() -> Self {
        let started = Instant::now();
        let offset = AtomicI64::new(signed(SystemClock.now().0));
        Self { started, offset, in_doubt: AtomicBool::new(false), step: Mutex::new(None) }
    }

    fn steady(&self) -> i64 {
        i64::try_from(self.started.elapsed().as_millis()).unwrap_or(i64::MAX)
    }

    /// The trusted time when the system clock reads `wall` between two readings of the steady
    /// clock.
    fn believe(&self, before: i64, wall: i64, after: i64) -> i64 {
        let offset = self.offset.load(Ordering::Relaxed);
        let (least, most) = (wall.saturating_sub(after), wall.saturating_sub(before));
        let is_near = |offset: i64| {
            least.saturating_sub(STEP_MS) <= offset && offset <= most.saturating_add(STEP_MS)
        };
        if is_near(offset) {
            if self.in_doubt.load(Ordering::Relaxed) {
                self.end_doubt();
                tracing::warn!("the system clock was set back to the previous time");
            }
            self.offset.store(offset.clamp(least, most), Ordering::Relaxed);
            return wall;
        }
        let mut step = self.step.lock().unwrap_or_else(PoisonError::into_inner);
        match *step {
            Some(seen) if is_near(seen.offset) => {
                if after.saturating_sub(seen.noticed_at) >= SETTLING_MS {
                    *step = None;
                    self.offset.store(least, Ordering::Relaxed);
                    self.in_doubt.store(false, Ordering::Relaxed);
                    tracing::warn!("the system clock's new time is trusted now");
                    return wall;
                }
            }
            _ => {
                *step = Some(Step { offset: least, noticed_at: after });
                self.in_doubt.store(true, Ordering::Relaxed);
                let by_ms = least.saturating_sub(offset);
                tracing::warn!(
                    by_ms,
                    "the system clock was set; nothing is decided until it is stable"
                );
            }
        }
        after.saturating_add(offset)
    }

    fn end_doubt(&self) {
        *self.step.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.in_doubt.store(false, Ordering::Relaxed);
    }
}

impl Clock for WatchedClock {
    fn now(&self) -> UnixMillis {
        let before = self.steady();
        let wall = signed(SystemClock.now().0);
        UnixMillis(u64::try_from(self.believe(before, wall, self.steady())).unwrap_or(0))
    }

    fn wall(&self) -> UnixMillis {
        SystemClock.now()
    }

    fn is_in_doubt(&self) -> bool {
        let _looked_at = self.now();
        self.in_doubt.load(Ordering::Relaxed)
    }
}

fn signed(ms: u64) -> i64 {
    i64::try_from(ms).unwrap_or(i64::MAX)
}

/// Measures elapsed time, unaffected by steps of the system clock.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts now.
    #[allow(clippy::new_without_default)] // creating one starts it
    pub fn new() -> Self {
        Self(Instant::now())
    }

    /// Whole microseconds since the start.
    pub fn elapsed_us(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

/// Timestamps of the parts of one piece of work, in nanoseconds since 1970. The start is taken from
/// the system clock; later times are steady relative to it.
#[derive(Clone, Copy, Debug)]
pub struct Timeline {
    began: u64,
    watch: Instant,
}

impl Timeline {
    /// Begins now.
    pub fn begin() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { began: nanos(since), watch: Instant::now() }
    }

    /// When it began.
    pub fn began(&self) -> u64 {
        self.began
    }

    /// Now.
    pub fn now(&self) -> u64 {
        self.began.saturating_add(nanos(self.watch.elapsed()))
    }
}

/// A reading of a thread's CPU time, for measuring intervals. It cannot be set.
#[derive(Clone, Copy, Debug)]
pub struct ThreadCpu(u64);

/// The cost of reading that clock once, which is a system call.
static READING: LazyLock<u64> = LazyLock::new(|| {
    let read = || ThreadCpu::read().0;
    let costs = (0..64).map(|_| {
        let first = read();
        read().saturating_sub(first)
    });
    costs.min().unwrap_or_default()
});

impl ThreadCpu {
    /// The current reading for this thread.
    pub fn now() -> Self {
        LazyLock::force(&READING);
        Self::read()
    }

    /// Nanoseconds since `earlier` on the same thread, minus the cost of reading.
    pub fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0).saturating_sub(*READING)
    }

    fn read() -> Self {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
        let nanos = u64::try_from(time.tv_nsec).unwrap_or_default();
        Self(seconds.saturating_mul(1_000_000_000).saturating_add(nanos))
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// A moment of this process, for ordering. Setting the clock does not affect it.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Moment(Instant);

impl Moment {
    /// The current moment.
    pub fn now() -> Self {
        Self(Instant::now())
    }
}

/// Detects steps of the clock by comparing it with a steady clock.
#[derive(Debug)]
pub struct StepWatch(Mutex<(UnixMillis, Stopwatch)>);

/// More than slewing changes a clock between two observations.
const COUNTED_MS: u64 = 500;

impl StepWatch {
    /// Starts watching at `now`.
    pub fn new(now: UnixMillis) -> Self {
        Self(Mutex::new((now, Stopwatch::new())))
    }

    /// How far the clock was set since the last observation, in milliseconds; negative is back.
    pub fn observe(&self, now: UnixMillis) -> Option<i64> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let expected = last.0.plus(last.1.elapsed_us() / 1000);
        *last = (now, Stopwatch::new());
        let by = now.0.abs_diff(expected.0);
        let signed = i64::try_from(by).unwrap_or(i64::MAX);
        (by >= COUNTED_MS).then_some(if now < expected { signed.saturating_neg() } else { signed })
    }
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests {
    use super::*;

    #[test]
    fn system_clock_is_past_2024() {
        assert!(SystemClock.now() > UnixMillis(1_704_067_200_000));
    }

    /// A clock that was right when the steady clock was at 0.
    fn watched() -> WatchedClock {
        let clock = WatchedClock::new();
        clock.offset.store(NOON, Ordering::Relaxed);
        clock
    }

    const NOON: i64 = 1_790_000_000_000;
    const HOUR: i64 = 3_600_000;

    #[test]
    fn a_step_of_the_clock_is_not_trusted_until_it_has_lasted() {
        for step in [HOUR, -HOUR, 2 * STEP_MS] {
            let clock = watched();
            assert_eq!(clock.believe(50, NOON + 50, 50), NOON + 50);
            for at in [100, 5000, SETTLING_MS + 99] {
                assert_eq!(clock.believe(at, NOON + step + at, at), NOON + at);
                assert!(clock.in_doubt.load(Ordering::Relaxed));
            }
            let at = SETTLING_MS + 100;
            assert_eq!(clock.believe(at, NOON + step + at, at), NOON + step + at);
            assert!(!clock.in_doubt.load(Ordering::Relaxed));
        }
    }

    #[test]
    fn a_clock_that_is_set_wrong_and_back_has_no_effect() {
        let clock = watched();
        assert_eq!(clock.believe(100, NOON + HOUR, 100), NOON + 100);
        assert_eq!(clock.believe(9000, NOON + 9000, 9000), NOON + 9000);
        assert!(!clock.in_doubt.load(Ordering::Relaxed));
        // The next step is in doubt for as long as the first.
        assert_eq!(clock.believe(10_500, NOON + HOUR, 10_500), NOON + 10_500);
        assert!(clock.in_doubt.load(Ordering::Relaxed));
    }

    #[test]
    fn a_second_step_is_in_doubt_again() {
        let clock = watched();
        assert_eq!(clock.believe(0, NOON + HOUR, 0), NOON);
        assert_eq!(clock.believe(8000, NOON + 5 * HOUR, 8000), NOON + 8000);
        assert_eq!(clock.believe(11_000, NOON + 5 * HOUR + 3000, 11_000), NOON + 11_000);
        let wall = NOON + 5 * HOUR + 10_000;
        assert_eq!(clock.believe(18_000, wall, 18_000), wall);
    }

    #[test]
    fn slewing_is_followed_and_a_pause_between_readings_is_not_a_step() {
        let clock = watched();
        for minute in 0..1000 {
            let (at, wall) = (minute * 60_000, NOON + minute * 60_030);
            assert_eq!(clock.believe(at, wall, at), wall);
        }
        let at = 60_000_000;
        let wall = NOON + 60_030_000;
        assert_eq!(clock.believe(at, wall, at + 30_000), wall);
        assert!(!clock.in_doubt.load(Ordering::Relaxed));
        let at = at + 40_000;
        assert_eq!(clock.believe(at, wall + 40_000, at), wall + 40_000);
    }

    #[test]
    fn a_step_is_reported_once_with_its_direction() {
        let start = UnixMillis(1_800_000_000_000);
        let watch = StepWatch::new(start);
        assert_eq!(watch.observe(start.plus(2)), None);
        let back = watch.observe(start.minus(3_600_000)).unwrap_or_default();
        assert!((-3_600_500..=-3_599_000).contains(&back), "{back}");
        assert_eq!(watch.observe(start.minus(3_600_000)), None, "once");
        let forward = watch.observe(start).unwrap_or_default();
        assert!((3_599_000..=3_600_500).contains(&forward), "{forward}");
    }

    #[test]
    fn stopwatch_runs() {
        let watch = Stopwatch::new();
        std::thread::sleep(std::time::Duration::from_millis(2));
        assert!(watch.elapsed_us() >= 2000);
    }

    #[tokio::test]
    async fn work_is_late_when_its_time_is_over_and_not_before() {
        let clock: &dyn Clock = &SystemClock;
        let before = clock.steady();
        assert_eq!(clock.timeout(Duration::from_secs(3600), async { 1 }).await, Ok(1));
        let long = Duration::from_millis(2);
        assert_eq!(clock.timeout(long, std::future::pending::<()>()).await, Err(Late));
        assert!(clock.steady() - before >= long);
    }

    /// Like `tokio::time::timeout`, it also ends work that uses up its budget in every poll.
    #[tokio::test]
    async fn work_that_never_yields_is_late_as_well() {
        let clock: &dyn Clock = &SystemClock;
        let busy = async {
            loop {
                tokio::task::consume_budget().await;
            }
        };
        assert_eq!(clock.timeout(Duration::from_millis(2), busy).await, Err(Late));
    }
}
