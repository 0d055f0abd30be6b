//! The key that an offer's answer is encrypted to. It is fresh for each offer, stored in the
//! session's snapshot, and erased at the settlement.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::codec::base64url;
use crate::crypto::{CryptoProvider, Curve, EcdhPrivateKey, PublicKey};
use crate::entropy::{Entropy, EntropyUnavailable};
use crate::limits::MAX_KEY_DRAWS;
use crate::request::{Profile, key_id};
use crate::session::{Session, SnapshotError};

/// Length of a stored key. A fixed buffer, because one that grows would leave a copy of the key
/// behind.
const STORED_BYTES: usize = 151;

/// A P-256 key pair for ECDH-ES; the private half is wiped when dropped.
#[derive(Clone, Deserialize, Serialize)]
#[serde(into = "Stored<'static>", try_from = "Stored<'_>")]
pub(crate) struct EncryptionKey {
    private: EcdhPrivateKey,
    public: PublicKey,
}

impl EncryptionKey {
    /// Generates a key pair.
    pub(crate) fn fresh(
        provider: &CryptoProvider,
        entropy: &mut dyn Entropy,
    ) -> Result<Self, EntropyUnavailable> {
        let mut scalar = Zeroizing::new([0; 32]);
        for _ in 0..MAX_KEY_DRAWS {
            entropy.fill(&mut *scalar)?;
            let Ok(private) = EcdhPrivateKey::from_scalar(Curve::P256, &*scalar) else { continue };
            if let Ok(public) = provider.agreement.public_key(&private) {
                return Ok(Self { private, public });
            }
        }
        Err(EntropyUnavailable::new())
    }

    pub(crate) fn private(&self) -> &EcdhPrivateKey {
        &self.private
    }

    pub(crate) fn public(&self) -> &PublicKey {
        &self.public
    }

    /// The `kid` of the public half in a request of this profile: in `draft` the thumbprint.
    pub(crate) fn kid(&self, profile: Profile, provider: &CryptoProvider) -> String {
        match profile {
            Profile::Draft => base64url::encode(&self.public.thumbprint(provider)),
            Profile::V1_0 | Profile::Haip => key_id(&self.public),
        }
    }
}

impl Session {
    /// Takes the private keys of the offers out of the session, for an embedder that stores them
    /// separately from the snapshot and can erase them permanently. Keep them sealed.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn take_encryption_key(&mut self) -> Option<Zeroizing<Vec<u8>>> {
        let mut keys: Vec<_> = self.offers.keys_mut().map(|(_, key)| key.take()).collect();
        match &mut *keys {
            [only] => stored(&only.take()?, STORED_BYTES),
            several if several.iter().all(Option::is_none) => None,
            several => {
                stored(several, several.len().saturating_mul(STORED_BYTES).saturating_add(16))
            }
        }
    }

    /// Restores what [`Session::take_encryption_key`] took. Only an open session that expects an
    /// encrypted answer accepts it.
    ///
    /// # Errors
    /// [`SnapshotError`]: the bytes are not such keys, or the session does not accept them.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn restore_encryption_key(&mut self, keys: &[u8]) -> Result<(), SnapshotError> {
        if self.settled_at().is_some() {
            return Err(SnapshotError);
        }
        let keys = read(keys).map_err(|_| SnapshotError)?;
        let expected = self.offers.keys_mut().map(|(is_expected, _)| is_expected);
        if !expected.eq(keys.iter().map(Option::is_some)) {
            return Err(SnapshotError);
        }
        for ((_, place), key) in self.offers.keys_mut().zip(keys) {
            *place = key;
        }
        Ok(())
    }
}

/// Reads one key as it is, and several as a list with a place for each offer. The key of
/// `org-iso-mdoc` follows that of its offer.
fn read(keys: &[u8]) -> serde_json::Result<Vec<Option<EncryptionKey>>> {
    if keys.starts_with(b"[") {
        return serde_json::from_slice(keys);
    }
    Ok(vec![Some(serde_json::from_slice(keys)?)])
}

fn stored(keys: &(impl Serialize + ?Sized), bytes: usize) -> Option<Zeroizing<Vec<u8>>> {
    let mut stored = Zeroizing::new(Vec::with_capacity(bytes));
    // Strings and lists of strings can always be written as JSON.
    serde_json::to_writer(&mut *stored, keys).ok()?;
    Some(stored)
}

/// Omits the key.
impl fmt::Debug for EncryptionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EncryptionKey(***)")
    }
}

/// The members of a private JWK (RFC 7518 6.2.2). The public half is stored too, so that it is not
/// computed again for each fetch and each answer.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Stored<'a> {
    d: Zeroizing<String>,
    x: Cow<'a, str>,
    y: Cow<'a, str>,
}

impl From<EncryptionKey> for Stored<'_> {
    fn from(key: EncryptionKey) -> Self {
        let (x, y) = key.public.coordinates();
        Self {
            d: Zeroizing::new(base64url::encode(key.private.expose_scalar())),
            x: base64url::encode(x).into(),
            y: base64url::encode(y).into(),
        }
    }
}

impl TryFrom<Stored<'_>> for EncryptionKey {
    type Error = &'static str;

    fn try_from(stored: Stored<'_>) -> Result<Self, Self::Error> {
        let read = || {
            let (mut d, mut x, mut y) = (Zeroizing::new([0; 32]), [0; 32], [0; 32]);
            let d = base64url::decode_into(&stored.d, &mut *d).ok()?;
            let x = base64url::decode_into(&stored.x, &mut x).ok()?;
            let y = base64url::decode_into(&stored.y, &mut y).ok()?;
            let private = EcdhPrivateKey::from_scalar(Curve::P256, d).ok()?;
            Some(Self { private, public: PublicKey::from_coordinates(Curve::P256, x, y).ok()? })
        };
        read().ok_or("not a stored encryption key")
    }
}

#[cfg(all(test, feature = "rustcrypto"))]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::crypto::rustcrypto::PROVIDER;
    use crate::request::fixtures::CountingEntropy;

    fn key() -> EncryptionKey {
        EncryptionKey::fresh(&PROVIDER, &mut CountingEntropy::default()).unwrap()
    }

    #[test]
    fn the_key_is_the_bytes_of_the_entropy_with_its_public_half() {
        let key = key();
        assert_eq!(key.private().expose_scalar(), [1; 32]);
        assert_eq!(PROVIDER.agreement.public_key(key.private()).as_ref(), Ok(key.public()));
        assert_eq!(format!("{key:?}"), "EncryptionKey(***)");
    }

    #[test]
    fn it_is_stored_as_a_private_jwk() {
        let text = serde_json::to_string(&key()).unwrap();
        let again: EncryptionKey = serde_json::from_str(&text).unwrap();
        assert_eq!(again.private().expose_scalar(), [1; 32]);
        assert_eq!(again.public(), key().public());
        for (from, to) in
            [("\"d\":\"A", "\"d\":\"AA"), ("\"x\"", "\"z\""), ("\"y\":\"", "\"y\":\"=")]
        {
            let bad = text.replacen(from, to, 1);
            assert_ne!(bad, text);
            assert!(serde_json::from_str::<EncryptionKey>(&bad).is_err(), "{from}");
        }
    }

    #[test]
    fn it_is_taken_out_of_a_session_and_restored() {
        let made =
            crate::request::fixtures::jar_session(crate::request::fixtures::one_credential());
        let mut apart = made.clone();
        let key = apart.take_encryption_key().unwrap();
        assert_eq!((key.len(), key.capacity()), (STORED_BYTES, STORED_BYTES));
        assert!(apart.take_encryption_key().is_none());
        assert!(!apart.to_bytes().windows(14).any(|bytes| bytes == b"encryption_key"));
        assert!(apart.restore_encryption_key(b"{}").is_err());
        apart.restore_encryption_key(&key).unwrap();
        assert_eq!(apart.to_bytes(), made.to_bytes());
    }

    #[test]
    fn only_an_open_session_with_encrypted_answers_accepts_a_key() {
        use crate::error::Reason;
        use crate::request::fixtures::{self, NOW};
        use crate::session::Input;
        let open = fixtures::jar_session(fixtures::one_credential());
        let key = open.clone().take_encryption_key().unwrap();
        let held = open.apply(Input::Hold, NOW).unwrap().session;
        for mut open in [open.clone(), held] {
            assert_eq!(open.restore_encryption_key(&key), Ok(()));
        }
        let ends = [Input::Failed(Reason::NonceMismatch), Input::Expired];
        let settled = ends.map(|input| open.apply(input, NOW).unwrap().session);
        let plain = fixtures::session(fixtures::one_credential());
        for mut session in settled.into_iter().chain([plain]) {
            assert_eq!(session.restore_encryption_key(&key), Err(SnapshotError));
            assert!(session.offers.own().encryption_key.is_none());
        }
    }

    #[test]
    fn a_source_that_gives_no_scalar_fails() {
        struct Same(u8, u8);
        impl Entropy for Same {
            fn fill(&mut self, out: &mut [u8]) -> Result<(), EntropyUnavailable> {
                self.1 += 1;
                out.fill(self.0);
                Ok(())
            }
        }
        for byte in [0, 0xff] {
            let mut same = Same(byte, 0);
            assert!(EncryptionKey::fresh(&PROVIDER, &mut same).is_err());
            assert_eq!(same.1, 4);
        }
    }
}
