//! The format of keys and tokens: a prefix, 32 random base62 characters, and the CRC-32 of all of
//! it in six more. Scanners can recognize them, and a mistyped one costs no lookup.

use idgate_core::{Entropy, EntropyUnavailable};
use zeroize::{Zeroize as _, Zeroizing};

const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// 190 bits cannot be guessed, so a fast digest is enough for storing.
const RANDOM_LEN: usize = 32;
const CHECKSUM_LEN: usize = 6;

/// A fresh text with this prefix.
pub(crate) fn generate(
    prefix: &str,
    entropy: &mut dyn Entropy,
) -> Result<Zeroizing<String>, EntropyUnavailable> {
    let length = prefix.len().saturating_add(RANDOM_LEN + CHECKSUM_LEN);
    let mut text = Zeroizing::new(String::with_capacity(length));
    text.push_str(prefix);
    push_random(&mut text, RANDOM_LEN, entropy)?;
    let sum = checksum(&text);
    text.push_str(&sum);
    Ok(text)
}

/// Whether `text` is well-formed for this prefix.
pub(crate) fn is_well_formed(prefix: &str, text: &str) -> bool {
    let Some(rest) = text.strip_prefix(prefix) else { return false };
    let Some((random, sum)) = rest.split_at_checked(RANDOM_LEN) else { return false };
    let signed = text.len().checked_sub(sum.len()).and_then(|end| text.get(..end));
    random.bytes().all(|b| b.is_ascii_alphanumeric())
        && signed.is_some_and(|signed| sum == checksum(signed))
}

/// Its SHA-256, by which the store finds it.
pub(crate) fn digest(text: &str) -> [u8; 32] {
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, text.as_bytes());
    digest.as_ref().try_into().unwrap_or_default()
}

/// Appends `count` characters, each of the 62 equally likely.
fn push_random(
    text: &mut String,
    count: usize,
    entropy: &mut dyn Entropy,
) -> Result<(), EntropyUnavailable> {
    // The largest multiple of 62 within a byte; bytes from it upwards would favour some digits.
    const FAIR: u8 = 248;
    let mut bytes = [0u8; 64];
    let mut missing = count;
    while missing > 0 {
        entropy.fill(&mut bytes)?;
        for byte in bytes.iter().filter(|byte| **byte < FAIR).take(missing) {
            text.push(digit(u32::from(*byte)));
            missing -= 1;
        }
    }
    bytes.zeroize();
    Ok(())
}

/// The CRC-32 (ISO-HDLC) of `text` as six base62 digits, most significant first.
fn checksum(text: &str) -> String {
    let mut rest = crc32fast::hash(text.as_bytes());
    let mut digits = ['0'; CHECKSUM_LEN];
    for slot in digits.iter_mut().rev() {
        *slot = digit(rest);
        rest /= 62;
    }
    digits.iter().collect()
}

/// The base62 digit for `n` modulo 62.
fn digit(n: u32) -> char {
    let index = usize::try_from(n % 62).unwrap_or(0);
    DIGITS.get(index).map_or('0', |digit| char::from(*digit))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::entropy::OsEntropy;

    const PREFIX: &str = "sk_live_";

    /// A small generator with a fixed seed, so that failures are reproducible.
    struct Seeded(u64);

    impl Seeded {
        fn below(&mut self, n: usize) -> usize {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(self.0 >> 33).unwrap() % n
        }
    }

    #[test]
    fn generated_texts_are_well_formed_and_a_change_at_any_position_is_not() {
        let mut seeded = Seeded(7);
        let mut seen = HashSet::new();
        for n in 0..10_000 {
            let prefix = [PREFIX, "sk_test_", "adm_"][n % 3];
            let text = generate(prefix, &mut OsEntropy).unwrap();
            assert_eq!(text.len(), prefix.len() + 38);
            assert!(is_well_formed(prefix, &text) && seen.insert(digest(&text)));
            for at in 0..text.len() {
                let mut bytes = text.as_bytes().to_vec();
                while bytes[at] == text.as_bytes()[at] {
                    bytes[at] = DIGITS[seeded.below(62)];
                }
                let changed = String::from_utf8(bytes).unwrap();
                assert!(!is_well_formed(prefix, &changed), "position {at} of {}", *text);
            }
        }
    }

    #[test]
    fn other_lengths_and_characters_are_not_well_formed() {
        let text = generate(PREFIX, &mut OsEntropy).unwrap();
        let mut bad = vec![
            String::new(),
            PREFIX.into(),
            format!("{}0", *text),
            format!(" {}", *text),
            format!("{}\n", *text),
            text.to_uppercase(),
            format!("{PREFIX}{}", "é".repeat(19)),
            format!("{PREFIX}{}", "€".repeat(100)),
        ];
        // A correct checksum does not make other characters well-formed.
        let odd = format!("{PREFIX}{}", "-".repeat(32));
        bad.push(format!("{odd}{}", checksum(&odd)));
        bad.extend((0..text.len()).map(|len| text[..len].to_owned()));
        for text in bad {
            assert!(!is_well_formed(PREFIX, &text), "{text:?}");
        }
    }

    #[test]
    fn the_checksum_is_crc32_in_six_digits() {
        // The check value of CRC-32/ISO-HDLC is cbf43926, which is 3421780262.
        assert_eq!(crc32fast::hash(b"123456789"), 3_421_780_262);
        let value = checksum("123456789")
            .bytes()
            .fold(0u64, |n, b| n * 62 + DIGITS.iter().position(|d| *d == b).unwrap() as u64);
        assert_eq!(value, 3_421_780_262);
    }

    #[test]
    fn the_digest_is_sha256_of_the_whole_text() {
        assert_eq!(digest("abc")[..4], [0xba, 0x78, 0x16, 0xbf]);
    }

    #[test]
    fn every_character_occurs() {
        let mut seen = HashSet::new();
        for _ in 0..200 {
            seen.extend(generate(PREFIX, &mut OsEntropy).unwrap()[8..40].bytes());
        }
        assert_eq!(seen.len(), 62);
    }
}
