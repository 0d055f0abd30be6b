//! Which traces are sampled: the samplers of OpenTelemetry's SDK specification, under their names.

use super::Parent;

/// Decides which traces are sampled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampler {
    /// Whether the incoming trace's own flag decides.
    pub follows_parent: bool,
    /// The sampled fraction of the other traces, 0 to 1.
    pub ratio: f64,
}

impl Sampler {
    /// Whether a trace is sampled; `parent` is its incoming parent, if any.
    pub(super) fn takes(self, trace_id: [u8; 16], parent: Option<&Parent>) -> bool {
        match parent {
            Some(parent) if self.follows_parent => parent.sampled,
            _ => self.draws(trace_id),
        }
    }

    /// The same decision for a trace wherever this ratio or a larger one is used.
    fn draws(self, trace_id: [u8; 16]) -> bool {
        const RANGE: f64 = 9_223_372_036_854_775_808.0; // 2^63
        let low = u128::from_be_bytes(trace_id) & u128::from(u64::MAX);
        #[allow(clippy::cast_precision_loss)] // as precise as the ratio itself
        let drawn = (low >> 1) as f64;
        // The largest value is rounded up to the range.
        self.ratio >= 1.0 || drawn < self.ratio * RANGE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parent(sampled: bool) -> Option<Parent> {
        Some(Parent { trace_id: [1; 16], span_id: [1; 8], sampled })
    }

    #[test]
    fn the_parents_flag_decides_if_configured() {
        for ratio in [0.0, 1.0] {
            let follows = Sampler { follows_parent: true, ratio };
            let own = Sampler { follows_parent: false, ratio };
            for sampled in [false, true] {
                assert_eq!(follows.takes([9; 16], parent(sampled).as_ref()), sampled);
                assert_eq!(own.takes([9; 16], parent(sampled).as_ref()), ratio > 0.5);
            }
            assert_eq!(follows.takes([9; 16], None), ratio > 0.5);
        }
    }

    #[test]
    fn a_ratio_samples_about_that_fraction() {
        let sampler = Sampler { follows_parent: true, ratio: 0.25 };
        let id = |n: u64| {
            let low = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            (u128::from(n) << 64 | u128::from(low)).to_be_bytes()
        };
        let taken = (1..=10_000).filter(|n| sampler.takes(id(*n), None)).count();
        assert!((2_300..2_700).contains(&taken), "{taken}");
        assert!(Sampler { ratio: 1.0, ..sampler }.takes([0xff; 16], None));
        assert!(!Sampler { ratio: 0.0, ..sampler }.takes([0; 16], None));
    }
}
