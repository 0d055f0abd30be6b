//! Sealing at rest: AES-256-GCM under keys derived from the instance key.

use std::fmt;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use aws_lc_rs::hkdf;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use idgate_core::entropy::{Entropy as _, EntropyUnavailable};
use zeroize::Zeroizing;

use crate::entropy::OsEntropy;

/// The first byte of everything sealed in this way.
const VERSION: u8 = 1;
/// Length of the authentication tag of AES-GCM.
const TAG_LEN: usize = 16;
/// How much longer the sealed form is.
pub const OVERHEAD: usize = 1 + NONCE_LEN + TAG_LEN;

/// The secret that protects what the data directory holds.
#[derive(Clone)]
pub struct InstanceKey(Zeroizing<[u8; 32]>);

impl InstanceKey {
    /// From base64 of 32 bytes; white space around it is ignored.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = Zeroizing::new(STANDARD.decode(text.trim()).ok()?);
        Some(Self(Zeroizing::new(bytes.as_slice().try_into().ok()?)))
    }

    /// A fresh key.
    pub fn generate() -> Result<Self, EntropyUnavailable> {
        let mut bytes = Zeroizing::new([0; 32]);
        OsEntropy.fill(&mut *bytes)?;
        Ok(Self(bytes))
    }

    /// The key in the file at `path`, which is made with mode 0600 when there is none.
    ///
    /// # Errors
    /// The text says what is wrong with the file and what to do.
    pub fn load_or_create(path: &Path) -> Result<Self, String> {
        match std::fs::read_to_string(path) {
            Ok(text) => Self::parse(&Zeroizing::new(text)).ok_or_else(|| {
                format!(
                    "{} does not hold base64 of 32 bytes; restore it from your copy",
                    path.display()
                )
            }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Self::create(path),
            Err(error) => Err(format!("{} cannot be read: {error}", path.display())),
        }
    }

    /// 32 bytes for one purpose; keys of different purposes tell nothing about each other.
    pub fn derive(&self, purpose: &str) -> Result<Zeroizing<[u8; 32]>, Unsealable> {
        let mut out = Zeroizing::new([0; 32]);
        let info = [purpose.as_bytes()];
        hkdf::Salt::new(hkdf::HKDF_SHA256, b"idgate")
            .extract(&*self.0)
            .expand(&info, hkdf::HKDF_SHA256)
            .and_then(|okm| okm.fill(&mut *out))
            .map_err(|_| Unsealable)?;
        Ok(out)
    }

    /// Written to a file of its own name first, then linked: of two processes that start at once,
    /// both use the key that came first, and a crash leaves no half-written key.
    fn create(path: &Path) -> Result<Self, String> {
        let wrong =
            |error: &dyn fmt::Display| format!("{} cannot be written: {error}", path.display());
        let key = Self::generate().map_err(|error| wrong(&error))?;
        let draft = path.with_extension(format!("draft-{}", std::process::id()));
        let text = Zeroizing::new(STANDARD.encode(*key.0));
        let written = std::fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&draft)
            .and_then(|mut file| {
                file.write_all(text.as_bytes())?;
                file.sync_all()
            })
            .and_then(|()| std::fs::hard_link(&draft, path));
        let _ = std::fs::remove_file(&draft);
        match written {
            Ok(()) => Ok(key),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                Self::load_or_create(path)
            }
            Err(error) => Err(wrong(&error)),
        }
    }
}

impl fmt::Debug for InstanceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InstanceKey(***)")
    }
}

/// Bytes that were not sealed here, under this key, for this place. There is no detail.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Unsealable;

impl fmt::Display for Unsealable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("stored bytes do not unseal under the instance key")
    }
}

impl std::error::Error for Unsealable {}

/// Seals values for the place they are stored in.
pub struct Sealer(RandomizedNonceKey);

impl Sealer {
    /// Seals under a key derived from `key`.
    pub fn new(key: &InstanceKey) -> Result<Self, Unsealable> {
        let derived = key.derive("idgate seal v1")?;
        RandomizedNonceKey::new(&AES_256_GCM, &*derived).map(Self).map_err(|_| Unsealable)
    }

    /// Seals `plain` for row `id` of `table`: version, a fresh random nonce, ciphertext, tag.
    pub fn seal(&self, table: &str, id: &str, plain: &[u8]) -> Result<Vec<u8>, Unsealable> {
        let mut text = Vec::with_capacity(plain.len() + TAG_LEN);
        text.extend_from_slice(plain);
        let nonce = self
            .0
            .seal_in_place_append_tag(Aad::from(place(table, id)), &mut text)
            .map_err(|_| Unsealable)?;
        let mut sealed = Vec::with_capacity(1 + NONCE_LEN + text.len());
        sealed.push(VERSION);
        sealed.extend_from_slice(nonce.as_ref());
        sealed.extend_from_slice(&text);
        Ok(sealed)
    }

    /// Opens what was sealed for row `id` of `table`.
    ///
    /// # Errors
    /// Another key, another row, or changed bytes.
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
        let mut text = Zeroizing::new(text.to_vec());
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let len = self
            .0
            .open_in_place(nonce, Aad::from(place(table, id)), text.as_mut_slice())
            .map_err(|_| Unsealable)?
            .len();
        text.truncate(len);
        Ok(text)
    }
}

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sealer(***)")
    }
}

/// What a sealed value is bound to. Table names contain no newline, so no two places are alike.
fn place(table: &str, id: &str) -> Vec<u8> {
    [table.as_bytes(), b"\n", id.as_bytes()].concat()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn sealer() -> Sealer {
        Sealer::new(&InstanceKey::generate().unwrap()).unwrap()
    }

    #[test]
    fn seals_and_opens() {
        let sealer = sealer();
        let sealed = sealer.seal("sessions", "ses_1", b"secret words").unwrap();
        assert!(!sealed.windows(6).any(|window| window == b"secret"));
        assert_eq!(*sealer.open("sessions", "ses_1", &sealed).unwrap(), b"secret words");
    }

    #[test]
    fn every_sealing_uses_a_fresh_nonce() {
        let sealer = sealer();
        let one = sealer.seal("t", "1", b"x").unwrap();
        let two = sealer.seal("t", "1", b"x").unwrap();
        assert_ne!(one[1..13], two[1..13]);
    }

    #[test]
    fn another_row_table_or_key_is_refused() {
        let sealer = sealer();
        let sealed = sealer.seal("sessions", "ses_1", b"secret").unwrap();
        assert!(sealer.open("sessions", "ses_2", &sealed).is_err());
        assert!(sealer.open("clients", "ses_1", &sealed).is_err());
        assert!(self::sealer().open("sessions", "ses_1", &sealed).is_err());
    }

    #[test]
    fn every_changed_byte_and_every_cut_is_refused() {
        let sealer = sealer();
        let sealed = sealer.seal("t", "1", b"secret").unwrap();
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert!(sealer.open("t", "1", &changed).is_err(), "byte {at}");
            assert!(sealer.open("t", "1", &sealed[..at]).is_err(), "cut at {at}");
        }
    }

    #[test]
    fn the_key_file_is_made_once_and_private() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("instance.key");
        let key = InstanceKey::load_or_create(&path).unwrap();
        assert_eq!(*InstanceKey::load_or_create(&path).unwrap().0, *key.0);
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_damaged_key_file_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("instance.key");
        std::fs::write(&path, "c2hvcnQ=").unwrap();
        assert!(InstanceKey::load_or_create(&path).unwrap_err().contains("base64 of 32 bytes"));
    }

    #[test]
    fn only_base64_of_32_bytes_is_a_key() {
        assert!(InstanceKey::parse(&STANDARD.encode([7; 32])).is_some());
        assert!(InstanceKey::parse(&format!(" {}\n", STANDARD.encode([7; 32]))).is_some());
        for bad in ["", "!!", &STANDARD.encode([7; 31]), &STANDARD.encode([7; 33])] {
            assert!(InstanceKey::parse(bad).is_none(), "{bad}");
        }
    }
}
