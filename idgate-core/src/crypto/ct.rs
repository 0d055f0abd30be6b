//! Comparison in constant time.

use subtle::ConstantTimeEq;

/// Whether both are equal. Takes the same time for any two inputs of given lengths.
pub fn eq(a: &[u8], b: &[u8]) -> bool {
    bool::from(a.ct_eq(b))
}

#[cfg(test)]
mod tests {
    use super::eq;

    #[test]
    fn equal_means_same_length_and_bytes() {
        assert!(eq(b"", b"") && eq(b"state", b"state"));
        for (a, b) in [("state", "statE"), ("state", "stat"), ("", "s"), ("state", "tstate")] {
            assert!(!eq(a.as_bytes(), b.as_bytes()), "{a} {b}");
        }
    }
}
