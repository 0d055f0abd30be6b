//! Counts the work of a reader in one figure that is the same on every machine under every load. A
//! unit is about a nanosecond of a release build.

use allocation_counter::AllocationInfo;

/// One allocation with its release.
const ALLOCATION: u64 = 50;
/// One unit for this many allocated bytes. A growing vector allocates up to four times its final
/// contents, and half of that is never touched. More weight would depend on where it last grew.
const BYTES: u64 = 32;

/// Counts `work`: steps of the readers and of cryptography, as [`idgate_core::work`] counts them,
/// and allocations. Other threads do not count.
pub(super) fn count(work: impl FnOnce()) -> u64 {
    let before = idgate_core::work::counted();
    let AllocationInfo { count_total, bytes_total, .. } = allocation_counter::measure(work);
    let steps = idgate_core::work::counted().wrapping_sub(before);
    steps + count_total * ALLOCATION + bytes_total / BYTES
}
