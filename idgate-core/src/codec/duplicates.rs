//! Finds duplicates among many keys. Keys are sorted, not hashed, so that the cost is n log n for
//! any input. Comparing numbers is several times as fast as comparing text.

use alloc::vec::Vec;

use crate::work;

/// The first eight bytes as a number, padded with zeros.
pub(super) fn head(bytes: &[u8]) -> u64 {
    let mut first = [0; 8];
    for (to, from) in first.iter_mut().zip(bytes) {
        *to = *from;
    }
    u64::from_be_bytes(first)
}

/// Whether two of `keys` are equal. Each comes with a number that is the same for equal keys, and
/// with the place that `whole` takes when the number does not decide.
pub(super) fn any<K: Ord>(mut keys: Vec<(u64, u32)>, whole: impl Fn(u32) -> K) -> bool {
    keys.sort_unstable_by(|a, b| {
        work::comparison(0);
        a.cmp(b)
    });
    let of_one_number = keys.chunk_by(|(a, _), (b, _)| a == b);
    of_one_number.filter(|same| same.len() > 1).any(|same| {
        let mut whole: Vec<K> = same.iter().map(|(_, place)| whole(*place)).collect();
        whole.sort_unstable_by(|a, b| {
            work::comparison(0);
            a.cmp(b)
        });
        whole.windows(2).any(|pair| matches!(pair, [a, b] if a == b))
    })
}

#[cfg(test)]
#[allow(clippy::indexing_slicing)]
mod tests {
    use super::*;

    fn is_any(keys: &[&str]) -> bool {
        let numbered = keys.iter().map(|key| head(key.as_bytes())).zip(0..).collect();
        any(numbered, |place| keys[usize::try_from(place).unwrap_or(0)])
    }

    #[test]
    fn keys_with_the_same_number_are_distinguished() {
        assert!(!is_any(&[]) && !is_any(&["a"]) && !is_any(&["", "\0", "a", "a\0", "b"]));
        assert!(!is_any(&["12345678", "123456789", "12345678a", "1234567"]));
        assert!(is_any(&["b", "a", "b"]) && is_any(&["", "a", ""]));
        assert!(is_any(&["123456789", "12345678a", "12345678", "12345678a"]));
    }
}
