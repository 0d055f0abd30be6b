//! Content encryption of JOSE (RFC 7518 5) and its key derivation (RFC 7518 4.6.2). Only
//! decryption: the verifier encrypts nothing.

use alloc::vec::Vec;
use core::fmt;

use zeroize::Zeroizing;

use crate::crypto::agreement::SharedSecret;
use crate::crypto::ct;
use crate::crypto::hash::HashAlg;
use crate::crypto::provider::CryptoProvider;

/// A content encryption algorithm (RFC 7518 5.1).
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum ContentEncryption {
    /// AES GCM with a key of 128 bits
    A128Gcm,
    /// AES GCM with a key of 256 bits
    A256Gcm,
    /// AES CBC with HMAC SHA-256, 128 bits each
    A128CbcHs256,
}

/// The error for encrypted content that does not decrypt. There is no detail, because details would
/// be an oracle.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(clippy::exhaustive_structs)] // carries nothing, ever
pub struct DecryptionFailed;

impl fmt::Display for DecryptionFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("decryption failed")
    }
}

impl core::error::Error for DecryptionFailed {}

impl ContentEncryption {
    /// All algorithms, in the order in which wallets are offered them.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) const ALL: [Self; 3] = [Self::A128Gcm, Self::A256Gcm, Self::A128CbcHs256];

    /// The algorithms that HAIP requires, in the order in which its wallets are offered them.
    pub(crate) const GCM: [Self; 2] = [Self::A256Gcm, Self::A128Gcm];

    /// Returns the JOSE name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::A128Gcm => "A128GCM",
            Self::A256Gcm => "A256GCM",
            Self::A128CbcHs256 => "A128CBC-HS256",
        }
    }

    /// Returns the length of the key in bytes.
    pub const fn key_len(self) -> usize {
        match self {
            Self::A128Gcm => 16,
            Self::A256Gcm | Self::A128CbcHs256 => 32,
        }
    }
}

/// Decryption with block ciphers.
pub trait ContentCipher: fmt::Debug + Send + Sync {
    /// Decrypts AES GCM with a tag of 128 bits (RFC 7518 5.3) in place: `sealed` is the ciphertext
    /// followed by the tag. Afterwards it begins with the plaintext. Returns the plaintext's
    /// length.
    ///
    /// # Errors
    /// The tag does not fit key, `iv`, `aad` and ciphertext, or the key does not have 16 or 32
    /// bytes.
    fn open_gcm(
        &self,
        key: &[u8],
        iv: &[u8; 12],
        aad: &[u8],
        sealed: &mut [u8],
    ) -> Result<usize, DecryptionFailed>;

    /// Decrypts AES-128 CBC with PKCS #7 padding (RFC 7518 5.2.2.2) in place; returns the
    /// plaintext's length. It authenticates nothing: use it only for data that a MAC has
    /// authenticated.
    ///
    /// # Errors
    /// The length is not a multiple of the block size, or the padding is wrong.
    fn open_cbc(
        &self,
        key: &[u8; 16],
        iv: &[u8; 16],
        in_out: &mut [u8],
    ) -> Result<usize, DecryptionFailed>;
}

/// A ciphertext with its authentication data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sealed<'s> {
    pub(crate) iv: &'s [u8],
    pub(crate) aad: &'s [u8],
    pub(crate) ciphertext: &'s [u8],
    pub(crate) tag: &'s [u8; 16],
}

impl CryptoProvider {
    /// The plaintext of `sealed`.
    pub(crate) fn open_content(
        &self,
        enc: ContentEncryption,
        key: &[u8],
        sealed: Sealed<'_>,
    ) -> Result<Zeroizing<Vec<u8>>, DecryptionFailed> {
        match enc {
            ContentEncryption::A128Gcm | ContentEncryption::A256Gcm => self.open_gcm(key, sealed),
            ContentEncryption::A128CbcHs256 => self.open_cbc_hs256(key, sealed),
        }
    }

    fn open_gcm(
        &self,
        key: &[u8],
        sealed: Sealed<'_>,
    ) -> Result<Zeroizing<Vec<u8>>, DecryptionFailed> {
        let iv = sealed.iv.try_into().map_err(|_| DecryptionFailed)?;
        let mut bytes = Zeroizing::new([sealed.ciphertext, sealed.tag].concat());
        let len = self.content_cipher.open_gcm(key, iv, sealed.aad, &mut bytes)?;
        bytes.truncate(len);
        Ok(bytes)
    }

    /// Checks the tag in constant time, and only then the padding (RFC 7518 5.2.2.2).
    fn open_cbc_hs256(
        &self,
        key: &[u8],
        sealed: Sealed<'_>,
    ) -> Result<Zeroizing<Vec<u8>>, DecryptionFailed> {
        let (mac_key, key) = key.split_first_chunk::<16>().ok_or(DecryptionFailed)?;
        let key = key.try_into().map_err(|_| DecryptionFailed)?;
        let iv: &[u8; 16] = sealed.iv.try_into().map_err(|_| DecryptionFailed)?;
        let aad_bits = u64::try_from(sealed.aad.len()).map_err(|_| DecryptionFailed)?;
        let aad_bits = aad_bits.checked_mul(8).ok_or(DecryptionFailed)?.to_be_bytes();
        let authenticated = [sealed.aad, iv, sealed.ciphertext, &aad_bits].concat();
        let mac = self.agreement.hmac_sha256(mac_key, &authenticated);
        let (tag, _) = mac.split_first_chunk::<16>().ok_or(DecryptionFailed)?;
        if !ct::eq(tag, sealed.tag) {
            return Err(DecryptionFailed);
        }
        let mut bytes = Zeroizing::new(sealed.ciphertext.to_vec());
        let len = self.content_cipher.open_cbc(key, iv, &mut bytes)?;
        bytes.truncate(len);
        Ok(bytes)
    }

    /// The content encryption key of direct key agreement, by the Concat KDF (RFC 7518 4.6.2). One
    /// round of SHA-256 gives enough bits for every `enc` here.
    pub(crate) fn concat_kdf(
        &self,
        secret: &SharedSecret,
        enc: ContentEncryption,
        apu: &[u8],
        apv: &[u8],
    ) -> Option<Zeroizing<Vec<u8>>> {
        let len = |bytes: &[u8]| u32::try_from(bytes.len()).ok().map(u32::to_be_bytes);
        let algorithm = enc.name().as_bytes();
        let key_bits = u32::try_from(enc.key_len()).ok()?.checked_mul(8)?.to_be_bytes();
        // `concat` allocates once, so that no copy of the secret remains.
        let input: Zeroizing<Vec<u8>> = Zeroizing::new(
            [
                &1u32.to_be_bytes()[..],
                secret.as_bytes(),
                &len(algorithm)?,
                algorithm,
                &len(apu)?,
                apu,
                &len(apv)?,
                apv,
                &key_bits,
            ]
            .concat(),
        );
        let digest = self.hash(HashAlg::Sha256, &input);
        Some(Zeroizing::new(digest.as_bytes().get(..enc.key_len())?.to_vec()))
    }
}
