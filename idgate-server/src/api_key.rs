//! API keys and signing secrets: how they look, how they are made, what is stored of them.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use idgate_core::entropy::{Entropy, EntropyUnavailable};
use zeroize::{Zeroize as _, Zeroizing};

const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const LIVE: &str = "sk_live_";
const TEST: &str = "sk_test_";
const PREFIX_LEN: usize = 8;
const RANDOM_LEN: usize = 32;
const CHECKSUM_LEN: usize = 6;

/// The scopes that a key can carry (specification 7).
pub const SCOPES: [&str; 4] = ["session:create", "session:read", "audit:read", "api_keys:manage"];

/// A well-formed API key: `sk_live_` or `sk_test_`, 32 random base62 characters, and the CRC-32 of
/// all of it in six more. Whether anybody owns it, the store knows.
pub struct ApiKey {
    text: Zeroizing<String>,
    livemode: bool,
}

impl ApiKey {
    /// A fresh key.
    pub fn generate(livemode: bool, entropy: &mut dyn Entropy) -> Result<Self, EntropyUnavailable> {
        let mut text =
            Zeroizing::new(String::with_capacity(PREFIX_LEN + RANDOM_LEN + CHECKSUM_LEN));
        text.push_str(if livemode { LIVE } else { TEST });
        push_random(&mut text, RANDOM_LEN, entropy)?;
        let sum = checksum(&text);
        text.push_str(&sum);
        Ok(Self { text, livemode })
    }

    /// A key from a request; `None` when it cannot be one, without any look-up.
    pub fn parse(text: &str) -> Option<Self> {
        let livemode = text.starts_with(LIVE);
        if !livemode && !text.starts_with(TEST) {
            return None;
        }
        let random = text.get(PREFIX_LEN..PREFIX_LEN + RANDOM_LEN)?;
        let sum = text.get(PREFIX_LEN + RANDOM_LEN..)?;
        let signed = text.get(..PREFIX_LEN + RANDOM_LEN)?;
        let good = random.bytes().all(|b| b.is_ascii_alphanumeric()) && sum == checksum(signed);
        good.then(|| Self { text: Zeroizing::new(text.to_owned()), livemode })
    }

    /// The SHA-256 under which the store knows it.
    pub fn digest(&self) -> [u8; 32] {
        let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, self.text.as_bytes());
        digest.as_ref().try_into().unwrap_or_default()
    }

    /// The mode in its prefix.
    pub fn livemode(&self) -> bool {
        self.livemode
    }

    /// The text, to be shown once. Keep it out of logs.
    pub fn expose(&self) -> &str {
        &self.text
    }

    /// Its last four characters: enough to recognise it in a list.
    pub fn hint(&self) -> &str {
        self.text.get(self.text.len().saturating_sub(4)..).unwrap_or("")
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(***)")
    }
}

/// A fresh webhook signing secret: `whsec_` and base64 of 32 bytes.
pub fn signing_secret(entropy: &mut dyn Entropy) -> Result<Zeroizing<String>, EntropyUnavailable> {
    let mut bytes = Zeroizing::new([0u8; 32]);
    entropy.fill(&mut *bytes)?;
    let encoded = Zeroizing::new(STANDARD.encode(*bytes));
    Ok(Zeroizing::new(["whsec_", &encoded].concat()))
}

/// Appends `count` characters, each of the 62 equally likely.
fn push_random(
    text: &mut String,
    count: usize,
    entropy: &mut dyn Entropy,
) -> Result<(), EntropyUnavailable> {
    // The largest multiple of 62 that a byte can count to; bytes above it would favour some digits.
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
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::entropy::OsEntropy;

    /// A small generator with a fixed seed, so that a failure repeats.
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
    fn ten_thousand_keys_parse_and_every_changed_position_is_malformed() {
        let mut seeded = Seeded(7);
        let mut seen = HashSet::new();
        for n in 0..10_000 {
            let key = ApiKey::generate(n % 2 == 0, &mut OsEntropy).unwrap();
            let text = key.expose();
            assert_eq!(text.len(), 46);
            let parsed = ApiKey::parse(text).expect("a generated key parses");
            assert_eq!((parsed.livemode(), parsed.digest()), (n % 2 == 0, key.digest()));
            assert!(seen.insert(key.digest()), "two keys are alike");
            let at = if n < 460 { n % 46 } else { seeded.below(46) };
            let mut bytes = text.as_bytes().to_vec();
            let old = bytes[at];
            while bytes[at] == old {
                bytes[at] = DIGITS[seeded.below(62)];
            }
            let changed = String::from_utf8(bytes).unwrap();
            assert!(ApiKey::parse(&changed).is_none(), "position {at} of {text}");
        }
    }

    #[test]
    fn malformed_keys_are_refused_before_any_lookup() {
        let key = ApiKey::generate(true, &mut OsEntropy).unwrap();
        let text = key.expose();
        let mut bad = vec![
            String::new(),
            "sk_live_".into(),
            "sk_other_".into(),
            format!("{text}0"),
            format!(" {text}"),
            format!("{text}\n"),
            text.replace("sk_live_", "sk_test_"),
            text.to_uppercase(),
            format!("sk_live_{}", "é".repeat(19)),
            format!("sk_live_{}", "€".repeat(100)),
        ];
        // A right checksum does not make other characters a key.
        let odd = format!("sk_live_{}", "-".repeat(32));
        bad.push(format!("{odd}{}", checksum(&odd)));
        bad.extend((0..text.len()).map(|len| text[..len].to_owned()));
        for text in bad {
            assert!(ApiKey::parse(&text).is_none(), "{text:?}");
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
    fn the_digest_is_sha256_of_the_whole_key() {
        let key = ApiKey { text: Zeroizing::new("abc".into()), livemode: true };
        assert_eq!(key.digest()[..4], [0xba, 0x78, 0x16, 0xbf]);
    }

    #[test]
    fn every_character_occurs() {
        let mut seen = HashSet::new();
        for _ in 0..200 {
            let key = ApiKey::generate(true, &mut OsEntropy).unwrap();
            seen.extend(key.expose()[PREFIX_LEN..PREFIX_LEN + RANDOM_LEN].bytes());
        }
        assert_eq!(seen.len(), 62);
    }

    #[test]
    fn debug_shows_nothing_of_the_key() {
        let key = ApiKey::generate(true, &mut OsEntropy).unwrap();
        assert_eq!(format!("{key:?}"), "ApiKey(***)");
    }

    #[test]
    fn a_signing_secret_holds_32_bytes() {
        let secret = signing_secret(&mut OsEntropy).unwrap();
        let bytes = STANDARD.decode(secret.strip_prefix("whsec_").unwrap()).unwrap();
        assert_eq!(bytes.len(), 32);
        assert_ne!(*signing_secret(&mut OsEntropy).unwrap(), *secret);
    }
}
