//! JSON numbers by value: exact comparison beyond the 53 bits of a double, so that different
//! numbers in a filter and a claim never compare as equal.

use alloc::format;
use alloc::string::String;
use core::cmp::Ordering;

/// A decimal number `0.digits × 10^exponent`. The digits neither begin nor end with a zero, and
/// zero has none, so that equal numbers are equal values.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Decimal {
    negative: bool,
    digits: String,
    exponent: i64,
}

impl Decimal {
    /// Parses the source text of a JSON number.
    pub(crate) fn parse(number: &str) -> Self {
        let (negative, unsigned) = match number.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, number),
        };
        let (mantissa, power) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let mut digits = String::with_capacity(whole.len() + fraction.len());
        digits.push_str(whole);
        digits.push_str(fraction);
        let leading = digits.bytes().take_while(|digit| *digit == b'0').count();
        digits.drain(..leading);
        digits.truncate(digits.trim_end_matches('0').len());
        if digits.is_empty() {
            return Self { negative: false, digits, exponent: 0 };
        }
        let exponent = power_of_ten(power)
            .saturating_add(saturated(whole.len()))
            .saturating_sub(saturated(leading));
        Self { negative, digits, exponent }
    }

    /// A text that is unique for each number.
    pub(crate) fn canonical(&self) -> String {
        let sign = if self.negative { "-" } else { "" };
        format!("{sign}0.{}e{}", self.digits, self.exponent)
    }

    /// Whether the number has no fraction; `1.0` has none (JSON Schema 6.1.1).
    pub(super) fn is_integer(&self) -> bool {
        saturated(self.digits.len()) <= self.exponent || self.digits.is_empty()
    }

    /// The number if it is a non-negative integer of 64 bits.
    pub(super) fn as_u64(&self) -> Option<u64> {
        const LONGEST: i64 = 20;
        if self.negative || !self.is_integer() || self.exponent > LONGEST {
            return None;
        }
        let zeros = usize::try_from(self.exponent).ok()?.checked_sub(self.digits.len())?;
        let padded = self.digits.chars().chain(core::iter::repeat_n('0', zeros));
        padded
            .filter_map(|digit| digit.to_digit(10))
            .try_fold(0u64, |number, digit| number.checked_mul(10)?.checked_add(u64::from(digit)))
    }

    fn cmp_magnitude(&self, other: &Self) -> Ordering {
        match (self.digits.is_empty(), other.digits.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (false, false) => {
                self.exponent.cmp(&other.exponent).then_with(|| self.digits.cmp(&other.digits))
            }
        }
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.negative, other.negative) {
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
            (false, false) => self.cmp_magnitude(other),
            (true, true) => other.cmp_magnitude(self),
        }
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// An exponent that does not fit belongs to a number close to zero: strict JSON has no larger ones.
fn power_of_ten(text: &str) -> i64 {
    text.parse().unwrap_or(i64::MIN / 2)
}

fn saturated(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_numbers_are_equal_whatever_their_spelling() {
        for (a, b) in [
            ("1", "1.0"),
            ("100", "1e2"),
            ("0.5", "5E-1"),
            ("-0", "0"),
            ("0e9", "0.000"),
            ("12.50", "125e-1"),
        ] {
            assert_eq!(Decimal::parse(a), Decimal::parse(b), "{a} {b}");
        }
    }

    #[test]
    fn numbers_are_ordered_by_value() {
        let ordered = [
            "-1e300",
            "-10",
            "-9.5",
            "-1",
            "-0.001",
            "0",
            "1e-400",
            "0.001",
            "0.5",
            "1",
            "9",
            "9.99",
            "10",
            "9007199254740992",
            "9007199254740993",
            "1e300",
        ];
        for pair in ordered.windows(2) {
            let [a, b] = pair else { unreachable!() };
            assert!(Decimal::parse(a) < Decimal::parse(b), "{a} {b}");
        }
    }

    #[test]
    fn integers_are_numbers_without_fraction() {
        for (text, expected) in [
            ("0", Some(0)),
            ("60000.0", Some(60_000)),
            ("6e4", Some(60_000)),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551616", None),
            ("1e300", None),
            ("0.5", None),
            ("-1", None),
        ] {
            assert_eq!(Decimal::parse(text).as_u64(), expected, "{text}");
        }
    }

    #[test]
    fn an_exponent_beyond_64_bits_is_close_to_zero() {
        let tiny = Decimal::parse("1e-99999999999999999999999");
        assert!(tiny > Decimal::parse("0") && tiny < Decimal::parse("1e-400"));
        assert!(!tiny.is_integer());
    }
}
