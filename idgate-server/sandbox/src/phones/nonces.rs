//! Nonces for proofs. A nonce consists of its time and random bits, authenticated with a key of
//! this process, so that requests for many nonces use no memory. Only used nonces are stored, as
//! digests, until they expire.

use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::shell::ct;
use idgate_testkit::codec::{base64url, from_base64url};

use super::digests::{Bounded, Full, digest, random};
use crate::limits::{MAX_CLOCK_AHEAD_MS, MAX_USED_NONCES, NONCE_LIFE_MS};

/// Lengths of the time, the random bits and the authentication code.
const TIME: usize = 8;
const BODY: usize = 24;
const MAC: usize = 16;

/// The nonces of one issuer.
pub(super) struct Nonces {
    key: [u8; 32],
    used: Bounded<()>,
}

impl Nonces {
    /// # Errors
    /// The system has no random bytes.
    pub(super) fn new() -> Result<Self, String> {
        Ok(Self { key: random()?, used: Bounded::new(MAX_USED_NONCES) })
    }

    /// A new nonce.
    ///
    /// # Errors
    /// The system has no random bytes.
    pub(super) fn make(&self, now_ms: u64) -> Result<String, String> {
        let body = [&now_ms.to_be_bytes()[..], &random::<16>()?].concat();
        Ok(base64url(&[&*body, &self.mac(&body)].concat()))
    }

    /// Whether it is this process's, not expired, and not used.
    pub(super) fn is_live(&self, nonce: &str, now_ms: u64) -> bool {
        let Some(bytes) = from_base64url(nonce).filter(|bytes| bytes.len() == BODY + MAC) else {
            return false;
        };
        let (body, mac) = bytes.split_at(BODY);
        let time = body.first_chunk::<TIME>().map_or(0, |time| u64::from_be_bytes(*time));
        ct::eq(&self.mac(body), mac)
            && time <= now_ms.saturating_add(MAX_CLOCK_AHEAD_MS)
            && now_ms < time.saturating_add(NONCE_LIFE_MS)
            && self.used.get(&digest(nonce), now_ms).is_none()
    }

    /// Marks a nonce as used.
    ///
    /// # Errors
    /// There is no room.
    pub(super) fn burn(&mut self, nonce: &str, now_ms: u64) -> Result<(), Full> {
        let until = now_ms.saturating_add(NONCE_LIFE_MS).saturating_add(MAX_CLOCK_AHEAD_MS);
        self.used.keep(digest(nonce), (), until, now_ms)
    }

    fn mac(&self, body: &[u8]) -> Vec<u8> {
        let mac = PROVIDER.agreement.hmac_sha256(&self.key, body);
        mac.into_iter().take(MAC).collect()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const NOW: u64 = 1_790_000_000_000;

    #[test]
    fn a_nonce_is_valid_until_it_expires_or_is_used() {
        let mut nonces = Nonces::new().unwrap();
        let nonce = nonces.make(NOW).unwrap();
        assert!(nonces.is_live(&nonce, NOW) && nonces.is_live(&nonce, NOW + NONCE_LIFE_MS - 1));
        assert!(!nonces.is_live(&nonce, NOW + NONCE_LIFE_MS));
        nonces.burn(&nonce, NOW).unwrap();
        assert!(!nonces.is_live(&nonce, NOW));
    }

    #[test]
    fn used_nonces_beyond_the_maximum_are_refused_until_one_expires() {
        let mut nonces = Nonces::new().unwrap();
        for _ in 0..MAX_USED_NONCES {
            let nonce = nonces.make(NOW).unwrap();
            nonces.burn(&nonce, NOW).unwrap();
        }
        let nonce = nonces.make(NOW).unwrap();
        assert_eq!(nonces.burn(&nonce, NOW), Err(Full));
        assert!(nonces.is_live(&nonce, NOW), "it is not used");
        let later = NOW + NONCE_LIFE_MS + MAX_CLOCK_AHEAD_MS;
        assert_eq!(nonces.burn(&nonces.make(later).unwrap(), later), Ok(()));
    }

    #[test]
    fn a_nonce_of_another_process_or_a_changed_one_is_not_valid() {
        let (one, other) = (Nonces::new().unwrap(), Nonces::new().unwrap());
        let nonce = one.make(NOW).unwrap();
        assert!(!other.is_live(&nonce, NOW));
        let first = if nonce.starts_with('A') { "B" } else { "A" };
        let changed = format!("{first}{}", nonce.get(1..).unwrap());
        for other in ["", "x", &nonce[1..], &changed, &format!("{nonce}A")] {
            assert!(!one.is_live(other, NOW), "{other}");
        }
    }
}
