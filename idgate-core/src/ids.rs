//! Identifiers as types of their own: parsed where they enter, never mixed up afterwards.

mod claims_path;

use alloc::string::String;
use core::fmt;

use serde::{Deserialize, Serialize};

pub use self::claims_path::ClaimsPath;
pub(crate) use self::claims_path::RESERVED_NAMES;
use crate::entropy::{Entropy, EntropyUnavailable};
use crate::time::UnixMillis;

macro_rules! text_ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Takes the text as it is.
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into())
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    )*};
}

text_ids! {
    /// The public handle of a session: `ses_` and 22 base62 characters, 95 bits of them random.
    SessionId;
    /// The handle of an offer beside a session's own: `off_` and 22 base62 characters, 95 bits of them random.
    OfferId;
    /// The tenant that owns a session; the wire calls it `client_id`.
    TenantId;
    /// The name of a trust entry.
    IssuerId;
    /// The OAuth `client_id` of a request: the audience that a holder's proof must name.
    ClientIdentifier;
    /// An mdoc document type, as `org.iso.18013.5.1.mDL`.
    DocType;
    /// An mdoc namespace, as `org.iso.18013.5.1`.
    NameSpace;
}

/// The format of a credential, by its name in the API.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub enum CredentialFormat {
    /// SD-JWT VC
    #[serde(rename = "vc+sd-jwt")]
    SdJwtVc,
    /// ISO/IEC 18013-5 mdoc
    #[serde(rename = "mso_mdoc")]
    Mdoc,
}

impl CredentialFormat {
    /// From its name in the API.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "vc+sd-jwt" => Some(Self::SdJwtVc),
            "mso_mdoc" => Some(Self::Mdoc),
            _ => None,
        }
    }

    /// Its name in the API.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SdJwtVc => "vc+sd-jwt",
            Self::Mdoc => "mso_mdoc",
        }
    }
}

macro_rules! secret_ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Deserialize, Serialize)]
        #[serde(transparent)]
        pub struct $name(zeroize::Zeroizing<String>);

        impl $name {
            /// Takes the text as it is.
            pub fn new(text: impl Into<String>) -> Self {
                Self(zeroize::Zeroizing::new(text.into()))
            }

            /// The text. Keep it out of logs.
            pub fn expose(&self) -> &str {
                &self.0
            }

            /// 256 fresh bits as base64url: every OpenID4VP version accepts the characters.
            pub(crate) fn fresh(entropy: &mut dyn Entropy) -> Result<Self, EntropyUnavailable> {
                let mut bytes = zeroize::Zeroizing::new([0u8; 32]);
                entropy.fill(&mut *bytes)?;
                Ok(Self::new(crate::codec::base64url::encode(&*bytes)))
            }

            /// Equality in constant time.
            pub fn matches(&self, other: &str) -> bool {
                crate::crypto::ct::eq(self.0.as_bytes(), other.as_bytes())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($name), "(***)"))
            }
        }
    )*};
}

secret_ids! {
    /// The value that binds a holder's proof to one request.
    Nonce;
    /// The OAuth `state` of a request.
    State;
}

impl SessionId {
    /// A fresh id. Those of later sessions sort behind those of earlier ones.
    pub(crate) fn fresh(
        entropy: &mut dyn Entropy,
        now: UnixMillis,
    ) -> Result<Self, EntropyUnavailable> {
        handle("ses_", entropy, now).map(Self)
    }
}

impl OfferId {
    /// A fresh id. Those of later offers sort behind those of earlier ones.
    pub(crate) fn fresh(
        entropy: &mut dyn Entropy,
        now: UnixMillis,
    ) -> Result<Self, EntropyUnavailable> {
        handle("off_", entropy, now).map(Self)
    }
}

/// `prefix` and 22 base62 characters that carry 128 random bits.
pub fn random_id(prefix: &str, entropy: &mut dyn Entropy) -> Result<String, EntropyUnavailable> {
    let mut id = String::from(prefix);
    push_digits(&mut id, random(entropy)?, 22);
    Ok(id)
}

/// What a step of the time in handles has, in milliseconds.
const STEP_MS: u64 = 256;

/// `prefix`, 6 base62 characters of the time and 16 that carry 95 random bits: many sessions later an index of handles
/// still grows at its end, where those of the moment are, and not in as many places as there are new ones.
fn handle(
    prefix: &str,
    entropy: &mut dyn Entropy,
    now: UnixMillis,
) -> Result<String, EntropyUnavailable> {
    let mut id = String::with_capacity(prefix.len() + 22);
    id.push_str(prefix);
    push_digits(&mut id, u128::from(now.0 / STEP_MS), 6);
    push_digits(&mut id, random(entropy)?, 16);
    Ok(id)
}

fn random(entropy: &mut dyn Entropy) -> Result<u128, EntropyUnavailable> {
    let mut bytes = [0u8; 16];
    entropy.fill(&mut bytes)?;
    Ok(u128::from_be_bytes(bytes))
}

/// The last `count` base62 digits of `number`, at most 22; they sort as they count.
fn push_digits(id: &mut String, mut number: u128, count: usize) {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut digits = ['0'; 22];
    let used = digits.len().saturating_sub(count);
    for place in digits.iter_mut().skip(used).rev() {
        let digit = usize::try_from(number % 62).unwrap_or(0);
        *place = DIGITS.get(digit).map_or('0', |digit| char::from(*digit));
        number /= 62;
    }
    id.extend(digits.iter().skip(used));
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const NOW: u64 = 1_790_000_000_000;

    /// Gives the same byte again and again.
    struct Same(u8);

    impl Entropy for Same {
        fn fill(&mut self, out: &mut [u8]) -> Result<(), EntropyUnavailable> {
            out.fill(self.0);
            Ok(())
        }
    }

    fn session(byte: u8, now: u64) -> String {
        SessionId::fresh(&mut Same(byte), UnixMillis(now)).unwrap().0
    }

    #[test]
    fn the_handles_of_later_sessions_and_offers_sort_behind_earlier_ones() {
        let steps = [0, STEP_MS, NOW, NOW + STEP_MS, NOW * 2, 62u64.pow(6) * STEP_MS - 1];
        let handles = steps.map(|now| (session(0xff, now), session(0, now)));
        assert!(handles.is_sorted());
        for pair in handles.windows(2) {
            // Whatever is random in them.
            assert!(pair[0].0 < pair[1].1, "{pair:?}");
        }
        let offer = |now| OfferId::fresh(&mut Same(7), UnixMillis(now)).unwrap();
        assert!(offer(NOW) < offer(NOW + STEP_MS));
    }

    #[test]
    fn a_handle_is_22_base62_characters_of_which_the_time_has_6_whatever_it_is() {
        for now in [0, NOW, u64::MAX] {
            let id = session(0x5a, now);
            let digits = id.strip_prefix("ses_").unwrap();
            assert!(
                digits.len() == 22 && digits.bytes().all(|b| b.is_ascii_alphanumeric()),
                "{id}"
            );
            assert_eq!(digits[6..], session(0x5a, 1)[10..], "the rest does not depend on the time");
        }
        // All 16 of them are drawn: 2^128 - 1 ends with these.
        assert_eq!(session(0xff, NOW), "ses_7dCVNkM5Tflk9n8mt7Fhc7");
    }

    #[test]
    fn a_random_id_has_nothing_of_the_time() {
        let id = random_id("key_", &mut Same(0)).unwrap();
        assert_eq!(id, format!("key_{}", "0".repeat(22)));
        assert_eq!(random_id("", &mut Same(0xff)).unwrap(), "7n42DGM5Tflk9n8mt7Fhc7");
    }
}
