//! Whether a number fits into a double. Digits are compared and nothing is converted: a correctly
//! rounded conversion takes microseconds for a number of twenty digits, and an attacker may send
//! thousands of them.

use core::cmp::Ordering;

use crate::work;

/// 2^1024 - 2^970: from here on a number is rounded to infinity (IEEE 754 4.3.1).
const OVERFLOW: &str = "179769313486231580793728971405303415079934132710037826936173778980\
    4449682927647509466490179775872070963302864166928879109465555478519404026306574886715058206819\
    0890200070838367627385484581771153176447573027006985557136695962284291481986083493647529271907\
    4168444365510704342711559699508093042880177904174497792";

/// Whether a JSON number (RFC 8259 6) rounds to a finite double. `whole` is the part before its
/// point, and `fraction` the point and the digits after it, if there is one.
pub(super) fn is_finite(whole: &str, fraction: &str, exponent: i64) -> bool {
    work::steps(whole.len().saturating_add(fraction.len()));
    let whole = without_leading_zeros(whole.strip_prefix('-').unwrap_or(whole).as_bytes());
    let fraction = fraction.as_bytes().get(1..).unwrap_or_default();
    // The number is 0.d1d2d3… times ten to this power.
    let (digits, rest, power) = if whole.is_empty() {
        let digits = without_leading_zeros(fraction);
        if digits.is_empty() {
            return true;
        }
        (digits, &[][..], signed(digits.len()) - signed(fraction.len()))
    } else {
        (whole, fraction, signed(whole.len()))
    };
    match power.saturating_add(exponent).cmp(&signed(OVERFLOW.len())) {
        Ordering::Less => true,
        Ordering::Greater => false,
        Ordering::Equal => is_below(digits, rest),
    }
}

fn without_leading_zeros(digits: &[u8]) -> &[u8] {
    let zeros = digits.iter().take_while(|digit| **digit == b'0').count();
    digits.get(zeros..).unwrap_or_default()
}

/// Whether 0.`digits``rest` is below 0.[`OVERFLOW`], which does not end in zeros. It compares byte
/// by byte: most numbers differ early, and a call of memcmp costs more.
fn is_below(digits: &[u8], rest: &[u8]) -> bool {
    let own = digits.iter().chain(rest);
    let mut pairs = own.zip(OVERFLOW.as_bytes());
    match pairs.find(|(own, bound)| own != bound) {
        Some((own, bound)) => own < bound,
        None => digits.len().saturating_add(rest.len()) < OVERFLOW.len(),
    }
}

/// The exponent of a number, without its `e`. Exponents beyond 64 bits saturate.
pub(super) fn parse_exponent(text: &[u8]) -> i64 {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] | digits => (false, digits),
    };
    let value = digits.iter().try_fold(0i64, |value, digit| {
        value.checked_mul(10)?.checked_add(i64::from(digit.wrapping_sub(b'0')))
    });
    match (value, negative) {
        (Some(value), false) => value,
        (Some(value), true) => -value,
        (None, false) => i64::MAX,
        (None, true) => i64::MIN,
    }
}

fn signed(len: usize) -> i64 {
    i64::try_from(len).unwrap_or(i64::MAX)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use alloc::format;
    use alloc::string::String;

    use super::*;

    fn is_finite(number: &str) -> bool {
        let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, ""));
        let point = mantissa.find('.').unwrap_or(mantissa.len());
        let (whole, fraction) = mantissa.split_at(point);
        super::is_finite(whole, fraction, parse_exponent(exponent.as_bytes()))
    }

    /// The result of the standard library's full conversion.
    fn converted(number: &str) -> bool {
        number.parse::<f64>().unwrap().is_finite()
    }

    #[test]
    fn agrees_with_a_conversion_at_the_edge_of_the_range() {
        let below = format!("{}1", OVERFLOW.strip_suffix("2").unwrap());
        let point = |at: usize| {
            let (whole, fraction) = OVERFLOW.split_at(at);
            format!("{whole}.{fraction}e{}", OVERFLOW.len() - at)
        };
        let mut numbers = vec![
            String::from(OVERFLOW),
            format!("{OVERFLOW}.0"),
            format!("{below}.99999999999999999999"),
            format!("-{below}"),
            format!("-{OVERFLOW}"),
            format!("0.{OVERFLOW}e309"),
            format!("0.{below}E+309"),
            format!("0.000{below}e312"),
            format!("0.000{OVERFLOW}e312"),
            format!("{below}0e-1"),
            format!("{OVERFLOW}0e-1"),
            below,
        ];
        numbers.extend([1, 2, 17, 308].map(point));
        for text in [
            "0",
            "-0",
            "0e999999999999999999999",
            "0.0e-99",
            "1e308",
            "1e309",
            "1.7976931348623157e308",
            "1.7976931348623158e308",
            "1.7976931348623159e308",
            "17.976931348623157E307",
            "1e-400",
            "1e400",
            "9e307",
            "10e308",
            "0.1e309",
            "0.1e310",
            "0.01e310",
            "1e99999999999999999999",
            "1e-99999999999999999999",
            "100000e304",
            "100000e303",
            "0.00001e313",
            "0.00001e314",
        ] {
            numbers.push(text.into());
        }
        for number in numbers {
            assert_eq!(is_finite(&number), converted(&number), "{number}");
        }
    }

    #[test]
    fn agrees_with_a_conversion_for_long_numbers() {
        for digits in [300, 307, 308, 309, 310, 400] {
            for first in ["1", "17", "18", "9", "00"] {
                let number = format!("{first}{}", "7".repeat(digits - first.len()));
                assert_eq!(is_finite(&number), converted(&number), "{digits} {first}");
                let shifted = format!("{number}.5e-{digits}");
                assert!(is_finite(&shifted) && converted(&shifted));
            }
        }
    }
}
