//! Compact JWE by ECDH-ES in direct agreement (RFC 7516 7.1, RFC 7518 4.6). It decrypts a JWE only
//! with the offered key and an offered `enc`; every other JWE fails, and all failures are the same
//! (OpenID4VP 8.3).

use alloc::vec::Vec;
use core::fmt;

use zeroize::Zeroizing;

use crate::codec::base64url;
use crate::codec::json::{Tape, Value};
use crate::crypto::{
    ContentEncryption, CryptoProvider, DecryptionFailed, EcdhPrivateKey, PublicKey, Sealed,
};
use crate::limits::{MAX_JWE_HEADER_CHARS, MAX_JWE_IV_BYTES};

/// The recipient and the algorithms that the request offered.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::exhaustive_structs)] // a request offers exactly these three
pub struct JweRecipient<'k> {
    /// The private half of the offered key.
    pub key: &'k EcdhPrivateKey,
    /// The `kid` of the offered key. A JWE without `kid` can only mean this key; a different `kid`
    /// is refused.
    pub kid: &'k str,
    /// The offered `enc` values.
    pub enc: &'k [ContentEncryption],
}

/// A decrypted JWE.
#[non_exhaustive]
pub struct OpenedJwe {
    /// The plaintext, wiped when dropped.
    pub payload: Zeroizing<Vec<u8>>,
    /// Agreement PartyUInfo, decoded; `None`: absent.
    pub apu: Option<Vec<u8>>,
    /// Agreement PartyVInfo, decoded; `None`: absent.
    pub apv: Option<Vec<u8>>,
}

/// Omits the plaintext.
impl fmt::Debug for OpenedJwe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OpenedJwe({} bytes)", self.payload.len())
    }
}

impl JweRecipient<'_> {
    /// Decrypts `text`.
    ///
    /// # Errors
    /// The text is not a compact JWE, was not encrypted to this recipient's key in an offered way,
    /// or its authentication tag is wrong.
    pub fn open(
        &self,
        provider: &CryptoProvider,
        text: &str,
    ) -> Result<OpenedJwe, DecryptionFailed> {
        let parts = CompactJwe::split(text).ok_or(DecryptionFailed)?;
        let header = self.header(parts.header).ok_or(DecryptionFailed)?;
        let secret = provider.agreement.ecdh(self.key, &header.epk);
        let secret = secret.map_err(|_| DecryptionFailed)?;
        let (apu, apv) = (header.apu.as_deref(), header.apv.as_deref());
        let key = provider
            .concat_kdf(&secret, header.enc, apu.unwrap_or_default(), apv.unwrap_or_default())
            .ok_or(DecryptionFailed)?;
        let (mut iv, mut tag) = ([0; MAX_JWE_IV_BYTES], [0; 16]);
        let iv = base64url::decode_into(parts.iv, &mut iv).map_err(|_| DecryptionFailed)?;
        let tag = base64url::decode_into(parts.tag, &mut tag).map_err(|_| DecryptionFailed)?;
        let ciphertext = base64url::decode(parts.ciphertext).map_err(|_| DecryptionFailed)?;
        let sealed = Sealed {
            iv,
            aad: parts.header.as_bytes(),
            ciphertext: &ciphertext,
            tag: tag.try_into().map_err(|_| DecryptionFailed)?,
        };
        let payload = provider.open_content(header.enc, &key, sealed)?;
        Ok(OpenedJwe { payload, apu: header.apu, apv: header.apv })
    }

    /// The protected header, if it is for this recipient.
    fn header(&self, text: &str) -> Option<Header> {
        if text.len() > MAX_JWE_HEADER_CHARS {
            return None;
        }
        let json = base64url::decode(text).ok()?;
        let mut tape = Tape::default();
        let id = tape.parse(&json).ok()?;
        let header = tape.value(id);
        self.is_for_us(header).then_some(())?;
        let enc = header.get("enc")?.as_text()?;
        let epk = PublicKey::from_jwk(header.get("epk")?).ok()?;
        Some(Header {
            enc: self.enc.iter().copied().find(|offered| enc.is(offered.name()))?,
            epk: (epk.curve() == self.key.curve()).then_some(epk)?,
            apu: party_info(header, "apu")?,
            apv: party_info(header, "apv")?,
        })
    }

    /// `alg` is ECDH-ES, no extension, compression or password is required, and the key is ours
    /// (RFC 7516 4.1).
    fn is_for_us(&self, header: Value<'_, '_>) -> bool {
        const REFUSED: [&str; 4] = ["crit", "zip", "p2s", "p2c"];
        let Some(mut members) = header.members() else { return false };
        let is = |name: &str, text: &str| {
            header.get(name).and_then(Value::as_text).is_some_and(|value| value.is(text))
        };
        members.all(|(name, _)| REFUSED.iter().all(|refused| !name.is(refused)))
            && is("alg", "ECDH-ES")
            && (header.get("kid").is_none() || is("kid", self.kid))
    }
}

struct Header {
    enc: ContentEncryption,
    epk: PublicKey,
    apu: Option<Vec<u8>>,
    apv: Option<Vec<u8>>,
}

/// `Some(None)`: absent; `None`: not base64url.
fn party_info(header: Value<'_, '_>, name: &str) -> Option<Option<Vec<u8>>> {
    match header.get(name) {
        None => Some(None),
        Some(value) => base64url::decode(&value.as_text()?.unescape()).ok().map(Some),
    }
}

/// The parts of a compact JWE except the encrypted key, which is empty in direct agreement (RFC
/// 7518 4.6).
struct CompactJwe<'a> {
    header: &'a str,
    iv: &'a str,
    ciphertext: &'a str,
    tag: &'a str,
}

impl<'a> CompactJwe<'a> {
    fn split(text: &'a str) -> Option<Self> {
        let mut parts = text.split('.');
        let mut next = || parts.next();
        let (header, key, iv, ciphertext, tag) = (next()?, next()?, next()?, next()?, next()?);
        (key.is_empty() && next().is_none()).then_some(Self { header, iv, ciphertext, tag })
    }
}

#[cfg(all(test, any(feature = "aws-lc-rs", feature = "rustcrypto")))]
#[allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods, // reads test data
)]
mod tests;
