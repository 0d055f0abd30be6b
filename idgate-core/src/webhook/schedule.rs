//! The retry schedule of notifications.

use crate::entropy::{Entropy, EntropyUnavailable};
use crate::time::UnixMillis;

/// The pause before each attempt in milliseconds: none, then 5 s, 5 min, 30 min, 2 h, 5 h, 10 h and
/// 10 h, so that a receiver may be down for a day.
pub const SCHEDULE_MS: [u64; 8] =
    [0, 5_000, 300_000, 1_800_000, 7_200_000, 18_000_000, 36_000_000, 36_000_000];

/// Returns the time of the next attempt after `failed` attempts, the last of which ended at `now`;
/// `None`: give up.
///
/// `retry_after_ms` is the receiver's `Retry-After`, clamped between the step of the schedule and
/// twice the step. Without it the step varies by 20 % in either direction, so that notifications
/// that failed together are not retried together.
///
/// # Errors
/// `entropy` failed.
pub fn next_attempt(
    failed: u32,
    now: UnixMillis,
    retry_after_ms: Option<u64>,
    entropy: &mut dyn Entropy,
) -> Result<Option<UnixMillis>, EntropyUnavailable> {
    let step = usize::try_from(failed).ok().and_then(|failed| SCHEDULE_MS.get(failed));
    let Some(step) = step.copied() else { return Ok(None) };
    let pause = match retry_after_ms {
        Some(asked) => asked.clamp(step, step.saturating_mul(2)),
        None => jittered(step, entropy)?,
    };
    Ok(Some(now.plus(pause)))
}

/// Between 80 % and 120 % of `step`.
fn jittered(step: u64, entropy: &mut dyn Entropy) -> Result<u64, EntropyUnavailable> {
    let mut bytes = [0; 8];
    entropy.fill(&mut bytes)?;
    let fifth = step / 5;
    let width = fifth.saturating_mul(2).saturating_add(1);
    // The steps are so far below 2^64 that the bias of the remainder is negligible.
    let offset = u64::from_be_bytes(bytes).checked_rem(width).unwrap_or(0);
    Ok(step.saturating_sub(fifth).saturating_add(offset))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    const NOW: UnixMillis = UnixMillis(1_790_000_000_000);

    /// Always returns the same eight bytes.
    struct Fixed(u64);

    impl Entropy for Fixed {
        fn fill(&mut self, out: &mut [u8]) -> Result<(), EntropyUnavailable> {
            out.copy_from_slice(&self.0.to_be_bytes());
            Ok(())
        }
    }

    struct Broken;

    impl Entropy for Broken {
        fn fill(&mut self, _: &mut [u8]) -> Result<(), EntropyUnavailable> {
            Err(EntropyUnavailable::new())
        }
    }

    fn pause(failed: u32, retry_after_ms: Option<u64>, random: u64) -> Option<u64> {
        let next = next_attempt(failed, NOW, retry_after_ms, &mut Fixed(random)).unwrap();
        next.map(|next| next.since(NOW))
    }

    #[test]
    fn every_step_varies_by_a_fifth_and_no_more() {
        for (failed, step) in SCHEDULE_MS.into_iter().enumerate() {
            let failed = u32::try_from(failed).unwrap();
            let (least, most) = (step - step / 5, step + step / 5);
            assert_eq!(pause(failed, None, 0), Some(least));
            assert_eq!(pause(failed, None, 2 * (step / 5)), Some(most));
            assert_eq!(pause(failed, None, 2 * (step / 5) + 1), Some(least));
            for random in [1, 7_777, u64::MAX, u64::MAX / 3] {
                assert!((least..=most).contains(&pause(failed, None, random).unwrap()));
            }
        }
        assert_eq!(SCHEDULE_MS[1..].iter().sum::<u64>(), 99_305_000, "27 h 35 min 5 s");
    }

    #[test]
    fn after_eight_attempts_there_is_no_other() {
        assert_eq!(SCHEDULE_MS.len(), 8);
        assert!(pause(7, None, 0).is_some());
        for failed in [8, 9, u32::MAX] {
            assert_eq!(pause(failed, None, 0), None);
            assert_eq!(pause(failed, Some(1), 0), None);
        }
    }

    #[test]
    fn retry_after_is_clamped_between_one_and_two_steps() {
        for (asked, given) in
            [(0, 5_000), (4_999, 5_000), (7_000, 7_000), (10_000, 10_000), (u64::MAX, 10_000)]
        {
            assert_eq!(pause(1, Some(asked), 3), Some(given), "{asked}");
        }
    }

    #[test]
    fn without_randomness_it_fails() {
        assert!(next_attempt(1, NOW, None, &mut Broken).is_err());
        assert!(next_attempt(8, NOW, None, &mut Broken).unwrap().is_none());
    }
}
