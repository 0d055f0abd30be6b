//! Compact JWE by ECDH-ES in direct agreement (RFC 7516 7.1, RFC 7518 4.6). Encrypts the given header
//! without changes.

use aes::Aes128;
use aes::cipher::block_padding::Pkcs7;
use aes::cipher::{BlockModeEncrypt as _, KeyIvInit as _};
use aes_gcm::aead::{Aead as _, Payload};
use aes_gcm::{Aes128Gcm, Aes256Gcm, KeyInit as _};
use p256::elliptic_curve::point::AffineCoordinates as _;
use p256::{PublicKey, SecretKey};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use crate::codec::{base64url, from_base64url};
use crate::keys::SigningKey;
use crate::mdoc::hmac;

/// A content encryption algorithm.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Enc {
    /// `A128GCM`
    A128Gcm,
    /// `A256GCM`
    A256Gcm,
    /// `A128CBC-HS256`
    A128CbcHs256,
}

impl Enc {
    /// All algorithms.
    pub const ALL: [Self; 3] = [Self::A128Gcm, Self::A256Gcm, Self::A128CbcHs256];

    /// Its JOSE name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::A128Gcm => "A128GCM",
            Self::A256Gcm => "A256GCM",
            Self::A128CbcHs256 => "A128CBC-HS256",
        }
    }

    const fn key_len(self) -> usize {
        match self {
            Self::A128Gcm => 16,
            Self::A256Gcm | Self::A128CbcHs256 => 32,
        }
    }
}

/// The inputs of an encryption. Every part can be changed.
#[derive(Clone, Debug)]
pub struct Encryption {
    /// The protected header as it is written.
    pub header: Map<String, Value>,
    /// Written instead of `header`.
    pub header_text: Option<String>,
    /// The algorithm in use, even if the header names another.
    pub enc: Enc,
    /// The recipient's uncompressed point.
    pub recipient: Vec<u8>,
    /// The ephemeral key of the sender.
    pub ephemeral: SigningKey,
    /// PartyUInfo of the key derivation.
    pub apu: Vec<u8>,
    /// PartyVInfo of the key derivation.
    pub apv: Vec<u8>,
}

impl Encryption {
    /// An encryption to the P-256 point `recipient`, whose JWK has this `kid`.
    pub fn new(recipient: &[u8], kid: &str, enc: Enc, ephemeral: &SigningKey) -> Self {
        let header = Map::from_iter([
            (String::from("alg"), "ECDH-ES".into()),
            (String::from("enc"), enc.name().into()),
            (String::from("kid"), kid.into()),
            (String::from("epk"), ephemeral.clone().without_kid().public_jwk()),
        ]);
        Self {
            header,
            header_text: None,
            enc,
            recipient: recipient.to_vec(),
            ephemeral: ephemeral.clone(),
            apu: Vec::new(),
            apv: Vec::new(),
        }
    }

    /// With agreement party information, in header and derivation.
    #[must_use]
    pub fn with_party_info(mut self, apu: &[u8], apv: &[u8]) -> Self {
        self.header.insert("apu".into(), base64url(apu).into());
        self.header.insert("apv".into(), base64url(apv).into());
        (self.apu, self.apv) = (apu.to_vec(), apv.to_vec());
        self
    }

    /// Replaces a member of the header.
    pub fn set(&mut self, member: &str, value: impl Into<Value>) {
        self.header.insert(member.into(), value.into());
    }

    /// The five parts: header, encrypted key, IV, ciphertext, tag. `None`: a key is not on P-256.
    pub fn encrypt(&self, plaintext: &[u8]) -> Option<[String; 5]> {
        let text = || Value::from(self.header.clone()).to_string();
        let header = base64url(self.header_text.clone().unwrap_or_else(text).as_bytes());
        let key = self.content_key()?;
        // The key is fresh, so any IV is fresh as well. This one is the same on every run.
        let seed = Sha256::digest([&key, plaintext].concat());
        let (iv, ciphertext, tag) = match self.enc {
            Enc::A128Gcm | Enc::A256Gcm => {
                let iv = seed.get(..12)?.to_vec();
                let (ciphertext, tag) = gcm(&key, &iv, header.as_bytes(), plaintext)?;
                (iv, ciphertext, tag)
            }
            Enc::A128CbcHs256 => {
                let iv = seed.get(..16)?.to_vec();
                let (ciphertext, tag) = cbc_hs256(&key, &iv, header.as_bytes(), plaintext)?;
                (iv, ciphertext, tag)
            }
        };
        let (iv, ciphertext, tag) = (base64url(&iv), base64url(&ciphertext), base64url(&tag));
        Some([header, String::new(), iv, ciphertext, tag])
    }

    /// The Concat KDF (RFC 7518 4.6.2).
    fn content_key(&self) -> Option<Vec<u8>> {
        let scalar = self.ephemeral.private_jwk().get("d")?.as_str().and_then(from_base64url)?;
        let private = SecretKey::from_slice(&scalar).ok()?;
        let public = PublicKey::from_sec1_bytes(&self.recipient).ok()?;
        let shared = public.to_projective() * private.to_nonzero_scalar().as_ref();
        let sized = |bytes: &[u8]| -> Option<Vec<u8>> {
            let len = u32::try_from(bytes.len()).ok()?;
            Some([&len.to_be_bytes(), bytes].concat())
        };
        let bits = u32::try_from(self.enc.key_len().checked_mul(8)?).ok()?;
        let mut kdf = Sha256::new();
        kdf.update(1u32.to_be_bytes());
        kdf.update(shared.to_affine().x());
        for part in [self.enc.name().as_bytes(), &self.apu, &self.apv] {
            kdf.update(sized(part)?);
        }
        kdf.update(bits.to_be_bytes());
        Some(kdf.finalize().get(..self.enc.key_len())?.to_vec())
    }
}

type Sealed = (Vec<u8>, Vec<u8>);

fn gcm(key: &[u8], iv: &[u8], aad: &[u8], plaintext: &[u8]) -> Option<Sealed> {
    let payload = Payload { msg: plaintext, aad };
    let iv = iv.try_into().ok()?;
    let mut sealed = match key.len() {
        16 => Aes128Gcm::new_from_slice(key).ok()?.encrypt(iv, payload).ok()?,
        _ => Aes256Gcm::new_from_slice(key).ok()?.encrypt(iv, payload).ok()?,
    };
    let tag = sealed.split_off(sealed.len().checked_sub(16)?);
    Some((sealed, tag))
}

/// RFC 7518 5.2.2.1
fn cbc_hs256(key: &[u8], iv: &[u8], aad: &[u8], plaintext: &[u8]) -> Option<Sealed> {
    let (mac_key, key) = key.split_at_checked(16)?;
    let cbc = cbc::Encryptor::<Aes128>::new_from_slices(key, iv).ok()?;
    let ciphertext = cbc.encrypt_padded_vec::<Pkcs7>(plaintext);
    let tag = cbc_hs256_tag(mac_key, iv, aad, &ciphertext)?;
    Some((ciphertext, tag))
}

fn cbc_hs256_tag(mac_key: &[u8], iv: &[u8], aad: &[u8], ciphertext: &[u8]) -> Option<Vec<u8>> {
    let bits = u64::try_from(aad.len()).ok()?.checked_mul(8)?.to_be_bytes();
    Some(hmac(mac_key, &[aad, iv, ciphertext, &bits].concat()).get(..16)?.to_vec())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
mod tests {
    use serde_json::json;

    use super::*;

    /// RFC 7518 Appendix C: Alice encrypts to Bob.
    #[test]
    fn the_key_of_rfc_7518_appendix_c() {
        let alice = json!({
            "kty": "EC", "crv": "P-256",
            "x": "gI0GAILBdu7T53akrFmMyGcsF3n5dO7MmwNBHKW5SV0",
            "y": "SLW_xSffzlPWrHEVI30DHM_4egVwt3NQqeUD7nMFpps",
            "d": "0_NxaRPUMQoAJt50Gz8YiTr8gRTwyEaCumd-MToTmIo",
        });
        let x = from_base64url("weNJy2HscCSM6AEDTDg04biOvhFhyyWvOHQfeF_PxMQ").unwrap();
        let y = from_base64url("e8lnCO-AlStT-NJVX-crhB7QRYhiix03illJOVAOyck").unwrap();
        let bob = [&[4][..], &x, &y].concat();
        let alice = SigningKey::from_jwk(&alice).unwrap();
        let encryption = Encryption::new(&bob, "bob", Enc::A128Gcm, &alice);
        let encryption = encryption.with_party_info(b"Alice", b"Bob");
        assert_eq!(base64url(&encryption.content_key().unwrap()), "VqqN6vgjbSBcIijNcacQGg");
    }

    /// RFC 7518 B.1
    #[test]
    fn the_tag_of_rfc_7518_appendix_b() {
        let hex = |text: &str| -> Vec<u8> {
            let digit = |at| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
            (0..text.len()).step_by(2).map(digit).collect()
        };
        let key: Vec<u8> = (0..32).collect();
        let iv = hex("1af38c2dc2b96ffdd86694092341bc04");
        let plaintext = b"A cipher system must not be required to be secret, and it must be able \
            to fall into the hands of the enemy without inconvenience";
        let aad = b"The second principle of Auguste Kerckhoffs";
        let (ciphertext, tag) = cbc_hs256(&key, &iv, aad, plaintext).unwrap();
        assert!(ciphertext.starts_with(&hex("c80edfa32ddf39d5ef00c0b468834279")));
        assert_eq!(tag, hex("652c3fa36b0a7c5b3219fab3a30bc1c4"));
    }
}
