//! Counts the work of a reader, in one figure that is the same on every machine and under every load: a unit is
//! about a nanosecond of a release build.

use allocation_counter::AllocationInfo;

/// One allocation and its end.
const ALLOCATION: u64 = 50;
/// A unit for so many bytes that are allocated. A vector that grows allocates up to four times what it
/// holds in the end, and half of that is never touched: more weight would judge where it last grew.
const BYTES: u64 = 32;

/// Counts `work`: steps of the readers and of cryptography, as [`idgate_core::work`] counts them,
/// and allocations. Other threads do not count.
pub(super) fn count(work: impl FnOnce()) -> u64 {
    let before = idgate_core::work::counted();
    let AllocationInfo { count_total, bytes_total, .. } = allocation_counter::measure(work);
    let steps = idgate_core::work::counted().wrapping_sub(before);
    steps + count_total * ALLOCATION + bytes_total / BYTES
}
