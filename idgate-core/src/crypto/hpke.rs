//! Hybrid public key encryption (RFC 9180) as used by ISO/IEC TS 18013-7 Annex C: base mode,
//! DHKEM(P-256, HKDF-SHA256), HKDF-SHA256, AES-128-GCM, one message without associated data. Only
//! decryption: the verifier encrypts nothing.

use alloc::vec::Vec;

use zeroize::Zeroizing;

use crate::crypto::agreement::EcdhPrivateKey;
use crate::crypto::content_encryption::{ContentEncryption, DecryptionFailed, Sealed};
use crate::crypto::key::{Curve, PublicKey};
use crate::crypto::provider::CryptoProvider;

const VERSION: &[u8] = b"HPKE-v1";
/// `suite_id` inside the KEM and outside it (RFC 9180 4.1, 5.1).
const KEM: &[u8] = b"KEM\x00\x10";
const SUITE: &[u8] = b"HPKE\x00\x10\x00\x01\x00\x01";
const MODE_BASE: u8 = 0;

/// The shared secret of sender and recipient, before it is bound to its purpose (RFC 9180 4.1).
pub(crate) struct HpkeSecret(Zeroizing<[u8; 32]>);

impl CryptoProvider {
    /// Agrees with the sender, whose ephemeral key is `enc`; the sender encrypted to `public`, the
    /// public half of `private` (RFC 9180 4.1, Decap).
    ///
    /// # Errors
    /// `enc` is not an uncompressed point on P-256, or `private` is not a key on it.
    pub(crate) fn hpke_decap(
        &self,
        private: &EcdhPrivateKey,
        public: &PublicKey,
        enc: &[u8],
    ) -> Result<HpkeSecret, DecryptionFailed> {
        let sender = PublicKey::from_sec1(Curve::P256, enc).map_err(|_| DecryptionFailed)?;
        let dh = self.agreement.ecdh(private, &sender).map_err(|_| DecryptionFailed)?;
        let pseudorandom = self.labeled_extract(KEM, &[], b"eae_prk", dh.as_bytes());
        let context = [enc, public.sec1()].concat();
        let expanded = self.labeled_expand(KEM, &pseudorandom, b"shared_secret", &context, 32);
        Ok(HpkeSecret(expanded))
    }

    /// Decrypts the first message that was sealed for `info` (RFC 9180 5.1, 5.2): the ciphertext
    /// followed by the tag.
    ///
    /// # Errors
    /// The message was sealed by another sender, or for another purpose.
    pub(crate) fn hpke_open(
        &self,
        secret: &HpkeSecret,
        info: &[u8],
        sealed: &[u8],
    ) -> Result<Zeroizing<Vec<u8>>, DecryptionFailed> {
        let (ciphertext, tag) = sealed.split_last_chunk().ok_or(DecryptionFailed)?;
        let (key, nonce) = self.key_schedule(secret, info);
        let key = key.get(..ContentEncryption::A128Gcm.key_len()).ok_or(DecryptionFailed)?;
        let iv = nonce.get(..12).ok_or(DecryptionFailed)?;
        let sealed = Sealed { iv, aad: &[], ciphertext, tag };
        self.open_content(ContentEncryption::A128Gcm, key, sealed)
    }

    /// Key and nonce of the first message, each at the front of its array.
    fn key_schedule(
        &self,
        secret: &HpkeSecret,
        info: &[u8],
    ) -> (Zeroizing<[u8; 32]>, Zeroizing<[u8; 32]>) {
        let psk_id_hash = self.labeled_extract(SUITE, &[], b"psk_id_hash", &[]);
        let info_hash = self.labeled_extract(SUITE, &[], b"info_hash", info);
        let context = [&[MODE_BASE][..], &*psk_id_hash, &*info_hash].concat();
        let secret = self.labeled_extract(SUITE, &*secret.0, b"secret", &[]);
        let key = self.labeled_expand(SUITE, &secret, b"key", &context, 16);
        let nonce = self.labeled_expand(SUITE, &secret, b"base_nonce", &context, 12);
        (key, nonce)
    }

    fn labeled_extract(
        &self,
        suite: &[u8],
        salt: &[u8],
        label: &[u8],
        secret: &[u8],
    ) -> Zeroizing<[u8; 32]> {
        // `concat` allocates once, so that no copy of the secret remains.
        let input = Zeroizing::new([VERSION, suite, label, secret].concat());
        Zeroizing::new(self.agreement.hmac_sha256(salt, &input))
    }

    /// One block of HKDF is always enough here; only its first `len` bytes count.
    fn labeled_expand(
        &self,
        suite: &[u8],
        pseudorandom: &[u8; 32],
        label: &[u8],
        info: &[u8],
        len: u8,
    ) -> Zeroizing<[u8; 32]> {
        let input = [&[0, len], VERSION, suite, label, info, &[1]].concat();
        Zeroizing::new(self.agreement.hmac_sha256(pseudorandom, &input))
    }
}

#[cfg(all(test, any(feature = "aws-lc-rs", feature = "rustcrypto")))]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
pub(crate) mod tests {
    use alloc::string::String;

    use super::*;
    use crate::crypto::tests::PROVIDERS;

    /// A message that other software sealed; two implementations agree on it.
    pub(crate) const RECIPIENT: &str =
        "fe935a8ae555527eac58ba5c9b4fdebdc4114a7b45ed0d13ac2d18c81e2d51e0";
    pub(crate) const TRANSCRIPT: &str =
        "83f6f68265646361706958208c53ed9828a2163243bcddcd930b126209267a97939fa5e82c1c2e4e83d11e97";
    pub(crate) const ENC: &str = "047cdf09cfe575709673748d0184516b215d3862d56e7428bbb57b289af0783cc9\
        7a5914090f2e713fe336f1e25c090da08854030a9dc081c73862c0d86d023857";
    pub(crate) const SEALED: &str =
        "011cb4c92ed6b1b6a8aff144e7d10b9c3570ca26d4374640f8d08f735250d52667a13c1fd4";
    pub(crate) const PLAINTEXT: &str = "a26776657273696f6e63312e306673746174757300";

    pub(crate) fn bytes(hex: &str) -> Vec<u8> {
        let digit = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
        (0..hex.len()).step_by(2).map(digit).collect()
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn recipient(provider: &CryptoProvider) -> (EcdhPrivateKey, PublicKey) {
        let private = EcdhPrivateKey::from_scalar(Curve::P256, &bytes(RECIPIENT)).unwrap();
        let public = provider.agreement.public_key(&private).unwrap();
        (private, public)
    }

    fn open(provider: &CryptoProvider, enc: &[u8], info: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
        let (private, public) = recipient(provider);
        let secret = provider.hpke_decap(&private, &public, enc).ok()?;
        let opened = provider.hpke_open(&secret, info, sealed).ok()?;
        Some(opened.to_vec())
    }

    #[test]
    fn every_step_matches_other_software() {
        for provider in PROVIDERS {
            let (private, public) = recipient(provider);
            let sender = PublicKey::from_sec1(Curve::P256, &bytes(ENC)).unwrap();
            let dh = provider.agreement.ecdh(&private, &sender).unwrap();
            assert_eq!(
                hex(dh.as_bytes()),
                "deb35f16abfe5d08cd485c2ff8a9bad87afe60a57fb21bcd6548d89dca0bb3e2"
            );
            let secret = provider.hpke_decap(&private, &public, &bytes(ENC)).unwrap();
            assert_eq!(
                hex(&*secret.0),
                "d620976d0a4a85c61e5ef8e90a591045eea2634acd866696db7c310ea71746d2"
            );
            let (key, nonce) = provider.key_schedule(&secret, &bytes(TRANSCRIPT));
            assert_eq!(hex(&key[..16]), "31ab22e7b3073809fe8ae9095402be32");
            assert_eq!(hex(&nonce[..12]), "50d934513609b4f3b501cbf0");
            let opened = open(provider, &bytes(ENC), &bytes(TRANSCRIPT), &bytes(SEALED));
            assert_eq!(hex(&opened.unwrap()), PLAINTEXT, "{}", provider.name);
        }
    }

    /// RFC 9180 A.3.1, up to the first message, which has associated data there.
    #[test]
    fn every_step_matches_the_rfc() {
        const ENC: &str = "04a92719c6195d5085104f469a8b9814d5838ff72b60501e2c4466e5e67b325ac98536d7b61a\
            1af4b78e5b7f951c0900be863c403ce65c9bfcb9382657222d18c4";
        const SEALED: &str = "5ad590bb8baa577f8619db35a36311226a896e7342a6d836d8b7bcd2f20b6c7f9076ac232e\
            3ab2523f39513434";
        let scalar = "f3ce7fdae57e1a310d87f1ebbde6f328be0a99cdbcadf4d6589cf29de4b8ffd2";
        for provider in PROVIDERS {
            let private = EcdhPrivateKey::from_scalar(Curve::P256, &bytes(scalar)).unwrap();
            let public = provider.agreement.public_key(&private).unwrap();
            let secret = provider.hpke_decap(&private, &public, &bytes(ENC)).unwrap();
            assert_eq!(
                hex(&*secret.0),
                "c0d26aeab536609a572b07695d933b589dcf363ff9d93c93adea537aeabb8cb8"
            );
            let (key, nonce) = provider.key_schedule(&secret, b"Ode on a Grecian Urn");
            assert_eq!(hex(&key[..16]), "868c066ef58aae6dc589b6cfdd18f97e");
            assert_eq!(hex(&nonce[..12]), "4e0bc5018beba4bf004cca59");
            let sealed = bytes(SEALED);
            let (ciphertext, tag) = sealed.split_last_chunk().unwrap();
            let sealed = Sealed { iv: &nonce[..12], aad: b"Count-0", ciphertext, tag };
            let opened = provider.open_content(ContentEncryption::A128Gcm, &key[..16], sealed);
            assert_eq!(*opened.unwrap(), *b"Beauty is truth, truth beauty", "{}", provider.name);
        }
    }

    /// RFC 9180 7.1.4: a coordinate is one of the field, written in one way.
    #[test]
    fn a_coordinate_is_less_than_the_prime_of_the_curve() {
        const P: &str = "ffffffff00000001000000000000000000000000ffffffffffffffffffffffff";
        const Y_OF_0: &str = "66485c780e2f83d72433bd5d84a06bb6541c2af31dae871728bf856a174f93f4";
        const X_OF_5: &str = "d7325d7646cd60d80a92738ceb345f844cffaf35841022cab176f692de8de1d7";
        const P_AND_5: &str = "ffffffff00000001000000000000000000000001000000000000000000000004";
        let (zero, five) = ("0".repeat(64), format!("{:0>64}", 5));
        let all = "f".repeat(64);
        for provider in PROVIDERS {
            let (private, public) = recipient(provider);
            let takes = |x: &str, y: &str| {
                let enc = [&[4][..], &bytes(x), &bytes(y)].concat();
                provider.hpke_decap(&private, &public, &enc).is_ok()
            };
            assert!(takes(&zero, Y_OF_0) && takes(X_OF_5, &five), "{}", provider.name);
            for (x, y) in [
                (P, Y_OF_0),
                (X_OF_5, P_AND_5),
                (&zero, &zero),
                (P, P),
                (&zero, P),
                (P, &zero),
                (&all, Y_OF_0),
                (&zero, &all),
                (&all, &all),
            ] {
                assert!(!takes(x, y), "{} {x} {y}", provider.name);
            }
        }
    }

    #[test]
    fn messages_sealed_for_another_purpose_do_not_open() {
        for provider in PROVIDERS {
            let (enc, info, sealed) = (bytes(ENC), bytes(TRANSCRIPT), bytes(SEALED));
            assert!(open(provider, &enc, &info, &sealed).is_some());
            for at in 0..sealed.len() {
                let mut changed = sealed.clone();
                changed[at] ^= 1;
                assert_eq!(open(provider, &enc, &info, &changed), None, "{at}");
                assert_eq!(open(provider, &enc, &info, &sealed[..at]), None, "{at}");
            }
            for at in 0..info.len() {
                let mut other = info.clone();
                other[at] ^= 1;
                assert_eq!(open(provider, &enc, &other, &sealed), None, "{at}");
            }
            assert_eq!(open(provider, &enc, &[], &sealed), None);
        }
    }

    #[test]
    fn the_ephemeral_key_is_an_uncompressed_point_on_the_curve() {
        for provider in PROVIDERS {
            let enc = bytes(ENC);
            let (x, y) = enc[1..].split_at(32);
            let beside = |at: usize| {
                let mut beside = enc.clone();
                beside[at] ^= 1;
                beside
            };
            for bad in [
                Vec::new(),
                vec![0],
                enc[..64].to_vec(),
                [&enc[..], &[0]].concat(),
                [&[2], x].concat(),
                [&[3], x].concat(),
                [&[6], x, y].concat(),
                vec![4; 65],
                vec![0; 65],
                [&[0], x, y].concat(),
                [&[5], x, y].concat(),
                [&[7], x, y].concat(),
                beside(1),
                beside(64),
            ] {
                let opened = open(provider, &bad, &bytes(TRANSCRIPT), &bytes(SEALED));
                assert_eq!(opened, None, "{} {bad:02x?}", provider.name);
            }
        }
    }
}
