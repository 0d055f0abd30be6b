//! When a copy is fetched again, and how many copies may be. Time and entropy are passed in.

use idgate_core::UnixMillis;

use crate::limits::{
    FIRST_RENEWAL_PAUSE_MS, LONGEST_RENEWAL_PAUSE_MS, MIN_RENEWED_SPAN_MS, REISSUE_SPREAD_MS,
    RENEWAL_BYTES, RENEWAL_WINDOW_MS, RENEWALS,
};

/// The span in which a copy need not be fetched again.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Span {
    pub(crate) from: UnixMillis,
    pub(crate) to: UnixMillis,
}

/// When a copy is fetched again.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Plan {
    /// `None`: never, or not drawn yet.
    at: Option<UnixMillis>,
    is_drawn: bool,
    /// The number of failures in a row.
    failures: u32,
    /// Whether the previous copy ended at the same moment, at which its issuer then makes the next
    /// one.
    repeats_end: bool,
}

impl Plan {
    /// The plan of a copy that replaced another one.
    pub(crate) fn after(before: Span, own: Span) -> Self {
        Self { repeats_end: before.to == own.to, ..Self::default() }
    }

    /// When the copy is due: in the last three eighths of its span, but never in the last eighth.
    /// If the trust changed at `changed_at`, it is due then, because no copy serves under the new
    /// trust yet.
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

    /// Records a failure. The next attempt is after a pause, and each pause is twice the one
    /// before.
    pub(crate) fn put_off(&mut self, now: UnixMillis, draw: u64) {
        let doubled = 2_u64.saturating_pow(self.failures);
        let pause = FIRST_RENEWAL_PAUSE_MS.saturating_mul(doubled).min(LONGEST_RENEWAL_PAUSE_MS);
        self.failures = self.failures.saturating_add(1);
        self.is_drawn = true;
        self.at = Some(now.plus(pause).plus(spread(draw, pause / 4)));
    }
}

/// The part of `most` that `drawn` selects.
fn spread(drawn: u64, most: u64) -> u64 {
    drawn.checked_rem(most).unwrap_or(0)
}

/// The budget that renewals may use of the hosts and of this machine.
#[derive(Debug, Default)]
pub(crate) struct Budget {
    since: UnixMillis,
    fetches: usize,
    bytes: usize,
}

impl Budget {
    /// How many fetches may still start now.
    pub(crate) fn left(&mut self, now: UnixMillis) -> usize {
        // A clock that was set back must not delay renewals.
        if now < self.since || now >= self.since.plus(RENEWAL_WINDOW_MS) {
            *self = Self { since: now, ..Self::default() };
        }
        match self.bytes < RENEWAL_BYTES {
            true => RENEWALS.saturating_sub(self.fetches),
            false => 0,
        }
    }

    /// Records the fetches that started and the bytes that they brought.
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
    fn a_clock_that_was_set_back_does_not_delay_renewals() {
        let mut budget = Budget::default();
        assert_eq!(budget.left(NOW), RENEWALS);
        budget.spend(RENEWALS, 0);
        assert_eq!((budget.left(NOW), budget.left(NOW.minus(1))), (0, RENEWALS));
    }
}
