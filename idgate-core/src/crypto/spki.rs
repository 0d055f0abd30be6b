//! Public keys as SubjectPublicKeyInfo (RFC 5480 2), in DER and in PEM (RFC 7468 13). Only named
//! curves and uncompressed points are supported, so everything before the point is a constant of
//! its curve.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::crypto::key::{Curve, PublicKey};

/// The error for a key file without a usable public key; the text says why.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct SpkiError(pub &'static str);

impl fmt::Display for SpkiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the public key {}", self.0)
    }
}

impl core::error::Error for SpkiError {}

const PRIVATE: SpkiError =
    SpkiError("is a private key; give its public half, as `openssl pkey -pubout` writes it");
const NOT_SPKI: SpkiError =
    SpkiError("is not a SubjectPublicKeyInfo with an uncompressed point on P-256, P-384 or P-521");
const NOT_PEM: SpkiError = SpkiError("is not one PEM block with the label PUBLIC KEY");

impl PublicKey {
    /// Returns the key as DER SubjectPublicKeyInfo (RFC 5480 2).
    pub fn spki_der(&self) -> Vec<u8> {
        [spki_prefix(self.curve()), self.sec1()].concat()
    }

    /// Reads DER SubjectPublicKeyInfo with a named curve and an uncompressed point.
    /// [`CryptoProvider::check_key`] checks that the point is on the curve.
    ///
    /// # Errors
    /// The bytes are a private key, or not such a public key.
    ///
    /// [`CryptoProvider::check_key`]: crate::crypto::CryptoProvider::check_key
    pub fn from_spki_der(der: &[u8]) -> Result<Self, SpkiError> {
        let found = |curve| Some((curve, der.strip_prefix(spki_prefix(curve))?));
        let Some((curve, sec1)) = Curve::ALL.into_iter().find_map(found) else {
            return Err(if is_private_key(der) { PRIVATE } else { NOT_SPKI });
        };
        let Some((4, point)) = sec1.split_first() else { return Err(NOT_SPKI) };
        let (x, y) = point.split_at_checked(curve.coordinate_len()).ok_or(NOT_SPKI)?;
        Self::from_coordinates(curve, x, y).map_err(|_| NOT_SPKI)
    }

    /// Reads a PEM file with one block `PUBLIC KEY` (RFC 7468 13) and nothing else.
    ///
    /// # Errors
    /// Those of [`PublicKey::from_spki_der`], or the text is not such a PEM file.
    pub fn from_pem(text: &str) -> Result<Self, SpkiError> {
        if text.contains("PRIVATE KEY-----") {
            return Err(PRIVATE);
        }
        let body = text
            .trim()
            .strip_prefix("-----BEGIN PUBLIC KEY-----")
            .and_then(|rest| rest.strip_suffix("-----END PUBLIC KEY-----"))
            .ok_or(NOT_PEM)?;
        let body: String = body.split_ascii_whitespace().collect();
        Self::from_spki_der(&STANDARD.decode(body).map_err(|_| NOT_PEM)?)
    }
}

/// The SubjectPublicKeyInfo before the point: its header, the AlgorithmIdentifier of id-ecPublicKey
/// with the named curve, and the header of the BIT STRING with no unused bits.
const fn spki_prefix(curve: Curve) -> &'static [u8] {
    match curve {
        Curve::P256 => {
            b"\x30\x59\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\
              \x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07\x03\x42\x00"
        }
        Curve::P384 => {
            b"\x30\x76\x30\x10\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\
              \x06\x05\x2b\x81\x04\x00\x22\x03\x62\x00"
        }
        Curve::P521 => {
            b"\x30\x81\x9b\x30\x10\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\
              \x06\x05\x2b\x81\x04\x00\x23\x03\x81\x86\x00"
        }
    }
}

/// A SEQUENCE that begins with a one-byte version: PKCS#8, SEC 1 and small PKCS#1 private keys.
fn is_private_key(der: &[u8]) -> bool {
    let content = match der {
        [0x30, 0x82, _, _, content @ ..] | [0x30, 0x81, _, content @ ..] => content,
        [0x30, _, content @ ..] => content,
        _ => return false,
    };
    content.starts_with(&[0x02, 0x01])
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use crate::crypto::Jwk;

    /// Each key as PEM and as JWK, written by OpenSSL through pyca/cryptography.
    const KEYS: [(Curve, &str, &str); 3] = [
        (
            Curve::P256,
            "-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE+fupYR5wuQQsT7BIBjG4bK/ivolK
z4ba32gOaCu4y0dPZY8oWPfUnC/oI9+HJkiTwscqZ4+S5LxPFST75+TsIA==
-----END PUBLIC KEY-----
",
            r#"{"crv":"P-256","kty":"EC","x":"-fupYR5wuQQsT7BIBjG4bK_ivolKz4ba32gOaCu4y0c","y":"T2WPKFj31Jwv6CPfhyZIk8LHKmePkuS8TxUk--fk7CA"}"#,
        ),
        (
            Curve::P384,
            "-----BEGIN PUBLIC KEY-----
MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAEBwy3WfIZGidaMCV5lLizkNmVqP9PpBBr
tI9hyvrHUp9oHNnYRnXChc40Oua+JipSv/bbhEcFBUo4O0ARyewUEGgjXlqBB9Pf
GwiegqzK7j1u2WWfuCiO4eScgpC3OfG5
-----END PUBLIC KEY-----
",
            r#"{"crv":"P-384","kty":"EC","x":"Bwy3WfIZGidaMCV5lLizkNmVqP9PpBBrtI9hyvrHUp9oHNnYRnXChc40Oua-JipS","y":"v_bbhEcFBUo4O0ARyewUEGgjXlqBB9PfGwiegqzK7j1u2WWfuCiO4eScgpC3OfG5"}"#,
        ),
        (
            Curve::P521,
            "-----BEGIN PUBLIC KEY-----
MIGbMBAGByqGSM49AgEGBSuBBAAjA4GGAAQBxJuXUPJuzAWdS07SE9g/KBmNBMzM
9uOTF68OuziAT+e/xMBWnXFx5hIYBoEo3gpPEKfsZC1Zjatwq41QtFP5Vo0A8ej+
n847J6tmctwsVVbLyw/lHN06u8zBguX6fe4RwEOb8n4qBkc3BAUDxlS3Nh2qgwBm
elBXyH9ORGBUOlZBTIk=
-----END PUBLIC KEY-----
",
            r#"{"crv":"P-521","kty":"EC","x":"AcSbl1DybswFnUtO0hPYPygZjQTMzPbjkxevDrs4gE_nv8TAVp1xceYSGAaBKN4KTxCn7GQtWY2rcKuNULRT-VaN","y":"APHo_p_OOyerZnLcLFVWy8sP5RzdOrvMwYLl-n3uEcBDm_J-KgZHNwQFA8ZUtzYdqoMAZnpQV8h_TkRgVDpWQUyJ"}"#,
        ),
    ];

    fn p256_der() -> Vec<u8> {
        PublicKey::from_pem(KEYS[0].1).unwrap().spki_der()
    }

    #[test]
    fn pem_der_and_jwk_agree_on_every_curve() {
        for (curve, pem, jwk) in KEYS {
            let key = PublicKey::from_pem(pem).unwrap();
            assert_eq!(key.curve(), curve);
            assert_eq!(key, Jwk::parse(jwk.as_bytes()).unwrap().key);
            assert_eq!(PublicKey::from_spki_der(&key.spki_der()), Ok(key));
            assert_eq!(key.to_jwk_json(None), jwk);
        }
    }

    #[test]
    fn reads_pem_with_other_line_ends() {
        let pem = KEYS[0].1.replace('\n', "\r\n");
        assert_eq!(PublicKey::from_pem(&pem), PublicKey::from_pem(KEYS[0].1));
    }

    #[test]
    fn refuses_private_keys_and_says_so() {
        // The first bytes of PKCS#8 and SEC 1 keys, with long and short lengths.
        for der in [
            &b"\x30\x81\x87\x02\x01\x00\x30\x13"[..],
            b"\x30\x77\x02\x01\x01\x04\x20",
            b"\x30\x82\x04\xbd\x02\x01\x00\x30\x0d",
        ] {
            assert_eq!(PublicKey::from_spki_der(der), Err(PRIVATE));
        }
        for label in ["PRIVATE KEY", "EC PRIVATE KEY", "ENCRYPTED PRIVATE KEY"] {
            let pem = format!("-----BEGIN {label}-----\nAAAA\n-----END {label}-----\n");
            assert_eq!(PublicKey::from_pem(&pem), Err(PRIVATE));
        }
        let relabelled = "-----BEGIN PUBLIC KEY-----\nMIGHAgEA\n-----END PUBLIC KEY-----\n";
        assert_eq!(PublicKey::from_pem(relabelled), Err(PRIVATE));
        assert!(PRIVATE.to_string().contains("-pubout"));
    }

    #[test]
    fn refuses_every_truncation_and_trailing_bytes() {
        let der = p256_der();
        for len in 0..der.len() {
            assert_eq!(PublicKey::from_spki_der(&der[..len]), Err(NOT_SPKI), "{len}");
        }
        assert_eq!(PublicKey::from_spki_der(&[&der[..], &[0]].concat()), Err(NOT_SPKI));
    }

    #[test]
    fn refuses_compressed_and_hybrid_points() {
        let mut der = p256_der();
        let point = der.len() - 65;
        for form in [0, 2, 3, 5, 6, 7] {
            der[point] = form;
            assert_eq!(PublicKey::from_spki_der(&der), Err(NOT_SPKI), "{form}");
        }
    }

    #[test]
    fn refuses_any_other_algorithm_curve_or_encoding() {
        let der = p256_der();
        for at in 0..der.len() - 65 {
            let mut other = der.clone();
            other[at] ^= 1;
            assert!(PublicKey::from_spki_der(&other).is_err(), "{at}");
        }
    }

    #[test]
    fn refuses_pem_that_is_not_one_public_key() {
        let pem = KEYS[0].1;
        for bad in [
            "",
            "-----BEGIN PUBLIC KEY-----",
            "-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----",
            &pem.replace("PUBLIC KEY", "CERTIFICATE"),
            &pem.replace("PUBLIC KEY", "RSA PUBLIC KEY"),
            &pem.replace('=', ""),
            &pem.replace('+', "-"),
            &pem.replace("-----END PUBLIC KEY-----", ""),
            &[pem, pem].concat(),
            &[pem, "trailing"].concat(),
        ] {
            assert!(PublicKey::from_pem(bad).is_err(), "{bad}");
        }
    }
}
