//! Bounds for the cost of a hostile input, by counts: at most 2.3 times as much for twice the bytes, and at
//! most three times as much as a good input of the same size. A count is the same on every machine and under
//! every load. [`worst`] has the most expensive inputs.

pub mod worst;

/// The bound for the cost of twice the bytes.
const GROWTH: f64 = 2.3;
/// The bound compared with a good input.
const RATIO: f64 = 3.0;

/// The costs of an input at a quarter, a half and the whole of the size.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Costs(pub Vec<u64>);

impl Costs {
    /// Returns the cost that is too high, if any. `good` has the costs of good inputs. Differences below `noise` are
    /// ignored.
    pub fn excess(&self, good: &Self, noise: u64) -> Option<String> {
        let exceeds = |cost: u64, other: u64, times: f64| {
            let found = cost as f64 / other as f64;
            (cost as f64 > other as f64 * times + noise as f64).then_some(found)
        };
        for (less, more) in self.0.iter().zip(self.0.iter().skip(1)) {
            if let Some(times) = exceeds(*more, *less, GROWTH) {
                return Some(format!("twice the bytes cost {times:.1} times as much"));
            }
        }
        let parts = ["a quarter", "half", "the whole"];
        for ((cost, good), part) in self.0.iter().zip(&good.0).zip(parts) {
            if let Some(times) = exceeds(*cost, *good, RATIO) {
                return Some(format!("at {part} of the size, {times:.1} times a good input"));
            }
        }
        None
    }

    /// A line of a table.
    pub fn line(&self, row: &str, input: &str, good: &Self) -> String {
        let costs: String = self.0.iter().map(|cost| format!(" {cost:>10}")).collect();
        let last = |costs: &Self| costs.0.last().copied().unwrap_or_default() as f64;
        format!("{row:24} {input:48}{costs} {:>6.2}", last(self) / last(good))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn excess(costs: &[u64], noise: u64) -> Option<String> {
        Costs(costs.to_vec()).excess(&Costs(vec![100, 200, 400]), noise)
    }

    #[test]
    fn linear_and_cheap_costs_pass() {
        for costs in [[100, 200, 400], [100, 229, 526], [1, 1, 1], [300, 600, 1200]] {
            assert_eq!(excess(&costs, 0), None, "{costs:?}");
        }
        assert_eq!(excess(&[100, 330, 700], 100), None);
        assert_eq!(excess(&[100, 200], 0), None);
    }

    #[test]
    fn twice_the_bytes_cost_at_most_2_3_times_as_much() {
        for costs in [[100, 231, 400], [100, 200, 461], [1, 3, 3]] {
            let found = excess(&costs, 0).unwrap_or_default();
            assert!(found.starts_with("twice the bytes cost"), "{costs:?}: {found}");
        }
        assert_eq!(
            excess(&[100, 331, 400], 100).as_deref(),
            Some("twice the bytes cost 3.3 times as much")
        );
    }

    #[test]
    fn no_size_costs_more_than_three_times_a_good_input() {
        let cases = [
            ([301, 400, 400], "a quarter"),
            ([300, 601, 601], "half"),
            ([300, 600, 1201], "whole"),
        ];
        for (costs, part) in cases {
            let found = excess(&costs, 0).unwrap_or_default();
            assert!(found.contains(part) && found.contains("a good input"), "{found}");
        }
    }
}
