//! Counts what the readers of strangers' bytes do, for tests that judge what an input costs without a
//! clock. A step is about a nanosecond of a release build. Each loop counts its own turns, when it ends,
//! so that work done twice is counted twice. Without the feature `counting` nothing is counted.

#[cfg(feature = "counting")]
use core::cell::Cell;

#[cfg(feature = "counting")]
std::thread_local! {
    static STEPS: Cell<u64> = const { Cell::new(0) };
}

/// Counts `count` steps of this thread.
#[inline]
pub(crate) fn steps(count: usize) {
    #[cfg(feature = "counting")]
    STEPS.set(STEPS.get().wrapping_add(u64::try_from(count).unwrap_or(u64::MAX)));
    #[cfg(not(feature = "counting"))]
    let _ = count;
}

/// Counts a comparison of two texts, each of `bytes` at most.
#[inline]
pub(crate) fn comparison(bytes: usize) {
    steps(2 + bytes / 16);
}

/// The steps of this thread so far.
#[cfg(feature = "counting")]
pub fn counted() -> u64 {
    STEPS.get()
}
