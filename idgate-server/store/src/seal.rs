//! Seals stored values with keys derived from the instance key.

pub mod first;

use std::fmt;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::hkdf;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use idgate_core::{Entropy as _, EntropyUnavailable};
use zeroize::Zeroizing;

use idgate_base::entropy::OsEntropy;

/// The first byte of every sealed value.
const VERSION: u8 = 2;
/// Random bytes for the derivation of the key of one sealing.
const SALT_LEN: usize = 12;
/// Length of the authentication tag of AES-GCM.
const TAG_LEN: usize = 16;
/// How many bytes sealing adds.
pub const OVERHEAD: usize = 1 + SALT_LEN + NONCE_LEN + TAG_LEN;

/// The secret that protects stored data: the key that seals and, while it is being replaced, the
/// keys that only open what was sealed before.
#[derive(Clone)]
pub struct InstanceKey {
    first: Zeroizing<[u8; 32]>,
    others: Vec<Zeroizing<[u8; 32]>>,
}

impl InstanceKey {
    /// Parses base64 of 32 bytes. Surrounding white space is ignored.
    pub fn parse(text: &str) -> Option<Self> {
        Some(Self { first: bytes_of(text)?, others: Vec::new() })
    }

    /// Parses several keys, separated by commas or white space. The first one seals, and all of
    /// them open.
    pub fn parse_several(text: &str) -> Option<Self> {
        let words = text.split([',', ' ', '\t', '\r', '\n']).filter(|word| !word.is_empty());
        let mut keys = words.map(bytes_of);
        let first = keys.next()??;
        Some(Self { first, others: keys.collect::<Option<_>>()? })
    }

    /// A new key.
    pub fn generate() -> Result<Self, EntropyUnavailable> {
        let mut bytes = Zeroizing::new([0; 32]);
        OsEntropy.fill(&mut *bytes)?;
        Ok(Self { first: bytes, others: Vec::new() })
    }

    /// Whether there are further keys, which only open.
    pub fn is_several(&self) -> bool {
        !self.others.is_empty()
    }

    /// The key in the file at `path`, which is created with mode 0600 if it does not exist.
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

    /// 32 bytes for one purpose, derived from the key that seals. Keys for different purposes
    /// reveal nothing about each other.
    pub fn derive(&self, purpose: &str) -> Result<Zeroizing<[u8; 32]>, Unsealable> {
        derive(&self.first, purpose)
    }

    /// The same, derived from each key that only opens.
    pub fn derive_others(&self, purpose: &str) -> Result<Vec<Zeroizing<[u8; 32]>>, Unsealable> {
        self.others.iter().map(|key| derive(key, purpose)).collect()
    }

    /// Writes the key under a temporary name and then links it. If two processes start at the same
    /// time, both use the key that was first, and a crash leaves no partly written key.
    fn create(path: &Path) -> Result<Self, String> {
        let wrong =
            |error: &dyn fmt::Display| format!("{} cannot be written: {error}", path.display());
        let key = Self::generate().map_err(|error| wrong(&error))?;
        let draft = path.with_extension(format!("draft-{}", std::process::id()));
        let text = Zeroizing::new(STANDARD.encode(*key.first));
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

fn bytes_of(text: &str) -> Option<Zeroizing<[u8; 32]>> {
    let bytes = Zeroizing::new(STANDARD.decode(text.trim()).ok()?);
    Some(Zeroizing::new(bytes.as_slice().try_into().ok()?))
}

fn derive(key: &[u8; 32], purpose: &str) -> Result<Zeroizing<[u8; 32]>, Unsealable> {
    let mut out = Zeroizing::new([0; 32]);
    let info = [purpose.as_bytes()];
    hkdf::Salt::new(hkdf::HKDF_SHA256, b"idgate")
        .extract(key)
        .expand(&info, hkdf::HKDF_SHA256)
        .and_then(|okm| okm.fill(&mut *out))
        .map_err(|_| Unsealable)?;
    Ok(out)
}

impl fmt::Debug for InstanceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InstanceKey(***)")
    }
}

/// The bytes were not sealed here, with this key, for this place. Deliberately without detail.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Unsealable;

impl fmt::Display for Unsealable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("stored bytes do not unseal under the instance key")
    }
}

impl std::error::Error for Unsealable {}

/// Nothing was sealed, because the random number generator failed. The stored data is unchanged,
/// and sealing can be retried.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct NotSealed;

impl fmt::Display for NotSealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nothing can be sealed: the operating system's random source failed")
    }
}

impl std::error::Error for NotSealed {}

impl From<Unsealable> for NotSealed {
    fn from(_: Unsealable) -> Self {
        Self
    }
}

/// The purpose and owner of a sealed value. It can be opened for this place only.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Place<'a> {
    /// The purpose: a table or a list.
    pub purpose: &'a str,
    /// The object that the value belongs to.
    pub object: &'a str,
    /// The client that owns the object. Empty: the gateway itself.
    pub client: &'a str,
}

/// Seals values for the place they are stored in, using AES-256-GCM with a separate key per value.
/// The key is derived (HKDF, RFC 5869) from the instance key, purpose, object and 12 random bytes.
/// With the 12 bytes of the nonce that makes 24 random bytes, so no number of sealings comes close
/// to a repetition, neither for an object nor for the instance. Purpose, object and client are
/// associated data.
///
/// ```text
/// version 2 | 12 bytes for the key | 12 bytes of nonce | ciphertext | tag
/// ```
pub struct Sealer {
    first: hkdf::Prk,
    others: Vec<hkdf::Prk>,
    uses: Uses,
}

/// How often the key that seals was used for stored values.
#[derive(Clone, Debug, Default)]
pub struct Uses(Arc<AtomicU64>);

impl Uses {
    /// Adds one.
    pub(crate) fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// The count so far.
    pub fn so_far(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The key that a value is sealed with.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(clippy::exhaustive_enums)] // a third case is impossible
pub enum SealedBy {
    /// The key that seals.
    First,
    /// A key that only opens.
    Another,
}

impl Sealer {
    /// Seals with keys derived from the first key in `key`, and opens with those derived from all.
    pub fn new(key: &InstanceKey) -> Result<Self, Unsealable> {
        let purpose = "idgate seal v2";
        let root =
            |derived: &Zeroizing<[u8; 32]>| hkdf::Prk::new_less_safe(hkdf::HKDF_SHA256, &**derived);
        let others = key.derive_others(purpose)?;
        let first = root(&key.derive(purpose)?);
        Ok(Self { first, others: others.iter().map(root).collect(), uses: Uses::default() })
    }

    /// How often this sealer sealed something.
    pub const fn uses(&self) -> &Uses {
        &self.uses
    }

    /// Seals `plain` for its place.
    ///
    /// # Errors
    /// The random number generator failed.
    pub fn seal(&self, place: Place<'_>, plain: &[u8]) -> Result<Vec<u8>, NotSealed> {
        self.uses.add();
        self.seal_uncounted(place, plain)
    }

    /// The same for a value that only identifies the key.
    ///
    /// # Errors
    /// The random number generator failed.
    pub fn seal_uncounted(&self, place: Place<'_>, plain: &[u8]) -> Result<Vec<u8>, NotSealed> {
        let mut drawn = [0; SALT_LEN + NONCE_LEN];
        OsEntropy.fill(&mut drawn).map_err(|_| NotSealed)?;
        let (salt, nonce) = drawn.split_first_chunk::<SALT_LEN>().ok_or(NotSealed)?;
        let nonce = nonce.try_into().map_err(|_| NotSealed)?;
        let mut text = Vec::with_capacity(OVERHEAD.saturating_add(plain.len()));
        text.push(VERSION);
        text.extend_from_slice(&drawn);
        text.extend_from_slice(plain);
        let body = text.get_mut(1 + SALT_LEN + NONCE_LEN..).ok_or(NotSealed)?;
        let nonce = Nonce::assume_unique_for_key(nonce);
        let key = key_of(&self.first, place, salt)?;
        let tag = key
            .seal_in_place_separate_tag(nonce, Aad::from(place.associated_data()), body)
            .map_err(|_| NotSealed)?;
        text.extend_from_slice(tag.as_ref());
        Ok(text)
    }

    /// A name for the key that seals, which reveals nothing about it.
    ///
    /// # Errors
    /// The cryptographic library failed.
    pub fn key_name(&self) -> Result<String, Unsealable> {
        let mut name = [0; 32];
        let derived = self.first.expand(&[b"key name"], hkdf::HKDF_SHA256);
        derived.and_then(|okm| okm.fill(&mut name)).map_err(|_| Unsealable)?;
        let first = name.first_chunk::<8>().ok_or(Unsealable)?;
        Ok(first.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Opens a value that was sealed for this place.
    ///
    /// # Errors
    /// The key or the place is another, or the bytes were changed.
    pub fn open(&self, place: Place<'_>, sealed: &[u8]) -> Result<Zeroizing<Vec<u8>>, Unsealable> {
        self.open_by(place, sealed).map(|(_, plain)| plain)
    }

    /// Like [`Sealer::open`], and returns the key that the value was sealed with.
    ///
    /// # Errors
    /// As [`Sealer::open`].
    pub fn open_by(
        &self,
        place: Place<'_>,
        sealed: &[u8],
    ) -> Result<(SealedBy, Zeroizing<Vec<u8>>), Unsealable> {
        let (version, rest) = sealed.split_first().ok_or(Unsealable)?;
        let (salt, rest) = rest.split_first_chunk::<SALT_LEN>().ok_or(Unsealable)?;
        let (nonce, text) = rest.split_first_chunk::<NONCE_LEN>().ok_or(Unsealable)?;
        if *version != VERSION {
            return Err(Unsealable);
        }
        let data = place.associated_data();
        let by = |root| open(&key_of(root, place, salt)?, nonce, &data, text);
        if let Ok(plain) = by(&self.first) {
            return Ok((SealedBy::First, plain));
        }
        let opened = self.others.iter().find_map(|root| by(root).ok());
        opened.map(|plain| (SealedBy::Another, plain)).ok_or(Unsealable)
    }
}

/// The key for one sealing.
fn key_of(root: &hkdf::Prk, place: Place<'_>, salt: &[u8]) -> Result<LessSafeKey, Unsealable> {
    let (purpose, object) = (framed(place.purpose), framed(place.object));
    let info: [&[u8]; 3] = [&purpose, &object, salt];
    let derived = root.expand(&info, &AES_256_GCM).map_err(|_| Unsealable)?;
    Ok(LessSafeKey::new(UnboundKey::from(derived)))
}

impl Place<'_> {
    fn associated_data(&self) -> Vec<u8> {
        [framed(self.purpose), framed(self.object), framed(self.client)].concat()
    }
}

/// Prefixes the text with its length, so that different lists of texts never give equal bytes.
fn framed(text: &str) -> Vec<u8> {
    let len = u64::try_from(text.len()).unwrap_or(u64::MAX).to_be_bytes();
    [&len[..], text.as_bytes()].concat()
}

fn open(
    key: &LessSafeKey,
    nonce: &[u8; NONCE_LEN],
    associated_data: &[u8],
    text: &[u8],
) -> Result<Zeroizing<Vec<u8>>, Unsealable> {
    let mut text = Zeroizing::new(text.to_vec());
    let nonce = Nonce::assume_unique_for_key(*nonce);
    let len = key
        .open_in_place(nonce, Aad::from(associated_data), text.as_mut_slice())
        .map_err(|_| Unsealable)?
        .len();
    text.truncate(len);
    Ok(text)
}

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sealer(***)")
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn sealer() -> Sealer {
        Sealer::new(&InstanceKey::generate().unwrap()).unwrap()
    }

    const HERE: Place<'_> = Place { purpose: "sessions", object: "ses_1", client: "cli_1" };

    #[test]
    fn a_sealed_value_opens_again() {
        let sealer = sealer();
        let sealed = sealer.seal(HERE, b"secret words").unwrap();
        assert!(!sealed.windows(6).any(|window| window == b"secret"));
        assert_eq!(sealed.len(), OVERHEAD + 12);
        assert_eq!(*sealer.open(HERE, &sealed).unwrap(), b"secret words");
        assert!(sealer.open(HERE, &sealer.seal(HERE, b"").unwrap()).unwrap().is_empty());
    }

    /// Each sealing has 24 random bytes, so the limit of 2^32 sealings under one key no longer
    /// applies.
    #[test]
    fn every_sealing_has_a_key_and_a_nonce_of_its_own() {
        let sealer = sealer();
        let one = sealer.seal(HERE, b"x").unwrap();
        let two = sealer.seal(HERE, b"x").unwrap();
        assert_ne!(one[1..13], two[1..13], "the key");
        assert_ne!(one[13..25], two[13..25], "the nonce");
        // The same nonce with the two keys gives different ciphertexts.
        let key = |salt: &[u8]| key_of(&sealer.first, HERE, salt).unwrap();
        let text = |key: LessSafeKey| {
            let mut text = *b"0123456789abcdef";
            let nonce = Nonce::assume_unique_for_key([7; NONCE_LEN]);
            let _tag = key.seal_in_place_separate_tag(nonce, Aad::empty(), &mut text).unwrap();
            text
        };
        assert_ne!(text(key(&one[1..13])), text(key(&two[1..13])));
    }

    #[test]
    fn another_purpose_object_client_or_key_is_refused() {
        let sealer = sealer();
        let sealed = sealer.seal(HERE, b"secret").unwrap();
        for elsewhere in [
            Place { purpose: "results", ..HERE },
            Place { object: "ses_2", ..HERE },
            Place { client: "cli_2", ..HERE },
            Place { client: "", ..HERE },
            Place { object: "ses_1cli_1", client: "", ..HERE },
        ] {
            assert!(sealer.open(elsewhere, &sealed).is_err(), "{elsewhere:?}");
        }
        assert!(self::sealer().open(HERE, &sealed).is_err());
    }

    #[test]
    fn every_changed_byte_and_every_cut_is_refused() {
        let sealer = sealer();
        let sealed = sealer.seal(HERE, b"secret").unwrap();
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert!(sealer.open(HERE, &changed).is_err(), "byte {at}");
            assert!(sealer.open(HERE, &sealed[..at]).is_err(), "cut at {at}");
        }
    }

    #[test]
    fn the_key_file_is_made_once_and_private() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("instance.key");
        let key = InstanceKey::load_or_create(&path).unwrap();
        assert_eq!(*InstanceKey::load_or_create(&path).unwrap().first, *key.first);
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

    #[test]
    fn of_several_keys_the_first_seals_and_all_open() {
        let text = [STANDARD.encode([7; 32]), STANDARD.encode([8; 32])];
        let sealer = |text: &str| Sealer::new(&InstanceKey::parse_several(text).unwrap()).unwrap();
        let (old, new) = (sealer(&text[0]), sealer(&text[1]));
        let both = sealer(&format!("{},{}\n", text[1], text[0]));
        let sealed = both.seal(HERE, b"secret").unwrap();
        assert!(new.open(HERE, &sealed).is_ok());
        assert!(old.open(HERE, &sealed).is_err());
        assert_eq!(both.open_by(HERE, &sealed).unwrap().0, SealedBy::First);
        let before = old.seal(HERE, b"secret").unwrap();
        let (by, plain) = both.open_by(HERE, &before).unwrap();
        assert_eq!((by, &**plain), (SealedBy::Another, &b"secret"[..]));
        assert!(both.open(Place { client: "cli_2", ..HERE }, &before).is_err());
        assert!(new.open(HERE, &before).is_err());
    }

    #[test]
    fn several_keys_are_all_keys() {
        let good = STANDARD.encode([7; 32]);
        assert!(!InstanceKey::parse_several(&good).unwrap().is_several());
        assert!(InstanceKey::parse_several(&format!("{good}, {good}")).unwrap().is_several());
        for bad in ["", ",", "\n", &format!("{good},!!"), &format!("{good}{good}")] {
            assert!(InstanceKey::parse_several(bad).is_none(), "{bad}");
        }
    }
}
