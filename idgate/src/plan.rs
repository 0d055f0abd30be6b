//! When a copy is fetched again, and how many renewals may run, from given times and entropy.

use idgate_core::UnixMillis;

use crate::limits::{
    FIRST_RENEWAL_PAUSE_MS, LONGEST_RENEWAL_PAUSE_MS, MIN_RENEWED_SPAN_MS, REISSUE_SPREAD_MS,
    RENEWAL_BYTES, RENEWAL_WINDOW_MS, RENEWALS,
};

/// The time for which a copy need not be fetched again.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Span {
    pub(crate) from: UnixMillis,
    pub(crate) to: UnixMillis,
}

/// The renewal of a copy.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Plan {
    /// `None`: never, or not drawn yet.
    at: Option<UnixMillis>,
    is_drawn: bool,
    /// The number of consecutive failures.
    failures: u32,
    /// Whether the previous copy ended at the same moment: its issuer then makes the next one at
    /// that moment.
    repeats_end: bool,
}

impl Plan {
    /// The plan for a copy that replaces another.
    pub(crate) fn after(before: Span, own: Span) -> Self {
        Self { repeats_end: before.to == own.to, ..Self::default() }
    }

    /// The time when the copy is due: in the last three eighths of its span, but not in the last
    /// eighth. If the trust was replaced at `changed_at`, it is due at once, because nothing is
    /// cached for the new trust.
    pub(crate) fn at(
        &mut self,
        span: Span,
        changed_at: Option<UnixMillis>,
        draw: impl FnOnce() -> u64,
    ) -> Option<UnixMillis> {
        if self.failures == 0 && changed_at.is_some() {
            return changed_at;
        }
        if !self.is_drawn {
            self.is_drawn = true;
            let length = span.to.since(span.from);
            self.at = if length >= MIN_RENEWED_SPAN_MS {
                let lead = (length / 8).saturating_add(spread(draw(), length / 4));
                Some(span.to.minus(lead))
            } else {
                self.repeats_end.then(|| span.to.plus(spread(draw(), REISSUE_SPREAD_MS)))
            };
        }
        self.at
    }

    /// After a failure: tries again after a pause, which doubles each time.
    pub(crate) fn put_off(&mut self, now: UnixMillis, draw: u64) {
        let doubled = 2_u64.saturating_pow(self.failures);
        let pause = FIRST_RENEWAL_PAUSE_MS.saturating_mul(doubled).min(LONGEST_RENEWAL_PAUSE_MS);
        self.failures = self.failures.saturating_add(1);
        self.is_drawn = true;
        self.at = Some(now.plus(pause).plus(spread(draw, pause / 4)));
    }
}

/// A part of `most` chosen by `drawn`.
fn spread(drawn: u64, most: u64) -> u64 {
    drawn.checked_rem(most).unwrap_or(0)
}

/// The limits on the load that renewals put on hosts and on this machine.
#[derive(Debug, Default)]
pub(crate) struct Budget {
    since: UnixMillis,
    fetches: usize,
    bytes: usize,
}

impl Budget {
    /// The number of fetches that may start now.
    pub(crate) fn left(&mut self, now: UnixMillis) -> usize {
        // A clock that was set back must not block them.
        if now < self.since || now >= self.since.plus(RENEWAL_WINDOW_MS) {
            *self = Self { since: now, ..Self::default() };
        }
        match self.bytes < RENEWAL_BYTES {
            true => RENEWALS.saturating_sub(self.fetches),
            false => 0,
        }
    }

    /// Counts fetches that have started, and the bytes that they returned.
    pub(crate) fn spend(&mut self, fetches: usize, bytes: usize) {
        self.fetches = self.fetches.saturating_add(fetches);
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: UnixMillis = UnixMillis(1_800_000_000_000);

    #[test]
    fn renewals_have_a_budget_of_bytes_a_minute() {
        let mut budget = Budget::default();
        assert_eq!(budget.left(NOW), RENEWALS);
        budget.spend(1, RENEWAL_BYTES - 1);
        assert_eq!(budget.left(NOW), RENEWALS - 1, "one that has begun may end");
        budget.spend(1, 1);
        assert_eq!(budget.left(NOW), 0);
        assert_eq!(budget.left(NOW.plus(RENEWAL_WINDOW_MS)), RENEWALS);
    }

    #[test]
    fn a_clock_that_was_set_back_does_not_block_renewals() {
        let mut budget = Budget::default();
        assert_eq!(budget.left(NOW), RENEWALS);
        budget.spend(RENEWALS, 0);
        assert_eq!((budget.left(NOW), budget.left(NOW.minus(1))), (0, RENEWALS));
    }
}
