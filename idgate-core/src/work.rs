//! Counts the work of the readers of untrusted bytes, for tests that measure the cost of an input
//! without a clock. A step is about a nanosecond of a release build. Each loop adds its iterations
//! when it ends, so that repeated work is counted each time. Without the feature `counting` nothing
//! is counted.

#[cfg(feature = "counting")]
use core::cell::Cell;

#[cfg(feature = "counting")]
std::thread_local! {
    static STEPS: Cell<u64> = const { Cell::new(0) };
}

/// Adds `count` steps to this thread's count.
#[inline]
pub(crate) fn steps(count: usize) {
    #[cfg(feature = "counting")]
    STEPS.set(STEPS.get().wrapping_add(u64::try_from(count).unwrap_or(u64::MAX)));
    #[cfg(not(feature = "counting"))]
    let _ = count;
}

/// Adds a comparison of two texts of at most `bytes` bytes each.
#[inline]
pub(crate) fn comparison(bytes: usize) {
    steps(2 + bytes / 16);
}

/// Returns this thread's step count so far.
#[cfg(feature = "counting")]
pub fn counted() -> u64 {
    STEPS.get()
}
