//! AES from AWS-LC.

use ::aws_lc_rs::aead::{AES_128_GCM, AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ::aws_lc_rs::cipher::{AES_128, DecryptionContext, PaddedBlockDecryptingKey, UnboundCipherKey};

use crate::crypto::content_encryption::{ContentCipher, DecryptionFailed};

#[derive(Debug)]
pub(super) struct Content;

impl ContentCipher for Content {
    fn open_gcm(
        &self,
        key: &[u8],
        iv: &[u8; 12],
        aad: &[u8],
        sealed: &mut [u8],
    ) -> Result<usize, DecryptionFailed> {
        let algorithm = if key.len() == 16 { &AES_128_GCM } else { &AES_256_GCM };
        let key = UnboundKey::new(algorithm, key).map_err(|_| DecryptionFailed)?;
        let nonce = Nonce::assume_unique_for_key(*iv);
        let opened = LessSafeKey::new(key).open_in_place(nonce, Aad::from(aad), sealed);
        opened.map(|text| text.len()).map_err(|_| DecryptionFailed)
    }

    fn open_cbc(
        &self,
        key: &[u8; 16],
        iv: &[u8; 16],
        in_out: &mut [u8],
    ) -> Result<usize, DecryptionFailed> {
        let mut open = || {
            let key = UnboundCipherKey::new(&AES_128, key)?;
            let context = DecryptionContext::Iv128(iv.into());
            let text = PaddedBlockDecryptingKey::cbc_pkcs7(key)?.decrypt(in_out, context)?;
            Ok(text.len())
        };
        open().map_err(|_: ::aws_lc_rs::error::Unspecified| DecryptionFailed)
    }
}
