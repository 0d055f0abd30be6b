//! The sender's side of HPKE (RFC 9180) for one message: base mode with DHKEM(P-256, HKDF-SHA256), HKDF-SHA256 and
//! AES-128-GCM.

use aes_gcm::Aes128Gcm;
use aes_gcm::aead::{Aead as _, KeyInit as _};
use p256::elliptic_curve::point::AffineCoordinates as _;
use p256::{PublicKey, SecretKey};

use crate::codec::from_base64url;
use crate::keys::SigningKey;
use crate::mdoc::hmac;

/// A message before it is sealed: every part can be changed.
#[derive(Clone, Debug)]
pub struct Sealing {
    /// The recipient's uncompressed point.
    pub recipient: Vec<u8>,
    /// The ephemeral key of the sender.
    pub ephemeral: SigningKey,
    /// The `info` that both sides know.
    pub info: Vec<u8>,
}

impl Sealing {
    /// `enc`, and the ciphertext followed by the tag. `None`: a key is not on P-256.
    pub fn seal(&self, plaintext: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
        let scalar = self.ephemeral.private_jwk().get("d")?.as_str().and_then(from_base64url)?;
        let private = SecretKey::from_slice(&scalar).ok()?;
        let public = PublicKey::from_sec1_bytes(&self.recipient).ok()?;
        let dh = (public.to_projective() * private.to_nonzero_scalar().as_ref()).to_affine().x();
        let enc = self.ephemeral.public_sec1();

        let kem = Suite(b"KEM\x00\x10");
        let secret = kem.expand(
            &kem.extract(&[], "eae_prk", &dh),
            "shared_secret",
            &[&*enc, &self.recipient].concat(),
            32,
        );
        let suite = Suite(b"HPKE\x00\x10\x00\x01\x00\x01");
        let context = [
            vec![0],
            suite.extract(&[], "psk_id_hash", &[]),
            suite.extract(&[], "info_hash", &self.info),
        ]
        .concat();
        let secret = suite.extract(&secret, "secret", &[]);
        let key = suite.expand(&secret, "key", &context, 16);
        let nonce: [u8; 12] = suite.expand(&secret, "base_nonce", &context, 12).try_into().ok()?;
        let cipher = Aes128Gcm::new_from_slice(&key).ok()?;
        Some((enc, cipher.encrypt(&nonce.into(), plaintext).ok()?))
    }
}

struct Suite(&'static [u8]);

impl Suite {
    /// LabeledExtract
    fn extract(&self, salt: &[u8], label: &str, input: &[u8]) -> Vec<u8> {
        hmac(salt, &[b"HPKE-v1", self.0, label.as_bytes(), input].concat())
    }

    /// LabeledExpand of at most 32 bytes.
    fn expand(&self, key: &[u8], label: &str, info: &[u8], len: u8) -> Vec<u8> {
        let labeled = [&[0, len], &b"HPKE-v1"[..], self.0, label.as_bytes(), info, &[1]].concat();
        let mut block = hmac(key, &labeled);
        block.truncate(usize::from(len));
        block
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::codec::base64url;

    fn bytes(hex: &str) -> Vec<u8> {
        let digit = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
        (0..hex.len()).step_by(2).map(digit).collect()
    }

    /// A message from other software.
    #[test]
    fn gives_the_same_bytes_as_other_software() {
        let scalar = bytes("5e20ff87c570d8818c289bc630e8cf82de758a8849217ceb49a0f32e20ed602a");
        let enc = bytes(
            "047cdf09cfe575709673748d0184516b215d3862d56e7428bbb57b289af0783cc97a5914090f2e713fe33\
             6f1e25c090da08854030a9dc081c73862c0d86d023857",
        );
        let ephemeral = SigningKey::from_jwk(&json!({
            "kty": "EC", "crv": "P-256", "d": base64url(&scalar),
            "x": base64url(&enc[1..33]), "y": base64url(&enc[33..]),
        }));
        let sealing = Sealing {
            recipient: bytes(
                "042d81ee148c6fa49975eefa714ad13123242204c6eee1fdbad0276d0c9c9fce774f38a4e7323659a\
                 5510167e93c29cd1def5ce46f11007090007a3f27233337b3",
            ),
            ephemeral: ephemeral.unwrap(),
            info: bytes(
                "83f6f68265646361706958208c53ed9828a2163243bcddcd930b126209267a97939fa5e82c1c2e4e8\
                 3d11e97",
            ),
        };
        let (sent, sealed) =
            sealing.seal(&bytes("a26776657273696f6e63312e306673746174757300")).unwrap();
        assert_eq!(sent, enc);
        let expected = "011cb4c92ed6b1b6a8aff144e7d10b9c3570ca26d4374640f8d08f735250d52667a13c1fd4";
        assert_eq!(sealed, bytes(expected));
    }
}
