//! AES from the RustCrypto crates.

use aes::Aes128;
use aes::cipher::block_padding::Pkcs7;
use aes::cipher::{BlockModeDecrypt as _, KeyIvInit as _};
use aes_gcm::aead::AeadInOut as _;
use aes_gcm::aead::inout::InOutBuf;
use aes_gcm::{Aes128Gcm, Aes256Gcm, KeyInit as _};

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
        let (text, tag) = sealed.split_last_chunk_mut::<16>().ok_or(DecryptionFailed)?;
        let (len, tag, in_out) = (text.len(), (*tag).into(), InOutBuf::from(text));
        let opened = match key.len() {
            16 => Aes128Gcm::new_from_slice(key)
                .map(|gcm| gcm.decrypt_inout_detached(iv.into(), aad, in_out, &tag)),
            _ => Aes256Gcm::new_from_slice(key)
                .map(|gcm| gcm.decrypt_inout_detached(iv.into(), aad, in_out, &tag)),
        };
        opened.map_err(|_| DecryptionFailed)?.map_err(|_| DecryptionFailed)?;
        Ok(len)
    }

    fn open_cbc(
        &self,
        key: &[u8; 16],
        iv: &[u8; 16],
        in_out: &mut [u8],
    ) -> Result<usize, DecryptionFailed> {
        let cbc = cbc::Decryptor::<Aes128>::new(key.into(), iv.into());
        cbc.decrypt_padded::<Pkcs7>(in_out).map(<[u8]>::len).map_err(|_| DecryptionFailed)
    }
}
