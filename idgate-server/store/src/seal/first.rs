//! The seal format of idgate 0.1.0: one key for everything, bound to table and row. Values in this
//! form are sealed again when a directory is upgraded ([`crate`]). Nothing else reads the format.

use aws_lc_rs::aead::{AES_256_GCM, LessSafeKey, NONCE_LEN, UnboundKey};
use zeroize::Zeroizing;

use super::{InstanceKey, Unsealable, open};

const VERSION: u8 = 1;

/// Opens values that 0.1.0 sealed, with any of its keys.
pub struct FirstSealer(Vec<LessSafeKey>);

impl FirstSealer {
    /// Opens values that were sealed with `key`.
    pub fn new(key: &InstanceKey) -> Result<Self, Unsealable> {
        let purpose = "idgate seal v1";
        let derived = [vec![key.derive(purpose)?], key.derive_others(purpose)?].concat();
        let keys = derived.iter().map(|derived| UnboundKey::new(&AES_256_GCM, &**derived));
        let keys = keys.collect::<Result<Vec<_>, _>>().map_err(|_| Unsealable)?;
        Ok(Self(keys.into_iter().map(LessSafeKey::new).collect()))
    }

    /// Opens a value that was sealed for row `id` of `table`.
    ///
    /// # Errors
    /// The format, the key or the row is another, or the bytes were changed.
    pub fn open(
        &self,
        table: &str,
        id: &str,
        sealed: &[u8],
    ) -> Result<Zeroizing<Vec<u8>>, Unsealable> {
        let (version, rest) = sealed.split_first().ok_or(Unsealable)?;
        let (nonce, text) = rest.split_first_chunk::<NONCE_LEN>().ok_or(Unsealable)?;
        if *version != VERSION {
            return Err(Unsealable);
        }
        let place = place(table, id);
        self.0.iter().find_map(|key| open(key, nonce, &place, text).ok()).ok_or(Unsealable)
    }

    #[cfg(test)]
    pub(crate) fn seal(&self, table: &str, id: &str, plain: &[u8]) -> Vec<u8> {
        use aws_lc_rs::aead::{Aad, Nonce};
        use idgate_core::Entropy as _;
        let (mut nonce, mut text) = ([0; NONCE_LEN], plain.to_vec());
        let drawn = idgate_base::entropy::OsEntropy.fill(&mut nonce);
        let unique = Nonce::assume_unique_for_key(nonce);
        let aad = Aad::from(place(table, id));
        let sealed = self.0.first().map(|key| key.seal_in_place_append_tag(unique, aad, &mut text));
        assert!(drawn.is_ok() && sealed.is_some_and(|sealed| sealed.is_ok()));
        [&[VERSION], &nonce[..], &text].concat()
    }
}

/// Table names contain no newline, so different places never give equal bytes.
fn place(table: &str, id: &str) -> Vec<u8> {
    [table.as_bytes(), b"\n", id.as_bytes()].concat()
}
