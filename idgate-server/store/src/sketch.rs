//! Percentiles of any number of values in little memory: a DDSketch (Masson, Rim, Lee, VLDB 2019).
//! Merging two sketches gives the sketch of all their values.

use std::collections::BTreeMap;

/// The maximum relative error of a percentile. It is half of the documented error, so that rounding
/// to whole numbers stays within that as well.
const ACCURACY: f64 = 0.005;

/// The number of values in each bucket. Bucket 0 holds zeros. Bucket n > 0 holds values above
/// `BASE^(n-2)` and up to `BASE^(n-1)`.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Sketch(BTreeMap<u16, u64>);

/// The width of a bucket relative to the previous one.
const BASE: f64 = (1.0 + ACCURACY) / (1.0 - ACCURACY);

impl Sketch {
    /// Counts a value.
    pub fn add(&mut self, value: u64) {
        let count = self.0.entry(bucket(value)).or_default();
        *count = count.saturating_add(1);
    }

    /// Counts all values of `other`.
    pub fn merge(&mut self, other: &Self) {
        for (bucket, more) in &other.0 {
            let count = self.0.entry(*bucket).or_default();
            *count = count.saturating_add(*more);
        }
    }

    /// The value that `percent` of all values do not exceed (nearest rank), as a whole number.
    /// `None`: there are no values.
    pub fn percentile(&self, percent: u64) -> Option<u64> {
        let total = self.0.values().fold(0_u64, |sum, count| sum.saturating_add(*count));
        let rank = total.saturating_mul(percent).div_ceil(100).max(1);
        let mut below = 0_u64;
        let found = self.0.iter().find(|(_, count)| {
            below = below.saturating_add(**count);
            below >= rank
        });
        found.map(|(bucket, _)| representative(*bucket))
    }

    /// The stored form: pairs of bucket and count as variable-length numbers. The bucket is given
    /// as the distance from the previous one.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.0.len().saturating_mul(3));
        let mut last = 0_u16;
        for (bucket, count) in &self.0 {
            write_number(&mut bytes, u64::from(bucket.wrapping_sub(last)));
            write_number(&mut bytes, *count);
            last = *bucket;
        }
        bytes
    }

    /// Parses the stored form. `None`: the bytes are not valid.
    pub fn from_bytes(mut bytes: &[u8]) -> Option<Self> {
        let mut counts = BTreeMap::new();
        let mut bucket = 0_u16;
        while !bytes.is_empty() {
            let distance = u16::try_from(read_number(&mut bytes)?).ok()?;
            bucket = bucket.checked_add(distance)?;
            counts.insert(bucket, read_number(&mut bytes)?);
        }
        Some(Self(counts))
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, clippy::cast_sign_loss)]
// 64 bits need 4438 buckets, and the rounding error of a double is far below the accuracy
fn bucket(value: u64) -> u16 {
    if value == 0 { 0 } else { ((value as f64).ln() / BASE.ln()).ceil() as u16 + 1 }
}

/// The value with the same relative distance to both ends of the bucket.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // as above
fn representative(bucket: u16) -> u64 {
    match bucket.checked_sub(1) {
        None => 0,
        Some(exponent) => (2.0 * BASE.powi(i32::from(exponent)) / (BASE + 1.0)).round() as u64,
    }
}

fn write_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.extend(u8::try_from(number & 0x7f).map(|low| low | 0x80));
        number >>= 7;
    }
    bytes.extend(u8::try_from(number));
}

fn read_number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    fn assert_close(found: u64, exact: u64) {
        assert!(found.abs_diff(exact) * 100 <= exact, "{found} for {exact}");
    }

    #[test]
    fn one_value_comes_back_within_1_percent_and_exactly_below_100() {
        for value in (0..2000).chain((0..64).map(|bit| 1 << bit)).chain([u64::MAX / 2, 86_400_000])
        {
            let mut sketch = Sketch::default();
            sketch.add(value);
            let found = sketch.percentile(50).unwrap();
            assert_close(found, value);
            assert!(value >= 100 || found == value, "{found} for {value}");
        }
    }

    #[test]
    fn percentiles_are_those_of_the_nearest_rank() {
        let mut values: Vec<u64> = (1..=1000_u64).map(|n| n * n * 7919 % 600_011).collect();
        let (mut even, mut odd) = (Sketch::default(), Sketch::default());
        for (at, value) in values.iter().enumerate() {
            if at % 2 == 0 { &mut even } else { &mut odd }.add(*value);
        }
        even.merge(&odd);
        values.sort_unstable();
        for (percent, rank) in [(1, 10), (50, 500), (95, 950), (100, 1000)] {
            assert_close(even.percentile(percent).unwrap(), values[rank - 1]);
        }
        assert_eq!(Sketch::default().percentile(50), None);
    }

    #[test]
    fn the_stored_form_is_read_back_and_a_damaged_one_refused() {
        let mut sketch = Sketch::default();
        for value in [0, 0, 1, 7, 86_400_000, u64::MAX] {
            sketch.add(value);
        }
        let bytes = sketch.to_bytes();
        assert_eq!(Sketch::from_bytes(&bytes).unwrap(), sketch);
        assert_eq!(Sketch::from_bytes(&[]).unwrap(), Sketch::default());
        assert!(Sketch::from_bytes(&bytes[..bytes.len() - 1]).is_none());
        assert!(Sketch::from_bytes(&[0xff; 12]).is_none());
        assert!(Sketch::from_bytes(&[0xff, 0xff, 0x03, 1, 0xff, 0xff, 0x03, 1]).is_none());
    }
}
